/* Lines one after the other, and their scales. */
#include "bench/arithmetic/dot_lines.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/dot.h"
#include "core/vectorize.h"

enum { LANES = 16 };

/* ---- scales --------------------------------------------------------------------------------- */

/* A power of two that no element of a line exceeds, for each line. */
#define DEFINE_SCALES(NAME, REAL, ABSOLUTE)                                            \
    VECTORIZED static double NAME##_largest(const REAL *x, size_t n)                   \
    {                                                                                  \
        REAL lane[LANES] = { 0 }, most = 0;                                            \
        size_t i = 0;                                                                  \
        for (; i + LANES <= n; i += LANES)                                             \
            for (size_t l = 0; l < LANES; l++)                                         \
                lane[l] = ABSOLUTE(x[i + l]) > lane[l] ? ABSOLUTE(x[i + l]) : lane[l]; \
        for (; i < n; i++) most = ABSOLUTE(x[i]) > most ? ABSOLUTE(x[i]) : most;       \
        for (size_t l = 0; l < LANES; l++) most = lane[l] > most ? lane[l] : most;     \
        return most;                                                                   \
    }                                                                                  \
                                                                                       \
    static void NAME(double *scale, const REAL *dense, size_t lines, size_t k)         \
    {                                                                                  \
        for (size_t i = 0; i < lines; i++)                                             \
            scale[i] = dot_power_above(NAME##_largest(dense + i * k, k));              \
    }

DEFINE_SCALES(scales_of_doubles, double, fabs)
DEFINE_SCALES(scales_of_floats, float, fabsf)

/* ---- lines ---------------------------------------------------------------------------------- */

static const void *element(const struct factor *f, size_t i)
{
    return (const char *)f->x + i * dtype_info(f->dtype)->bytes;
}

struct factor factor_lines(const struct factor *f, size_t first, size_t count)
{
    struct factor lines = *f;
    lines.x = element(f, first * f->line);
    lines.lines = count;
    return lines;
}

/* The lines of a factor as REALs, one after the other: in place, or copied to `dense`. Where the elements of a line do
 * not lie together squares are turned, in the order in which they lie. A perfect shuffle of SIDE * SIDE elements rotates
 * the bits of their indices by one, so that as many of them as SIDE has bits exchange rows and columns. */
enum { SIDE = 16, SHUFFLES = 4 };
_Static_assert(1 << SHUFFLES == SIDE, "as many shuffles as bits");

#define DEFINE_LINES(NAME, REAL, DTYPE, READ)                                                     \
    static bool NAME##_in_place(const struct factor *f, size_t k)                                 \
    {                                                                                             \
        return f->term == 1 && f->line == k && f->dtype == (DTYPE);                               \
    }                                                                                             \
                                                                                                  \
    static inline void NAME##_shuffle(REAL *restrict out, const REAL *restrict in)                \
    {                                                                                             \
        const size_t half = SIDE * SIDE / 2;                                                      \
        for (size_t i = 0; i < half; i++) {                                                       \
            out[2 * i] = in[i];                                                                   \
            out[2 * i + 1] = in[half + i];                                                        \
        }                                                                                         \
    }                                                                                             \
                                                                                                  \
    VECTORIZED static void NAME##_turn_square(REAL *restrict dense, size_t k,                     \
                                              const REAL *restrict x, size_t step)                \
    {                                                                                             \
        REAL square[SIDE * SIDE], other[SIDE * SIDE];                                             \
        for (size_t l = 0; l < SIDE; l++)                                                         \
            memcpy(square + l * SIDE, x + l * step, SIDE * sizeof *x);                            \
        for (int n = 0; n < SHUFFLES; n += 2) {                                                   \
            NAME##_shuffle(other, square);                                                        \
            NAME##_shuffle(square, other);                                                        \
        }                                                                                         \
        for (size_t i = 0; i < SIDE; i++)                                                         \
            memcpy(dense + i * k, square + i * SIDE, SIDE * sizeof *x);                           \
    }                                                                                             \
                                                                                                  \
    static void NAME##_turn(REAL *dense, const struct factor *f, size_t line, size_t lines,       \
                            size_t first, size_t terms, size_t k)                                 \
    {                                                                                             \
        REAL read[SIDE * SIDE];                                                                   \
        const REAL *x = element(f, line + first * f->term);                                       \
        size_t step = f->term;                                                                    \
        bool whole = lines == SIDE && terms == SIDE;                                              \
        if (f->dtype != (DTYPE) || !whole) {                                                      \
            for (size_t l = 0; l < terms; l++)                                                    \
                READ(read + l * SIDE, element(f, line + (first + l) * f->term), f->dtype, lines); \
            x = read;                                                                             \
            step = SIDE;                                                                          \
        }                                                                                         \
        dense += line * k + first;                                                                \
        if (whole) NAME##_turn_square(dense, k, x, step);                                         \
        else                                                                                      \
            for (size_t i = 0; i < lines; i++)                                                    \
                for (size_t l = 0; l < terms; l++) dense[i * k + l] = x[l * SIDE + i];            \
    }                                                                                             \
                                                                                                  \
    static const REAL *NAME(REAL *dense, const struct factor *f, size_t k)                        \
    {                                                                                             \
        if (NAME##_in_place(f, k)) return f->x;                                                   \
        for (size_t i = 0; f->term == 1 && i < f->lines; i++)                                     \
            READ(dense + i * k, element(f, i * f->line), f->dtype, k);                            \
        for (size_t first = 0; f->term != 1 && first < k; first += SIDE)                          \
            for (size_t i = 0; i < f->lines; i += SIDE) {                                         \
                size_t lines = f->lines - i < SIDE ? f->lines - i : SIDE;                         \
                size_t terms = k - first < SIDE ? k - first : SIDE;                               \
                NAME##_turn(dense, f, i, lines, first, terms, k);                                 \
            }                                                                                     \
        return dense;                                                                             \
    }

DEFINE_LINES(lines_of_doubles, double, DT_F64, dtype_to_double)
DEFINE_LINES(lines_of_floats, float, DT_F32, dtype_to_float)

size_t dot_lines_scratch(const struct factor *f, size_t k, bool exact_products)
{
    size_t terms = f->lines * k;
    if (exact_products) terms = lines_of_floats_in_place(f, k) ? 0 : (terms + 1) / 2;
    else if (lines_of_doubles_in_place(f, k)) terms = 0;
    return f->lines + terms;
}

/* No element exceeds the norm of its line. That may be sqrt(k) times the largest one, so that sigma is k times as large
 * and its bound with it, 4 k^3 u^2 |a| |b| and a little: little beside the digits that are won, unless lines are very long. */
enum { LONGEST_BY_NORM = 1 << 14 };

struct dot_lines dot_lines_prepare(double *scratch, const struct factor *f, size_t k,
                                   bool exact_products, const double *norms)
{
    double *scale = scratch, *dense = scratch + f->lines;
    if (k > LONGEST_BY_NORM) norms = NULL;
    for (size_t i = 0; norms && i < f->lines; i++) scale[i] = dot_power_above(norms[i]);
    if (exact_products) {
        const float *x = lines_of_floats((float *)(void *)dense, f, k);
        if (!norms) scales_of_floats(scale, x, f->lines, k);
        return (struct dot_lines){ x, scale };
    }
    const double *x = lines_of_doubles(dense, f, k);
    if (!norms) scales_of_doubles(scale, x, f->lines, k);
    return (struct dot_lines){ x, scale };
}

double dot_line_scale(const struct dot_lines *lines, size_t line, size_t k, bool exact_products)
{
    double scale;
    if (exact_products) scales_of_floats(&scale, (const float *)lines->x + line * k, 1, k);
    else scales_of_doubles(&scale, (const double *)lines->x + line * k, 1, k);
    return scale;
}
