/* The interpreter and the worker of a framework, found, and then a worker device like any other. */
#include "runner/devices/worker/framework_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/devices/device_classes.h"

/* The frameworks that have a worker. */
static const struct framework_worker {
    const char *word, *title;
    const char *module;   /* of Python, which the interpreter must have */
    const char *file;     /* the worker */
    const char *variable; /* of the environment, for another one */
    const char *kinds[4]; /* of devices; those behind the first are numbered */
    const char *known;
    /* Calls go out as the dump has them; otherwise as the calls of PyTorch that compute the same. */
    bool recorded_calls;
} workers[] = {
    { "torch",
      "PyTorch",
      "torch",
      "torch_worker.py",
      "PROBE_UT_TORCH_WORKER",
      { "cpu", "cuda", "npu" },
      "torch, torch:cpu, torch:cuda[:N] and torch:npu[:N]",
      false },
    { "mindspore",
      "MindSpore",
      "mindspore",
      "mindspore_worker.py",
      "PROBE_UT_MINDSPORE_WORKER",
      { "cpu", "gpu", "ascend" },
      "mindspore, mindspore:cpu, mindspore:gpu[:N] and mindspore:ascend[:N]",
      true },
};
/* What the workers share lies beside them. */
static const char protocol_file[] = "worker_protocol.py";

static const struct framework_worker *find_framework(const char *backend)
{
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        size_t length = strlen(workers[i].word);
        if (!strncmp(backend, workers[i].word, length) &&
            (!backend[length] || backend[length] == ':'))
            return &workers[i];
    }
    return NULL;
}

bool framework_backend_is_meant(const char *backend) { return find_framework(backend) != NULL; }

/* ---- what the user typed -------------------------------------------------------------------- */

static struct status unknown_device(const struct framework_worker *worker, const char *backend)
{
    return status_error(STATUS_BAD_ARGUMENT, "'%s' names no device of %s; known are %s", backend,
                        worker->title, worker->known);
}

static struct status read_device(struct framework_backend *out,
                                 const struct framework_worker *worker, const char *backend)
{
    const char *text = backend + strlen(worker->word);

    out->kind = NULL;
    out->device_id = -1;
    if (!*text) return status_ok();
    size_t length = strcspn(++text, ":");
    for (size_t i = 0; worker->kinds[i]; i++)
        if (strlen(worker->kinds[i]) == length && !strncmp(worker->kinds[i], text, length))
            out->kind = worker->kinds[i];
    if (!out->kind) return unknown_device(worker, backend);
    if (!text[length]) return status_ok();
    char *end;
    const char *number = text + length + 1;
    errno = 0;
    long id = strtol(number, &end, 10);
    if (*number < '0' || *number > '9' || *end || errno || id > 1023 ||
        out->kind == worker->kinds[0])
        return unknown_device(worker, backend);
    out->device_id = (int)id;
    return status_ok();
}

/* ---- the interpreter -------------------------------------------------------------------------- */

