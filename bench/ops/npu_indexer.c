/* Scores by which sparse attention chooses its keys (lightning indexer): the sum over heads of weight relu(q k), its largest
 * keys, the statistics of its softmax, and the loss that trains it towards an attention; by op-plugin's documentation
 * (docs/zh) and, for the least probability in a logarithm, the reference of its tests.
 *
 * A sequence has queries (rows, heads, width), keys of one head (columns, width) and weights (rows, heads). In mode 3 a query
 * sees the keys that are not later than itself, the last query being as late as the last key. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/operands.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/sorting.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- sequences --------------------------------------------------------------------------------------------- */

/* A batch of sequences (BSND), or their rows one after another (TND). */
struct sequences {
    bool packed;
    int count;
    struct groups queries, keys; /* of packed ones */
    int64_t mode;
    const int64_t
        *lengths; /* of the keys of a batch that has less than its extent; NULL: none has */
};

/* Sequence i of a tensor that goes with the queries or with the keys. */
static struct node *sequence_of(struct tape *tape, const struct sequences *s, struct node *x,
                                bool of_keys, int i)
{
    if (s->packed) {
        const struct groups *of = of_keys ? &s->keys : &s->queries;
        return node_slice(tape, x, 0, of->start[i], of->end[i] - of->start[i], 1);
    }
    x = node_slice(tape, x, 0, i, 1, 1);
    x = node_reshape(tape, x, x->rank - 1, x->shape + 1);
    return of_keys && s->lengths ? node_slice(tape, x, 0, 0, s->lengths[i], 1) : x;
}

/* Read layout, mode and lengths of queries q, keys k and weights by the names of their arguments. */
static bool read_sequences(struct call *call, struct sequences *s, const struct node *q,
                           const struct node *k, const struct node *weights, const char *layout,
                           const char *q_lengths, const char *k_lengths)
{
    const char *name = call_string(call, layout);
    *s =
        (struct sequences){ .packed = !strcmp(name, "TND"), .mode = call_int(call, "sparse_mode") };
    int rank = s->packed ? 3 : 4;
    s->count = (int)q->shape[0];
    if (!call_require(call,
                      (s->packed || !strcmp(name, "BSND")) && (s->mode == 0 || s->mode == 3) &&
                          q->rank == rank && k->rank == rank && weights->rank == rank - 1 &&
                          !weights->integer && q->n && k->n && k->shape[rank - 2] == 1 &&
                          k->shape[rank - 1] == q->shape[rank - 1] &&
                          weights->n * (size_t)q->shape[rank - 1] == q->n &&
                          (s->packed || k->shape[0] == q->shape[0]),
                      "queries, keys of one head and weights in layout BSND or TND are needed"))
        return false;
    if (!s->packed) return true;
    if (!groups_read(call, &s->queries, q_lengths, true, q->shape[0]) ||
        !groups_read(call, &s->keys, k_lengths, true, k->shape[0]) ||
        !call_require(call, s->queries.count == s->keys.count && s->queries.total == q->shape[0],
                      "as many sequences of queries as of keys are needed"))
        return false;
    s->count = s->queries.count;
    return true;
}

/* The keys that query `row` of `rows` sees, the first ones. */
static int64_t keys_seen(const struct sequences *s, int64_t row, int64_t rows, int64_t columns)
{
    int64_t last = s->mode == 3 ? columns - rows + row + 1 : columns;
    return last < 0 ? 0 : last;
}

/* True where a query does not see a key. */
static struct node *unseen(struct tape *tape, const struct sequences *s, int64_t rows,
                           int64_t columns)
{
    int64_t shape[2] = { rows, columns };
    struct node *mask = node_new_integer(tape, DT_BOOL, 2, shape);
    for (int64_t i = 0; !tape_failed(tape) && i < (int64_t)mask->n; i++)
        mask->integer[i] = i % columns >= keys_seen(s, i / columns, rows, columns);
    return mask;
}

