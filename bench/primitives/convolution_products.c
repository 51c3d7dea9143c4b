/* Convolutions by im2col and gemm. With W (filters, depth) the kernel of a group, depth = channels * taps, X (depth,
 * points) the columns of an image and Y (filters, points) its result,
 *
 *     Y = W X,    columns of the input's adjoint = W^T Y, folded back,    adjoint of W = sum over images of Y X^T.
 *
 * The work is done in parts of one image and group that other threads may take (core/parallel.h): some filters and
 * points of Y, some channels of the input's adjoint, some columns of that of W, for all images in their order. So a part
 * needs some columns of X at a time, which stay in the second-level cache.
 *
 * Bounds are those of the matrix product (gamma_k times norms of rows and columns); where columns are folded back the
 * bounds are folded with them.
 */
#include "bench/primitives/convolution_products.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/dot_matrix.h"
#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"
#include "bench/arithmetic/rounding.h"
#include "bench/primitives/convolution_columns.h"
#include "bench/primitives/convolution_elements.h"
#include "bench/primitives/convolution_model.h"
#include "bench/primitives/deviating_product.h"
#include "bench/primitives/product_terms.h"
#include "bench/tape/bounds.h"
#include "bench/tape/known_values.h"

enum {
    COLUMN_ELEMENTS = 1 << 17,  /* of X that a part has at a time */
    LEAST_POINTS = 64,          /* of a part of Y, */
    MOST_FILTERS = 256,         /* whose columns are made anew for so many filters */
    LEAST_COLUMNS = 32,         /* rows of X in a part of an adjoint */
    LEAST_PRODUCTS = 1 << 20,   /* multiplications of a part that is several images or groups */
    CHANNEL_PRODUCTS = 1 << 24, /* and of one that is some channels */
};

/* Norms of the lines of an operand, matrix by matrix, and of their bounds. */
struct line_norms {
    double *norm, *error;
};

/* What a part makes of the matrix that the role has: rows by columns. */
struct block {
    size_t image, group, row, rows, column, columns;
};

struct products {
    struct tape *tape;
    const struct convolution *c;
    const struct node *x, *w, *y; /* the operands; NULL: what is made, */
    struct node *out;
    const int64_t *map; /* of the pixel that a tap (row) has at a point, or -1 in the padding */
    bool certify, single, recomputes, exact_products;
    bool known;                      /* the values are there */
    struct line_norms first, second; /* of W or Y, of Y */
    double *growth;                  /* of the input's adjoint: per image and group */
    size_t rows, columns;            /* of a part */
    size_t down, across;             /* parts of one image and group */
    size_t together;                 /* images and groups of a part where each is one */
    size_t matrices;
};

static size_t at_least(size_t x, size_t least) { return x > least ? x : least; }
static size_t at_most(size_t x, size_t most) { return x < most ? x : most; }

/* ---- columns ------------------------------------------------------------------------------------ */

/* Some rows and points of X, of one image and group. */
struct piece {
    size_t row, rows, point, points;
};

#define DEFINE_UNFOLD(NAME, REAL)                                               \
    static void NAME(double *columns, const REAL *x, const struct products *p,  \
                     const struct piece *s)                                     \
    {                                                                           \
        const struct convolution *c = p->c;                                     \
        for (size_t row = s->row; row < s->row + s->rows; row++) {              \
            const int64_t *map = p->map + row % c->taps * c->points + s->point; \
            const REAL *channel = x + row / c->taps * c->pixels;                \
            for (size_t k = 0; k < s->points; k++)                              \
                *columns++ = map[k] < 0 ? 0 : (double)channel[map[k]];          \
        }                                                                       \
    }

DEFINE_UNFOLD(unfold_doubles, double)
DEFINE_UNFOLD(unfold_floats, float)

/* The piece of x, an image and group of it that begins at element `start`. */
static void unfold(double *columns, size_t start, const struct products *p, const struct piece *s)
{
    if (convolution_reads_floats(p->x))
        unfold_floats(columns, (const float *)p->x->source->data + start, p, s);
    else unfold_doubles(columns, p->x->value + start, p, s);
}

