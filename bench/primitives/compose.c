/* torch.matmul, linear and normalization from primitives. */
#include "bench/primitives/compose.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/begun_sums.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/other_forms.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/updated_moments.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/promotion.h"

/* Bring to (batch, rows, columns), the batch dimensions broadcast to `shape`. */
static struct node *to_batch(struct tape *tape, struct node *x, int rank, const int64_t *shape)
{
    int64_t full[TENSOR_MAX_RANK], flat[3];
    if (tape_failed(tape)) return tape_failure(tape);
    flat[1] = x->shape[x->rank - 2];
    flat[2] = x->shape[x->rank - 1];
    bool repeated = true;
    for (int d = 0; d < x->rank - 2; d++) repeated = repeated && x->shape[d] == 1;
    if (repeated) {
        flat[0] = 1;
        return node_reshape(tape, x, 3, flat);
    }
    memcpy(full, shape, (size_t)rank * sizeof *full);
    full[rank] = flat[1];
    full[rank + 1] = flat[2];
    flat[0] = 1;
    for (int d = 0; d < rank; d++) flat[0] *= shape[d];
    return node_reshape(tape, node_broadcast(tape, x, rank + 2, full), 3, flat);
}

/* With a lone right factor, rows of all batches form one tall matrix. */
static struct node *tall_product(struct tape *tape, struct node *a, struct node *b)
{
    int64_t flat[3] = { 1, -1, a->shape[a->rank - 1] }, right[3] = { 1, b->shape[0], b->shape[1] };
    int64_t shape[TENSOR_MAX_RANK];
    if (flat[2] == 0 || a->n == 0) {
        flat[1] = 1;
        for (int d = 0; d < a->rank - 1; d++) flat[1] *= a->shape[d];
    }
    struct node *y = node_matmul(tape, node_reshape(tape, a, 3, flat), false,
                                 node_reshape(tape, b, 3, right), false);
    memcpy(shape, a->shape, sizeof shape);
    shape[a->rank - 1] = b->shape[1];
    return node_reshape(tape, y, a->rank, shape);
}

static struct node *matrix_product(struct tape *tape, struct node *a, struct node *b)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank;

    if (b->rank == 2 && a->rank >= 2) return tall_product(tape, a, b);
    if (!shape_broadcast(&rank, shape, a->rank - 2, a->shape, b->rank - 2, b->shape)) {
        tape_fail(tape, STATUS_SKIP, "the batch dimensions of a matrix product do not broadcast");
        return tape_failure(tape);
    }
    struct node *y = node_matmul(tape, to_batch(tape, a, rank, shape), false,
                                 to_batch(tape, b, rank, shape), false);
    if (tape_failed(tape)) return tape_failure(tape);
    shape[rank] = a->shape[a->rank - 2];
    shape[rank + 1] = b->shape[b->rank - 1];
    return node_reshape(tape, y, rank + 2, shape);
}

struct node *compose_matmul(struct tape *tape, struct node *a, struct node *b)
{
    int64_t row[2], column[2], shape[TENSOR_MAX_RANK];
    if (tape_failed(tape)) return tape_failure(tape);
    if (!a->rank || !b->rank) {
        tape_fail(tape, STATUS_SKIP, "a matrix product needs tensors of at least one dimension");
        return tape_failure(tape);
    }
    enum dtype dtype = dtype_promote(a->dtype, b->dtype);
    bool vector_a = a->rank == 1, vector_b = b->rank == 1;
    if (vector_a) {
        row[0] = 1;
        row[1] = a->shape[0];
        a = node_reshape(tape, a, 2, row);
    }
    if (vector_b) {
        column[0] = b->shape[0];
        column[1] = 1;
        b = node_reshape(tape, b, 2, column);
    }
    struct node *y = matrix_product(tape, a, b);
    if (tape_failed(tape)) return tape_failure(tape);
    int rank = 0;
    for (int d = 0; d < y->rank; d++)
        if (!(vector_a && d == y->rank - 2) && !(vector_b && d == y->rank - 1))
            shape[rank++] = y->shape[d];
    return node_cast(tape, node_reshape(tape, y, rank, shape), dtype);
}

