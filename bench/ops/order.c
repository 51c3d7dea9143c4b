/* Order statistics along a dimension: median, mode, quantiles. Lines are sorted with NaN last. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/ops/reduction_arguments.h"
#include "bench/ops/settling.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/sorting.h"
#include "bench/primitives/stated_gradient.h"

/* Sort one line; returns how many of its elements are not NaN. */
static size_t sorted_line(struct sort_item *items, const struct node *x, const struct lines *lines,
                          size_t line)
{
    size_t sane = lines->extent;
    sort_line(items, x, lines, line, false);
    while (!x->integer && sane && items[sane - 1].key == SORT_KEY_NAN) sane--;
    return sane;
}

/* Which sorted position of a line counts; `sane` of `extent` are not NaN. */
typedef size_t choice(const struct sort_item *items, size_t extent, size_t sane);

/* The lower median; a NaN in the line comes first. */
static size_t choose_median(const struct sort_item *items, size_t extent, size_t sane)
{
    (void)items;
    return sane < extent ? sane : (extent - 1) / 2;
}

static size_t choose_nanmedian(const struct sort_item *items, size_t extent, size_t sane)
{
    (void)items, (void)extent;
    return sane ? (sane - 1) / 2 : 0;
}

/* The last of the longest run of equal values, of equal runs the smallest value. */
static size_t choose_mode(const struct sort_item *items, size_t extent, size_t sane)
{
    size_t best = 0, most = 0, run = 0;
    for (size_t k = 0; k < extent; k++) {
        bool same = k > 0 && k < sane && items[k].key == items[k - 1].key;
        run = same ? run + 1 : 1;
        if (run > most) {
            most = run;
            best = k;
        }
    }
    return best;
}

/* Positions along dim that `choose` picks, keepdim shape. */
static struct node *chosen_positions(struct call *call, struct node *x, int dim, choice *choose)
{
    struct tape *tape = call->tape;
    int64_t shape[TENSOR_MAX_RANK];
    struct lines lines = lines_along(x, dim);
    memcpy(shape, x->shape, sizeof shape);
    if (x->rank) shape[dim] = 1;
    if (!call_require(call, lines.extent, "there is no order statistic of an empty dimension"))
        return x;
    struct node *index = node_new_integer(tape, DT_I64, x->rank, shape);
    struct sort_item *items = tape_allocate(tape, 2 * lines.extent, sizeof *items);
    if (!x->integer) (void)node_values(tape, x);
    for (size_t line = 0; line < lines.count && !tape_failed(tape); line++) {
        size_t sane = sorted_line(items, x, &lines, line);
        index->integer[line] = items[choose(items, lines.extent, sane)].position;
    }
    return index;
}

static choice *const choices[] = { choose_median, choose_nanmedian, choose_mode };

/* Equal elements (or all NaN) share the cotangent. */
static void share_backward(struct tape *tape, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    struct node *x = node->inputs[1];
    struct node *nan = node_and(tape, node_isnan(tape, x), node_isnan(tape, node));
    struct node *same =
        node_to_real(tape, node_or(tape, node_compare(tape, COMPARE_EQ, x, node), nan));
    (void)parameters;
    gradient_pass(tape, x,
                  node_divide(tape, cotangent, node_sum(tape, same, all_dims(same), false)), same);
}

/* median(input), nanmedian(input): detail indexes `choices`. */
static void statistic_of_all(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t flat[1] = { -1 };
    if (x->n == 0 && !x->integer) { /* of nothing: not a number */
        struct node *nan = node_constant(tape, x->dtype, NAN, 0, NULL);
        call_return_typed(call, node_flat(tape, nan, 1, &x), x->dtype);
        return;
    }
    struct node *line = node_reshape(tape, x, 1, flat);
    struct node *index = chosen_positions(call, line, 0, choices[call->op->detail]);
    struct node *y = node_reshape(tape, node_take_along(tape, line, 0, index), 0, NULL);
    if (!x->integer) y = node_stated_gradient(tape, y, 1, &x, share_backward, NULL);
    call_return_typed(call, y, x->dtype);
}

/* Values and indices along a dimension. */
static void statistic_of_dim(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    struct reduced reduction = { x, one_dim(x, dim), call_bool(call, "keepdim"), 1 };
    struct node *own = chosen_positions(call, x, dim, choices[call->op->detail]);
    struct node *index = settled_positions(call, 1, x, dim, own);
    struct node *y = node_take_along(tape, x, dim, index);
    call_return_typed(call, reduced_shape(tape, y, &reduction), x->dtype);
    call_return(call, reduced_shape(tape, index, &reduction));
}

/* ---- quantiles ----------------------------------------------------------------------------------------- */

