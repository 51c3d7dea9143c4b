/* What a user waits for: whole-process wall time, processor time and peak memory of runs, and
 * the time to the first verdict.
 *
 *   bench_run PROBE_UT [DUMP.json ...] [-- OPTIONS]
 *
 * Each dump is run three times on one and on two threads into a temporary directory; the run with
 * the least wall time counts. The first verdict is the moment at which the result file has its
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

enum { RUNS = 3, ARGUMENTS_MAX = 40 };

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

static struct measure measure_run(const char *program, const char *dump, const char *threads,
                                  int n_extra, char *const *extra)
{
    struct measure m = { 0 };
    char directory[] = "/tmp/bench-run-XXXXXX";
    struct rusage usage;
    int status = 0;
    if (!mkdtemp(directory)) exit(1);

    char *arguments[ARGUMENTS_MAX] = { (char *)program, (char *)"-api_info",
                                       (char *)dump,    (char *)"-o",
                                       directory,       (char *)"-n",
                                       (char *)threads, (char *)"--no-progress" };
    for (int i = 0; i < n_extra && 8 + i < ARGUMENTS_MAX - 1; i++) arguments[8 + i] = extra[i];
    fflush(stdout);
    double begin = now_s();
    pid_t pid = fork();
    if (!pid) {
        if (!freopen("/dev/null", "w", stdout)) _exit(98);
        execv(program, arguments);
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

static void bench(const char *program, const char *dump, int n_extra, char *const *extra)
{
    static const char *const threads[] = { "1", "2" };
    for (int t = 0; t < 2; t++) {
        struct measure best = { 0 };
        for (int i = 0; i < RUNS; i++) {
            struct measure m = measure_run(program, dump, threads[t], n_extra, extra);
            if (!i || m.wall_s < best.wall_s) best = m;
        }
        printf("%-58s %2s %9.3f %9.3f %9.1f %9.1f%s\n", dump, threads[t], best.wall_s, best.cpu_s,
               1000 * best.first_s, (double)best.peak_kb / 1024, best.status ? "  FAILED" : "");
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

int main(int argc, char **argv)
{
    static const char *const bundled[] = { "tests/data/dumps/m1/L1_statistics/dump.json",
                                           "tests/data/dumps/m2/L1_statistics/dump.json",
                                           "tests/data/dumps/m3/L1_statistics/dump.json" };
    if (argc < 2) {
        fprintf(stderr, "usage: bench_run PROBE_UT [DUMP.json ...] [-- OPTIONS]\n");
        return 2;
    }
    int last = 2;
    while (last < argc && strcmp(argv[last], "--")) last++;
    char *const *extra = last < argc ? argv + last + 1 : argv + argc;
    int n_extra = last < argc ? argc - last - 1 : 0;
    print_machine(argv[1]);
    for (int i = 2; i < last; i++) bench(argv[1], argv[i], n_extra, extra);
    for (int i = 0; last == 2 && i < 3; i++) bench(argv[1], bundled[i], n_extra, extra);
    return 0;
}
