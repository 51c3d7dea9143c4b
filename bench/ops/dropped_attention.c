/* Attention whose weights are dropped: the law of its elements, whose sums over coefficients are products of matrices. */
#include "bench/ops/dropped_attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/arithmetic/independence.h"
#include "bench/ops/properties.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- laws of elements --------------------------------------------------------------------------------------- */

/* For each element the sum of its coefficients, of their squares and magnitudes, the largest magnitude, and how many are not 0
 * (NULL: not counted). */
struct law {
    const double *mean, *squares, *size, *largest, *terms; /* largest: no less than that */
    double p, relative; /* a device's roundings, by the sum of magnitudes */
    size_t n;
    enum dtype dtype;
    const struct rows *rows; /* NULL: none are told apart */
};

/* What the rows of a result, `width` neighbouring elements each, project to along `direction`. What belongs to a row is
 * repeated for each of its elements, so that it can be laid out as those are. */
struct rows {
    const double *direction, *squares, *fourths;
    size_t width;
};

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
    double squares = fmax(law->squares[i], 0) + 1e-12 * law->size[i] * law->size[i];
    double variance = 2 * chance * odds * squares;
    double likely = fmin(term + sqrt(term * term + variance), sqrt(wildness(law->p) * variance));
    return fmin(likely, above * law->size[i]) + law->relative * law->size[i] / (1 - law->p) +
           dtype_ulp(law->dtype, law->mean[i]);
}

