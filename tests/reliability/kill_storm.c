/* Kill the program, go on, and expect the bytes of a run that nobody disturbed.
 *
 *   kill_storm PROGRAM DUMP N [--signals | --every LIBRARY | --damage] [-- options of the program]
 *
 * N times: start a run, kill -9 it at a random moment, check what it left, go on with -csv_path,
 * in half of the rounds kill that too, and compare the files. With --every, the moments are not
 * random: the run is killed after its first, second, third ... change of a file, by the library
 * built from kill_at.c, until a run survives; N is ignored then. With --signals the run is not
 * killed but sent one to four of SIGINT, SIGTERM and SIGHUP within a millisecond, and must end by
 * the signal (before it has set up its handlers, or after it has left them), with status 130, or
 * with 0 when it was done.
 *
 * With --damage each killed run then loses or is given bytes: each of its files in turn is deleted,
 * cut at a random byte, cut and filled up with zeros (as file systems do after a power failure), or
 * grows by a line of something else. Result and details must end up the same; evidence too, unless it
 * was the evidence that was damaged: then rows may stay whose lines say that theirs is lost. But for
 * damaged details no more than RESUME_REDONE finished calls are done again.
 *
 * What a killed run left must be a prefix of the undisturbed files, and every result row must
 * have all of its details rows before it. The last line counts what was done. Exit status 1 and
 * the seed of the round when something is wrong; PROBE_SEED repeats it.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 40, PATH_BYTES = 600, RESUME_REDONE = 256 };

struct text {
    char *bytes;
    size_t length;
};

struct storm {
    const char *program, *dump, *library;
    bool signals; /* ask to stop instead of killing */
    bool damage;
    char *const *extra;
    int n_extra;
    char directory[256];
    uint64_t seed;
    struct text result, details, evidence; /* of the undisturbed run */
    double whole_s;
    size_t calls, killed, killed_again, left, rows_kept, rows_redone, damaged, lines_lost;
};

static void fail(const struct storm *storm, const char *what, const char *which)
{
    fprintf(stderr, "kill_storm: %s %s (files in %s, PROBE_SEED=%llu)\n", what, which,
            storm->directory, (unsigned long long)storm->seed);
    exit(1);
}

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct text read_text(const char *path)
{
    struct text text = { calloc(1, 1), 0 };
    FILE *file = fopen(path, "rb");
    if (!file) return text;
    char buffer[65536];
    size_t got;
    while ((got = fread(buffer, 1, sizeof buffer, file))) {
        text.bytes = realloc(text.bytes, text.length + got + 1);
        if (!text.bytes) abort();
        memcpy(text.bytes + text.length, buffer, got);
        text.length += got;
        text.bytes[text.length] = '\0';
    }
    fclose(file);
    return text;
}

/* ---- running the program ---------------------------------------------------------------- */

/* Start it. `resume` is a result file to go on with, or NULL for a new run into `out`. */
static pid_t start(const struct storm *storm, const char *out, const char *resume, long kill_at)
{
    char *arguments[ARGUMENTS_MAX] = { (char *)storm->program, (char *)"run_ut",
                                       (char *)"-api_info", (char *)storm->dump,
                                       (char *)"--no-progress" };
    int n = 5;
    arguments[n++] = (char *)(resume ? "-csv_path" : "-o");
    arguments[n++] = (char *)(resume ? resume : out);
    for (int i = 0; i < storm->n_extra && n < ARGUMENTS_MAX - 1; i++)
        arguments[n++] = storm->extra[i];
    pid_t pid = fork();
    if (pid < 0) fail(storm, "cannot fork:", strerror(errno));
    if (pid) return pid;
    char log[PATH_BYTES], number[32];
    snprintf(log, sizeof log, "%s/log", storm->directory);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0) _exit(98);
    if (storm->library) {
        snprintf(number, sizeof number, "%ld", kill_at);
        setenv("LD_PRELOAD", storm->library, 1);
        setenv("PROBE_KILL_AT", number, 1);
    }
    execv(storm->program, arguments);
    _exit(97);
}

