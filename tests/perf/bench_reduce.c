/* Certified sums and dots beside plain ones in double, at a size that memory paces.
 *
 *   bench_reduce [ELEMENTS [ROUNDS]]
 *
 * plain      float32 elements summed in eight double accumulators, straight from memory
 * kernel     the certified sum of elements already in double, against the plain sum of the same
 * API        torch.sum, torch.dot, torch.mean, torch.var, torch.norm as a whole, in turn with the plain loop: what is
 *            measured right after other work on other arrays would pay for that
 */
#include "reference_timing.h"

#include "bench/arithmetic/arithmetics.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/reduce.h"
#include "bench/tape/tape.h"
#include "core/vectorize.h"

enum { MOST_ROUNDS = 99, LANES = 8 };

VECTORIZED __attribute__((noinline)) static double plain_sum(const float *x, size_t n)
{
    double lane[LANES] = { 0 };
    for (size_t i = 0; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) lane[k] += x[i + k];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

VECTORIZED __attribute__((noinline)) static double plain_dot(const float *x, const float *y,
                                                             size_t n)
{
    double lane[LANES] = { 0 };
    for (size_t i = 0; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) lane[k] += (double)x[i + k] * y[i + k];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

VECTORIZED __attribute__((noinline)) static double double_sum(const double *x, size_t n)
{
    double lane[LANES] = { 0 };
    for (size_t i = 0; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) lane[k] += x[i + k];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static volatile double sink;

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)1 << 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 7;
    if (!n || rounds < 1 || rounds > MOST_ROUNDS) return 2;
    float *x = malloc(2 * n * sizeof *x);
    double *wide = malloc(n * sizeof *wide), times[3][MOST_ROUNDS];
    struct arena arena = { .keep_bytes = (size_t)4 << 30 };
    int64_t shape[1] = { (int64_t)n };
    struct tensor tensors[2];
    uint64_t seed = 5;

    print_machine();
    for (size_t i = 0; i < 2 * n; i++) x[i] = (float)normal(&seed);
    dtype_to_double(wide, x, DT_F32, n);
    tensor_wrap(&tensors[0], x, DT_F32, 1, shape);
    tensor_wrap(&tensors[1], x + n, DT_F32, 1, shape);
    for (int r = 0; r < rounds; r++) {
        double start = now();
        sink = plain_sum(x, n);
        times[0][r] = now() - start;
        start = now();
        sink = plain_dot(x, x + n, n);
        times[1][r] = now() - start;
        start = now();
        sink = double_sum(wide, n);
        times[2][r] = now() - start;
    }
    double sum_ns = median(times[0], rounds) * 1e9 / (double)n,
           dot_ns = median(times[1], rounds) * 1e9 / (double)n;
    double wide_ns = median(times[2], rounds) * 1e9 / (double)n;
    printf("%zu elements, medians of %d, ns per element\nplain sum %.3f, plain dot %.3f, plain sum "
           "of doubles %.3f\n",
           n, rounds, sum_ns, dot_ns, wide_ns);

    for (int r = 0; r < rounds; r++) {
        struct tape tape;
        tape_open(&tape, &arena, BENCH_REFERENCE, false);
        struct tensor doubles;
        tensor_wrap(&doubles, wide, DT_F64, 1, shape);
        struct node *leaf = node_leaf(&tape, &doubles, false);
        (void)node_values(&tape, leaf);
        double start = now();
        sink = node_sum(&tape, leaf, 1, false)->value[0];
        times[0][r] = now() - start;
        arena_reset(&arena);
    }
    double kernel = median(times[0], rounds) * 1e9 / (double)n;
    printf("%-18s %8.3f  %.2f of the plain sum of doubles\n", "kernel", kernel, kernel / wide_ns);

    for (int r = 0; r < rounds; r++) {
        struct tape tape;
        tape_open(&tape, &arena, BENCH_REFERENCE, false);
        int64_t row[3] = { 1, 1, (int64_t)n };
        struct node *leaf = node_new_real(&tape, DT_F32, 3, row);
        memcpy(leaf->value, wide, n * sizeof *wide);
        double start = now();
        sink = cblas_ddot((int)n, wide, 1, leaf->value, 1);
        times[0][r] = now() - start;
        start = now();
        sink = node_matmul(&tape, leaf, false, leaf, true)->value[0];
        times[1][r] = now() - start;
        arena_reset(&arena);
    }
    double ddot = median(times[0], rounds) * 1e9 / (double)n,
           certified = median(times[1], rounds) * 1e9 / (double)n;
    printf("%-18s %8.3f  %.2f of ddot, %.3f\n", "dot kernel", certified, certified / ddot, ddot);

    static const struct {
        const char *api;
        int tensors;
    } apis[] = { { "sum", 1 }, { "dot", 2 }, { "mean", 1 }, { "var", 1 }, { "norm", 1 } };
    for (size_t k = 0; k < sizeof apis / sizeof *apis; k++) {
        struct timed_case c;
        enum reference_state state;
        timed_case_open(&c, "Torch", apis[k].api, apis[k].tensors, tensors);
        for (int r = 0; r < rounds; r++) {
            double start = now();
            sink = apis[k].tensors == 2 ? plain_dot(x, x + n, n) : plain_sum(x, n);
            times[1][r] = now() - start;
            times[0][r] = time_reference(&c, &arena, NULL, &state);
        }
        double ours = median(times[0], rounds) * 1e9 / (double)n,
               base = median(times[1], rounds) * 1e9 / (double)n;
        printf("torch.%-12s %8.3f  %.2f of plain, %s\n", apis[k].api, ours, ours / base,
               state_name(state));
    }
    free(x);
    free(wide);
    arena_release(&arena);
    return 0;
}