/* In a model: x w^T, where a kernel begins its sums with b. */
static struct node *begun_with(struct tape *tape, struct node *y, struct node *x, struct node *w,
                               struct node *b)
{
    const struct begun_sum sum = { x, w, node_to_real(tape, b), 1, x->shape[x->rank - 1] };
    if (!begun_sums_round(tape, y, &sum)) return y;
    struct node *sizes =
        compose_linear(tape, begun_sums_sizes(tape, x), begun_sums_sizes(tape, w), NULL);
    return begun_sums_rounded(tape, y, sizes, sum.k);
}

struct node *compose_linear(struct tape *tape, struct node *x, struct node *w, struct node *b)
{
    if (tape_failed(tape)) return tape_failure(tape);
    if (x->rank == 0 || w->rank < 1 || w->rank > 2) {
        tape_fail(tape, STATUS_SKIP,
                  "linear needs an input of at least one dimension and a weight of one or two");
        return tape_failure(tape);
    }
    if (w->rank == 1) {
        struct node *y = compose_matmul(tape, x, w);
        return b ? node_add(tape, begun_with(tape, y, x, w, b), b) : y;
    }
    int64_t rows = 1, shape[TENSOR_MAX_RANK];
    for (int d = 0; d < x->rank - 1; d++) rows *= x->shape[d];
    int64_t flat[3] = { 1, rows, x->shape[x->rank - 1] },
            weight[3] = { 1, w->shape[0], w->shape[1] };
    struct node *y = node_matmul(tape, node_reshape(tape, x, 3, flat), false,
                                 node_reshape(tape, w, 3, weight), true);
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = w->shape[0];
    y = node_cast(tape, node_reshape(tape, y, x->rank, shape), dtype_promote(x->dtype, w->dtype));
    return b ? node_add(tape, begun_with(tape, y, x, w, b), b) : y;
}

struct node *compose_folded(struct tape *tape, struct node *y, struct node *x, struct node *m,
                            struct node *a)
{
    if (!tape_is_model(tape) || tape_failed(tape)) return y;
    /* Sizes, of which the errors are nothing to anyone. */
    struct node *shift =
        node_broadcast(tape, node_detach(tape, node_multiply(tape, m, a)), y->rank, y->shape);
    struct node *size = node_multiply(tape, node_detach(tape, x), node_detach(tape, a));
    y = node_model_own_error(tape, y, size, 6);
    return node_model_own_error(tape, y, shift, 6);
}

/* 0, off by what x is. */
static struct node *error_alone(struct tape *tape, struct node *x)
{
    struct node *zero = node_new_real(tape, DT_NONE, x->rank, x->shape);
    struct node *error = node_new_real(tape, DT_NONE, x->rank, x->shape);
    (void)node_values(tape, x);
    for (size_t i = 0; i < x->n && !tape_failed(tape); i++) {
        double e = node_error(x, i);
        zero->value[i] = 0;
        error->value[i] = isfinite(e) ? e : 0;
    }
    return node_model_error(tape, zero, error, (tape_is_typical(tape) ? 4 : 1) / tape->unit);
}

/* d = x - m in a model, where the cotangent of m comes by the shift: kernels that add the cotangents of d, those of the variance with
 * the others, round that sum. */
static void difference_backward(struct tape *tape, struct node *node, struct node *cotangent,
                                const void *parameters)
{
    struct node *x = node->inputs[1], *m = node->inputs[2];
    const uint32_t *dims = parameters;
    if (x->tracked) tape_accumulate(tape, x, cotangent);
    if (m->tracked)
        tape_accumulate(tape, m, error_alone(tape, node_sum(tape, cotangent, *dims, true)));
}

