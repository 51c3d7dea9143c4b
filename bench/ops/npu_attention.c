/* Attention of torch_npu and MindSpeed: softmax(scale q k^T + what is added, what is masked left out) v, in every layout,
 * with a mask by mode, of packed sequences and of keys in pages; and the update of a result by another part of the keys.
 * By their documentation (op-plugin, docs/context and docs/zh; MindSpeed, docs/ops).
 */
#include "bench/ops/npu_attention.h"

#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/attention_layout.h"
#include "bench/ops/dropped_attention.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/operands.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- masks ------------------------------------------------------------------------------------------------ */

struct node *outside_band(struct tape *tape, int64_t rows, int64_t columns, int64_t above,
                          int64_t below)
{
    return node_not(tape, node_band(tape, rows, columns, above, below));
}

/* softmax over the last dimension of scores with masked entries left out; a row with nothing
 * left is 0, as the fused operators define it. */
static struct node *masked_softmax(struct tape *tape, struct node *scores, struct node *mask)
{
    if (!mask) return node_softmax(tape, scores, scores->rank - 1);
    int last = scores->rank - 1;
    struct node *full = node_broadcast(tape, mask, scores->rank, scores->shape);
    if (tape_failed(tape)) return tape_failure(tape);
    struct node *open = node_new_integer(tape, DT_BOOL, scores->rank, scores->shape);
    int64_t width = scores->shape[last];
    struct node *dead = node_new_integer(tape, DT_BOOL, scores->rank, scores->shape);
    for (size_t first = 0; !tape_failed(tape) && first < scores->n; first += (size_t)width) {
        bool any = false;
        for (int64_t j = 0; j < width; j++) any = any || !full->integer[first + (size_t)j];
        for (int64_t j = 0; j < width; j++) {
            open->integer[first + (size_t)j] = !any || !full->integer[first + (size_t)j];
            dead->integer[first + (size_t)j] = !any;
        }
    }
    struct node *p =
        node_softmax(tape, node_select(tape, open, scores, node_scalar(tape, -INFINITY)), last);
    return node_select(tape, dead, node_scalar(tape, 0), p);
}

/* The same with one more score for all rows of a head, (heads), of a key that has no value. */
static struct node *softmax_with_sink(struct tape *tape, struct node *scores, struct node *mask,
                                      struct node *sink)
{
    int64_t lone[4] = { 1, scores->shape[1], 1, 1 },
            column[4] = { scores->shape[0], scores->shape[1], scores->shape[2], 1 };
    struct node *open = mask ? node_select(tape, mask, node_scalar(tape, -INFINITY), scores)
                             : scores,
                *own = node_broadcast(tape, node_reshape(tape, sink, 4, lone), 4, column);
    struct node *all = node_concatenate(tape, (struct node *[]){ open, own }, 2, 3);
    return node_slice(tape, node_softmax(tape, all, 3), 3, 0, scores->shape[3], 1);
}

static void scaled_masked_softmax(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *mask = call_tensor(call, "mask");
    if (!call_require(call, x->rank >= 2, "scores have at least two dimensions")) return;
    if (call_bool(call, "fixed_triu_mask"))
        mask = outside_band(tape, x->shape[x->rank - 2], x->shape[x->rank - 1], 0, INT64_MAX);
    /* This operator adds nothing: masked scores are replaced by -10000. */
    struct node *z = node_select(tape, mask, node_scalar(tape, -10000),
                                 node_scale(tape, x, call_real(call, "scale")));
    call_return_typed(call, node_softmax(tape, z, z->rank - 1), x->dtype);
}

/* A number of tokens, no more than lets sums with lengths of sequences be formed. */
static int64_t token_window(struct call *call, const char *name)
{
    const int64_t most = INT64_C(1) << 60;
    if (!name) return most;
    int64_t tokens = call_int(call, name);
    return tokens > most ? most : tokens < -most ? -most : tokens;
}

