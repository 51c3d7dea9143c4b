/* Matrix products in their many spellings; all end in the certified product. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "bench/compose.h"
#include "bench/schema.h"

static void matmul(struct call *call)
{
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, call->schema->parameters[1].name);
    if (call->op->detail && !graph_failed(call->graph)) { /* a stated rank for each factor */
        int ra = (int)(call->op->detail / 10), rb = (int)(call->op->detail % 10);
        if (a->rank != ra || b->rank != rb)
            call_fail(call, "%s takes tensors of %d and %d dimensions", call->c->api, ra, rb);
    }
    call_return(call, compose_matmul(call->graph, a, b));
}

/* vdot conjugates its first factor; dot and inner do not. */
static void vdot(struct call *call)
{
    struct graph *g = call->graph;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    if (a->rank != 1 || b->rank != 1) call_fail(call, "vdot takes two vectors");
    if (a->imaginary)
        a = node_complex(g, node_real_part(g, a), node_negate(g, node_imaginary_part(g, a)));
    call_return(call, compose_matmul(g, a, b));
}

/* Products along dim with broadcasting; the first factor conjugated. */
static void vecdot(struct call *call)
{
    struct graph *g = call->graph;
    struct node *a = call_tensor(call, "x"), *b = call_tensor(call, "y");
    enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
    if (a->imaginary)
        a = node_complex(g, node_real_part(g, a), node_negate(g, node_imaginary_part(g, a)));
    struct node *p = node_multiply(g, a, b);
    if (graph_failed(g)) return;
    call_return_typed(call, node_sum(g, p, 1u << call_dim(call, "dim", p->rank), false), dtype);
}

static void inner(struct call *call)
{
    struct graph *g = call->graph;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    if (graph_failed(g)) return;
    if (!a->rank || !b->rank) {
        call_return_typed(call, node_multiply(g, a, b), call_result_type(call, (struct node *[]){ a, b }, 2));
        return;
    }
    int64_t fa[2] = { -1, a->shape[a->rank - 1] }, fb[2] = { -1, b->shape[b->rank - 1] };
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < a->rank - 1; d++) shape[rank++] = a->shape[d];
    for (int d = 0; d < b->rank - 1 && rank < TENSOR_MAX_RANK; d++) shape[rank++] = b->shape[d];
    struct node *x = node_reshape(g, a, 2, fa), *y = node_transpose(g, node_reshape(g, b, 2, fb), 0, 1);
    call_return(call, node_reshape(g, compose_matmul(g, x, y), rank, shape));
}

static void outer(struct call *call)
{
    struct graph *g = call->graph;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "vec2");
    int64_t column[2] = { -1, 1 };
    if (a->rank != 1 || b->rank != 1) call_fail(call, "outer takes two vectors");
    enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
    call_return_typed(call, node_multiply(g, node_reshape(g, a, 2, column), b), dtype);
}

/* beta * input + alpha * product; a beta of 0 ignores the input, NaN or not. */
static struct node *add_scaled(struct call *call, struct node *product, enum dtype dtype)
{
    struct graph *g = call->graph;
    struct node *input = call_tensor(call, "input");
    double beta = call_real(call, "beta"), alpha = call_real(call, "alpha");
    if (dtype_is_integral(dtype)) { /* the factors are numbers of the result's dtype */
        beta = trunc(beta);
        alpha = trunc(alpha);
    }
    product = node_scale(g, product, alpha);
    if (graph_failed(g)) return product;
    struct node *never = node_integer_constant(g, DT_BOOL, 0, 0, NULL);
    struct node *term = beta == 0 ? node_select(g, never, node_to_real(g, input), node_scalar(g, 0))
                                  : node_scale(g, input, beta);
    return node_add(g, term, product);
}

static void addmm(struct call *call)
{
    struct graph *g = call->graph;
    struct node *a = call_tensor(call, call->schema->parameters[1].name);
    struct node *b = call_tensor(call, call->schema->parameters[2].name);
    struct node *product;
    if (call->op->text) { /* addr: outer product */
        int64_t column[2] = { -1, 1 };
        if (a->rank != 1 || b->rank != 1) call_fail(call, "addr takes two vectors");
        product = node_multiply(g, node_reshape(g, a, 2, column), b);
    } else {
        product = compose_matmul(g, a, b);
    }
    if (call->op->detail) product = node_sum(g, product, 1, false); /* addbmm sums the batch */
    struct node *input = call_tensor(call, "input");
    enum dtype dtype = call_result_type(call, (struct node *[]){ input, a, b }, 3);
    struct node *y = add_scaled(call, product, dtype);
    call_return_typed(call, dtype_is_integral(dtype) ? node_to_integer(g, y, dtype) : y, dtype);
}

static void linear(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight");
    struct node *b = call_optional_tensor(call, "bias");
    call_return(call, compose_linear(call->graph, x, w, b));
}

