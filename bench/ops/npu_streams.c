/* Streams of residuals that mix from layer to layer, and a recurrence whose state is a matrix for each head, in torch_npu; by
 * their documentation (op-plugin, docs/context).
 */
#include <math.h>
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/npu_groups.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- streams of residuals --------------------------------------------------------------------------- */

/* Stream j of the next layer: h_post[j] h_out + the sum over i of h_res[i][j] x[i] (x[j] without h_res). */
static void mhc_post(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *mixed = call_optional_tensor(call, "h_res"),
                *out = call_tensor(call, "h_out"), *post = call_tensor(call, "h_post");
    int64_t column[TENSOR_MAX_RANK], row[TENSOR_MAX_RANK];
    if (!call_require(call,
                      x->rank >= 2 && !x->integer && !out->integer && !post->integer &&
                          out->rank == x->rank - 1 && post->rank == x->rank - 1 &&
                          (!mixed || mixed->rank == x->rank),
                      "x is (.., streams, width), h_out (.., width), h_post (.., streams)"))
        return;
    memcpy(column, x->shape, sizeof column);
    memcpy(row, x->shape, sizeof row);
    column[x->rank - 1] = 1;
    row[x->rank - 2] = 1;
    struct node *y =
        mixed ? compose_matmul(tape, node_transpose(tape, mixed, x->rank - 2, x->rank - 1), x) : x;
    struct node *added = node_multiply(tape, node_reshape(tape, post, x->rank, column),
                                       node_reshape(tape, out, x->rank, row));
    call_return_typed(call, node_add(tape, y, added), x->dtype);
}

/* A part of the last dimension of x by its factor, and its part of the bias added. */
static struct node *mixed_part(struct tape *tape, struct node *x, struct node *alpha,
                               struct node *bias, int part, int64_t start, int64_t length)
{
    struct node *own = node_slice(tape, x, x->rank - 1, start, length, 1);
    struct node *by = node_reshape(tape, node_slice(tape, alpha, 0, part, 1, 1), 0, NULL);
    return node_add(tape, node_multiply(tape, own, by),
                    node_slice(tape, bias, 0, start, length, 1));
}

/* A call of mhc_pre: n streams of some width in rows, and outputs of phi for each. */
struct mixing {
    struct node *x, *phi, *alpha, *bias, *gamma;
    int64_t n, width, rows, outputs;
    bool mixes; /* the streams with each other, too */
};

static bool open_mixing(struct mixing *m, struct call *call)
{
    struct node *x = call_tensor(call, "x"), *phi = call_tensor(call, "phi"),
                *alpha = call_tensor(call, "alpha"), *bias = call_tensor(call, "bias"),
                *gamma = call_optional_tensor(call, "gamma");
    if (!call_require(call, call_int(call, "inner_precise") == 0,
                      "products of fewer bits are not followed here") ||
        !call_require(call,
                      x->rank >= 3 && !x->integer && x->n && phi->rank == 2 && alpha->rank == 1 &&
                          bias->rank == 1 && (alpha->shape[0] == 2 || alpha->shape[0] == 3) &&
                          !phi->integer && !alpha->integer && !bias->integer,
                      "streams, a matrix, two or three factors and a bias are needed"))
        return false;
    int64_t n = x->shape[x->rank - 2], width = x->shape[x->rank - 1];
    bool mixes = alpha->shape[0] == 3;
    *m = (struct mixing){ x,
                          phi,
                          alpha,
                          bias,
                          gamma,
                          n,
                          width,
                          (int64_t)x->n / (n * width),
                          2 * n + (mixes ? n * n : 0),
                          mixes };
    return call_require(call,
                        phi->shape[0] == m->outputs && phi->shape[1] == n * width &&
                            bias->shape[0] == m->outputs &&
                            (!gamma || gamma->n == (size_t)(n * width)),
                        "phi has %lld rows of %lld, bias as many numbers", (long long)m->outputs,
                        (long long)(n * width));
}

/* `length` numbers from `start` on of the weights, in the part that has this factor. */
static struct node *part_of(const struct mixing *m, struct tape *tape, struct node *weight,
                            int part, int64_t start, int64_t length)
{
    return mixed_part(tape, weight, m->alpha, m->bias, part, start, length);
}

/* y as a tensor with the leading dimensions of x, then these. */
static void return_streams(struct call *call, const struct mixing *m, struct node *y, int more,
                           int64_t first, int64_t second, enum dtype dtype)
{
    int lead = m->x->rank - 2;
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, m->x->shape, sizeof shape);
    if (more > 0) shape[lead] = first;
    if (more > 1) shape[lead + 1] = second;
    call_return_typed(call, node_reshape(call->tape, y, lead + more, shape), dtype);
}

/* What streams x (.., streams, width) give the next layer and how they mix: of h = phi (x gamma) in one piece over the root
 * mean square of x, a sigmoid that weighs the streams, twice a sigmoid for what comes back, and a matrix. */
