/* The panel of B is converted once and meets blocks of lines of A, each converted just before. */
#include "bench/arithmetic/panels.h"

#include <stdbool.h>
#include <string.h>

#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"

enum { LINES = 512 }; /* of A in a block: half a megabyte of it */

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

size_t panels_scratch(const struct panels *p)
{
    size_t width = p->k < PANEL ? p->k : PANEL, lines = p->a.lines < LINES ? p->a.lines : LINES;
    return ((p->a.dtype == DT_F64 ? 0 : lines) + (p->b.dtype == DT_F64 ? 0 : p->b.lines)) * width +
           1;
}

void panels_multiply(double *scratch, const struct panels *p)
{
    size_t m = p->a.lines, n = p->b.lines;
    memset(p->norm_a, 0, m * sizeof *p->norm_a);
    memset(p->norm_b, 0, n * sizeof *p->norm_b);
    for (size_t first = 0; first < p->k; first += PANEL) {
        size_t width = p->k - first < PANEL ? p->k - first : PANEL;
        struct stored b = store(scratch, &p->b, 0, n, first, width);
        double *rest = p->b.dtype == DT_F64 ? scratch : scratch + n * width;
        line_squares_add(p->norm_b, b.x, n, width, b.step, b.down);
        for (size_t i = 0; i < m; i += LINES) {
            size_t lines = m - i < LINES ? m - i : LINES;
            struct stored a = store(rest, &p->a, i, lines, first, width);
            line_squares_add(p->norm_a + i, a.x, lines, width, a.step, a.down);
            gemm_double(
                p->value + i * n,
                &(struct gemm){ a.down, !b.down, first > 0, lines, n, width, a.step, b.step }, a.x,
                b.x);
        }
    }
    line_squares_to_norms(p->norm_a, m, p->k);
    line_squares_to_norms(p->norm_b, n, p->k);
}
