/* Factors are rounded first; where the sums deviate, too, each element is accumulated in the order of its
 * terms, which is that of most kernels within a block. */
#include "bench/primitives/deviating_product.h"

#include <string.h>

#include "bench/tape/deviation.h"

/* One factor: rounded, and of a split one the lower part (otherwise NULL). */
struct factor {
    double *value, *lower;
};

static bool factor_make(struct factor *out, struct tape *tape, const double *x, size_t n,
                        const struct rounding *rounding, bool split)
{
    out->lower = split ? tape_allocate(tape, n, sizeof *out->lower) : NULL;
    out->value = tape_allocate(tape, n, sizeof *out->value);
    if (tape_failed(tape)) return false;
    memcpy(out->value, x, n * sizeof *x);
    rounding_apply_all(rounding, out->value, n);
    for (size_t i = 0; split && i < n; i++) {
        out->lower[i] = rounding_apply(rounding, x[i] - out->value[i]);
        out->value[i] += out->lower[i];
    }
    return true;
}

static void accumulate(double *z, const struct deviation *deviation, const struct gemm *shape,
                       const double *a, const double *b)
{
    size_t m = shape->m, n = shape->n, depth = shape->k;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            struct accumulator sum = { .deviation = deviation };
            for (size_t k = 0; k < depth; k++)
                accumulator_add(&sum, a[shape->transpose_a ? k * m + i : i * depth + k] *
                                          b[shape->transpose_b ? j * depth + k : k * n + j]);
            z[i * n + j] = accumulator_total(&sum) + (shape->add ? z[i * n + j] : 0);
        }
}

void deviating_gemm(struct tape *tape, double *z, const struct gemm *shape, const double *a,
                    const double *b)
{
    const struct deviation *deviation = tape->deviation;
    struct factor x, y;
    if (!deviation) {
        gemm_double(z, shape, a, b);
        return;
    }
    struct arena_mark before = arena_mark(tape->arena);
    if (!factor_make(&x, tape, a, shape->m * shape->k, &deviation->operands[0], deviation->split) ||
        !factor_make(&y, tape, b, shape->k * shape->n, &deviation->operands[1], deviation->split))
        return;
    if (deviation_sums(deviation)) accumulate(z, deviation, shape, x.value, y.value);
    else gemm_double(z, shape, x.value, y.value);
    if (deviation->split) {
        struct gemm lower = *shape;
        lower.add = true;
        for (size_t i = 0; i < shape->m * shape->k; i++) x.lower[i] = -x.lower[i];
        gemm_double(z, &lower, x.lower, y.lower);
    }
    arena_rewind(tape->arena, before);
}