static void mhc_pre(struct call *call)
{
    struct tape *tape = call->tape;
    struct mixing m;
    if (!open_mixing(&m, call)) return;
    int64_t n = m.n, flat[2] = { m.rows, n * m.width }, split[3] = { m.rows, n, m.width },
            column[3] = { m.rows, n, 1 };
    struct node *wide = node_reshape(tape, m.x, 2, flat);
    struct node *square = node_mean(tape, node_multiply(tape, wide, wide), 2, true);
    struct node *r =
        node_apply(tape, "rsqrt", node_offset(tape, square, call_real(call, "norm_eps")));
    struct node *scaled =
        m.gamma ? node_multiply(tape, wide, node_reshape(tape, m.gamma, 1, flat + 1)) : wide;
    struct node *h = compose_linear(tape, scaled, m.phi, NULL), *weight = node_multiply(tape, h, r);
    struct node *pre = node_offset(tape,
                                   node_apply(tape, "sigmoid", part_of(&m, tape, weight, 0, 0, n)),
                                   call_real(call, "hc_eps"));
    struct node *post =
        node_scale(tape, node_apply(tape, "sigmoid", part_of(&m, tape, weight, 1, n, n)), 2);
    struct node *in = node_sum(
        tape,
        node_multiply(tape, node_reshape(tape, m.x, 3, split), node_reshape(tape, pre, 3, column)),
        2, false);
    return_streams(call, &m, in, 1, m.width, 0, m.x->dtype);
    return_streams(call, &m, post, 1, n, 0, DT_F32);
    if (m.mixes)
        return_streams(call, &m, part_of(&m, tape, weight, 2, 2 * n, n * n), 2, n, n, DT_F32);
    else call_return_none(call);
    if (call_int(call, "out_flag") == 0) {
        for (int k = 0; k < 3; k++) call_return_none(call);
        return;
    }
    return_streams(call, &m, r, 0, 0, 0, DT_F32);
    return_streams(call, &m, h, 1, m.outputs, 0, DT_F32);
    return_streams(call, &m, pre, 1, n, 0, DT_F32);
}

/* ---- a recurrence over tokens -------------------------------------------------------------------------- */

/* The rows (heads, 1 or more) of token t of x (tokens, heads, ..), in the shape of a state (heads, a, b). */
static struct node *of_token(struct tape *tape, struct node *x, int64_t t, int64_t heads, int64_t a,
                             int64_t b)
{
    struct node *row = node_slice(tape, x, 0, t, 1, 1);
    int64_t own = x->rank > 1 ? x->shape[1] : 1, width = x->rank > 2 ? x->shape[2] : 1;
    if (own != heads && own > 0) { /* each serves a group */
        int64_t lone[3] = { own, 1, width }, wide[3] = { own, heads / own, width };
        row = node_broadcast(tape, node_reshape(tape, row, 3, lone), 3, wide);
    }
    int64_t shape[3] = { heads, a, b };
    return node_reshape(tape, row, 3, shape);
}

/* A call of the delta rule: tokens of some heads, states (heads, dv, dk), and what has come of both so far. */
struct delta_rule {
    struct call *call;
    struct node *q, *k, *v, *state, *beta, *g, *index, *lengths, *accepted;
    int64_t tokens, heads, dv, dk;
    double scale;
    struct node **kept; /* the states that tokens have left, or NULL */
    struct node **out;  /* the results of tokens */
};

static bool has_factor(struct call *call, const struct node *factor, int64_t tokens, int64_t heads)
{
    return call_require(call,
                        !factor || (factor->rank == 2 && factor->shape[0] == tokens &&
                                    factor->shape[1] == heads && !factor->integer),
                        "beta and g have a number for each token and head");
}

static bool open_delta_rule(struct delta_rule *x, struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value"), *state = call_tensor(call, "state");
    *x = (struct delta_rule){ .call = call,
                              .q = q,
                              .k = k,
                              .v = v,
                              .state = state,
                              .beta = call_optional_tensor(call, "beta"),
                              .g = call_optional_tensor(call, "g"),
                              .index = call_tensor(call, "ssm_state_indices"),
                              .lengths = call_tensor(call, "actual_seq_lengths"),
                              .accepted = call_optional_tensor(call, "num_accepted_tokens") };
    if (!call_require(call,
                      q->rank == 3 && k->rank == 3 && v->rank == 3 && state->rank == 4 &&
                          v->shape[0] <= 512 && v->shape[0] >= 1 && q->shape[0] == v->shape[0] &&
                          k->shape[0] == v->shape[0] && k->shape[1] == q->shape[1] &&
                          k->shape[2] == q->shape[2] && q->shape[1] >= 1 &&
                          v->shape[1] % q->shape[1] == 0 && state->shape[1] == v->shape[1] &&
                          state->shape[2] == v->shape[2] && state->shape[3] == q->shape[2] &&
                          !q->integer && !k->integer && !v->integer && !state->integer && v->n &&
                          q->n,
                      "at most 512 tokens, and states (.., heads, dv, dk), are followed here"))
        return false;
    x->tokens = v->shape[0], x->heads = v->shape[1], x->dv = v->shape[2], x->dk = q->shape[2];
    if (!has_factor(call, x->beta, x->tokens, x->heads) ||
        !has_factor(call, x->g, x->tokens, x->heads) ||
        !call_require(
            call,
            x->index->integer && x->index->n == (size_t)x->tokens && x->lengths->integer &&
                x->lengths->rank == 1 &&
                (!x->accepted || (x->accepted->integer && x->accepted->n == x->lengths->n)),
            "a state for each token and a length for each sequence are needed") ||
        !call_integers_below(call, x->index, state->shape[0], "ssm_state_indices") ||
        !call_integers_below(call, x->lengths, x->tokens + 1, "actual_seq_lengths"))
        return false;
    x->scale = call_is_none(call, "scale") ? 1 / sqrt((double)x->dk) : call_real(call, "scale");
    x->kept = tape_allocate(tape, (size_t)state->shape[0], sizeof *x->kept);
    x->out = tape_allocate(tape, (size_t)x->tokens, sizeof *x->out);
    for (int64_t i = 0; !tape_failed(tape) && i < state->shape[0]; i++) x->kept[i] = NULL;
    return !tape_failed(tape);
}

