/* Lookups of rows: embedding, embedding_bag, one_hot. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"

/* Rows of `weight` whose norm exceeds max_norm scaled to it, where `used`; without
 * gradient, as PyTorch renormalises in place before the lookup. */
static struct node *renormalized(struct call *call, struct node *weight, const struct node *indices,
                                 double max_norm, double norm_type)
{
    struct tape *tape = call->tape;
    int64_t column[2] = { weight->shape[0], 1 };
    struct node *w = node_detach(tape, weight);
    struct node *used = node_integer_constant(tape, DT_BOOL, 0, 2, column);
    struct node *size = node_apply(tape, "abs", w), *norm;

    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < indices->n; i++) used->integer[indices->integer[i]] = 1;
    if (isinf(norm_type)) norm = node_extremum_detached(tape, size, 2, 1);
    else if (norm_type == 2)
        norm = node_apply(tape, "sqrt", node_sum(tape, node_multiply(tape, w, w), 2, true));
    else if (norm_type == 1) norm = node_sum(tape, size, 2, true);
    else if (norm_type == 0) /* elements that are not 0 */
        norm = node_sum(
            tape, node_to_real(tape, node_compare(tape, COMPARE_NE, size, node_scalar(tape, 0))), 2,
            true);
    else {
        norm =
            node_sum(tape, node_apply2(tape, "pow", size, node_scalar(tape, norm_type)), 2, true);
        norm = node_apply2(tape, "pow", norm, node_scalar(tape, 1 / norm_type));
    }
    struct node *large = node_compare(tape, COMPARE_GT, norm, node_scalar(tape, max_norm));
    struct node *scale =
        node_divide(tape, node_scalar(tape, max_norm), node_offset(tape, norm, 1e-7));
    scale = node_select(tape, used, node_select(tape, large, scale, node_scalar(tape, 1)),
                        node_scalar(tape, 1));
    return node_multiply(tape, w, scale);
}

/* Is every index one of a row? */
static bool check_indices(struct call *call, const struct node *indices, int64_t rows)
{
    for (size_t i = 0; i < indices->n; i++) {
        if (indices->integer[i] >= 0 && indices->integer[i] < rows) continue;
        call_fail(call, "index %lld is out of range for %lld embeddings",
                  (long long)indices->integer[i], (long long)rows);
        return false;
    }
    return true;
}

/* The lookup's arguments checked: integer indices within a 2-D weight. */
static bool check_lookup(struct call *call, const struct node *indices, const struct node *weight)
{
    return call_require(call, indices->integer && weight->rank == 2,
                        "integer indices and a 2-D weight are needed") &&
           check_indices(call, indices, weight->shape[0]);
}

/* padding_idx as a row, or -1; negative ones count from the end where PyTorch lets them. */
static int64_t padding_row(struct call *call, const struct node *weight)
{
    if (call_is_none(call, "padding_idx")) return -1;
    int64_t row = call_int(call, "padding_idx"), rows = weight->shape[0];
    if (row < 0 && !call->op->text) row += rows; /* torch.embedding: -1 says none */
    if (row >= rows || (row < 0 && !call->op->text)) call_fail(call, "padding_idx is out of range");
    return row;
}

/* Rows of `table` at the indices, in `shape`. */
static struct node *rows_at(struct tape *tape, struct node *table, const struct node *indices,
                            int rank, const int64_t *shape)
{
    return node_gather_rows(tape, table, rank, shape, (size_t)table->shape[1], indices->integer, 0);
}

/* What multiplies the gradient of each looked-up row: 0 at padding, 1 / (how often the row
 * is used) with scale_grad_by_freq. NULL when every one is 1. */
