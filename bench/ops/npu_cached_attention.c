/* Attention of torch_npu's module atb: of packed sequences, with keys in pages of a cache or as they come, and what reads
 * such pages. By its documentation and tests (op-plugin, atb). Position j of sequence b lies in page
 * block_table[b][j / size], row j mod size. Results are written into a tensor that is given, and returned.
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/npu_attention.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/npu_pages.h"
#include "bench/ops/operands.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* A query (T, N, D), or with the last two in one, as (T, N, D). */
static struct node *query_of(struct call *call, struct node *q, int64_t heads)
{
    bool folded = q->rank == 2 && heads >= 1 && q->shape[1] % heads == 0;
    if (!call_require(call, folded || (q->rank == 3 && q->shape[1] == heads),
                      "a query (tokens, heads, width) of %lld heads is needed", (long long)heads))
        return q;
    if (!folded) return q;
    return node_reshape(call->tape, q, 3, (int64_t[]){ q->shape[0], heads, q->shape[1] / heads });
}

/* The parts of the result, one behind the other, in the shape of the query but for the width. */
static void return_parts(struct call *call, struct node **parts, int count, const struct node *q)
{
    struct tape *tape = call->tape;
    if (tape_failed(tape)) return;
    struct node *y = node_concatenate(tape, parts, count, 0);
    if (q->rank == 2)
        y = node_reshape(tape, y, 2, (int64_t[]){ y->shape[0], y->shape[1] * y->shape[2] });
    call_return_typed(call, y, q->dtype);
}

/* ---- one query for each sequence ---------------------------------------------------------------------------- */

/* What is added to the scores of token i, (1, heads, 1, keys): `biases` is (tokens, heads, 1, keys or more), without the
 * first for all tokens. */
static struct node *bias_of(struct call *call, struct node *biases, int64_t i, int64_t keys)
{
    struct tape *tape = call->tape;
    if (!call_require(call,
                      !biases->integer && (biases->rank == 4 || biases->rank == 3) &&
                          biases->shape[biases->rank - 2] == 1 &&
                          biases->shape[biases->rank - 1] >= keys &&
                          (biases->rank == 3 || i < biases->shape[0]),
                      "a mask (tokens, heads, 1, keys) is needed"))
        return biases;
    if (biases->rank == 4) biases = node_slice(tape, biases, 0, i, 1, 1);
    return node_slice(tape, biases, biases->rank - 1, 0, keys, 1);
}

/* Token i over the first context_lens[i] positions of its pages. detail 1: keys of two parts, of which the first is the
 * value too. */
static void paged_attention(struct call *call)
{
    struct tape *tape = call->tape;
    bool latent = call->op->detail == 1;
    struct node *own = call_tensor(call, latent ? "q_nope" : "query"), *rope = NULL,
                *k = call_tensor(call, latent ? "ctkv" : "key_cache"), *v = k,
                *table = call_tensor(call, latent ? "block_tables" : "block_table");
    struct attention a = { .scale = call_real(call, latent ? "qk_scale" : "scale_value") };
    int64_t heads = call_int(call, latent ? "q_headnum" : "num_heads"),
            key_heads = call_int(call, latent ? "kv_headnum" : "num_kv_heads");
    int64_t kind = latent ? 0 : call_int(call, "mask_type");
    struct node *biases = NULL, *q;
    struct groups lengths;
    if (!latent) {
        if (!call_require(call, kind == 0 || kind == 2, "mask_type %lld is not followed here",
                          (long long)kind) ||
            !call_require(call, !call_is_none(call, "value_cache"), "a cache of values is needed"))
            return;
        v = call_tensor(call, "value_cache");
        if (kind == 2) biases = call_tensor(call, "mask");
        if (key_heads == 0) key_heads = heads;
    } else {
        rope = call_tensor(call, "k_rope");
        if (!call_require(call, !own->integer && !k->integer,
                          "latent attention of integers is not followed here"))
            return;
    }
    if (!is_cache(call, k, table, key_heads) || !is_cache(call, v, table, key_heads) ||
        (rope && !is_cache(call, rope, table, key_heads)) ||
        !groups_read(call, &lengths, "context_lens", false, INT64_MAX))
        return;
    q = query_of(call, own, heads);
    if (rope) q = node_concatenate(tape, (struct node *[]){ q, call_tensor(call, "q_rope") }, 2, 2);
    if (!call_require(call,
                      lengths.count == q->shape[0] && table->shape[0] >= q->shape[0] &&
                          v->shape[1] == k->shape[1],
                      "each token needs a length and a row of the table"))
        return;
    struct node **parts = tape_allocate(tape, (size_t)lengths.count + 1, sizeof *parts);
    for (int i = 0; !tape_failed(tape) && i < lengths.count; i++) {
        int64_t keys = lengths.end[i] - lengths.start[i];
        if (!call_require(call, keys >= 1, "token %d sees no key", i)) return;
        struct node *key = paged_rows(call, k, table, i, 0, keys, key_heads), *value = key;
        if (!latent) value = paged_rows(call, v, table, i, 0, keys, key_heads);
        else
            key = node_concatenate(
                tape,
                (struct node *[]){ key, paged_rows(call, rope, table, i, 0, keys, key_heads) }, 2,
                2);
        if (tape_failed(tape)) return;
        if (biases) a.pse = bias_of(call, biases, i, keys);
        struct block block = attend(call, &a, heads_first(tape, node_slice(tape, q, 0, i, 1, 1)),
                                    heads_first(tape, key), heads_first(tape, value), NULL, false);
        parts[i] = rows_first(tape, block.y);
    }
    return_parts(call, parts, lengths.count, own);
}

