/* The interpreter and the worker for PyTorch, found, and then a worker device like any other. */
#include "runner/devices/worker/torch_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/devices/device_classes.h"

static const char word[] = "torch";
static const char worker_name[] = "torch_worker.py";

bool torch_backend_is_meant(const char *backend)
{
    size_t length = sizeof word - 1;
    return !strncmp(backend, word, length) && (!backend[length] || backend[length] == ':');
}

/* ---- what the user typed -------------------------------------------------------------------- */

static struct status unknown_device(const char *backend)
{
    return status_error(STATUS_BAD_ARGUMENT,
                        "'%s' names no device of PyTorch; known are torch, torch:cpu, "
                        "torch:cuda[:N] and torch:npu[:N]",
                        backend);
}

static struct status read_device(struct torch_backend *out, const char *backend)
{
    static const char *const kinds[] = { "cpu", "cuda", "npu" };
    const char *text = backend + sizeof word - 1;

    out->kind = NULL;
    out->device_id = -1;
    if (!*text) return status_ok();
    size_t length = strcspn(++text, ":");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == length && !strncmp(kinds[i], text, length)) out->kind = kinds[i];
    if (!out->kind) return unknown_device(backend);
    if (!text[length]) return status_ok();
    char *end;
    const char *number = text + length + 1;
    errno = 0;
    long id = strtol(number, &end, 10);
    if (*number < '0' || *number > '9' || *end || errno || id > 1023 || out->kind == kinds[0])
        return unknown_device(backend);
    out->device_id = (int)id;
    return status_ok();
}

/* ---- the interpreter -------------------------------------------------------------------------- */

/* Can `python` import PyTorch? Asks for the module without loading it, which takes 50 ms, not 2 s. */
static bool has_torch(const char *python)
{
    static const char question[] =
        "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
    const char *const arguments[] = { python, "-c", question, NULL };
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

/* The search for an interpreter: the first that has PyTorch, and the names of those that have not. */
struct search {
    struct arena *arena;
    const char *found;
    const char *tried; /* ", a, b" */
};

static struct status try_python(struct search *s, int length, const char *directory)
{
    if (s->found || !length) return status_ok();
    char *python = arena_format(s->arena, "%.*s/python3", length, directory);
    if (!python) return status_no_memory(0);
    if (access(python, X_OK) || strstr(s->tried, python)) return status_ok();
    if (has_torch(python)) s->found = python;
    s->tried = arena_format(s->arena, "%s%s%s", s->tried, *s->tried ? ", " : "", python);
    return s->tried ? status_ok() : status_no_memory(0);
}

static struct status find_python(const char **out, struct arena *arena)
{
    static const char *const environments[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
    const char *chosen = getenv("PROBE_UT_PYTHON"), *path = getenv("PATH");
    struct search search = { .arena = arena, .tried = "" };

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
        return status_error(STATUS_BAD_INPUT, "there is no python3 on the PATH; install it with "
                                              "PyTorch, or set PROBE_UT_PYTHON");
    return status_error(STATUS_BAD_INPUT,
                        "no interpreter that was tried has PyTorch (%s); install it into one of "
                        "them, activate its environment, or set PROBE_UT_PYTHON",
                        search.tried);
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

static struct status find_worker(const char **out, struct arena *arena)
{
    const char *chosen = getenv("PROBE_UT_TORCH_WORKER");
    char directory[PATH_MAX] = "", resolved[PATH_MAX];

    if (chosen && *chosen) {
        *out = arena_copy_string(arena, chosen);
        return *out ? status_ok() : status_no_memory(strlen(chosen));
    }
    for (size_t i = 0; own_directory(directory) && i < sizeof places / sizeof *places; i++) {
        char *path = arena_format(arena, "%s/%s/%s", directory, places[i], worker_name);
        if (!path) return status_no_memory(0);
        if (!realpath(path, resolved)) continue;
        *out = arena_copy_string(arena, resolved);
        return *out ? status_ok() : status_no_memory(strlen(resolved));
    }
    return status_error(STATUS_BAD_INPUT,
                        "%s was found neither in '%s/%s' nor in '%s/%s'; install the program with "
                        "'cmake --install', or set PROBE_UT_TORCH_WORKER",
                        worker_name, directory, places[0], directory, places[1]);
}

struct status torch_backend_check(const char *backend)
{
    struct torch_backend unused;
    return torch_backend_is_meant(backend) ? read_device(&unused, backend)
                                           : unknown_device(backend);
}

struct status torch_backend_find(struct torch_backend *out, struct arena *arena,
                                 const char *backend, struct file_policy policy)
{
    struct file file;
    TRY(read_device(out, backend));
    TRY(find_python(&out->python, arena));
    TRY(find_worker(&out->worker, arena));
    /* It is code that will run: only a file that nobody else can have written. */
    TRY(file_open_read(&file, out->worker, policy));
    return file_close(&file);
}

/* ---- the device ------------------------------------------------------------------------------- */

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

static struct status open_found(struct device **out, struct arena *arena,
                                const struct device_options *options)
{
    struct torch_backend found;
    struct device_options worker = *options;
    const char *python, *script;

    TRY(torch_backend_find(&found, arena, options->backend, options->file_policy));
    TRY(quote(&python, arena, found.python));
    TRY(quote(&script, arena, found.worker));
    worker.backend = arena_format(arena, "worker:%s %s%s%s", python, script,
                                  found.kind ? " --device " : "", found.kind ? found.kind : "");
    if (!worker.backend) return status_no_memory(0);
    if (found.device_id >= 0) worker.device_id = found.device_id;
    return device_worker.open(out, &worker);
}

static struct status torch_open(struct device **out, const struct device_options *options)
{
    struct arena arena = { 0 };
    struct status status = open_found(out, &arena, options);
    arena_release(&arena);
    return status;
}

/* What it opens is a worker, which has the other functions. */
static struct status torch_ready(struct device *device) { return device->class->ready(device); }

const struct device_class device_torch = {
    .name = "torch",
    .alter_inputs = true,
    .external = true,
    .most_per_id = 8,
    .open = torch_open,
    .ready = torch_ready,
};