static struct node *gradient_scale(struct call *call, const struct node *indices, int64_t rows,
                                   int64_t padding)
{
    struct tape *tape = call->tape;
    bool by_count = call_bool(call, "scale_grad_by_freq"), padded = false;
    int64_t shape[TENSOR_MAX_RANK];

    for (size_t i = 0; i < indices->n; i++) padded = padded || indices->integer[i] == padding;
    if (!by_count && !padded) return NULL;
    if (indices->rank >= TENSOR_MAX_RANK) return NULL;
    memcpy(shape, indices->shape, (size_t)indices->rank * sizeof *shape);
    shape[indices->rank] = 1;
    struct node *factor = node_constant(tape, DT_NONE, 1, indices->rank + 1, shape);
    struct node *count = node_constant(tape, DT_NONE, 1, indices->rank + 1, shape);
    int64_t *uses = tape_allocate(tape, (size_t)rows, sizeof *uses);
    if (tape_failed(tape)) return NULL;
    memset(uses, 0, (size_t)rows * sizeof *uses);
    for (size_t i = 0; i < indices->n; i++) uses[indices->integer[i]]++;
    for (size_t i = 0; i < indices->n; i++) {
        if (indices->integer[i] == padding) factor->value[i] = 0;
        if (by_count) count->value[i] = (double)uses[indices->integer[i]];
    }
    return by_count ? node_divide(tape, factor, count) : factor;
}

/* F.embedding(input, weight) and torch.embedding(weight, indices): text "torch" for the
 * latter. */
static void embedding(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *indices = call_tensor(call, call->op->text ? "indices" : "input");
    struct node *weight = call_tensor(call, "weight"), *table = weight;
    int64_t shape[TENSOR_MAX_RANK + 1];

    if (!check_lookup(call, indices, weight)) return;
    int64_t padding = padding_row(call, weight);
    if (!call->op->text && !call_is_none(call, "max_norm"))
        table = renormalized(call, weight, indices, call_real(call, "max_norm"),
                             call_real(call, "norm_type"));
    memcpy(shape, indices->shape, (size_t)indices->rank * sizeof *shape);
    shape[indices->rank] = weight->shape[1];
    struct node *y = rows_at(tape, table, indices, indices->rank + 1, shape);
    struct node *scale = weight->tracked ? gradient_scale(call, indices, weight->shape[0], padding)
                                         : NULL;
    if (scale || table != weight) {
        struct node *through =
            table == weight ? y : rows_at(tape, weight, indices, indices->rank + 1, shape);
        if (scale) through = node_multiply(tape, through, scale);
        y = node_straight_through(tape, y, through);
    }
    call_return_typed(call, y, weight->dtype);
}

/* ---- bags -------------------------------------------------------------------------------- */

/* The bag of each index: rows of a 2-D input, or runs between offsets. */
static int64_t *bags_of(struct call *call, const struct node *indices, int64_t *bags)
{
    int64_t *bag = tape_allocate(call->tape, indices->n, sizeof *bag);
    struct node *offsets = call_optional_tensor(call, "offsets");
    if (!bag) return NULL;
    if (indices->rank == 2) {
        *bags = indices->shape[0];
        for (size_t i = 0; i < indices->n; i++) bag[i] = (int64_t)i / indices->shape[1];
        return bag;
    }
    if (!call_require(call,
                      indices->rank == 1 && offsets && offsets->integer && offsets->rank == 1 &&
                          offsets->n,
                      "a vector of indices needs offsets"))
        return NULL;
    *bags = (int64_t)offsets->n - call_bool(call, "include_last_offset");
    if (!call_require(call, *bags || !indices->n, "no bag for %zu indices", indices->n))
        return NULL;
    for (size_t i = 0; i < offsets->n; i++)
        if (!call_require(call,
                          offsets->integer[i] >= (i ? offsets->integer[i - 1] : 0) &&
                              offsets->integer[i] <= (int64_t)indices->n &&
                              (i != 0 || offsets->integer[0] == 0),
                          "the offsets must rise from 0 and stay within the indices"))
            return NULL;
    size_t next = 1;
    for (size_t i = 0; i < indices->n; i++) {
        while (next < (size_t)*bags && offsets->integer[next] <= (int64_t)i) next++;
        bag[i] = (int64_t)next - 1;
    }
    return bag;
}

/* The largest row element of each bag: position among the looked-up elements, or -1. */
static int64_t *bag_maxima(struct tape *tape, struct node *rows, const int64_t *bag, int64_t bags,
                           const struct node *indices, int64_t padding)
{
    size_t width = (size_t)rows->shape[1];
    const double *value = node_values(tape, rows);
    int64_t *best = tape_allocate(tape, (size_t)bags * width, sizeof *best);
    if (!best) return NULL;
    for (size_t i = 0; i < (size_t)bags * width; i++) best[i] = -1;
    for (size_t i = 0; i < indices->n; i++)
        for (size_t k = 0; k < width && indices->integer[i] != padding; k++) {
            int64_t *b = &best[(size_t)bag[i] * width + k];
            if (*b < 0 || value[i * width + k] > value[*b]) *b = (int64_t)(i * width + k);
        }
    return best;
}

