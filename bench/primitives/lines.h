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

/* May the lines be read one at a time, by line_values? They are of an input tensor that nobody has read as a whole; models do,
 * which share what one of them has read. */
bool lines_are_unread(const struct tape *tape, const struct node *x, const struct lines *lines);

/* The elements of a line from its first one on, `step` apart: in place, or, of an unread node, in `room`, which has their
 * extent. */
const double *line_values(const struct node *x, const struct lines *lines, size_t line,
                          double *room);

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