/* The bounds of x unfold like x. */
static void unfold_bounds(double *bounds, size_t start, const struct products *p,
                          const struct piece *s)
{
    const struct convolution *c = p->c;
    for (size_t row = s->row; row < s->row + s->rows; row++) {
        const int64_t *map = p->map + row % c->taps * c->points + s->point;
        size_t channel = start + row / c->taps * c->pixels;
        for (size_t k = 0; k < s->points; k++)
            *bounds++ = map[k] < 0 ? 0 : node_error(p->x, channel + (size_t)map[k]);
    }
}

/* ---- products ------------------------------------------------------------------------------------ */

/* The stored elements of an operand one after the other, as floats. */
static void take_floats(float *out, const double *x, size_t rows, size_t length, size_t step)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < length; k++) *out++ = (float)x[i * (step ? step : length) + k];
}

static size_t floats_room(const struct products *p, size_t m, size_t n, size_t k)
{
    return p->single ? (m * k + k * n + m * n) / 2 + 1 : 0;
}

/* z = op(a) op(b), plus z with `add`; where the arithmetic is that of floats, by way of copies in `room`. */
static void multiply(const struct products *p, double *z, const struct gemm *shape, const double *a,
                     const double *b, double *room)
{
    size_t m = shape->m, n = shape->n, k = shape->k, step = shape->step_z ? shape->step_z : n;
    if (!p->single) {
        deviating_gemm(p->tape, z, shape, a, b);
        return;
    }
    float *x = (void *)room, *y = x + m * k, *out = y + k * n;
    take_floats(x, a, shape->transpose_a ? k : m, shape->transpose_a ? m : k, shape->step_a);
    take_floats(y, b, shape->transpose_b ? n : k, shape->transpose_b ? k : n, shape->step_b);
    if (shape->add) take_floats(out, z, m, n, step);
    gemm_float(
        out, &(struct gemm){ shape->transpose_a, shape->transpose_b, shape->add, m, n, k, 0, 0, 0 },
        x, y);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) z[i * step + j] = out[i * n + j];
}

/* Row steps: 0 where rows lie one after the other. */
static size_t step_of(size_t step, size_t length) { return step == length ? 0 : step; }

/* ---- bounds -------------------------------------------------------------------------------------- */

/* Added to the bounds of some rows and columns, rows `step` apart. */
static void add_norm_bounds(double *bound, size_t step, const struct norm_bound *n, size_t rows,
                            size_t columns, const struct line_norms *a, const struct line_norms *b)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            bound[i * step + j] += bound_of(n, a->norm[i], a->error[i], b->norm[j], b->error[j]);
}

/* Two matrices with all their lines: factor k of line i of the first is first[i * row_first + k * step]. */
struct matrices {
    const double *first, *second;
    size_t row_first, row_second;
};

static void lines_of_matrices(const double **first, const double **second, const void *context,
                              size_t matrix, size_t i, size_t j, double *room)
{
    const struct matrices *m = context;
    (void)matrix, (void)room;
    *first = m->first + i * m->row_first;
    *second = m->second + j * m->row_second;
}

static size_t terms_room(const struct products *p, size_t k)
{
    return tape_is_typical(p->tape) ? convolution_growth_room(k) : 0;
}

/* In a model: how much of unit |a_i| |b_j| the roundings of the products of m by n lines of k terms make. */
static double growth_of(const struct products *p, const struct matrices *matrices, size_t m,
                        size_t n, size_t k, size_t step_first, size_t step_second, double *room)
{
    const struct sampled_products products = { .lines = lines_of_matrices,
                                               .context = matrices,
                                               .m = m,
                                               .n = n,
                                               .k = k,
                                               .step_first = step_first,
                                               .step_second = step_second,
                                               .matrices = p->c->images * p->c->groups,
                                               .single = !p->tape->wide };
    double growth;
    if (!tape_is_typical(p->tape)) return dot_growth(p->tape, k);
    convolution_growths(&growth, &products, 0, 1, room);
    return growth;
}

/* ---- norms --------------------------------------------------------------------------------------- */

/* Matrices of an operand, each of `lines` lines of `length`. */
struct operand {
    const struct node *node;
    struct line_norms norms;
    size_t lines, length;
    bool down;
};