/* relu(q k) of every head: (rows, heads, columns). */
static struct node *relevance(struct tape *tape, struct node *q, struct node *k)
{
    int64_t keys[2] = { k->shape[0], k->shape[k->rank - 1] };
    struct node *turned = node_transpose(tape, node_reshape(tape, k, 2, keys), 0, 1);
    return node_positive_part(tape, compose_matmul(tape, q, turned));
}

/* The sum over heads of weight relevance: (rows, columns). */
static struct node *weighted(struct tape *tape, struct node *relevance, struct node *weights)
{
    int64_t column[3] = { weights->shape[0], weights->shape[1], 1 };
    struct node *products = node_multiply(tape, relevance, node_reshape(tape, weights, 3, column));
    return node_sum(tape, products, 2, false);
}

/* ---- statistics --------------------------------------------------------------------------------------------- */

/* The largest score of each query and the sum of exponentials about it, (batch, 1, queries) or, packed, (1, tokens). */
static void indexer_softmax_lse(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query_index"), *k = call_tensor(call, "key_index"),
                *weights = call_tensor(call, "weights");
    struct sequences s;
    if (!call_require(call, !q->integer && !k->integer, "queries and keys of floats are needed") ||
        !read_sequences(call, &s, q, k, weights, "layout", "actual_seq_qlen", "actual_seq_klen"))
        return;
    struct node **parts = tape_allocate(tape, 2 * (size_t)s.count, sizeof *parts);
    int used = 0;
    for (int i = 0; !tape_failed(tape) && i < s.count; i++) {
        struct node *own_q = sequence_of(tape, &s, q, false, i),
                    *own_k = sequence_of(tape, &s, k, true, i);
        int64_t rows = own_q->shape[0], columns = own_k->shape[0];
        if (!call_require(call, columns >= 1 && columns >= rows,
                          "a sequence has at least as many keys as queries"))
            return;
        if (!rows) continue;
        struct node *scores =
            weighted(tape, relevance(tape, own_q, own_k), sequence_of(tape, &s, weights, false, i));
        scores = node_select(tape, unseen(tape, &s, rows, columns), node_scalar(tape, -INFINITY),
                             scores);
        struct node *largest = node_extremum(tape, scores, 2, true, 1);
        parts[used] = largest;
        parts[s.count + used++] =
            node_sum(tape, node_apply(tape, "exp", node_subtract(tape, scores, largest)), 2, true);
    }
    if (!call_require(call, used >= 1, "there are no queries")) return;
    int64_t shape[3] = { q->shape[0], 1, q->rank > 3 ? q->shape[1] : 1 },
            flat[2] = { 1, q->shape[0] };
    for (int part = 0; part < 2; part++) {
        struct node *y = node_concatenate(tape, parts + part * s.count, used, 0);
        call_return_typed(
            call, s.packed ? node_reshape(tape, y, 2, flat) : node_reshape(tape, y, 3, shape),
            DT_F32);
    }
}

/* ---- the largest keys --------------------------------------------------------------------------------------------- */

/* What one query chooses from: its scores of the keys that it sees. */
struct choice {
    const double *score;
    int64_t seen, wanted, count; /* keys seen, places in the result, chosen: the smaller of both */
    double slack;                /* how far a kernel's score is off at most */
};

/* Are the device's `places` right: `count` different keys, none of which lies below one that is left out by more than a
 * kernel's errors in both, in any order, and then -1? */
static bool is_right_choice(const struct choice *c, const int64_t *places, int64_t *taken)
{
    double least = INFINITY, most = -INFINITY;
    for (int64_t j = 0; j < c->seen; j++) taken[j] = 0;
    for (int64_t i = 0; i < c->wanted; i++) {
        if (i >= c->count && places[i] != -1) return false;
        if (i >= c->count) continue;
        if (places[i] < 0 || places[i] >= c->seen || taken[places[i]]++) return false;
        least = fmin(least, c->score[places[i]]);
    }
    for (int64_t j = 0; j < c->seen; j++)
        if (!taken[j]) most = fmax(most, c->score[j]);
    return most - least <= 2 * c->slack;
}