struct node *repeat_heads(struct tape *tape, struct node *x, int64_t heads)
{
    if (x->shape[1] == heads) return x;
    int64_t lone[5] = { x->shape[0], x->shape[1], 1, x->shape[2], x->shape[3] };
    int64_t wide[5] = { x->shape[0], x->shape[1], heads / x->shape[1], x->shape[2], x->shape[3] };
    int64_t joined[4] = { x->shape[0], heads, x->shape[2], x->shape[3] };
    return node_reshape(tape, node_broadcast(tape, node_reshape(tape, x, 5, lone), 5, wide), 4,
                        joined);
}

/* ---- one block of queries and keys -------------------------------------------------------------------------- */

struct node *block_mask(struct call *call, const struct attention *a, int64_t mode, int64_t batch,
                        int64_t rows, int64_t columns)
{
    struct tape *tape = call->tape;
    if (a->wants_mask && !a->mask) return NULL;
    switch (mode) {
    case 0:
        if (a->mask) return a->mask;
        return a->before >= columns && a->after >= columns
                   ? NULL
                   : outside_band(tape, rows, columns, a->after, a->before);
    case 1:
    case 5: return a->mask;
    case 2: return outside_band(tape, rows, columns, 0, INT64_MAX);
    case 3: return outside_band(tape, rows, columns, columns - rows, INT64_MAX);
    case 4:
        return outside_band(tape, rows, columns, columns - rows + a->after,
                            a->before - (columns - rows));
    case 6: {
        struct node *mask = outside_band(tape, rows, columns, columns - rows, INT64_MAX);
        if (!call_require(call, batch < a->prefixes, "a prefix is needed for each batch"))
            return NULL;
        for (int64_t i = 0; !tape_failed(tape) && i < rows * columns; i++)
            if (i % columns < a->prefix[batch]) mask->integer[i] = 0;
        return mask;
    }
    default:
        call_fail(call, "sparse_mode %lld is not in the catalogue", (long long)mode);
        return NULL;
    }
}

struct node *block_scores(struct call *call, const struct attention *a, struct node *q,
                          struct node *k, struct node *v, struct node *mask)
{
    struct tape *tape = call->tape;
    if (!call_require(call, k->shape[1] >= 1 && q->shape[1] % k->shape[1] == 0,
                      "%lld query heads do not divide into %lld key heads", (long long)q->shape[1],
                      (long long)k->shape[1]) ||
        !call_require(call, v->shape[1] == k->shape[1] && v->shape[2] == k->shape[2],
                      "%lld key heads and %lld value heads", (long long)k->shape[1],
                      (long long)v->shape[1]) ||
        !call_require(call,
                      k->shape[3] == q->shape[3] && k->shape[0] == q->shape[0] &&
                          v->shape[0] == q->shape[0],
                      "queries and keys of different widths or batches"))
        return q;
    int64_t heads = q->shape[1];
    k = repeat_heads(tape, k, heads);
    struct node *scores = compose_matmul(tape, q, node_transpose(tape, k, 2, 3));
    if (!call_require(call, !a->pse || a->pse->rank <= 4, "pse has %d dimensions", a->pse->rank))
        return q;
    if (a->pse && a->pse_first) scores = node_add(tape, scores, a->pse);
    scores = node_scale(tape, scores, a->scale);
    if (a->pse && !a->pse_first) scores = node_add(tape, scores, a->pse);
    int64_t shape[4] = { q->shape[0], heads, q->shape[2], k->shape[2] };
    bool fits = !mask || (mask->integer && mask->rank <= 4 && mask->rank >= 2);
    for (int d = 1; fits && mask && d <= mask->rank; d++)
        fits = mask->shape[mask->rank - d] == 1 || mask->shape[mask->rank - d] == shape[4 - d];
    (void)(call_require(call, fits, "atten_mask must tell true or false of each score") &&
           call_require(call,
                        scores->rank == 4 && scores->shape[2] == shape[2] &&
                            scores->shape[3] == shape[3] && scores->shape[0] == shape[0] &&
                            scores->shape[1] == heads,
                        "pse does not have the shape of the scores"));
    return scores;
}

