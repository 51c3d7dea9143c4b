/* Attention in parts, in torch_npu and MindSpeed: results over different keys brought together, and attention over the keys of two
 * axes at once. By their documentation (op-plugin, docs/context and docs/zh; MindSpeed, docs/ops).
 */
#include <math.h>
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/attention_layout.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- parts of one attention brought together ------------------------------------------------------------------ */

/* The largest of two, its choice detached: what is multiplied by it does not depend on it. */
static struct node *larger(struct tape *tape, struct node *a, struct node *b)
{
    return node_select(tape, node_compare(tape, COMPARE_GE, a, b), a, b);
}

/* The statistics (B, N, S, 8) or (T, N, 8), eight times the same, as (.., 1) to scale an output by. */
static struct node *lone(struct tape *tape, struct node *x)
{
    return node_slice(tape, x, x->rank - 1, 0, 1, 1);
}

/* Of two attentions over different keys: with m the larger maximum, the sums s_i exp(m_i - m), and the outputs in the
 * share of their sums. */
static void ring_attention_update(struct call *call)
{
    struct tape *tape = call->tape;
    static const char *const names[6] = { "prev_attn_out", "prev_softmax_max", "prev_softmax_sum",
                                          "cur_attn_out",  "cur_softmax_max",  "cur_softmax_sum" };
    struct node *x[6];
    const char *layout = call_string(call, "layout");
    bool packed = !strcmp(layout, "TND");
    int stats = packed ? 3 : 4;
    for (int i = 0; i < 6; i++) {
        x[i] = call_tensor(call, names[i]);
        const struct node *like = x[i % 3 == 0 ? 0 : 1];
        if (!call_require(
                call,
                !x[i]->integer && x[i]->rank == (i % 3 == 0 ? 3 : stats) &&
                    x[i]->rank == like->rank &&
                    !memcmp(x[i]->shape, like->shape, (size_t)like->rank * sizeof *like->shape),
                "%s does not have the dimensions of layout \"%s\"", names[i], layout))
            return;
    }
    if (!call_require(call, packed || !strcmp(layout, "SBH"), "layout \"%s\" is not known",
                      layout) ||
        !call_require(call, x[1]->shape[stats - 1] >= 1, "statistics without elements"))
        return;
    int64_t heads = x[1]->shape[1];
    enum dtype dtype = x[0]->dtype;
    if (!call_require(call,
                      packed ? x[0]->shape[0] == x[1]->shape[0] && x[0]->shape[1] == heads
                             : heads >= 1 && x[0]->shape[2] % heads == 0 &&
                                   x[0]->shape[0] == x[1]->shape[2] &&
                                   x[0]->shape[1] == x[1]->shape[0],
                      "the outputs do not fit the statistics"))
        return;
    struct node *most = larger(tape, x[1], x[4]);
    struct node *before = node_multiply(tape, x[2],
                                        node_apply(tape, "exp", node_subtract(tape, x[1], most))),
                *now = node_multiply(tape, x[5],
                                     node_apply(tape, "exp", node_subtract(tape, x[4], most)));
    struct node *sum = node_add(tape, before, now);
    struct node *outs[2] = { x[0], x[3] },
                *shares[2] = { lone(tape, node_divide(tape, before, sum)),
                               lone(tape, node_divide(tape, now, sum)) };
    for (int i = 0; i < 2; i++) {
        struct node *out = packed ? outs[i] : to_bnsd(call, outs[i], "SBH", heads);
        outs[i] = node_multiply(tape, out, shares[i]);
    }
    struct node *y = node_add(tape, outs[0], outs[1]);
    call_return_typed(call, packed ? y : from_bnsd(tape, y, "SBH"), dtype);
    call_return_typed(call, most, x[1]->dtype);
    call_return_typed(call, sum, x[2]->dtype);
}

/* Outputs (rows, width) of parts of the keys with the logarithms of their sums, (rows) each: the weighted sum, and with
 * update_type 1 its logarithm. */
static void attention_update(struct call *call)
{
    struct tape *tape = call->tape;
    int sums, outs;
    struct node **lse = call_tensors(call, "lse", &sums),
                **out = call_tensors(call, "local_out", &outs);
    int64_t kind = call_int(call, "update_type");
    if (!call_require(call, sums >= 1 && sums == outs && (kind == 0 || kind == 1),
                      "each of the outputs has a logarithm; update_type is 0 or 1"))
        return;
    int64_t rows = lse[0]->rank == 1 ? lse[0]->shape[0] : -1, row[2] = { 1, rows };
    struct node **parts = tape_allocate(tape, 2 * (size_t)sums, sizeof *parts);
    if (!parts) return;
    for (int i = 0; i < sums; i++) {
        if (!call_require(call,
                          lse[i]->rank == 1 && lse[i]->shape[0] == rows && !lse[i]->integer &&
                              out[i]->rank == 2 && out[i]->shape[0] == rows && !out[i]->integer &&
                              out[i]->shape[1] == out[0]->shape[1],
                          "outputs are (rows, width), their logarithms (rows)"))
            return;
        int64_t block[3] = { 1, rows, out[0]->shape[1] };
        parts[i] = node_reshape(tape, lse[i], 2, row);
        parts[sums + i] = node_reshape(tape, out[i], 3, block);
    }
    struct node *logs = node_concatenate(tape, parts, sums, 0);
    int64_t column[3] = { sums, rows, 1 };
    struct node *weights = node_reshape(tape, node_softmax(tape, logs, 0), 3, column);
    struct node *y =
        node_sum(tape, node_multiply(tape, node_concatenate(tape, parts + sums, sums, 0), weights),
                 1, false);
    call_return_typed(call, y, out[0]->dtype);
    if (kind == 1)
        call_return_typed(call, node_reshape(tape, node_logsumexp(tape, logs, 0), 1, &rows),
                          DT_F32);
    else call_return_none(call);
}