static void own_choice(const struct choice *c, struct sort_item *items, int64_t *places)
{
    for (int64_t j = 0; j < c->seen; j++)
        items[j] = (struct sort_item){ ~sort_key_real(c->score[j]), j };
    sort_items(items, items + c->seen, (size_t)c->seen);
    for (int64_t i = 0; i < c->wanted; i++) places[i] = i < c->count ? items[i].position : -1;
}

static double norm_of(const double *x, int64_t width)
{
    double sum = 0;
    for (int64_t d = 0; d < width; d++) sum += x[d] * x[d];
    return sqrt(sum);
}

/* How far a float kernel's score of query `row` is off at most: each product of a sum of `width` and each of the sum over
 * heads within its length of roundings (Higham, 3.1), by the norms of the query's heads and of the longest key (Cauchy and
 * Schwarz); `scaled`: the weight, times a scale, was rounded to float16. */
static double slack_of(struct node *q, struct node *k, struct node *weights, int64_t row,
                       bool scaled)
{
    int64_t heads = q->shape[1], width = q->shape[2];
    double longest = 0, sum = 0;
    for (int64_t j = 0; j < k->shape[0]; j++)
        longest = fmax(longest, norm_of(k->value + j * width, width));
    for (int64_t h = 0; h < heads; h++)
        sum += fabs(weights->value[row * heads + h]) *
               norm_of(q->value + (row * heads + h) * width, width);
    return ((double)(width + heads + 8) * 0x1p-24 + (scaled ? 0x1p-10 : 0)) * sum * longest;
}

/* By the dequantized scales of each row of a tensor with one dimension more. */
static struct node *dequantized(struct call *call, struct node *x, const char *name)
{
    struct node *scale = call_tensor(call, name);
    int64_t shape[TENSOR_MAX_RANK];
    if (!call_require(call,
                      x->rank >= 1 && scale->rank == x->rank - 1 && !scale->integer &&
                          scale->n * (size_t)x->shape[x->rank - 1] == x->n,
                      "%s has a scale for each head of each token", name))
        return x;
    memcpy(shape, scale->shape, sizeof shape);
    shape[scale->rank] = 1;
    return node_multiply(call->tape, node_to_real(call->tape, x),
                         node_reshape(call->tape, scale, x->rank, shape));
}

/* A call of the lightning indexer, and the keys that it chooses. */
struct indexer {
    struct call *call;
    struct node *q, *k, *weights;
    bool quantized, values; /* values: the scores of what is chosen are a result, too */
    int64_t wanted;
    struct sequences s;
    struct node *chosen, *theirs; /* theirs: the device's choice, or NULL */
};

static bool open_indexer(struct indexer *x, struct call *call)
{
    *x = (struct indexer){ .call = call,
                           .q = call_tensor(call, "query"),
                           .k = call_tensor(call, "key"),
                           .weights = call_tensor(call, "weights"),
                           .quantized = call->op->detail,
                           .wanted = call_int(call, "sparse_count") };
    if (!call_require(
            call,
            call_is_none(call, "block_table") &&
                !strcmp(call_string(call, "layout_query"), call_string(call, "layout_key")),
            "keys in pages are not followed here") ||
        !call_require(
            call,
            x->wanted >= 1 && x->wanted <= 8192 &&
                (x->quantized ? x->q->dtype == x->k->dtype : !x->q->integer && !x->k->integer),
            "queries and keys of one kind, and up to 8192 of them, are needed"))
        return false;
    if (x->quantized) {
        x->q = dequantized(call, x->q, "query_dequant_scale");
        x->k = dequantized(call, x->k, "key_dequant_scale");
    }
    x->values = !x->quantized && call_bool(call, "return_value");
    return !tape_failed(call->tape) &&
           read_sequences(call, &x->s, x->q, x->k, x->weights, "layout_query",
                          "actual_seq_lengths_query", "actual_seq_lengths_key");
}

