/* Matrix products in their many spellings; all end in the certified product. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/call/schema.h"
#include "bench/ops/integers.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/begun_sums.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"

static void matmul(struct call *call)
{
    struct node *a = call_tensor(call, "input"),
                *b = call_tensor(call, call->arguments.schema->parameters[1].name);
    if (call->op->detail) { /* a stated rank for each factor */
        int ra = (int)(call->op->detail / 10), rb = (int)(call->op->detail % 10);
        if (!call_require(call, a->rank == ra && b->rank == rb,
                          "%s takes tensors of %d and %d dimensions", call->api_case->api, ra, rb))
            return;
    }
    tape_defer(call->tape);
    call_return(call, compose_matmul(call->tape, a, b));
}

/* vdot conjugates its first factor; dot and inner do not. */
static void vdot(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    if (!call_require(call, a->rank == 1 && b->rank == 1, "vdot takes two vectors")) return;
    if (a->imaginary)
        a = node_complex(tape, node_real_part(tape, a),
                         node_negate(tape, node_imaginary_part(tape, a)));
    call_return(call, compose_matmul(tape, a, b));
}

/* Products along dim with broadcasting; the first factor conjugated. */
static void vecdot(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "x"), *b = call_tensor(call, "y");
    enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
    if (a->imaginary)
        a = node_complex(tape, node_real_part(tape, a),
                         node_negate(tape, node_imaginary_part(tape, a)));
    struct node *p = node_multiply_as(tape, dtype, a, b);
    call_return_typed(call, node_sum(tape, p, 1u << call_dim(call, "dim", p->rank), false), dtype);
}

static void inner(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    if (tape_failed(tape)) return;
    if (!a->rank || !b->rank) {
        enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
        call_return_typed(call, node_multiply_as(tape, dtype, a, b), dtype);
        return;
    }
    int64_t fa[2] = { 1, a->shape[a->rank - 1] }, fb[2] = { 1, b->shape[b->rank - 1] };
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < a->rank - 1; d++) shape[rank++] = a->shape[d];
    for (int d = 0; d < b->rank - 1 && rank < TENSOR_MAX_RANK; d++) shape[rank++] = b->shape[d];
    for (int d = 0; d < a->rank - 1; d++) fa[0] *= a->shape[d];
    for (int d = 0; d < b->rank - 1; d++) fb[0] *= b->shape[d];
    struct node *x = node_reshape(tape, a, 2, fa),
                *y = node_transpose(tape, node_reshape(tape, b, 2, fb), 0, 1);
    call_return(call, node_reshape(tape, compose_matmul(tape, x, y), rank, shape));
}

static void outer(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "vec2");
    int64_t column[2] = { -1, 1 };
    if (!call_require(call, a->rank == 1 && b->rank == 1, "outer takes two vectors")) return;
    enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
    call_return_typed(call, node_multiply_as(tape, dtype, node_reshape(tape, a, 2, column), b),
                      dtype);
}

/* In a model: y, a sum that kernels begin with `start`, term by term of `terms`: every partial sum is as large. So batches are summed, and
 * the columns of a matrix by BLAS's gemv. */
static struct node *summed_from(struct tape *tape, struct node *y, struct node *start,
                                int64_t terms)
{
    if (!tape_is_model(tape)) return y;
    double roundings = tape_is_typical(tape) ? 2 * sqrt((double)terms) : (double)terms;
    start = node_broadcast(tape, node_to_real(tape, start), y->rank, y->shape);
    if (!y->imaginary) return start->imaginary ? y : node_model_error(tape, y, start, roundings);
    return node_complex(
        tape,
        node_model_error(tape, node_real_part(tape, y), node_real_part(tape, start), roundings),
        node_model_error(tape, node_imaginary_part(tape, y), node_imaginary_part(tape, start),
                         roundings));
}

/* beta * input + alpha * product; a beta of 0 ignores the input, NaN or not. */
static struct node *add_scaled(struct call *call, struct node *input, struct node *product,
                               enum dtype dtype)
{
    struct tape *tape = call->tape;
    if (dtype_is_integral(dtype)) { /* the factors are cut to the result's dtype */
        struct node *factors[2] = { call_node(call, call_value(call, "beta")),
                                    call_node(call, call_value(call, "alpha")) };
        for (int k = 0; k < 2; k++) factors[k] = node_to_integer(tape, factors[k], dtype);
        return node_add_as(tape, dtype, node_multiply_as(tape, dtype, input, factors[0]),
                           node_multiply_as(tape, dtype, product, factors[1]));
    }
    double beta = call_real(call, "beta"), alpha = call_real(call, "alpha");
    product = node_scale(tape, product, alpha);
    /* In a model a gradient is multiplied before it is summed to the shape of the input, as PyTorch does it: products round. */
    if (tape_is_model(tape) && beta != 1 && input->n < product->n)
        input = node_broadcast(tape, node_to_real(tape, input), product->rank, product->shape);
    struct node *never = node_integer_constant(tape, DT_BOOL, 0, 0, NULL);
    struct node *term =
        beta == 0 ? node_select(tape, never, node_to_real(tape, input), node_scalar(tape, 0))
                  : node_scale(tape, input, beta);
    return node_add(tape, term, product);
}

