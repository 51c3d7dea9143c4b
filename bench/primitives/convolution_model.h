/* The errors of a kernel's convolutions: how much the roundings of their products make, and, of exact operands, bounds
 * from the norms that another evaluation of the same call has found on its way to the values. */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_MODEL_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/arithmetic/rounding.h"
#include "bench/primitives/convolution_sizes.h"
#include "bench/tape/tape.h"

/* gamma |a_i| |b_j| + |Ea_i| |b_j| + (|a_i| + |Ea_i|) |Eb_j|: one product's bound from the norms of its lines. In a model
 * gamma is `growth` units. */
struct norm_bound {
    double gamma, tiny;
};

static inline struct norm_bound norm_bound_of(const struct tape *tape, double growth, size_t k)
{
    double gamma = gamma_of((double)(k + 2)) * (1 + 0x1p-20);
    if (tape_is_model(tape)) gamma = growth * tape->unit;
    return (struct norm_bound){ gamma, (double)k * tape->tiny };
}

static inline double bound_of(const struct norm_bound *n, double a, double ea, double b, double eb)
{
    return (n->gamma * a * b + ea * b + (a + ea) * eb + n->tiny) * (1 + 0x1p-40);
}

/* Products of the lines of two matrices, m by n of k terms, for each of the images and groups of a convolution. */
struct sampled_products {
    /* The lines i and j of a matrix, factors step_first and step_second apart. `room` is for a line that has to be
     * made, SUM_SPREAD_LINES apart. */
    void (*lines)(const double **first, const double **second, const void *context, size_t matrix,
                  size_t i, size_t j, double *room);
    const void *context;
    size_t m, n, k, step_first, step_second;
    size_t matrices; /* of all */
    bool single;     /* the kernel adds in float */
};

/* In the mean: how much of unit |a_i| |b_j| the roundings of the products make, the worst of those that are looked at, for
 * `count` matrices from `first` on, at most MATRICES_AT_ONCE. `room` has convolution_growth_room(k) elements. */
enum { MATRICES_AT_ONCE = 8 };
void convolution_growths(double *growth, const struct sampled_products *products, size_t first,
                         size_t count, double *room);
size_t convolution_growth_room(size_t k);

/* In a model, of exact operands: take the values from another evaluation of the call and make the bounds. False, and nothing is
 * done, where there is none with what they follow from. */
bool convolution_take_known(struct tape *tape, struct node *node, struct convolution *c);

#endif