static bool asks_to_stop(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

/* Wait for it; true when it was killed, or stopped when asked to. */
static bool finish(struct storm *storm, pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) fail(storm, "cannot wait:", strerror(errno));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
    if (storm->signals && WIFSIGNALED(status) && asks_to_stop(WTERMSIG(status))) return true;
    if (storm->signals && WIFEXITED(status) && WEXITSTATUS(status) == 130) {
        storm->left++;
        return true;
    }
    char log[PATH_BYTES];
    snprintf(log, sizeof log, "%s/log", storm->directory);
    struct text text = read_text(log);
    fail(storm, "the program failed:", text.bytes);
    return false;
}

static void pause_for(double seconds)
{
    struct timespec time = { .tv_sec = (time_t)seconds,
                             .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };
    nanosleep(&time, NULL);
}

static void kill_after(const struct storm *storm, pid_t pid, double seconds, uint64_t *random)
{
    static const int stops[] = { SIGINT, SIGTERM, SIGHUP };
    pause_for(seconds);
    if (!storm->signals) {
        kill(pid, SIGKILL);
        return;
    }
    /* Mostly one; now and then the impatient hit the keys again. */
    uint64_t more = next_random(random) % 4 ? 1 : 2 + next_random(random) % 3;
    for (; more; more--) {
        kill(pid, stops[next_random(random) % 3]);
        pause_for(1e-6 * (double)(next_random(random) % 300));
    }
}

/* ---- what is on disk -------------------------------------------------------------------- */

/* The one file of a kind in a run's directory; false when there is none yet. */
static bool find_file(char *path, const struct storm *storm, const char *out, const char *kind)
{
    glob_t found;
    char pattern[PATH_BYTES];
    snprintf(pattern, sizeof pattern, "%s/accuracy_checking_%s_*[lvn]", out, kind);
    int error = glob(pattern, 0, NULL, &found);
    if (error == GLOB_NOMATCH) return false;
    if (error || found.gl_pathc != 1) fail(storm, "more than one file matches", pattern);
    snprintf(path, PATH_BYTES, "%s", found.gl_pathv[0]);
    globfree(&found);
    return true;
}

static bool is_prefix(const struct text *part, const struct text *whole)
{
    return part->length <= whole->length && !memcmp(part->bytes, whole->bytes, part->length);
}

/* Whole rows of a result file; messages hold no bare CR LF, so counting those is counting rows. */
static size_t whole_rows(const struct text *text, size_t *end)
{
    size_t rows = 0;
    *end = 0;
    for (size_t i = 1; i < text->length; i++)
        if (text->bytes[i - 1] == '\r' && text->bytes[i] == '\n') {
            rows++;
            *end = i + 1;
        }
    return rows ? rows - 1 : 0;
}

/* Name of the call in the last whole row, and the end of its details rows in the whole file. */
static size_t details_end_of_last(const struct storm *storm, const struct text *result, size_t end)
{
    char name[512];
    size_t begin = end - 2;
    while (begin && result->bytes[begin - 1] != '\n') begin--;
    size_t length = strcspn(result->bytes + begin, ",");
    snprintf(name, sizeof name, "\n%.*s.", (int)length, result->bytes + begin);
    size_t found = 0;
    for (const char *at = storm->details.bytes; (at = strstr(at, name)); at++) {
        const char *row_end = strstr(at, "\r\n");
        if (row_end) found = (size_t)(row_end - storm->details.bytes) + 2;
    }
    return found;
}

/* What the killed run left. Returns its whole result rows. */
static size_t check_remains(const struct storm *storm, const char *out)
{
    char path[PATH_BYTES];
    size_t end;
    if (!find_file(path, storm, out, "result")) return 0;
    struct text result = read_text(path);
    struct text details = { calloc(1, 1), 0 };
    if (find_file(path, storm, out, "details")) {
        free(details.bytes);
        details = read_text(path);
    }
    if (!is_prefix(&result, &storm->result)) fail(storm, "no prefix of the result file:", out);
    if (!is_prefix(&details, &storm->details)) fail(storm, "no prefix of the details file:", out);
    size_t rows = whole_rows(&result, &end);
    if (rows && details_end_of_last(storm, &result, end) > details.length)
        fail(storm, "a result row without its details rows:", out);
    free(result.bytes);
    free(details.bytes);
    return rows;
}