/* Of a batch: how many keys each sequence has. */
static bool take_key_lengths(struct indexer *x)
{
    struct call *call = x->call;
    if (x->s.packed) return true;
    const struct node *lengths = call_optional_tensor(call, "actual_seq_lengths_key"),
                      *q_lengths = call_optional_tensor(call, "actual_seq_lengths_query");
    size_t batch = (size_t)x->q->shape[0];
    for (size_t b = 0; b < batch; b++)
        if (!call_require(
                call,
                (!lengths || (lengths->integer && lengths->n == batch && lengths->integer[b] >= 1 &&
                              lengths->integer[b] <= x->k->shape[1])) &&
                    (!q_lengths || (q_lengths->integer && q_lengths->n == batch &&
                                    q_lengths->integer[b] == x->q->shape[1])),
                "shorter sequences of queries are not followed here"))
            return false;
    x->s.lengths = lengths ? lengths->integer : NULL;
    return true;
}

/* The keys of the queries of sequence i, from place *at of what is chosen on; and their scores where these are a result, else NULL. */
static bool choose_keys(struct indexer *x, struct node **values, int64_t *at, int i)
{
    struct call *call = x->call;
    struct tape *tape = call->tape;
    struct node *q = node_to_real(tape, sequence_of(tape, &x->s, x->q, false, i)),
                *k = node_to_real(tape, sequence_of(tape, &x->s, x->k, true, i)),
                *w = sequence_of(tape, &x->s, x->weights, false, i);
    int64_t rows = q->shape[0], columns = k->shape[0], wanted = x->wanted,
            shape[2] = { rows, wanted };
    *values = NULL;
    if (!rows) return true;
    struct node *scores = weighted(tape, relevance(tape, q, k), w);
    struct sort_item *items = tape_allocate(tape, 2 * (size_t)columns + 1, sizeof *items);
    int64_t *taken = tape_allocate(tape, (size_t)columns + 1, sizeof *taken),
            *map = tape_allocate(tape, (size_t)(rows * wanted) + 1, sizeof *map);
    const double *value = node_values(tape, scores);
    (void)node_values(tape, q), (void)node_values(tape, k), (void)node_values(tape, w);
    if (tape_failed(tape)) return false;
    for (int64_t r = 0; r < rows; r++, *at += wanted) {
        struct choice c = { value + r * columns, keys_seen(&x->s, r, rows, columns), wanted, 0,
                            slack_of(q, k, w, r, x->quantized) };
        int64_t *places = x->chosen->integer + *at;
        c.count = c.seen < wanted ? c.seen : wanted;
        if (!call_require(call, !x->values || c.count == wanted,
                          "the values where a query sees fewer keys are not published"))
            return false;
        if (x->theirs && is_right_choice(&c, x->theirs->integer + *at, taken))
            memcpy(places, x->theirs->integer + *at, (size_t)wanted * sizeof *places);
        else own_choice(&c, items, places);
        for (int64_t p = 0; p < wanted; p++)
            map[r * wanted + p] = places[p] < 0 ? -1 : r * columns + places[p];
    }
    if (x->values) *values = node_gather(tape, scores, 2, shape, map, 0);
    return true;
}

/* The keys with the largest scores of each query, -1 behind the last that it sees, and (return_value) their scores. detail 1:
 * of quantized queries and keys, without scores. */
static void lightning_indexer(struct call *call)
{
    struct tape *tape = call->tape;
    struct indexer x;
    if (!open_indexer(&x, call) || !take_key_lengths(&x)) return;
    int64_t shape[4], rank = x.q->rank, at = 0;
    memcpy(shape, x.q->shape, sizeof shape);
    shape[rank - 2] = 1;
    shape[rank - 1] = x.wanted;
    x.chosen = node_new_integer(tape, DT_I32, (int)rank, shape);
    if (tape_failed(tape)) return;
    x.theirs = call_device_integers(call, 0, x.chosen);
    struct node **parts = tape_allocate(tape, (size_t)x.s.count + 1, sizeof *parts), *values;
    int used = 0;
    for (int i = 0; !tape_failed(tape) && i < x.s.count; i++) {
        if (!choose_keys(&x, &values, &at, i)) return;
        if (values) parts[used++] = values;
    }
    call_return(call, x.chosen);
    if (x.quantized) return;
    if (x.values && used)
        call_return_typed(
            call, node_reshape(tape, node_concatenate(tape, parts, used, 0), (int)rank, shape),
            x.q->dtype);
    else call_return_none(call);
}

