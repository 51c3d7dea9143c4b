/* Values and the bound gamma ||a_i||_2 ||b_j||_2 for exact inputs: bench/arithmetic/panels.h; errors of the inputs
 * add ||Ea_i|| ||b_j|| + ||a_i|| ||Eb_j|| + ||Ea_i|| ||Eb_j||. What that leaves open is recomputed by dot products
 * in more precision. Input tensors stay in their dtype: a panel of them at a time is converted.
 *
 * The work is done in tiles of the products (bench/arithmetic/tiles.h), each from its values to its recomputed
 * elements while it is in a cache; threads that are idle take some of them.
 */
#include "bench/primitives/certified_matmul.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/certificate.h"
#include "bench/arithmetic/exact_sums.h"
#include "bench/arithmetic/norms.h"
#include "bench/arithmetic/panels.h"
#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/sparse_dots.h"
#include "bench/arithmetic/tiles.h"
#include "bench/primitives/typical_products.h"
#include "bench/tape/bounds.h"
#include "bench/tape/known_values.h"
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

/* ---- norms ---------------------------------------------------------------------------------- */

/* Elements from `at` on as they are stored: converted, or of an input tensor. */
static struct factor factor_of(const struct node *x, size_t at, size_t lines, size_t length,
                               bool down)
{
    struct factor f = { x->value, DT_F64, lines, down ? 1 : length, down ? lines : 1 };
    if (!x->value) {
        f.x = x->source->data;
        f.dtype = x->source->dtype;
    }
    f.x = (const char *)f.x + at * dtype_info(f.dtype)->bytes;
    return f;
}

/* The lines of one operand of all products: matrices of `lines` lines, one or as many as there are products, and
 * their norms, one matrix after the other. */
struct operand {
    const struct node *node;
    size_t matrices, lines, length;
    bool down, exact;
    double *norms, *error_norms; /* error_norms: NULL where the operand is exact */
};

static struct factor operand_lines(const struct operand *x, size_t product)
{
    size_t matrix = x->matrices == 1 ? 0 : product;
    return factor_of(x->node, matrix * x->lines * x->length, x->lines, x->length, x->down);
}

static const double *norms_of_product(const struct operand *x, const double *norms, size_t product)
{
    return norms + (x->matrices == 1 ? 0 : product * x->lines);
}

enum { NORM_LINES = 512 };

/* Lines of one matrix in parts: part `number` of `matrices` times lines_parts. */
static size_t lines_parts(const struct operand *x) { return (x->lines - 1) / NORM_LINES + 1; }

static struct status norms_part(void *context, size_t number, void *scratch)
{
    const struct operand *x = context;
    size_t parts = lines_parts(x), matrix = number / parts, first = number % parts * NORM_LINES;
    size_t count = x->lines - first < NORM_LINES ? x->lines - first : NORM_LINES;
    struct factor all = operand_lines(x, matrix), some = factor_lines(&all, first, count);
    (void)scratch;
    factor_norms(x->norms + matrix * x->lines + first, &some, x->length);
    return status_ok();
}

/* Norms of the bounds of a matrix, as line_norms; `scratch` has room for it. */
static void take_error_norms(const struct operand *x, double *scratch)
{
    size_t size = x->lines * x->length;
    for (size_t matrix = 0; x->error_norms && matrix < x->matrices; matrix++) {
        for (size_t i = 0; i < size; i++) scratch[i] = node_error(x->node, matrix * size + i);
        line_norms(x->error_norms + matrix * x->lines, scratch, x->lines, x->length, x->down);
    }
}

/* Of the errors, and of the elements where they are not known. */
static void take_norms(struct tape *tape, struct operand *x, bool known)
{
    if (!x->exact)
        x->error_norms = tape_allocate(tape, x->matrices * x->lines, sizeof *x->error_norms);
    struct arena_mark before = arena_mark(tape->arena);
    double *scratch = x->exact ? NULL : tape_allocate(tape, x->lines * x->length, sizeof *scratch);
    if (tape_failed(tape)) return;
    take_error_norms(x, scratch);
    arena_rewind(tape->arena, before);
    if (known) return;
    tape_parallel(tape, &(struct parallel){ .parts = x->matrices * lines_parts(x),
                                            .part = norms_part,
                                            .context = x });
}

/* ---- bounds that are made when they are read ------------------------------------------------- */

/* The bounds of products of exact operands follow from the norms of the lines, but for the elements that were
 * recomputed: those are certified, and the least bound that every certified element of a dtype has is bound enough for them.
 * So a bit for each element, where it would take eight bytes, is all there is to keep.
 *
 * Words of bits are of one row and, as tiles begin at multiples of 64 columns, of one tile. */
