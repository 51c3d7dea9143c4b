/* Matrix products in their many spellings; all end in the certified product. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/call/schema.h"
#include "bench/ops/integers.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/promotion.h"

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
    int64_t fa[2] = { -1, a->shape[a->rank - 1] }, fb[2] = { -1, b->shape[b->rank - 1] };
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < a->rank - 1; d++) shape[rank++] = a->shape[d];
    for (int d = 0; d < b->rank - 1 && rank < TENSOR_MAX_RANK; d++) shape[rank++] = b->shape[d];
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

/* beta * input + alpha * product; a beta of 0 ignores the input, NaN or not. */
static struct node *add_scaled(struct call *call, struct node *product, enum dtype dtype)
{
    struct tape *tape = call->tape;
    struct node *input = call_tensor(call, "input");
    if (dtype_is_integral(dtype)) { /* the factors are cut to the result's dtype */
        struct node *factors[2] = { call_node(call, call_value(call, "beta")),
                                    call_node(call, call_value(call, "alpha")) };
        for (int k = 0; k < 2; k++) factors[k] = node_to_integer(tape, factors[k], dtype);
        return node_add_as(tape, dtype, node_multiply_as(tape, dtype, input, factors[0]),
                           node_multiply_as(tape, dtype, product, factors[1]));
    }
    double beta = call_real(call, "beta"), alpha = call_real(call, "alpha");
    product = node_scale(tape, product, alpha);
    struct node *never = node_integer_constant(tape, DT_BOOL, 0, 0, NULL);
    struct node *term =
        beta == 0 ? node_select(tape, never, node_to_real(tape, input), node_scalar(tape, 0))
                  : node_scale(tape, input, beta);
    return node_add(tape, term, product);
}

static void addmm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, call->arguments.schema->parameters[1].name);
    struct node *b = call_tensor(call, call->arguments.schema->parameters[2].name);
    struct node *input = call_tensor(call, "input"), *product;
    enum dtype dtype = call_result_type(call, (struct node *[]){ input, a, b }, 3);
    if (call->op->text) { /* addr: outer product */
        int64_t column[2] = { -1, 1 };
        if (!call_require(call, a->rank == 1 && b->rank == 1, "addr takes two vectors")) return;
        product = node_multiply_as(tape, dtype, node_reshape(tape, a, 2, column), b);
    } else {
        product = compose_matmul(tape, a, b);
    }
    if (call->op->detail) product = node_sum(tape, product, 1, false); /* addbmm sums the batch */
    call_return_typed(call, add_scaled(call, product, dtype), dtype);
}

static void linear(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight");
    struct node *b = call_optional_tensor(call, "bias");
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
    call_return(call, y);
}

/* ---- contractions by index letters ------------------------------------------------------------ */

/* einsum and tensordot reduce to: bring each operand to (batch, left, contracted) order, multiply
 * as batched matrices, and permute the result. Letters are numbered 0..51. */
enum { LETTERS = 52 };

struct operand {
    struct node *node;
    int letters[TENSOR_MAX_RANK]; /* of each dimension */
};

static int letter_number(char c)
{
    if (c >= 'a' && c <= 'z') return c - 'a';
    return c - 'A' + 26;
}

static int position_of(const struct operand *o, int letter)
{
    for (int d = 0; d < o->node->rank; d++)
        if (o->letters[d] == letter) return d;
    return -1;
}

/* A repeated letter inside one operand: take the diagonal. */
static void take_diagonals(struct tape *tape, struct operand *o)
{
    for (int d = 0; d < o->node->rank && !tape_failed(tape); d++)
        for (int e = d + 1; e < o->node->rank; e++) {
            if (o->letters[d] != o->letters[e]) continue;
            int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];
            shape_strides(stride, o->node->rank, o->node->shape);
            memcpy(shape, o->node->shape, sizeof shape);
            if (shape[d] != shape[e]) {
                tape_fail(tape, STATUS_SKIP, "a repeated index has two different extents");
                return;
            }
            stride[d] += stride[e];
            for (int k = e; k + 1 < o->node->rank; k++) {
                shape[k] = shape[k + 1];
                stride[k] = stride[k + 1];
                o->letters[k] = o->letters[k + 1];
            }
            o->node = node_view(tape, o->node, o->node->rank - 1, shape, stride, 0);
            e--;
        }
}

