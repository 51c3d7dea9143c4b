/* Compositions that several families share. */
#ifndef PROBE_BENCH_PRIMITIVES_COMPOSE_H
#define PROBE_BENCH_PRIMITIVES_COMPOSE_H

#include "bench/tape/tape.h"

/* torch.matmul: ranks 1 and up, batch dimensions broadcast. Integers are multiplied as such and wrap
 * to the common dtype. */
struct node *compose_matmul(struct tape *tape, struct node *a, struct node *b);

/* x w^T + b over the last dimension; b may be NULL. */
struct node *compose_linear(struct tape *tape, struct node *x, struct node *w, struct node *b);

/* (x - mean) / sqrt(var + eps) over `dims` with the biased variance; mean and rstd (keepdim) are
 * handed out when asked for. */
struct node *compose_normalize(struct tape *tape, struct node *x, uint32_t dims, double eps,
                               struct node **mean, struct node **rstd);

/* In a model: y = (x - m) a, which kernels fold into x a + (b - m a): that cancels where x - m does not. */
struct node *compose_folded(struct tape *tape, struct node *y, struct node *x, struct node *m,
                            struct node *a);

/* In a model: y, made by compose_normalize with m and r over `dims`, for kernels whose gradient sums c x and c where ours sums
 * c (x - m). */
struct node *compose_folded_gradient(struct tape *tape, struct node *y, uint32_t dims,
                                     struct node *m, struct node *r);

#endif