struct bound_marks {
    size_t m, n, words; /* of a product; words of a row */
    const double *rows, *columns;
    size_t row_step, column_step; /* from the norms of one product to those of the next */
    double gamma, tiny;
    struct certificate certificate;
    double *values;
    uint64_t *recomputed;
};

/* Bounds of a row of products of exact operands: factor * |b_j|, 0 for values that are not finite.
 * Returns how many are not certified at first sight. */
VECTORIZED static size_t exact_row_bounds(double *restrict error, const double *restrict value,
                                          const double *restrict column, double factor, double tiny,
                                          const struct certificate *certificate, size_t n)
{
    double relative = certificate->relative, least = certificate->least;
    size_t open = 0;
    for (size_t j = 0; j < n; j++) {
        double magnitude = fabs(value[j]), bound = factor * column[j] * (1 + 0x1p-50) + tiny;
        bound = magnitude < INFINITY ? (bound >= 0 ? bound : INFINITY) : 0;
        open += (bound > relative * magnitude) & (bound > least);
        error[j] = bound;
    }
    return open;
}

/* Elements first .. first + count - 1 of a row. */
static void marked_row_bounds(double *error, const struct bound_marks *b, size_t row, size_t first,
                              size_t count)
{
    size_t product = row / b->m;
    const double *value = b->values + row * b->n + first;
    const uint64_t *words = b->recomputed + row * b->words;
    double norm = b->rows[product * b->row_step + row % b->m];
    (void)exact_row_bounds(error, value, b->columns + product * b->column_step + first,
                           b->gamma * norm * (1 + 0x1p-40), b->tiny, &b->certificate, count);
    for (size_t word = first / 64; word * 64 < first + count; word++)
        for (uint64_t bits = words[word]; bits; bits &= bits - 1) {
            size_t j = word * 64 + (size_t)__builtin_ctzll(bits);
            if (j < first || j >= first + count) continue;
            double magnitude = fabs(value[j - first]);
            error[j - first] = fmax(b->certificate.relative * magnitude, b->certificate.least);
        }
}

static void marked_elements(const struct node *node, size_t start, size_t count, double *value,
                            double *error)
{
    const struct bound_marks *b = node->deferral->context;
    if (value != b->values + start) memcpy(value, b->values + start, count * sizeof *value);
    for (size_t at = start; error && at < start + count;) {
        size_t first = at % b->n, left = start + count - at;
        size_t length = b->n - first < left ? b->n - first : left;
        marked_row_bounds(error + at - start, b, at / b->n, first, length);
        at += length;
    }
}

/* Which of n elements of a row, at most 64, are not certified at first sight, as bits: of the bounds of exact_row_bounds. */
VECTORIZED static uint64_t exact_open_bits(const double *restrict value,
                                           const double *restrict column, double factor,
                                           double tiny, const struct certificate *certificate,
                                           size_t n)
{
    const double relative = certificate->relative, least = certificate->least;
    bool open[64];
    uint64_t any = 0, bits = 0;
#define IS_OPEN(j)                                                               \
    ((fabs(value[j]) < INFINITY) &                                               \
     !(factor * column[j] * (1 + 0x1p-50) + tiny <= relative * fabs(value[j])) & \
     !(factor * column[j] * (1 + 0x1p-50) + tiny <= least))
    for (size_t j = 0; j < n; j++) any |= IS_OPEN(j);
    for (size_t j = 0; any && j < n; j++) open[j] = IS_OPEN(j);
    for (size_t j = 0; any && j < n; j++) bits |= (uint64_t)open[j] << j;
#undef IS_OPEN
    return bits;
}

/* Bits, and bounds, of the elements of a row that are not certified at first sight. Returns whether there are any. */
static bool mark_open(uint64_t *words, double *error, const double *value, const double *column,
                      double factor, double tiny, const struct certificate *certificate, size_t n)
{
    uint64_t any = 0;
    for (size_t first = 0; first < n; first += 64) {
        uint64_t open = exact_open_bits(value + first, column + first, factor, tiny, certificate,
                                        n - first < 64 ? n - first : 64);
        any |= words[first / 64] = open;
        for (uint64_t bits = open; bits; bits &= bits - 1) {
            size_t j = first + (size_t)__builtin_ctzll(bits);
            double bound = factor * column[j] * (1 + 0x1p-50) + tiny;
            error[j] = bound >= 0 ? bound : INFINITY;
        }
    }
    return any;
}

