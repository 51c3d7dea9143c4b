/* Sums over (outer, extent, inner) blocks.
 *
 * Sums use Sum2 of Ogita, Rump and Oishi (2005): TwoSum per lane with the errors added per lane,
 * so that |result - sum| <= u |result| + gamma_n^2 sum|x_i| (bench/arithmetic/compensated.h). In BENCH_NATIVE
 * eight lanes hold floats and no errors.
 */
#include "bench/primitives/reduce.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "bench/arithmetic/compensated.h"
#include "bench/arithmetic/pair.h"
#include "bench/arithmetic/rounding.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/blocks.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/modelled_sum.h"
#include "bench/primitives/movement.h"
#include "bench/tape/bounds.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"
#include "core/vectorize.h"

enum { LANES = 8, NATIVE_BLOCK = 512, WORTH_KEEPING = 4 };

static void sum_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *x = node->inputs[0]; /* the node has its rank, extents of 1 where it reduces */
    tape_accumulate(tape, x, node_broadcast(tape, cotangent, x->rank, x->shape));
}

static void sum_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct lines *l = node->parameters;
    arb_t term;
    if (!enclosure_admits(enclosure, node->inputs[0], line_element(l, i, 0), l->extent)) {
        arb_indeterminate(ball);
        return;
    }
    arb_init(term);
    arb_zero(ball);
    for (size_t k = 0; k < l->extent; k++) {
        enclosure_element(enclosure, term, node->inputs[0], line_element(l, i, k));
        arb_add(ball, ball, term, enclosure->precision);
        if (enclosure->work > enclosure->limit) break;
    }
    if (enclosure->work > enclosure->limit) arb_indeterminate(ball);
    arb_clear(term);
}

/* Terms one after the other; exact ones by TwoSum alone. */
static bool sum_terms_as_pairs(struct enclosure *enclosure, struct pair *out, struct node *node,
                               size_t i)
{
    const struct lines *l = node->parameters;
    struct node *x = node->inputs[0];
    struct pair total = { 0, 0, 0 }, term;
    if (node_is_exact(x) && x->value) {
        struct running sum = { 0 };
        for (size_t k = 0; k < l->extent; k++) running_add(&sum, x->value[line_element(l, i, k)]);
        enclosure->work += l->extent / 64;
        return running_pair(out, &sum, false);
    }
    if (!enclosure_admits(enclosure, x, line_element(l, i, 0), l->extent)) return false;
    for (size_t k = 0; k < l->extent; k++)
        if (!enclosure_pair(enclosure, &term, x, line_element(l, i, k)) ||
            !pair_add(&total, total, term))
            return false;
    *out = total;
    return true;
}

static bool sum_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    const struct lines *l = node->parameters;
    if (l->extent < WORTH_KEEPING) return sum_terms_as_pairs(enclosure, out, node, i);
    return enclosure_shared_pair(enclosure, out, node, i, sum_terms_as_pairs);
}

static const struct primitive sum_primitive = { "sum", sum_backward, sum_enclose, sum_pair };

/* Sum of n elements of an exact or inexact node from `start` on, with its bound (rounding only). */
static double certified_sum(double *bound, const struct node *x, size_t start, size_t n)
{
    enum { BLOCK = 2048 }; /* of a leaf that is not converted yet */
    double buffer[BLOCK], sum = 0;
    struct compensated total = { 0 };
    size_t step = x->value ? n : BLOCK;
    bool floats = !x->value && x->source && x->source->dtype == DT_F32;
    if (floats) compensated_add_floats(&total, (const float *)x->source->data + start, n);
    for (size_t i = 0; !floats && i < n; i += step)
        compensated_add(&total, node_block(x, start + i, n - i < step ? n - i : step, buffer),
                        n - i < step ? n - i : step);
    if (compensated_total(&sum, bound, &total)) return sum;
    /* The error terms are NaN where something is infinite; the plain sum says what it is. */
    sum = *bound = 0;
    for (size_t i = 0; i < n; i += step) {
        size_t count = n - i < step ? n - i : step;
        const double *block = node_block(x, start + i, count, buffer);
        for (size_t k = 0; k < count; k++) sum += block[k];
    }
    return sum;
}