/* y_k = x1^T W_k x2 + b_k */
static void bilinear(struct call *call)
{
    struct graph *g = call->graph;
    struct node *x1 = call_tensor(call, "input1"), *x2 = call_tensor(call, "input2");
    struct node *w = call_tensor(call, "weight"), *b = call_optional_tensor(call, "bias");
    if (graph_failed(g)) return;
    if (!x1->rank || w->rank != 3) {
        call_fail(call, "bilinear takes vectors and a weight of three dimensions");
        return;
    }
    int64_t k = w->shape[0], i = w->shape[1], j = w->shape[2], shape[TENSOR_MAX_RANK];
    int64_t rows[2] = { -1, i }, rows2[2] = { -1, j };
    struct node *left = node_reshape(g, x1, 2, rows), *right = node_reshape(g, x2, 2, rows2);
    int order[3] = { 1, 0, 2 };
    int64_t flat[2] = { i, k * j };
    struct node *t = compose_matmul(g, left, node_reshape(g, node_permute(g, w, order), 2, flat));
    if (graph_failed(g)) return;
    int64_t split[3] = { t->shape[0], k, j }, lone[3] = { t->shape[0], 1, j };
    struct node *y = node_multiply(g, node_reshape(g, t, 3, split), node_reshape(g, right, 3, lone));
    y = node_sum(g, y, 4, false);
    memcpy(shape, x1->shape, sizeof shape);
    shape[x1->rank - 1] = k;
    y = node_reshape(g, y, x1->rank, shape);
    call_return(call, b ? node_add(g, y, b) : y);
}

static void kron(struct call *call)
{
    struct graph *g = call->graph;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t sa[TENSOR_MAX_RANK], sb[TENSOR_MAX_RANK], out[TENSOR_MAX_RANK];
    if (2 * rank > TENSOR_MAX_RANK) {
        call_fail(call, "kron of %d dimensions", rank);
        return;
    }
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
    struct node *y = node_multiply(g, node_reshape(g, a, 2 * rank, sa), node_reshape(g, b, 2 * rank, sb));
    call_return_typed(call, node_reshape(g, y, rank, out), dtype);
}

static void chain_matmul(struct call *call)
{
    int count;
    struct node **matrices = call_tensors(call, "matrices", &count);
    if (graph_failed(call->graph) || !count) {
        call_fail(call, "a chain of no matrices");
        return;
    }
    struct node *y = matrices[0];
    for (int i = 1; i < count; i++) y = compose_matmul(call->graph, y, matrices[i]);
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
static void take_diagonals(struct graph *g, struct operand *o)
{
    for (int d = 0; d < o->node->rank && !graph_failed(g); d++)
        for (int e = d + 1; e < o->node->rank; e++) {
            if (o->letters[d] != o->letters[e]) continue;
            int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];
            shape_strides(stride, o->node->rank, o->node->shape);
            memcpy(shape, o->node->shape, sizeof shape);
            if (shape[d] != shape[e]) {
                graph_fail(g, STATUS_SKIP, "a repeated index has two different extents");
                return;
            }
            stride[d] += stride[e];
            for (int k = e; k + 1 < o->node->rank; k++) {
                shape[k] = shape[k + 1];
                stride[k] = stride[k + 1];
                o->letters[k] = o->letters[k + 1];
            }
            o->node = node_view(g, o->node, o->node->rank - 1, shape, stride, 0);
            e--;
        }
}

/* Sum out the letters that nobody else needs. */
static void sum_private(struct graph *g, struct operand *o, const bool *needed)
{
    uint32_t dims = 0;
    int kept = 0;
    for (int d = 0; d < o->node->rank; d++)
        if (!needed[o->letters[d]]) dims |= 1u << d;
        else o->letters[kept++] = o->letters[d];
    if (dims) o->node = node_sum(g, o->node, dims, false);
}

/* Contract two operands; letters in `kept` survive. */
static struct operand contract(struct graph *g, struct operand a, struct operand b, const bool *kept)
{
    int batch[LETTERS], left[LETTERS], right[LETTERS], inner_letters[LETTERS];
    int nb = 0, nl = 0, nr = 0, ni = 0;
    struct operand out = { node_scalar(g, 0), { 0 } };