static struct status norms_part(void *context, size_t number, void *scratch)
{
    const struct operand *o = context;
    size_t size = o->lines * o->length, start = number * size;
    double *norm = o->norms.norm + number * o->lines, *error = o->norms.error + number * o->lines;
    line_norms(norm, o->node->value + start, o->lines, o->length, o->down);
    memset(error, 0, o->lines * sizeof *error);
    if (node_is_exact(o->node)) return status_ok();
    double *bounds = scratch;
    for (size_t i = 0; i < size; i++) bounds[i] = node_error(o->node, start + i);
    line_norms(error, bounds, o->lines, o->length, o->down);
    return status_ok();
}

static struct line_norms norms_of(struct tape *tape, const struct node *node, size_t matrices,
                                  size_t lines, size_t length, bool down)
{
    double *room = tape_allocate(tape, 2 * matrices * lines, sizeof *room);
    struct operand o = { node, { room, room + matrices * lines }, lines, length, down };
    size_t bytes = node_is_exact(node) ? 0 : lines * length * sizeof(double);
    tape_parallel(tape, &(struct parallel){ matrices, bytes, norms_part, &o });
    return o.norms;
}

static struct line_norms norms_from(const struct line_norms *norms, size_t first)
{
    return (struct line_norms){ norms->norm + first, norms->error + first };
}

/* Norms of a piece of X, `down` of its columns. `room` has columns_room. */
static struct line_norms column_norms(const struct products *p, const double *columns, size_t start,
                                      const struct piece *s, bool down, double *room)
{
    size_t lines = down ? s->points : s->rows, length = down ? s->rows : s->points;
    struct line_norms norms = { room, room + lines };
    line_norms(norms.norm, columns, lines, length, down);
    memset(norms.error, 0, lines * sizeof *norms.error);
    if (node_is_exact(p->x)) return norms;
    double *bounds = room + 2 * lines;
    unfold_bounds(bounds, start, p, s);
    line_norms(norms.error, bounds, lines, length, down);
    return norms;
}

static size_t columns_room(const struct products *p, size_t rows, size_t points)
{
    size_t norms = 2 * at_least(rows, points);
    return p->certify ? norms + (node_is_exact(p->x) ? 0 : rows * points) : 0;
}

/* ---- rows of a part ------------------------------------------------------------------------------ */

static void clear_rows(double *x, size_t step, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++) memset(x + i * step, 0, columns * sizeof *x);
}

static void tidy_rows(double *error, const double *value, size_t step, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            error[i * step + j] = tidy_bound(error[i * step + j], value[i * step + j]);
}

/* ---- Y = W X ------------------------------------------------------------------------------------- */

static struct dot_matrix dots_of(const struct products *p, const struct block *b, size_t at,
                                 const double *columns)
{
    const struct convolution *c = p->c;
    size_t depth = depth_of(c);
    const double *w = p->w->value + w_start(c, b->group) + b->row * depth;
    return (struct dot_matrix){ .value = p->out->value + at,
                                .error = p->out->error + at,
                                .step = c->points,
                                .error_step = c->points,
                                .a = { w, DT_F64, b->rows, depth, 1 },
                                .b = { columns, DT_F64, b->columns, 1, b->columns },
                                .k = depth,
                                .dtype = p->out->dtype,
                                .exact_products = p->exact_products };
}

static size_t dots_room(const struct products *p)
{
    const struct block most = { .rows = p->rows, .columns = p->columns };
    if (!p->recomputes) return 0;
    struct dot_matrix dots = dots_of(p, &most, 0, NULL);
    return dot_lines_scratch(&dots.a, dots.k, p->exact_products) +
           dot_lines_scratch(&dots.b, dots.k, p->exact_products) + 2 * dots.k;
}

static void recompute(const struct products *p, const struct dot_matrix *dots, double *room)
{
    if (!dots_open(dots)) return;
    double *second = room + dot_lines_scratch(&dots->a, dots->k, p->exact_products);
    struct dot_lines a = dot_lines_prepare(room, &dots->a, dots->k, p->exact_products, NULL);
    struct dot_lines b = dot_lines_prepare(second, &dots->b, dots->k, p->exact_products, NULL);
    dots_recompute(dots, &a, &b, second + dot_lines_scratch(&dots->b, dots->k, p->exact_products));
}

