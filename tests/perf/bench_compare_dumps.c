/* How fast two dumps are compared.
 *
 *   bench_compare_dumps [MEGABYTES [DIRECTORY]]
 *
 * Statistics: pairs of dumps of 20,000 and 200,000 calls (13 and 131 MB a side), compared and written as
 * CSV and as a workbook, each in a process of its own so that its memory is its own; beside it the time
 * in which both files are read and nothing is done.
 *
 * Tensors: MEGABYTES (default 256) a side in .npy and .pt files of 786,432 elements, from the page cache:
 * the bytes of both sides through the comparison, against one thread per core that only reads them (pread
 * into a buffer). Once more with half of Bench's elements 0, as behind a ReLU, and in half precision. Shares are of times measured one after the other, best of three each; by processor time as well,
 * which other work on the machine changes less.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare/dumps/comparison.h"
#include "compare/dumps/table.h"
#include "core/clock.h"
#include "core/tensor.h"
#include "formats/npy.h"
#include "formats/pt.h"

enum { ROWS = 768, COLUMNS = 1024, REPEATS = 3, BLOCK = 256 << 10 };

static char directory[512] = "/tmp/bench_compare_dumps";

static void stop(const char *what)
{
    fprintf(stderr, "bench_compare_dumps: %s\n", what);
    exit(1);
}

static void check(struct status status)
{
    if (status.code) stop(status.text);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static double random_number(void) { return (double)(int64_t)next_random() * 0x1p-62; }

static char *path_of(const char *format, ...)
{
    static char paths[8][1024];
    static int turn;
    char *path = paths[turn++ % 8];
    int length = snprintf(path, sizeof paths[0], "%s/", directory);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(path + length, sizeof paths[0] - (size_t)length, format, arguments);
    va_end(arguments);
    return path;
}

/* ---- dumps ------------------------------------------------------------------------------ */

static void write_tensor(FILE *f, const char *data_name)
{
    fprintf(f,
            "    {\n     \"type\": \"torch.Tensor\",\n     \"dtype\": \"torch.float32\",\n"
            "     \"shape\": [\n      %d,\n      %d\n     ],\n     \"Max\": %.17g,\n     \"Min\": "
            "%.17g,\n     \"Mean\": %.17g,\n     \"Norm\": %.17g,\n     \"requires_grad\": true",
            ROWS, COLUMNS, random_number(), random_number(), random_number(), random_number());
    if (data_name) fprintf(f, ",\n     \"data_name\": \"%s\"", data_name);
    fprintf(f, "\n    }\n");
}

/* Calls with one input and one output. */
static void make_statistics(const char *path, int calls)
{
    static const char *const apis[] = { "Torch.matmul", "Functional.linear", "Tensor.__add__",
                                        "Functional.layer_norm" };
    FILE *f = fopen(path, "w");
    if (!f) stop("cannot write a dump");
    fprintf(f, "{\n \"task\": \"statistics\",\n \"framework\": \"pytorch\",\n \"data\": {\n");
    for (int i = 0; i < calls; i++) {
        fprintf(f, "%s  \"%s.%d.forward\": {\n   \"input_args\": [\n", i ? ",\n" : "", apis[i % 4],
                i / 4);
        write_tensor(f, NULL);
        fprintf(f, "   ],\n   \"input_kwargs\": {},\n   \"output\": [\n");
        write_tensor(f, NULL);
        fprintf(f, "   ]\n  }");
    }
    fprintf(f, "\n }\n}\n");
    if (fclose(f)) stop("cannot write a dump");
}

/* What tensors are measured. */
struct tensors {
    const char *name, *format;
    enum dtype dtype;
    bool half_zero; /* every other element */
};

static void make_data(const char *path, const struct tensors *kind, float *elements)
{
    static const int64_t shape[] = { ROWS, COLUMNS };
    struct arena arena = { 0 };
    struct tensor tensor;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        elements[i] = elements[i] * (1 + 1e-4f * (float)random_number());
    for (int i = 0; kind->half_zero && i < ROWS * COLUMNS; i += 2) elements[i] = 0;
    check(tensor_create(&tensor, &arena, kind->dtype, 2, shape));
    dtype_from_float(tensor.data, kind->dtype, elements, ROWS * COLUMNS);
    (void)unlink(path);
    check(strcmp(kind->format, "pt") ? npy_write(path, &tensor, &arena)
                                     : pt_write(path, &tensor, &arena));
    arena_release(&arena);
}

