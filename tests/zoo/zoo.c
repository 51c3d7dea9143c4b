/* The fault zoo: does probe-ut catch wrong kernels, and leave right ones alone?
 *
 *     PROBE_UT=... ZOO_LIBRARY=... ZOO_MANIFEST=... zoo [--quick] [--calls N] [--seed S] [--inputs KIND]
 *
 * The twins, honest kernels for every kind of call, are run on N random calls; every one that is
 * judged an error is a false alarm. Then every fault is switched on alone and run, in each of its
 * dtypes, on a handful of random calls of its kind; it is caught when at least one of them is
 * judged an error, as one would be in a real dump with many calls. A kernel that only rounds to 16 bits between
 * its steps is warned of. Both are done under `strict` and,
 * for comparison, under `doc`, the rule of the program that users know.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "diagnosed.h"

static const char *const profiles[] = { "strict", "doc" };
enum { PROFILES = 2, STRICT = 0 };

#define ROW(NAME, call, dtypes, description) { #NAME, call, dtypes, description },
static const struct {
    const char *name, *call;
    int dtypes;
    const char *description;
} faults[] = { { "none", "", 0, "" }, FAULTS(ROW) };
#undef ROW
enum { FAULT_COUNT = sizeof faults / sizeof *faults };

struct zoo {
    const char *program, *library, *manifest;
    char directory[200];
    uint64_t seed;
    int twins, calls_per_fault;
    int diagnose;       /* what the faults look like, instead of whether they are caught */
    const char *only;   /* the one fault to look at, or NULL */
    const char *inputs; /* --inputs of the program */
};

/* What a run said. */
struct counts {
    int calls, errors, warnings, skipped;
};

/* --- the program under test ------------------------------------------------------------------------ */

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

/* The manifest with a fault's number in it, beside a copy of the library. */
static void write_manifest(const struct zoo *zoo, int fault)
{
    char path[400], line[4096];
    FILE *in = fopen(zoo->manifest, "r");
    snprintf(path, sizeof path, "%s/zoo.json", zoo->directory);
    FILE *out = fopen(path, "w");
    if (!in || !out) fail(path);
    while (fgets(line, sizeof line, in)) {
        char *mark = strstr(line, "@FAULT@");
        if (mark) fprintf(out, "%.*s%d%s", (int)(mark - line), line, fault, mark + 7);
        else fputs(line, out);
    }
    fclose(in);
    if (fclose(out)) fail(path);
}

static pid_t start(const struct zoo *zoo, const char *profile, uint64_t seed, const char *threads)
{
    char dump[300], backend[300], out[300], number[40];
    snprintf(dump, sizeof dump, "%s/dump.json", zoo->directory);
    snprintf(backend, sizeof backend, "plugin:%s/zoo.json", zoo->directory);
    snprintf(out, sizeof out, "%s/%s", zoo->directory, profile);
    snprintf(number, sizeof number, "%llu", (unsigned long long)(seed % 1000000));
    fflush(stdout); /* or the child would print it once more */
    pid_t pid = fork();
    if (pid < 0) fail("fork");
    if (pid > 0) return pid;
    char log[300];
    snprintf(log, sizeof log, "%s/%s.log", zoo->directory, profile);
    if (!freopen(log, "w", stdout) || dup2(1, 2) < 0) _exit(99);
    execl(zoo->program, zoo->program, "-api_info", dump, "--backend", backend, "--profile", profile,
          "-o", out, "--seed", number, "-n", threads, "--no_progress", "--inputs",
          zoo->inputs ? zoo->inputs : "recorded", (char *)NULL);
    _exit(98);
}

static void wait_for(const struct zoo *zoo, pid_t pid, const char *profile)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) fail("waitpid");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    char command[400];
    snprintf(command, sizeof command, "tail -5 %s/%s.log >&2", zoo->directory, profile);
    (void)!system(command);
    fprintf(stderr, "%s ended with status %d\n", zoo->program, status);
    exit(2);
}

static int is_call(const char *line)
{
    static const char *const modules[] = { "Torch.", "Tensor.", "Functional.", "NPU." };
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (!strncmp(line, modules[i], strlen(modules[i]))) return 1;
    return 0;
}

/* Verdicts of the calls, from the result file: name, forward, backward. */
static struct counts read_result(const struct zoo *zoo, const char *profile, int show)
{
    char pattern[400], line[8192];
    struct counts counts = { 0, 0, 0, 0 };
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s/accuracy_checking_result_*.csv", zoo->directory,
             profile);
    if (glob(pattern, 0, NULL, &found) || found.gl_pathc != 1) fail(pattern);
    FILE *in = fopen(found.gl_pathv[0], "r");
    if (!in) fail(found.gl_pathv[0]);
    while (fgets(line, sizeof line, in)) {
        char *forward = strchr(line, ','), *backward = forward ? strchr(forward + 1, ',') : NULL;
        /* The header, and further lines of a message. */
        if (!backward || !is_call(line)) continue;
        counts.calls++;
        int error = !strncmp(forward + 1, "error", 5) || !strncmp(backward + 1, "error", 5);
        int skip = !strncmp(forward + 1, "SKIP", 4) || !strncmp(backward + 1, "SKIP", 4);
        int warning = !strncmp(forward + 1, "warning", 7) || !strncmp(backward + 1, "warning", 7);
        counts.errors += error;
        counts.warnings += !error && warning;
        counts.skipped += skip;
        if ((error || skip) && show) printf("  %s: %s", profile, line);
    }
    fclose(in);
    globfree(&found);
    return counts;
}

