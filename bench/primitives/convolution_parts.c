/* Columns are unfolded as they are needed, from floats or doubles; products go by gemm in the arithmetic of the tape; bounds follow from
 * norms of lines, which for columns are taken here. */
#include "bench/primitives/convolution_parts.h"

#include <string.h>

#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"
#include "bench/primitives/convolution_columns.h"
#include "bench/primitives/convolution_model.h"
#include "bench/primitives/deviating_product.h"
#include "bench/primitives/product_terms.h"
#include "bench/tape/bounds.h"

#define DEFINE_UNFOLD(NAME, REAL)                                                          \
    static void NAME(double *columns, const REAL *x, const struct convolution_products *p, \
                     const struct piece *s)                                                \
    {                                                                                      \
        const struct convolution *c = p->c;                                                \
        for (size_t row = s->row; row < s->row + s->rows; row++) {                         \
            const int64_t *map = p->map + row % c->taps * c->points + s->point;            \
            const REAL *channel = x + row / c->taps * c->pixels;                           \
            for (size_t k = 0; k < s->points; k++)                                         \
                *columns++ = map[k] < 0 ? 0 : (double)channel[map[k]];                     \
        }                                                                                  \
    }

DEFINE_UNFOLD(unfold_doubles, double)
DEFINE_UNFOLD(unfold_floats, float)

void columns_unfold(double *columns, size_t start, const struct convolution_products *p,
                    const struct piece *s)
{
    if (convolution_reads_floats(p->x))
        unfold_floats(columns, (const float *)p->x->source->data + start, p, s);
    else unfold_doubles(columns, p->x->value + start, p, s);
}

/* The bounds of x unfold like x. */
static void unfold_bounds(double *bounds, size_t start, const struct convolution_products *p,
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

/* The stored elements of an operand one after the other, as floats. */
static void take_floats(float *out, const double *x, size_t rows, size_t length, size_t step)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < length; k++) *out++ = (float)x[i * (step ? step : length) + k];
}

size_t part_floats_room(const struct convolution_products *p, size_t m, size_t n, size_t k)
{
    return p->single ? (m * k + k * n + m * n) / 2 + 1 : 0;
}

void part_multiply(const struct convolution_products *p, double *z, const struct gemm *shape,
                   const double *a, const double *b, double *room)
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

void part_add_bounds(double *bound, size_t step, const struct norm_bound *n, size_t rows,
                     size_t columns, const struct line_norms *a, const struct line_norms *b)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            bound[i * step + j] += bound_of(n, a->norm[i], a->error[i], b->norm[j], b->error[j]);
}

static void lines_of_matrices(const double **first, const double **second, const void *context,
                              size_t matrix, size_t i, size_t j, double *room)
{
    const struct line_matrices *m = context;
    (void)matrix, (void)room;
    *first = m->first + i * m->row_first;
    *second = m->second + j * m->row_second;
}

size_t part_growth_room(const struct convolution_products *p, size_t k)
{
    return tape_is_typical(p->tape) ? convolution_growth_room(k) : 0;
}

double part_growth(const struct convolution_products *p, const struct line_matrices *matrices,
                   size_t m, size_t n, size_t k, size_t step_first, size_t step_second,
                   double *room)
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

struct line_norms column_norms(const struct convolution_products *p, const double *columns,
                               size_t start, const struct piece *s, bool down, double *room)
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

size_t column_norms_room(const struct convolution_products *p, size_t rows, size_t points)
{
    size_t norms = 2 * at_least(rows, points);
    return p->certify ? norms + (node_is_exact(p->x) ? 0 : rows * points) : 0;
}

void part_clear(double *x, size_t step, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++) memset(x + i * step, 0, columns * sizeof *x);
}

void part_tidy(double *error, const double *value, size_t step, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            error[i * step + j] = tidy_bound(error[i * step + j], value[i * step + j]);
}