static void unmark_open(uint64_t *words, const double *value, const double *error, size_t n,
                        const struct certificate *certificate)
{
    for (size_t word = 0; word * 64 < n; word++)
        for (uint64_t bits = words[word]; bits; bits &= bits - 1) {
            size_t j = word * 64 + (size_t)__builtin_ctzll(bits);
            if (!certificate_passes_quickly(certificate, value[j], error[j]))
                words[word] &= ~((uint64_t)1 << j % 64);
        }
}

/* ---- products ------------------------------------------------------------------------------- */

/* All products and what becomes of them. What the bound of C_ij is made of: gamma |a_i| |b_j|, and from the operands'
 * errors spread (|Ea_i| |b_j| + (|a_i| + |Ea_i|) |Eb_j|). */
struct certified {
    const struct matmul *p;
    struct node *node;
    struct operand a, b;
    struct tiles tiles;
    double gamma, spread, tiny;
    struct certificate certificate;
    bool recomputes, exact_products;
    bool *finite;        /* are the operands of a product? */
    const double *x, *y; /* the operands as a whole, where some are not */
    struct bound_marks
        *marks; /* where bounds are made when they are read; else NULL: the node's array */
    bool multiplies, bounds; /* what is done now */
    bool typical;            /* the model of the root mean square: not gamma, but */
    struct typical_products products;
    double unit;
};

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
    const struct operand *a = &c->a, *b = &c->b;
    size_t row = t->first_row + i, at = (t->product * c->p->m + row) * c->p->n + t->first_column;
    double ra = norms_of_product(a, a->norms, t->product)[row];
    double ea = a->exact ? 0 : norms_of_product(a, a->error_norms, t->product)[row];
    const double *column = norms_of_product(b, b->norms, t->product) + t->first_column;
    const double *column_error =
        b->exact ? NULL : norms_of_product(b, b->error_norms, t->product) + t->first_column;
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
    const double *rows = norms_of_product(&c->a, c->a.norms, t->product) + t->first_row;
    const double *columns = norms_of_product(&c->b, c->b.norms, t->product) + t->first_column;
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

static struct factor lines_of(const struct operand *x, size_t product, size_t first, size_t count)
{
    struct factor all = operand_lines(x, product);
    return factor_lines(&all, first, count);
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
    struct factor a = lines_of(&c->a, t->product, t->first_row, lines_at_once(c, t->rows));
    double *scratch_a = scratch + 2 * c->p->k;
    return (struct tile_lines){
        .wide = scratch,
        .scratch_a = scratch_a,
        .scratch_b = scratch_a + dot_lines_scratch(&a, c->p->k, c->exact_products),
    };
}

static size_t recompute_scratch(const struct certified *c, const struct tile *t)
{
    struct factor a = lines_of(&c->a, 0, 0, lines_at_once(c, t->rows));
    struct factor b = lines_of(&c->b, 0, 0, columns_at_once(c, t->columns));
    return 2 * c->p->k + dot_lines_scratch(&a, c->p->k, c->exact_products) +
           dot_lines_scratch(&b, c->p->k, c->exact_products);
}