static double native_sum(const double *x, size_t n, size_t step)
{
    float total = 0;
    for (size_t start = 0; start < n; start += NATIVE_BLOCK) {
        float lane[LANES] = { 0 };
        size_t end = start + NATIVE_BLOCK < n ? start + NATIVE_BLOCK : n;
        for (size_t i = start, k = 0; i < end; i++, k = (k + 1) % LANES)
            lane[k] += (float)x[i * step];
        total += ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
                 ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    return total;
}

static double wide_sum(const double *x, size_t n, size_t step)
{
    double lane[LANES] = { 0 };
    for (size_t i = 0, k = 0; i < n; i++, k = (k + 1) % LANES) lane[k] += x[i * step];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

VECTORIZED static void add_row(double *restrict sum, double *restrict low,
                               double *restrict magnitude, const double *restrict x, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        low[j] += two_sum(&sum[j], x[j]);
        magnitude[j] += fabs(x[j]);
    }
}

/* Round the sums of columns, and add the bound of that to `bound`. `scratch`: their errors, then their magnitudes. */
static void end_columns(double *sum, double *bound, const double *scratch, size_t extent,
                        size_t inner)
{
    const double *low = scratch, *magnitude = scratch + inner;
    double gamma = gamma_of((double)(extent + 2));
    for (size_t j = 0; j < inner; j++) {
        if (isfinite(sum[j])) sum[j] += low[j];
        if (extent > 1 && isfinite(sum[j]))
            bound[j] += UNIT_ROUNDOFF * fabs(sum[j]) + gamma * gamma * magnitude[j] * (1 + 0x1p-20);
    }
}

/* Sums down `inner` columns of rows `stride` apart, a row at a time: memory order. */
VECTORIZED static void certified_columns(double *sum, double *bound, double *scratch,
                                         const double *x, size_t extent, size_t inner,
                                         size_t stride)
{
    double *low = scratch, *magnitude = scratch + inner;
    memset(sum, 0, inner * sizeof *sum);
    memset(bound, 0, inner * sizeof *bound);
    memset(scratch, 0, 2 * inner * sizeof *scratch);
    for (size_t k = 0; k < extent; k++, x += stride)
        for (size_t j = 0; j < inner; j++) {
            low[j] += two_sum(&sum[j], x[j]);
            magnitude[j] += fabs(x[j]);
        }
    end_columns(sum, bound, scratch, extent, inner);
}

static void native_columns(double *sum, double *scratch, const double *x, size_t extent,
                           size_t inner, size_t stride, bool single)
{
    memset(sum, 0, inner * sizeof *sum);
    for (size_t start = 0; start < extent; start += NATIVE_BLOCK) {
        size_t end = start + NATIVE_BLOCK < extent ? start + NATIVE_BLOCK : extent;
        memset(scratch, 0, inner * sizeof *scratch);
        for (size_t k = start; k < end; k++)
            for (size_t j = 0; j < inner; j++) {
                double s = scratch[j] + x[k * stride + j];
                scratch[j] = single ? (float)s : s;
            }
        for (size_t j = 0; j < inner; j++) {
            double s = sum[j] + scratch[j];
            sum[j] = single ? (float)s : s;
        }
    }
}

/* Sums of block `a` as a deviating kernel accumulates them. */
static void deviating_sums(const struct deviation *deviation, double *out, const double *block,
                           const struct lines *l)
{
    for (size_t j = 0; j < l->step; j++) {
        struct accumulator sum = { .deviation = deviation };
        for (size_t k = 0; k < l->extent; k++) accumulator_add(&sum, block[k * l->step + j]);
        out[j] = accumulator_total(&sum);
    }
}

/* ---- some lines ------------------------------------------------------------------------------ */

enum { MOST_COLUMNS = 512 }; /* that are summed side by side */

/* The sums of a node, which are made some lines at a time: one, or columns of one outer index. */
struct sums {
    const struct tape *tape;
    struct node *node;
    const struct node *x;
    const struct lines *l;
    bool certify;
    size_t columns, across; /* at a time, but for the last ones; so often for an outer index */
    double growth;
};

/* Columns column .. column + columns - 1 of outer index a, of which `first` is the first element. */
struct some_sums {
    const struct sums *all;
    size_t first, column, columns;
    double *sum, *bound, *scratch; /* scratch: two times the columns */
};

/* Elements that are nowhere as a whole, an input tensor's or a deferred node's: a block at a time, in the order of
 * memory and with the additions of the loops above. Errors of the terms are added up on their own: `growth` covers
 * what the roundings of that take away. */
enum { SUM_BLOCK = NATIVE_BLOCK };
static_assert((int)MOST_COLUMNS <= (int)SUM_BLOCK, "a row of columns is read as one block");

/* Terms of several lines side by side; the first is of column j of these. */
static void add_columns(const struct some_sums *s, size_t j, const double *x, const double *error,
                        size_t count)
{
    double *low = s->scratch, *magnitude = s->scratch + s->columns;
    while (count) {
        size_t n = s->columns - j < count ? s->columns - j : count;
        if (s->all->certify) add_row(s->sum + j, low + j, magnitude + j, x, n);
        else
            for (size_t i = 0; i < n; i++) s->scratch[j + i] = (float)(s->scratch[j + i] + x[i]);
        for (size_t i = 0; error && i < n; i++) s->bound[j + i] += error[i];
        x += n;
        if (error) error += n;
        count -= n;
        j = 0;
    }
}

/* Elements from `at` on, with their bounds where they count. */
static const double *take_block(const struct some_sums *s, const double **error, size_t at,
                                size_t count, double *buffer, double *bounds)
{
    const struct node *x = s->all->x;
    *error = NULL;
    if (!s->all->certify || node_is_exact(x)) return node_block(x, at, count, buffer);
    return node_bounded_block(error, x, at, count, buffer, bounds);
}

/* Rows start .. end - 1: in one go where the columns are all that there are. */
static void add_rows(const struct some_sums *s, size_t start, size_t end)
{
    double buffer[SUM_BLOCK], bounds[SUM_BLOCK];
    const size_t step = s->all->l->step, columns = s->columns;
    const double *error, *block;
    if (columns == step)
        for (size_t at = start * step; at < end * step; at += SUM_BLOCK) {
            size_t count = end * step - at < SUM_BLOCK ? end * step - at : SUM_BLOCK;
            block = take_block(s, &error, s->first + at, count, buffer, bounds);
            add_columns(s, at % step, block, error, count);
        }
    else
        for (size_t row = start; row < end; row++) {
            block =
                take_block(s, &error, s->first + row * step + s->column, columns, buffer, bounds);
            add_columns(s, 0, block, error, columns);
        }
}

/* What the float lanes of a block of rows have is added to the sums, as native_columns does. */
static void end_rows(const struct some_sums *s)
{
    for (size_t j = 0; j < s->columns; j++) {
        s->sum[j] = (float)(s->sum[j] + s->scratch[j]);
        s->scratch[j] = 0;
    }
}

/* Lines side by side: rows of one element each. */
static void sum_columns(const struct some_sums *s)
{
    const bool certify = s->all->certify;
    size_t extent = s->all->l->extent, rows = certify ? extent : NATIVE_BLOCK;
    memset(s->sum, 0, s->columns * sizeof *s->sum);
    memset(s->scratch, 0, 2 * s->columns * sizeof *s->scratch);
    if (certify) memset(s->bound, 0, s->columns * sizeof *s->bound);
    for (size_t start = 0; start < extent; start += rows) {
        add_rows(s, start, start + rows < extent ? start + rows : extent);
        if (!certify) end_rows(s);
    }
    if (certify) end_columns(s->sum, s->bound, s->scratch, extent, s->columns);
}

/* One line. */
static void sum_line(const struct some_sums *s)
{
    double buffer[SUM_BLOCK], bounds[SUM_BLOCK], carried = 0, plain = 0;
    const bool certify = s->all->certify;
    const size_t extent = s->all->l->extent;
    float native = 0;
    if (certify && node_is_exact(s->all->x)) {
        *s->sum = certified_sum(s->bound, s->all->x, s->first, extent);
        return;
    }
    struct compensated total = { 0 };
    for (size_t at = 0; at < extent; at += SUM_BLOCK) {
        size_t count = extent - at < SUM_BLOCK ? extent - at : SUM_BLOCK;
        const double *error, *block = take_block(s, &error, s->first + at, count, buffer, bounds);
        if (certify) compensated_add(&total, block, count);
        else native += (float)native_sum(block, count, 1);
        for (size_t i = 0; error && i < count; i++) {
            carried += error[i];
            plain += block[i];
        }
    }
    *s->sum = native;
    if (!certify) return;
    if (!compensated_total(s->sum, s->bound, &total)) { /* what is infinite */
        *s->sum = plain;
        *s->bound = 0;
    }
    *s->bound += carried;
}

static void sum_by_blocks(const struct some_sums *s)
{
    if (s->all->l->step > 1) sum_columns(s);
    else sum_line(s);
    for (size_t j = 0; s->all->certify && j < s->columns; j++)
        s->bound[j] = isfinite(s->sum[j]) ? s->bound[j] * s->all->growth : 0;
}

/* Elements that are in an array. */
static void sum_values(const struct some_sums *s)
{
    const struct sums *all = s->all;
    const struct lines *l = all->l;
    const struct node *x = all->x;
    const size_t at = s->first + s->column;
    const double *block = x->value ? x->value + at : NULL;
    bool certify = all->certify, single = tape_is_single(all->tape);
    if (l->step > 1) {
        if (certify)
            certified_columns(s->sum, s->bound, s->scratch, block, l->extent, s->columns, l->step);
        else native_columns(s->sum, s->scratch, block, l->extent, s->columns, l->step, single);
    } else if (certify) {
        *s->sum = certified_sum(s->bound, x, s->first, l->extent);
    } else {
        *s->sum = single ? native_sum(block, l->extent, 1) : wide_sum(block, l->extent, 1);
    }
    if (!certify || node_is_exact(x)) return;
    for (size_t k = 0; k < l->extent; k++)
        for (size_t j = 0; j < s->columns; j++)
            s->bound[j] += node_error(x, at + k * l->step + j) * (1 + 0x1p-40);
    for (size_t j = 0; j < s->columns; j++)
        if (!isfinite(s->sum[j])) s->bound[j] = 0;
}

/* ---- all lines -------------------------------------------------------------------------------- */

/* Elements that are read by blocks. */
static bool goes_by_blocks(const struct sums *s)
{
    return !s->x->value && (s->x->deferral || s->l->step > 1 || !s->certify);
}

static void do_some_sums(void *context, size_t start, size_t count, void *scratch)
{
    const struct sums *all = context;
    const size_t step = all->l->step;
    for (size_t i = start; i < start + count; i++) {
        size_t a = i / all->across, column = i % all->across * all->columns, at = a * step + column;
        double ignored;
        const struct some_sums some = {
            .all = all,
            .first = a * all->l->extent * step,
            .column = column,
            .columns = step - column < all->columns ? step - column : all->columns,
            .sum = all->node->value + at,
            .bound = all->certify ? all->node->error + at : &ignored,
            .scratch = scratch,
        };
        (goes_by_blocks(all) ? sum_by_blocks : sum_values)(&some);
    }
}

static void sum_evaluate(struct tape *tape, struct node *node, const struct node *x,
                         const struct lines *l)
{
    struct sums s = { .tape = tape, .node = node, .x = x, .l = l };
    s.certify = tape_is_reference(tape);
    node->terms = l->extent;
    if (s.certify && !node_need_errors(tape, node)) return;
    if (tape_failed(tape) || !node->n) return;
    s.columns = l->step < MOST_COLUMNS ? l->step : MOST_COLUMNS;
    s.across = (l->step - 1) / s.columns + 1;
    s.growth = (1 + 0x1p-40) * (1 + (double)(l->extent + 2) * 2 * UNIT_ROUNDOFF);
    if (deviation_sums(tape->deviation) && !goes_by_blocks(&s)) {
        for (size_t a = 0; a < l->count / l->step; a++)
            deviating_sums(tape->deviation, node->value + a * l->step,
                           x->value + a * l->extent * l->step, l);
    } else {
        const struct parallel_lines work = { .count = l->count / l->step * s.across,
                                             .length = l->extent * s.columns,
                                             .scratch_bytes = 2 * s.columns * sizeof(double),
                                             .some = do_some_sums,
                                             .context = &s };
        tape_parallel_lines(tape, &work);
    }
    if (!goes_by_blocks(&s)) model_stages(tape, node);
}

static void sum_model(struct tape *tape, struct node *node, struct node *x, uint32_t dims)
{
    model_sums(tape, node, x, dims, false);
    model_stages(tape, node);
}

static void estimating_model(struct tape *tape, struct node *node, struct node *x, uint32_t dims)
{
    model_sums(tape, node, x, dims, true);
}

static uint64_t wrapping_sum(uint64_t a, uint64_t b) { return a + b; }

static const struct reduction summation = { &sum_primitive, sum_evaluate, 0,
                                            wrapping_sum,   true,         sum_model };
static const struct reduction summation_of_sizes = {
    &sum_primitive, sum_evaluate, 0, wrapping_sum, true, estimating_model
};

struct node *node_sum(struct tape *tape, struct node *x, uint32_t dims, bool keepdim)
{
    if (x->imaginary)
        return node_complex(tape, node_sum(tape, node_real_part(tape, x), dims, keepdim),
                            node_sum(tape, node_imaginary_part(tape, x), dims, keepdim));
    return node_reduce(tape, &summation, x, dims, keepdim);
}

struct node *node_sum_sizes(struct tape *tape, struct node *x, uint32_t dims)
{
    return node_reduce(tape, &summation_of_sizes, x, dims, true);
}

struct node *node_mean(struct tape *tape, struct node *x, uint32_t dims, bool keepdim)
{
    double count = 1;
    for (int d = 0; d < x->rank; d++)
        if (dims >> d & 1) count *= (double)x->shape[d];
    struct node *sum = node_sum(tape, node_to_real(tape, x), dims, keepdim);
    return node_divide(tape, sum, node_scalar(tape, count));
}
