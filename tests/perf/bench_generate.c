/* How fast inputs are generated: GB/s of Philox words per instruction set, ns an element
 * and GB/s of tensors per dtype, on one core, into memory that is already mapped.
 *
 *   cmake --preset release && cmake --build build/release --target perf
 *   build/release/tests/perf/bench_generate [MILLIONS OF ELEMENTS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "generators/fill.h"
#include "generators/lanes.h"

enum { REPEATS = 9 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double seconds[REPEATS])
{
    qsort(seconds, REPEATS, sizeof *seconds, compare);
    return seconds[REPEATS / 2];
}

static void print_processor(void)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "model name", 10)) {
            printf("%s", strchr(line, ':') + 2);
            break;
        }
    if (file) fclose(file);
}

static void measure_words(void *buffer, size_t bytes)
{
    for (size_t i = 0; lanes_variant(i); i++) {
        const struct lanes *lanes = lanes_variant(i);
        double seconds[REPEATS];
        for (int r = 0; r < REPEATS; r++) {
            double start = now();
            /* Chunks of 16 KB, as fill.c draws them. */
            for (size_t at = 0; at + 16384 <= bytes; at += 16384)
                lanes->philox(buffer, 1, 2, at / 16, 1024);
            seconds[r] = now() - start;
        }
        printf("philox words, %-9s              %7.2f GB/s\n", lanes->name,
               (double)bytes / median(seconds) * 1e-9);
    }
}

static void measure_dtype(enum dtype dtype, void *buffer, int64_t n)
{
    struct tensor tensor;
    struct range range = dtype_is_integral(dtype) ? range_of_integers(dtype, -100, 100)
                                                  : range_of_reals(dtype, -2.5, 3);
    double seconds[REPEATS];

    if (dtype_is_complex(dtype)) range = range_of_reals(dtype, 0.5, 3);
    tensor_wrap(&tensor, buffer, dtype, 1, &n);
    for (int r = 0; r < REPEATS; r++) {
        double start = now();
        fill_tensor(&tensor, &range, (uint64_t)r, NULL);
        seconds[r] = now() - start;
    }
    double middle = median(seconds);
    printf("%-22s %7.3f ns/element %7.2f GB/s\n", dtype_info(dtype)->name, middle / (double)n * 1e9,
           (double)n * (double)dtype_info(dtype)->bytes / middle * 1e-9);
}

int main(int argc, char **argv)
{
    int64_t n = (argc > 1 ? atol(argv[1]) : 16) * 1000000;
    size_t bytes = (size_t)n * 16;
    void *buffer = malloc(bytes);

    if (n < 1 || !buffer) return 1;
    memset(buffer, 1, bytes);
    print_processor();
    printf("%lld elements, median of %d, best variant: %s\n", (long long)n, REPEATS,
           lanes_best()->name);
    measure_words(buffer, (size_t)n * 4);
    for (int dtype = DT_F64; dtype < DT_COUNT; dtype++) measure_dtype((enum dtype)dtype, buffer, n);
    free(buffer);
    return 0;
}