static void make_tensors(const char *side, const struct tensors *kind, int files)
{
    const char *format = kind->format;
    float *elements = malloc(ROWS * COLUMNS * sizeof *elements);
    for (int i = 0; i < ROWS * COLUMNS; i++) elements[i] = (float)random_number();
    (void)mkdir(path_of("%s_%s", side, format), 0750);
    (void)mkdir(path_of("%s_%s/dump_tensor_data", side, format), 0750);
    FILE *f = fopen(path_of("%s_%s/dump.json", side, format), "w");
    if (!f) stop("cannot write a dump");
    fprintf(f, "{\n \"task\": \"tensor\",\n \"framework\": \"pytorch\",\n \"data\": {\n");
    for (int i = 0; i < files; i++) {
        char name[64];
        snprintf(name, sizeof name, "Torch.f.%d.forward.output.0.%s", i, format);
        make_data(path_of("%s_%s/dump_tensor_data/%s", side, format, name), kind, elements);
        fprintf(f, "%s  \"Torch.f.%d.forward\": {\n   \"output\": [\n", i ? ",\n" : "", i);
        write_tensor(f, name);
        fprintf(f, "   ]\n  }");
    }
    fprintf(f, "\n }\n}\n");
    if (fclose(f)) stop("cannot write a dump");
    free(elements);
}

/* Seconds of processors that this process has used. */
static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* ---- reading ---------------------------------------------------------------------------- */

struct reading {
    char (*paths)[1024];
    int count;
    atomic_int next;
    atomic_ullong bytes;
};

static void *read_files(void *argument)
{
    struct reading *r = argument;
    char *block = malloc(BLOCK);
    for (int i; (i = atomic_fetch_add(&r->next, 1)) < r->count;) {
        FILE *f = fopen(r->paths[i], "rb");
        if (!f) stop("cannot read a file");
        setvbuf(f, NULL, _IONBF, 0);
        for (size_t n; (n = fread(block, 1, BLOCK, f));) atomic_fetch_add(&r->bytes, n);
        fclose(f);
    }
    free(block);
    return NULL;
}

/* Seconds in which `threads` threads read the files; their bytes. */
static double read_all(char (*paths)[1024], int count, int threads, double *bytes)
{
    struct reading r = { .paths = paths, .count = count };
    pthread_t others[64];
    double start = clock_seconds();
    for (int i = 1; i < threads; i++) pthread_create(&others[i], NULL, read_files, &r);
    read_files(&r);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    *bytes = (double)atomic_load(&r.bytes);
    return clock_seconds() - start;
}

/* ---- comparing -------------------------------------------------------------------------- */

static double compare(const char *npu, const char *bench, int threads, enum table_format format)
{
    const struct comparison_request request = { .npu_path = npu,
                                                .bench_path = bench,
                                                .generation = GENERATION_2,
                                                .file_policy = FILES_TRUSTED,
                                                .threads = (unsigned)threads };
    const struct table_request table = { .format = format,
                                         .extras = true,
                                         .threads = (unsigned)threads };
    struct comparison c;
    double start = clock_seconds();
    check(comparison_run(&c, &request));
    check(comparison_write_table(&c, path_of("result.%s", table_format_name(format)), &table));
    comparison_release(&c);
    return clock_seconds() - start;
}

/* The same in a process of its own: seconds, processor seconds and megabytes. */
struct cost {
    double seconds, processor_s, megabytes;
};

static struct cost cost_of(const char *npu, const char *bench, int threads,
                           enum table_format format)
{
    struct cost cost;
    struct rusage usage;
    int status, ends[2];

    if (pipe(ends)) stop("no pipe");
    pid_t child = fork();
    if (!child) {
        double seconds = compare(npu, bench, threads, format);
        _exit(write(ends[1], &seconds, sizeof seconds) != sizeof seconds);
    }
    if (read(ends[0], &cost.seconds, sizeof cost.seconds) != sizeof cost.seconds) stop("no result");
    if (wait4(child, &status, 0, &usage) != child || status) stop("the comparison failed");
    close(ends[0]);
    close(ends[1]);
    cost.processor_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    cost.megabytes = (double)usage.ru_maxrss / 1024;
    return cost;
}