/* What is open in some columns of a tile. */
static void recompute_tile(const struct tile_bounds *bounds, const struct certified *c,
                           const struct tile *t, struct tile_lines *lines)
{
    const size_t k = c->p->k, most = lines_at_once(c, t->rows);
    struct factor b = lines_of(&c->b, t->product, t->first_column, t->columns);
    lines->b = dot_lines_prepare(lines->scratch_b, &b, k, c->exact_products,
                                 norms_of_product(&c->b, c->b.norms, t->product) + t->first_column);
    for (size_t i = 0; i < t->rows; i += most) {
        size_t first = t->first_row + i, rows = t->rows - i < most ? t->rows - i : most;
        size_t at = (t->product * c->p->m + first) * c->p->n + t->first_column;
        struct factor a = lines_of(&c->a, t->product, first, rows);
        if (lines->rows != rows || lines->first_row != first)
            lines->a = dot_lines_prepare(lines->scratch_a, &a, k, c->exact_products,
                                         norms_of_product(&c->a, c->a.norms, t->product) + first);
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
    const double *rows = norms_of_product(&c->a, c->a.norms, t->product) + t->first_row;
    const double *columns = norms_of_product(&c->b, c->b.norms, t->product) + t->first_column;
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
    struct factor a = lines_of(&c->a, 0, 0, t->rows), b = lines_of(&c->b, 0, 0, t->columns);
    return may_be_sparse(c) ? sparse_dots_scratch(&a, &b, c->p->k) : 0;
}

/* A tile that has few open elements, all of which are certified then. */
static bool certify_sparsely(const struct certified *c, const struct tile *t, double *scratch)
{
    if (!may_be_sparse(c) || mark_tile(c, t) > sparse_dots_most(t->rows, t->columns)) return false;
    const struct sparse_dots dots = {
        .value = c->node->value + (t->product * c->p->m + t->first_row) * c->p->n + t->first_column,
        .step = c->p->n,
        .a = lines_of(&c->a, t->product, t->first_row, t->rows),
        .b = lines_of(&c->b, t->product, t->first_column, t->columns),
        .a_norms = norms_of_product(&c->a, c->a.norms, t->product) + t->first_row,
        .b_norms = norms_of_product(&c->b, c->b.norms, t->product) + t->first_column,
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
                            lines_of(&c->a, t->product, t->first_row, t->rows),
                            lines_of(&c->b, t->product, t->first_column, t->columns), c->p->k };
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

/* Multiplying and recomputing use the same room, one after the other. */
static void do_tiles(struct tape *tape, struct certified *c, bool multiplies, bool bounds)
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

/* ---- all of it ------------------------------------------------------------------------------ */

/* The dtype of an exact scalar, DT_NONE, is taken for float. */
static struct certificate certificate_for(const struct node *node)
{
    return certificate_of(node->dtype == DT_NONE ? DT_F32 : node->dtype);
}

static struct certified certified_of(const struct tape *tape, struct node *node,
                                     const struct node *a, const struct node *b,
                                     const struct matmul *p)
{
    struct certified c = {
        .p = p,
        .node = node,
        .a = { a, (size_t)a->shape[0], p->m, p->k, p->transpose_a, node_is_exact(a), p->norms,
               NULL },
        .b = { b, (size_t)b->shape[0], p->n, p->k, !p->transpose_b, node_is_exact(b),
               p->norms + (size_t)a->shape[0] * p->m, NULL },
        .tiles = tiles_of(p->batch, p->m, p->n, p->k),
        .gamma = gamma_of(panels_roundings(p->k)) * (1 + 0x1p-20),
        .spread = 1,
        .tiny = (double)p->k * tape->tiny,
        .certificate = certificate_for(node),
        .exact_products = node_is_narrow(a) && node_is_narrow(b),
        .typical = tape_is_typical(tape),
        .unit = tape->unit,
    };
    if (tape_is_model(tape)) c.gamma = dot_growth(tape, p->k) * tape->unit;
    if (c.typical) c.spread = 1 / sqrt((double)p->k);
    /* No double certifies a float64. */
    c.recomputes = !tape_is_model(tape) && dtype_info(c.certificate.dtype)->significand_bits <= 24;
    return c;
}

static bool is_finite(const struct operand *x, const double *values, size_t product)
{
    size_t matrix = x->matrices == 1 ? 0 : product, size = x->lines * x->length;
    if (all_finite(x->norms + matrix * x->lines, x->lines)) return true;
    return values && all_finite(values + matrix * size, size);
}

/* Which products have finite operands. Where norms are not, the elements are read. */
static void find_finite(struct tape *tape, struct certified *c, struct node *a, struct node *b)
{
    c->finite = tape_allocate(tape, c->p->batch, sizeof *c->finite);
    if (tape_failed(tape)) return;
    if (!all_finite(c->a.norms, c->a.matrices * c->a.lines) ||
        !all_finite(c->b.norms, c->b.matrices * c->b.lines)) {
        c->x = node_values(tape, a);
        c->y = node_values(tape, b);
        if (tape_failed(tape)) return;
    }
    for (size_t t = 0; t < c->p->batch; t++)
        c->finite[t] = is_finite(&c->a, c->x, t) && is_finite(&c->b, c->y, t);
}

/* Are the bounds to be made when they are read? Those of large products of exact, finite operands that recomputing
 * certifies, in evaluations that read what they have computed by blocks. */
static bool leaves_bounds(struct tape *tape, const struct certified *c)
{
    for (size_t t = 0; t < c->p->batch; t++)
        if (!c->finite[t]) return false;
    return tape->arithmetic == BENCH_REFERENCE && c->recomputes && c->a.exact && c->b.exact &&
           tape_may_defer(tape, c->node->n, 1, 0, NULL);
}

static struct bound_marks *marks_open(struct tape *tape, const struct certified *c)
{
    struct bound_marks *marks = tape_allocate(tape, 1, sizeof *marks);
    size_t rows = c->p->batch * c->p->m, words = (c->p->n - 1) / 64 + 1;
    if (!marks) return NULL;
    *marks = (struct bound_marks){
        .m = c->p->m,
        .n = c->p->n,
        .words = words,
        .rows = c->a.norms,
        .columns = c->b.norms,
        .row_step = c->a.matrices == 1 ? 0 : c->p->m,
        .column_step = c->b.matrices == 1 ? 0 : c->p->n,
        .gamma = c->gamma,
        .tiny = c->tiny * 2,
        .certificate = c->certificate,
        .values = c->node->value,
        .recomputed = tape_allocate(tape, rows * words, sizeof *marks->recomputed),
    };
    if (!marks->recomputed) return NULL;
    memset(marks->recomputed, 0, rows * words * sizeof *marks->recomputed);
    return marks;
}

/* The values are there, the bounds are left. */
static void leave_bounds(struct tape *tape, struct certified *c)
{
    c->marks = marks_open(tape, c);
    if (!c->marks) return;
    do_tiles(tape, c, true, true);
    c->node->value = NULL;
    node_evaluate(tape, c->node,
                  (struct deferral){ marked_elements, c->marks, 1, true, c->marks->values }, true);
}

static void take_bounds(struct tape *tape, struct certified *c, struct node *a, struct node *b,
                        bool known)
{
    if (!node_need_errors(tape, c->node)) return;
    if (!known || !c->typical) do_tiles(tape, c, !known, !c->typical);
    if (!c->typical || tape_failed(tape)) return;
    typical_products_look(&c->products, tape, c->node, a, b, c->p);
    do_tiles(tape, c, false, true);
}

enum { GRID_BLOCK = 512 };

/* Exact elements added to a grid, of at most `bits` bits. */
static bool add_elements(struct number_grid *grid, const struct node *x, int bits)
{
    double buffer[GRID_BLOCK];
    if (!node_is_exact(x)) return false;
    for (size_t start = 0; start < x->n; start += GRID_BLOCK) {
        size_t count = x->n - start < GRID_BLOCK ? x->n - start : GRID_BLOCK;
        if (!grid_add(grid, node_block(x, start, count, buffer), count, bits)) return false;
    }
    return true;
}

/* In a model: do the factors have so few bits that no kernel rounds? In a mode it may leave bits out. */
static bool is_exact_product(const struct tape *tape, const struct node *a, const struct node *b,
                             size_t k)
{
    int bits = tape->wide ? 53 : 24;
    struct number_grid grids[2] = { NO_NUMBERS, NO_NUMBERS };
    return !tape->modes && add_elements(&grids[0], a, bits) && add_elements(&grids[1], b, bits) &&
           grid_products_are_exact(&grids[0], &grids[1], k, bits);
}

static bool is_alike(const struct node *a, const struct node *b)
{
    const struct matmul *p = a->parameters, *q = b->parameters;
    return p->transpose_a == q->transpose_a && p->transpose_b == q->transpose_b &&
           p->batch == q->batch && p->m == q->m && p->n == q->n && p->k == q->k;
}

/* The values and norms of a product that the reference or the other model has made. */
static bool take_known(struct tape *tape, struct node *node, struct matmul *p)
{
    const struct node *known = known_values_find(tape, node, is_alike);
    if (!known) return false;
    node->value = known->value ? known->value : node_stored_values(known);
    p->norms = ((const struct matmul *)known->parameters)->norms;
    return true;
}

static bool make_room(struct tape *tape, struct node *node, const struct node *a,
                      const struct node *b, struct matmul *p)
{
    size_t lines = (size_t)a->shape[0] * p->m + (size_t)b->shape[0] * p->n;
    if (!node->value) node->value = tape_allocate(tape, node->n, sizeof *node->value);
    p->norms = tape_allocate(tape, lines, sizeof *p->norms);
    return !tape_failed(tape);
}

void matmul_certify(struct tape *tape, struct node *node, struct node *a, struct node *b,
                    struct matmul *p)
{
    if (!node_is_exact(a) || !node_is_exact(b))
        (void)node_values(tape, a), (void)node_values(tape, b);
    bool known = tape_is_model(tape) && take_known(tape, node, p);
    if (!known && !make_room(tape, node, a, b, p)) return;
    struct certified c = certified_of(tape, node, a, b, p);
    take_norms(tape, &c.a, known);
    take_norms(tape, &c.b, known);
    if (!tape_failed(tape) && !known) find_finite(tape, &c, a, b);
    if (tape_failed(tape)) return;
    if (tape_is_model(tape) && is_exact_product(tape, a, b, p->k)) {
        if (!known) do_tiles(tape, &c, true, false);
    } else if (!known && leaves_bounds(tape, &c)) leave_bounds(tape, &c);
    else take_bounds(tape, &c, a, b, known);
    known_values_enter(tape, node);
}

bool node_is_narrow(const struct node *x)
{
    return x->source && dtype_info(x->dtype)->significand_bits <= 24;
}
