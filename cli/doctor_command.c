/* One line for each thing that a run depends on: what was found, and where something is missing or
 * odd, what to do. Devices are not guessed at: kernel processes are started, and PyTorch is asked. */
#include "cli/doctor_command.h"

#include <glob.h>
#include <mpfr.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <zlib.h>

#include <cjson/cJSON.h>

#include "bench/number_library.h"
#include "core/arena.h"
#include "runner/devices/device.h"
#include "runner/devices/process/isolation_space.h"
#include "runner/devices/process/zygote.h"
#include "runner/devices/worker/framework_backend.h"
#include "runner/environment.h"
#include "runner/memory_budget.h"
#include "standards/metrics/metrics.h"

struct doctor_options {
    const char *backend;
};

enum finding { FINE, ADVICE, BROKEN };

/* How many of the lines say that something keeps the program from its work. */
struct examination {
    const struct doctor_options *options;
    size_t broken;
};

static void say(struct examination *e, enum finding finding, const char *subject,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

static void say(struct examination *e, enum finding finding, const char *subject,
                const char *format, ...)
{
    static const char *const words[] = { "ok", "note", "BROKEN" };
    va_list arguments;

    e->broken += finding == BROKEN;
    printf("%-7s %-12s ", words[finding], subject);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* ---- the program -------------------------------------------------------------------------------- */

static void examine_program(struct examination *e)
{
    struct utsname machine;
    char libraries[200];

    if (uname(&machine)) (void)strcpy(machine.machine, "?");
    say(e, FINE, "program", "probe-ut %s, %s", PROBE_VERSION, machine.machine);
    (void)snprintf(libraries, sizeof libraries, "FLINT %s, MPFR %s, cJSON %s, zlib %s",
                   number_library_version(), mpfr_get_version(), cJSON_Version(), zlibVersion());
    say(e, FINE, "libraries", "%s", libraries);
    say(e, FINE, "BLAS", "OpenBLAS, core %s (OPENBLAS_CORETYPE pins another one)",
        environment_blas_core());
    const char *variants[METRICS_VARIANTS];
    size_t count = 0;
    for (enum metrics_variant v = METRICS_BEST + 1; v < METRICS_VARIANTS; v++)
        if (metrics_variant_available(v)) variants[count++] = metrics_variant_name(v);
    say(e, FINE, "vectors", "%s", count ? variants[count - 1] : "none");
}

/* ---- the machine -------------------------------------------------------------------------------- */

static void examine_memory(struct examination *e)
{
    double available = (double)memory_available_bytes() / 1e9;
    if (available < 0.5)
        say(e, ADVICE, "memory",
            "only %.1f GB can be used; calls that do not fit are skipped, --memory sets the budget",
            available);
    else
        say(e, FINE, "memory", "%.1f GB can be used; a run takes %.1f GB unless --memory says more",
            available, available * 0.6);
}

static void examine_limits(struct examination *e)
{
    enum { FEW_FILES = 256 };
    struct rlimit files = { 0 }, space = { 0 };

    (void)getrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_AS, &space);
    if (files.rlim_cur < FEW_FILES)
        say(e, ADVICE, "open files",
            "%llu at most; raise it (ulimit -n 1024) for runs with many workers",
            (unsigned long long)files.rlim_cur);
    else say(e, FINE, "open files", "%llu at most", (unsigned long long)files.rlim_cur);
    if (space.rlim_cur != RLIM_INFINITY)
        say(e, ADVICE, "addresses",
            "limited to %.1f GB (ulimit -v); large calls may be skipped that would fit the memory",
            (double)space.rlim_cur / 1e9);
}

/* ---- devices ------------------------------------------------------------------------------------ */

/* Kernels of plugins run in processes that a zygote forks, on a file of shared memory. */
static void examine_isolation(struct examination *e)
{
    struct zygote *zygote;
    struct space space;
    struct status status = zygote_start(&zygote);

    if (!status.code) {
        zygote_stop(zygote);
        status = space_open(&space);
        if (!status.code) space_close(&space);
    }
    if (status.code)
        say(e, BROKEN, "processes", "plugins and workers cannot be isolated: %s", status.text);
    else say(e, FINE, "processes", "plugins and workers can be run in processes of their own");
}

static size_t count_files(const char *pattern)
{
    glob_t found = { 0 };
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    size_t count = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
    globfree(&found);
    return count;
}

static bool examine_cards(struct examination *e)
{
    size_t npus = count_files("/dev/davinci[0-9]*"), gpus = count_files("/dev/nvidia[0-9]*");
    if (npus) say(e, FINE, "NPU", "%zu (/dev/davinci*)", npus);
    if (gpus) say(e, FINE, "GPU", "%zu (/dev/nvidia*)", gpus);
    if (!npus && !gpus) say(e, FINE, "cards", "no NPU and no GPU; calls are tested on the CPU");
    return npus > 0;
}

/* Start the worker, which imports its framework, and let it say what it is. */
static struct status ask_worker(char *name, size_t bytes, const char *backend)
{
    const struct device_options options = { .backend = backend, .case_timeout_s = 60 };
    const struct device_class *class = device_find(backend);
    struct device *device;

    TRY(class->open(&device, &options));
    struct status status = class->ready(device);
    if (!status.code) (void)snprintf(name, bytes, "%s", device->class->describe(device));
    device->class->close(device);
    return status;
}

static void examine_framework(struct examination *e, bool has_npu)
{
    struct arena arena = { 0 };
    struct framework_backend found = { 0 };
    const char *backend = e->options->backend;
    char name[160];
    struct status status = framework_backend_find(&found, &arena, backend, FILES_CHECKED);

    if (!status.code) {
        say(e, FINE, "interpreter", "%s", found.python);
        say(e, FINE, "worker", "%s", found.worker);
        status = ask_worker(name, sizeof name, backend);
    }
    const char *title = found.title ? found.title : "PyTorch";
    bool sees_npu = !status.code && (strstr(name, " npu") || strstr(name, " ascend"));
    if (status.code) say(e, ADVICE, title, "--backend %s cannot be used: %s", backend, status.text);
    else if (has_npu && !sees_npu)
        say(e, ADVICE, title,
            "%s; it does not see the NPU: install the %s and source CANN's set_env.sh", name,
            found.recorded_calls ? "MindSpore for Ascend" : "torch_npu of this PyTorch");
    else say(e, FINE, title, "%s", name);
    arena_release(&arena);
}

/* ---- the command -------------------------------------------------------------------------------- */

static struct status run(int *exit_status, const void *values)
{
    struct examination e = { .options = values };
    TRY(framework_backend_check(e.options->backend));
    examine_program(&e);
    say(&e, FINE, "cores", "%d", environment_cores());
    examine_memory(&e);
    examine_limits(&e);
    examine_isolation(&e);
    bool has_npu = examine_cards(&e);
    (void)fflush(stdout); /* PyTorch takes seconds */
    examine_framework(&e, has_npu);
    *exit_status = e.broken ? 1 : 0;
    return status_ok();
}

static const struct option_row rows[] = {
    { { "backend" },
      OPTION_TEXT,
      offsetof(struct doctor_options, backend),
      "NAME",
      .help = "Which framework to ask: torch (default), torch:cpu, torch:cuda[:N], torch:npu[:N], "
              "mindspore, mindspore:cpu, mindspore:gpu[:N] or mindspore:ascend[:N]." },
    { .names = { NULL } },
};

static const struct doctor_options defaults = { .backend = "torch" };

const struct command doctor_command = {
    .word = "doctor",
    .summary = "say what this machine has and what is missing",
    .text = "Print one line for each thing that a run depends on: versions, BLAS kernels, memory, "
            "limits, the processes that plugins and workers run in, cards, the Python interpreter "
            "and the worker of --backend torch or mindspore, and what the framework says of "
            "itself. Where something "
            "is missing, the line says what to do. The exit status is 1 when something keeps the "
            "program from its work.",
    .options = rows,
    .bytes = sizeof(struct doctor_options),
    .defaults = &defaults,
    .run = run,
};
