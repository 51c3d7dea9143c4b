/* Panels of both factors are converted just before they meet. */
#include "bench/arithmetic/panels.h"

#include <stdbool.h>
#include <string.h>

#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"
#include "core/vectorize.h"

/* Short products have narrow panels: dgemm takes hardly longer, and fewer elements are left open. Against the whole
 * product dgemm takes 1.00 of the time in panels of 64 at k = 1024, but 1.1 at 8192; sums of groups take 0.01. */
enum { SHORT = 1024, SHORT_PANEL = 64, LONG = 4096, GROUP = 16 };

static size_t panel_of(size_t k) { return k <= SHORT ? SHORT_PANEL : PANEL; }

/* Terms of a group. */
static size_t group_of(size_t k) { return k <= LONG ? k : GROUP * panel_of(k); }

double panels_roundings(size_t k)
{
    size_t panel = panel_of(k), group = group_of(k);
    if (k <= panel) return (double)k + 1;
    size_t panels_before = (group - 1) / panel, groups_before = (k - 1) / group;
    return (double)(panel + panels_before + 1 + groups_before);
}

/* Terms first ... first + width - 1 of some lines as doubles, stored as lines or, `down`, as columns. */
struct stored {
    const double *x;
    size_t step;
    bool down;
};

static const void *element(const struct factor *f, size_t i)
{
    return (const char *)f->x + i * dtype_info(f->dtype)->bytes;
}

/* A row that is read soon: rows of a panel lie so far apart that the processor does not fetch them unasked. Memory beyond the last one is
 * not touched. */
enum { AHEAD = 4, CACHE_LINE = 64 };

static void prefetch(const char *x, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CACHE_LINE) __builtin_prefetch(x + i);
}

static struct stored store(double *buffer, const struct factor *f, size_t line, size_t lines,
                           size_t first, size_t width)
{
    size_t start = line * f->line + first * f->term;
    bool down = f->term != 1;
    if (f->dtype == DT_F64)
        return (struct stored){ element(f, start),
                                down              ? f->term
                                : f->line > width ? f->line
                                                  : width,
                                down };
    size_t rows = down ? width : lines, row = down ? lines : width, step = down ? f->term : f->line;
    if (step == row) dtype_to_double(buffer, element(f, start), f->dtype, rows * row);
    else
        for (size_t i = 0; i < rows; i++) {
            prefetch(element(f, start + (i + AHEAD) * step), row * dtype_info(f->dtype)->bytes);
            dtype_to_double(buffer + i * row, element(f, start + i * step), f->dtype, row);
        }
    return (struct stored){ buffer, row, down };
}

static size_t stored_elements(const struct factor *f, size_t width)
{
    return f->dtype == DT_F64 ? 0 : f->lines * width;
}

/* Room for the sum of a group, which all but the first need. */
static size_t group_elements(const struct panels *p)
{
    return p->k > group_of(p->k) ? p->a.lines * p->b.lines : 0;
}

size_t panels_scratch(const struct panels *p)
{
    size_t panel = panel_of(p->k), width = p->k < panel ? p->k : panel;
    return group_elements(p) + stored_elements(&p->a, width) + stored_elements(&p->b, width);
}

/* The sum of terms first .. end - 1: rows `step` elements apart. */
static void multiply_group(double *sum, size_t step, double *scratch, const struct panels *p,
                           size_t first, size_t end)
{
    size_t m = p->a.lines, n = p->b.lines, panel = panel_of(p->k);
    for (size_t start = first; start < end; start += panel) {
        size_t width = end - start < panel ? end - start : panel;
        struct stored a = store(scratch, &p->a, 0, m, start, width);
        struct stored b = store(scratch + stored_elements(&p->a, width), &p->b, 0, n, start, width);
        const struct gemm gemm = {
            a.down, !b.down, start > first, m, n, width, a.step, b.step, step
        };
        gemm_double(sum, &gemm, a.x, b.x);
    }
}

VECTORIZED static void add_group(double *restrict value, size_t step, const double *restrict sum,
                                 size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) value[i * step + j] += sum[i * columns + j];
}

void panels_multiply(double *scratch, const struct panels *p)
{
    double *sum = scratch, *room = scratch + group_elements(p);
    size_t group = group_of(p->k);
    multiply_group(p->value, p->step, room, p, 0, group);
    for (size_t first = group; first < p->k; first += group) {
        size_t left = p->k - first;
        multiply_group(sum, p->b.lines, room, p, first, first + (left < group ? left : group));
        add_group(p->value, p->step, sum, p->a.lines, p->b.lines);
    }
}

/* Blocks of terms that lie together, converted within the first-level cache. */
void factor_norms(double *norm, const struct factor *f, size_t k)
{
    enum { MANY = 512, FEW = 8 };
    double buffer[MANY * FEW];
    bool down = f->term != 1, in_place = f->dtype == DT_F32;
    /* Lines of floats are read from end to end, as the processor fetches them unasked. */
    size_t height = down ? MANY : in_place ? 1 : FEW, length = down ? FEW : MANY;
    memset(norm, 0, f->lines * sizeof *norm);
    for (size_t i = 0; i < f->lines; i += height)
        for (size_t first = 0; first < k; first += length) {
            size_t lines = f->lines - i < height ? f->lines - i : height;
            size_t width = k - first < length ? k - first : length;
            if (in_place) {
                const float *x = element(f, i * f->line + first * f->term);
                line_squares_add_floats(norm + i, x, lines, width, down ? f->term : f->line, down);
                continue;
            }
            struct stored x = store(buffer, f, i, lines, first, width);
            line_squares_add(norm + i, x.x, lines, width, x.step, x.down);
        }
    line_squares_to_norms(norm, f->lines, k);
    for (size_t i = 0; i < f->lines && f->dtype == DT_F64; i++)
        if (norm[i] == 0) norm[i] = line_norm_of_tiny(element(f, i * f->line), k, f->term);
}