/* Sum out the letters that nobody else needs. */
static void sum_private(struct tape *tape, struct operand *o, const bool *needed)
{
    uint32_t dims = 0;
    int kept = 0;
    for (int d = 0; d < o->node->rank; d++)
        if (!needed[o->letters[d]]) dims |= 1u << d;
        else o->letters[kept++] = o->letters[d];
    if (dims) o->node = node_sum(tape, o->node, dims, false);
}

/* Contract two operands; letters in `kept` survive. */
static struct operand contract(struct tape *tape, struct operand a, struct operand b,
                               const bool *kept)
{
    int batch[LETTERS], left[LETTERS], right[LETTERS], inner_letters[LETTERS];
    int nb = 0, nl = 0, nr = 0, ni = 0;
    struct operand out = { node_scalar(tape, 0), { 0 } };

    bool needed[LETTERS];
    for (int i = 0; i < LETTERS; i++) needed[i] = kept[i] || position_of(&b, i) >= 0;
    sum_private(tape, &a, needed);
    for (int i = 0; i < LETTERS; i++) needed[i] = kept[i] || position_of(&a, i) >= 0;
    sum_private(tape, &b, needed);
    if (tape_failed(tape)) return out;
    for (int d = 0; d < a.node->rank; d++) {
        int letter = a.letters[d];
        if (position_of(&b, letter) < 0) left[nl++] = letter;
        else if (kept[letter]) batch[nb++] = letter;
        else inner_letters[ni++] = letter;
    }
    for (int d = 0; d < b.node->rank; d++)
        if (position_of(&a, b.letters[d]) < 0) right[nr++] = b.letters[d];

    /* Extents of 1 broadcast against the other operand's. */
    int64_t extent[LETTERS];
    for (int i = 0; i < LETTERS; i++) {
        int pa = position_of(&a, i), pb = position_of(&b, i);
        int64_t ea = pa >= 0 ? a.node->shape[pa] : 1, eb = pb >= 0 ? b.node->shape[pb] : 1;
        extent[i] = ea == 1 ? eb : ea;
        if (ea != eb && ea != 1 && eb != 1 && pa >= 0 && pb >= 0)
            tape_fail(tape, STATUS_SKIP, "a contracted index has extents %lld and %lld",
                      (long long)ea, (long long)eb);
    }
    struct operand *both[2] = { &a, &b };
    int64_t sizes[2][3] = { { 1, 1, 1 }, { 1, 1, 1 } };
    for (int k = 0; k < 2 && !tape_failed(tape); k++) {
        int order[TENSOR_MAX_RANK], at = 0;
        int64_t shape[TENSOR_MAX_RANK];
        const int *groups[3] = { batch, k ? inner_letters : left, k ? right : inner_letters };
        int counts[3] = { nb, k ? ni : nl, k ? nr : ni };
        for (int s = 0; s < 3; s++)
            for (int i = 0; i < counts[s]; i++) {
                shape[at] = extent[groups[s][i]];
                sizes[k][s] *= shape[at];
                order[at++] = position_of(both[k], groups[s][i]);
            }
        struct node *x = node_permute(tape, both[k]->node, order);
        x = node_broadcast(tape, x, at, shape);
        both[k]->node = node_reshape(tape, x, 3, sizes[k]);
    }
    struct node *y = node_matmul(tape, a.node, false, b.node, false);
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    const int *groups[3] = { batch, left, right };
    const int counts[3] = { nb, nl, nr };
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < counts[s]; i++) {
            if (rank == TENSOR_MAX_RANK) {
                tape_fail(tape, STATUS_SKIP, "a contraction of more than %d dimensions",
                          TENSOR_MAX_RANK);
                return out;
            }
            out.letters[rank] = groups[s][i];
            shape[rank++] = extent[groups[s][i]];
        }
    out.node = node_reshape(tape, y, rank, shape);
    return out;
}