static void compare(const struct storm *storm, const char *out)
{
    static const char *const kinds[] = { "result", "details", "evidence" };
    const struct text *whole[] = { &storm->result, &storm->details, &storm->evidence };
    for (int i = 0; i < 3; i++) {
        char path[PATH_BYTES];
        if (!find_file(path, storm, out, kinds[i])) fail(storm, "no file:", kinds[i]);
        struct text text = read_text(path);
        if (text.length != whole[i]->length || memcmp(text.bytes, whole[i]->bytes, text.length))
            fail(storm, "the bytes differ:", path);
        free(text.bytes);
    }
}

/* Calls that the last resumed run found done, from its log. */
static size_t calls_found_done(const struct storm *storm)
{
    char log[PATH_BYTES];
    size_t done = 0;
    snprintf(log, sizeof log, "%s/log", storm->directory);
    struct text text = read_text(log);
    const char *at = strstr(text.bytes, "resuming: ");
    if (!at || sscanf(at, "resuming: %zu", &done) != 1) fail(storm, "no count in", log);
    free(text.bytes);
    return done;
}

static void remove_run(const char *out)
{
    char command[PATH_BYTES];
    snprintf(command, sizeof command, "rm -rf '%s'", out);
    if (system(command)) abort();
}

/* ---- storms ----------------------------------------------------------------------------- */

static void run_undisturbed(struct storm *storm)
{
    char out[PATH_BYTES], path[PATH_BYTES];
    size_t end;
    snprintf(out, sizeof out, "%s/whole", storm->directory);
    double begin = now_s();
    if (finish(storm, start(storm, out, NULL, 0))) fail(storm, "was killed:", out);
    storm->whole_s = now_s() - begin;
    if (!find_file(path, storm, out, "result")) fail(storm, "no result in", out);
    storm->result = read_text(path);
    if (!find_file(path, storm, out, "details")) fail(storm, "no details in", out);
    storm->details = read_text(path);
    if (!find_file(path, storm, out, "evidence")) fail(storm, "no evidence in", out);
    storm->evidence = read_text(path);
    storm->calls = whole_rows(&storm->result, &end);
}

/* Go on until the run is whole. The first attempt may be killed in its turn. */
static void go_on(struct storm *storm, const char *out, double kill_after_s, long kill_at,
                  uint64_t *random)
{
    char path[PATH_BYTES];
    if (!find_file(path, storm, out, "result")) {
        /* Killed before it had a file: there is nothing to go on with, start anew. */
        if (finish(storm, start(storm, out, NULL, 0))) fail(storm, "was killed:", out);
        return;
    }
    if (kill_after_s > 0 || kill_at > 0) {
        pid_t pid = start(storm, out, path, kill_at);
        if (kill_after_s > 0) kill_after(storm, pid, kill_after_s, random);
        if (finish(storm, pid)) storm->killed_again++;
    }
    size_t rows = check_remains(storm, out);
    if (finish(storm, start(storm, out, path, 0))) fail(storm, "was killed:", out);
    size_t done = calls_found_done(storm);
    if (done + 1 < rows) fail(storm, "more than one finished call was done again:", out);
    storm->rows_kept += done;
    storm->rows_redone += rows - done;
}

static void random_round(struct storm *storm, uint64_t *random)
{
    char out[PATH_BYTES];
    snprintf(out, sizeof out, "%s/round", storm->directory);
    double share = (double)(next_random(random) >> 11) * 0x1p-53;
    double again = (double)(next_random(random) >> 11) * 0x1p-53;
    bool kill_again = next_random(random) % 2;
    pid_t pid = start(storm, out, NULL, 0);
    kill_after(storm, pid, share * storm->whole_s, random);
    if (finish(storm, pid)) {
        storm->killed++;
        check_remains(storm, out);
        go_on(storm, out, kill_again ? 0.0005 + again * storm->whole_s : 0, 0, random);
    }
    compare(storm, out);
    remove_run(out);
}

