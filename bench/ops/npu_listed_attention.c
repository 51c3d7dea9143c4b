/* Latent attention of torch_npu over the keys that a list names for each query: blocks of sparse_block_size positions, up
 * to the first -1. The values are the keys without their rope. In mode 3 a query sees no later keys, queries lying at the end
 * of their keys. By its documentation (op-plugin, docs/context). Packed queries (TND) have the ends of sequences, keys in
 * pages (PA_BSND) their lengths.
 */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/npu_attention.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/npu_pages.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

struct listing {
    struct call *call;
    bool packed, keys_packed, paged; /* layouts: TND, TND of keys, PA_BSND; else BSND */
    struct node *table;
    struct node *listed; /* (tokens, most) */
    int64_t most, block, mode;
    struct groups queries;
    int64_t *first, *length; /* of the keys of each sequence; first where they are packed */
};

/* Rows (tokens, heads, width) of a tensor in the layout of queries. */
static struct node *token_rows(const struct listing *l, struct node *x)
{
    if (l->packed) return x;
    return node_reshape(l->call->tape, x, 3,
                        (int64_t[]){ x->shape[0] * x->shape[1], x->shape[2], x->shape[3] });
}

/* The keys of sequence b, (keys, 1, width). */
static struct node *key_rows(const struct listing *l, struct node *x, int64_t b)
{
    struct tape *tape = l->call->tape;
    if (l->paged) return paged_rows(l->call, x, l->table, b, 0, l->length[b], 1);
    if (l->keys_packed) return node_slice(tape, x, 0, l->first[b], l->length[b], 1);
    x = node_slice(tape, node_slice(tape, x, 0, b, 1, 1), 1, 0, l->length[b], 1);
    return node_reshape(tape, x, 3, (int64_t[]){ l->length[b], 1, x->shape[3] });
}

/* Layouts, lists and lengths, for queries q and keys k. */
static bool read_listing(struct listing *l, const struct node *q, struct node *k)
{
    struct call *call = l->call;
    const char *layout = call_string(call, "layout_query"), *keys = call_string(call, "layout_kv");
    l->packed = !strcmp(layout, "TND");
    l->keys_packed = !strcmp(keys, "TND");
    l->paged = !strcmp(keys, "PA_BSND");
    l->table = call_optional_tensor(call, "block_table");
    l->listed = call_tensor(call, "sparse_indices");
    l->block = call_int(call, "sparse_block_size");
    l->mode = call_int(call, "sparse_mode");
    const struct node *listed = l->listed;
    int rank = l->packed ? 3 : 4;
    bool rows = !call_is_none(call, "actual_seq_lengths_query"),
         lengths = !call_is_none(call, "actual_seq_lengths_kv");
    if (!call_require(call,
                      (l->packed || !strcmp(layout, "BSND")) &&
                          (l->keys_packed || l->paged || !strcmp(keys, "BSND")),
                      "layouts \"%s\" and \"%s\" are not followed here", layout, keys) ||
        !call_require(call,
                      q->rank == rank && k->rank == (l->keys_packed ? 3 : 4) && listed->integer &&
                          listed->rank == rank && listed->shape[0] == q->shape[0] &&
                          (l->packed || listed->shape[1] == q->shape[1]) &&
                          listed->shape[rank - 2] == 1 && k->shape[k->rank - 2] == 1 &&
                          l->block >= 1 && l->block <= INT32_MAX &&
                          (l->mode == 0 || l->mode == 3) && q->n && k->n,
                      "queries, keys of one head and a list of blocks for each query are needed") ||
        !call_require(call,
                      (!l->packed || rows) && (!(l->keys_packed || l->paged) || lengths) &&
                          (!l->paged || (l->table && is_cache(call, k, l->table, 1))),
                      "packed sequences need their ends, keys in pages their lengths and a table"))
        return false;
    l->most = listed->shape[rank - 1];
    int64_t batches = l->packed ? 0 : q->shape[0], steps = l->packed ? 0 : q->shape[1];
    if (rows &&
        !groups_read(call, &l->queries, "actual_seq_lengths_query", l->packed, (int64_t)q->n))
        return false;
    if (!rows) {
        int64_t *at = tape_allocate(call->tape, 2 * (size_t)batches, sizeof *at);
        if (!at) return false;
        l->queries = (struct groups){ (int)batches, at, at + batches, batches * steps };
        for (int64_t b = 0; b < batches; b++) at[batches + b] = (at[b] = b * steps) + steps;
    }
    for (int b = 0; !l->packed && b < l->queries.count; b++)
        if (!call_require(call, l->queries.end[b] - l->queries.start[b] == steps,
                          "shorter sequences of queries are not followed here"))
            return false;
    int64_t tokens = l->packed ? q->shape[0] : batches * steps;
    return call_require(call,
                        l->queries.total == tokens && (l->packed || l->queries.count == batches),
                        "the sequences do not have all queries");
}

