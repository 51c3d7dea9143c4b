/* How fast a dump is read: MB/s of dump_open (the validating index scan) and of dump_open plus
 * parsing every case, on one core, and the memory of both.
 *
 * The dump is made here: the entries of a real one, over and over under new numbers, until it
 * has the wanted size. Build and run from the source folder:
 *
 *   cmake --preset release && cmake --build --preset release --target probe-formats
 *   cc -O2 -D_GNU_SOURCE -I. tests/perf/bench_dump.c build/release/libprobe-formats.a \
 *      build/release/libprobe-core.a -lz -lpthread -lm -o /tmp/bench_dump
 *   /tmp/bench_dump [tests/data/dumps/m1/L1_statistics/dump.json [MEGABYTES]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "formats/dump.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static void stop(const char *what)
{
    fprintf(stderr, "bench_dump: %s\n", what);
    exit(1);
}

/* Write the entries of `text` again and again: a '#' is put behind the type of each name, so that
 * names stay distinct. The entries lie between "data": { and the last two braces. */
static void make_dump(const char *path, const char *text, size_t bytes, size_t wanted)
{
    const char *data = strstr(text, "\"data\": {"), *end = text + bytes;
    FILE *out = fopen(path, "w");

    if (!data || !out) stop("cannot make the dump");
    data += strlen("\"data\": {");
    for (int braces = 0; braces < 2;) braces += *--end == '}';
    fwrite(text, 1, (size_t)(data - text), out);
    for (int round = 0; (size_t)ftell(out) < wanted; round++) {
        const char *at = data;
        if (round) fputc(',', out);
        /* The names of entries are the only keys at this depth of indentation. */
        for (const char *name; (name = strstr(at, "\n  \"")) && name < end;) {
            const char *dot = strchr(name, '.');
            fwrite(at, 1, (size_t)(dot - at), out);
            fprintf(out, ".r%d_", round);
            at = dot + 1;
        }
        fwrite(at, 1, (size_t)(end - at), out);
    }
    fputs("}}", out);
    fclose(out);
}

int main(int argc, char **argv)
{
    const char *source = argc > 1 ? argv[1] : "tests/data/dumps/m1/L1_statistics/dump.json";
    size_t megabytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 100, bytes, cases_bytes = 0;
    char path[] = "/tmp/bench_dump_XXXXXX.json", *text;
    struct arena arena = { 0 };
    struct dump *dump;

    int fd = mkstemps(path, 5);
    if (fd < 0 || file_read_path(&text, &bytes, source, FILES_TRUSTED).code)
        stop("cannot read the source");
    close(fd);
    make_dump(path, text, bytes, megabytes << 20);
    for (int round = 0; round < 5; round++) {
        double start = now_s();
        struct status status = dump_open(&dump, path, FILES_CHECKED);
        if (status.code) stop(status.text);
        double opened = now_s(), open_peak = peak_mb();
        cases_bytes = 0;
        for (size_t i = 0; i < dump_count(dump); i++) {
            struct api_case c;
            status = dump_read_case(&c, &arena, dump, i);
            if (status.code && status.code != STATUS_SKIP) stop(status.text);
            cases_bytes += dump_case_bytes(dump, i);
            arena_reset(&arena);
        }
        double parsed = now_s(), mb = (double)cases_bytes / 1e6;
        printf("%zu calls, %.0f MB: open %.0f MB/s, parse %.0f MB/s, both %.0f MB/s; peak %.1f MB "
               "after open, %.1f MB after all\n",
               dump_count(dump), mb, mb / (opened - start), mb / (parsed - opened),
               mb / (parsed - start), open_peak, peak_mb());
        dump_close(dump);
    }
    arena_release(&arena);
    unlink(path);
    return 0;
}