static void clear(const struct zoo *zoo)
{
    char command[500];
    snprintf(command, sizeof command, "rm -rf %s/strict %s/doc", zoo->directory, zoo->directory);
    if (system(command)) fail(command);
}

/* What strict made of the present dump's faults. */
static void add_diagnoses(const struct zoo *zoo, const char *fault, const char *dtype)
{
    char pattern[400];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s/accuracy_checking_evidence_*.jsonl", zoo->directory,
             profiles[STRICT]);
    if (glob(pattern, 0, NULL, &found) || found.gl_pathc != 1) fail(pattern);
    diagnosed_add(fault, dtype, found.gl_pathv[0]);
    globfree(&found);
}

/* Run the present dump under both profiles, side by side. */
static void run_both(struct counts counts[PROFILES], const struct zoo *zoo, uint64_t seed, int show)
{
    pid_t pids[PROFILES];
    clear(zoo);
    for (int p = 0; p < PROFILES; p++) pids[p] = start(zoo, profiles[p], seed, "1");
    for (int p = 0; p < PROFILES; p++) wait_for(zoo, pids[p], profiles[p]);
    for (int p = 0; p < PROFILES; p++)
        counts[p] = read_result(zoo, profiles[p], show && p == STRICT);
}

static void open_dump(struct dump *dump, const struct zoo *zoo, uint64_t seed)
{
    char path[300];
    snprintf(path, sizeof path, "%s/dump.json", zoo->directory);
    dump_begin(dump, path, seed);
}

/* --- twins --------------------------------------------------------------------------------------------- */

static int random_dtype(struct dump *dump, int dtypes)
{
    for (;;) {
        int dtype = 1 << dump_random(dump, 3);
        if (dtype & dtypes) return dtype;
    }
}

static void run_twins(struct counts total[PROFILES], const struct zoo *zoo)
{
    enum { CHUNK = 5000 };
    int kinds = 0;
    while (call_kinds[kinds].name) kinds++;
    write_manifest(zoo, 0);
    memset(total, 0, PROFILES * sizeof *total);
    for (int done = 0; done < zoo->twins;) {
        int count = zoo->twins - done < CHUNK ? zoo->twins - done : CHUNK;
        struct dump dump;
        struct counts counts[PROFILES];
        open_dump(&dump, zoo, zoo->seed + (uint64_t)done);
        for (int i = 0; i < count; i++) {
            const struct call_kind *kind = &call_kinds[(done + i) % kinds];
            kind->write(&dump, random_dtype(&dump, kind->dtypes));
        }
        dump_end(&dump);
        run_both(counts, zoo, zoo->seed + (uint64_t)done, 1);
        for (int p = 0; p < PROFILES; p++) {
            total[p].calls += counts[p].calls;
            total[p].errors += counts[p].errors;
            total[p].skipped += counts[p].skipped;
        }
        done += count;
        if (zoo->twins > CHUNK)
            fprintf(stderr, "%d of %d calls of honest kernels, %d false alarms\n", done, zoo->twins,
                    total[STRICT].errors);
    }
}

static const char *dtype_name(int dtype)
{
    return dtype == F32 ? "float32" : dtype == F16 ? "float16" : "bfloat16";
}

static void diagnose_fault(const struct zoo *zoo, int fault, int dtype, uint64_t seed)
{
    clear(zoo);
    wait_for(zoo, start(zoo, profiles[STRICT], seed, "1"), profiles[STRICT]);
    add_diagnoses(zoo, faults[fault].name, dtype_name(dtype));
}

/* --- faults --------------------------------------------------------------------------------------------- */

struct catch { int faults, caught[PROFILES], warned[PROFILES], unjudged; };