/* Killed after every change in turn; each resumed run is killed after the same number too. */
static void exhaustive(struct storm *storm)
{
    char out[PATH_BYTES];
    snprintf(out, sizeof out, "%s/round", storm->directory);
    for (long at = 1;; at++) {
        bool killed = finish(storm, start(storm, out, NULL, at));
        if (killed) {
            storm->killed++;
            check_remains(storm, out);
            go_on(storm, out, 0, at % 7 + 1, NULL);
        }
        compare(storm, out);
        remove_run(out);
        if (!killed) return;
    }
}

/* ---- damage ----------------------------------------------------------------------------- */

enum damage { DELETED, CUT, ZEROED, GROWN, DAMAGES };

static void write_text(const char *path, const struct text *text)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text->bytes, 1, text->length, file) != text->length || fclose(file))
        abort();
}

static void do_damage(const char *path, enum damage damage, uint64_t *random)
{
    static const char line[] = "something else,\"quoted\",1\n";
    if (damage == DELETED) {
        if (unlink(path)) abort();
        return;
    }
    struct text text = read_text(path);
    size_t at = text.length ? next_random(random) % text.length : 0;
    if (damage == ZEROED) memset(text.bytes + at, 0, text.length - at);
    if (damage == CUT) text.length = at;
    /* Without its own first line it would be a file of something else, which is refused. */
    if (damage == GROWN && memchr(text.bytes, '\n', text.length)) {
        text.bytes = realloc(text.bytes, text.length + sizeof line);
        if (!text.bytes) abort();
        memcpy(text.bytes + text.length, line, sizeof line - 1);
        text.length += sizeof line - 1;
    }
    write_text(path, &text);
    free(text.bytes);
}

/* Every line is that of the undisturbed run, or says of the same row that its evidence is lost. */
static void compare_evidence(struct storm *storm, const char *out)
{
    char path[PATH_BYTES];
    if (!find_file(path, storm, out, "evidence")) fail(storm, "no file:", "evidence");
    struct text text = read_text(path);
    const char *at = text.bytes, *whole = storm->evidence.bytes;
    while (*whole) {
        size_t length = strcspn(at, "\n") + 1, wanted = strcspn(whole, "\n") + 1;
        size_t name = (size_t)(strstr(whole, "\",\"") - whole) + 3;
        static const char lost[] = "\"lost\":true}\n";
        bool same = length == wanted && !memcmp(at, whole, length);
        bool is_lost = !strncmp(at, whole, name) && length > sizeof lost &&
                       !memcmp(at + length - sizeof lost + 1, lost, sizeof lost - 1);
        if (!same && !is_lost) fail(storm, "a line of evidence is another:", path);
        storm->lines_lost += is_lost;
        at += length;
        whole += wanted;
    }
    if (*at) fail(storm, "too many lines of evidence:", path);
    free(text.bytes);
}

static void compare_kind(const struct storm *storm, const char *out, const char *kind,
                         const struct text *whole)
{
    char path[PATH_BYTES];
    if (!find_file(path, storm, out, kind)) fail(storm, "no file:", kind);
    struct text text = read_text(path);
    if (text.length != whole->length || memcmp(text.bytes, whole->bytes, text.length))
        fail(storm, "the bytes differ:", path);
    free(text.bytes);
}

/* A row at most for each call. */
static void check_timings(const struct storm *storm, const char *path)
{
    size_t end;
    struct text text = read_text(path);
    if (whole_rows(&text, &end) > storm->calls) fail(storm, "too many timings:", path);
    if (end != text.length) fail(storm, "torn timings:", path);
    free(text.bytes);
}

