/* Speed of the metrics pass, beside a plain stream read of the same two arrays.
 *
 * Prints, per variant and dtype, the time of the fastest of several rounds, GB/s over both
 * arrays, and the share of the stream read measured in the same process. tests/perf/
 * bench_metrics.py runs this and numpy on the same sizes.
 *
 *   bench_metrics [ELEMENTS [ROUNDS]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "standards/metrics/metrics.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t random_state = 88172645463325252u;
static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* Sum of all 64-bit words, unrolled so that memory sets the pace. */
__attribute__((noinline)) static uint64_t stream_read(const void *data, size_t bytes)
{
    typedef uint64_t wide __attribute__((vector_size(64)));
    const wide *p = data;
    wide a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
    for (size_t i = 0; i + 4 <= bytes / sizeof(wide); i += 4) {
        a += p[i];
        b += p[i + 1];
        c += p[i + 2];
        d += p[i + 3];
    }
    a += b + c + d;
    return a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7];
}

struct workload {
    const char *name;
    enum dtype dtype;
    double noise; /* in ulp of the dtype, added before rounding */
};

static const struct workload workloads[] = {
    { "float32, correctly rounded", DT_F32, 0 },
    { "float32, kernel noise of 2 ulp", DT_F32, 2 },
    { "bfloat16, float32 accumulation", DT_BF16, 1e-4 },
    { "float16, float32 accumulation", DT_F16, 1e-3 },
    { "float64, noise of 1 ulp", DT_F64, 1 },
};

static void fill(double *want, void *got, const struct workload *w, size_t n)
{
    size_t bytes = dtype_info(w->dtype)->bytes;
    for (size_t i = 0; i < n; i++) {
        double u = uniform() + uniform() + uniform() + uniform() - 2; /* nearly normal */
        want[i] = u * 1.7;
        double x = want[i] + w->noise * (uniform() - 0.5) * 2 * dtype_ulp(w->dtype, want[i]);
        dtype_from_double((char *)got + i * bytes, w->dtype, &x, 1);
    }
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 0) : (size_t)1 << 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 9;
    double *want = aligned_alloc(64, n * sizeof *want);
    void *got = aligned_alloc(64, n * sizeof(double));
    const struct metrics_parameters parameters = { .bench_epsilon = 0x1p-52,
                                                   .small_value = 1e-6,
                                                   .small_value_atol = 1e-9,
                                                   .relative_tolerance = 1e-6,
                                                   .ulp_limit = 32,
                                                   .within = { 0.01, 0.001, 0.0001 } };

    if (!want || !got) return 1;
    printf("%zu elements, best of %d\n", n, rounds);
    for (size_t k = 0; k < sizeof workloads / sizeof workloads[0]; k++) {
        const struct workload *w = &workloads[k];
        size_t got_bytes = n * dtype_info(w->dtype)->bytes;
        double bytes = (double)(n * sizeof *want + got_bytes), best = INFINITY;
        uint64_t sink = 0;
        fill(want, got, w, n);
        for (int r = 0; r < rounds; r++) {
            double start = now();
            sink += stream_read(want, n * sizeof *want) + stream_read(got, got_bytes);
            best = fmin(best, now() - start);
        }
        printf("%s\n  %-12s %8.2f ms %6.1f GB/s   (%llx)\n", w->name, "stream read", best * 1e3,
               bytes / best * 1e-9, (unsigned long long)(sink & 0xf));
        int64_t shape[1] = { (int64_t)n };
        struct tensor tensor;
        tensor_wrap(&tensor, got, w->dtype, 1, shape);
        struct reference reference = {
            .dtype = w->dtype, .rank = 1, .shape = { (int64_t)n }, .n = n, .hi = want
        };
        for (int v = METRICS_SCALAR; v < METRICS_VARIANTS; v++) {
            double fastest = INFINITY;
            if (!metrics_variant_available((enum metrics_variant)v)) continue;
            struct metrics metrics;
            for (int r = 0; r < (v == METRICS_SCALAR ? 1 : rounds); r++) {
                double start = now();
                metrics_compute(&metrics, &tensor, &reference, &parameters, (enum metrics_variant)v,
                                NULL);
                fastest = fmin(fastest, now() - start);
            }
            printf("  %-12s %8.2f ms %6.1f GB/s   %3.0f %% of stream read   max %.3g ulp\n",
                   metrics_variant_name((enum metrics_variant)v), fastest * 1e3,
                   bytes / fastest * 1e-9, 100 * best / fastest, metrics.worst_ulp.value);
        }
    }
    free(want);
    free(got);
    return 0;
}