struct block attend(struct call *call, const struct attention *a, struct node *q, struct node *k,
                    struct node *v, struct node *mask, bool statistics)
{
    struct tape *tape = call->tape;
    struct block block = { q, q, q, q, q };
    struct node *scores = block_scores(call, a, q, k, v, mask);
    if (tape_failed(tape)) return block;
    v = repeat_heads(tape, v, q->shape[1]);
    block.scores = scores;
    block.weights = a->sink ? softmax_with_sink(tape, scores, mask, a->sink)
                            : masked_softmax(tape, scores, mask);
    if (a->drops > 0 && !tape_is_reference(tape))
        block.weights = dropped_weights(call, block.weights, a->drops, a->drawn);
    block.y = compose_matmul(tape, block.weights, v);
    if (!statistics || !k->shape[2]) return block;
    struct node *open = mask ? node_select(tape, mask, node_scalar(tape, -INFINITY), scores)
                             : scores;
    block.largest = node_extremum_detached(tape, open, 8, 1);
    block.sum =
        node_sum(tape, node_apply(tape, "exp", node_subtract(tape, open, block.largest)), 8, true);
    return block;
}

bool read_attention(struct call *call, struct attention *a, const char *before, const char *after)
{
    memset(a, 0, sizeof *a);
    a->mode = call_int(call, "sparse_mode");
    a->before = token_window(call, before);
    a->after = token_window(call, after);
    a->mask = call_optional_tensor(call, "atten_mask");
    a->pse = call_optional_tensor(call, "pse");
    a->pse_first = true;
    const struct value *prefix = call_value(call, "prefix");
    if (prefix->kind != VALUE_NONE) a->prefixes = call_ints(call, "prefix", a->prefix, 64);
    return !tape_failed(call->tape);
}

int64_t mode_of_block(int64_t mode, int i, int count)
{
    if (mode == 7) return i == count - 1 ? 4 : 3;
    if (mode == 8) return i == 0 ? 4 : 2;
    return mode;
}

struct node *packed_mask(struct call *call, const struct attention *a, int i, int count,
                         int64_t rows, int64_t columns)
{
    int64_t mode = mode_of_block(a->mode, i, count);
    struct node *mask = block_mask(call, a, mode, i, rows, columns);
    if (!mask || mode >= 2 || mask->rank != 2 || mask->shape[0] < rows || mask->shape[1] < columns)
        return mask;
    struct tape *tape = call->tape;
    return node_slice(tape, node_slice(tape, mask, 0, 0, rows, 1), 1, 0, columns, 1);
}

struct packed attend_packed(struct call *call, struct attention *a, struct node *q, struct node *k,
                            struct node *v, const char *query_ends, const char *key_ends,
                            bool statistics)
{
    struct tape *tape = call->tape;
    struct packed y = { .y = q, .lse = q };
    struct groups of_q, of_k;
    if (!call_require(call, !call_is_none(call, query_ends) && !call_is_none(call, key_ends),
                      "packed sequences need %s and %s", query_ends, key_ends) ||
        !groups_read(call, &of_q, query_ends, true, q->shape[2]) ||
        !groups_read(call, &of_k, key_ends, true, k->shape[2]) ||
        !call_require(call, of_q.count == of_k.count, "%d sequences of queries, %d of keys",
                      of_q.count, of_k.count) ||
        !call_require(call, !a->pse, "pse of packed sequences is not followed here"))
        return y;
    struct node **parts = tape_allocate(tape, 2 * (size_t)of_q.count + 2, sizeof *parts);
    struct node **sums = parts ? parts + of_q.count + 1 : NULL;
    y.blocks = tape_allocate(tape, (size_t)of_q.count, sizeof *y.blocks);
    y.count = of_q.count;
    int used = 0;
    for (int i = 0; !tape_failed(tape) && i < of_q.count; i++) {
        int64_t rows = of_q.end[i] - of_q.start[i], columns = of_k.end[i] - of_k.start[i];
        struct node *own[3] = { node_slice(tape, q, 2, of_q.start[i], rows, 1),
                                node_slice(tape, k, 2, of_k.start[i], columns, 1),
                                node_slice(tape, v, 2, of_k.start[i], columns, 1) };
        y.blocks[i] =
            (struct dropped_block){ 1, rows, columns, NULL, NULL, own[0], own[1], own[2] };
        if (!rows) continue;
        struct node *mask = packed_mask(call, a, i, of_q.count, rows, columns);
        struct block block = attend(call, a, own[0], own[1], own[2], mask, statistics);
        y.blocks[i].weights = block.weights;
        y.blocks[i].scores = block.scores;
        a->drawn += block.weights->n;
        parts[used] = block.y;
        if (statistics)
            sums[used] = node_add(tape, block.largest, node_apply(tape, "log", block.sum));
        used++;
    }
    if (tape_failed(tape)) return y;
    y.rest_rows = q->shape[2] - of_q.total;
    y.rest_columns = k->shape[2] - of_k.total;
    int64_t rest[4] = { 1, q->shape[1], y.rest_rows, v->shape[3] };
    if (rest[2] || !used) {
        parts[used] = node_constant(tape, q->dtype, 0, 4, rest);
        rest[3] = 1;
        if (statistics) sums[used] = node_constant(tape, DT_F32, 0, 4, rest);
        used++;
    }
    if (statistics) y.lse = node_concatenate(tape, sums, used, 2);
    y.y = node_concatenate(tape, parts, used, 2);
    return y;
}

