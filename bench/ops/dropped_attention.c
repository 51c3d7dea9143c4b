/* Attention whose weights are dropped: the law of its elements, computed coefficient by coefficient. */
#include "bench/ops/dropped_attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/arithmetic/independence.h"
#include "bench/ops/properties.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"

/* ---- laws of elements --------------------------------------------------------------------------------------- */

/* For each element the sum of its coefficients, of their squares and magnitudes, the largest magnitude, and how many are not 0
 * (0: not counted). */
struct law {
    double *mean, *squares, *size, *largest, *terms;
    double p, relative; /* a device's roundings, by the sum of magnitudes */
    size_t n;
    enum dtype dtype;
    const struct rows *rows; /* NULL: none are told apart */
};

/* What the rows of a result, `width` neighbouring elements each, project to along `direction`. What belongs to a row is
 * repeated for each of its elements, so that it can be laid out as those are. */
struct rows {
    double *direction, *squares, *fourths;
    size_t width;
};

static void add_coefficient(struct law *law, size_t i, double c)
{
    double size = fabs(c);
    law->mean[i] += c;
    law->squares[i] += c * c;
    law->size[i] += size;
    law->terms[i] += size > 0;
    if (size > law->largest[i]) law->largest[i] = size;
}

/* log of 2 / 1e-10 */
#define LOG_TWO_OVER_CHANCE 23.72

/* K of Kearns and Saul: choices that are kept with 1 - p are no wilder than normal numbers of K times their variance. */
static double wildness(double p)
{
    double q = 1 - p;
    return fabs(p - 0.5) < 1e-6 ? 1 : (q - p) / (2 * p * q * log(q / p));
}

/* How far from its mean element i may lie. */
static double room_of(const struct law *law, size_t i)
{
    double odds = law->p / (1 - law->p), above = fmax(1, odds);
    double chance = LOG_TWO_OVER_CHANCE + log((double)law->n);
    double term = above * law->largest[i] * chance / 3;
    double variance = 2 * chance * odds * law->squares[i];
    double likely = fmin(term + sqrt(term * term + variance), sqrt(wildness(law->p) * variance));
    return fmin(likely, above * law->size[i]) + law->relative * law->size[i] / (1 - law->p) +
           dtype_ulp(law->dtype, law->mean[i]);
}

static bool elements_hold(const struct law *law, const double *x, char *reason, size_t bytes)
{
    for (size_t i = 0; i < law->n; i++) {
        if (!isfinite(law->mean[i])) continue; /* a row of which all is masked */
        double room = room_of(law, i);
        if (x[i] == 0 && fabs(law->mean[i]) > dtype_info(DT_F16)->largest * 0x1p-30 &&
            -law->terms[i] * log(law->p) > LOG_TWO_OVER_CHANCE + log((double)law->n)) {
            (void)snprintf(reason, bytes,
                           "element %zu is 0, which is not to be expected of %g weights", i,
                           law->terms[i]);
            return false;
        }
        if (fabs(x[i] - law->mean[i]) <= room) continue;
        (void)snprintf(reason, bytes,
                       "element %zu is %.9g; without dropout it is %.9g, and dropout changes it by "
                       "at most %.3g",
                       i, x[i], law->mean[i], room);
        return false;
    }
    return true;
}

/* Standardized projections of the rows that a device can tell. `fourths` is the sum of their fourth moments, `bias` of what
 * common roundings may shift them by. */
struct projections {
    double *w, fourths, bias;
    size_t n;
};