static double least(double a, double b) { return a && a < b ? a : b; }

static void measure_statistics(int calls, int threads)
{
    static char paths[2][1024];
    double bytes = 0, reading = 0;

    for (int side = 0; side < 2; side++) {
        snprintf(paths[side], sizeof paths[0], "%s/%c%d_dump.json", directory, 'a' + side, calls);
        make_statistics(paths[side], calls);
    }
    for (int i = 0; i < REPEATS; i++) reading = least(reading, read_all(paths, 2, 2, &bytes));
    printf("statistics, %d calls, %.0f MB: read in %.3f s\n", calls, bytes / 1e6, reading);
    for (int format = TABLE_CSV; format <= TABLE_XLSX; format++) {
        struct cost best = { 0, 0, 0 };
        for (int i = 0; i < (format == TABLE_CSV ? REPEATS : 1); i++) {
            struct cost cost = cost_of(paths[0], paths[1], threads, (enum table_format)format);
            if (!i || cost.seconds < best.seconds) best = cost;
        }
        printf("  to %-4s  %6.2f s  (%.2f s of processors)  %4.0f MB\n",
               table_format_name((enum table_format)format), best.seconds, best.processor_s,
               best.megabytes);
    }
    for (int side = 0; side < 2; side++) (void)unlink(paths[side]);
}

static void measure_tensors(const struct tensors *kind, int megabytes, int threads)
{
    const char *format = kind->format;
    int files = (int)(1e6 * megabytes / (double)(ROWS * COLUMNS * dtype_info(kind->dtype)->bytes));
    char(*paths)[1024] = malloc(2 * (size_t)files * sizeof *paths);
    char npu[1024], bench[1024];
    double bytes = 0, reading = 0, comparing = 0, reading_processor = 0, comparing_processor = 0;

    for (int side = 0; side < 2; side++) {
        make_tensors(side ? "b" : "a", kind, files);
        for (int i = 0; i < files; i++)
            strcpy(paths[2 * i + side],
                   path_of("%c_%s/dump_tensor_data/Torch.f.%d.forward.output.0.%s",
                           side ? 'b' : 'a', format, i, format));
    }
    strcpy(npu, path_of("a_%s/dump.json", format));
    strcpy(bench, path_of("b_%s/dump.json", format));
    (void)read_all(paths, 2 * files, threads, &bytes);
    for (int i = 0; i < REPEATS; i++) {
        double before = processor_seconds();
        reading = least(reading, read_all(paths, 2 * files, threads, &bytes));
        double between = processor_seconds();
        comparing = least(comparing, compare(npu, bench, threads, TABLE_CSV));
        reading_processor = least(reading_processor, between - before);
        comparing_processor = least(comparing_processor, processor_seconds() - between);
    }
    struct cost cost = cost_of(npu, bench, threads, TABLE_CSV);
    printf(
        "tensors, %s, %.0f MB a side, %d threads: read %.2f GB/s, compared %.2f GB/s: %.0f %% of "
        "reading (%.0f %% by processor time), %.0f MB\n",
        kind->name, bytes / 2e6, threads, bytes / reading / 1e9, bytes / comparing / 1e9,
        100 * reading / comparing, 100 * reading_processor / comparing_processor, cost.megabytes);
    free(paths);
}

int main(int count, char **arguments)
{
    int threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    int megabytes = count > 1 ? atoi(arguments[1]) : 256;
    char command[600];

    if (threads < 1 || threads > 64) threads = 2;
    if (count > 2) snprintf(directory, sizeof directory, "%s", arguments[2]);
    if (megabytes < 4) stop("bench_compare_dumps [MEGABYTES [DIRECTORY]]");
    (void)mkdir(directory, 0750);
    measure_statistics(20000, threads);
    measure_statistics(200000, threads);
    static const struct tensors kinds[] = {
        { "float32 .npy", "npy", DT_F32, false },
        { "float32 .pt", "pt", DT_F32, false },
        { "float32 .npy, half of them 0", "npy", DT_F32, true },
        { "float16 .npy", "npy", DT_F16, false },
        { "bfloat16 .pt", "pt", DT_BF16, false },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        measure_tensors(&kinds[i], megabytes, threads);
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    return system(command) != 0;
}