/* Letters of one operand's subscripts; an ellipsis takes the upper-case letters from the end. */
static const char *read_subscripts(struct call *call, const char *at, struct operand *o,
                                   int ellipsis_rank)
{
    int named = 0, d = 0;
    for (const char *p = at; *p && *p != ',' && *p != '-'; p++) named += *p != '.' && *p != ' ';
    int hidden = o->node->rank - named;
    for (; *at && *at != ',' && *at != '-'; at++) {
        if (*at == ' ') continue;
        if (*at == '.') {
            for (int i = 0; i < hidden && d < TENSOR_MAX_RANK; i++)
                o->letters[d++] = LETTERS - 1 - ellipsis_rank + (ellipsis_rank - hidden) + i + 1;
            at += 2;
        } else if (isalpha((unsigned char)*at) && d < TENSOR_MAX_RANK) {
            o->letters[d++] = letter_number(*at);
        } else {
            call_fail(call, "einsum cannot read its equation");
            return at;
        }
    }
    if (d != o->node->rank)
        call_fail(call, "einsum: %d subscripts for %d dimensions", d, o->node->rank);
    return *at == ',' ? at + 1 : at;
}

static int einsum_operands(struct call *call, struct operand *operands, int most)
{
    int count;
    struct node **nodes = call_tensors(call, "operands", &count);
    if (!call_require(call, count >= 1 && count <= most, "einsum of %d operands", count)) return 0;
    for (int i = 0; i < count; i++) operands[i].node = nodes[i];
    return count;
}

/* The letters of the result, given or implied: ellipsis first, then letters seen once, sorted. */
static int result_letters(struct call *call, const char *arrow, const int *seen, int ellipsis_rank,
                          int *letters)
{
    int count = 0;
    const char *at = arrow ? arrow + 2 : NULL;
    if (!arrow)
        for (int i = 0; i < ellipsis_rank; i++) letters[count++] = LETTERS - ellipsis_rank + i;
    for (int i = 0; !arrow && i < LETTERS - ellipsis_rank; i++) {
        int c = i < 26 ? i + 26 : i - 26; /* upper case sorts before lower case */
        if (c < LETTERS - ellipsis_rank && seen[c] == 1 && count < TENSOR_MAX_RANK)
            letters[count++] = c;
    }
    for (; at && *at; at++) {
        if (*at == ' ') continue;
        if (count >= TENSOR_MAX_RANK) break;
        if (*at == '.') {
            for (int i = 0; i < ellipsis_rank && count < TENSOR_MAX_RANK; i++)
                letters[count++] = LETTERS - ellipsis_rank + i;
            at += 2;
        } else if (isalpha((unsigned char)*at)) {
            letters[count++] = letter_number(*at);
        } else {
            call_fail(call, "einsum cannot read its equation");
            return 0;
        }
    }
    return count;
}

static void return_contraction(struct call *call, struct operand *operands, int count,
                               const int *letters, int letter_count)
{
    struct tape *tape = call->tape;
    struct operand total = operands[0];
    enum dtype dtype = total.node->dtype;

    for (int k = 1; k <= count && !tape_failed(tape); k++) {
        bool kept[LETTERS] = { false };
        for (int i = 0; i < letter_count; i++) kept[letters[i]] = true;
        for (int later = k + 1; later < count; later++)
            for (int d = 0; d < operands[later].node->rank; d++)
                kept[operands[later].letters[d]] = true;
        if (k == count) {
            sum_private(tape, &total, kept);
        } else {
            dtype = dtype_promote(dtype, operands[k].node->dtype);
            total = contract(tape, total, operands[k], kept);
        }
    }
    int order[TENSOR_MAX_RANK];
    for (int i = 0; i < letter_count && !tape_failed(tape); i++) {
        order[i] = position_of(&total, letters[i]);
        if (!call_require(call, order[i] >= 0,
                          "einsum: the result has an index that no operand has"))
            return;
    }
    if (!call_require(call, letter_count == total.node->rank, "einsum cannot read its equation"))
        return;
    call_return_typed(call, node_permute(tape, total.node, order), dtype);
}