/* ---- attention over two graphs of edges -------------------------------------------------------------------------- */

/* x (batch, heads, a, b, ...) as (batch, heads, b, a, ...). */
static struct node *turned(struct tape *tape, struct node *x)
{
    return node_transpose(tape, x, 2, 3);
}

/* A statistic (..., 1), eight times, without a gradient. */
static void return_statistic(struct call *call, struct node *x, struct node *leaf)
{
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = 8;
    call_return_typed(
        call, node_broadcast(call->tape, node_flat(call->tape, x, 1, &leaf), x->rank, shape),
        DT_F32);
}

/* softmax over k of scale (q[n, m] k1[n, k] + q[n, m] k2[k, m]) by v1[n, k] + v2[k, m], with the largest score and the sum
 * of exponentials about it; q (batch, heads, n, m, width), k1 and v1 (.., n, k, ..), k2 and v2 (.., k, m, ..), a mask
 * (batch, 1, n, 1, k). */
static void floyd_attention(struct call *call)
{
    static const char *const names[5] = { "query_ik", "key_ij", "value_ij", "key_jk", "value_jk" };
    struct tape *tape = call->tape;
    struct node *x[5], *mask = call_optional_tensor(call, "atten_mask");
    bool fits = true;
    for (int i = 0; i < 5; i++) {
        x[i] = call_tensor(call, names[i]);
        fits = fits && x[i]->rank == 5 && !x[i]->integer && x[i]->n &&
               x[i]->shape[0] == x[0]->shape[0] && x[i]->shape[1] == x[0]->shape[1] &&
               x[i]->shape[4] == x[0]->shape[4];
    }
    for (int i = 1; fits && i < 3; i++)
        fits = x[i]->shape[2] == x[0]->shape[2] && x[i]->shape[3] == x[1]->shape[3] &&
               x[i + 2]->shape[2] == x[1]->shape[3] && x[i + 2]->shape[3] == x[0]->shape[3];
    if (!call_require(call, fits && (!mask || (mask->rank == 5 && mask->integer)),
                      "queries and two pairs of keys and values of five dimensions are needed"))
        return;
    struct node *first = compose_matmul(tape, x[0], node_transpose(tape, x[1], 3, 4));
    struct node *second =
        compose_matmul(tape, turned(tape, x[0]), node_transpose(tape, turned(tape, x[3]), 3, 4));
    struct node *scores = node_scale(tape, node_add(tape, first, turned(tape, second)),
                                     call_real(call, "scale_value"));
    if (tape_failed(tape)) return;
    struct node *left = mask ? node_select(tape, node_to_integer(tape, mask, DT_BOOL),
                                           node_scalar(tape, -INFINITY), scores)
                             : scores;
    struct node *largest = node_extremum(tape, left, 16, true, 1);
    struct node *sum =
        node_sum(tape, node_apply(tape, "exp", node_subtract(tape, left, largest)), 16, true);
    const double *value = node_values(tape, largest);
    for (size_t i = 0; !tape_failed(tape) && i < largest->n; i++)
        if (!call_require(call, value[i] != -INFINITY, "a query sees no key")) return;
    if (tape_failed(tape)) return;
    return_statistic(call, largest, x[0]);
    return_statistic(call, sum, x[0]);
    struct node *p = node_softmax(tape, left, 4);
    struct node *y =
        node_add(tape, compose_matmul(tape, p, x[2]),
                 turned(tape, compose_matmul(tape, turned(tape, p), turned(tape, x[4]))));
    call_return_typed(call, y, x[0]->dtype);
}

/* clang-format off */
const struct op ops_npu_attention_parts[] = {
    { "npu_ring_attention_update.npu_ring_attention_update", MINDSPEED, "(Tensor prev_attn_out, Tensor prev_softmax_max, Tensor prev_softmax_sum, Tensor cur_attn_out, Tensor cur_softmax_max, Tensor cur_softmax_sum, Tensor? actual_seq_qlen=None, str layout='SBH')", ring_attention_update, OP_NO_GRADIENT, 0, NULL },
    { "npu_fused_floyd_attention", NPU, "(Tensor query_ik, Tensor key_ij, Tensor value_ij, Tensor key_jk, Tensor value_jk, *, Tensor? atten_mask=None, float scale_value=1.0)", floyd_attention, OP_ONE_NODE, 0, NULL },
    { "npu_attention_update", NPU, "(Tensor[] lse, Tensor[] local_out, int update_type)", attention_update, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_attention_parts);
