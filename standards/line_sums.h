/* The sums of errors by row, column, slab, tile and lane of a tensor, added up while the errors are made.
 *
 * Every form of lines is a pair (stride, count): element i is in line i / stride % count. */
#ifndef PROBE_STANDARDS_LINE_SUMS_H
#define PROBE_STANDARDS_LINE_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/tensor.h"

/* What lines are looked for in.
 *   z      n values, NaN where there is no error to speak of
 *   want   the references
 *   shape  of the components, n in all
 *   alike  lines share no more than the others show: all errors come from rounding numbers that differ, or from one function
 */
struct error_field {
    const float *z;
    const double *want;
    size_t n;
    int rank;
    const int64_t *shape;
    bool alike;
};

/* Fewer lines say nothing of each other, nor do fewer elements beside a line. */
enum { FEWEST_LINES = 8, FEWEST_OTHERS = 64 };

/* What an element adds to its line: 1, z^2, z and z signed by the direction away from 0; nothing where z is NaN. */
struct line_sum {
    double count, squares, sums[2];
};

struct line_form {
    const char *name; /* "row", "index", ... */
    int dimension;    /* of slabs, else -1 */
    size_t stride, count;
    struct line_sum *line; /* NULL: not looked at */
};

/* The forms of a tensor: slabs along every dimension, of which the last consists of single elements; rows where they are
 * no slabs; and blocks and lanes. */
enum { LINE_BLOCKS = 3, LINE_LANES = 3 };

struct line_sums {
    struct error_field field;
    struct line_form slab[TENSOR_MAX_RANK + 1], row, block[LINE_BLOCKS], lane[LINE_LANES];
    size_t row_length;
    size_t next_row, index[TENSOR_MAX_RANK + 1]; /* and its place, but for the last dimension */
    struct line_sum begun;                       /* what has been added of the present row */
};

/* For a field that is made a block at a time, while it is in a cache: opened, added up from its first element to its last by
 * LINE_SUMS_BLOCK elements, with which blocks of all sizes and lanes begin anew, the rest at the end, and closed. Its memory is the
 * arena's; the field stays to the end. */
enum { LINE_SUMS_BLOCK = 256 };
struct status line_sums_open(struct line_sums **out, struct arena *arena,
                             const struct error_field *field);
void line_sums_add(struct line_sums *lines, size_t first, size_t count);

/* Elements without errors: their z are NaN. */
void line_sums_pass_over(struct line_sums *lines, size_t first, size_t count);
void line_sums_close(struct line_sums *lines);

#endif
