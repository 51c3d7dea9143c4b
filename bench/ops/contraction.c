/* Contractions by index letters: einsum and tensordot.
 *
 * Both bring each operand to (batch, left, contracted) order, multiply as batched matrices, and
 * permute the result. Letters are numbered 0..51.
 */
#include <ctype.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/promotion.h"

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

static int position_of(const struct operand *operand, int letter)
{
    for (int d = 0; d < operand->node->rank; d++)
        if (operand->letters[d] == letter) return d;
    return -1;
}

/* A repeated letter inside one operand: take the diagonal. */
static void take_diagonals(struct tape *tape, struct operand *operand)
{
    for (int d = 0; d < operand->node->rank && !tape_failed(tape); d++)
        for (int e = d + 1; e < operand->node->rank; e++) {
            if (operand->letters[d] != operand->letters[e]) continue;
            int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];
            shape_strides(stride, operand->node->rank, operand->node->shape);
            memcpy(shape, operand->node->shape, sizeof shape);
            if (shape[d] != shape[e]) {
                tape_fail(tape, STATUS_SKIP, "a repeated index has two different extents");
                return;
            }
            stride[d] += stride[e];
            for (int k = e; k + 1 < operand->node->rank; k++) {
                shape[k] = shape[k + 1];
                stride[k] = stride[k + 1];
                operand->letters[k] = operand->letters[k + 1];
            }
            operand->node =
                node_view(tape, operand->node, operand->node->rank - 1, shape, stride, 0);
            e--;
        }
}

/* Sum out the letters that nobody else needs. */
static void sum_private(struct tape *tape, struct operand *operand, const bool *needed)
{
    uint32_t dims = 0;
    int kept = 0;
    for (int d = 0; d < operand->node->rank; d++)
        if (!needed[operand->letters[d]]) dims |= 1u << d;
        else operand->letters[kept++] = operand->letters[d];
    if (dims) operand->node = node_sum(tape, operand->node, dims, false);
}

/* The letters of a contraction by what becomes of them. */
enum { BATCH, LEFT, RIGHT, CONTRACTED, GROUPS };

struct letter_groups {
    int letters[GROUPS][LETTERS], count[GROUPS];
    int64_t extent[LETTERS];
};

static void add_letter(struct letter_groups *groups, int group, int letter)
{
    groups->letters[group][groups->count[group]++] = letter;
}

static void sort_letters(struct letter_groups *groups, const struct operand *a,
                         const struct operand *b, const bool *kept)
{
    for (int d = 0; d < a->node->rank; d++) {
        int letter = a->letters[d];
        bool shared = position_of(b, letter) >= 0;
        add_letter(groups, !shared ? LEFT : kept[letter] ? BATCH : CONTRACTED, letter);
    }
    for (int d = 0; d < b->node->rank; d++)
        if (position_of(a, b->letters[d]) < 0) add_letter(groups, RIGHT, b->letters[d]);
}

/* The extent of each letter. One of 1 broadcasts against the other operand's. */
static void read_extents(struct tape *tape, struct letter_groups *groups, const struct operand *a,
                         const struct operand *b)
{
    for (int i = 0; i < LETTERS; i++) {
        int at_a = position_of(a, i), at_b = position_of(b, i);
        int64_t in_a = at_a >= 0 ? a->node->shape[at_a] : 1;
        int64_t in_b = at_b >= 0 ? b->node->shape[at_b] : 1;
        groups->extent[i] = in_a == 1 ? in_b : in_a;
        if (in_a != in_b && in_a != 1 && in_b != 1)
            tape_fail(tape, STATUS_SKIP, "a contracted index has extents %lld and %lld",
                      (long long)in_a, (long long)in_b);
    }
}

/* The operand as (batch, rows, columns), each of one group of letters. */
static struct node *as_matrices(struct tape *tape, const struct operand *operand,
                                const struct letter_groups *groups, int rows, int columns)
{
    const int in_order[3] = { BATCH, rows, columns };
    int order[TENSOR_MAX_RANK], rank = 0;
    int64_t shape[TENSOR_MAX_RANK], flat[3] = { 1, 1, 1 };
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < groups->count[in_order[k]]; i++) {
            int letter = groups->letters[in_order[k]][i];
            shape[rank] = groups->extent[letter];
            flat[k] *= shape[rank];
            order[rank++] = position_of(operand, letter);
        }
    struct node *x = node_permute(tape, operand->node, order);
    return node_reshape(tape, node_broadcast(tape, x, rank, shape), 3, flat);
}