/* ---- the loss --------------------------------------------------------------------------------------------------------- */

/* Statistics (groups, rows, heads of a group) of one sequence as (heads, rows, 1). */
static struct node *by_head(struct call *call, const struct sequences *s, const char *name, int i,
                            int64_t heads, int64_t rows)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, name);
    int64_t groups = x->rank >= 3 ? x->shape[x->rank - 3] : 0,
            each = x->rank >= 3 ? x->shape[x->rank - 1] : 0, shape[3] = { heads, rows, 1 };
    if (!call_require(call, !x->integer && x->rank == (s->packed ? 3 : 4) && groups * each == heads,
                      "%s has a number for each head of each query", name))
        return tape_failure(tape);
    if (s->packed) {
        x = node_slice(tape, x, 1, s->queries.start[i], rows, 1);
    } else {
        x = node_slice(tape, x, 0, i, 1, 1);
        x = node_reshape(tape, x, 3, x->shape + 1);
    }
    return node_reshape(tape, node_transpose(tape, x, 1, 2), 3, shape);
}

/* The same of one head, (1, rows): as (rows, 1). */
static struct node *of_rows(struct call *call, const struct sequences *s, const char *name, int i,
                            int64_t rows)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, name);
    int64_t shape[2] = { rows, 1 };
    if (!call_require(call,
                      !x->integer && x->rank == (s->packed ? 2 : 3) && x->shape[x->rank - 2] == 1,
                      "%s has a number for each query", name))
        return tape_failure(tape);
    x = s->packed ? node_slice(tape, x, 1, s->queries.start[i], rows, 1)
                  : node_slice(tape, x, 0, i, 1, 1);
    return node_reshape(tape, x, 2, shape);
}

/* exp(x - largest) / sum, 0 where masked. */
static struct node *share_of(struct tape *tape, struct node *x, struct node *largest,
                             struct node *sum, struct node *mask)
{
    struct node *y =
        node_divide(tape, node_apply(tape, "exp", node_subtract(tape, x, largest)), sum);
    return node_select(tape, mask, node_scalar(tape, 0), y);
}

/* x, or 1e-8 where it is less, and its logarithm. */
static struct node *bounded_log(struct tape *tape, struct node *x)
{
    struct node *least = node_scalar(tape, 1e-8);
    return node_apply(tape, "log",
                      node_select(tape, node_compare(tape, COMPARE_GT, x, least), x, least));
}

/* In a model: x, rounded to `dtype` before it is multiplied. */
static struct node *stored_as(struct tape *tape, struct node *x, enum dtype dtype)
{
    double unit = dtype == DT_F16 || dtype == DT_BF16 ? dtype_ulp(dtype, 1) / 2 : 0;
    return unit > 0 ? node_model_error(tape, x, x, unit * 0x1p24) : x;
}

/* A call of the loss of a dense indexer: the attention that the index learns from, and the index. */
struct dense_loss {
    struct call *call;
    struct node *q, *k, *q_index, *k_index, *weights;
    double scale;
    struct sequences s;
};