static void einsum(struct call *call)
{
    struct operand operands[16];
    const char *equation = call_string(call, "equation"), *arrow = strstr(equation, "->");
    int seen[LETTERS] = { 0 }, letters[TENSOR_MAX_RANK], ellipsis_rank = 0;
    int count = einsum_operands(call, operands, 16);

    const char *at = equation;
    for (int k = 0; k < count; k++) { /* how many dimensions the longest ellipsis stands for */
        int named = 0;
        bool dots = false;
        for (; *at && *at != ',' && *at != '-'; at++) {
            dots = dots || *at == '.';
            named += isalpha((unsigned char)*at) != 0;
        }
        if (*at == ',') at++;
        int hidden = operands[k].node->rank - named;
        if (dots && hidden > ellipsis_rank) ellipsis_rank = hidden;
    }
    at = equation;
    for (int k = 0; k < count && !tape_failed(call->tape); k++) {
        at = read_subscripts(call, at, &operands[k], ellipsis_rank);
        if (tape_failed(call->tape)) return;
        for (int d = 0; d < operands[k].node->rank; d++) seen[operands[k].letters[d]]++;
        take_diagonals(call->tape, &operands[k]);
    }
    if (!call_require(call, !*at || *at == '-', "einsum cannot read its equation")) return;
    if (tape_failed(call->tape) || !count) return;
    int letter_count = result_letters(call, arrow, seen, ellipsis_rank, letters);
    return_contraction(call, operands, count, letters, letter_count);
}

static void tensordot(struct call *call)
{
    struct operand o[2] = { { call_tensor(call, "a"), { 0 } }, { call_tensor(call, "b"), { 0 } } };
    int64_t dims[2][TENSOR_MAX_RANK];
    int count[2] = { 0, 0 }, letters[TENSOR_MAX_RANK], letter_count = 0;
    const struct value *v = call_value(call, "dims");

    if (tape_failed(call->tape)) return;
    if (value_is_sequence(v) && v->list.count == 2) {
        for (int k = 0; k < 2; k++) {
            const struct value *list = &v->list.items[k];
            size_t n = value_is_sequence(list) ? list->list.count : 1;
            for (size_t i = 0; i < n && i < TENSOR_MAX_RANK; i++) {
                const struct value *item = value_is_sequence(list) ? &list->list.items[i] : list;
                dims[k][count[k]++] = wrap_dim(call, item->integer, o[k].node->rank);
            }
        }
    } else {
        int64_t n = v->kind == VALUE_INT ? v->integer : 2;
        if (!call_require(call, n >= 0 && n <= o[0].node->rank && n <= o[1].node->rank,
                          "tensordot cannot contract %lld dimensions of %d and %d", (long long)n,
                          o[0].node->rank, o[1].node->rank))
            return;
        for (int64_t i = 0; i < n; i++) {
            dims[0][count[0]++] = o[0].node->rank - n + i;
            dims[1][count[1]++] = i;
        }
    }
    if (!call_require(call, count[0] == count[1],
                      "tensordot contracts unequal numbers of dimensions"))
        return;
    if (!call_require(call, o[0].node->rank + o[1].node->rank - 2 * count[0] <= TENSOR_MAX_RANK,
                      "a contraction of more than %d dimensions", TENSOR_MAX_RANK))
        return;
    int next = count[0];
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < o[k].node->rank; d++) {
            o[k].letters[d] = -1;
            for (int i = 0; i < count[k]; i++)
                if (dims[k][i] == d) o[k].letters[d] = i;
            if (o[k].letters[d] < 0) letters[letter_count++] = o[k].letters[d] = next++;
        }
    return_contraction(call, o, 2, letters, letter_count);
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
    { "baddbmm", TENSOR | TORCH, "(Tensor input, Tensor batch1, Tensor batch2" SCALED, addmm, OP_ONE_NODE, 0, NULL },
    { "linear", FUNCTIONAL, "(Tensor input, Tensor weight, Tensor? bias=None)", linear, 0, 0, NULL },
    { "bilinear", FUNCTIONAL | TORCH, "(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", bilinear, 0, 0, NULL },
    { "kron", TENSOR | TORCH, "(Tensor input, Tensor other)", kron, 0, 0, NULL },
    { "chain_matmul", TORCH, "(*Tensor[] matrices)", chain_matmul, 0, 0, NULL },
    { "linalg.multi_dot|multi_dot", TORCH, "(Tensor[] matrices)", chain_matmul, 0, 0, NULL },
    { "einsum", TORCH, "(str equation, *Tensor[] operands)", einsum, 0, 0, NULL },
    { "tensordot", TORCH, "(Tensor a, Tensor b, Any dims=2)", tensordot, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(matmul);