enum bag_mode { BAG_SUM, BAG_MEAN, BAG_MAX };

static enum bag_mode read_mode(struct call *call)
{
    static const char *const names[] = { "sum", "mean", "max" };
    const struct value *mode = call_value(call, "mode");
    if (mode->kind == VALUE_INT && mode->integer >= 0 && mode->integer <= 2)
        return (enum bag_mode)mode->integer;
    for (int k = 0; k < 3; k++)
        if (mode->kind == VALUE_STRING && !strcmp(mode->string, names[k])) return (enum bag_mode)k;
    call_fail(call, "an unknown mode of embedding_bag");
    return BAG_SUM;
}

static struct node *bag_result(struct call *call, struct node *rows, const struct node *indices,
                               const int64_t *bag, int64_t bags, int64_t padding,
                               enum bag_mode mode)
{
    struct tape *tape = call->tape;
    int64_t shape[2] = { bags, rows->shape[1] };

    if (mode == BAG_MAX) {
        int64_t *best = bag_maxima(tape, rows, bag, bags, indices, padding);
        return best ? node_gather(tape, rows, 2, shape, best, 0) : rows;
    }
    int64_t *target = tape_allocate(tape, indices->n, sizeof *target), column[2] = { bags, 1 };
    struct node *sizes = node_constant(tape, DT_NONE, 0, 2, column);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < indices->n; i++) {
        target[i] = indices->integer[i] == padding ? -1 : bag[i];
        if (target[i] >= 0) sizes->value[target[i]]++;
    }
    struct node *sum = node_scatter_add_rows(tape, rows, 2, shape, (size_t)shape[1], target);
    if (mode == BAG_SUM) return sum;
    for (int64_t k = 0; k < bags; k++)
        if (sizes->value[k] == 0) sizes->value[k] = 1;
    return node_divide(tape, sum, sizes);
}

static void embedding_bag(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *indices = call_tensor(call, call->op->text ? "indices" : "input");
    struct node *weight = call_tensor(call, "weight"), *table = weight;
    struct node *samples = call_optional_tensor(call, "per_sample_weights");
    int64_t bags = 0;

    /* The first two may come in either order. */
    if (!call->op->text && !indices->integer && weight->integer) {
        struct node *swap = indices;
        indices = weight;
        weight = table = swap;
    }
    if (!check_lookup(call, indices, weight)) return;
    int64_t padding = padding_row(call, weight);
    enum bag_mode mode = read_mode(call);
    if (!call_require(call, !samples || (mode == BAG_SUM && samples->n == indices->n),
                      "per_sample_weights go with mode 'sum' and have the shape of the indices"))
        return;
    if (!call->op->text && !call_is_none(call, "max_norm"))
        table = renormalized(call, weight, indices, call_real(call, "max_norm"),
                             call_real(call, "norm_type"));
    int64_t *bag = bags_of(call, indices, &bags),
            shape[2] = { (int64_t)indices->n, weight->shape[1] };
    if (!bag) return;
    struct node *rows = rows_at(tape, table, indices, 2, shape);
    struct node *scale = weight->tracked && call_bool(call, "scale_grad_by_freq")
                             ? gradient_scale(call, indices, weight->shape[0], -1)
                             : NULL;
    if (scale || table != weight) {
        struct node *through = table == weight ? rows : rows_at(tape, weight, indices, 2, shape);
        if (scale)
            through =
                node_multiply(tape, through, node_reshape(tape, scale, 2, (int64_t[]){ -1, 1 }));
        rows = node_straight_through(tape, rows, through);
    }
    if (samples)
        rows = node_multiply(tape, rows, node_reshape(tape, samples, 2, (int64_t[]){ -1, 1 }));
    call_return_typed(call, bag_result(call, rows, indices, bag, bags, padding, mode),
                      weight->dtype);
    /* torch.embedding_bag returns three more tensors that serve its own backward. */
    for (int k = 0; k < 3 && call->op->text; k++) call_return_none(call);
}