bool has_heads(struct call *call, const struct node *q, int64_t heads)
{
    return call_require(call, q->shape[1] == heads, "%lld heads are said, the query has %lld",
                        (long long)heads, (long long)q->shape[1]);
}

int64_t heads_of_keys(const struct node *q, const struct node *k, int64_t heads)
{
    int64_t width = heads > 0 && q->rank ? q->shape[q->rank - 1] / heads : 0;
    return width > 0 && k->rank ? k->shape[k->rank - 1] / width : 0;
}

struct node *with_rope(struct call *call, struct node *x, const char *name, const char *layout,
                       int64_t heads)
{
    struct node *rope = call_optional_tensor(call, name);
    if (!rope) return x;
    rope = to_bnsd(call, rope, layout, heads);
    if (tape_failed(call->tape)) return x;
    for (int d = 0; d < 3; d++)
        if (!call_require(call, rope->shape[d] == x->shape[d], "%s has other dimensions", name))
            return x;
    return node_concatenate(call->tape, (struct node *[]){ x, rope }, 2, 3);
}

/* ---- inference ---------------------------------------------------------------------------------------------- */

static const char *const unfollowed[] = {
    "padding_mask",       "dequant_scale_query", "dequant_scale_key",     "dequant_scale_value",
    "dequant_scale1",     "quant_scale1",        "dequant_scale2",        "quant_scale2",
    "quant_offset2",      "antiquant_scale",     "antiquant_offset",      "kv_padding_size",
    "query_padding_size", "key_shared_prefix",   "value_shared_prefix",   "deq_scale1",
    "deq_scale2",         "key_antiquant_scale", "value_antiquant_scale", NULL
};

/* Has the call one of the arguments that make a quantized or shared form of it? */
static bool is_plain(struct call *call)
{
    for (const char *const *name = unfollowed; *name; name++)
        for (int p = 0; p < call->arguments.schema->count; p++)
            if (!strcmp(call->arguments.schema->parameters[p].name, *name) &&
                !call_require(call, call->arguments.bound[p].kind == VALUE_NONE,
                              "attention with '%s' is not followed here", *name))
                return false;
    return true;
}

/* True beyond the first length[b] of each batch, (B, 1, 1, extent); NULL without lengths. A single one counts for all. */
static struct node *beyond(struct call *call, const char *name, int64_t batches, int64_t extent)
{
    struct tape *tape = call->tape;
    int64_t length[1024], shape[4] = { batches, 1, 1, extent };
    int count = call_is_none(call, name) ? 0 : call_ints(call, name, length, 1024);
    if (!count) return NULL;
    if (!call_require(call, count == batches || count == 1, "%d lengths for %lld batches", count,
                      (long long)batches))
        return NULL;
    struct node *mask = node_new_integer(tape, DT_BOOL, 4, shape);
    for (int64_t i = 0; !tape_failed(tape) && i < batches * extent; i++)
        mask->integer[i] = i % extent >= length[count == 1 ? 0 : i / extent];
    return mask;
}

