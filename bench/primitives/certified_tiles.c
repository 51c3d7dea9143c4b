/* Values by panels (bench/arithmetic/panels.h), bounds from the norms of lines, and dot products in more precision of what they leave
 * open: few elements side by side, more of them by lines that are prepared once for many. */
#include "bench/primitives/certified_tiles.h"

#include <math.h>

#include "bench/arithmetic/certificate.h"
#include "bench/arithmetic/dot_matrix.h"
#include "bench/arithmetic/panels.h"
#include "bench/arithmetic/sparse_dots.h"
#include "bench/arithmetic/tiles.h"
#include "bench/primitives/typical_products.h"
#include "bench/tape/bounds.h"
#include "core/parallel.h"
#include "core/vectorize.h"

void matmul_repair(double *z, size_t step, const double *x, const double *y, const struct matmul *p,
                   size_t first_row, size_t rows, size_t first_column, size_t columns)
{
    for (size_t i = first_row; i < first_row + rows; i++)
        for (size_t j = first_column; j < first_column + columns; j++) {
            double sum = 0;
            for (size_t l = 0; l < p->k; l++)
                sum += x[p->transpose_a ? l * p->m + i : i * p->k + l] *
                       y[p->transpose_b ? j * p->k + l : l * p->n + j];
            if (!isfinite(sum)) z[(i - first_row) * step + j - first_column] = sum;
        }
}

/* ---- bounds --------------------------------------------------------------------------------- */

/* The errors of the operands added to a row's, and tidied. Those of exact ones are 0 and NULL. With values errors meet at random, so
 * that typically their products spread; with each other they may be all alike (of lines less their rounded mean). */
VECTORIZED static void carry_row_errors(double *restrict error, const double *restrict value,
                                        const double *restrict column,
                                        const double *restrict column_error, double row,
                                        double row_error, double spread, size_t n)
{
    const double *restrict stored = readable(column_error, column);
    for (size_t j = 0; j < n; j++) {
        double bound = error[j], magnitude = fabs(value[j]);
        if (row_error > 0) bound += spread * row_error * column[j];
        if (column_error) bound += (spread * row + row_error) * stored[j];
        bound *= 1 + 0x1p-40;
        error[j] = magnitude < INFINITY ? (bound >= 0 ? bound : INFINITY) : 0;
    }
}

/* Bounds of row i of a tile when an operand is inexact or in the model of typical errors. */
static void carried_row_bounds(double *error, const struct certified *c, const struct tile *t,
                               size_t i)
{
    const struct product_operand *a = &c->a, *b = &c->b;
    size_t row = t->first_row + i, at = (t->product * c->p->m + row) * c->p->n + t->first_column;
    double ra = operand_norms(a, a->norms, t->product)[row];
    double ea = a->exact ? 0 : operand_norms(a, a->error_norms, t->product)[row];
    const double *column = operand_norms(b, b->norms, t->product) + t->first_column;
    const double *column_error =
        b->exact ? NULL : operand_norms(b, b->error_norms, t->product) + t->first_column;
    const double *value = c->node->value + at;
    if (c->typical)
        typical_products_row(error, value, column, &c->products, at, ra, c->unit, c->tiny,
                             t->columns);
    else
        for (size_t j = 0; j < t->columns; j++) error[j] = c->gamma * ra * column[j] + c->tiny;
    carry_row_errors(error, value, column, column_error, ra, ea, c->spread, t->columns);
}

/* The bounds of a tile, rows `step` apart. */
struct tile_bounds {
    double *error;
    size_t step;
};

/* The words of a row of the product of a tile, from the first column of the tile on. */
static uint64_t *marks_of(const struct certified *c, const struct tile *t, size_t row)
{
    return c->marks->recomputed + (t->product * c->p->m + row) * c->marks->words +
           t->first_column / 64;
}