/* Nothing but what the plain form of latent attention has? */
static void latent_attention(struct call *call)
{
    static const char *const none[] = { "mask", "qseqlen", "qk_descale", "pv_descale" };
    static const char *const names[][2] = { { "mask_type", "undefined" },
                                            { "calc_type", "calc_type_undefined" },
                                            { "cache_mode", "krope_ctkv" } };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (!call_require(call, call_is_none(call, none[i]), "'%s' is not followed here", none[i]))
            return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!call_require(call,
                          call_is_none(call, names[i][0]) ||
                              !strcmp(call_string(call, names[i][0]), names[i][1]),
                          "%s \"%s\" is not followed here", names[i][0],
                          call_string(call, names[i][0])))
            return;
    paged_attention(call);
}

/* ---- packed sequences ------------------------------------------------------------------------------------- */

/* The mask of sequence b for its queries and keys. Kind 1: a tensor of 0 and of what hides a key, added in float16 and 1
 * for a hidden one in bfloat16; kind 2: added, with a dimension of heads. */
static bool given_mask(struct call *call, struct attention *a, struct node *mask, int64_t kind,
                       int64_t b, int64_t length, enum dtype dtype, struct node **hidden)
{
    struct tape *tape = call->tape;
    int whole = kind == 1 ? 2 : 3;
    bool fits = !mask->integer && (mask->rank == whole || mask->rank == whole + 1) &&
                mask->shape[mask->rank - 1] >= length && mask->shape[mask->rank - 2] >= length &&
                (mask->rank == whole || b < mask->shape[0]);
    if (!call_require(call, fits, "the mask does not have all queries and keys")) return false;
    if (mask->rank > whole) {
        int64_t rest[3];
        mask = node_slice(tape, mask, 0, b, 1, 1);
        memcpy(rest, mask->shape + 1, (size_t)whole * sizeof *rest);
        mask = node_reshape(tape, mask, whole, rest);
    }
    for (int d = whole - 2; d < whole; d++) mask = node_slice(tape, mask, d, 0, length, 1);
    if (kind == 2 || dtype == DT_F16) {
        a->pse = mask;
        return !tape_failed(tape);
    }
    const double *value = node_values(tape, mask);
    *hidden = node_new_integer(tape, DT_BOOL, 2, mask->shape);
    for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++) {
        if (!call_require(call, value[i] == 0 || value[i] == 1,
                          "a mask of a bfloat16 query is 0 or 1"))
            return false;
        (*hidden)->integer[i] = value[i] == 1;
    }
    return !tape_failed(tape);
}

