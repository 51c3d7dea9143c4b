/* The sums over coefficients that the law of attention needs are products of matrices, block by block. */
#include "bench/ops/dropped_attention.h"

#include <math.h>
#include <string.h>

#include "bench/ops/dropped_law.h"
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

/* ---- sums over coefficients --------------------------------------------------------------------------------------- */

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
static struct node *four(struct tape *tape, const struct dropped_attention *a,
                         const struct dropped_block *b, struct node *x, int64_t heads, int64_t rows,
                         int64_t width)
{
    int64_t shape[4] = { b->batches, a->heads, rows, width },
            grouped[5] = { b->batches, heads, 1, rows, width };
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
    if (a->heads == a->key_heads || tape_failed(tape)) return x;
    int64_t grouped[5] = { x->shape[0], a->key_heads, a->heads / a->key_heads, x->shape[2],
                           x->shape[3] };
    x = node_reshape(tape, x, 5, grouped);
    return largest ? node_extremum(tape, x, OVER_HEADS, false, 1)
                   : node_sum(tape, x, OVER_HEADS, false);
}

/* How many weights of each row are not 0, (batches, heads, rows, 1). */
static struct node *count_weights(struct tape *tape, const struct dropped_attention *a,
                                  const struct dropped_block *b)
{
    struct node *y =
        node_new_real(tape, DT_F32, 4, (int64_t[]){ b->batches, a->heads, b->rows, 1 });
    const double *w = node_values(tape, b->weights);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++) {
        y->value[i] = 0;
        for (int64_t j = 0; j < b->columns; j++) y->value[i] += w[(int64_t)i * b->columns + j] > 0;
    }
    return y;
}

struct dropped_sums dropped_product(struct tape *tape, struct node *coefficients, struct node *x)
{
    struct node *own = magnitude(tape, coefficients), *size = magnitude(tape, x);
    return (struct dropped_sums){
        .mean = compose_matmul(tape, coefficients, x),
        .squares = compose_matmul(tape, squared(tape, coefficients), squared(tape, x)),
        .size = compose_matmul(tape, own, size),
        .largest = node_multiply(tape, node_extremum(tape, own, OVER_COLUMNS, true, 1),
                                 node_extremum(tape, size, OVER_ROWS, true, 1)),
    };
}

/* c_e = w_ij v_jc */
static struct dropped_sums sums_of_result(struct tape *tape, const struct dropped_attention *a,
                                          const struct dropped_block *b)
{
    struct node *w = four(tape, a, b, b->weights, a->heads, b->rows, b->columns),
                *v = four(tape, a, b, b->v, a->key_heads, b->columns, a->value_width);
    struct dropped_sums sums = dropped_product(tape, w, v);
    if (a->shift) sums.mean = node_add(tape, sums.mean, node_to_real(tape, a->shift));
    if (!tape_failed(tape))
        sums.terms = node_broadcast(tape, count_weights(tape, a, b), 4, sums.mean->shape);
    return sums;
}

