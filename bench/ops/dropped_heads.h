/* Gradients of a whole multi-head attention whose weights are dropped, between its four projections.
 *
 * With Q, K, V the projected heads, w the weights, c the cotangent behind the last projection and a_ij = w_ij (c_i . v_j), the
 * gradients of Q, K and V are linear in the choices m_ij (dropped_attention.h), and so is what the projections make of them. A choice
 * reaches one element on several ways at once, whose coefficients add up:
 *     query   as that of Q with keys that the weights of the projection have multiplied, summed over the heads; key and value alike
 *     W_q     sum_i dQ_i x_i, where each i has choices of its own
 *     W_k     sum_i Q_i T_i, T_i = sum_l m_il/q a_il (x_l - sum_j w_ij x_j): all rows of K take part with the choices of a query
 *     W_v     sum_i c_i U_i, U_i = sum_j m_ij/q w_ij x_j
 *     W_o     sum_i c_i O_i
 * and for a bias x is 1. The bias of K has the gradient 0: what is added to all scores of a row changes nothing. */
#ifndef PROBE_BENCH_OPS_DROPPED_HEADS_H
#define PROBE_BENCH_OPS_DROPPED_HEADS_H

#include "bench/call/op.h"

/* Query, key and value are 0, 1 and 2. Positions of keys that are none of the argument's (bias_k, zeros) come last. */
struct dropped_heads {
    double p;
    int64_t batch, heads, width, target, source;
    struct node *weights, *q, *k, *v; /* (batch * heads, ...), q over the root of the width */
    struct node *x[3];                /* arguments as (length, batch, channels) */
    struct node *projection[3];       /* (heads * width, channels) each */
    struct node *out;                 /* (channels of the result, heads * width) */
    /* As arguments of the call, NULL where it has none. */
    const struct node *own[3], *own_projection[3], *joint_weight, *joint_bias, *out_weight,
        *out_bias;
    enum dtype dtype;
};

/* Have gradients of the call follow the law. `heads` must stay. */
void call_gradients_of_dropped_heads(struct call *call, const struct dropped_heads *heads);

#endif