/* In a model: the product of a and b as a kernel forms it that multiplies its terms by alpha, or begins with the input. */
static struct node *with_scaled_terms(struct call *call, struct node *input, struct node *product,
                                      struct node *a, struct node *b)
{
    struct tape *tape = call->tape;
    double beta = call_real(call, "beta");
    if (tape_failed(tape) || product->integer || !a->rank) return product;
    struct begun_sum sum = { a, b, NULL, call_real(call, "alpha"), a->shape[a->rank - 1] };
    if (tape_is_model(tape) && beta != 0)
        sum.start = node_scale(tape, node_to_real(tape, input), beta);
    if (!begun_sums_round(tape, product, &sum)) return product;
    struct node *sizes = compose_matmul(tape, begun_sums_sizes(tape, a), begun_sums_sizes(tape, b));
    return begun_sums_rounded(tape, product, sizes, sum.k);
}

static void addmm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, call->arguments.schema->parameters[1].name);
    struct node *b = call_tensor(call, call->arguments.schema->parameters[2].name);
    struct node *input = call_tensor(call, "input"), *product;
    enum dtype dtype = call_result_type(call, (struct node *[]){ input, a, b }, 3);
    /* Of batches it is that of the second factor; the input is cast. */
    if (call->op->flags & OP_CASTS_INPUT) {
        dtype = b->dtype;
        input = node_cast_operand(tape, input, dtype);
    }
    if (call->op->text) { /* addr: outer product */
        int64_t column[2] = { -1, 1 };
        if (!call_require(call, a->rank == 1 && b->rank == 1, "addr takes two vectors")) return;
        product = node_multiply_as(tape, dtype, node_reshape(tape, a, 2, column), b);
    } else {
        product = compose_matmul(tape, a, b);
    }
    if (!call->op->text) product = with_scaled_terms(call, input, product, a, b);
    if (call->op->detail) product = node_sum(tape, product, 1, false); /* addbmm sums the batch */
    struct node *y = add_scaled(call, input, product, dtype);
    if (tape_failed(tape)) return;
    bool by_columns = b->rank == 1 && !call->op->text;
    if ((a->rank == 3 || by_columns) && !y->integer && call_real(call, "beta") != 0)
        y = summed_from(tape, y, node_scale(tape, input, call_real(call, "beta")),
                        a->shape[a->rank - 1] * (call->op->detail ? a->shape[0] : 1));
    call_return_typed(call, y, dtype);
}

static void linear(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight");
    struct node *b = call_optional_tensor(call, "bias");
    tape_defer(call->tape);
    call_return(call, compose_linear(call->tape, x, w, b));
}

/* y_k = x1^T W_k x2 + b_k */
static void bilinear(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x1 = call_tensor(call, "input1"), *x2 = call_tensor(call, "input2");
    struct node *w = call_tensor(call, "weight"), *b = call_optional_tensor(call, "bias");
    if (!call_require(call, x1->rank && w->rank == 3,
                      "bilinear takes vectors and a weight of three dimensions"))
        return;
    int64_t k = w->shape[0], i = w->shape[1], j = w->shape[2], shape[TENSOR_MAX_RANK];
    int64_t rows[2] = { -1, i }, rows2[2] = { -1, j };
    struct node *left = node_reshape(tape, x1, 2, rows), *right = node_reshape(tape, x2, 2, rows2);
    int order[3] = { 1, 0, 2 };
    int64_t flat[2] = { i, k * j };
    struct node *t =
        compose_matmul(tape, left, node_reshape(tape, node_permute(tape, w, order), 2, flat));
    int64_t split[3] = { t->shape[0], k, j }, lone[3] = { t->shape[0], 1, j };
    struct node *y =
        node_multiply(tape, node_reshape(tape, t, 3, split), node_reshape(tape, right, 3, lone));
    y = node_sum(tape, y, 4, false);
    memcpy(shape, x1->shape, sizeof shape);
    shape[x1->rank - 1] = k;
    y = node_reshape(tape, y, x1->rank, shape);
    call_return(call, b ? node_add(tape, y, b) : y);
}

static void kron(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t sa[TENSOR_MAX_RANK], sb[TENSOR_MAX_RANK], out[TENSOR_MAX_RANK];
    if (!call_require(call, 2 * rank <= TENSOR_MAX_RANK, "kron of %d dimensions", rank)) return;
    for (int d = 0; d < rank; d++) {
        int da = d - (rank - a->rank), db = d - (rank - b->rank);
        int64_t ea = da >= 0 ? a->shape[da] : 1, eb = db >= 0 ? b->shape[db] : 1;
        sa[2 * d] = ea;
        sa[2 * d + 1] = 1;
        sb[2 * d] = 1;
        sb[2 * d + 1] = eb;
        out[d] = ea * eb;
    }
    enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
    a = node_staged_operand(tape, a, dtype);
    b = node_staged_operand(tape, b, dtype);
    struct node *y = node_multiply_as(tape, dtype, node_reshape(tape, a, 2 * rank, sa),
                                      node_reshape(tape, b, 2 * rank, sb));
    call_return_typed(call, node_reshape(tape, y, rank, out), dtype);
}