enum interpolation { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST };

static enum interpolation interpolation_of(struct call *call)
{
    static const char *const names[] = { "linear", "lower", "higher", "midpoint", "nearest" };
    const char *name = call_string(call, "interpolation");
    for (int i = 0; i < 5; i++)
        if (!strcmp(name, names[i])) return (enum interpolation)i;
    call_fail(call, "interpolation '%s' is not known", name);
    return LINEAR;
}

/* The two positions around rank q (count - 1) of a line and the weight of the upper one. */
struct place {
    int64_t below, above;
    double weight;
};

/* q (count - 1), or what relative roundings of `moved` in all make of it: where q is no number of float32, or the product is none. */
static double moved_rank(double q, double most, double moved)
{
    double rank = q * most;
    bool is_exact = (float)q == q && (float)rank == rank && fma(q, most, -rank) == 0;
    return is_exact ? rank : fmin(rank + moved * rank, most);
}

/* How far a kernel's rank is off: it rounds q to the dtype, the product of that, both, or only the product. What is left of a rank when
 * its whole part is gone is exact, so nothing else comes to the weight. */
static double rank_error(double q, double most, bool wide)
{
    double rank = q * most, rest = fma(q, most, -rank), short_q = (float)q;
    if (wide) return fabs(rest);
    const double kernels[] = { (float)(short_q * most), short_q * most, (float)rank };
    double off = fabs(rest);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        off = fmax(off, fabs((kernels[i] - rank) - rest));
    return off;
}

static bool is_equal(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static struct place place_of(const struct sort_item *items, size_t count, double rank,
                             enum interpolation interpolation)
{
    double low = floor(rank), weight = rank - low;
    if (interpolation == LOWER) weight = 0;
    if (interpolation == HIGHER) weight = weight > 0;
    if (interpolation == MIDPOINT) weight = weight > 0 ? 0.5 : 0;
    if (interpolation == NEAREST) {
        low = rint(rank);
        weight = 0;
    }
    size_t k = (size_t)low, next = k + 1 < count ? k + 1 : k;
    return (struct place){ items[k].position, items[next].position, weight };
}

struct quantiles {
    struct lines lines;
    const double *q;
    size_t q_count;
    enum interpolation interpolation;
    bool ignore_nan;
};

/* Of all (quantiles, lines): the elements below and above, the weights, how far off ranks are in a kernel, and how far a rank moves with q. */
struct placed {
    int64_t *below, *above;
    double *weight, *off, *rate;
};

static void place_quantiles(struct tape *tape, const struct node *x,
                            const struct quantiles *quantiles, double moved,
                            const struct placed *placed)
{
    size_t extent = quantiles->lines.extent;
    struct sort_item *items = tape_allocate(tape, 2 * extent, sizeof *items);
    for (size_t line = 0; line < quantiles->lines.count && !tape_failed(tape); line++) {
        size_t sane = sorted_line(items, x, &quantiles->lines, line);
        size_t count = quantiles->ignore_nan ? sane : extent,
               first = line_start(&quantiles->lines, line);
        bool defined = quantiles->ignore_nan ? sane > 0 : sane == extent;
        for (size_t k = 0; k < quantiles->q_count; k++) {
            size_t at = k * quantiles->lines.count + line;
            int64_t last = items[extent - 1].position;
            struct place place = { last, last, 0 };
            if (defined)
                place = place_of(items, count,
                                 moved_rank(quantiles->q[k], (double)(count - 1), moved),
                                 quantiles->interpolation);
            placed->below[at] = (int64_t)(first + (size_t)place.below * quantiles->lines.step);
            placed->above[at] = (int64_t)(first + (size_t)place.above * quantiles->lines.step);
            placed->weight[at] = place.weight;
            placed->off[at] = defined ? rank_error(quantiles->q[k], (double)(count - 1), tape->wide)
                                      : 0;
            /* At a rank that is whole PyTorch's two neighbours are one. */
            placed->rate[at] = place.weight > 0 ? (double)(count - 1) : 0;
        }
    }
}

enum { MOST_CHOSEN = 6 };

/* What may have a gradient besides: of elements that are equal a kernel's sort may choose any, and of those around a rank that is whole within
 * rounding either side. */
struct tied {
    struct lines lines;
    const int64_t *chosen[MOST_CHOSEN]; /* (quantiles, lines): below and above of the rank, */
    int count;                          /* and of what rounding makes of it */
};

/* No gradient, with the cotangent as the error of the elements that equal a chosen one. */
static void tied_backward(struct tape *tape, struct node *node, struct node *cotangent,
                          const void *parameters)
{
    const struct tied *tied = parameters;
    const struct lines *l = &tied->lines;
    struct node *x = node->inputs[1];
    const double *value = node_values(tape, x), *c = node_values(tape, cotangent);
    struct node *none = node_constant(tape, DT_NONE, 0, x->rank, x->shape),
                *open = node_constant(tape, DT_NONE, 0, x->rank, x->shape);
    for (size_t at = 0; at < node->n && !tape_failed(tape); at++)
        for (int k = 0; k < tied->count; k++) {
            double wanted = value[tied->chosen[k][at]];
            bool moves = tied->chosen[k][at] != tied->chosen[k % 2][at];
            size_t first = line_start(l, at % l->count), equal = 0;
            for (size_t i = 0; i < l->extent; i++)
                equal += is_equal(value[first + i * l->step], wanted);
            for (size_t i = 0; i < l->extent && (equal > 1 || moves); i++)
                if (is_equal(value[first + i * l->step], wanted))
                    open->value[first + i * l->step] += fabs(c[at]);
            if (moves) open->value[tied->chosen[k % 2][at]] += fabs(c[at]);
        }
    tape_accumulate(tape, x, node_model_error(tape, none, open, 4 / tape->unit));
}

/* What is read of a line around each rank. */
struct quantile_parts {
    struct node *low, *high, *weight, *off, *rate;
    int64_t *below, *above;
};

/* The parts for ranks as they are, or as roundings move them. */
static bool read_parts(struct quantile_parts *parts, struct tape *tape, struct node *lines,
                       const struct quantiles *quantiles, double moved, int rank,
                       const int64_t *shape)
{
    parts->weight = node_new_real(tape, DT_NONE, rank, shape);
    parts->rate = node_new_real(tape, DT_NONE, rank, shape);
    parts->off = node_new_real(tape, DT_NONE, rank, shape);
    parts->below = tape_allocate(tape, parts->weight->n, sizeof *parts->below);
    parts->above = tape_allocate(tape, parts->weight->n, sizeof *parts->above);
    if (tape_failed(tape)) return false;
    place_quantiles(tape, lines, quantiles, moved,
                    &(struct placed){ parts->below, parts->above, parts->weight->value,
                                      parts->off->value, parts->rate->value });
    parts->low = node_gather(tape, lines, rank, shape, parts->below, 0);
    parts->high = node_gather(tape, lines, rank, shape, parts->above, 0);
    return true;
}

/* The interpolated value. */
static struct node *interpolated(struct tape *tape, const struct quantile_parts *parts,
                                 enum interpolation interpolation)
{
    if (interpolation == LOWER || interpolation == NEAREST) return parts->low;
    struct node *between = node_subtract(tape, parts->high, parts->low);
    return node_add(tape, parts->low, node_multiply(tape, parts->weight, between));
}

/* How far `other` is from y, 0 where they are the same. */
static struct node *jump_between(struct tape *tape, struct node *y, struct node *other)
{
    struct node *jump = node_constant(tape, DT_NONE, 0, y->rank, y->shape);
    const double *a = node_values(tape, y), *b = node_values(tape, other);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++)
        if (!is_equal(a[i], b[i])) jump->value[i] = isnan(a[i] - b[i]) ? INFINITY : b[i] - a[i];
    return jump;
}