static size_t convolve_room(const struct products *p)
{
    size_t depth = depth_of(p->c), own = floats_room(p, p->rows, p->columns, depth);
    if (p->certify)
        own = at_least(
            own, at_least(columns_room(p, depth, p->columns) + terms_room(p, depth), dots_room(p)));
    return depth * p->columns + own;
}

static void convolve(const struct products *p, const struct block *b, double *scratch)
{
    const struct convolution *c = p->c;
    size_t depth = depth_of(c), xs = x_start(c, b->image, b->group),
           at = y_start(c, b->image, b->group) + b->row * c->points + b->column;
    const double *w = p->w->value + w_start(c, b->group) + b->row * depth;
    const struct piece piece = { 0, depth, b->column, b->columns };
    double *columns = scratch, *room = scratch + depth * b->columns, *value = p->out->value + at;

    unfold(columns, xs, p, &piece);
    multiply(p, value,
             &(struct gemm){ false, false, false, b->rows, b->columns, depth, 0, 0,
                             step_of(c->points, b->columns) },
             w, columns, room);
    if (!p->certify) return;
    double *error = p->out->error + at;
    struct line_norms lines = norms_from(&p->first, b->group * c->filters + b->row);
    struct line_norms patches = column_norms(p, columns, xs, &piece, true, room);
    if (c->second_norms && !b->row)
        memcpy(c->second_norms + (b->image * c->groups + b->group) * c->points + b->column,
               patches.norm, b->columns * sizeof *patches.norm);
    const struct matrices lines_of = { w, columns, depth, 1 };
    double growth = growth_of(p, &lines_of, b->rows, b->columns, depth, 1, b->columns,
                              room + columns_room(p, depth, b->columns));
    const struct norm_bound bound = norm_bound_of(p->tape, growth, depth);
    clear_rows(error, c->points, b->rows, b->columns);
    add_norm_bounds(error, c->points, &bound, b->rows, b->columns, &lines, &patches);
    if (p->recomputes) {
        struct dot_matrix dots = dots_of(p, b, at, columns);
        recompute(p, &dots, room);
    }
    tidy_rows(error, value, c->points, b->rows, b->columns);
}

/* ---- columns = W^T Y, folded back ---------------------------------------------------------------- */

/* Rows of columns that are made, and folded, at a time. */
static size_t rows_at_once(const struct products *p)
{
    size_t rows = at_least(COLUMN_ELEMENTS / p->c->points, LEAST_COLUMNS);
    return p->tape->deviation ? p->rows : at_most(rows, p->rows);
}

static size_t input_adjoint_room(const struct products *p)
{
    size_t rows = rows_at_once(p);
    return rows * p->c->points + p->rows / p->c->taps * p->c->pixels +
           floats_room(p, rows, p->c->points, p->c->filters);
}

/* One row of columns added to the channel that it is of. */
static void fold(double *x, const double *column, const int64_t *map, size_t points, bool single)
{
    for (size_t k = 0; k < points; k++) {
        if (map[k] < 0) continue;
        double sum = x[map[k]] + column[k];
        x[map[k]] = single ? (float)sum : sum;
    }
}

/* A line of W^T with its bounds, and those of Y. */
struct folded_bounds {
    struct norm_bound bound;
    double a, ea;
    struct line_norms y;
};

/* As fold, the columns' bounds and what the roundings of the sums are in proportion to. */
static void fold_bounds(double *error, double *magnitude, const double *column, const int64_t *map,
                        size_t points, const struct folded_bounds *f)
{
    for (size_t k = 0; k < points; k++) {
        if (map[k] < 0) continue;
        error[map[k]] += bound_of(&f->bound, f->a, f->ea, f->y.norm[k], f->y.error[k]);
        magnitude[map[k]] += fabs(column[k]);
    }
}

static void finish_folded(const struct products *p, double *error, const double *value,
                          const double *magnitude, size_t n)
{
    const struct convolution *c = p->c;
    double growth = tape_is_model(p->tape) ? tape_sum_growth(p->tape, c->taps * c->filters)
                                           : (double)c->taps;
    double fold_error = growth * p->tape->unit * (1 + 0x1p-20);
    for (size_t i = 0; i < n; i++)
        error[i] = tidy_bound((error[i] + fold_error * magnitude[i]) * (1 + 0x1p-40), value[i]);
}