/* Can `python` import the module? Asks for it without loading it, which takes 50 ms, not 2 s. */
static bool has_module(const char *python, const char *module)
{
    static const char question[] =
        "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
    const char *const arguments[] = { python, "-c", question, module, NULL };
    posix_spawn_file_actions_t actions;
    pid_t child;
    int answer = 1;

    if (access(python, X_OK) || posix_spawn_file_actions_init(&actions)) return false;
    for (int fd = 0; fd < 3; fd++)
        (void)posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    bool started =
        !posix_spawn(&child, python, &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    while (started && waitpid(child, &answer, 0) < 0 && errno == EINTR) {
    }
    return started && !answer;
}

/* The search for an interpreter: the first that has the framework, and the names of those that have
 * not. */
struct search {
    struct arena *arena;
    const struct framework_worker *worker;
    const char *found;
    const char *tried; /* ", a, b" */
};

static struct status try_python(struct search *s, int length, const char *directory)
{
    if (s->found || !length) return status_ok();
    char *python = arena_format(s->arena, "%.*s/python3", length, directory);
    if (!python) return status_no_memory(0);
    if (access(python, X_OK) || strstr(s->tried, python)) return status_ok();
    if (has_module(python, s->worker->module)) s->found = python;
    s->tried = arena_format(s->arena, "%s%s%s", s->tried, *s->tried ? ", " : "", python);
    return s->tried ? status_ok() : status_no_memory(0);
}

static struct status find_python(const char **out, struct arena *arena,
                                 const struct framework_worker *worker)
{
    static const char *const environments[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
    const char *chosen = getenv("PROBE_UT_PYTHON"), *path = getenv("PATH");
    struct search search = { .arena = arena, .worker = worker, .tried = "" };

    if (chosen && *chosen) {
        *out = arena_copy_string(arena, chosen);
        return *out ? status_ok() : status_no_memory(strlen(chosen));
    }
    for (size_t i = 0; i < sizeof environments / sizeof *environments; i++) {
        const char *root = getenv(environments[i]);
        const char *bin = root && *root ? arena_format(arena, "%s/bin", root) : "";
        if (!bin) return status_no_memory(0);
        TRY(try_python(&search, (int)strlen(bin), bin));
    }
    for (const char *at = path ? path : ""; *at;) {
        size_t length = strcspn(at, ":");
        TRY(try_python(&search, (int)length, at));
        at += length + (at[length] == ':');
    }
    TRY(try_python(&search, (int)strlen("/usr/bin"), "/usr/bin"));
    *out = search.found;
    if (*out) return status_ok();
    if (!*search.tried)
        return status_error(STATUS_BAD_INPUT,
                            "there is no python3 on the PATH; install it with %s, or set "
                            "PROBE_UT_PYTHON",
                            worker->title);
    return status_error(STATUS_BAD_INPUT,
                        "no interpreter that was tried has %s (%s); install it into one of "
                        "them, activate its environment, or set PROBE_UT_PYTHON",
                        worker->title, search.tried);
}

/* ---- the worker ------------------------------------------------------------------------------- */

/* The directory of this program, without a slash at its end. */
static bool own_directory(char directory[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    if (length <= 0) return false;
    directory[length] = '\0';
    *strrchr(directory, '/') = '\0';
    return true;
}

/* From the program to the worker: installed, and in build/PRESET of a source tree. */
static const char *const places[] = { "../share/probe-ut", "../../runner/devices/worker" };

static struct status find_worker(const char **out, struct arena *arena,
                                 const struct framework_worker *worker)
{
    const char *chosen = getenv(worker->variable);
    char directory[PATH_MAX] = "", resolved[PATH_MAX];

    if (chosen && *chosen) {
        *out = arena_copy_string(arena, chosen);
        return *out ? status_ok() : status_no_memory(strlen(chosen));
    }
    for (size_t i = 0; own_directory(directory) && i < sizeof places / sizeof *places; i++) {
        char *path = arena_format(arena, "%s/%s/%s", directory, places[i], worker->file);
        if (!path) return status_no_memory(0);
        if (!realpath(path, resolved)) continue;
        *out = arena_copy_string(arena, resolved);
        return *out ? status_ok() : status_no_memory(strlen(resolved));
    }
    return status_error(STATUS_BAD_INPUT,
                        "%s was found neither in '%s/%s' nor in '%s/%s'; install the program with "
                        "'cmake --install', or set %s",
                        worker->file, directory, places[0], directory, places[1], worker->variable);
}

struct status framework_backend_check(const char *backend)
{
    struct framework_backend unused;
    const struct framework_worker *worker = find_framework(backend);
    return worker ? read_device(&unused, worker, backend) : unknown_device(&workers[0], backend);
}

/* It is code that will run: only a file that nobody else can have written. */
static struct status check_code(const char *path, struct file_policy policy)
{
    struct file file;
    TRY(file_open_read(&file, path, policy));
    return file_close(&file);
}

/* The module beside the worker, which another worker need not have. */
static struct status check_protocol(struct arena *arena, const char *worker,
                                    struct file_policy policy)
{
    const char *slash = strrchr(worker, '/');
    const char *path =
        arena_format(arena, "%.*s%s", slash ? (int)(slash - worker) + 1 : 0, worker, protocol_file);
    if (!path) return status_no_memory(0);
    return file_exists(path) ? check_code(path, policy) : status_ok();
}

struct status framework_backend_find(struct framework_backend *out, struct arena *arena,
                                     const char *backend, struct file_policy policy)
{
    const struct framework_worker *worker = find_framework(backend);
    if (!worker) return unknown_device(&workers[0], backend);
    TRY(read_device(out, worker, backend));
    out->title = worker->title;
    out->recorded_calls = worker->recorded_calls;
    TRY(find_python(&out->python, arena, worker));
    TRY(find_worker(&out->worker, arena, worker));
    TRY(check_code(out->worker, policy));
    return check_protocol(arena, out->worker, policy);
}

/* ---- the device ------------------------------------------------------------------------------- */

static const char worker_prefix[] = "worker:";

/* The text in single quotes, for worker_words. */
static struct status quote(const char **out, struct arena *arena, const char *text)
{
    size_t room = 3;
    for (const char *c = text; *c; c++) room += *c == '\'' ? 4 : 1;
    char *at = arena_allocate(arena, room);
    if (!at) return status_no_memory(room);
    *out = at;
    *at++ = '\'';
    for (; *text; text++) {
        if (*text == '\'') at = stpcpy(at, "'\\'");
        *at++ = *text;
    }
    (void)strcpy(at, "'");
    return status_ok();
}

/* The options of a worker that runs the framework. Looking for the interpreter starts each that there may be. */
static struct status find_shared(struct device_options *options, struct arena *arena)
{
    struct framework_backend found;
    const char *python, *script;

    if (options->framework) found = *options->framework;
    else TRY(framework_backend_find(&found, arena, options->backend, options->file_policy));
    TRY(quote(&python, arena, found.python));
    TRY(quote(&script, arena, found.worker));
    options->backend = arena_format(arena, "%s%s %s%s%s", worker_prefix, python, script,
                                    found.kind ? " --device " : "", found.kind ? found.kind : "");
    if (!options->backend) return status_no_memory(0);
    if (found.device_id >= 0) options->device_id = found.device_id;
    options->translated_calls = !found.recorded_calls;
    return status_ok();
}

static struct status framework_open(struct device **out, const struct device_options *options)
{
    struct arena arena = { 0 };
    struct device_options found = *options;
    struct status status = status_ok();
    if (framework_backend_is_meant(options->backend)) status = find_shared(&found, &arena);
    if (!status.code) status = device_worker.open(out, &found);
    arena_release(&arena);
    return status;
}

/* What it opens is a worker, which has the other functions. */
static struct status framework_ready(struct device *device) { return device->class->ready(device); }

const struct device_class device_framework = {
    .name = "framework",
    .alter_inputs = true,
    .external = true,
    .most_per_id = 8,
    .sharing = 2,
    .find = find_shared,
    .open = framework_open,
    .ready = framework_ready,
};