/* Which keys each sequence has. */
static bool read_keys(struct listing *l, const struct node *k)
{
    struct call *call = l->call;
    int count = l->queries.count;
    struct groups keys = { .count = count };
    bool given = !call_is_none(call, "actual_seq_lengths_kv");
    if (given && !groups_read(call, &keys, "actual_seq_lengths_kv", l->keys_packed,
                              l->keys_packed ? k->shape[0] : INT64_MAX))
        return false;
    if (!call_require(call,
                      keys.count == count && (!l->paged || l->table->shape[0] >= count) &&
                          (l->keys_packed || l->paged || k->shape[0] == count),
                      "%d sequences of queries, %d of keys", count, keys.count))
        return false;
    l->first = tape_allocate(call->tape, 2 * (size_t)count, sizeof *l->first);
    if (!l->first) return false;
    l->length = l->first + count;
    for (int b = 0; b < count; b++) {
        l->first[b] = given ? keys.start[b] : 0;
        l->length[b] = given ? keys.end[b] - keys.start[b] : k->shape[1];
        if (!call_require(call, l->keys_packed || l->paged || l->length[b] <= k->shape[1],
                          "%lld keys of %lld", (long long)l->length[b], (long long)k->shape[1]) ||
            !call_require(call, l->length[b] >= 1, "sequence %d has no keys", b))
            return false;
    }
    return true;
}

/* True (masked) for the keys of sequence b that a query's list does not name. */
static struct node *unlisted(const struct listing *l, int64_t b)
{
    struct call *call = l->call;
    int64_t start = l->queries.start[b], rows = l->queries.end[b] - start, keys = l->length[b];
    struct node *mask = node_new_integer(call->tape, DT_BOOL, 4, (int64_t[]){ 1, 1, rows, keys });
    for (size_t i = 0; !tape_failed(call->tape) && i < mask->n; i++) mask->integer[i] = 1;
    for (int64_t r = 0; !tape_failed(call->tape) && r < rows; r++) {
        const int64_t *list = l->listed->integer + (start + r) * l->most;
        int64_t last = l->mode == 3 ? keys - rows + r + 1 : keys, seen = 0;
        for (int64_t i = 0; i < l->most && list[i] != -1; i++) {
            if (!call_require(call, list[i] >= 0 && list[i] <= keys / l->block,
                              "block %lld of %lld keys", (long long)list[i], (long long)keys))
                return mask;
            for (int64_t j = list[i] * l->block; j < (list[i] + 1) * l->block && j < last;
                 j++, seen++) {
                if (!call_require(call, mask->integer[r * keys + j], "block %lld is listed twice",
                                  (long long)list[i]))
                    return mask;
                mask->integer[r * keys + j] = 0;
            }
        }
        if (!call_require(call, seen >= 1, "a query sees no key")) return mask;
    }
    return mask;
}

/* The results of all sequences, in the layout of the query. */
static void return_sequences(const struct listing *l, struct node **parts, const struct node *q)
{
    struct call *call = l->call;
    if (tape_failed(call->tape)) return;
    struct node *y = node_concatenate(call->tape, parts, l->queries.count, 0);
    if (!l->packed)
        y = node_reshape(call->tape, y, 4,
                         (int64_t[]){ q->shape[0], q->shape[1], y->shape[1], y->shape[2] });
    call_return_typed(call, y, q->dtype);
}

