/* Lines of a tensor along one dimension. */
#ifndef PROBE_BENCH_PRIMITIVES_LINES_H
#define PROBE_BENCH_PRIMITIVES_LINES_H

#include "bench/tape/tape.h"

/* Element k of line l lies at line_start(l) + k * step. */
struct lines {
    size_t count, extent, step;
};
struct lines lines_along(const struct node *x, int dim);
size_t line_start(const struct lines *lines, size_t line);

static inline size_t line_element(const struct lines *lines, size_t line, size_t k)
{
    return line_start(lines, line) + k * lines->step;
}

/* The line that element i of the tensor lies in. */
static inline size_t line_of(const struct lines *lines, size_t i)
{
    return i / (lines->extent * lines->step) * lines->step + i % lines->step;
}

/* The position within its line of element i of the tensor. */
static inline size_t line_position(const struct lines *lines, size_t i)
{
    return i / lines->step % lines->extent;
}

#endif