/* Set them, where they are made when they are read only those of what is not certified at first sight, which is marked. Returns
 * whether there is any such element in a product of exact operands. */
static bool bound_tile(const struct tile_bounds *bounds, const struct certified *c,
                       const struct tile *t)
{
    const double *rows = operand_norms(&c->a, c->a.norms, t->product) + t->first_row;
    const double *columns = operand_norms(&c->b, c->b.norms, t->product) + t->first_column;
    size_t open = 0;
    for (size_t i = 0; i < t->rows; i++) {
        size_t at = (t->product * c->p->m + t->first_row + i) * c->p->n + t->first_column;
        double *error = bounds->error + i * bounds->step, tiny = c->tiny * 2;
        double factor = c->gamma * rows[i] * (1 + 0x1p-40);
        if (c->marks)
            open += mark_open(marks_of(c, t, t->first_row + i), error, c->node->value + at, columns,
                              factor, tiny, &c->certificate, t->columns);
        else if (c->a.exact && c->b.exact && !c->typical)
            open += exact_row_bounds(error, c->node->value + at, columns, factor, tiny,
                                     &c->certificate, t->columns);
        else carried_row_bounds(error, c, t, i);
    }
    return open;
}

/* Leave the marks of what is certified now. */
static void unmark_tile(const struct tile_bounds *bounds, const struct certified *c,
                        const struct tile *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        size_t row = t->product * c->p->m + t->first_row + i;
        unmark_open(marks_of(c, t, t->first_row + i),
                    c->node->value + row * c->p->n + t->first_column,
                    bounds->error + i * bounds->step, t->columns, &c->certificate);
    }
}

/* ---- recomputing ---------------------------------------------------------------------------- */

/* Columns that are bounded and recomputed together, while they are in a cache; and as many lines of a factor as are
 * prepared at a time, of so many bytes. */
enum { COLUMNS_AT_ONCE = 256, BYTES_AT_ONCE = 4 << 20, LEAST_LINES = 64 };

static size_t lines_at_once(const struct certified *c, size_t lines)
{
    size_t bytes = c->p->k * (c->exact_products ? sizeof(float) : sizeof(double));
    size_t most = BYTES_AT_ONCE / bytes < LEAST_LINES ? LEAST_LINES : BYTES_AT_ONCE / bytes;
    return lines < most ? lines : most;
}

static size_t columns_at_once(const struct certified *c, size_t columns)
{
    size_t some = lines_at_once(c, columns < COLUMNS_AT_ONCE ? columns : COLUMNS_AT_ONCE);
    return some < columns ? some / 64 * 64 : some; /* bits of bound_marks */
}

/* Prepared lines of the operands of a tile. */
struct tile_lines {
    struct dot_lines a, b;
    double *wide, *scratch_a, *scratch_b;
    size_t rows, first_row; /* of a; rows is 0 when there are none yet */
};

static struct tile_lines lines_open(const struct certified *c, const struct tile *t,
                                    double *scratch)
{
    struct factor a = operand_lines(&c->a, t->product, t->first_row, lines_at_once(c, t->rows));
    double *scratch_a = scratch + 2 * c->p->k;
    return (struct tile_lines){
        .wide = scratch,
        .scratch_a = scratch_a,
        .scratch_b = scratch_a + dot_lines_scratch(&a, c->p->k, c->exact_products),
    };
}

static size_t recompute_scratch(const struct certified *c, const struct tile *t)
{
    struct factor a = operand_lines(&c->a, 0, 0, lines_at_once(c, t->rows));
    struct factor b = operand_lines(&c->b, 0, 0, columns_at_once(c, t->columns));
    return 2 * c->p->k + dot_lines_scratch(&a, c->p->k, c->exact_products) +
           dot_lines_scratch(&b, c->p->k, c->exact_products);
}