/* Sequences of queries that see their own keys, all or those that a mask leaves. */
static void packed_attention(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *own = call_tensor(call, "query"), *mask = call_optional_tensor(call, "mask");
    int64_t heads = call_int(call, "num_heads"), key_heads = call_int(call, "num_kv_heads"),
            kind = call_int(call, "mask_type");
    if (key_heads == 0) key_heads = heads;
    struct node *q = query_of(call, own, heads),
                *k = query_of(call, call_tensor(call, "key"), key_heads),
                *v = query_of(call, call_tensor(call, "value"), key_heads);
    struct groups sequences;
    if (!call_require(call, kind >= 0 && kind <= 2, "mask_type %lld is not followed here",
                      (long long)kind) ||
        !call_require(call, kind == 0 || mask, "mask_type %lld needs a mask", (long long)kind) ||
        !groups_read(call, &sequences, "seq_len", false, q->shape[0]) ||
        !call_require(call, sequences.total == q->shape[0] && k->shape[0] == q->shape[0],
                      "the sequences do not have all tokens"))
        return;
    struct node **parts = tape_allocate(tape, (size_t)sequences.count + 1, sizeof *parts);
    for (int b = 0; !tape_failed(tape) && b < sequences.count; b++) {
        int64_t first = sequences.start[b], length = sequences.end[b] - first;
        struct attention a = { .scale = call_real(call, "scale_value") };
        struct node *hidden = NULL, *in[3] = { q, k, v };
        if (!call_require(call, length >= 1, "sequence %d is empty", b)) return;
        if (kind && !given_mask(call, &a, mask, kind, b, length, own->dtype, &hidden)) return;
        for (int i = 0; i < 3; i++)
            in[i] = heads_first(tape, node_slice(tape, in[i], 0, first, length, 1));
        parts[b] = rows_first(tape, attend(call, &a, in[0], in[1], in[2], hidden, false).y);
    }
    return_parts(call, parts, sequences.count, own);
}

/* Sequences of queries at the end of longer ones of keys in pages: none sees a later key. detail 1:
 * _npu_flash_attention_prefix_v2, whose triangle is a tensor that stands for it. */
static void prefix_attention(struct call *call)
{
    struct tape *tape = call->tape;
    bool second = call->op->detail == 1;
    struct node *own = call_tensor(call, "query"),
                *k = call_tensor(call, second ? "key_cache" : "key"),
                *v = call_tensor(call, second ? "value_cache" : "value"),
                *table = call_tensor(call, second ? "block_table" : "block_tables");
    int64_t heads = call_int(call, second ? "num_heads" : "q_headnum"),
            key_heads = call_int(call, second ? "num_kv_heads" : "kv_headnum");
    struct attention a = { .scale = call_real(call, second ? "scale_value" : "qk_scale") };
    struct groups queries, keys;
    bool causal = second ? call_int(call, "mask_type") == 3
                         : call_is_none(call, "mask_type") ||
                               !strcmp(call_string(call, "mask_type"), "mask_type_causal_mask");
    if (!call_require(call, causal && call_is_none(call, "slopes"),
                      "only a triangle is followed here as a mask"))
        return;
    struct node *q = query_of(call, own, heads);
    if (!is_cache(call, k, table, key_heads) || !is_cache(call, v, table, key_heads) ||
        !groups_read(call, &queries, second ? "seq_len" : "seqlen", false, q->shape[0]) ||
        !groups_read(call, &keys, second ? "context_lens" : "kv_seqlen", false, INT64_MAX) ||
        !call_require(call,
                      queries.total == q->shape[0] && keys.count == queries.count &&
                          table->shape[0] >= queries.count && v->shape[1] == k->shape[1],
                      "the sequences do not have all tokens, with keys and pages for each"))
        return;
    struct node **parts = tape_allocate(tape, (size_t)queries.count + 1, sizeof *parts);
    for (int b = 0; !tape_failed(tape) && b < queries.count; b++) {
        int64_t rows = queries.end[b] - queries.start[b], columns = keys.end[b] - keys.start[b];
        if (!call_require(call, rows >= 1 && rows <= columns,
                          "sequence %d has %lld queries and %lld keys", b, (long long)rows,
                          (long long)columns))
            return;
        struct node *one = heads_first(tape, node_slice(tape, q, 0, queries.start[b], rows, 1));
        struct node *in[2] = { paged_rows(call, k, table, b, 0, columns, key_heads),
                               paged_rows(call, v, table, b, 0, columns, key_heads) };
        if (tape_failed(tape)) return;
        struct node *mask = outside_band(tape, rows, columns, columns - rows, INT64_MAX);
        parts[b] = rows_first(tape, attend(call, &a, one, heads_first(tape, in[0]),
                                           heads_first(tape, in[1]), mask, false)
                                        .y);
    }
    return_parts(call, parts, queries.count, own);
}