/* Rows `row` to `row + rows` of the columns of a part. */
static void fold_rows(const struct products *p, const struct block *b, size_t row, size_t rows,
                      double *scratch)
{
    const struct convolution *c = p->c;
    size_t depth = depth_of(c), first = b->row / c->taps, matrix = b->image * c->groups + b->group,
           start = x_start(c, b->image, b->group);
    double *columns = scratch, *magnitude = scratch + rows_at_once(p) * c->points,
           *room = magnitude + p->rows / c->taps * c->pixels;
    multiply(p, columns,
             &(struct gemm){ true, false, false, rows, c->points, c->filters, step_of(depth, rows),
                             0, 0 },
             p->w->value + w_start(c, b->group) + row, p->y->value + y_start(c, b->image, b->group),
             room);
    struct folded_bounds f = { .y = p->certify ? norms_from(&p->second, matrix * c->points)
                                               : (struct line_norms){ NULL, NULL } };
    if (p->certify) f.bound = norm_bound_of(p->tape, p->growth[matrix], c->filters);
    for (size_t r = row; r < row + rows; r++, columns += c->points) {
        const int64_t *map = p->map + r % c->taps * c->points;
        size_t channel = r / c->taps * c->pixels;
        if (!p->known) fold(p->out->value + start + channel, columns, map, c->points, p->single);
        if (!p->certify) continue;
        f.a = p->first.norm[b->group * depth + r];
        f.ea = p->first.error[b->group * depth + r];
        fold_bounds(p->out->error + start + channel, magnitude + channel - first * c->pixels,
                    columns, map, c->points, &f);
    }
}

static void input_adjoint(const struct products *p, const struct block *b, double *scratch)
{
    const struct convolution *c = p->c;
    size_t n = b->rows / c->taps * c->pixels, step = rows_at_once(p),
           at = x_start(c, b->image, b->group) + b->row / c->taps * c->pixels;
    double *magnitude = scratch + step * c->points, *value = p->out->value + at;
    if (!p->known) memset(value, 0, n * sizeof *value);
    memset(magnitude, 0, n * sizeof *magnitude);
    if (p->certify) memset(p->out->error + at, 0, n * sizeof(double));
    for (size_t row = b->row; row < b->row + b->rows; row += step)
        fold_rows(p, b, row, at_most(step, b->row + b->rows - row), scratch);
    if (p->certify) finish_folded(p, p->out->error + at, value, magnitude, n);
    if (c->magnitudes) memcpy(c->magnitudes + at, magnitude, n * sizeof *magnitude);
}

static struct status growth_part(void *context, size_t number, void *scratch)
{
    const struct products *p = context;
    const struct convolution *c = p->c;
    size_t depth = depth_of(c);
    const struct matrices columns = { p->w->value + w_start(c, number % c->groups),
                                      p->y->value + number * c->filters * c->points, 1, 1 };
    p->growth[number] =
        growth_of(p, &columns, depth, c->points, c->filters, depth, c->points, scratch);
    return status_ok();
}

/* ---- sum of Y X^T -------------------------------------------------------------------------------- */

static size_t weight_adjoint_room(const struct products *p)
{
    const struct convolution *c = p->c;
    size_t own = columns_room(p, p->columns, c->points) + terms_room(p, c->points);
    return p->columns * c->points + (p->certify ? c->filters * p->columns : 0) +
           at_least(own, floats_room(p, c->filters, p->columns, c->points));
}

/* The images' products are added one after the other: `points` terms of each in any order, and a rounding of the
 * sum for each image. (Added within dgemm, every term may have met points * images roundings.) */
static void add_image(const struct products *p, double *sum, double *error, const double *product,
                      const struct block *b)
{
    bool rounds = p->tape->arithmetic == BENCH_REFERENCE; /* nothing beside a kernel's */
    size_t step = depth_of(p->c);
    for (size_t i = 0; i < b->rows; i++)
        for (size_t j = 0; j < b->columns; j++) {
            sum[i * step + j] += product[i * b->columns + j];
            if (rounds) error[i * step + j] += UNIT_ROUNDOFF * fabs(sum[i * step + j]);
        }
}

