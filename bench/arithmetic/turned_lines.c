/* Squares of 8 by 8 terms are turned in registers, in three shuffles of halves, quarters and eighths (the transpose of Eklundh, 1972). */
#include "bench/arithmetic/turned_lines.h"

#include <stdbool.h>
#include <string.h>

#include "core/vectorize.h"

enum { SIDE = 8 };
typedef double eight __attribute__((vector_size(SIDE * sizeof(double))));

/* The lower (0) or upper (1) of every two elements, pairs or fours of two lines side by side. */
static inline __attribute__((always_inline)) void ones_of(eight *out, const eight *a,
                                                          const eight *b, size_t upper)
{
    *out = upper ? __builtin_shufflevector(*a, *b, 1, 9, 3, 11, 5, 13, 7, 15)
                 : __builtin_shufflevector(*a, *b, 0, 8, 2, 10, 4, 12, 6, 14);
}

static inline __attribute__((always_inline)) void twos_of(eight *out, const eight *a,
                                                          const eight *b, size_t upper)
{
    *out = upper ? __builtin_shufflevector(*a, *b, 2, 3, 10, 11, 6, 7, 14, 15)
                 : __builtin_shufflevector(*a, *b, 0, 1, 8, 9, 4, 5, 12, 13);
}

static inline __attribute__((always_inline)) void fours_of(eight *out, const eight *a,
                                                           const eight *b, size_t upper)
{
    *out = upper ? __builtin_shufflevector(*a, *b, 4, 5, 6, 7, 12, 13, 14, 15)
                 : __builtin_shufflevector(*a, *b, 0, 1, 2, 3, 8, 9, 10, 11);
}

/* Terms k .. k + 7 of eight lines. */
static inline __attribute__((always_inline)) void turn_square(double *restrict out,
                                                              const double *const *x, size_t k)
{
    eight a[SIDE], b[SIDE];
    for (size_t i = 0; i < SIDE; i++) memcpy(&a[i], x[i] + k, sizeof a[i]);
    for (size_t i = 0; i < SIDE; i++) ones_of(&b[i], &a[i & ~(size_t)1], &a[i | 1], i & 1);
    for (size_t i = 0; i < SIDE; i++) twos_of(&a[i], &b[i & ~(size_t)2], &b[i | 2], i >> 1 & 1);
    for (size_t i = 0; i < SIDE; i++) fours_of(&b[i], &a[i & ~(size_t)4], &a[i | 4], i >> 2 & 1);
    for (size_t i = 0; i < SIDE; i++) memcpy(out + i * TURNED_LINES, &b[i], sizeof b[i]);
}

VECTORIZED static void turn_squares(double *restrict out, const double *const *x, size_t n)
{
    for (size_t k = 0; k + SIDE <= n; k += SIDE)
        for (size_t w = 0; w < TURNED_LINES; w += SIDE)
            turn_square(out + k * TURNED_LINES + w, x + w, k);
}

/* Registers for two squares: with fewer, shuffles take longer than single elements. */
static bool has_room(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

void lines_turn(double *out, const double *const x[TURNED_LINES], size_t n, size_t step)
{
    size_t whole = step == 1 && has_room() ? n / SIDE * SIDE : 0;
    turn_squares(out, x, whole);
    for (size_t k = whole; k < n; k++)
        for (size_t w = 0; w < TURNED_LINES; w++) out[k * TURNED_LINES + w] = x[w][k * step];
}
