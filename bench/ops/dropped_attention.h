/* Attention whose weights are dropped: the law that its result and its gradients follow.
 *
 * Each weight w_ij is kept with probability q = 1 - p, divided by q, or dropped; the choices m_ij are independent, and no
 * output says which they were. The result and the gradients of query, key and value are linear in them:
 *     out_i = sum_j m_ij/q w_ij v_j                       dv_j = sum_i m_ij/q w_ij c_i
 *     dq_i  = sum_j m_ij/q a_ij (k_j - sum_l w_il k_l)    dk_j = sum_i,l m_il/q a_il (d_jl - w_ij) q_i
 * with c the cotangent and a_ij = scale w_ij (c_i . v_j). So each element is sum_e c_e m_e/q with coefficients c_e that are
 * known: it has the mean sum c_e, which is the value without dropout, the variance s^2 = p/q sum c_e^2, and lies within t of
 * the mean but with probability 2 exp(-L), for each of
 *     t = b L/3 + sqrt((b L/3)^2 + 2 L s^2), b = max(1, p/q) max |c_e|      (Bernstein)
 *     t = s sqrt(2 K L), K = (q - p) / (2 p q log(q/p)), 1 for p = 1/2       (Kearns and Saul 1998)
 * and beside that is nowhere further off than max(1, p/q) sum |c_e|. A device's own roundings come on top. It is 0 only where
 * all of its coefficients are dropped, with probability p to the power of their number.
 *
 * Rows of the result depend on choices of their own. s_i = a . (out_i - mean_i) over its standard deviation, with the sum a of
 * all means of the head, is, from row to row, independent of mean 0 and variance 1: a mask that is the same for all queries, a scale that is left out, a wrong
 * probability or no dropout at all show there (independence.h). The sum of n squares is above
 * K (n + 2 sqrt(n L) + 2 L), as that of squares of normal numbers of variance K is, or above what Bernstein says of squares
 * no larger than 2 K L', and below n - sqrt(2 L sum of fourth moments) (Maurer's inequality for nonnegative terms), with
 * probability exp(-L) each. Rows that a 16-bit device rounds too coarsely to tell are left out. A mask that heads share is
 * not seen where their values have nothing in common. */
#ifndef PROBE_BENCH_OPS_DROPPED_ATTENTION_H
#define PROBE_BENCH_OPS_DROPPED_ATTENTION_H

#include "bench/call/op.h"

struct dropped_attention {
    double p, scale; /* of the scores; 0 < p < 1 */
    int64_t batches, heads, key_heads, rows, columns, width, value_width;
    struct node *weights, *scores; /* (batches, heads, rows, columns), as far as elements go */
    struct node *q, *k, *v;        /* likewise (batches, heads or key_heads, ...) */
    struct node *shift;     /* added to each row of the result, (value_width); NULL: nothing */
    struct node *leaves[3]; /* query, key and value as arguments, whose gradients are asked for */
    /* Results and gradients in the layout of the call: (batches, heads, rows, width) in, NULL: nothing to do. */
    struct node *(*arrange)(struct tape *tape, struct node *x, const char *layout);
    const char *layout;
    enum dtype dtype; /* of the result */
};

/* The weights as a device of our own drops them: kept ones over 1 - p. */
struct node *dropped_weights(struct call *call, struct node *weights, double p);

/* Return the result by its law; `native`, in the layout of the call, is what our own device computes (NULL in the
 * reference), and of the call's result `shape` is the shape. Sets the law of the gradients. */
void call_return_dropped_attention(struct call *call, const struct dropped_attention *attention,
                                   struct node *native, int rank, const int64_t *shape);

/* Return dropped weights (batches, heads, rows, columns) by their law, averaged over heads or as they are. */
void call_return_dropped_weights(struct call *call, const struct dropped_attention *attention,
                                 bool averaged, struct node *native, int rank,
                                 const int64_t *shape);

#endif
