/* Y = W X: the parts of a convolution's result, some filters and points of an image and group. */
#include "bench/primitives/convolution_parts.h"

#include <string.h>

#include "bench/arithmetic/dot_matrix.h"
#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"
#include "bench/primitives/convolution_model.h"

enum {
    LEAST_POINTS = 64,  /* of a part, */
    MOST_FILTERS = 256, /* whose columns are made anew for so many filters */
};

static struct dot_matrix dots_of(const struct convolution_products *p, const struct block *b,
                                 size_t at, const double *columns)
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

static size_t dots_room(const struct convolution_products *p)
{
    const struct block most = { .rows = p->rows, .columns = p->columns };
    if (!p->recomputes) return 0;
    struct dot_matrix dots = dots_of(p, &most, 0, NULL);
    return dot_lines_scratch(&dots.a, dots.k, p->exact_products) +
           dot_lines_scratch(&dots.b, dots.k, p->exact_products) + 2 * dots.k;
}

static void recompute(const struct convolution_products *p, const struct dot_matrix *dots,
                      double *room)
{
    if (!dots_open(dots)) return;
    double *second = room + dot_lines_scratch(&dots->a, dots->k, p->exact_products);
    struct dot_lines a = dot_lines_prepare(room, &dots->a, dots->k, p->exact_products, NULL);
    struct dot_lines b = dot_lines_prepare(second, &dots->b, dots->k, p->exact_products, NULL);
    dots_recompute(dots, &a, &b, second + dot_lines_scratch(&dots->b, dots->k, p->exact_products));
}

static size_t convolve_room(const struct convolution_products *p)
{
    size_t depth = depth_of(p->c), own = part_floats_room(p, p->rows, p->columns, depth);
    if (p->certify)
        own = at_least(
            own, at_least(column_norms_room(p, depth, p->columns) + part_growth_room(p, depth),
                          dots_room(p)));
    return depth * p->columns + own;
}

static void convolve(const struct convolution_products *p, const struct block *b, double *scratch)
{
    const struct convolution *c = p->c;
    size_t depth = depth_of(c), xs = x_start(c, b->image, b->group),
           at = y_start(c, b->image, b->group) + b->row * c->points + b->column;
    const double *w = p->w->value + w_start(c, b->group) + b->row * depth;
    const struct piece piece = { 0, depth, b->column, b->columns };
    double *columns = scratch, *room = scratch + depth * b->columns, *value = p->out->value + at;

    columns_unfold(columns, xs, p, &piece);
    part_multiply(p, value,
                  &(struct gemm){ false, false, false, b->rows, b->columns, depth, 0, 0,
                                  row_step(c->points, b->columns) },
                  w, columns, room);
    if (!p->certify) return;
    double *error = p->out->error + at;
    struct line_norms lines = norms_from(&p->first, b->group * c->filters + b->row);
    struct line_norms patches = column_norms(p, columns, xs, &piece, true, room);
    if (c->second_norms && !b->row)
        memcpy(c->second_norms + (b->image * c->groups + b->group) * c->points + b->column,
               patches.norm, b->columns * sizeof *patches.norm);
    const struct line_matrices lines_of = { w, columns, depth, 1 };
    double growth = part_growth(p, &lines_of, b->rows, b->columns, depth, 1, b->columns,
                                room + column_norms_room(p, depth, b->columns));
    const struct norm_bound bound = norm_bound_of(p->tape, growth, depth);
    part_clear(error, c->points, b->rows, b->columns);
    part_add_bounds(error, c->points, &bound, b->rows, b->columns, &lines, &patches);
    if (p->recomputes) {
        struct dot_matrix dots = dots_of(p, b, at, columns);
        recompute(p, &dots, room);
    }
    part_tidy(error, value, c->points, b->rows, b->columns);
}

/* What looks at all terms of a product, or imitates a kernel's mistake, takes the matrix whole. */
static void divide_result(struct convolution_products *p)
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

const struct convolution_role_steps convolution_result = { divide_result, convolve_room, convolve };
