/* How long api_precision_compare takes, and its memory, for files of 50,000 rows up to a million.
 *
 * The files are made here: the rows of two real runs, over and over under new numbers, with a
 * few rows that only one of them has. Each size runs in a process of its own, so that the peak
 * memory is that size's. Build and run from the source folder:
 *
 *   cmake --preset release && cmake --build --preset release --target probe-ut
 *   cc -O2 -D_GNU_SOURCE -I. tests/perf/bench_compare.c build/release/libprobe-formats.a \
 *      build/release/libprobe-core.a -lz -lpthread -lm -o /tmp/bench_compare
 *   /tmp/bench_compare build/release/probe-ut [ROWS...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "formats/csv.h"

#define INPUTS "tests/data/three_way/inputs/"

enum { RUNS = 3 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const char *what)
{
    fprintf(stderr, "bench_compare: %s\n", what);
    exit(1);
}

static void check(struct status status)
{
    if (status.code) stop(status.text);
}

/* The name with the number of another call: Torch.add.3.forward... -> Torch.add.7003. in round 7, so that
 * numbers grow as in a run. */
static void append_name(struct csv_buffer *out, struct csv_text name, size_t round)
{
    char text[512];
    size_t dots = 0, at = name.length;
    while (at && dots < 4) dots += name.bytes[--at] == '.';
    size_t number = strtoul(name.bytes + at + 1, NULL, 10), begin = at + 1;
    while (name.bytes[begin] != '.') begin++;
    int length = snprintf(text, sizeof text, "%.*s.%zu%.*s", (int)at, name.bytes,
                          1000 * round + number, (int)(name.length - begin), name.bytes + begin);
    check(csv_append_cell(out, text, (size_t)length));
}

/* `rows` rows from a real file; every `left_out`-th one is missing. */
static void make_file(const char *path, const char *source, size_t rows, size_t left_out)
{
    struct file in, out;
    struct csv_reader reader;
    struct csv_row row;
    struct csv_buffer text = { 0 };
    bool more = true;
    unlink(path);
    check(file_create(&out, path));
    check(file_open_read(&in, source, FILES_TRUSTED));
    for (size_t made = 0, round = 0; made < rows; round++) {
        check(csv_open_file(&reader, &in, NULL));
        check(csv_next(&reader, &row, &more));
        if (!round) {
            check(csv_append_mark(&text));
            for (size_t i = 0; i < row.count; i++)
                check(csv_append_cell(&text, row.cells[i].bytes, row.cells[i].length));
            check(csv_end_row(&text));
        }
        for (;; made++) {
            check(csv_next(&reader, &row, &more));
            if (!more || made == rows) break;
            if (made % left_out == left_out - 1) continue;
            append_name(&text, row.cells[0], round);
            for (size_t i = 1; i < row.count; i++)
                check(csv_append_cell(&text, row.cells[i].bytes, row.cells[i].length));
            check(csv_end_row(&text));
        }
        csv_close(&reader);
        check(file_write_all(&out, text.data, text.length));
        csv_buffer_clear(&text);
    }
    csv_buffer_release(&text);
    check(file_close(&in));
    check(file_sync(&out)); /* or it would be written while the program is timed */
    check(file_close(&out));
}

/* Run the program once; seconds, and its peak memory. */
static double run_once(const char *program, const char *npu, const char *gpu, const char *out,
                       double *peak_mb)
{
    double start = now_s();
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        if (!freopen("/dev/null", "w", stdout)) _exit(1);
        execl(program, "probe-ut", "api_precision_compare", "-npu", npu, "-gpu", gpu, "-o", out,
              "--trust-files", (char *)NULL);
        _exit(1);
    }
    struct rusage usage;
    int status;
    if (wait4(pid, &status, 0, &usage) < 0 || status) stop("the program failed");
    *peak_mb = (double)usage.ru_maxrss / 1024;
    return now_s() - start;
}

int main(int count, char **arguments)
{
    static const size_t usual[] = { 50000, 100000, 200000, 500000, 1000000 };
    char npu[64] = "/tmp/bench-compare-XXXXXX", gpu[80], out[80], command[160];

    if (count < 2) stop("usage: bench_compare PROBE_UT [ROWS...]");
    if (!mkdtemp(npu)) stop("no temporary directory");
    snprintf(command, sizeof command, "rm -rf '%s'", npu);
    snprintf(out, sizeof out, "%s/out", npu);
    snprintf(gpu, sizeof gpu, "%s/gpu.csv", npu);
    strcat(npu, "/npu.csv");
    printf("%10s %10s %10s %12s %10s\n", "rows", "MB a side", "seconds", "us a row", "peak MB");
    size_t sizes = count > 2 ? (size_t)count - 2 : sizeof usual / sizeof *usual;
    for (size_t i = 0; i < sizes; i++) {
        size_t rows = count > 2 ? strtoul(arguments[i + 2], NULL, 10) : usual[i];
        make_file(npu, INPUTS "m5a_dev_a.csv", rows, 9973);
        make_file(gpu, INPUTS "m5a_dev_b.csv", rows, 9967);
        double best = 1e9, peak_mb = 0;
        for (int run = 0; run < RUNS; run++) {
            double seconds = run_once(arguments[1], npu, gpu, out, &peak_mb);
            if (seconds < best) best = seconds;
        }
        FILE *file = fopen(npu, "r");
        if (!file || fseek(file, 0, SEEK_END)) stop("the file is gone");
        printf("%10zu %10.1f %10.3f %12.2f %10.0f\n", rows, (double)ftell(file) / 1e6, best,
               1e6 * best / (double)rows, peak_mb);
        fclose(file);
        fflush(stdout);
    }
    return system(command) ? 1 : 0;
}