/* Rows behind the last query of their batch are 0. */
static struct node *without_rest(struct tape *tape, struct node *y, struct node *rest)
{
    if (!rest) return y;
    int64_t column[4] = { y->shape[0], 1, y->shape[2], 1 };
    return node_select(tape, node_reshape(tape, rest, 4, column), node_scalar(tape, 0), y);
}

/* By op->detail: npu_prompt_flash_attention, npu_incre_flash_attention (one query for each batch) and
 * npu_fused_infer_attention_score, of which there are two versions. */
enum { INFER_PROMPT, INFER_INCREMENTAL, INFER_FUSED, INFER_FUSED_V2 };

/* A call of an attention without gradients: what its arguments are called, and its operands (batch, heads, rows, width). */
struct inference {
    intptr_t kind;
    const char *layout, *q_lengths, *k_lengths;
    bool lse, packed;
    int64_t heads, key_heads;
    struct attention a;
    struct node *q, *k, *v;
};

static void name_arguments(struct inference *x, struct call *call)
{
    intptr_t kind = call->op->detail;
    bool incremental = kind == INFER_INCREMENTAL, second = kind == INFER_FUSED_V2;
    const char *scale = kind == INFER_PROMPT || incremental ? "scale_value"
                        : second                            ? "softmax_scale"
                                                            : "scale";
    *x = (struct inference){
        .kind = kind,
        .layout = call_string(call, "input_layout"),
        .q_lengths = second ? "actual_seq_qlen" : "actual_seq_lengths",
        .k_lengths = second        ? "actual_seq_kvlen"
                     : incremental ? "actual_seq_lengths"
                                   : "actual_seq_lengths_kv",
        .lse = (kind == INFER_FUSED && call_bool(call, "softmax_lse_flag")) ||
               (second && call_bool(call, "return_softmax_lse")),
        .heads = call_int(call, second ? "num_query_heads" : "num_heads"),
        .key_heads = call_int(call, "num_key_value_heads"),
        .a = { .scale = call_real(call, scale),
               .mode = incremental ? 0 : call_int(call, "sparse_mode"),
               .before = token_window(call, incremental ? NULL : "pre_tokens"),
               .after = token_window(call, incremental ? NULL : "next_tokens"),
               .mask = call_optional_tensor(call, "atten_mask"),
               .pse = call_optional_tensor(call, "pse_shift"),
               .wants_mask = true },
    };
    if (x->key_heads == 0) x->key_heads = x->heads;
    x->packed = !strcmp(x->layout, "TND");
}

static bool open_inference(struct inference *x, struct call *call)
{
    name_arguments(x, call);
    if (!is_plain(call) ||
        !call_require(call, x->kind == INFER_PROMPT || call_is_none(call, "block_table"),
                      "keys in pages are not followed here") ||
        !call_require(call, x->a.mode >= 0 && x->a.mode <= 4,
                      "sparse_mode %lld is not in the catalogue", (long long)x->a.mode) ||
        !call_require(call, !(x->packed && x->kind < INFER_FUSED),
                      "input_layout \"TND\" is not in the catalogue"))
        return false;
    x->q = to_bnsd(call, call_tensor(call, "query"), x->layout, x->heads);
    x->k = to_bnsd(call, call_tensor(call, "key"), x->layout, x->key_heads);
    x->v = to_bnsd(call, call_tensor(call, "value"), x->layout, x->key_heads);
    if (x->kind >= INFER_FUSED && !tape_failed(call->tape)) {
        x->q = with_rope(call, x->q, "query_rope", x->layout, x->heads);
        x->k = with_rope(call, x->k, "key_rope", x->layout, x->key_heads);
    }
    return !tape_failed(call->tape) && has_heads(call, x->q, x->heads);
}