/* What is open in some columns of a tile. */
static void recompute_tile(const struct tile_bounds *bounds, const struct certified *c,
                           const struct tile *t, struct tile_lines *lines)
{
    const size_t k = c->p->k, most = lines_at_once(c, t->rows);
    struct factor b = operand_lines(&c->b, t->product, t->first_column, t->columns);
    lines->b = dot_lines_prepare(lines->scratch_b, &b, k, c->exact_products,
                                 operand_norms(&c->b, c->b.norms, t->product) + t->first_column);
    for (size_t i = 0; i < t->rows; i += most) {
        size_t first = t->first_row + i, rows = t->rows - i < most ? t->rows - i : most;
        size_t at = (t->product * c->p->m + first) * c->p->n + t->first_column;
        struct factor a = operand_lines(&c->a, t->product, first, rows);
        if (lines->rows != rows || lines->first_row != first)
            lines->a = dot_lines_prepare(lines->scratch_a, &a, k, c->exact_products,
                                         operand_norms(&c->a, c->a.norms, t->product) + first);
        lines->rows = rows;
        lines->first_row = first;
        const struct dot_matrix dots = { .value = c->node->value + at,
                                         .error = bounds->error + i * bounds->step,
                                         .step = c->p->n,
                                         .error_step = bounds->step,
                                         .a = a,
                                         .b = b,
                                         .k = k,
                                         .dtype = c->certificate.dtype,
                                         .exact_products = c->exact_products,
                                         .quick = c->marks != NULL,
                                         .open = c->marks ? marks_of(c, t, first) : NULL,
                                         .open_step = c->marks ? c->marks->words : 0 };
        dots_recompute(&dots, &lines->a, &lines->b, lines->wide);
    }
}

/* Where the bounds of some columns of a tile go: to the node, or, where they are made anew when they are read, to
 * `room`. */
static struct tile_bounds bounds_of(const struct certified *c, const struct tile *t, double *room)
{
    size_t at = (t->product * c->p->m + t->first_row) * c->p->n + t->first_column;
    if (c->marks) return (struct tile_bounds){ room, t->columns };
    return (struct tile_bounds){ c->node->error + at, c->p->n };
}

static size_t bounds_scratch(const struct certified *c, const struct tile *t)
{
    return c->marks ? t->rows * columns_at_once(c, t->columns) : 0;
}

/* Mark what the bounds of a tile leave open. Returns how much that is. */
static size_t mark_tile(const struct certified *c, const struct tile *t)
{
    const double *rows = operand_norms(&c->a, c->a.norms, t->product) + t->first_row;
    const double *columns = operand_norms(&c->b, c->b.norms, t->product) + t->first_column;
    size_t open = 0;
    for (size_t i = 0; i < t->rows; i++) {
        size_t at = (t->product * c->p->m + t->first_row + i) * c->p->n + t->first_column;
        uint64_t *words = marks_of(c, t, t->first_row + i);
        double factor = c->gamma * rows[i] * (1 + 0x1p-40);
        for (size_t j = 0; j < t->columns; j += 64) {
            words[j / 64] = exact_open_bits(c->node->value + at + j, columns + j, factor,
                                            c->tiny * 2, &c->certificate,
                                            t->columns - j < 64 ? t->columns - j : 64);
            open += (size_t)__builtin_popcountll(words[j / 64]);
        }
    }
    return open;
}

/* Can the elements of a product be recomputed side by side where few are open? */
static bool may_be_sparse(const struct certified *c) { return c->marks && c->exact_products; }

static size_t sparse_scratch(const struct certified *c, const struct tile *t)
{
    struct factor a = operand_lines(&c->a, 0, 0, t->rows),
                  b = operand_lines(&c->b, 0, 0, t->columns);
    return may_be_sparse(c) ? sparse_dots_scratch(&a, &b, c->p->k) : 0;
}