/* Contract two operands; letters in `kept` survive. */
static struct operand contract(struct tape *tape, struct operand a, struct operand b,
                               const bool *kept)
{
    struct operand out = { node_scalar(tape, 0), { 0 } };
    struct letter_groups groups = { .count = { 0 } };
    bool needed[LETTERS];

    for (int i = 0; i < LETTERS; i++) needed[i] = kept[i] || position_of(&b, i) >= 0;
    sum_private(tape, &a, needed);
    for (int i = 0; i < LETTERS; i++) needed[i] = kept[i] || position_of(&a, i) >= 0;
    sum_private(tape, &b, needed);
    if (tape_failed(tape)) return out;
    sort_letters(&groups, &a, &b, kept);
    read_extents(tape, &groups, &a, &b);
    if (tape_failed(tape)) return out;
    struct node *left = as_matrices(tape, &a, &groups, LEFT, CONTRACTED);
    struct node *right = as_matrices(tape, &b, &groups, CONTRACTED, RIGHT);
    struct node *product = node_matmul(tape, left, false, right, false);
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    for (int group = BATCH; group <= RIGHT; group++)
        for (int i = 0; i < groups.count[group]; i++) {
            if (rank == TENSOR_MAX_RANK) {
                tape_fail(tape, STATUS_SKIP, "a contraction of more than %d dimensions",
                          TENSOR_MAX_RANK);
                return out;
            }
            int letter = groups.letters[group][i];
            out.letters[rank] = letter;
            shape[rank++] = groups.extent[letter];
        }
    out.node = node_reshape(tape, product, rank, shape);
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
    if (count == 1 && letter_count < operands[0].node->rank && operands[0].node->integer)
        operands[0].node = node_cast(call->tape, operands[0].node, DT_I64); /* as sum() has it */
    return_contraction(call, operands, count, letters, letter_count);
}

static void tensordot(struct call *call)
{
    struct operand operand[2] = { { call_tensor(call, "a"), { 0 } },
                                  { call_tensor(call, "b"), { 0 } } };
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
                dims[k][count[k]++] = wrap_dim(call, item->integer, operand[k].node->rank);
            }
        }
    } else {
        int64_t n = v->kind == VALUE_INT ? v->integer : 2;
        if (!call_require(call, n >= 0 && n <= operand[0].node->rank && n <= operand[1].node->rank,
                          "tensordot cannot contract %lld dimensions of %d and %d", (long long)n,
                          operand[0].node->rank, operand[1].node->rank))
            return;
        for (int64_t i = 0; i < n; i++) {
            dims[0][count[0]++] = operand[0].node->rank - n + i;
            dims[1][count[1]++] = i;
        }
    }
    if (!call_require(call, count[0] == count[1],
                      "tensordot contracts unequal numbers of dimensions"))
        return;
    if (!call_require(
            call, operand[0].node->rank + operand[1].node->rank - 2 * count[0] <= TENSOR_MAX_RANK,
            "a contraction of more than %d dimensions", TENSOR_MAX_RANK))
        return;
    int next = count[0];
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < operand[k].node->rank; d++) {
            operand[k].letters[d] = -1;
            for (int i = 0; i < count[k]; i++)
                if (dims[k][i] == d) operand[k].letters[d] = i;
            if (operand[k].letters[d] < 0) letters[letter_count++] = operand[k].letters[d] = next++;
        }
    return_contraction(call, operand, 2, letters, letter_count);
}

/* clang-format off */
const struct op ops_contraction[] = {
    { "einsum", TORCH, "(str equation, *Tensor[] operands)", einsum, 0, 0, NULL },
    { "tensordot", TORCH, "(Tensor a, Tensor b, Any dims=2)", tensordot, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(contraction);