static void run_fault(struct catch *total, const struct zoo *zoo, int fault, int dtype)
{
    struct dump dump;
    struct counts counts[PROFILES];
    uint64_t seed = zoo->seed + 7919 * (uint64_t)fault + (uint64_t)dtype;
    const struct call_kind *kind = call_find(faults[fault].call);
    if (!kind) {
        fprintf(stderr, "no kind of call %s\n", faults[fault].call);
        exit(2);
    }
    open_dump(&dump, zoo, seed);
    for (int i = 0; i < zoo->calls_per_fault; i++) kind->write(&dump, dtype);
    dump_end(&dump);
    if (zoo->diagnose) {
        diagnose_fault(zoo, fault, dtype, seed);
        return;
    }
    run_both(counts, zoo, seed, 0);
    total->faults++;
    for (int p = 0; p < PROFILES; p++) {
        total->caught[p] += counts[p].errors > 0;
        total->warned[p] += !counts[p].errors && counts[p].warnings > 0;
    }
    total->unjudged += counts[STRICT].skipped > 0;
    printf("%-26s %-8s %3d/%-3d %3d/%-3d %s%s\n", faults[fault].name, dtype_name(dtype),
           counts[STRICT].errors, counts[STRICT].calls, counts[1].errors, counts[1].calls,
           faults[fault].description,
           counts[STRICT].errors     ? ""
           : counts[STRICT].warnings ? "  <- WARNED"
           : counts[STRICT].skipped  ? "  <- NOT JUDGED"
                                     : "  <- MISSED");
    fflush(stdout);
}

static void run_faults(struct catch *total, const struct zoo *zoo)
{
    memset(total, 0, sizeof *total);
    if (zoo->diagnose)
        printf("%-26s %-8s %-26s %-7s %-7s %s\n", "fault", "dtype", "is", "first", "three",
               "is called (with confidence)");
    else printf("%-26s %-8s %-7s %-7s %s\n", "fault", "dtype", "strict", "doc", "");
    for (int fault = 1; fault < FAULT_COUNT; fault++) {
        if (zoo->only && strcmp(zoo->only, faults[fault].name)) continue;
        write_manifest(zoo, fault);
        for (int dtype = F32; dtype <= BF16; dtype *= 2)
            if (faults[fault].dtypes & dtype) run_fault(total, zoo, fault, dtype);
    }
}

/* --- all of it -------------------------------------------------------------------------------------------- */

static const char *needed(const char *variable)
{
    const char *value = getenv(variable);
    if (value && *value) return value;
    fprintf(stderr, "set %s (tests/zoo/run does)\n", variable);
    exit(2);
}

static void prepare(struct zoo *zoo)
{
    char command[700];
    const char *base = getenv("TMPDIR");
    snprintf(zoo->directory, sizeof zoo->directory, "%s/probe-zoo-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(zoo->directory)) fail(zoo->directory);
    snprintf(command, sizeof command, "cp '%s' %s/libzoo.so", zoo->library, zoo->directory);
    if (system(command)) fail(command);
}

static void clean_up(const struct zoo *zoo)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", zoo->directory);
    if (system(command)) fail(command);
}

int main(int count, char **arguments)
{
    struct zoo zoo = { .program = needed("PROBE_UT"),
                       .library = needed("ZOO_LIBRARY"),
                       .manifest = needed("ZOO_MANIFEST"),
                       .seed = 20260401,
                       .twins = 100000,
                       .calls_per_fault = 24 };
    struct counts twins[PROFILES];
    struct catch catch;

    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--quick")) zoo.twins = 1000, zoo.calls_per_fault = 8;
        else if (!strcmp(arguments[i], "--calls") && i + 1 < count)
            zoo.twins = atoi(arguments[++i]);
        else if (!strcmp(arguments[i], "--seed") && i + 1 < count)
            zoo.seed = strtoull(arguments[++i], NULL, 10);
        else if (!strcmp(arguments[i], "--diagnose")) zoo.diagnose = 1;
        else if (!strcmp(arguments[i], "--fault") && i + 1 < count) zoo.only = arguments[++i];
        else if (!strcmp(arguments[i], "--inputs") && i + 1 < count) zoo.inputs = arguments[++i];
        else if (!strcmp(arguments[i], "--per-fault") && i + 1 < count)
            zoo.calls_per_fault = atoi(arguments[++i]);
        else {
            fprintf(stderr, "usage: run [--quick] [--diagnose] [--fault NAME] [--calls N] "
                            "[--per-fault N] [--seed S] "
                            "[--inputs KIND]\n");
            return 2;
        }
    }
    prepare(&zoo);
    if (!zoo.diagnose) run_twins(twins, &zoo);
    run_faults(&catch, &zoo);
    clean_up(&zoo);
    if (zoo.diagnose) return diagnosed_print();

    if (twins[STRICT].skipped || catch.unjudged)
        printf("%d calls of honest kernels and %d faults could not be judged\n",
               twins[STRICT].skipped, catch.unjudged);
    for (int p = PROFILES; p-- > 0;)
        printf("%-6s caught %d warned %d missed %d of %d; false alarms %d/%d\n", profiles[p],
               catch.caught[p], catch.warned[p], catch.faults - catch.caught[p] - catch.warned[p],
               catch.faults, twins[p].errors, twins[p].calls);
    int seen = catch.caught[STRICT] + catch.warned[STRICT];
    printf("caught %d/%d false alarms %d/%d\n", catch.caught[STRICT], catch.faults,
           twins[STRICT].errors, twins[STRICT].calls);
    return seen * 100 < 98 * catch.faults || catch.caught[STRICT] * 100 < 97 * catch.faults ||
           twins[STRICT].errors;
}