static bool elements_hold(const struct law *law, const double *x, char *reason, size_t bytes)
{
    for (size_t i = 0; i < law->n; i++) {
        if (!isfinite(law->mean[i])) continue; /* a row of which all is masked */
        double room = room_of(law, i);
        if (law->terms && x[i] == 0 && fabs(law->mean[i]) > dtype_info(DT_F16)->largest * 0x1p-30 &&
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

/* ---- sums over coefficients --------------------------------------------------------------------------------------- */

/* Sums of a law as nodes (batches, heads, rows, width); `terms` may be NULL. */
struct sums {
    struct node *mean, *squares, *size, *largest, *terms;
};

static struct node *squared(struct tape *tape, struct node *x) { return node_multiply(tape, x, x); }

static struct node *magnitude(struct tape *tape, struct node *x)
{
    return node_apply(tape, "abs", x);
}

static struct node *turned(struct tape *tape, struct node *x)
{
    return node_transpose(tape, x, 2, 3);
}

enum { OVER_HEADS = 4, OVER_ROWS = 4, OVER_COLUMNS = 8 }; /* dimensions as masks */

/* As four dimensions, heads of keys as often as queries have them. References of single precision do: these are widths. */
static struct node *four(struct tape *tape, const struct dropped_attention *a, struct node *x,
                         int64_t heads, int64_t rows, int64_t width)
{
    int64_t shape[4] = { a->batches, a->heads, rows, width },
            grouped[5] = { a->batches, heads, 1, rows, width };
    x = node_with_dtype(tape, node_to_real(tape, x), DT_F32);
    if (heads == a->heads) return node_reshape(tape, x, 4, shape);
    x = node_reshape(tape, x, 5, grouped);
    grouped[2] = a->heads / heads;
    return node_reshape(tape, node_broadcast(tape, x, 5, grouped), 4, shape);
}

/* Sums for the heads of keys, of those for the heads of queries. */
static struct node *by_key_heads(struct tape *tape, const struct dropped_attention *a,
                                 struct node *x, bool largest)
{
    int64_t grouped[5] = { a->batches, a->key_heads, a->heads / a->key_heads, x->shape[2],
                           x->shape[3] };
    if (a->heads == a->key_heads || tape_failed(tape)) return x;
    x = node_reshape(tape, x, 5, grouped);
    return largest ? node_extremum(tape, x, OVER_HEADS, false, 1)
                   : node_sum(tape, x, OVER_HEADS, false);
}

/* How many weights of each row are not 0, (batches, heads, rows, 1). */
static struct node *count_weights(struct tape *tape, const struct dropped_attention *a)
{
    struct node *y =
        node_new_real(tape, DT_F32, 4, (int64_t[]){ a->batches, a->heads, a->rows, 1 });
    const double *w = node_values(tape, a->weights);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++) {
        y->value[i] = 0;
        for (int64_t j = 0; j < a->columns; j++) y->value[i] += w[(int64_t)i * a->columns + j] > 0;
    }
    return y;
}

/* c_e = w_ij v_jc */
static struct sums sums_of_result(struct tape *tape, const struct dropped_attention *a)
{
    struct node *w = four(tape, a, a->weights, a->heads, a->rows, a->columns),
                *v = four(tape, a, a->v, a->key_heads, a->columns, a->value_width),
                *size = magnitude(tape, v);
    struct sums sums = {
        .mean = compose_matmul(tape, w, v),
        .squares = compose_matmul(tape, squared(tape, w), squared(tape, v)),
        .size = compose_matmul(tape, w, size),
        .largest = node_multiply(tape, node_extremum(tape, w, OVER_COLUMNS, true, 1),
                                 node_extremum(tape, size, OVER_ROWS, true, 1)),
    };
    if (a->shift) sums.mean = node_add(tape, sums.mean, node_to_real(tape, a->shift));
    if (!tape_failed(tape))
        sums.terms = node_broadcast(tape, count_weights(tape, a), 4, sums.mean->shape);
    return sums;
}

/* c_e = a_ij (k_jc - sum_l w_il k_lc) */
static struct sums sums_of_query(struct tape *tape, struct node *w, struct node *a, struct node *k)
{
    struct node *centre = compose_matmul(tape, w, k), *a2 = squared(tape, a),
                *all = node_sum(tape, a, OVER_COLUMNS, true),
                *all2 = node_sum(tape, a2, OVER_COLUMNS, true), *sizes = magnitude(tape, a),
                *far = magnitude(tape, centre), *k_size = magnitude(tape, k);
    struct node *cross =
        node_multiply(tape, node_scale(tape, centre, 2), compose_matmul(tape, a2, k));
    return (struct sums){
        .mean = node_subtract(tape, compose_matmul(tape, a, k), node_multiply(tape, centre, all)),
        .squares = node_add(tape,
                            node_subtract(tape, compose_matmul(tape, a2, squared(tape, k)), cross),
                            node_multiply(tape, squared(tape, centre), all2)),
        .size = node_add(tape, compose_matmul(tape, sizes, k_size),
                         node_multiply(tape, far, node_sum(tape, sizes, OVER_COLUMNS, true))),
        .largest =
            node_multiply(tape, node_extremum(tape, sizes, OVER_COLUMNS, true, 1),
                          node_add(tape, node_extremum(tape, k_size, OVER_ROWS, true, 1), far)),
    };
}

/* Row j of the keys takes part with all choices m_il of query i: c_e = a_il (d_jl - w_ij) q_ic. */
static struct sums sums_of_key(struct tape *tape, struct node *w, struct node *a, struct node *q)
{
    struct node *a2 = squared(tape, a), *sizes = magnitude(tape, a),
                *all = node_sum(tape, a, OVER_COLUMNS, true),
                *all2 = node_sum(tape, a2, OVER_COLUMNS, true),
                *all_sizes = node_sum(tape, sizes, OVER_COLUMNS, true),
                *most = node_extremum(tape, sizes, OVER_COLUMNS, true, 1),
                *q_size = magnitude(tape, q);
    struct node *own = node_multiply(tape, a2, node_offset(tape, node_scale(tape, w, -2), 1));
    struct node *one = node_add(tape, sizes, node_multiply(tape, w, most));
    return (struct sums){
        .mean = compose_matmul(
            tape, turned(tape, node_subtract(tape, a, node_multiply(tape, w, all))), q),
        .squares = compose_matmul(
            tape, turned(tape, node_add(tape, own, node_multiply(tape, squared(tape, w), all2))),
            squared(tape, q)),
        .size = compose_matmul(
            tape, turned(tape, node_add(tape, sizes, node_multiply(tape, w, all_sizes))), q_size),
        .largest = node_multiply(tape, turned(tape, node_extremum(tape, one, OVER_ROWS, true, 1)),
                                 node_extremum(tape, q_size, OVER_ROWS, true, 1)),
    };
}

/* c_e = w_ij c_ic */
static struct sums sums_of_value(struct tape *tape, struct node *w, struct node *c)
{
    struct node *by = turned(tape, w), *size = magnitude(tape, c);
    return (struct sums){
        .mean = compose_matmul(tape, by, c),
        .squares = compose_matmul(tape, squared(tape, by), squared(tape, c)),
        .size = compose_matmul(tape, by, size),
        .largest = node_multiply(tape, turned(tape, node_extremum(tape, w, OVER_ROWS, true, 1)),
                                 node_extremum(tape, size, OVER_ROWS, true, 1)),
    };
}

/* For the gradient of query (0), key (1) or value (2) with a cotangent (batches, heads, rows, value_width). */
static struct sums sums_of_gradient(struct tape *tape, const struct dropped_attention *d, int which,
                                    struct node *cotangent)
{
    struct node *w = four(tape, d, d->weights, d->heads, d->rows, d->columns),
                *q = four(tape, d, d->q, d->heads, d->rows, d->width),
                *k = four(tape, d, d->k, d->key_heads, d->columns, d->width),
                *v = four(tape, d, d->v, d->key_heads, d->columns, d->value_width),
                *c = four(tape, d, cotangent, d->heads, d->rows, d->value_width);
    if (which == 2) return sums_of_value(tape, w, c);
    struct node *a = node_scale(
        tape, node_multiply(tape, w, compose_matmul(tape, c, turned(tape, v))), d->scale);
    return which == 0 ? sums_of_query(tape, w, a, k) : sums_of_key(tape, w, a, q);
}

/* ---- what rows project to ----------------------------------------------------------------------------------------- */

/* Where the keys that head h of batch b sees begin, in rows of keys. */
static int64_t first_key(const struct dropped_attention *a, int64_t block)
{
    int64_t b = block / a->heads, h = block % a->heads;
    return (b * a->key_heads + h / (a->heads / a->key_heads)) * a->columns;
}

/* Along the sum of the means of the head of block b: for each row the direction, and of v_j along it times w_ij the sums of
 * squares and fourth powers, all (rows, value_width). `along` has room for the columns. */
static void project_head(const struct dropped_attention *a, int64_t b, const double *mean,
                         double *direction, double *squares, double *fourths, double *along)
{
    int64_t width = a->value_width, at = b * a->rows * width;
    const double *w = a->weights->value + b * a->rows * a->columns,
                 *v = a->v->value + first_key(a, b) * width;
    double *first = direction + at;
    for (int64_t c = 0; c < width; c++) first[c] = 0;
    for (int64_t i = 0; i < a->rows * width; i++)
        if (isfinite(mean[at + i])) first[i % width] += mean[at + i];
    for (int64_t j = 0; j < a->columns; j++) {
        along[j] = 0;
        for (int64_t c = 0; c < width; c++) along[j] += v[j * width + c] * first[c];
    }
    for (int64_t i = 0; i < a->rows; i++) {
        double two = 0, four = 0;
        for (int64_t j = 0; j < a->columns; j++) {
            double d = w[i * a->columns + j] * along[j];
            two += d * d;
            four += d * d * d * d;
        }
        for (int64_t c = 0; c < width; c++) {
            int64_t e = at + i * width + c;
            direction[e] = first[c];
            squares[e] = two;
            fourths[e] = four;
        }
    }
}

/* ---- results ------------------------------------------------------------------------------------------------------- */

/* The values of a node of sums in the layout of the call; NULL for none. */
static const double *laid_out(struct tape *tape, const struct dropped_attention *a, struct node *x)
{
    if (!x || tape_failed(tape)) return NULL;
    if (a->arrange) x = a->arrange(tape, x, a->layout);
    return node_values(tape, x);
}

static struct law *law_of(struct tape *tape, const struct dropped_attention *a,
                          const struct sums *sums)
{
    struct law *law = tape_allocate(tape, 1, sizeof *law);
    const double *score = node_values(tape, a->scores);
    double largest = 0;
    if (tape_failed(tape)) return NULL;
    for (size_t i = 0; i < a->scores->n; i++)
        if (isfinite(score[i])) largest = fmax(largest, fabs(score[i]));
    double half = a->dtype == DT_F16 || a->dtype == DT_BF16 ? dtype_ulp(a->dtype, 1) / 2 : 0,
           unit = a->dtype == DT_F64 ? 0x1p-53 : 0x1p-24;
    *law = (struct law){
        .mean = laid_out(tape, a, sums->mean),
        .squares = laid_out(tape, a, sums->squares),
        .size = laid_out(tape, a, sums->size),
        .largest = laid_out(tape, a, sums->largest),
        .terms = laid_out(tape, a, sums->terms),
        .p = a->p,
        .relative = ((double)(a->columns + a->rows + a->width) + 16 + 4 * largest) * unit +
                    half * (4 + 2 * largest),
        .n = sums->mean->n,
        .dtype = a->dtype,
    };
    return tape_failed(tape) ? NULL : law;
}

static struct rows *rows_of(struct tape *tape, const struct dropped_attention *a,
                            const struct sums *sums)
{
    struct rows *rows = tape_allocate(tape, 1, sizeof *rows);
    double *along = tape_allocate(tape, (size_t)a->columns + 1, sizeof *along);
    struct node *parts[3];
    for (int k = 0; k < 3; k++) parts[k] = node_new_real(tape, DT_F32, 4, sums->mean->shape);
    const double *mean = node_values(tape, sums->mean);
    (void)node_values(tape, a->weights);
    (void)node_values(tape, a->v);
    if (tape_failed(tape)) return NULL;
    for (int64_t b = 0; b < a->batches * a->heads; b++)
        project_head(a, b, mean, parts[0]->value, parts[1]->value, parts[2]->value, along);
    *rows = (struct rows){ laid_out(tape, a, parts[0]), laid_out(tape, a, parts[1]),
                           laid_out(tape, a, parts[2]), (size_t)a->value_width };
    return tape_failed(tape) ? NULL : rows;
}

static const struct bench_property *property_of(struct tape *tape, const struct law *law)
{
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    if (!law || tape_failed(tape)) return NULL;
    *property = (struct bench_property){
        "a sum over weights that are kept or dropped, within Bernstein's limits (1e-9)", law_holds,
        law
    };
    return property;
}

/* A cotangent in the layout of the call as (batches, heads, rows, value_width); NULL when it does not fit. */
static struct node *laid_back(struct tape *tape, const struct dropped_attention *a,
                              struct node *cotangent)
{
    int64_t shape[4] = { a->batches, a->heads, a->rows, a->value_width };
    if (!a->arrange) return cotangent;
    struct node *places = node_new_real(tape, DT_F64, 4, shape),
                *back = node_new_real(tape, DT_F32, 4, shape);
    for (size_t i = 0; !tape_failed(tape) && i < places->n; i++) places->value[i] = (double)i;
    const double *value = node_values(tape, cotangent), *place = laid_out(tape, a, places);
    if (tape_failed(tape) || cotangent->n != back->n) return NULL;
    for (size_t i = 0; i < back->n; i++) back->value[(size_t)place[i]] = value[i];
    return back;
}

static const struct bench_property *gradient_of(struct call *call, struct node *cotangent,
                                                size_t leaf)
{
    struct tape *tape = call->tape;
    const struct dropped_attention *a = call->results.gradient_context;
    int which = 0;
    if (!call_require(call, a->leaves[0] || a->leaves[1] || a->leaves[2],
                      "gradients through the dropout of a whole multi-head attention are not "
                      "followed here: record the step with dropout 0"))
        return NULL;
    while (which < 3 && a->leaves[which] != call->arguments.leaves[leaf].node) which++;
    cotangent = which < 3 ? laid_back(tape, a, cotangent) : NULL;
    if (!cotangent || tape_failed(tape)) return NULL;
    struct sums sums = sums_of_gradient(tape, a, which, cotangent);
    struct node **parts[4] = { &sums.mean, &sums.squares, &sums.size, &sums.largest };
    for (int k = 0; which > 0 && k < 4; k++) *parts[k] = by_key_heads(tape, a, *parts[k], k == 3);
    return tape_failed(tape) ? NULL : property_of(tape, law_of(tape, a, &sums));
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
    size_t scores = (size_t)(a->batches * a->heads * a->rows * a->columns);
    if (!call_require(
            call,
            a->p > 0 && a->p < 1 && a->key_heads >= 1 && a->heads % a->key_heads == 0 &&
                a->weights->n == scores && a->scores->n == scores,
            "dropout of attention is followed for a probability between 0 and 1 and heads "
            "that belong to each other"))
        return;
    const struct bench_property *property = NULL;
    if (tape_is_reference(tape) && !tape_failed(tape)) {
        struct sums sums = sums_of_result(tape, a);
        struct law *law = tape_failed(tape) ? NULL : law_of(tape, a, &sums);
        if (law) law->rows = rows_of(tape, a, &sums);
        property = property_of(tape, law);
    }
    if (tape_failed(tape)) return;
    *kept = *a;
    call_return_random(call, native, a->dtype, rank, shape, property);
    call->results.gradient_property = gradient_of;
    call->results.gradient_context = kept;
}

void call_return_dropped_weights(struct call *call, const struct dropped_attention *attention,
                                 bool averaged, struct node *native, int rank, const int64_t *shape)
{
    struct tape *tape = call->tape;
    const struct bench_property *property = NULL;
    if (tape_is_reference(tape) && !tape_failed(tape)) {
        const struct dropped_attention *a = attention;
        struct dropped_attention plain = *a;
        struct node *w = four(tape, a, a->weights, a->heads, a->rows, a->columns), *most = w;
        double share = averaged ? 1 / (double)a->heads : 1;
        w = node_scale(tape, w, share);
        struct sums sums = { .mean = w, .squares = squared(tape, w), .size = w };
        if (averaged) {
            sums.mean = sums.size = node_sum(tape, w, 2, true);
            sums.squares = node_sum(tape, sums.squares, 2, true);
            most = node_extremum(tape, most, 2, true, 1);
        }
        sums.largest = node_scale(tape, most, share);
        plain.arrange = NULL;
        property = tape_failed(tape) ? NULL : property_of(tape, law_of(tape, &plain, &sums));
    }
    if (!tape_failed(tape))
        call_return_random(call, native, attention->dtype, rank, shape, property);
}
