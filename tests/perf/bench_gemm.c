/* Certified matrix products beside dgemm: benign data, and data on which dgemm alone is no use.
 *
 *   bench_gemm [SIDE [ROUNDS [TERMS]]]
 *
 * SIDE x TERMS times TERMS x SIDE; TERMS is SIDE when it is not said.
 *
 * dgemm      of factors already in double
 * certified  torch.matmul's bench function of float32 factors: conversion, product, bounds,
 *            certificate, recomputation of the elements that are not certified for float32
 */
#include "reference_timing.h"

enum { MOST_ROUNDS = 99 };

static const char *const kinds[] = { "normal", "uniform", "+x -x, 1e-3", "+x -x, 2^-20" };

/* Factors a of side x terms, b of terms x side. */
static void fill(float *a, float *b, size_t side, size_t terms, int kind)
{
    uint64_t seed = 11;
    double nudge = kind == 2 ? 1e-3 : 0x1p-20;
    for (size_t i = 0; i < side * terms; i++) {
        double x = kind == 1 ? uniform(&seed) : normal(&seed);
        a[i] = (float)x;
        if (kind >= 2 && i % terms % 2) a[i] = (float)(-a[i - 1] * (1 + nudge * x));
    }
    for (size_t i = 0; i < terms * side; i++) {
        b[i] = (float)(kind == 1 ? uniform(&seed) : normal(&seed));
        if (kind >= 2 && i / side % 2) b[i] = b[i - side];
    }
}

int main(int argc, char **argv)
{
    size_t side = argc > 1 ? strtoull(argv[1], NULL, 10) : 1024;
    int rounds = argc > 2 ? atoi(argv[2]) : 7;
    size_t terms = argc > 3 ? strtoull(argv[3], NULL, 10) : side, n = side * terms;
    if (!side || !terms || rounds < 1 || rounds > MOST_ROUNDS) return 2;
    float *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y),
           *z = malloc(side * side * sizeof *z);
    struct arena arena = { 0 };
    int64_t left[2] = { (int64_t)side, (int64_t)terms }, right[2] = { left[1], left[0] };
    struct tensor tensors[2];
    struct timed_case c;

    print_machine();
    printf("%zu x %zu x %zu, medians of %d\n%-14s %10s %10s %7s %10s %s\n", side, terms, side,
           rounds, "data", "dgemm ms", "certified", "ratio", "fallback", "state");
    tensor_wrap(&tensors[0], a, DT_F32, 2, left);
    tensor_wrap(&tensors[1], b, DT_F32, 2, right);
    timed_case_open(&c, "Torch", "matmul", 2, tensors);
    for (int kind = 0; kind < 4; kind++) {
        double times[2][MOST_ROUNDS], fallback = 0;
        enum reference_state state;
        fill(a, b, side, terms, kind);
        dtype_to_double(x, a, DT_F32, n);
        dtype_to_double(y, b, DT_F32, n);
        (void)time_reference(&c, &arena, &fallback, &state);
        for (int r = 0; r < rounds; r++) {
            double start = now();
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)side, (int)side, (int)terms,
                        1, x, (int)terms, y, (int)side, 0, z, (int)side);
            times[0][r] = now() - start;
            times[1][r] = time_reference(&c, &arena, NULL, NULL);
        }
        double base = median(times[0], rounds) * 1e3, ours = median(times[1], rounds) * 1e3;
        printf("%-14s %10.1f %10.1f %7.2f %10.2g %s\n", kinds[kind], base, ours, ours / base,
               fallback, state_name(state));
    }
    free(a);
    free(b);
    free(x);
    free(y);
    free(z);
    arena_release(&arena);
    return 0;
}