/* ---- parts of the keys, one after the other ---------------------------------------------------------------------- */

/* The lengths of queries (row 0) and keys (row 1, or the same). */
static bool ring_lengths(struct call *call, const int64_t **length, int *count)
{
    struct node *given = call_tensor(call, "seqlen");
    if (!call_require(call,
                      given->integer && given->n &&
                          (given->rank == 1 || (given->rank == 2 && given->shape[0] == 2)),
                      "lengths (batch) or (2, batch) are needed"))
        return false;
    *count = (int)given->shape[given->rank - 1];
    length[0] = given->integer;
    length[1] = given->integer + (given->rank == 2 ? *count : 0);
    return true;
}

/* The weight of a part: exp of the logarithm of its sum, of both parts' together. */
static struct node *share(struct tape *tape, struct node *own, struct node *other)
{
    return node_apply(tape, "sigmoid", node_subtract(tape, own, other));
}

static struct node *log_of_both(struct tape *tape, struct node *a, struct node *b)
{
    struct node *most = node_select(tape, node_compare(tape, COMPARE_GE, a, b), a, b);
    struct node *sum = node_add(tape, node_apply(tape, "exp", node_subtract(tape, a, most)),
                                node_apply(tape, "exp", node_subtract(tape, b, most)));
    return node_add(tape, most, node_apply(tape, "log", sum));
}

/* (1, N, T, 1) for the rows first ..< first + count of (N, T) */
static struct node *part_of_lse(struct tape *tape, struct node *lse, int64_t first, int64_t count)
{
    lse = node_slice(tape, lse, 1, first, count, 1);
    return node_reshape(tape, lse, 4, (int64_t[]){ 1, lse->shape[0], count, 1 });
}

/* A call of ring_mla: rows of the sequences one after another (tokens, heads, width), and the part before it joins, or NULL. */
struct ring {
    struct node *q, *k, *v, *last, *last_lse;
    const int64_t *length[2]; /* rows and keys of each sequence */
    int count;
    bool triangle;
    struct attention a;
};

static bool is_type(struct call *call, const char *argument, const char *type)
{
    return !call_is_none(call, argument) && !strcmp(call_string(call, argument), type);
}

static bool open_ring(struct ring *x, struct call *call)
{
    struct tape *tape = call->tape;
    int64_t heads = call_int(call, "head_num"), key_heads = call_int(call, "kv_head_num");
    struct node *q = query_of(call, call_tensor(call, "q_nope"), heads),
                *k = query_of(call, call_tensor(call, "k_nope"), key_heads);
    *x = (struct ring){ .triangle = is_type(call, "mask_type", "mask_type_triu"),
                        .a = { .scale = call_real(call, "qk_scale") },
                        .v = query_of(call, call_tensor(call, "value"), key_heads) };
    if (!ring_lengths(call, x->length, &x->count)) return false;
    x->q = node_concatenate(tape, (struct node *[]){ q, call_tensor(call, "q_rope") }, 2, 2);
    x->k = node_concatenate(tape, (struct node *[]){ k, call_tensor(call, "k_rope") }, 2, 2);
    if (!is_type(call, "calc_type", "calc_type_default")) return true;
    x->last = query_of(call, call_tensor(call, "pre_out"), heads);
    x->last_lse = call_tensor(call, "prev_lse");
    return call_require(call,
                        x->last_lse->rank == 2 && x->last_lse->shape[0] == heads &&
                            x->last_lse->shape[1] == x->q->shape[0] &&
                            x->last->shape[0] == x->q->shape[0] &&
                            x->last->shape[2] == x->v->shape[2],
                        "the part before has other tokens or heads");
}