/* The part of one image. */
static void add_weights(const struct products *p, const struct block *b, size_t image,
                        double *scratch)
{
    const struct convolution *c = p->c;
    size_t depth = depth_of(c), xs = x_start(c, image, b->group), ys = y_start(c, image, b->group),
           at = w_start(c, b->group) + b->column;
    const struct piece piece = { b->column, b->columns, 0, c->points };
    double *columns = scratch, *product = columns + b->columns * c->points,
           *room = product + (p->certify ? b->rows * b->columns : 0);
    bool within = !p->certify || image == 0;

    unfold(columns, xs, p, &piece);
    multiply(p, within ? p->out->value + at : product,
             &(struct gemm){ false, true, within && image > 0, b->rows, b->columns, c->points, 0, 0,
                             within ? step_of(depth, b->columns) : 0 },
             p->y->value + ys, columns, room);
    if (!p->certify) return;
    if (!within) add_image(p, p->out->value + at, p->out->error + at, product, b);
    struct line_norms lines = norms_from(&p->first, (image * c->groups + b->group) * c->filters);
    struct line_norms patches = column_norms(p, columns, xs, &piece, false, room);
    if (c->second_norms)
        memcpy(c->second_norms + (image * c->groups + b->group) * depth + b->column, patches.norm,
               b->columns * sizeof *patches.norm);
    const struct matrices rows = { p->y->value + ys, columns, c->points, c->points };
    /* Partial sums of one sign grow over the images, too. */
    double growing = tape_is_typical(p->tape) ? sqrt((double)c->images) : (double)c->images;
    double growth = growth_of(p, &rows, b->rows, b->columns, c->points, 1, 1,
                              room + columns_room(p, b->columns, c->points)) *
                    growing;
    const struct norm_bound bound = norm_bound_of(p->tape, growth, c->points);
    add_norm_bounds(p->out->error + at, depth, &bound, b->rows, b->columns, &lines, &patches);
}

static void weight_adjoint(const struct products *p, const struct block *b, double *scratch)
{
    const struct convolution *c = p->c;
    size_t depth = depth_of(c), at = w_start(c, b->group) + b->column;
    clear_rows(p->out->value + at, depth, b->rows, b->columns);
    if (p->certify) clear_rows(p->out->error + at, depth, b->rows, b->columns);
    for (size_t image = 0; image < c->images; image++) add_weights(p, b, image, scratch);
    if (p->certify) tidy_rows(p->out->error + at, p->out->value + at, depth, b->rows, b->columns);
}

/* ---- roles --------------------------------------------------------------------------------------- */

/* How the matrix of a role is divided: a part's rows and columns. What looks at all terms of a product, or imitates a
 * kernel's mistake, takes it whole. */
static void divide_result(struct products *p)
{
    const struct convolution *c = p->c;
    size_t points = at_least(COLUMN_ELEMENTS / depth_of(c), LEAST_POINTS);
    bool whole = tape_is_typical(p->tape) || p->tape->deviation;
    p->matrices = c->images * c->groups;
    p->rows = whole ? c->filters : at_most(MOST_FILTERS, c->filters);
    p->columns = whole ? c->points : at_most(points, c->points);
    p->down = (c->filters - 1) / p->rows + 1;
    p->across = (c->points - 1) / p->columns + 1;
}

static void divide_input_adjoint(struct products *p)
{
    const struct convolution *c = p->c;
    double products = (double)c->taps * (double)c->points * (double)c->filters;
    size_t channels =
        at_least(products < CHANNEL_PRODUCTS ? (size_t)(CHANNEL_PRODUCTS / products) : 1,
                 (LEAST_COLUMNS - 1) / c->taps + 1);
    channels = p->tape->deviation ? c->channels : at_most(channels, c->channels);
    p->matrices = c->images * c->groups;
    p->rows = channels * c->taps;
    p->columns = c->points;
    p->down = (c->channels - 1) / channels + 1;
    p->across = 1;
}

static void divide_weight_adjoint(struct products *p)
{
    const struct convolution *c = p->c;
    size_t columns = at_least(COLUMN_ELEMENTS / c->points, LEAST_COLUMNS), depth = depth_of(c);
    bool whole = tape_is_typical(p->tape) || p->tape->deviation;
    p->matrices = c->groups;
    p->rows = c->filters;
    p->columns = whole ? depth : at_most(columns, depth);
    p->down = 1;
    p->across = (depth - 1) / p->columns + 1;
}