/* Kill a run late, damage one of its files, resume it. */
static void damaged_round(struct storm *storm, const char *kind, enum damage damage,
                          uint64_t *random)
{
    char out[PATH_BYTES], path[PATH_BYTES], result[PATH_BYTES], timings[PATH_BYTES];
    bool is_timings = !strcmp(kind, "timings");
    snprintf(out, sizeof out, "%s/round", storm->directory);
    snprintf(timings, sizeof timings, "%s/round.csv", storm->directory);
    char *extra[ARGUMENTS_MAX];
    struct storm timed = *storm;
    for (int i = 0; i < storm->n_extra; i++) extra[i] = storm->extra[i];
    extra[storm->n_extra] = (char *)"--timings";
    extra[storm->n_extra + 1] = timings;
    timed.extra = extra;
    timed.n_extra += 2;

    double share = (double)(next_random(random) >> 11) * 0x1p-53;
    pid_t pid = start(&timed, out, NULL, 0);
    kill_after(storm, pid, (0.3 + 0.8 * share) * storm->whole_s, random);
    storm->killed += finish(storm, pid);
    if (find_file(result, storm, out, "result")) {
        size_t rows = check_remains(storm, out);
        if (is_timings) snprintf(path, sizeof path, "%s", timings);
        else if (!find_file(path, storm, out, kind)) fail(storm, "no file:", kind);
        do_damage(path, damage, random);
        if (finish(storm, start(&timed, out, result, 0))) fail(storm, "was killed:", out);
        size_t done = calls_found_done(storm);
        if (strcmp(kind, "details") != 0 && done + RESUME_REDONE + 1 < rows)
            fail(storm, "finished calls were done again for want of", path);
        storm->damaged++;
        storm->rows_kept += done;
        storm->rows_redone += rows > done ? rows - done : 0;
        compare_kind(storm, out, "result", &storm->result);
        compare_kind(storm, out, "details", &storm->details);
        if (!strcmp(kind, "evidence")) compare_evidence(storm, out);
        else compare_kind(storm, out, "evidence", &storm->evidence);
        check_timings(storm, timings);
    }
    remove_run(out);
    remove_run(timings);
}

static void damaged_rounds(struct storm *storm, long rounds, uint64_t *random)
{
    static const char *const kinds[] = { "result", "details", "evidence", "run", "timings" };
    for (long round = 0; round < rounds; round++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
            for (enum damage damage = DELETED; damage < DAMAGES; damage++)
                damaged_round(storm, kinds[kind], damage, random);
}

int main(int argc, char **argv)
{
    struct storm storm = { 0 };
    const char *base = getenv("TMPDIR"), *seed = getenv("PROBE_SEED");
    if (argc < 4) {
        fprintf(stderr, "usage: kill_storm PROGRAM DUMP N [--signals | --every LIBRARY | "
                        "--damage] [-- OPTIONS]\n");
        return 2;
    }
    storm.program = argv[1];
    storm.dump = argv[2];
    long rounds = atol(argv[3]);
    int next = 4;
    if (next + 1 < argc && !strcmp(argv[next], "--every")) {
        storm.library = argv[next + 1];
        next += 2;
    }
    if (next < argc && !strcmp(argv[next], "--damage")) {
        storm.damage = true;
        next++;
    }
    if (next < argc && !strcmp(argv[next], "--signals")) {
        storm.signals = true;
        next++;
    }
    if (next < argc && !strcmp(argv[next], "--")) next++;
    storm.extra = argv + next;
    storm.n_extra = argc - next;
    storm.seed = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    snprintf(storm.directory, sizeof storm.directory, "%s/kill-storm-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(storm.directory)) return 2;

    run_undisturbed(&storm);
    uint64_t random = storm.seed;
    if (storm.library) exhaustive(&storm);
    else if (storm.damage) damaged_rounds(&storm, rounds, &random);
    else
        for (long i = 0; i < rounds; i++) random_round(&storm, &random);
    /* A storm of signals in which no run ever left by itself has tested nothing. */
    if (storm.signals && rounds >= 8 && !storm.left)
        fail(&storm, "no run ended with status", "130");
    remove_run(storm.directory);
    printf("kill_storm: %zu calls, undisturbed run %.3f s, killed %zu times and %zu times again "
           "while resuming, %zu of them left with status 130; %zu finished calls kept, %zu done "
           "again; %zu files damaged, %zu lines of evidence lost; all files byte-identical but for "
           "those (PROBE_SEED=%llu)\n",
           storm.calls, storm.whole_s, storm.killed, storm.killed_again, storm.left,
           storm.rows_kept, storm.rows_redone, storm.damaged, storm.lines_lost,
           (unsigned long long)storm.seed);
    free(storm.result.bytes);
    free(storm.details.bytes);
    free(storm.evidence.bytes);
    return 0;
}