static struct node *difference(struct tape *tape, struct node *x, struct node *m, uint32_t dims)
{
    if (!tape_is_model(tape)) return node_subtract(tape, x, m);
    struct node *d = node_subtract(tape, x, node_detach(tape, m));
    uint32_t *kept = tape_allocate(tape, 1, sizeof *kept);
    if (!kept) return d;
    *kept = dims;
    return node_stated_gradient(tape, d, 2, (struct node *[]){ x, m }, difference_backward, kept);
}

struct node *compose_normalize(struct tape *tape, struct node *x, uint32_t dims, double eps,
                               struct node **mean, struct node **rstd)
{
    x = node_to_real(tape, x);
    tape_defer(tape);
    struct node *m = node_mean(tape, x, dims, true);
    struct node *d = difference(tape, x, m, dims);
    struct node *total = node_sum(tape, node_multiply(tape, d, d), dims, true), *shift = NULL;
    double count = (double)x->n / (double)total->n;
    if (tape_is_model(
            tape)) { /* a line shares the error of its mean, so it is kept apart: as a shift by 0 */
        m = updated_mean(tape, m, total, count);
        shift = node_subtract(tape, node_detach(tape, m), m);
        total = node_add(tape, updated_total(tape, total, m, count),
                         node_scale(tape, node_apply(tape, "square", shift), 2 * count));
    }
    struct node *variance = node_divide(tape, total, node_scalar(tape, count));
    if (tape_has_form(tape, FORM_ONE_PASS))
        variance = node_scale(tape, one_pass_squares(tape, x, m, dims),
                              (double)variance->n / (double)x->n);
    struct node *r = node_apply(tape, "rsqrt", node_offset(tape, variance, eps));
    if (mean) *mean = m;
    if (rstd) *rstd = r;
    struct node *y = node_multiply(tape, d, r);
    if (shift) y = node_add(tape, y, node_multiply(tape, shift, r));
    return compose_folded(tape, y, x, m, r);
}

/* PyTorch's kernels for the processor (LayerNormBackwardKernelImplInternal in aten/src/ATen/native/cpu/layer_norm_kernel.cpp,
 * GroupNormInputBackward in group_norm_kernel.cpp) form, of lines of n with cotangents c of y,
 *     ds = sum c x,  db = sum c,  b = (db m - ds) r^3 / n,  c' = -b m - db r / n,  dx = r c + b x + c'.
 * Ours sums c d, d = x - m, where theirs is ds - db m, whose terms are m / d times as large: what the two sums round is left when
 * they cancel. That is the error of sum c m and of m sum c, each by itself, for c without errors: those go into both alike. But c is
 * a product by the weight, rounded once for db, and for ds after dy x has been: two roundings more of each term of one. The
 * cotangent of r is sum c d and has the error. (That of m reaches it as well, by sum c: lines whose c add up to little show this one.) */
static void folded_backward(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    struct node *r = node->inputs[2];
    const uint32_t *dims = parameters;
    tape_accumulate(tape, node->inputs[1], cotangent);
    if (!r->tracked || tape_failed(tape)) return;
    struct node *c = node_detach(tape, cotangent), *m = node->inputs[3];
    struct node *terms = node_multiply(tape, c, m);
    terms = node_model_own_error(tape, terms, terms, 2);
    struct node *shift = node_multiply(tape, node_sum(tape, c, *dims, true), m);
    struct node *left = node_subtract(tape, node_sum(tape, terms, *dims, true), shift);
    tape_accumulate(tape, r, error_alone(tape, left));
}

struct node *compose_folded_gradient(struct tape *tape, struct node *y, uint32_t dims,
                                     struct node *m, struct node *r)
{
    /* Roundings to 16 bits are 2^13 times as large. */
    if (!tape_is_model(tape) || tape->stage > 0 || tape_failed(tape)) return y;
    uint32_t *kept = tape_allocate(tape, 1, sizeof *kept);
    if (!kept) return y;
    *kept = dims;
    m = node_detach(tape, m); /* its error comes by the shift */
    return node_stated_gradient(tape, y, 3, (struct node *[]){ y, r, m }, folded_backward, kept);
}
