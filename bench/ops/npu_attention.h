/* One block of queries and keys, which the attention of every operator is put together of. */
#ifndef PROBE_BENCH_OPS_NPU_ATTENTION_H
#define PROBE_BENCH_OPS_NPU_ATTENTION_H

#include "bench/call/op.h"
#include "bench/ops/dropped_attention.h"

/* What a call of any of the operators asks for; the names of its arguments are its own. */
struct attention {
    double scale;
    int64_t mode, before, after; /* sparse_mode and the window */
    struct node *mask, *pse;     /* NULL without */
    struct node *sink;  /* (heads): the score of one more key, without a value; NULL without */
    bool pse_first;     /* added before the product is scaled */
    bool wants_mask;    /* without a mask mode and window count for nothing; else they make one */
    int64_t prefix[64]; /* of each batch, for modes 5 and 6 */
    int prefixes;
    double drops; /* the chance of a weight to be dropped */
    size_t drawn; /* how often our own device has drawn before this block */
};

/* What a block returns: (B, N, S, D), and for each query the largest score and the sum of exponentials about it; the scores
 * before the mask and the weights. In the reference nothing is dropped, elsewhere weights are, at random. */
struct block {
    struct node *y, *largest, *sum, *scores, *weights;
};

/* softmax of the scores of q (B, N, S, D) and k (B, K, S', D), masked entries left out, times v (B, K, S', D'), with
 * statistics. A query that sees no key has the result 0. */
struct block attend(struct call *call, const struct attention *a, struct node *q, struct node *k,
                    struct node *v, struct node *mask, bool statistics);

/* The scores of a block before its mask, with pse; what does not fit, v and the mask included, fails the call. */
struct node *block_scores(struct call *call, const struct attention *a, struct node *q,
                          struct node *k, struct node *v, struct node *mask);

/* The mask of a block whose mode is known; NULL where nothing is masked. In modes 2 to 8 the given mask is a compressed
 * triangle that stands for those it is cut from (mode 5: the whole one). */
struct node *block_mask(struct call *call, const struct attention *a, int64_t mode, int64_t batch,
                        int64_t rows, int64_t columns);

/* The mode that block i of `count` packed sequences is computed in: those cut from a longer run of queries have a band
 * at the end (7) or at the beginning (8). */
int64_t mode_of_block(int64_t mode, int i, int count);

/* The mask of block i of `count` packed sequences, which share one of the longest; NULL where nothing is masked. */
struct node *packed_mask(struct call *call, const struct attention *a, int i, int count,
                         int64_t rows, int64_t columns);

/* Attention of packed sequences: the results, the logarithms of the sums of exponentials, the blocks, and how many queries
 * and keys belong to none. */
struct packed {
    struct node *y, *lse;
    struct dropped_block *blocks;
    int count;
    int64_t rest_rows, rest_columns;
};

/* Queries and keys (1, N, T, D) of packed sequences: sequence i has the positions between the ends i - 1 and i, which the
 * arguments `query_ends` and `key_ends` name. */
struct packed attend_packed(struct call *call, struct attention *a, struct node *q, struct node *k,
                            struct node *v, const char *query_ends, const char *key_ends,
                            bool statistics);

/* Has the query as many heads as are said? False fails the call. */
bool has_heads(struct call *call, const struct node *q, int64_t heads);

/* The last dimensions of x (B, N, S, D) and of the argument `name` as one: the part of a head that is not turned, and the one
 * that is. */
struct node *with_rope(struct call *call, struct node *x, const char *name, const char *layout,
                       int64_t heads);

/* The arguments that all operators of a training step have; `before`, `after`: the names of the window's. */
bool read_attention(struct call *call, struct attention *a, const char *before, const char *after);

/* Heads of keys: from the width of a head where these are folded into the last dimension. */
int64_t heads_of_keys(const struct node *q, const struct node *k, int64_t heads);

/* Repeat key and value heads for grouped queries: (B, K, S, D) as (B, heads, S, D). */
struct node *repeat_heads(struct tape *tape, struct node *x, int64_t heads);

/* True (masked) where column - row > above or row - column > below. */
struct node *outside_band(struct tape *tape, int64_t rows, int64_t columns, int64_t above,
                          int64_t below);

#endif