/* In a model: y, which is another element's where the rank jumps to another number when it is rounded, and has the gradients of either side. */
static struct node *model_of_ranks(struct tape *tape, struct node *y, struct node *lines,
                                   const struct quantiles *quantiles,
                                   const struct quantile_parts *parts)
{
    struct tied *tied = tape_allocate(tape, 1, sizeof *tied);
    if (!tied) return y;
    *tied = (struct tied){ quantiles->lines, { parts->below, parts->above }, 2 };
    bool jumps = quantiles->interpolation !=
                 LINEAR; /* which is continuous, and its gradient in x */
    for (int side = -1; jumps && side <= 1; side += 2) {
        struct quantile_parts moved;
        if (!read_parts(&moved, tape, lines, quantiles, 2 * side * tape->unit, y->rank, y->shape))
            return y;
        tied->chosen[tied->count++] = moved.below;
        tied->chosen[tied->count++] = moved.above;
        struct node *other = interpolated(tape, &moved, quantiles->interpolation);
        y = node_model_error(tape, y, jump_between(tape, y, other),
                             (tape_is_typical(tape) ? 4 : 1) / tape->unit);
    }
    struct node *none = node_constant(tape, y->dtype, 0, y->rank, y->shape);
    return node_add(tape, y, node_stated_gradient(tape, none, 1, &lines, tied_backward, tied));
}