/* Queries and keys in two parts, the second turned, each a tensor. */
static void sparse_flash_attention(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *own = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value"), *ropes[2] = { NULL, NULL };
    struct listing l = { .call = call };
    struct attention a = { .scale = call_real(call, "scale_value") };
    if (!call_require(call, !call_bool(call, "return_softmax_lse"),
                      "statistics are not followed here") ||
        !read_listing(&l, own, k) || !read_keys(&l, k) ||
        !call_require(call, v->rank == k->rank, "keys and values of different layouts"))
        return;
    bool turned = !call_is_none(call, "query_rope");
    if (!call_require(call, turned == !call_is_none(call, "key_rope"),
                      "query_rope and key_rope belong together"))
        return;
    struct node *q = token_rows(&l, own);
    if (turned) {
        ropes[0] = call_tensor(call, "query_rope");
        ropes[1] = call_tensor(call, "key_rope");
        if (!call_require(call, ropes[0]->rank == own->rank && ropes[1]->rank == k->rank,
                          "a rope has other dimensions") ||
            (l.paged && !is_cache(call, ropes[1], l.table, 1)))
            return;
        q = node_concatenate(tape, (struct node *[]){ q, token_rows(&l, ropes[0]) }, 2, 2);
    }
    struct node **parts = tape_allocate(tape, (size_t)l.queries.count, sizeof *parts);
    for (int b = 0; !tape_failed(tape) && b < l.queries.count; b++) {
        int64_t start = l.queries.start[b], rows = l.queries.end[b] - start;
        struct node *key = key_rows(&l, k, b);
        if (turned)
            key = node_concatenate(tape, (struct node *[]){ key, key_rows(&l, ropes[1], b) }, 2, 2);
        struct block block = attend(
            call, &a, heads_first(tape, node_slice(tape, q, 0, start, rows, 1)),
            heads_first(tape, key), heads_first(tape, key_rows(&l, v, b)), unlisted(&l, b), false);
        parts[b] = rows_first(tape, block.y);
    }
    return_sequences(&l, parts, own);
    call_return_none(call);
    call_return_none(call);
}

/* ---- keys in bytes -------------------------------------------------------------------------------------------- */

/* A key in bytes: 8-bit integers, the turned part in the query's dtype, and a float32 for each `tile` of the integers. */
struct packed_keys {
    int64_t plain, turned, tiles, tile, bytes;
    enum dtype dtype;
};

/* `count` numbers of a dtype, from byte `from` of each row. */
static struct node *numbers_at(struct tape *tape, const struct node *rows, int64_t bytes,
                               int64_t from, int64_t count, enum dtype dtype)
{
    int64_t n = bytes ? (int64_t)rows->n / bytes : 0;
    struct node *out = node_new_real(tape, dtype, 3, (int64_t[]){ n, 1, count });
    size_t each = dtype_info(dtype)->bytes;
    for (int64_t i = 0; !tape_failed(tape) && i < n * count; i++) {
        unsigned char raw[8] = { 0 };
        const int64_t *at = rows->integer + i / count * bytes + from + i % count * (int64_t)each;
        for (size_t k = 0; k < each; k++) raw[k] = (unsigned char)at[k];
        dtype_to_double(out->value + i, raw, dtype, 1);
    }
    return out;
}

/* The part that is not turned: integers times the scale of their tile, (keys, 1, plain). */
static struct node *dequantized(struct tape *tape, const struct packed_keys *p,
                                const struct node *rows, int64_t keys)
{
    struct node *whole = numbers_at(tape, rows, p->bytes, 0, p->plain, DT_I8),
                *scale = numbers_at(tape, rows, p->bytes,
                                    p->plain + p->turned * (int64_t)dtype_info(p->dtype)->bytes,
                                    p->tiles, DT_F32);
    whole = node_reshape(tape, whole, 3, (int64_t[]){ keys, p->tiles, p->tile });
    scale = node_reshape(tape, scale, 3, (int64_t[]){ keys, p->tiles, 1 });
    return node_reshape(tape, node_multiply(tape, whole, scale), 3,
                        (int64_t[]){ keys, 1, p->plain });
}

