/* Memory of whole runs.
 *
 *   memory growth PROGRAM CALLS [-- options of the program]
 *
 * A dump of CALLS small calls: elementwise ones, and one in ten in double precision, whose
 * references are refined in balls (the caches of Arb and MPFR). The resident memory of the
 * process in the last tenth of the rows may not be above that of the second tenth by more than
 * GROWTH_BYTES, and its peak not above the size of the dump when that is at least DUMP_BYTES. How
 * long the second half took beside the first is printed; it decides nothing.
 *
 *   memory budget PROGRAM [API ...]
 *
 * For each API of a table: a dump of LARGE_CALLS large calls. The program says how many bytes one
 * needs (a SKIP row of a run with next to no memory). A run on 32 threads with twice that and
 * BASE_BYTES for the program itself must judge every call, and its peak may be at most 1.1 times
 * what it was given. What is said to be needed is a limit, several times what most calls take;
 * LARGE_CALLS is such that all of them at once would not fit even so.
 *
 * Exit status 1 and a line that says what was too much.
 */
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX = 40,
    PATH_BYTES = 300,
    GROWTH_BYTES = 2 << 20,
    DUMP_BYTES = 64 << 20,
    BASE_BYTES = 64 << 20,
    LARGE_CALLS = 32,
    NO_VERDICT = 5 /* exit status of a run that judged nothing */
};

static char directory[PATH_BYTES];

static _Noreturn void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("memory: ", stderr);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (files in %s)\n", directory);
    va_end(arguments);
    exit(1);
}

