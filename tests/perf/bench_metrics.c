/* Speed of the metrics pass, beside a plain stream read of the same two arrays, which lie in an arena as those of a
 * run do (that is, in huge pages).
 *
 * Prints, per variant and dtype, the time of the fastest of several rounds, GB/s over both
 * arrays, the share of the stream read measured in the same process, and the time of a call for SMALL elements.
 * `least`, for AVX2 and the dtypes of 16 bits, is a loop that does nothing but load, convert and add up: no pass with these
 * sums is faster.
 *
 *   bench_metrics [ELEMENTS [ROUNDS]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/arena.h"
#include "standards/metrics/metrics.h"

enum { SMALL = 1000 };

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

#if defined(__x86_64__)
#include "core/lanes_avx2.h"

/* The seven sums of the pass over a chunk of 16 rows of 64 elements, in its order (standards/metrics/metrics_kernel.h). */
ALWAYS_INLINE void least_chunk(double sums[7][64], const double *want, const uint16_t *got,
                               void (*widen)(float *, const void *))
{
    enum { ROWS = 16, ROW = 64, AHEAD = 1536 };
    float x[ROWS][8];
    for (size_t lane = 0; lane < ROW; lane += 4) {
        V sum[7];
        for (size_t row = 0; row < ROWS && lane % 8 == 0; row++)
            widen(x[row], got + row * ROW + lane);
        for (size_t line = 0; line < 8; line++)
            __builtin_prefetch(want + AHEAD + lane * ROWS + line * 8);
        __builtin_prefetch(got + AHEAD + lane * ROWS);
        __builtin_prefetch(got + AHEAD + lane * ROWS + 32);
        for (int s = 0; s < 7; s++) sum[s] = v_load(&sums[s][lane]);
        for (size_t row = 0; row < ROWS; row++) {
            V w = v_load(want + row * ROW + lane), g = load_f32(x[row] + lane % 8);
            V error = v_sub(g, w), size = v_abs(error), scale = v_reciprocal_power(w);
            V ulp = v_mul(error, scale);
            sum[0] = v_fma(w, w, sum[0]);
            sum[1] = v_fma(g, g, sum[1]);
            sum[2] = v_fma(size, size, sum[2]);
            sum[3] = v_add(sum[3], v_div(size, v_add(v_abs(w), v_set(0x1p-52))));
            sum[4] = v_fma(size, scale, sum[4]);
            sum[5] = v_add(sum[5], ulp);
            sum[6] = v_fma(ulp, ulp, sum[6]);
        }
        for (int s = 0; s < 7; s++) v_store(&sums[s][lane], sum[s]);
    }
}

static double least_bf16(const double *want, const uint16_t *got, size_t n)
{
    double sums[7][64] = { { 0 } };
    for (size_t i = 0; i + 1024 <= n; i += 1024)
        least_chunk(sums, want + i, got + i, floats_from_bf16);
    return sums[3][0] + sums[5][1];
}

static double least_f16(const double *want, const uint16_t *got, size_t n)
{
    double sums[7][64] = { { 0 } };
    for (size_t i = 0; i + 1024 <= n; i += 1024)
        least_chunk(sums, want + i, got + i, floats_from_f16);
    return sums[3][0] + sums[5][1];
}

LANES_END

static void print_least(const double *want, const void *got, enum dtype dtype, size_t n, int rounds,
                        double stream)
{
    double best = INFINITY, sink = 0;
    if (!lanes_avx2_available() || (dtype != DT_BF16 && dtype != DT_F16)) return;
    for (int r = 0; r < rounds; r++) {
        double start = now();
        sink += dtype == DT_BF16 ? least_bf16(want, got, n) : least_f16(want, got, n);
        best = fmin(best, now() - start);
    }
    printf("  least avx2   %8.2f ms              %3.0f %% of stream read   (%g)\n", best * 1e3,
           100 * stream / best, sink);
}
#else
static void print_least(const double *want, const void *got, enum dtype dtype, size_t n, int rounds,
                        double stream)
{
    (void)want, (void)got, (void)dtype, (void)n, (void)rounds, (void)stream;
}
#endif

static double small_call(const struct tensor *got, const struct reference *want,
                         const struct metrics_parameters *parameters, enum metrics_variant variant)
{
    enum { CALLS = 200 };
    double best = INFINITY;
    struct tensor tensor;
    struct reference reference = *want;
    struct metrics metrics;
    int64_t shape[1] = { SMALL };

    tensor_wrap(&tensor, got->data, got->dtype, 1, shape);
    reference.n = SMALL;
    reference.shape[0] = SMALL;
    for (int r = 0; r < 9; r++) {
        double start = now();
        for (int c = 0; c < CALLS; c++)
            metrics_compute(&metrics, &tensor, &reference, parameters, variant, NULL);
        best = fmin(best, (now() - start) / CALLS);
    }
    return best;
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
    struct arena arena = { 0 };
    double *want = arena_allocate_array(&arena, n, sizeof *want);
    void *got = arena_allocate_array(&arena, n, sizeof(double));
    const struct metrics_parameters parameters = { .bench_epsilon = 0x1p-52,
                                                   .small_value = 1e-6,
                                                   .small_value_atol = 1e-9,
                                                   .relative_tolerance = 1e-6,
                                                   .ulp_limit = 32,
                                                   .within = { 0.01, 0.001, 0.0001 } };

    if (!want || !got || n < SMALL) return 1;
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
            double small = small_call(&tensor, &reference, &parameters, (enum metrics_variant)v);
            printf("  %-12s %8.2f ms %6.1f GB/s   %3.0f %% of stream read   max %.3g ulp   "
                   "%d elements %.2f µs\n",
                   metrics_variant_name((enum metrics_variant)v), fastest * 1e3,
                   bytes / fastest * 1e-9, 100 * best / fastest, metrics.worst_ulp.value, SMALL,
                   small * 1e6);
        }
        print_least(want, got, w->dtype, n, rounds, best);
    }
    arena_release(&arena);
    return 0;
}