static const struct role {
    void (*divide)(struct products *p);
    size_t (*room)(const struct products *p);
    void (*make)(const struct products *p, const struct block *b, double *scratch);
} roles[] = {
    [CONVOLVE] = { divide_result, convolve_room, convolve },
    [CONVOLVE_INPUT_ADJOINT] = { divide_input_adjoint, input_adjoint_room, input_adjoint },
    [CONVOLVE_WEIGHT_ADJOINT] = { divide_weight_adjoint, weight_adjoint_room, weight_adjoint },
};

/* Rows and columns of the matrix of a role. */
static void extents_of(size_t *rows, size_t *columns, const struct convolution *c)
{
    *rows = c->role == CONVOLVE_INPUT_ADJOINT ? depth_of(c) : c->filters;
    *columns = c->role == CONVOLVE_WEIGHT_ADJOINT ? depth_of(c) : c->points;
}

static struct block block_at(const struct products *p, size_t matrix, size_t number)
{
    const struct convolution *c = p->c;
    size_t row = number / p->across * p->rows, column = number % p->across * p->columns, rows,
           columns;
    extents_of(&rows, &columns, c);
    return (struct block){ matrix / c->groups,
                           matrix % c->groups,
                           row,
                           at_most(p->rows, rows - row),
                           column,
                           at_most(p->columns, columns - column) };
}

static struct status products_part(void *context, size_t number, void *scratch)
{
    const struct products *p = context;
    size_t blocks = p->down * p->across, first = number / blocks * p->together;
    for (size_t i = first; i < at_most(first + p->together, p->matrices); i++) {
        struct block block = block_at(p, i, number % blocks);
        roles[p->c->role].make(p, &block, scratch);
    }
    return status_ok();
}