/* The mask of the scores with the keys beyond the ends of sequences, `late` or NULL. False when the call is refused. */
static bool add_late_keys(struct call *call, struct node **mask, struct node *late)
{
    struct tape *tape = call->tape;
    if (!late) return true;
    if (!*mask) {
        *mask = late;
        return true;
    }
    if (!call_require(call, (*mask)->integer, "atten_mask must tell true or false of each score"))
        return false;
    struct node *no = node_integer_constant(tape, DT_BOOL, 0, 0, NULL);
    *mask = node_or(tape, node_compare(tape, COMPARE_NE, *mask, no), late);
    return true;
}

static void infer_packed(struct call *call, struct inference *x, enum dtype dtype)
{
    struct tape *tape = call->tape;
    struct packed y =
        attend_packed(call, &x->a, x->q, x->k, x->v, x->q_lengths, x->k_lengths, x->lse);
    call_return_typed(call, from_bnsd(tape, y.y, x->layout), dtype);
    if (x->lse) call_return_typed(call, from_bnsd(tape, y.lse, x->layout), DT_F32);
    else call_return_none(call);
}

/* All of them unquantized. */
static void infer_attention(struct call *call)
{
    struct tape *tape = call->tape;
    struct inference x;
    if (!open_inference(&x, call)) return;
    enum dtype dtype = call_tensor(call, "query")->dtype;
    if (x.packed) {
        infer_packed(call, &x, dtype);
        return;
    }
    struct attention *a = &x.a;
    struct node *q = x.q, *k = x.k,
                *mask = block_mask(call, a, a->mode, 0, q->shape[2], k->shape[2]),
                *late = beyond(call, x.k_lengths, q->shape[0], k->shape[2]),
                *rest = x.kind == INFER_INCREMENTAL
                            ? NULL
                            : beyond(call, x.q_lengths, q->shape[0], q->shape[2]);
    if (!call_require(
            call, !(a->mode == 3 || a->mode == 4) || (!late && !rest),
            "a triangle at the ends of sequences that are shorter is not followed here") ||
        !add_late_keys(call, &mask, late))
        return;
    struct block block = attend(call, a, q, k, x.v, mask, x.lse);
    call_return_typed(call, from_bnsd(tape, without_rest(tape, block.y, rest), x.layout), dtype);
    if (x.kind < INFER_FUSED) return;
    if (x.lse)
        call_return_typed(call, node_add(tape, block.largest, node_apply(tape, "log", block.sum)),
                          DT_F32);
    else call_return_none(call);
}

/* ---- blocks of keys chosen for blocks of queries ------------------------------------------------------------------ */

/* Attention in layout BNSD, where block_sparse_mask (batch, heads, blocks of queries, blocks of keys) tells which blocks of
 * keys a block of queries sees, of block_shape positions each. With the logarithm of the sum of exponentials. */
static void block_sparse_attention(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value"), *chosen = call_tensor(call, "block_sparse_mask");
    int64_t block[2], blocks[2];
    if (!call_require(call,
                      !strcmp(call_string(call, "q_input_layout"), "BNSD") &&
                          !strcmp(call_string(call, "kv_input_layout"), "BNSD") &&
                          call_is_none(call, "actual_seq_lengths") &&
                          call_is_none(call, "actual_seq_lengths_kv"),
                      "only the layout BNSD without lengths is followed here") ||
        !call_require(call, call_int(call, "inner_precise") == 0,
                      "intermediate results in float16 are not followed here") ||
        !call_require(call,
                      q->rank == 4 && k->rank == 4 && v->rank == 4 && q->n && k->n &&
                          chosen->rank == 4 && chosen->integer &&
                          call_ints(call, "block_shape", block, 2) == 2 && block[0] >= 1 &&
                          block[1] >= 1 && k->shape[1] == call_int(call, "num_key_value_heads"),
                      "tensors of four dimensions, a mask of blocks and their shape are needed"))
        return;
    int64_t shape[4] = { q->shape[0], q->shape[1], q->shape[2], k->shape[2] };
    for (int d = 0; d < 2; d++) blocks[d] = (shape[d + 2] - 1) / block[d] + 1;
    if (!call_require(call,
                      chosen->shape[0] == shape[0] && chosen->shape[1] == shape[1] &&
                          chosen->shape[2] == blocks[0] && chosen->shape[3] == blocks[1],
                      "the mask does not have the blocks"))
        return;
    struct node *mask = node_new_integer(tape, DT_BOOL, 4, shape);
    for (int64_t i = 0; !tape_failed(tape) && i < (int64_t)mask->n; i++) {
        int64_t row = i / shape[3] % shape[2] / block[0], column = i % shape[3] / block[1],
                head = i / shape[3] / shape[2];
        mask->integer[i] = !chosen->integer[(head * blocks[0] + row) * blocks[1] + column];
    }
    if (tape_failed(tape)) return;
    struct attention a = { .scale = call_real(call, "scale_value") };
    struct block y = attend(call, &a, q, k, v, mask, true);
    call_return_typed(call, y.y, q->dtype);
    if (call_int(call, "softmax_lse_flag"))
        call_return_typed(call, node_add(tape, y.largest, node_apply(tape, "log", y.sum)), DT_F32);
    else call_return_none(call);
}

