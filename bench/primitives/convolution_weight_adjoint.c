/* Sum over images of Y X^T: the parts of the adjoint of a convolution's weight, some columns of a group, for all images in their order. */
#include "bench/primitives/convolution_parts.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"
#include "bench/arithmetic/rounding.h"
#include "bench/primitives/convolution_model.h"
#include "bench/primitives/product_terms.h"

static size_t weight_adjoint_room(const struct convolution_products *p)
{
    const struct convolution *c = p->c;
    size_t own = column_norms_room(p, p->columns, c->points) + part_growth_room(p, c->points);
    return p->columns * c->points + (p->certify ? c->filters * p->columns : 0) +
           at_least(own, part_floats_room(p, c->filters, p->columns, c->points));
}

/* The images' products are added one after the other: `points` terms of each in any order, and a rounding of the
 * sum for each image. (Added within dgemm, every term may have met points * images roundings.) */
static void add_image(const struct convolution_products *p, double *sum, double *error,
                      const double *product, const struct block *b)
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
static void add_weights(const struct convolution_products *p, const struct block *b, size_t image,
                        double *scratch)
{
    const struct convolution *c = p->c;
    size_t depth = depth_of(c), xs = x_start(c, image, b->group), ys = y_start(c, image, b->group),
           at = w_start(c, b->group) + b->column;
    const struct piece piece = { b->column, b->columns, 0, c->points };
    double *columns = scratch, *product = columns + b->columns * c->points,
           *room = product + (p->certify ? b->rows * b->columns : 0);
    bool within = !p->certify || image == 0;

    columns_unfold(columns, xs, p, &piece);
    part_multiply(p, within ? p->out->value + at : product,
                  &(struct gemm){ false, true, within && image > 0, b->rows, b->columns, c->points,
                                  0, 0, within ? row_step(depth, b->columns) : 0 },
                  p->y->value + ys, columns, room);
    if (!p->certify) return;
    if (!within) add_image(p, p->out->value + at, p->out->error + at, product, b);
    struct line_norms lines = norms_from(&p->first, (image * c->groups + b->group) * c->filters);
    struct line_norms patches = column_norms(p, columns, xs, &piece, false, room);
    if (c->second_norms)
        memcpy(c->second_norms + (image * c->groups + b->group) * depth + b->column, patches.norm,
               b->columns * sizeof *patches.norm);
    const struct line_matrices rows = { p->y->value + ys, columns, c->points, c->points };
    /* Partial sums of one sign grow over the images, too. */
    double growing = tape_is_typical(p->tape) ? sqrt((double)c->images) : (double)c->images;
    double growth = part_growth(p, &rows, b->rows, b->columns, c->points, 1, 1,
                                room + column_norms_room(p, b->columns, c->points)) *
                    growing;
    const struct norm_bound bound = norm_bound_of(p->tape, growth, c->points);
    part_add_bounds(p->out->error + at, depth, &bound, b->rows, b->columns, &lines, &patches);
}

static void weight_adjoint(const struct convolution_products *p, const struct block *b,
                           double *scratch)
{
    const struct convolution *c = p->c;
    size_t depth = depth_of(c), at = w_start(c, b->group) + b->column;
    part_clear(p->out->value + at, depth, b->rows, b->columns);
    if (p->certify) part_clear(p->out->error + at, depth, b->rows, b->columns);
    for (size_t image = 0; image < c->images; image++) add_weights(p, b, image, scratch);
    if (p->certify) part_tidy(p->out->error + at, p->out->value + at, depth, b->rows, b->columns);
}

/* What looks at all terms of a product, or imitates a kernel's mistake, takes the matrix whole. */
static void divide_weight_adjoint(struct convolution_products *p)
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

const struct convolution_role_steps convolution_weight_adjoint = { divide_weight_adjoint,
                                                                   weight_adjoint_room,
                                                                   weight_adjoint };