static void project(struct projections *out, const struct law *law, const double *x)
{
    double p = law->p, q = 1 - p, odds = p / q;
    double fourth = p * (p * p * p + q * q * q) / (q * q * q) - 3 * odds * odds;
    for (size_t first = 0; first < law->n; first += law->rows->width) {
        double along = 0, common = 0, deviation = sqrt(odds * law->rows->squares[first]);
        for (size_t i = first; i < first + law->rows->width; i++) {
            along += law->rows->direction[i] * (x[i] - law->mean[i]);
            common += law->rows->direction[i] * law->mean[i];
        }
        double shift = law->relative * fabs(common) / deviation;
        if (!(deviation > 0) || !isfinite(along) || shift > 0.25) continue;
        out->w[out->n++] = along / deviation;
        out->bias += shift;
        out->fourths += 3 + fourth * law->rows->fourths[first] / pow(deviation, 4);
    }
}

static bool rows_hold(const struct law *law, const double *x, double *memory, char *reason,
                      size_t bytes)
{
    struct projections r = { .w = memory };
    double sum = 0, squares = 0;
    project(&r, law, x);
    double n = (double)r.n, wild = wildness(law->p);
    double most = sqrt(2 * wild * (LOG_TWO_OVER_CHANCE + log((double)law->n))) + 0.25;
    if (r.n < 2) return true;
    for (size_t i = 0; i < r.n; i++) {
        sum += r.w[i];
        squares += r.w[i] * r.w[i];
    }
    double limit = independence_limit(n, most, 1) * sqrt(n) + r.bias;
    if (fabs(sum) > limit) {
        (void)snprintf(reason, bytes,
                       "rows are on the average %.3g standard deviations off the mean, where %.3g "
                       "are explained: what is kept is not divided by %g",
                       sum / n, limit / n, 1 - law->p);
        return false;
    }
    double deviation = sqrt(fmax(r.fourths / n - 1, 1e-3)),
           bounded = n + independence_limit(n, most * most / deviation, 1) * deviation * sqrt(n),
           normal = wild * (n + 2 * sqrt(n * LOG_TWO_OVER_CHANCE) + 2 * LOG_TWO_OVER_CHANCE),
           below = sqrt(2 * LOG_TWO_OVER_CHANCE * r.fourths), slack = 3 * r.bias;
    if (squares < n - below - slack || squares > fmin(bounded, normal) + slack) {
        (void)snprintf(reason, bytes, "rows vary by %.3g of the variance of a dropout with p = %g",
                       squares / n, law->p);
        return false;
    }
    return r.bias > 0.02 * n ||
           draws_are_independent(&(struct draws){ r.w, r.n, 1, most }, reason, bytes);
}

static bool law_holds(const struct bench_property *property, const struct tensor *got, char *reason,
                      size_t bytes)
{
    const struct law *law = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    double *x = arena_allocate_array(&arena, 2 * law->n + 1, sizeof *x);
    bool holds = false;
    if (!x || tensor_densify(&dense, &arena, got).code || tensor_elements(&dense) != law->n) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
    } else {
        dtype_to_double(x, dense.data, dense.dtype, law->n);
        holds = elements_hold(law, x, reason, bytes) &&
                (!law->rows || rows_hold(law, x, x + law->n, reason, bytes));
    }
    arena_release(&arena);
    return holds;
}

/* ---- coefficients ---------------------------------------------------------------------------------------------- */

static struct law *law_new(struct tape *tape, const struct dropped_attention *a, size_t n)
{
    struct law *law = tape_allocate(tape, 1, sizeof *law);
    double *room = tape_allocate(tape, 5 * n + 1, sizeof *room);
    if (tape_failed(tape)) return NULL;
    memset(room, 0, 5 * n * sizeof *room);
    *law = (struct law){ room, room + n, room + 2 * n, room + 3 * n, room + 4 * n, a->p,
                         0,    n,        a->dtype,     NULL };
    const double *score = node_values(tape, a->scores);
    double largest = 0;
    for (size_t i = 0; i < a->scores->n; i++)
        if (isfinite(score[i])) largest = fmax(largest, fabs(score[i]));
    double half = a->dtype == DT_F16 || a->dtype == DT_BF16 ? dtype_ulp(a->dtype, 1) / 2 : 0,
           unit = a->dtype == DT_F64 ? 0x1p-53 : 0x1p-24;
    law->relative = ((double)(a->columns + a->rows + a->width) + 16 + 4 * largest) * unit +
                    half * (4 + 2 * largest);
    return law;
}