/* The weight as it follows q; where rounding may move a rank to another side of a whole number, the slope is unknown. */
static struct node *following(struct tape *tape, const struct quantile_parts *parts,
                              const struct quantiles *quantiles, struct node *q, struct node *lines)
{
    struct node *weight =
        node_straight_through(tape, parts->weight, node_multiply(tape, q, parts->rate));
    if (!tape_is_model(tape)) return weight;
    struct node *unknown = node_new_integer(tape, DT_BOOL, weight->rank, weight->shape);
    if (tape_failed(tape)) return weight;
    memset(unknown->integer, 0, unknown->n * sizeof *unknown->integer);
    for (int side = -1; side <= 1; side += 2) {
        struct quantile_parts moved;
        if (!read_parts(&moved, tape, lines, quantiles, 2 * side * tape->unit, weight->rank,
                        weight->shape))
            return weight;
        for (size_t i = 0; i < weight->n; i++)
            unknown->integer[i] |= moved.below[i] != parts->below[i] ||
                                   (moved.rate->value[i] > 0) != (parts->rate->value[i] > 0);
    }
    return node_model_unknown_slope(tape, weight, unknown);
}

/* The q-th quantile: q a number or a vector, which becomes the first dimension. */
static void quantile(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *q = node_to_real(tape, call_tensor(call, "q"));
    int64_t shape[TENSOR_MAX_RANK], flat[1] = { -1 };
    bool all = call_is_none(call, "dim");
    struct node *lines = all ? node_reshape(tape, x, 1, flat) : x;
    int dim = all ? 0 : call_dim(call, "dim", x->rank), rank = 0;
    struct quantiles quantiles = { .q = node_values(tape, q),
                                   .q_count = q->n,
                                   .interpolation = interpolation_of(call),
                                   .ignore_nan = call->op->detail != 0 };
    (void)node_values(tape, lines);
    quantiles.lines = lines_along(lines, dim);
    for (size_t k = 0; k < q->n; k++)
        if (!call_require(call, quantiles.q[k] >= 0 && quantiles.q[k] <= 1,
                          "a quantile outside [0, 1]"))
            return;
    if (!call_require(call,
                      !x->integer && quantiles.lines.extent && q->rank <= 1 &&
                          x->rank + 1 <= TENSOR_MAX_RANK,
                      "quantiles of floats, at least one element, q of one dimension"))
        return;
    /* (q), then the dimensions that are kept. */
    if (q->rank) shape[rank++] = (int64_t)q->n;
    bool keepdim = call_bool(call, "keepdim");
    for (int d = 0; d < x->rank; d++) {
        bool gone = all || d == dim;
        if (!gone || keepdim) shape[rank++] = gone ? 1 : x->shape[d];
    }
    int64_t column[TENSOR_MAX_RANK] = { (int64_t)q->n };
    for (int d = 1; d < rank; d++) column[d] = 1;
    struct quantile_parts parts;
    if (!read_parts(&parts, tape, lines, &quantiles, 0, rank, shape)) return;
    if (quantiles.interpolation == LINEAR) /* all elements may be off as far */
        parts.weight = node_model_error(tape, parts.weight, parts.off,
                                        (tape_is_typical(tape) ? 4 : 1) / tape->unit);
    if (quantiles.interpolation == LINEAR && q->tracked)
        parts.weight = following(tape, &parts, &quantiles,
                                 node_reshape(tape, q, q->rank ? rank : 0, column), lines);
    struct node *y = interpolated(tape, &parts, quantiles.interpolation);
    if (tape_is_model(tape)) y = model_of_ranks(tape, y, lines, &quantiles, &parts);
    call_return_typed(call, y, x->dtype);
}

/* clang-format off */
#define ONE_DIM "(Tensor input, int dim, bool keepdim=False)"
#define QUANTILE "(Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear')"
const struct op ops_order[] = {
    { "median", TENSOR | TORCH, ONE_DIM, statistic_of_dim, OP_ONE_NODE, 0, NULL },
    { "nanmedian", TENSOR | TORCH, ONE_DIM, statistic_of_dim, OP_ONE_NODE, 1, NULL },
    { "median", TENSOR | TORCH, "(Tensor input)", statistic_of_all, OP_ONE_NODE, 0, NULL },
    { "nanmedian", TENSOR | TORCH, "(Tensor input)", statistic_of_all, OP_ONE_NODE, 1, NULL },
    { "mode", TENSOR | TORCH, "(Tensor input, int dim=-1, bool keepdim=False)", statistic_of_dim, OP_ONE_NODE, 2, NULL },
    { "quantile", TENSOR | TORCH, QUANTILE, quantile, 0, 0, NULL },
    { "nanquantile", TENSOR | TORCH, QUANTILE, quantile, 0, 1, NULL },
};
/* clang-format on */
OP_TABLE_END(order);