    bool needed[LETTERS];
    for (int i = 0; i < LETTERS; i++) needed[i] = kept[i] || position_of(&b, i) >= 0;
    sum_private(g, &a, needed);
    for (int i = 0; i < LETTERS; i++) needed[i] = kept[i] || position_of(&a, i) >= 0;
    sum_private(g, &b, needed);
    if (graph_failed(g)) return out;
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
            graph_fail(g, STATUS_SKIP, "a contracted index has extents %lld and %lld", (long long)ea,
                       (long long)eb);
    }
    struct operand *both[2] = { &a, &b };
    int64_t sizes[2][3] = { { 1, 1, 1 }, { 1, 1, 1 } };
    for (int k = 0; k < 2 && !graph_failed(g); k++) {
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
        struct node *x = node_permute(g, both[k]->node, order);
        x = node_broadcast(g, x, at, shape);
        both[k]->node = node_reshape(g, x, 3, sizes[k]);
    }
    struct node *y = node_matmul(g, a.node, false, b.node, false);
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    const int *groups[3] = { batch, left, right };
    const int counts[3] = { nb, nl, nr };
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < counts[s]; i++) {
            if (rank == TENSOR_MAX_RANK) {
                graph_fail(g, STATUS_SKIP, "a contraction of more than %d dimensions", TENSOR_MAX_RANK);
                return out;
            }
            out.letters[rank] = groups[s][i];
            shape[rank++] = extent[groups[s][i]];
        }
    out.node = node_reshape(g, y, rank, shape);
    return out;
}

/* Letters of one operand's subscripts; an ellipsis takes the upper-case letters from the end. */
static const char *read_subscripts(struct call *call, const char *at, struct operand *o, int ellipsis_rank)
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
    if (d != o->node->rank) call_fail(call, "einsum: %d subscripts for %d dimensions", d, o->node->rank);
    return *at == ',' ? at + 1 : at;
}

static int einsum_operands(struct call *call, struct operand *operands, int most)
{
    int count;
    struct node **nodes = call_tensors(call, "operands", &count);
    if (graph_failed(call->graph)) return 0;
    if (count < 1 || count > most) {
        call_fail(call, "einsum of %d operands", count);
        return 0;
    }
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
        if (c < LETTERS - ellipsis_rank && seen[c] == 1 && count < TENSOR_MAX_RANK) letters[count++] = c;
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
    struct graph *g = call->graph;
    struct operand total = operands[0];
    enum dtype dtype = total.node->dtype;

    for (int k = 1; k <= count && !graph_failed(g); k++) {
        bool kept[LETTERS] = { false };
        for (int i = 0; i < letter_count; i++) kept[letters[i]] = true;
        for (int later = k + 1; later < count; later++)
            for (int d = 0; d < operands[later].node->rank; d++) kept[operands[later].letters[d]] = true;
        if (k == count) {
            sum_private(g, &total, kept);
        } else {
            dtype = dtype_promote(dtype, operands[k].node->dtype);
            total = contract(g, total, operands[k], kept);
        }
    }
    int order[TENSOR_MAX_RANK];
    for (int i = 0; i < letter_count && !graph_failed(g); i++) {
        order[i] = position_of(&total, letters[i]);
        if (order[i] < 0) call_fail(call, "einsum: the result has an index that no operand has");
    }
    if (!graph_failed(g) && letter_count != total.node->rank)
        call_fail(call, "einsum cannot read its equation");
    if (!graph_failed(g)) call_return_typed(call, node_permute(g, total.node, order), dtype);
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
    for (int k = 0; k < count && !graph_failed(call->graph); k++) {
        at = read_subscripts(call, at, &operands[k], ellipsis_rank);
        if (graph_failed(call->graph)) return;
        for (int d = 0; d < operands[k].node->rank; d++) seen[operands[k].letters[d]]++;
        take_diagonals(call->graph, &operands[k]);
    }
    if (*at && *at != '-') call_fail(call, "einsum cannot read its equation");
    if (graph_failed(call->graph) || !count) return;
    int letter_count = result_letters(call, arrow, seen, ellipsis_rank, letters);
    return_contraction(call, operands, count, letters, letter_count);
}

static void tensordot(struct call *call)
{
    struct operand o[2] = { { call_tensor(call, "a"), { 0 } }, { call_tensor(call, "b"), { 0 } } };
    int64_t dims[2][TENSOR_MAX_RANK];
    int count[2] = { 0, 0 }, letters[TENSOR_MAX_RANK], letter_count = 0;
    const struct value *v = call_value(call, "dims");

    if (graph_failed(call->graph)) return;
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
        if (n < 0 || n > o[0].node->rank || n > o[1].node->rank) {
            call_fail(call, "tensordot cannot contract %lld dimensions of %d and %d", (long long)n, o[0].node->rank,
                      o[1].node->rank);
            return;
        }
        for (int64_t i = 0; i < n; i++) {
            dims[0][count[0]++] = o[0].node->rank - n + i;
            dims[1][count[1]++] = i;
        }
    }
    if (count[0] != count[1]) call_fail(call, "tensordot contracts unequal numbers of dimensions");
    if (o[0].node->rank + o[1].node->rank - 2 * count[0] > TENSOR_MAX_RANK)
        call_fail(call, "a contraction of more than %d dimensions", TENSOR_MAX_RANK);
    if (graph_failed(call->graph)) return;
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