/* A tile that has few open elements, all of which are certified then. */
static bool certify_sparsely(const struct certified *c, const struct tile *t, double *scratch)
{
    if (!may_be_sparse(c) || mark_tile(c, t) > sparse_dots_most(t->rows, t->columns)) return false;
    const struct sparse_dots dots = {
        .value = c->node->value + (t->product * c->p->m + t->first_row) * c->p->n + t->first_column,
        .step = c->p->n,
        .a = operand_lines(&c->a, t->product, t->first_row, t->rows),
        .b = operand_lines(&c->b, t->product, t->first_column, t->columns),
        .a_norms = operand_norms(&c->a, c->a.norms, t->product) + t->first_row,
        .b_norms = operand_norms(&c->b, c->b.norms, t->product) + t->first_column,
        .k = c->p->k,
        .certificate = c->certificate,
        .open = marks_of(c, t, t->first_row),
        .open_step = c->marks->words,
    };
    return sparse_dots_recompute(&dots, scratch);
}

/* Bounds of a tile, and dot products in more precision of what they leave open. */
static void certify_tile(const struct certified *c, const struct tile *t, double *scratch)
{
    if (certify_sparsely(c, t, scratch)) return;
    struct tile_lines lines = lines_open(c, t, scratch + bounds_scratch(c, t));
    size_t step = columns_at_once(c, t->columns);
    for (size_t j = 0; j < t->columns; j += step) {
        struct tile some = *t;
        some.first_column += j;
        some.columns = t->columns - j < step ? t->columns - j : step;
        struct tile_bounds bounds = bounds_of(c, &some, scratch);
        bool open = bound_tile(&bounds, c, &some);
        if (!open || !c->recomputes || !c->finite[t->product]) continue;
        recompute_tile(&bounds, c, &some, &lines);
        if (c->marks) unmark_tile(&bounds, c, &some);
    }
}

/* ---- tiles ---------------------------------------------------------------------------------- */

static struct panels panels_of(const struct certified *c, const struct tile *t)
{
    size_t at = (t->product * c->p->m + t->first_row) * c->p->n + t->first_column;
    return (struct panels){ c->node->value + at, c->p->n,
                            operand_lines(&c->a, t->product, t->first_row, t->rows),
                            operand_lines(&c->b, t->product, t->first_column, t->columns),
                            c->p->k };
}

/* By panels, and, with operands that are not finite, by definition. */
static void multiply_tile(const struct certified *c, const struct tile *t, double *scratch)
{
    const struct matmul *p = c->p;
    struct panels panels = panels_of(c, t);
    panels_multiply(scratch, &panels);
    if (c->finite[t->product]) return;
    matmul_repair(panels.value, panels.step, c->x + a_element(p, c->a.node, t->product, 0, 0),
                  c->y + b_element(p, c->b.node, t->product, 0, 0), p, t->first_row, t->rows,
                  t->first_column, t->columns);
}

static struct status tiles_part(void *context, size_t number, void *scratch)
{
    const struct certified *c = context;
    for (size_t i = 0; i < tiles_in(&c->tiles, number); i++) {
        struct tile tile = tile_at(&c->tiles, number, i);
        if (c->multiplies) multiply_tile(c, &tile, scratch);
        if (c->bounds) certify_tile(c, &tile, scratch);
    }
    return status_ok();
}

void certified_tiles_do(struct tape *tape, struct certified *c, bool multiplies, bool bounds)
{
    struct tile first = tile_at(&c->tiles, 0, 0);
    struct panels panels = panels_of(c, &first);
    size_t room = panels_scratch(&panels),
           more = bounds_scratch(c, &first) + recompute_scratch(c, &first);
    if (bounds && more > room) room = more;
    if (bounds && sparse_scratch(c, &first) > room) room = sparse_scratch(c, &first);
    c->multiplies = multiplies;
    c->bounds = bounds;
    tape_parallel(tape, &(struct parallel){ .parts = c->tiles.parts,
                                            .scratch_bytes = room * sizeof(double),
                                            .part = tiles_part,
                                            .context = c });
}