/* Which token's state sequence s, whose tokens begin at `at`, goes on from: the last one that was accepted. -1: the call is refused. */
static int64_t first_token(const struct delta_rule *x, size_t s, int64_t at)
{
    int64_t length = x->lengths->integer[s];
    if (!x->accepted) return at;
    int64_t last = x->accepted->integer[s];
    return call_require(x->call, last >= 1 && last <= length, "%lld tokens are accepted of %lld",
                        (long long)last, (long long)length)
               ? at + last - 1
               : -1;
}

static struct node *state_of(const struct delta_rule *x, int64_t which)
{
    struct tape *tape = x->call->tape;
    int64_t one[3] = { x->heads, x->dv, x->dk };
    if (x->kept[which]) return x->kept[which];
    return node_reshape(tape, node_slice(tape, x->state, 0, which, 1, 1), 3, one);
}

/* Token t after state S: its result, and the state that it leaves. */
static struct node *state_after(const struct delta_rule *x, struct node *S, int64_t t)
{
    struct tape *tape = x->call->tape;
    int64_t heads = x->heads, row[3] = { 1, heads, x->dv };
    struct node *key = of_token(tape, x->k, t, heads, x->dk, 1);
    if (x->g)
        S = node_multiply(tape, S, node_apply(tape, "exp", of_token(tape, x->g, t, heads, 1, 1)));
    struct node *y =
        node_subtract(tape, of_token(tape, x->v, t, heads, x->dv, 1), compose_matmul(tape, S, key));
    if (x->beta) y = node_multiply(tape, y, of_token(tape, x->beta, t, heads, 1, 1));
    S = node_add(tape, S, node_multiply(tape, y, node_transpose(tape, key, 1, 2)));
    x->kept[x->index->integer[t]] = S;
    struct node *query = node_scale(tape, of_token(tape, x->q, t, heads, x->dk, 1), x->scale);
    x->out[t] = node_reshape(tape, compose_matmul(tape, S, query), 3, row);
    return S;
}

/* A state S (heads, dv, dk) through the tokens of each sequence: S exp(g), then + beta (v - S k) k^T; the output is S q
 * scale. Each token's state is kept at its index, where a sequence begins is the state of its first token's, or of the
 * last one that was accepted. */
static void recurrent_gated_delta_rule(struct call *call)
{
    struct tape *tape = call->tape;
    struct delta_rule x;
    int64_t at = 0;
    if (!open_delta_rule(&x, call)) return;
    for (size_t s = 0; s < x.lengths->n; s++) {
        int64_t length = x.lengths->integer[s];
        if (!call_require(call, length <= x.tokens - at,
                          "the sequences are longer than the tokens"))
            return;
        if (!length) continue;
        int64_t first = first_token(&x, s, at);
        if (first < 0) return;
        struct node *S = state_of(&x, x.index->integer[first]);
        for (int64_t t = at; t < at + length; t++) S = state_after(&x, S, t);
        at += length;
    }
    if (!call_require(call, at == x.tokens, "the sequences are shorter than the tokens")) return;
    call_return_typed(call, node_concatenate(tape, x.out, (int)x.tokens, 0), x.v->dtype);
}

/* clang-format off */
const struct op ops_npu_streams[] = {
    { "npu_recurrent_gated_delta_rule", NPU, "(Tensor query, Tensor key, Tensor value, Tensor state, *, Tensor? beta=None, float? scale=None, Tensor actual_seq_lengths, Tensor ssm_state_indices, Tensor? num_accepted_tokens=None, Tensor? g=None, Tensor? gk=None)", recurrent_gated_delta_rule, OP_NO_GRADIENT, 0, NULL },
    { "npu_mhc_pre", NPU, "(Tensor x, Tensor phi, Tensor alpha, Tensor bias, *, Tensor? gamma=None, float norm_eps=1e-06, float hc_eps=1e-06, int out_flag=0, int inner_precise=0)", mhc_pre, OP_NO_GRADIENT, 0, NULL },
    { "npu_mhc_post", NPU, "(Tensor x, Tensor? h_res, Tensor h_out, Tensor h_post)", mhc_post, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_streams);
