/* Attention whose weights are dropped: the law that its result and its gradients follow.
 *
 * Each weight w_ij is kept with probability q = 1 - p, divided by q, or dropped; the choices m_ij are independent, and no
 * output says which they were. The result and the gradients of query, key and value are linear in them:
 *     out_i = sum_j m_ij/q w_ij v_j                       dv_j = sum_i m_ij/q w_ij c_i
 *     dq_i  = sum_j m_ij/q a_ij (k_j - sum_l w_il k_l)    dk_j = sum_i,l m_il/q a_il (d_jl - w_ij) q_i
 * with c the cotangent and a_ij = scale w_ij (c_i . v_j). So each element follows dropped_law.h, and rows of the result depend on
 * choices of their own: their projections are those along the sum of all means of the head. A mask that heads share is not seen
 * where their values have nothing in common. */
#ifndef PROBE_BENCH_OPS_DROPPED_ATTENTION_H
#define PROBE_BENCH_OPS_DROPPED_ATTENTION_H

#include "bench/call/op.h"

/* Queries that see the same keys: all of a call, or a sequence of packed ones. As far as elements go weights and scores are
 * (batches, heads, rows, columns), q (batches, heads, rows, width), k and v (batches, key_heads, columns, ...). */
struct dropped_block {
    int64_t batches, rows, columns;
    struct node *weights, *scores, *q, *k, *v;
};

/* An argument whose gradient is asked for: of query (0), key (1) or value (2) the channels from `from` on; all of them
 * where width is 0. */
struct dropped_leaf {
    const struct node *node;
    int which;
    int64_t from, width;
};

enum { DROPPED_MOST_LEAVES = 5 };

struct dropped_attention {
    double p, scale; /* of the scores; 0 < p < 1 */
    int64_t heads, key_heads, width, value_width;
    /* One behind the other along rows and columns, then queries and keys that belong to none, whose results are 0. */
    const struct dropped_block *blocks;
    int count;
    int64_t rest_rows, rest_columns;
    struct node *shift; /* added to each row of the result, (value_width); NULL: nothing */
    struct dropped_leaf leaves[DROPPED_MOST_LEAVES];
    /* Results and gradients in the layout of the call: (batches, heads, rows, width) in, NULL: nothing to do. */
    struct node *(*arrange)(struct tape *tape, struct node *x, const char *layout);
    const char *layout;
    bool plain_arguments; /* gradients need no arranging */
    enum dtype dtype;     /* of the result */
};

/* Sums over coefficients as nodes (batches, heads, rows, width), as dropped_law.h needs them; `terms` may be NULL. */
struct dropped_sums {
    struct node *mean, *squares, *size, *largest, *terms;
};

/* Of sum_j m_ij/q c_ij x_jc, coefficients (batches, heads, rows, columns) times x (batches, heads, columns, width). */
struct dropped_sums dropped_product(struct tape *tape, struct node *coefficients, struct node *x);

/* Of the gradients of queries and keys, (batches, heads, rows or columns, width): w the weights, a_ij as above. */
struct dropped_sums dropped_query_sums(struct tape *tape, struct node *w, struct node *a,
                                       struct node *k);
struct dropped_sums dropped_key_sums(struct tape *tape, struct node *w, struct node *a,
                                     struct node *q);

/* The law of what has these sums, laid out as the call has it. NULL after a failure. */
const struct bench_property *dropped_property(struct tape *tape, const struct dropped_attention *a,
                                              const struct dropped_sums *sums);

/* The weights as a device of our own drops them: kept ones over 1 - p. `first` of its draws have been used before. */
struct node *dropped_weights(struct call *call, struct node *weights, double p, size_t first);

/* Return the result by its law; `native`, in the layout of the call, is what our own device computes (NULL in the
 * reference), and of the call's result `shape` is the shape. Sets the law of the gradients. Blocks are kept, not copied. */
void call_return_dropped_attention(struct call *call, const struct dropped_attention *attention,
                                   struct node *native, int rank, const int64_t *shape);

/* Return dropped weights (batches, heads, rows, columns) of one block by their law, averaged over heads or as they are. */
void call_return_dropped_weights(struct call *call, const struct dropped_attention *attention,
                                 bool averaged, struct node *native, int rank,
                                 const int64_t *shape);

#endif