/* c_e = a_ij (k_jc - sum_l w_il k_lc) */
struct dropped_sums dropped_query_sums(struct tape *tape, struct node *w, struct node *a,
                                       struct node *k)
{
    struct node *centre = compose_matmul(tape, w, k), *a2 = squared(tape, a),
                *all = node_sum(tape, a, OVER_COLUMNS, true),
                *all2 = node_sum(tape, a2, OVER_COLUMNS, true), *sizes = magnitude(tape, a),
                *far = magnitude(tape, centre), *k_size = magnitude(tape, k);
    struct node *cross =
        node_multiply(tape, node_scale(tape, centre, 2), compose_matmul(tape, a2, k));
    return (struct dropped_sums){
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
struct dropped_sums dropped_key_sums(struct tape *tape, struct node *w, struct node *a,
                                     struct node *q)
{
    struct node *a2 = squared(tape, a), *sizes = magnitude(tape, a),
                *all = node_sum(tape, a, OVER_COLUMNS, true),
                *all2 = node_sum(tape, a2, OVER_COLUMNS, true),
                *all_sizes = node_sum(tape, sizes, OVER_COLUMNS, true),
                *most = node_extremum(tape, sizes, OVER_COLUMNS, true, 1),
                *q_size = magnitude(tape, q);
    struct node *own = node_multiply(tape, a2, node_offset(tape, node_scale(tape, w, -2), 1));
    struct node *one = node_add(tape, sizes, node_multiply(tape, w, most));
    return (struct dropped_sums){
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

/* For the gradient of query (0), key (1) or value (2) with a cotangent (batches, heads, rows, value_width). */
static struct dropped_sums sums_of_gradient(struct tape *tape, const struct dropped_attention *d,
                                            const struct dropped_block *b, int which,
                                            struct node *cotangent)
{
    struct node *w = four(tape, d, b, b->weights, d->heads, b->rows, b->columns),
                *q = four(tape, d, b, b->q, d->heads, b->rows, d->width),
                *k = four(tape, d, b, b->k, d->key_heads, b->columns, d->width),
                *v = four(tape, d, b, b->v, d->key_heads, b->columns, d->value_width),
                *c = four(tape, d, b, cotangent, d->heads, b->rows, d->value_width);
    if (which == 2) return dropped_product(tape, turned(tape, w), c); /* c_e = w_ij c_ic */
    struct node *a = node_scale(
        tape, node_multiply(tape, w, compose_matmul(tape, c, turned(tape, v))), d->scale);
    return which == 0 ? dropped_query_sums(tape, w, a, k) : dropped_key_sums(tape, w, a, q);
}

/* ---- blocks one behind the other ------------------------------------------------------------------------------------ */

enum { SUMS = 5 };

static void list_sums(struct node **out[SUMS], struct dropped_sums *sums)
{
    struct node **const list[SUMS] = { &sums->mean, &sums->squares, &sums->size, &sums->largest,
                                       &sums->terms };
    memcpy(out, list, sizeof list);
}

static struct dropped_sums zero_sums(struct tape *tape, int64_t batches, int64_t heads,
                                     int64_t rows, int64_t width)
{
    struct node *zero =
        node_constant(tape, DT_F32, 0, 4, (int64_t[]){ batches, heads, rows, width });
    return (struct dropped_sums){ zero, zero, zero, zero, zero };
}

/* The sums of all blocks and of what lies behind them: of the result (which < 0) or a gradient. */
static struct dropped_sums sums_of_all(struct tape *tape, const struct dropped_attention *a,
                                       int which, struct node *cotangent)
{
    bool keys = which > 0;
    int64_t heads = keys ? a->key_heads : a->heads, start = 0,
            width = which < 0 || which == 2 ? a->value_width : a->width,
            rest = keys ? a->rest_columns : a->rest_rows;
    int total = a->count + (rest > 0);
    struct dropped_sums *parts = tape_allocate(tape, (size_t)total, sizeof *parts), all = { 0 };
    struct node **joined = tape_allocate(tape, (size_t)total, sizeof *joined);
    for (int i = 0; i < a->count && !tape_failed(tape); i++) {
        const struct dropped_block *b = &a->blocks[i];
        struct node *own = cotangent;
        if (own && total > 1) own = node_slice(tape, cotangent, 2, start, b->rows, 1);
        start += b->rows;
        if (!b->rows || !b->columns) {
            parts[i] = zero_sums(tape, b->batches, heads, keys ? b->columns : b->rows, width);
            continue;
        }
        parts[i] = which < 0 ? sums_of_result(tape, a, b)
                             : sums_of_gradient(tape, a, b, which, own);
        struct node **list[SUMS];
        list_sums(list, &parts[i]);
        for (int k = 0; keys && k < 4; k++) *list[k] = by_key_heads(tape, a, *list[k], k == 3);
    }
    if (tape_failed(tape)) return all;
    if (rest) parts[a->count] = zero_sums(tape, a->blocks[0].batches, heads, rest, width);
    if (total == 1) return parts[0];
    struct node **list[SUMS], **of_part[SUMS];
    list_sums(list, &all);
    for (int k = 0; k < (which < 0 ? SUMS : SUMS - 1); k++) {
        for (int i = 0; i < total; i++) {
            list_sums(of_part, &parts[i]);
            joined[i] = *of_part[k];
        }
        *list[k] = node_concatenate(tape, joined, total, 2);
    }
    return all;
}

/* ---- what rows project to ----------------------------------------------------------------------------------------- */

/* What rows project to as nodes (batches, heads, rows, value_width), as dropped_law.h needs it. */
struct projected {
    struct node *direction, *squares, *fourths;
};

/* Where the keys that head h of a batch sees begin, in rows of keys. */
static int64_t first_key(const struct dropped_attention *a, const struct dropped_block *b,
                         int64_t head)
{
    int64_t batch = head / a->heads, h = head % a->heads;
    return (batch * a->key_heads + h / (a->heads / a->key_heads)) * b->columns;
}

/* Along the sum of the means of a head, counted through the batches: for each row the direction, and of v_j along it times
 * w_ij the sums of squares and fourth powers. `along` has room for the columns. */
static void project_head(const struct projected *out, const struct dropped_attention *a,
                         const struct dropped_block *b, int64_t head, const double *mean,
                         double *along)
{
    int64_t width = a->value_width, at = head * b->rows * width;
    const double *w = b->weights->value + head * b->rows * b->columns,
                 *v = b->v->value + first_key(a, b, head) * width;
    double *first = out->direction->value + at;
    for (int64_t c = 0; c < width; c++) first[c] = 0;
    for (int64_t i = 0; i < b->rows * width; i++)
        if (isfinite(mean[at + i])) first[i % width] += mean[at + i];
    for (int64_t j = 0; j < b->columns; j++) {
        along[j] = 0;
        for (int64_t c = 0; c < width; c++) along[j] += v[j * width + c] * first[c];
    }
    for (int64_t i = 0; i < b->rows; i++) {
        double second = 0, fourth = 0;
        for (int64_t j = 0; j < b->columns; j++) {
            double d = w[i * b->columns + j] * along[j];
            second += d * d;
            fourth += d * d * d * d;
        }
        for (int64_t c = 0; c < width; c++) {
            int64_t e = at + i * width + c;
            out->direction->value[e] = first[c];
            out->squares->value[e] = second;
            out->fourths->value[e] = fourth;
        }
    }
}

/* `mean` of the block alone. */
static struct projected project_block(struct tape *tape, const struct dropped_attention *a,
                                      const struct dropped_block *b, struct node *mean)
{
    struct projected y;
    struct node **const parts[3] = { &y.direction, &y.squares, &y.fourths };
    double *along = tape_allocate(tape, (size_t)b->columns + 1, sizeof *along);
    for (int k = 0; k < 3; k++) *parts[k] = node_new_real(tape, DT_F32, 4, mean->shape);
    const double *value = node_values(tape, mean);
    (void)node_values(tape, b->weights);
    (void)node_values(tape, b->v);
    for (int64_t h = 0; !tape_failed(tape) && h < b->batches * a->heads; h++)
        project_head(&y, a, b, h, value, along);
    return y;
}

/* ---- results ------------------------------------------------------------------------------------------------------- */

/* The values of a node of sums in the layout of the call; NULL for none. */
static const double *laid_out(struct tape *tape, const struct dropped_attention *a, struct node *x)
{
    if (!x || tape_failed(tape)) return NULL;
    if (a->arrange) x = a->arrange(tape, x, a->layout);
    return node_values(tape, x);
}

static struct dropped_rows *rows_of(struct tape *tape, const struct dropped_attention *a,
                                    struct node *mean)
{
    int total = a->count + (a->rest_rows > 0);
    struct dropped_rows *rows = tape_allocate(tape, 1, sizeof *rows);
    struct node **parts = tape_allocate(tape, 3 * (size_t)total, sizeof *parts), *all[3];
    int64_t start = 0;
    for (int i = 0; i < a->count && !tape_failed(tape); i++) {
        const struct dropped_block *b = &a->blocks[i];
        struct node *own = total > 1 ? node_slice(tape, mean, 2, start, b->rows, 1) : mean;
        start += b->rows;
        struct projected y = { own, own, own };
        if (b->rows && b->columns) y = project_block(tape, a, b, own);
        parts[i] = y.direction;
        parts[total + i] = y.squares;
        parts[2 * total + i] = y.fourths;
    }
    for (int k = 0; k < 3 && !tape_failed(tape); k++) {
        if (a->rest_rows)
            parts[(k + 1) * total - 1] = node_slice(tape, mean, 2, start, a->rest_rows, 1);
        all[k] = total == 1 ? parts[k] : node_concatenate(tape, parts + k * total, total, 2);
    }
    if (tape_failed(tape)) return NULL;
    *rows = (struct dropped_rows){ laid_out(tape, a, all[0]), laid_out(tape, a, all[1]),
                                   laid_out(tape, a, all[2]), (size_t)a->value_width };
    return tape_failed(tape) ? NULL : rows;
}

/* What a device's own roundings may amount to, by the sum of magnitudes: a score that is off by an error has a weight that is
 * off by as much. */
static double roundings(struct tape *tape, const struct dropped_attention *a)
{
    double largest = 0, extents = 0;
    for (int i = 0; i < a->count; i++) {
        const struct dropped_block *b = &a->blocks[i];
        const double *score = b->scores ? node_values(tape, b->scores) : NULL;
        extents = fmax(extents, (double)(b->columns + b->rows));
        for (size_t k = 0; score && !tape_failed(tape) && k < b->scores->n; k++)
            if (isfinite(score[k])) largest = fmax(largest, fabs(score[k]));
    }
    double half = a->dtype == DT_F16 || a->dtype == DT_BF16 ? dtype_ulp(a->dtype, 1) / 2 : 0,
           unit = a->dtype == DT_F64 ? 0x1p-53 : 0x1p-24;
    return (extents + (double)a->width + 16 + 4 * largest) * unit + half * (4 + 2 * largest);
}

static const struct bench_property *property_of(struct tape *tape,
                                                const struct dropped_attention *a,
                                                const struct dropped_sums *sums, bool has_rows)
{
    struct dropped_law law = { .p = a->p, .dtype = a->dtype };
    if (tape_failed(tape)) return NULL;
    law.mean = laid_out(tape, a, sums->mean);
    law.squares = laid_out(tape, a, sums->squares);
    law.size = laid_out(tape, a, sums->size);
    law.largest = laid_out(tape, a, sums->largest);
    law.terms = laid_out(tape, a, sums->terms);
    law.n = sums->mean->n;
    law.relative = roundings(tape, a);
    if (has_rows) law.rows = rows_of(tape, a, sums->mean);
    return tape_failed(tape) ? NULL : dropped_law_property(tape, &law);
}

const struct bench_property *dropped_property(struct tape *tape, const struct dropped_attention *a,
                                              const struct dropped_sums *sums)
{
    return property_of(tape, a, sums, false);
}

/* A cotangent in the layout of the call as (batches, heads, rows, value_width); NULL when it does not fit. */
static struct node *laid_back(struct tape *tape, const struct dropped_attention *a,
                              struct node *cotangent)
{
    int64_t shape[4] = { a->blocks[0].batches, a->heads, a->rest_rows, a->value_width };
    for (int i = 0; i < a->count; i++) shape[2] += a->blocks[i].rows;
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
    int k = 0;
    while (k < DROPPED_MOST_LEAVES && a->leaves[k].node != call->arguments.leaves[leaf].node) k++;
    cotangent = k < DROPPED_MOST_LEAVES ? laid_back(tape, a, cotangent) : NULL;
    if (!cotangent || tape_failed(tape)) return NULL;
    const struct dropped_leaf *own = &a->leaves[k];
    struct dropped_sums sums = sums_of_all(tape, a, own->which, cotangent);
    struct node **list[SUMS];
    list_sums(list, &sums);
    for (k = 0; own->width && !tape_failed(tape) && k < SUMS - 1; k++)
        *list[k] = node_slice(tape, *list[k], 3, own->from, own->width, 1);
    struct dropped_attention of_argument = *a;
    if (a->plain_arguments) of_argument.arrange = NULL;
    return property_of(tape, &of_argument, &sums, false);
}

struct node *dropped_weights(struct call *call, struct node *weights, double p, size_t first)
{
    struct tape *tape = call->tape;
    struct node *mask = node_new_integer(tape, DT_BOOL, weights->rank, weights->shape);
    for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++)
        mask->integer[i] = random_uniform(call, first + i) >= p;
    return node_select(tape, mask, node_scale(tape, weights, 1 / (1 - p)), node_scalar(tape, 0));
}

/* Have all blocks as many weights as their extents say? */
static bool are_whole(const struct dropped_attention *a)
{
    for (int i = 0; i < a->count; i++) {
        const struct dropped_block *b = &a->blocks[i];
        size_t n = (size_t)(b->batches * a->heads * b->rows * b->columns);
        if (n && (b->weights->n != n || b->scores->n != n)) return false;
    }
    return true;
}

void call_return_dropped_attention(struct call *call, const struct dropped_attention *attention,
                                   struct node *native, int rank, const int64_t *shape)
{
    struct tape *tape = call->tape;
    const struct dropped_attention *a = attention;
    struct dropped_attention *kept = tape_allocate(tape, 1, sizeof *kept);
    if (!call_require(
            call,
            a->p > 0 && a->p < 1 && a->key_heads >= 1 && a->heads % a->key_heads == 0 &&
                are_whole(a),
            "dropout of attention is followed for a probability between 0 and 1 and heads "
            "that belong to each other"))
        return;
    const struct bench_property *property = NULL;
    if (tape_is_reference(tape) && !tape_failed(tape)) {
        struct dropped_sums sums = sums_of_all(tape, a, -1, NULL);
        property = property_of(tape, a, &sums, true);
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
        const struct dropped_block *b = a->blocks;
        struct dropped_attention plain = *a;
        struct node *w = four(tape, a, b, b->weights, a->heads, b->rows, b->columns), *most = w;
        double share = averaged ? 1 / (double)a->heads : 1;
        w = node_scale(tape, w, share);
        struct dropped_sums sums = { .mean = w, .squares = squared(tape, w), .size = w };
        if (averaged) {
            sums.mean = sums.size = node_sum(tape, w, 2, true);
            sums.squares = node_sum(tape, sums.squares, 2, true);
            most = node_extremum(tape, most, 2, true, 1);
        }
        sums.largest = node_scale(tape, most, share);
        plain.arrange = NULL;
        property = property_of(tape, &plain, &sums, false);
    }
    if (!tape_failed(tape))
        call_return_random(call, native, attention->dtype, rank, shape, property);
}