/* The attention of a sequence's rows and keys from `row` and `column` on, joined with the part before; and the logarithms of its sums. */
static struct node *attend_ring(struct call *call, struct node **lse, struct ring *x, int64_t row,
                                int64_t rows, int64_t column, int64_t columns)
{
    struct tape *tape = call->tape;
    struct node *mask = x->triangle ? outside_band(tape, rows, columns, 0, INT64_MAX) : NULL;
    struct block block =
        attend(call, &x->a, heads_first(tape, node_slice(tape, x->q, 0, row, rows, 1)),
               heads_first(tape, node_slice(tape, x->k, 0, column, columns, 1)),
               heads_first(tape, node_slice(tape, x->v, 0, column, columns, 1)), mask, true);
    *lse = node_add(tape, block.largest, node_apply(tape, "log", block.sum));
    if (!x->last || tape_failed(tape)) return rows_first(tape, block.y);
    struct node *own = *lse, *before = part_of_lse(tape, x->last_lse, row, rows),
                *old = heads_first(tape, node_slice(tape, x->last, 0, row, rows, 1));
    struct node *y = node_add(tape, node_multiply(tape, block.y, share(tape, own, before)),
                              node_multiply(tape, old, share(tape, before, own)));
    *lse = log_of_both(tape, before, own);
    return rows_first(tape, y);
}

/* The attention of packed sequences, heads in two parts, with the logarithm of the sum of exponentials; joined with that
 * of other keys. The triangle hides columns beyond the row. */
static void ring_mla(struct call *call)
{
    struct tape *tape = call->tape;
    struct ring x;
    if (!open_ring(&x, call)) return;
    struct node **parts = tape_allocate(tape, 2 * (size_t)x.count, sizeof *parts);
    int64_t row = 0, column = 0;
    for (int b = 0; !tape_failed(tape) && b < x.count; b++) {
        int64_t rows = x.length[0][b], columns = x.length[1][b];
        if (!call_require(call, rows >= 1 && columns >= 1,
                          "what becomes of a sequence without keys is not published") ||
            !call_require(call, rows <= x.q->shape[0] - row && columns <= x.k->shape[0] - column,
                          "the sequences do not fit"))
            return;
        parts[b] = attend_ring(call, &parts[x.count + b], &x, row, rows, column, columns);
        row += rows;
        column += columns;
    }
    if (!call_require(call, row == x.q->shape[0] && column == x.k->shape[0],
                      "the sequences do not have all tokens"))
        return;
    return_parts(call, parts, x.count, call_tensor(call, "q_nope"));
    struct node *lse = node_concatenate(tape, parts + x.count, x.count, 2);
    call_return_typed(
        call, node_reshape(tape, lse, 2, (int64_t[]){ call_int(call, "head_num"), row }), DT_F32);
}

/* ---- reading pages --------------------------------------------------------------------------------------------- */

/* The rows of all sequences, one behind the other; what a given result has beyond them is kept. */
static void return_loaded(struct call *call, const char *cache_name, const char *name,
                          const struct groups *sequences, int skipped, const int64_t *starts)
{
    struct tape *tape = call->tape;
    struct node *cache = call_tensor(call, cache_name), *table = call_tensor(call, "block_table"),
                *given = call_optional_tensor(call, name);
    if (!call_require(call, cache->rank == 4, "a cache (pages, size, heads, width) is needed") ||
        !is_cache(call, cache, table, cache->shape[2]) ||
        !call_require(call, sequences->count - skipped == table->shape[0],
                      "each sequence needs a row of the table"))
        return;
    struct node **parts = tape_allocate(tape, (size_t)sequences->count + 2, sizeof *parts);
    int count = 0;
    if (!parts) return;
    for (int b = skipped; !tape_failed(tape) && b < sequences->count; b++) {
        /* Sequences start where a page does. */
        int64_t size = cache->shape[1], start = starts ? starts[b - skipped] / size * size : 0;
        int64_t length = sequences->end[b] - sequences->start[b];
        if (!call_require(call, start >= 0, "a sequence starts ahead of its pages")) return;
        if (length)
            parts[count++] =
                paged_rows(call, cache, table, b - skipped, start, length, cache->shape[2]);
    }
    int64_t shape[3] = { 0, cache->shape[2], cache->shape[3] };
    if (given) {
        if (!call_require(call,
                          given->rank == 3 && given->dtype == cache->dtype &&
                              given->shape[0] >= sequences->total && given->shape[1] == shape[1] &&
                              given->shape[2] == shape[2],
                          "the result that is given does not have the rows"))
            return;
        parts[count++] =
            node_slice(tape, given, 0, sequences->total, given->shape[0] - sequences->total, 1);
    }
    if (!count)
        parts[count++] = node_slice(
            tape, node_reshape(tape, cache, 3, (int64_t[]){ -1, shape[1], shape[2] }), 0, 0, 0, 1);
    call_return_typed(call, node_concatenate(tape, parts, count, 0), cache->dtype);
}

