/* What a user waits for: whole-process wall time, processor time and peak memory of runs, and
 * the time to the first verdict.
 *
 *   bench_run [-n THREADS,...] [-r RUNS] PROBE_UT [DUMP.json ...] [-- OPTIONS]
 *
 * Each dump is run RUNS times (3) on each number of threads (1,2) into a temporary directory; the run
 * with the least wall time counts. The first verdict is the moment at which the result file has its
 * first row, looked at every quarter of a millisecond from the start of the process. Without
 * dumps those of tests/data are run. Build with
 * `cmake --build build/release --target perf`.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 40, THREADS_MAX = 8 };

/* How each dump is run. */
struct plan {
    const char *program;
    const char *threads[THREADS_MAX];
    int n_threads, runs;
    char *const *extra; /* further options of the program */
    int n_extra;
};

struct measure {
    double wall_s, cpu_s, first_s;
    long peak_kb;
    int status;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Does the result file in `directory` hold more than its header? */
static int has_verdict(const char *directory)
{
    static const char header[] = "\xef\xbb\xbf"
                                 "API name,Forward Test Success,Backward Test Success,Message\r\n";
    char pattern[300];
    glob_t found;
    struct stat st;
    int has = 0;
    snprintf(pattern, sizeof pattern, "%s/accuracy_checking_result_*.csv", directory);
    if (!glob(pattern, 0, NULL, &found)) {
        has = !stat(found.gl_pathv[0], &st) && (size_t)st.st_size > sizeof header - 1;
        globfree(&found);
    }
    return has;
}

static void remove_directory(const char *directory)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    if (system(command)) exit(1);
}

static struct measure measure_run(const struct plan *plan, const char *dump, const char *threads)
{
    struct measure m = { 0 };
    char directory[] = "/tmp/bench-run-XXXXXX";
    struct rusage usage;
    int status = 0;
    if (!mkdtemp(directory)) exit(1);

    char *arguments[ARGUMENTS_MAX] = {
        (char *)plan->program, (char *)"-api_info", (char *)dump,           (char *)"-o", directory,
        (char *)"-n",          (char *)threads,     (char *)"--no-progress"
    };
    for (int i = 0; i < plan->n_extra && 8 + i < ARGUMENTS_MAX - 1; i++)
        arguments[8 + i] = plan->extra[i];
    fflush(stdout);
    double begin = now_s();
    pid_t pid = fork();
    if (!pid) {
        if (!freopen("/dev/null", "w", stdout)) _exit(98);
        execv(plan->program, arguments);
        _exit(97);
    }
    const struct timespec pause = { .tv_nsec = 250000 };
    pid_t ended = 0;
    while (!m.first_s && !(ended = wait4(pid, &status, WNOHANG, &usage))) {
        if (has_verdict(directory)) m.first_s = now_s() - begin;
        nanosleep(&pause, NULL);
    }
    if (!ended) wait4(pid, &status, 0, &usage);
    m.wall_s = now_s() - begin;
    if (!m.first_s) m.first_s = m.wall_s;
    m.cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
              1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    m.peak_kb = usage.ru_maxrss;
    m.status = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    remove_directory(directory);
    return m;
}

static void bench(const struct plan *plan, const char *dump)
{
    for (int t = 0; t < plan->n_threads; t++) {
        struct measure best = { 0 };
        for (int i = 0; i < plan->runs; i++) {
            struct measure m = measure_run(plan, dump, plan->threads[t]);
            if (!i || m.wall_s < best.wall_s) best = m;
        }
        printf("%-58s %2s %9.4f %9.4f %9.1f %9.1f%s\n", dump, plan->threads[t], best.wall_s,
               best.cpu_s, 1000 * best.first_s, (double)best.peak_kb / 1024,
               best.status ? "  FAILED" : "");
        fflush(stdout);
    }
}

static void print_machine(const char *program)
{
    char command[512], line[256];
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info))
        if (!strncmp(line, "model name", 10)) {
            printf("machine: %ld cores, %s", sysconf(_SC_NPROCESSORS_ONLN), strchr(line, ':') + 2);
            break;
        }
    if (info) fclose(info);
    fflush(stdout);
    snprintf(command, sizeof command, "'%s' --version", program);
    if (system(command)) exit(1);
    printf("%-58s %2s %9s %9s %9s %9s\n", "dump", "-n", "wall s", "cpu s", "first ms", "peak MB");
}

static _Noreturn void usage(void)
{
    fprintf(stderr, "usage: bench_run [-n THREADS,...] [-r RUNS] PROBE_UT [DUMP.json ...] "
                    "[-- OPTIONS]\n");
    exit(2);
}

static void split_threads(struct plan *plan, char *list)
{
    plan->n_threads = 0;
    for (char *rest, *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (plan->n_threads == THREADS_MAX) usage();
        plan->threads[plan->n_threads++] = item;
    }
}

int main(int argc, char **argv)
{
    static const char *const bundled[] = { "tests/data/dumps/m1/L1_statistics/dump.json",
                                           "tests/data/dumps/m2/L1_statistics/dump.json",
                                           "tests/data/dumps/m3/L1_statistics/dump.json" };
    struct plan plan = { .threads = { "1", "2" }, .n_threads = 2, .runs = 3 };
    int at = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        if (!strcmp(argv[at], "-n")) split_threads(&plan, argv[at + 1]);
        else if (!strcmp(argv[at], "-r")) plan.runs = atoi(argv[at + 1]);
        else usage();
    }
    if (at >= argc || plan.runs < 1) usage();
    plan.program = argv[at++];
    int last = at;
    while (last < argc && strcmp(argv[last], "--")) last++;
    plan.extra = last < argc ? argv + last + 1 : argv + argc;
    plan.n_extra = last < argc ? argc - last - 1 : 0;
    print_machine(plan.program);
    for (int i = at; i < last; i++) bench(&plan, argv[i]);
    for (int i = 0; last == at && i < 3; i++) bench(&plan, bundled[i]);
    return 0;
}