static void chain_matmul(struct call *call)
{
    int count;
    struct node **matrices = call_tensors(call, "matrices", &count);
    if (!call_require(call, count, "a chain needs at least one matrix")) return;
    struct node *y = matrices[0];
    for (int i = 1; i < count; i++) y = compose_matmul(call->tape, y, matrices[i]);
    if (count > 2 && tape_is_model(call->tape)) { /* kernels take the cheapest order */
        struct node *other = matrices[count - 1];
        for (int i = count - 1; i-- > 0;) other = compose_matmul(call->tape, matrices[i], other);
        y = node_model_either(call->tape, y, other);
    }
    call_return(call, y);
}

/* Bytes multiplied into int32. */
static void integer_matmul(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "mat2");
    if (!call_require(call, a->integer && b->integer && a->rank == 2 && b->rank == 2,
                      "_int_mm takes two matrices of int8"))
        return;
    call_return(call, compose_matmul(tape, node_cast(tape, a, DT_I32), node_cast(tape, b, DT_I32)));
}

/* addmm, then relu. */
static void addmm_activation(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "mat1"), *b = call_tensor(call, "mat2"),
                *input = call_tensor(call, "input");
    if (!call_require(call, !call_bool(call, "use_gelu"),
                      "of gelu, devices have either of two forms here"))
        return;
    enum dtype dtype = call_result_type(call, (struct node *[]){ input, a, b }, 3);
    struct node *y = add_scaled(call, input, compose_matmul(tape, a, b), dtype);
    struct node *negative = node_compare(tape, COMPARE_LE, y, node_scalar(tape, 0));
    call_return_typed(call, node_select(tape, negative, node_scalar(tape, 0), y), dtype);
}

/* clang-format off */
#define SCALED ", *, Scalar beta=1, Scalar alpha=1)"
const struct op ops_matmul[] = {
    { "matmul|linalg.matmul", TENSOR | TORCH, "(Tensor input, Tensor other)", matmul, 0, 0, NULL },
    { "mm", TENSOR | TORCH, "(Tensor input, Tensor mat2)", matmul, OP_ONE_NODE, 22, NULL },
    { "bmm", TENSOR | TORCH, "(Tensor input, Tensor mat2)", matmul, OP_ONE_NODE, 33, NULL },
    { "mv", TENSOR | TORCH, "(Tensor input, Tensor vec)", matmul, OP_ONE_NODE, 21, NULL },
    { "dot", TENSOR | TORCH, "(Tensor input, Tensor tensor)", matmul, OP_ONE_NODE, 11, NULL },
    { "vdot", TENSOR | TORCH, "(Tensor input, Tensor other)", vdot, OP_ONE_NODE, 0, NULL },
    { "vecdot|linalg.vecdot", TORCH, "(Tensor x, Tensor y, *, int dim=-1)", vecdot, 0, 0, NULL },
    { "inner", TENSOR | TORCH, "(Tensor input, Tensor other)", inner, 0, 0, NULL },
    { "outer|ger", TENSOR | TORCH, "(Tensor input, Tensor vec2)", outer, 0, 0, NULL },
    { "addmm", TENSOR | TORCH, "(Tensor input, Tensor mat1, Tensor mat2" SCALED, addmm, OP_ONE_NODE, 0, NULL },
    { "addmv", TENSOR | TORCH, "(Tensor input, Tensor mat, Tensor vec" SCALED, addmm, OP_ONE_NODE, 0, NULL },
    { "addr", TENSOR | TORCH, "(Tensor input, Tensor vec1, Tensor vec2" SCALED, addmm, 0, 0, "outer" },
    { "addbmm", TENSOR | TORCH, "(Tensor input, Tensor batch1, Tensor batch2" SCALED, addmm, OP_ONE_NODE, 1, NULL },
    { "baddbmm", TENSOR | TORCH, "(Tensor input, Tensor batch1, Tensor batch2" SCALED, addmm, OP_ONE_NODE | OP_CASTS_INPUT, 0, NULL },
    { "_int_mm", TORCH, "(Tensor input, Tensor mat2)", integer_matmul, OP_NO_GRADIENT, 0, NULL },
    { "_addmm_activation", TORCH, "(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False)", addmm_activation, OP_ONE_NODE, 0, NULL },
    { "linear", FUNCTIONAL, "(Tensor input, Tensor weight, Tensor? bias=None)", linear, 0, 0, NULL },
    { "bilinear", FUNCTIONAL | TORCH, "(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", bilinear, 0, 0, NULL },
    { "kron", TENSOR | TORCH, "(Tensor input, Tensor other)", kron, 0, 0, NULL },
    { "chain_matmul", TORCH, "(*Tensor[] matrices)", chain_matmul, 0, 0, NULL },
    { "linalg.multi_dot|multi_dot", TORCH, "(Tensor[] matrices)", chain_matmul, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(matmul);