static void quantized_sparse_attention(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *own = call_tensor(call, "query"), *k = call_tensor(call, "key");
    struct listing l = { .call = call };
    struct attention a = { .scale = call_real(call, "scale_value") };
    struct packed_keys p = { .turned = call_int(call, "rope_head_dim"),
                             .tile = call_int(call, "tile_size"),
                             .dtype = own->dtype };
    if (!call_require(call,
                      call_int(call, "key_quant_mode") == 2 &&
                          call_int(call, "value_quant_mode") == 2 &&
                          call_int(call, "attention_mode") == 2 &&
                          call_int(call, "quant_scale_repo_mode") == 1 &&
                          call_is_none(call, "key_dequant_scale") &&
                          call_is_none(call, "value_dequant_scale"),
                      "only keys with their scales beside them are followed here") ||
        !call_require(call, k->dtype == DT_I8 && !own->integer,
                      "only keys in int8 are followed here") ||
        !read_listing(&l, own, k) || !read_keys(&l, k))
        return;
    p.bytes = k->shape[k->rank - 1];
    p.plain = own->shape[own->rank - 1] - p.turned;
    int64_t size = (int64_t)dtype_info(p.dtype)->bytes;
    if (!call_require(call, p.tile >= 1 && p.turned >= 0 && p.plain >= 1 && p.plain % p.tile == 0,
                      "the query does not divide into tiles and a turned part"))
        return;
    p.tiles = p.plain / p.tile;
    if (!call_require(call, p.bytes == p.plain + p.turned * size + 4 * p.tiles,
                      "a key has %lld bytes, not %lld", (long long)p.bytes,
                      (long long)(p.plain + p.turned * size + 4 * p.tiles)))
        return;
    struct node *q = token_rows(&l, own), **parts;
    parts = tape_allocate(tape, (size_t)l.queries.count, sizeof *parts);
    for (int b = 0; !tape_failed(tape) && b < l.queries.count; b++) {
        int64_t start = l.queries.start[b], rows = l.queries.end[b] - start;
        struct node *bytes = key_rows(&l, k, b);
        if (tape_failed(tape)) return;
        struct node *value = dequantized(tape, &p, bytes, l.length[b]),
                    *turned = numbers_at(tape, bytes, p.bytes, p.plain, p.turned, p.dtype);
        struct node *key = node_concatenate(tape, (struct node *[]){ value, turned }, 2, 2);
        struct block block =
            attend(call, &a, heads_first(tape, node_slice(tape, q, 0, start, rows, 1)),
                   heads_first(tape, key), heads_first(tape, value), unlisted(&l, b), false);
        parts[b] = rows_first(tape, block.y);
    }
    return_sequences(&l, parts, own);
}

/* clang-format off */
#define LISTED "Tensor? block_table=None, Tensor? actual_seq_lengths_query=None, Tensor? actual_seq_lengths_kv=None, "
#define LAYOUTS "int sparse_block_size=1, str layout_query='BSND', str layout_kv='BSND', int sparse_mode=3, int pre_tokens=9223372036854775807, int next_tokens=9223372036854775807, int attention_mode=0, "
const struct op ops_npu_listed_attention[] = {
    { "npu_sparse_flash_attention", NPU, "(Tensor query, Tensor key, Tensor value, Tensor sparse_indices, float scale_value, *, " LISTED "Tensor? query_rope=None, Tensor? key_rope=None, " LAYOUTS "bool return_softmax_lse=False)", sparse_flash_attention, OP_NO_GRADIENT, 0, NULL },
    { "npu_kv_quant_sparse_flash_attention", NPU, "(Tensor query, Tensor key, Tensor value, Tensor sparse_indices, float scale_value, int key_quant_mode, int value_quant_mode, *, Tensor? key_dequant_scale=None, Tensor? value_dequant_scale=None, " LISTED LAYOUTS "int quant_scale_repo_mode=1, int tile_size=128, int rope_head_dim=64, ...)", quantized_sparse_attention, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_listed_attention);
