/* Columns = W^T Y, folded back: the parts of the adjoint of a convolution's input, some channels of an image and group. */
#include "bench/primitives/convolution_parts.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"
#include "bench/primitives/convolution_model.h"
#include "bench/tape/bounds.h"

enum { CHANNEL_PRODUCTS = 1 << 24 }; /* multiplications of a part that is some channels */

/* Rows of columns that are made, and folded, at a time. */
static size_t rows_at_once(const struct convolution_products *p)
{
    size_t rows = at_least(COLUMN_ELEMENTS / p->c->points, LEAST_COLUMNS);
    return p->tape->deviation ? p->rows : at_most(rows, p->rows);
}

static size_t input_adjoint_room(const struct convolution_products *p)
{
    size_t rows = rows_at_once(p);
    return rows * p->c->points + p->rows / p->c->taps * p->c->pixels +
           part_floats_room(p, rows, p->c->points, p->c->filters);
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

static void finish_folded(const struct convolution_products *p, double *error, const double *value,
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
static void fold_rows(const struct convolution_products *p, const struct block *b, size_t row,
                      size_t rows, double *scratch)
{
    const struct convolution *c = p->c;
    size_t depth = depth_of(c), first = b->row / c->taps, matrix = b->image * c->groups + b->group,
           start = x_start(c, b->image, b->group);
    double *columns = scratch, *magnitude = scratch + rows_at_once(p) * c->points,
           *room = magnitude + p->rows / c->taps * c->pixels;
    part_multiply(p, columns,
                  &(struct gemm){ true, false, false, rows, c->points, c->filters,
                                  row_step(depth, rows), 0, 0 },
                  p->w->value + w_start(c, b->group) + row,
                  p->y->value + y_start(c, b->image, b->group), room);
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

static void input_adjoint(const struct convolution_products *p, const struct block *b,
                          double *scratch)
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

static void divide_input_adjoint(struct convolution_products *p)
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

const struct convolution_role_steps convolution_input_adjoint = { divide_input_adjoint,
                                                                  input_adjoint_room,
                                                                  input_adjoint };