static void do_parts(struct products *p)
{
    const struct convolution *c = p->c;
    roles[c->role].divide(p);
    double each = (double)depth_of(c) * (double)c->filters * (double)c->points;
    p->together = 1;
    if (p->down * p->across == 1 && each < LEAST_PRODUCTS)
        p->together = at_most(LEAST_PRODUCTS / (size_t)at_least((size_t)each, 1), p->matrices);
    const struct parallel work = { .parts = ((p->matrices - 1) / p->together + 1) * p->down *
                                            p->across,
                                   .scratch_bytes = (roles[c->role].room(p) + 1) * sizeof(double),
                                   .part = products_part,
                                   .context = p };
    struct tape *tape = p->tape;
    /* An imitated mistake takes memory from the tape. */
    struct status status = parallel_run(tape->deviation ? NULL : tape->help, tape->arena, &work);
    if (status.code && !tape_failed(tape)) tape->status = status;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static void take_norms(struct products *p)
{
    const struct convolution *c = p->c;
    struct tape *tape = p->tape;
    size_t depth = depth_of(c), matrices = c->images * c->groups;
    switch (c->role) {
    case CONVOLVE: p->first = norms_of(tape, p->w, c->groups, c->filters, depth, false); break;
    case CONVOLVE_INPUT_ADJOINT:
        p->first = norms_of(tape, p->w, c->groups, depth, c->filters, true);
        p->second = norms_of(tape, p->y, matrices, c->points, c->filters, true);
        p->growth = tape_allocate(tape, matrices, sizeof *p->growth);
        tape_parallel(tape,
                      &(struct parallel){ matrices, terms_room(p, c->filters) * sizeof(double),
                                          growth_part, p });
        break;
    case CONVOLVE_WEIGHT_ADJOINT:
        p->first = norms_of(tape, p->y, matrices, c->filters, c->points, false);
        break;
    }
}

static bool is_finite(const struct node *x)
{
    return x->value ? all_finite(x->value, x->n)
                    : all_finite_floats((const float *)x->source->data, x->n);
}

static struct products products_of(struct tape *tape, struct node *node,
                                   const struct convolution *c)
{
    const struct node *a = node->inputs[0], *b = node->inputs[1];
    struct products p = { .tape = tape,
                          .c = c,
                          .out = node,
                          .certify = tape_is_reference(tape),
                          .single = tape_is_single(tape),
                          .exact_products = node_is_narrow(a) && node_is_narrow(b) };
    p.x = c->role == CONVOLVE_INPUT_ADJOINT ? NULL : a;
    p.w = c->role == CONVOLVE_WEIGHT_ADJOINT ? NULL : b;
    p.y = c->role == CONVOLVE_INPUT_ADJOINT ? a : c->role == CONVOLVE_WEIGHT_ADJOINT ? b : NULL;
    p.recomputes = c->role == CONVOLVE && tape->arithmetic == BENCH_REFERENCE && node_is_exact(a) &&
                   node_is_exact(b) && is_finite(a) && is_finite(b);
    return p;
}

static bool is_empty(const struct convolution *c)
{
    return !c->images || !c->groups || !c->filters || !c->channels || !c->taps || !c->points ||
           !c->pixels;
}

/* Room for what the bounds of other evaluations follow from. */
static void keep_norms(struct tape *tape, struct convolution *c)
{
    size_t matrices = c->images * c->groups, depth = depth_of(c);
    const size_t first[] = { c->groups * c->filters, c->groups * depth, matrices * c->filters },
                 second[] = { matrices * c->points, matrices * c->points, matrices * depth };
    bool folds = c->role == CONVOLVE_INPUT_ADJOINT && tape_is_model(tape);
    c->first_norms = tape_allocate(tape, first[c->role], sizeof *c->first_norms);
    c->second_norms = tape_allocate(tape, second[c->role], sizeof *c->second_norms);
    c->magnitudes =
        folds ? tape_allocate(tape, matrices * c->channels * c->pixels, sizeof *c->magnitudes)
              : NULL;
}

/* What take_norms has found. */
static void store_norms(const struct products *p)
{
    const struct convolution *c = p->c;
    size_t matrices = c->images * c->groups, depth = depth_of(c);
    size_t first = c->role == CONVOLVE                 ? c->groups * c->filters
                   : c->role == CONVOLVE_INPUT_ADJOINT ? c->groups * depth
                                                       : matrices * c->filters;
    if (!c->first_norms) return;
    memcpy(c->first_norms, p->first.norm, first * sizeof *c->first_norms);
    if (c->role == CONVOLVE_INPUT_ADJOINT)
        memcpy(c->second_norms, p->second.norm, matrices * c->points * sizeof *c->second_norms);
}

/* Of exact operands: errors element by element. */
static bool looks_at_all(const struct tape *tape, const struct node *node,
                         const struct convolution *c)
{
    return node_is_exact(node->inputs[0]) && node_is_exact(node->inputs[1]) &&
           convolution_looks_at_all(tape, c);
}

static void make_products(struct tape *tape, struct node *node, const struct convolution *c,
                          bool known)
{
    struct arena_mark before = arena_mark(tape->arena);
    struct products p = products_of(tape, node, c);
    p.known = known;
    p.map = convolution_pixel_map(tape, c);
    if (p.certify) take_norms(&p);
    if (!tape_failed(tape)) store_norms(&p);
    if (!tape_failed(tape)) do_parts(&p);
    if (!tape_failed(tape) && looks_at_all(tape, node, c))
        convolution_element_errors(tape, node, c, p.x, p.w, p.y, p.map);
    arena_rewind(tape->arena, before);
}

void convolution_evaluate(struct tape *tape, struct node *node, struct convolution *c)
{
    const struct node *a = node->inputs[0], *b = node->inputs[1];
    bool has_x = c->role != CONVOLVE_INPUT_ADJOINT, reference = tape_is_reference(tape);
    if (convolution_take_known(tape, node, c)) return;
    if (!has_x || !convolution_reads_floats(a) || looks_at_all(tape, node, c))
        (void)node_values(tape, node->inputs[0]);
    (void)node_values(tape, node->inputs[1]);
    bool known = node->value;
    if (!known) node->value = tape_allocate(tape, node->n, sizeof *node->value);
    if (reference) (void)node_need_errors(tape, node);
    if (tape_failed(tape)) return;
    if (is_empty(c)) { /* sums without terms */
        memset(node->value, 0, node->n * sizeof *node->value);
        if (node->error) memset(node->error, 0, node->n * sizeof *node->error);
        return;
    }
    if (reference && node_is_exact(a) && node_is_exact(b)) keep_norms(tape, c);
    if (!tape_failed(tape)) make_products(tape, node, c, known);
    if (reference) known_values_enter(tape, node);
}
