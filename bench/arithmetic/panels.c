/* Panels of both factors are converted just before they meet. */
#include "bench/arithmetic/panels.h"

#include <stdbool.h>
#include <string.h>

#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"

double panels_roundings(size_t k)
{
    size_t panels = (k - 1) / PANEL + 1;
    return k <= PANEL ? (double)k + 1 : PANEL + (double)panels;
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
        for (size_t i = 0; i < rows; i++)
            dtype_to_double(buffer + i * row, element(f, start + i * step), f->dtype, row);
    return (struct stored){ buffer, row, down };
}

static size_t stored_elements(const struct factor *f, size_t width)
{
    return f->dtype == DT_F64 ? 0 : f->lines * width;
}

size_t panels_scratch(const struct panels *p)
{
    size_t width = p->k < PANEL ? p->k : PANEL;
    return stored_elements(&p->a, width) + stored_elements(&p->b, width);
}

void panels_multiply(double *scratch, const struct panels *p)
{
    size_t m = p->a.lines, n = p->b.lines;
    for (size_t first = 0; first < p->k; first += PANEL) {
        size_t width = p->k - first < PANEL ? p->k - first : PANEL;
        struct stored a = store(scratch, &p->a, 0, m, first, width);
        struct stored b = store(scratch + stored_elements(&p->a, width), &p->b, 0, n, first, width);
        const struct gemm gemm = {
            a.down, !b.down, first > 0, m, n, width, a.step, b.step, p->step
        };
        gemm_double(p->value, &gemm, a.x, b.x);
    }
}

/* Blocks of terms that lie together, converted within the first-level cache. */
void factor_norms(double *norm, const struct factor *f, size_t k)
{
    enum { LONG = 512, SHORT = 8 };
    double buffer[LONG * SHORT];
    size_t height = f->term == 1 ? SHORT : LONG, length = f->term == 1 ? LONG : SHORT;
    memset(norm, 0, f->lines * sizeof *norm);
    for (size_t i = 0; i < f->lines; i += height)
        for (size_t first = 0; first < k; first += length) {
            size_t lines = f->lines - i < height ? f->lines - i : height;
            size_t width = k - first < length ? k - first : length;
            struct stored x = store(buffer, f, i, lines, first, width);
            line_squares_add(norm + i, x.x, lines, width, x.step, x.down);
        }
    line_squares_to_norms(norm, f->lines, k);
}