static const char *in(const char *name)
{
    static char paths[4][2 * PATH_BYTES];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t file_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* The result file of the run in `out`; an empty text while there is none. */
static void result_path(char *path, const char *out)
{
    glob_t found;
    *path = '\0';
    char pattern[PATH_BYTES];
    snprintf(pattern, sizeof pattern, "%s/%s/accuracy_checking_result_*.csv", directory, out);
    if (glob(pattern, 0, NULL, &found)) return;
    snprintf(path, PATH_BYTES, "%s", found.gl_pathv[0]);
    globfree(&found);
}

static pid_t start(const char *program, const char *out, const char *threads, const char *memory,
                   int n_extra, char *const *extra)
{
    char *arguments[ARGUMENTS_MAX] = { (char *)program,         (char *)"run_ut",
                                       (char *)"-api_info",     (char *)in("dump.json"),
                                       (char *)"--no-progress", (char *)"-o",
                                       (char *)in(out),         (char *)"-n",
                                       (char *)threads };
    int n = 9;
    if (memory) {
        arguments[n++] = (char *)"--memory";
        arguments[n++] = (char *)memory;
    }
    for (int i = 0; i < n_extra && n < ARGUMENTS_MAX - 1; i++) arguments[n++] = extra[i];
    fflush(stdout);
    pid_t pid = fork();
    if (pid) return pid;
    if (!freopen(in("log"), "w", stdout) || dup2(1, 2) < 0) _exit(98);
    execv(program, arguments);
    _exit(97);
}

/* ---- growth ----------------------------------------------------------------------------- */

static void tensor(FILE *out, const char *dtype, const char *shape, double lo, double hi)
{
    fprintf(out,
            "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.%s\", \"shape\": %s, \"Max\": %g, "
            "\"Min\": %g, "
            "\"Mean\": 1.0, \"Norm\": 1.0, \"requires_grad\": true}",
            dtype, shape, hi, lo);
}

static void small_calls(FILE *out, long calls)
{
    static const char *const binary[] = { "Tensor.__add__", "Tensor.__mul__", "Torch.sub",
                                          "Torch.div" };
    static const char *const refined[] = { "Torch.exp", "Torch.lgamma", "Functional.softplus",
                                           "Torch.logsumexp" };
    for (long i = 0; i < calls; i++) {
        bool unary = i % 10 == 9, sum = unary && i / 10 % 4 == 3;
        const char *api = unary ? refined[i / 10 % 4] : binary[i % 4];
        const char *dtype = unary ? "float64" : "float32", *shape = unary ? "[6]" : "[4, 8]";
        fprintf(out, "%s\n \"%s.%ld.forward\": {\"input_args\": [", i ? "," : "", api, i);
        tensor(out, dtype, shape, 1, 2);
        if (sum) fputs(", {\"type\": \"int\", \"value\": 0}", out);
        if (!unary) fputs(", ", out), tensor(out, dtype, shape, 1, 3);
        fputs("], \"input_kwargs\": {}, \"output\": [", out);
        tensor(out, dtype, sum ? "[]" : shape, 1, 3);
        fprintf(out, "]},\n \"%s.%ld.backward\": {\"input\": [", api, i);
        tensor(out, dtype, sum ? "[]" : shape, -1, 1);
        fputs("], \"output\": [", out);
        tensor(out, dtype, shape, -1, 1);
        if (!unary) fputs(", ", out), tensor(out, dtype, shape, -1, 1);
        fputs("]}", out);
    }
}

/* Resident bytes of a process; 0 when it has gone. */
static uint64_t resident_bytes(pid_t pid)
{
    char path[64], line[128];
    unsigned long long kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %llu kB", &kilobytes) == 1) break;
    if (file) fclose(file);
    return kilobytes * 1024;
}

static void open_dump(FILE **out)
{
    *out = fopen(in("dump.json"), "w");
    if (!*out) fail("cannot write %s", in("dump.json"));
    fputs("{\"task\": \"statistics\", \"level\": \"L1\", \"framework\": \"pytorch\", "
          "\"dump_data_dir\": null, "
          "\"data\": {",
          *out);
}

static void close_dump(FILE *out)
{
    fputs("\n}}\n", out);
    if (fclose(out)) fail("cannot write %s", in("dump.json"));
}

static size_t count_lines(const char *path, uint64_t *skips)
{
    char line[4096];
    size_t lines = 0;
    FILE *file = fopen(path, "r");
    *skips = 0;
    while (file && fgets(line, sizeof line, file)) {
        lines++;
        *skips += strstr(line, "SKIP") != NULL;
    }
    if (file) fclose(file);
    return lines;
}

static void growth(const char *program, long calls, int n_extra, char *const *extra)
{
    FILE *dump;
    char path[PATH_BYTES] = "";
    open_dump(&dump);
    small_calls(dump, calls);
    close_dump(dump);
    uint64_t dump_bytes = file_bytes(in("dump.json"));

    /* Rows are of nearly one length, so bytes of the result file tell the share that is done. The
     * final length is not known before the end: samples are kept, and looked at then. */
    enum { SAMPLES_MAX = 200000 };
    struct sample {
        double at_s;
        uint64_t done, resident;
    } *samples = calloc(SAMPLES_MAX, sizeof *samples);
    size_t n = 0;
    struct rusage usage;
    int status;
    double begin = now_s();
    pid_t pid = start(program, "out", "4", NULL, n_extra, extra), ended;
    const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
    while (!(ended = wait4(pid, &status, WNOHANG, &usage))) {
        nanosleep(&pause, NULL);
        if (!*path) result_path(path, "out");
        if (!*path || n == SAMPLES_MAX) continue;
        samples[n] = (struct sample){ now_s() - begin, file_bytes(path), resident_bytes(pid) };
        n += samples[n].resident > 0;
    }
    if (ended != pid || !WIFEXITED(status) || WEXITSTATUS(status))
        fail("the program failed, see %s", in("log"));
    double whole_s = now_s() - begin;
    result_path(path, "out");
    uint64_t whole = file_bytes(path), skips, early = 0, late = 0;
    size_t lines = count_lines(path, &skips);
    if (lines != (size_t)calls + 1 || skips)
        fail("%zu rows, %llu of them SKIP", lines, (unsigned long long)skips);

    double first_s = 0, half_s = 0;
    size_t n_early = 0, n_late = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sample *s = &samples[i];
        double share = (double)s->done / (double)whole;
        if (!first_s && s->done > 200) first_s = s->at_s;
        if (!half_s && share >= 0.5) half_s = s->at_s;
        if (share >= 0.1 && share < 0.2 && ++n_early && s->resident > early) early = s->resident;
        if (share >= 0.9 && ++n_late && s->resident > late) late = s->resident;
    }
    free(samples);
    if (n_early < 3 || n_late < 3)
        fail("%zu and %zu samples are too few: give it more calls", n_early, n_late);
    double ratio = (whole_s - half_s) / (half_s - first_s);
    printf("memory growth: %ld calls, dump of %.1f MB, %.1f s (%.0f calls a second, second half "
           "%.2f of the first): "
           "resident %.1f MB in the second tenth, %.1f MB in the last, peak %.1f MB\n",
           calls, (double)dump_bytes / 1e6, whole_s, (double)calls / whole_s, ratio,
           (double)early / 1e6, (double)late / 1e6, (double)usage.ru_maxrss * 1024e-6);
    if (late > early + GROWTH_BYTES)
        fail("resident memory grew by %.1f MB", (double)(late - early) / 1e6);
    if (dump_bytes >= DUMP_BYTES && (uint64_t)usage.ru_maxrss * 1024 > dump_bytes)
        fail("the peak is above the dump's own size");
}