/* Where the keys that head h of batch b sees begin, in rows of keys. */
static int64_t first_key(const struct dropped_attention *a, int64_t block)
{
    int64_t b = block / a->heads, h = block % a->heads;
    return (b * a->key_heads + h / (a->heads / a->key_heads)) * a->columns;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* The law of the result. */
static struct law *law_of_result(struct tape *tape, const struct dropped_attention *a)
{
    int64_t rows = a->batches * a->heads * a->rows, width = a->value_width;
    struct law *law = law_new(tape, a, (size_t)(rows * width));
    const double *w = node_values(tape, a->weights), *v = node_values(tape, a->v);
    if (tape_failed(tape)) return NULL;
    for (int64_t i = 0; i < rows; i++) {
        const double *value = v + first_key(a, i / a->rows) * width;
        for (int64_t j = 0; j < a->columns; j++)
            for (int64_t c = 0; c < width; c++)
                add_coefficient(law, (size_t)(i * width + c),
                                w[i * a->columns + j] * value[j * width + c]);
    }
    return law;
}

/* What the rows of the result project to along the sum of the means of their head. */
static struct rows *rows_of_result(struct tape *tape, const struct dropped_attention *a,
                                   const struct law *law)
{
    int64_t width = a->value_width, block = a->rows * width;
    struct rows *rows = tape_allocate(tape, 1, sizeof *rows);
    double *room = tape_allocate(tape, 3 * law->n + 1, sizeof *room);
    const double *w = node_values(tape, a->weights), *v = node_values(tape, a->v);
    if (tape_failed(tape)) return NULL;
    memset(room, 0, 3 * law->n * sizeof *room);
    *rows = (struct rows){ room, room + law->n, room + 2 * law->n, (size_t)width };
    for (int64_t at = 0; at < (int64_t)law->n; at += block) {
        const double *value = v + first_key(a, at / block) * width;
        for (int64_t i = 0; i < block; i++)
            if (isfinite(law->mean[at + i])) rows->direction[at + i % width] += law->mean[at + i];
        for (int64_t i = width; i < block; i++)
            rows->direction[at + i] = rows->direction[at + i % width];
        for (int64_t i = 0; i < a->rows; i++) {
            double squares = 0, fourths = 0;
            for (int64_t j = 0; j < a->columns; j++) {
                double d = w[(at / width + i) * a->columns + j] *
                           dot(value + j * width, rows->direction + at, width);
                squares += d * d;
                fourths += d * d * d * d;
            }
            for (int64_t c = at + i * width; c < at + (i + 1) * width; c++) {
                rows->squares[c] = squares;
                rows->fourths[c] = fourths;
            }
        }
    }
    return rows;
}

/* A block of the gradients: what one head of one batch has. */
struct gradient_block {
    int64_t at, keys;                /* rows of queries and keys before it */
    const double *w, *q, *k, *v, *c; /* of the block */
    double *a;                       /* scale w_ij (c_i . v_j) of a row i */
};

static void add_row_of_query(struct law *law, const struct dropped_attention *d,
                             const struct gradient_block *block, int64_t i)
{
    for (int64_t c = 0; c < d->width; c++) {
        double centre = 0;
        for (int64_t j = 0; j < d->columns; j++)
            centre += block->w[i * d->columns + j] * block->k[j * d->width + c];
        for (int64_t j = 0; j < d->columns; j++)
            add_coefficient(law, (size_t)((block->at + i) * d->width + c),
                            block->a[j] * (block->k[j * d->width + c] - centre));
    }
}

/* Row j of the keys takes part with all choices of query i: their sums are put together, their squares added. */
static void add_row_of_key(struct law *law, const struct dropped_attention *d,
                           const struct gradient_block *block, int64_t i)
{
    double squares = 0, sizes = 0, largest = 0, sum = 0;
    for (int64_t j = 0; j < d->columns; j++) {
        sum += block->a[j];
        squares += block->a[j] * block->a[j];
        sizes += fabs(block->a[j]);
        largest = fmax(largest, fabs(block->a[j]));
    }
    for (int64_t j = 0; j < d->columns; j++) {
        double w = block->w[i * d->columns + j], own = block->a[j];
        for (int64_t c = 0; c < d->width; c++) {
            size_t at = (size_t)((block->keys + j) * d->width + c);
            double q = block->q[i * d->width + c];
            law->mean[at] += q * (own - w * sum);
            law->squares[at] += q * q * fmax(own * own * (1 - 2 * w) + w * w * squares, 0);
            law->size[at] += fabs(q) * (fabs(own) + w * sizes);
            law->largest[at] =
                fmax(law->largest[at], fabs(q) * fmax(fabs(own) * fabs(1 - w), w * largest));
        }
    }
}

static void add_row_of_value(struct law *law, const struct dropped_attention *d,
                             const struct gradient_block *block, int64_t i)
{
    for (int64_t j = 0; j < d->columns; j++)
        for (int64_t c = 0; c < d->value_width; c++)
            add_coefficient(law, (size_t)((block->keys + j) * d->value_width + c),
                            block->w[i * d->columns + j] * block->c[i * d->value_width + c]);
}

/* The law of the gradient of query (0), key (1) or value (2) for a cotangent (batches, heads, rows, value_width). */
static struct law *law_of_gradient(struct tape *tape, const struct dropped_attention *d, int which,
                                   struct node *cotangent)
{
    static void (*const add[3])(struct law *, const struct dropped_attention *,
                                const struct gradient_block *,
                                int64_t) = { add_row_of_query, add_row_of_key, add_row_of_value };
    struct node *like = which == 0 ? d->q : which == 1 ? d->k : d->v;
    struct law *law = law_new(tape, d, like->n);
    double *row = tape_allocate(tape, (size_t)d->columns + 1, sizeof *row);
    const double *w = node_values(tape, d->weights), *q = node_values(tape, d->q),
                 *k = node_values(tape, d->k), *v = node_values(tape, d->v),
                 *c = node_values(tape, cotangent);
    if (tape_failed(tape)) return NULL;
    for (int64_t b = 0; b < d->batches * d->heads; b++) {
        int64_t keys = first_key(d, b), at = b * d->rows;
        struct gradient_block block = { at,
                                        keys,
                                        w + at * d->columns,
                                        q + at * d->width,
                                        k + keys * d->width,
                                        v + keys * d->value_width,
                                        c + at * d->value_width,
                                        row };
        for (int64_t i = 0; i < d->rows; i++) {
            for (int64_t j = 0; which < 2 && j < d->columns; j++)
                row[j] =
                    d->scale * block.w[i * d->columns + j] *
                    dot(block.c + i * d->value_width, block.v + j * d->value_width, d->value_width);
            add[which](law, d, &block, i);
        }
    }
    return law;
}

/* ---- results ------------------------------------------------------------------------------------------------------- */

/* Numbers of (batches, heads, rows, width) in the layout of the call. */
static double *arranged(struct tape *tape, const struct dropped_attention *a, double *x,
                        const int64_t *shape)
{
    if (!a->arrange || tape_failed(tape)) return x;
    struct node *node = node_new_real(tape, DT_F64, 4, shape);
    if (tape_failed(tape)) return x;
    memcpy(node->value, x, node->n * sizeof *x);
    node = a->arrange(tape, node, a->layout);
    const double *value = node_values(tape, node);
    if (!tape_failed(tape)) memcpy(x, value, node->n * sizeof *x);
    return x;
}

static const struct bench_property *property_of(struct tape *tape,
                                                const struct dropped_attention *a, struct law *law,
                                                const int64_t *shape)
{
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    if (!law || tape_failed(tape)) return NULL;
    double *const parts[] = { law->mean,
                              law->squares,
                              law->size,
                              law->largest,
                              law->terms,
                              law->rows ? law->rows->direction : NULL,
                              law->rows ? law->rows->squares : NULL,
                              law->rows ? law->rows->fourths : NULL };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (parts[k]) arranged(tape, a, parts[k], shape);
    *property = (struct bench_property){
        "a sum over weights that are kept or dropped, within Bernstein's limits (1e-9)", law_holds,
        law
    };
    return tape_failed(tape) ? NULL : property;
}

static const struct bench_property *gradient_of(struct call *call, struct node *cotangent,
                                                size_t leaf)
{
    struct tape *tape = call->tape;
    const struct dropped_attention *a = call->results.gradient_context;
    int which = 0;
    while (which < 3 && a->leaves[which] != call->arguments.leaves[leaf].node) which++;
    if (which == 3) return NULL;
    if (a->arrange) { /* the layout of a cotangent is undone by the map that makes it */
        int64_t shape[4] = { a->batches, a->heads, a->rows, a->value_width };
        struct node *places = node_new_real(tape, DT_F64, 4, shape);
        for (size_t i = 0; !tape_failed(tape) && i < places->n; i++) places->value[i] = (double)i;
        struct node *from = tape_failed(tape) ? places : a->arrange(tape, places, a->layout);
        struct node *back = node_new_real(tape, DT_F64, 4, shape);
        const double *value = node_values(tape, cotangent), *place = node_values(tape, from);
        if (tape_failed(tape) || cotangent->n != back->n) return NULL;
        for (size_t i = 0; i < back->n; i++) back->value[(size_t)place[i]] = value[i];
        cotangent = back;
    }
    const int64_t shape[4] = { a->batches, which ? a->key_heads : a->heads,
                               which ? a->columns : a->rows,
                               which == 2 ? a->value_width : a->width };
    return property_of(tape, a, law_of_gradient(tape, a, which, cotangent), shape);
}

struct node *dropped_weights(struct call *call, struct node *weights, double p)
{
    struct tape *tape = call->tape;
    struct node *mask = node_new_integer(tape, DT_BOOL, weights->rank, weights->shape);
    for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++)
        mask->integer[i] = random_uniform(call, i) >= p;
    return node_select(tape, mask, node_scale(tape, weights, 1 / (1 - p)), node_scalar(tape, 0));
}

void call_return_dropped_attention(struct call *call, const struct dropped_attention *attention,
                                   struct node *native, int rank, const int64_t *shape)
{
    struct tape *tape = call->tape;
    const struct dropped_attention *a = attention;
    struct dropped_attention *kept = tape_allocate(tape, 1, sizeof *kept);
    const int64_t inner[4] = { a->batches, a->heads, a->rows, a->value_width };
    size_t scores = (size_t)(a->batches * a->heads * a->rows * a->columns);
    if (!call_require(
            call,
            a->p > 0 && a->p < 1 && a->key_heads >= 1 && a->heads % a->key_heads == 0 &&
                a->weights->n == scores && a->scores->n == scores,
            "dropout of attention is followed for a probability between 0 and 1 and heads "
            "that belong to each other"))
        return;
    const struct bench_property *property = NULL;
    if (tape_is_reference(tape)) {
        struct law *law = law_of_result(tape, a);
        if (law) law->rows = rows_of_result(tape, a, law);
        property = property_of(tape, a, law, inner);
    }
    if (tape_failed(tape)) return;
    *kept = *a;
    call_return_random(call, native, a->dtype, rank, shape, property);
    call->results.gradient_property = gradient_of;
    call->results.gradient_context = kept;
}