static bool open_dense_loss(struct dense_loss *x, struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *q_index = call_tensor(call, "query_index"),
                *k_index = call_tensor(call, "key_index");
    *x = (struct dense_loss){ call,
                              q,
                              k,
                              q_index,
                              k_index,
                              call_tensor(call, "weights"),
                              .scale = call_real(call, "scale_value") };
    if (!read_sequences(call, &x->s, q_index, k_index, x->weights, "layout", "actual_seq_qlen",
                        "actual_seq_klen") ||
        !call_require(call,
                      !q_index->integer && !k_index->integer && !q->integer && !k->integer &&
                          q->rank == q_index->rank && k->rank == q->rank &&
                          q->shape[q->rank - 2] == k->shape[k->rank - 2] &&
                          q->shape[q->rank - 1] == k->shape[k->rank - 1] &&
                          q->shape[0] == q_index->shape[0] && k->shape[0] == k_index->shape[0] &&
                          (x->s.packed ||
                           (q->shape[1] == q_index->shape[1] && k->shape[1] == k_index->shape[1])),
                      "the attention has the queries of the index, and a key for each head") ||
        !call_require(call, call_is_none(call, "query_rope") == call_is_none(call, "key_rope"),
                      "query_rope and key_rope belong together"))
        return false;
    if (call_is_none(call, "query_rope")) return true;
    struct node *both[2][2] = { { q, call_tensor(call, "query_rope") },
                                { k, call_tensor(call, "key_rope") } };
    x->q = node_concatenate(tape, both[0], 2, q->rank - 1);
    x->k = node_concatenate(tape, both[1], 2, k->rank - 1);
    return true;
}

/* The probabilities of the attention in sequence i, queries q and keys k, in the mean of its heads. */
static struct node *attention_share(const struct dense_loss *x, struct node *q, struct node *k,
                                    int i, struct node *mask)
{
    struct tape *tape = x->call->tape;
    int64_t rows = q->shape[0], heads = q->shape[1];
    struct node *scores = compose_matmul(tape, node_transpose(tape, q, 0, 1),
                                         node_transpose(tape, node_transpose(tape, k, 0, 1), 1, 2));
    struct node *p = share_of(tape, node_scale(tape, scores, x->scale),
                              by_head(x->call, &x->s, "softmax_max", i, heads, rows),
                              by_head(x->call, &x->s, "softmax_sum", i, heads, rows), mask);
    return node_mean(tape, p, 1, false);
}

/* The gradients of the index's queries, keys and weights in a sequence, whose scores have gradient d (rows, columns). */
static void index_gradients(const struct dense_loss *x, struct node *gradients[3], struct node *d,
                            struct node *relevant, struct node *q, struct node *k,
                            struct node *weights)
{
    struct tape *tape = x->call->tape;
    int64_t rows = q->shape[0], columns = k->shape[0], indexers = q->shape[1], width = k->shape[2];
    int64_t middle[3] = { rows, 1, columns }, column[3] = { rows, indexers, 1 },
            flat[2] = { columns, width }, tall[2] = { rows * indexers, columns },
            wide[2] = { rows * indexers, width };
    d = node_reshape(tape, d, 3, middle);
    if (tape_failed(tape)) return;
    gradients[2] = node_sum(tape, node_multiply(tape, d, relevant), 4, false);
    struct node *open = node_compare(tape, COMPARE_GT, relevant, node_scalar(tape, 0));
    struct node *inner = node_multiply(tape, d, node_reshape(tape, weights, 3, column));
    inner = node_select(tape, open, inner, node_scalar(tape, 0));
    inner = stored_as(tape, inner, x->q_index->dtype);
    gradients[0] = compose_matmul(tape, inner, node_reshape(tape, k, 2, flat));
    gradients[1] = compose_matmul(tape,
                                  node_transpose(tape, node_reshape(tape, inner, 2, tall), 0, 1),
                                  node_reshape(tape, q, 2, wide));
}

/* What sequence i adds to the loss, and its gradients. False when the call is refused. */
static bool sequence_loss(const struct dense_loss *x, struct node **loss, struct node *gradients[3],
                          int i)
{
    struct call *call = x->call;
    struct tape *tape = call->tape;
    struct node *q = sequence_of(tape, &x->s, x->q, false, i),
                *k = sequence_of(tape, &x->s, x->k, true, i),
                *q_index = sequence_of(tape, &x->s, x->q_index, false, i),
                *k_index = sequence_of(tape, &x->s, x->k_index, true, i),
                *weights = sequence_of(tape, &x->s, x->weights, false, i);
    int64_t rows = q->shape[0], columns = k->shape[0];
    if (!call_require(call, rows >= 1 && columns >= rows,
                      "a sequence has queries, and at least as many keys"))
        return false;
    struct node *mask = unseen(tape, &x->s, rows, columns);
    struct node *p = attention_share(x, q, k, i, mask);
    struct node *relevant = relevance(tape, q_index, k_index);
    struct node *share = share_of(tape, weighted(tape, relevant, weights),
                                  of_rows(call, &x->s, "softmax_max_index", i, rows),
                                  of_rows(call, &x->s, "softmax_sum_index", i, rows), mask);
    struct node *difference = node_subtract(tape, bounded_log(tape, p), bounded_log(tape, share));
    *loss = node_add(tape, *loss, node_sum(tape, node_multiply(tape, p, difference), ~0u, false));
    index_gradients(x, gradients, node_subtract(tape, share, p), relevant, q_index, k_index,
                    weights);
    return !tape_failed(tape);
}