/* ---- the budget ------------------------------------------------------------------------- */

/* Calls whose working memory differs in kind. Cotangents have the output's shape. */
static const struct large_call {
    const char *api, *inputs[3], *rest, *output; /* `rest`: arguments after the tensors */
    /* clang-format off */
} large_calls[] = {
    { "Torch.mul", { "[800000]", "[800000]" }, "", "[800000]" },
    { "Torch.exp", { "[800000]" }, "", "[800000]" },
    { "Torch.matmul", { "[500, 600]", "[600, 700]" }, "", "[500, 700]" },
    { "Functional.softmax", { "[500, 1000]" }, ", {\"type\": \"int\", \"value\": -1}", "[500, 1000]" },
    { "Functional.layer_norm", { "[500, 1000]" }, ", [{\"type\": \"int\", \"value\": 1000}]", "[500, 1000]" },
    { "Functional.conv2d", { "[4, 16, 64, 64]", "[16, 16, 3, 3]" }, "", "[4, 16, 62, 62]" },
    { "Torch.sum", { "[1600000]" }, "", "[]" },
    { "Functional.linear", { "[512, 512]", "[512, 512]", "[512]" }, "", "[512, 512]" },
};
/* clang-format on */

static void large_dump(const struct large_call *call)
{
    FILE *out;
    open_dump(&out);
    for (int i = 0; i < LARGE_CALLS; i++) {
        fprintf(out, "%s\n \"%s.%d.forward\": {\"input_args\": [", i ? "," : "", call->api, i);
        for (int k = 0; k < 3 && call->inputs[k]; k++) {
            if (k) fputs(", ", out);
            tensor(out, "float32", call->inputs[k], -1, 1);
        }
        fprintf(out, "%s], \"input_kwargs\": {}, \"output\": [", call->rest);
        tensor(out, "float32", call->output, -1, 1);
        fprintf(out, "]},\n \"%s.%d.backward\": {\"input\": [", call->api, i);
        tensor(out, "float32", call->output, -1, 1);
        fputs("], \"output\": [", out);
        for (int k = 0; k < 3 && call->inputs[k]; k++) {
            if (k) fputs(", ", out);
            tensor(out, "float32", call->inputs[k], -1, 1);
        }
        fputs("]}", out);
    }
    close_dump(out);
}

