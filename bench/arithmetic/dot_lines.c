/* Lines one after the other, and their scales. */
#include "bench/arithmetic/dot_lines.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bench/arithmetic/dot.h"
#include "core/vectorize.h"

enum { LANES = 16 };

/* ---- scales --------------------------------------------------------------------------------- */

/* A power of two that no element of a line exceeds, for each line. */
#define DEFINE_SCALES(NAME, REAL, ABSOLUTE)                                             \
    VECTORIZED static double NAME##_largest(const REAL *x, size_t n)                    \
    {                                                                                   \
        REAL lane[LANES] = { 0 }, most = 0;                                             \
        size_t i = 0;                                                                   \
        for (; i + LANES <= n; i += LANES)                                              \
            for (size_t l = 0; l < LANES; l++)                                          \
                lane[l] = ABSOLUTE(x[i + l]) > lane[l] ? ABSOLUTE(x[i + l]) : lane[l];  \
        for (; i < n; i++) most = ABSOLUTE(x[i]) > most ? ABSOLUTE(x[i]) : most;        \
        for (size_t l = 0; l < LANES; l++) most = lane[l] > most ? lane[l] : most;      \
        return most;                                                                    \
    }                                                                                   \
                                                                                        \
    static void NAME(double *scale, const REAL *x, size_t step, size_t lines, size_t k) \
    {                                                                                   \
        for (size_t i = 0; i < lines; i++)                                              \
            scale[i] = dot_power_above(NAME##_largest(x + i * step, k));                \
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

/* From one copied line to the next. A turned square is stored in as many lines, which do not all belong to one set of
 * a cache when these are an odd number of its own lines apart. */
static size_t step_of(size_t k, size_t element_bytes)
{
    enum { CACHE_LINE = 64, SHORT = 4 };
    size_t in_line = CACHE_LINE / element_bytes, lines = (k + in_line - 1) / in_line;
    return lines < SHORT ? k : (lines | 1) * in_line;
}

/* `scratch` from the next line of a cache on. */
static void *aligned(double *scratch)
{
    return scratch + (64 - (uintptr_t)scratch % 64) % 64 / sizeof *scratch;
}

/* The lines of a factor as REALs: in place, or copied to `dense`. Where the elements of a line do
 * not lie together squares are turned, in the order in which they lie. A perfect shuffle of SIDE * SIDE elements rotates
 * the bits of their indices by one, so that as many of them as SIDE has bits exchange rows and columns. */
enum { SIDE = 16, SHUFFLES = 4 };
_Static_assert(1 << SHUFFLES == SIDE, "as many shuffles as bits");

#define DEFINE_LINES(NAME, REAL, DTYPE, READ)                                                     \
    static bool NAME##_in_place(const struct factor *f)                                           \
    {                                                                                             \
        return f->term == 1 && f->dtype == (DTYPE);                                               \
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
    VECTORIZED static void NAME##_turn_square(REAL *restrict dense, size_t step,                  \
                                              const REAL *restrict x, size_t apart)               \
    {                                                                                             \
        REAL square[SIDE * SIDE], other[SIDE * SIDE];                                             \
        for (size_t l = 0; l < SIDE; l++)                                                         \
            memcpy(square + l * SIDE, x + l * apart, SIDE * sizeof *x);                           \
        for (int n = 0; n < SHUFFLES; n += 2) {                                                   \
            NAME##_shuffle(other, square);                                                        \
            NAME##_shuffle(square, other);                                                        \
        }                                                                                         \
        for (size_t i = 0; i < SIDE; i++)                                                         \
            memcpy(dense + i * step, square + i * SIDE, SIDE * sizeof *x);                        \
    }                                                                                             \
                                                                                                  \
    static void NAME##_turn(REAL *dense, const struct factor *f, size_t line, size_t lines,       \
                            size_t first, size_t terms, size_t step)                              \
    {                                                                                             \
        REAL read[SIDE * SIDE];                                                                   \
        const REAL *x = element(f, line + first * f->term);                                       \
        size_t apart = f->term;                                                                   \
        bool whole = lines == SIDE && terms == SIDE;                                              \
        if (f->dtype != (DTYPE) || !whole) {                                                      \
            for (size_t l = 0; l < terms; l++)                                                    \
                READ(read + l * SIDE, element(f, line + (first + l) * f->term), f->dtype, lines); \
            x = read;                                                                             \
            apart = SIDE;                                                                         \
        }                                                                                         \
        dense += line * step + first;                                                             \
        if (whole) NAME##_turn_square(dense, step, x, apart);                                     \
        else                                                                                      \
            for (size_t i = 0; i < lines; i++)                                                    \
                for (size_t l = 0; l < terms; l++) dense[i * step + l] = x[l * SIDE + i];         \
    }                                                                                             \
                                                                                                  \
    static const REAL *NAME(REAL *dense, size_t *step, const struct factor *f, size_t k)          \
    {                                                                                             \
        *step = NAME##_in_place(f) ? f->line : step_of(k, sizeof *dense);                         \
        if (NAME##_in_place(f)) return f->x;                                                      \
        for (size_t i = 0; f->term == 1 && i < f->lines; i++)                                     \
            READ(dense + i * *step, element(f, i * f->line), f->dtype, k);                        \
        for (size_t first = 0; f->term != 1 && first < k; first += SIDE)                          \
            for (size_t i = 0; i < f->lines; i += SIDE) {                                         \
                size_t lines = f->lines - i < SIDE ? f->lines - i : SIDE;                         \
                size_t terms = k - first < SIDE ? k - first : SIDE;                               \
                NAME##_turn(dense, f, i, lines, first, terms, *step);                             \
            }                                                                                     \
        return dense;                                                                             \
    }

DEFINE_LINES(lines_of_doubles, double, DT_F64, dtype_to_double)
DEFINE_LINES(lines_of_floats, float, DT_F32, dtype_to_float)

size_t dot_lines_scratch(const struct factor *f, size_t k, bool exact_products)
{
    const size_t line = 64 / sizeof(double); /* to align it */
    if (exact_products ? lines_of_floats_in_place(f) : lines_of_doubles_in_place(f))
        return f->lines;
    if (!exact_products) return f->lines + line + f->lines * step_of(k, sizeof(double));
    return f->lines + line + (f->lines * step_of(k, sizeof(float)) + 1) / 2;
}

/* No element exceeds the norm of its line. That may be sqrt(k) times the largest one, so that sigma is k times as large
 * and its bound with it, 4 k^3 u^2 |a| |b| and a little: little beside the digits that are won, unless lines are very long. */
enum { LONGEST_BY_NORM = 1 << 14 };

struct dot_lines dot_lines_prepare(double *scratch, const struct factor *f, size_t k,
                                   bool exact_products, const double *norms)
{
    double *scale = scratch;
    void *dense = aligned(scratch + f->lines);
    size_t step;
    if (k > LONGEST_BY_NORM) norms = NULL;
    for (size_t i = 0; norms && i < f->lines; i++) scale[i] = dot_power_above(norms[i]);
    if (exact_products) {
        const float *x = lines_of_floats(dense, &step, f, k);
        if (!norms) scales_of_floats(scale, x, step, f->lines, k);
        return (struct dot_lines){ x, step, scale };
    }
    const double *x = lines_of_doubles(dense, &step, f, k);
    if (!norms) scales_of_doubles(scale, x, step, f->lines, k);
    return (struct dot_lines){ x, step, scale };
}

double dot_line_scale(const struct dot_lines *lines, size_t line, size_t k, bool exact_products)
{
    double scale;
    size_t at = line * lines->step;
    if (exact_products) scales_of_floats(&scale, (const float *)lines->x + at, k, 1, k);
    else scales_of_doubles(&scale, (const double *)lines->x + at, k, 1, k);
    return scale;
}