static void embedding_renorm(struct call *call)
{
    struct node *weight = call_tensor(call, "input"), *indices = call_tensor(call, "indices");
    if (!check_lookup(call, indices, weight)) return;
    call_return_typed(call,
                      renormalized(call, weight, indices, call_real(call, "max_norm"),
                                   call_real(call, "norm_type")),
                      weight->dtype);
}

/* aten.embedding_dense_backward: the gradient of the weight. */
static void embedding_dense_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *gradient = call_tensor(call, "grad_output"),
                *indices = call_tensor(call, "indices");
    int64_t rows = call_int(call, "num_weights"), padding = call_int(call, "padding_idx");
    if (!call_require(call, indices->integer && gradient->rank, "integer indices are needed"))
        return;
    int64_t shape[2] = { rows, gradient->shape[gradient->rank - 1] };
    if (!call_require(call, gradient->n == indices->n * (size_t)shape[1],
                      "%zu indices for a gradient of %zu elements", indices->n, gradient->n))
        return;
    if (!check_indices(call, indices, rows)) return;
    int64_t *map = tape_allocate(tape, indices->n, sizeof *map);
    if (!map) return;
    for (size_t i = 0; i < indices->n; i++)
        map[i] = indices->integer[i] == padding ? -1 : indices->integer[i];
    struct node *scale =
        call_bool(call, "scale_grad_by_freq") ? gradient_scale(call, indices, rows, padding) : NULL;
    if (scale) gradient = node_multiply(tape, gradient, scale);
    call_return_typed(call, node_scatter_add_rows(tape, gradient, 2, shape, (size_t)shape[1], map),
                      gradient->dtype);
}

static void one_hot(struct call *call)
{
    struct node *x = call_tensor(call, call->op->text);
    int64_t classes = call_int(call, "num_classes"), shape[TENSOR_MAX_RANK + 1], most = -1;

    if (!call_require(call, x->integer && x->rank < TENSOR_MAX_RANK, "integer classes are needed"))
        return;
    for (size_t i = 0; i < x->n; i++) {
        if (x->integer[i] > most) most = x->integer[i];
        if (!call_require(call, x->integer[i] >= 0, "a class must not be negative")) return;
    }
    if (classes == -1 && most < INT64_MAX) classes = most + 1;
    if (!call_require(call, most < classes && classes >= 1, "%lld classes are too few",
                      (long long)classes))
        return;
    memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
    shape[x->rank] = classes;
    struct node *y = node_new_integer(call->tape, DT_I64, x->rank + 1, shape);
    if (tape_failed(call->tape)) return;
    memset(y->integer, 0, y->n * sizeof *y->integer);
    for (size_t i = 0; i < x->n; i++) y->integer[i * (size_t)classes + (size_t)x->integer[i]] = 1;
    call_return(call, y);
}

/* clang-format off */
const struct op ops_embedding[] = {
    { "embedding", FUNCTIONAL, "(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False)", embedding, OP_ONE_NODE, 0, NULL },
    { "embedding", TORCH | ATEN, "(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)", embedding, OP_ONE_NODE, 0, "torch" },
    { "embedding_bag", FUNCTIONAL, "(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None)", embedding_bag, OP_ONE_NODE, 0, NULL },
    { "embedding_bag|_embedding_bag|_embedding_bag_forward_only", TORCH | ATEN, "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None)", embedding_bag, OP_ONE_NODE, 0, "torch" },
    { "embedding_renorm", TORCH | ATEN, "(Tensor input, Tensor indices, float max_norm, float norm_type)", embedding_renorm, OP_NO_GRADIENT, 0, NULL },
    { "embedding_dense_backward", ATEN, "(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq)", embedding_dense_backward, 0, 0, NULL },
    { "one_hot", FUNCTIONAL, "(Tensor tensor, int num_classes=-1)", one_hot, OP_NO_GRADIENT, 0, "tensor" },
    { "one_hot", FUNCTIONAL | TORCH, "(Tensor input, int num_classes=-1)", one_hot, OP_NO_GRADIENT, 0, "input" },
};
/* clang-format on */
OP_TABLE_END(embedding);