/* Bytes in "1.47 GB". */
static uint64_t size_of(const char *text)
{
    char *unit;
    double size = strtod(text, &unit);
    unsigned shift = !strncmp(unit, " KB", 3) ? 10 : !strncmp(unit, " MB", 3) ? 20 : 30;
    return (uint64_t)(size * (double)((uint64_t)1 << shift));
}

/* A run that ends well, or with `otherwise`; its peak memory in KiB. */
static long run(const char *program, const char *out, const char *memory, int otherwise)
{
    struct rusage usage;
    int status;
    pid_t pid = start(program, out, "32", memory, 0, NULL);
    if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
        (WEXITSTATUS(status) && WEXITSTATUS(status) != otherwise))
        fail("the program failed, see %s", in("log"));
    return usage.ru_maxrss;
}

static void budget(const char *program, const struct large_call *call)
{
    char path[PATH_BYTES], line[4096], memory[32], command[2 * PATH_BYTES];
    uint64_t need = 0, skips;
    large_dump(call);
    run(program, "tiny", "1M", NO_VERDICT);
    result_path(path, "tiny");
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "This call needs ");
        if (at) need = size_of(at + strlen("This call needs "));
    }
    if (file) fclose(file);
    if (!need || count_lines(path, &skips) != LARGE_CALLS + 1 || skips != LARGE_CALLS)
        fail("%s: not every call was skipped for want of memory", call->api);

    /* Half of the memory is for what threads keep between calls: what this leaves is just what a
     * call said to need. Some need more (a convolution's columns), try again with all of it, and
     * are skipped then. Whatever becomes of them, there is a row for each. */
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)(2 * need));
    run(program, "starved", memory, NO_VERDICT);
    result_path(path, "starved");
    if (count_lines(path, &skips) != LARGE_CALLS + 1)
        fail("%s: not a row for every call in %s", call->api, path);

    uint64_t granted = 2 * need + BASE_BYTES;
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)granted);
    double begin = now_s();
    uint64_t peak = (uint64_t)run(program, "out", memory, 0) * 1024;
    result_path(path, "out");
    size_t lines = count_lines(path, &skips);
    printf(
        "memory budget: %-22s needs %6.1f MB, given %6.1f MB, peak %6.1f MB (%3.0f %%), %.1f s\n",
        call->api, (double)need / 1e6, (double)granted / 1e6, (double)peak / 1e6,
        100 * (double)peak / (double)granted, now_s() - begin);
    if (lines != LARGE_CALLS + 1 || skips)
        fail("%s: a call was not judged, see %s", call->api, path);
    if ((double)peak > 1.1 * (double)granted)
        fail("%s: the peak is above 1.1 times the budget", call->api);
    snprintf(command, sizeof command, "rm -rf '%s'/*", directory);
    if (system(command)) abort();
}

int main(int argc, char **argv)
{
    const char *base = getenv("TMPDIR");
    bool grows = argc >= 4 && !strcmp(argv[1], "growth"),
         budgets = argc >= 3 && !strcmp(argv[1], "budget");
    if (!grows && !budgets) {
        fprintf(stderr, "usage: memory growth PROGRAM CALLS [-- OPTIONS]\n"
                        "       memory budget PROGRAM [API ...]\n");
        return 2;
    }
    snprintf(directory, sizeof directory, "%s/memory-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(directory)) return 2;
    int rest = grows && argc > 4 && !strcmp(argv[4], "--") ? 5 : 4;
    if (grows) growth(argv[2], atol(argv[3]), argc > rest ? argc - rest : 0, argv + rest);
    for (size_t i = 0; budgets && i < sizeof large_calls / sizeof *large_calls; i++) {
        bool wanted = argc == 3;
        for (int k = 3; k < argc; k++) wanted |= !strcmp(argv[k], large_calls[i].api);
        if (wanted) budget(argv[2], &large_calls[i]);
    }
    char command[2 * PATH_BYTES];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command) != 0;
}