static void paged_cache_load(struct call *call)
{
    struct groups sequences;
    bool ends = call_bool(call, "cumsum");
    struct node *starts = call_optional_tensor(call, "seq_starts"),
                *table = call_tensor(call, "block_table");
    if (!groups_read(call, &sequences, "context_lens", ends, INT64_MAX)) return;
    /* Ends may have a zero ahead of them. */
    int skipped = ends && table->rank == 2 && sequences.count == table->shape[0] + 1 &&
                  !sequences.end[0];
    if (!call_require(call,
                      !starts || (starts->integer && starts->rank == 1 && table->rank == 2 &&
                                  starts->shape[0] == table->shape[0]),
                      "each sequence needs a start"))
        return;
    const int64_t *at = starts ? starts->integer : NULL;
    return_loaded(call, "key_cache", "key", &sequences, skipped, at);
    if (tape_failed(call->tape)) return;
    return_loaded(call, "value_cache", "value", &sequences, skipped, at);
}

/* clang-format off */
const struct op ops_npu_cached_attention[] = {
    { "atb._npu_paged_attention_v2", NPU, "(Tensor query, Tensor key_cache, Tensor block_table, Any context_lens, *, Tensor? value_cache=None, Tensor? mask=None, int num_kv_heads=0, int num_heads=0, float scale_value=1.0, int mask_type=0, ...)", paged_attention, OP_NO_GRADIENT, 0, NULL },
    { "atb.npu_multi_head_latent_attention", NPU, "(Tensor q_nope, Tensor q_rope, Tensor ctkv, Tensor k_rope, Tensor block_tables, Any context_lens, int q_headnum, float qk_scale, int kv_headnum, *, Tensor? mask=None, Any qseqlen=None, Tensor? qk_descale=None, Tensor? pv_descale=None, str? mask_type=None, str? calc_type=None, str? cache_mode=None, ...)", latent_attention, OP_NO_GRADIENT, 1, NULL },
    { "atb._npu_flash_attention_v2", NPU, "(Tensor query, Tensor key, Tensor value, Any seq_len, *, Tensor? mask=None, Tensor? slopes=None, int kernel_type=0, int mask_type=2, float scale_value=1, int num_heads=0, int num_kv_heads=0, ...)", packed_attention, OP_NO_GRADIENT, 0, NULL },
    { "atb.npu_self_attention_prefix_encoder", NPU, "(Tensor query, Tensor key, Tensor value, Tensor block_tables, Any seqlen, Any kv_seqlen, int q_headnum, float qk_scale, int kv_headnum, *, Tensor? mask=None, Tensor? slopes=None, str? mask_type=None, ...)", prefix_attention, OP_NO_GRADIENT, 0, NULL },
    { "atb._npu_flash_attention_prefix_v2", NPU, "(Tensor query, Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor mask, Any seq_len, Any context_lens, *, Tensor? slopes=None, int kernel_type=1, int mask_type=3, int num_kv_heads=0, int num_heads=0, float scale_value=1, ...)", prefix_attention, OP_NO_GRADIENT, 1, NULL },
    { "atb.npu_ring_mla", NPU, "(Tensor q_nope, Tensor q_rope, Tensor k_nope, Tensor k_rope, Tensor value, Tensor mask, Any seqlen, int head_num, int kv_head_num, *, Tensor? pre_out=None, Tensor? prev_lse=None, float qk_scale=1, str? kernel_type=None, str? mask_type=None, str? input_layout=None, str? calc_type=None, ...)", ring_mla, OP_NO_GRADIENT, 0, NULL },
    { "atb.npu_paged_cache_load", NPU, "(Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor context_lens, *, Tensor? seq_starts=None, bool cumsum=False, Tensor? key=None, Tensor? value=None)", paged_cache_load, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_cached_attention);