/* clang-format off */
const struct op ops_npu_attention[] = {
    { "npu_scaled_masked_softmax", NPU, "(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False)", scaled_masked_softmax, OP_ONE_NODE, 0, NULL },
    { "npu_prompt_flash_attention", NPU, "(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? deq_scale1=None, Tensor? quant_scale1=None, Tensor? deq_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, int num_heads=1, float scale_value=1.0, int pre_tokens=2147473647, int next_tokens=0, str input_layout='BSH', int num_key_value_heads=0, int[]? actual_seq_lengths_kv=None, int sparse_mode=0)", infer_attention, OP_NO_GRADIENT, INFER_PROMPT, NULL },
    { "npu_incre_flash_attention", NPU, "(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, Tensor? block_table=None, Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, Tensor? kv_padding_size=None, int num_heads=1, float scale_value=1.0, str input_layout='BSH', int num_key_value_heads=0, int block_size=0, int inner_precise=1)", infer_attention, OP_NO_GRADIENT, INFER_INCREMENTAL, NULL },
    { "npu_fused_infer_attention_score", NPU, "(Tensor query, Tensor key, Tensor value, *, Tensor? pse_shift=None, Tensor? atten_mask=None, int[]? actual_seq_lengths=None, int[]? actual_seq_lengths_kv=None, Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, Tensor? antiquant_scale=None, Tensor? key_antiquant_scale=None, Tensor? value_antiquant_scale=None, Tensor? block_table=None, Tensor? query_padding_size=None, Tensor? kv_padding_size=None, Tensor? key_shared_prefix=None, Tensor? value_shared_prefix=None, Tensor? query_rope=None, Tensor? key_rope=None, int num_heads=1, float scale=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, str input_layout='BSH', int num_key_value_heads=0, int sparse_mode=0, bool softmax_lse_flag=False, ...)", infer_attention, OP_NO_GRADIENT, INFER_FUSED, NULL },
    { "npu_fused_infer_attention_score_v2", NPU, "(Tensor query, Tensor key, Tensor value, *, Tensor? query_rope=None, Tensor? key_rope=None, Tensor? pse_shift=None, Tensor? atten_mask=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, Tensor? block_table=None, Tensor? dequant_scale_query=None, Tensor? dequant_scale_key=None, Tensor? dequant_scale_value=None, int num_query_heads=1, int num_key_value_heads=0, float softmax_scale=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, str input_layout='BSH', int sparse_mode=0, bool return_softmax_lse=False, ...)", infer_attention, OP_NO_GRADIENT, INFER_FUSED_V2, NULL },
    { "npu_block_sparse_attention", NPU, "(Tensor query, Tensor key, Tensor value, Tensor block_sparse_mask, int[] block_shape, *, str q_input_layout='TND', str kv_input_layout='TND', int num_key_value_heads=1, float scale_value=0.0, int inner_precise=1, int[]? actual_seq_lengths=None, int[]? actual_seq_lengths_kv=None, int softmax_lse_flag=0)", block_sparse_attention, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_attention);