/* With p the mean over heads of the attention that the statistics softmax_max and softmax_sum belong to, and s the softmax
 * of the scores by theirs: the loss, the sum of p (log p - log s), and its gradients towards query_index, key_index and
 * weights, those of the scores being s - p. */
static void dense_indexer_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct dense_loss x;
    if (!open_dense_loss(&x, call)) return;
    struct node **parts[3], *loss = node_scalar(tape, 0), *own[3];
    for (int g = 0; g < 3; g++) parts[g] = tape_allocate(tape, (size_t)x.s.count, sizeof **parts);
    int used = 0;
    for (int i = 0; !tape_failed(tape) && i < x.s.count; i++, used++) {
        if (!sequence_loss(&x, &loss, own, i)) return;
        for (int g = 0; g < 3; g++) parts[g][used] = own[g];
    }
    if (!call_require(call, used >= 1, "there are no queries")) return;
    struct node *like[3] = { x.q_index, x.k_index, x.weights };
    for (int g = 0; g < 3; g++) {
        struct node *y = node_concatenate(tape, parts[g], used, 0);
        if (!call_require(call, y->n == like[g]->n, "the sequences do not have all keys")) return;
        y = node_model_open_at_infinity(tape, y); /* of exponentials that overflow, or NaN */
        call_return_typed(call, node_reshape(tape, y, like[g]->rank, like[g]->shape),
                          like[g]->dtype);
    }
    int64_t lone[1] = { 1 };
    call_return_typed(call, node_reshape(tape, loss, 1, lone), DT_F32);
}

/* clang-format off */
#define KEYS "Tensor? actual_seq_lengths_query=None, Tensor? actual_seq_lengths_key=None, Tensor? block_table=None, str layout_query='BSND', str layout_key='BSND', int sparse_count=2048, int sparse_mode=3, int pre_tokens=9223372036854775807, int next_tokens=9223372036854775807, "
const struct op ops_npu_indexer[] = {
    { "npu_dense_lightning_indexer_softmax_lse", NPU, "(Tensor query_index, Tensor key_index, Tensor weights, *, Any actual_seq_qlen=None, Any actual_seq_klen=None, str? layout='BSND', int? sparse_mode=3, ...)", indexer_softmax_lse, OP_NO_GRADIENT, 0, NULL },
    { "npu_lightning_indexer", NPU, "(Tensor query, Tensor key, Tensor weights, *, " KEYS "bool return_value=False)", lightning_indexer, OP_NO_GRADIENT, 0, NULL },
    { "npu_quant_lightning_indexer", NPU, "(Tensor query, Tensor key, Tensor weights, Tensor query_dequant_scale, Tensor key_dequant_scale, int query_quant_mode=0, int key_quant_mode=0, *, " KEYS "...)", lightning_indexer, OP_NO_GRADIENT, 1, NULL },
    { "npu_dense_lightning_indexer_grad_kl_loss", NPU, "(Tensor query, Tensor key, Tensor query_index, Tensor key_index, Tensor weights, Tensor softmax_max, Tensor softmax_sum, Tensor softmax_max_index, Tensor softmax_sum_index, float scale_value, *, Tensor? query_rope=None, Tensor? key_rope=None, Any actual_seq_qlen=None, Any actual_seq_klen=None, str layout='BSND', int sparse_mode=3, ...)", dense_indexer_loss, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_indexer);
