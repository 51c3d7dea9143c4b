/* Random results: what must hold of them, and draws for the native arithmetic.
 *
 * Every test rejects a correct generator with probability below 1e-9 (a 6-sigma bound on a
 * count or a mean, Dvoretzky-Kiefer-Wolfowitz for a whole distribution), so a run of a hundred
 * thousand calls is not expected to see a false alarm.
 */
#ifndef PROBE_BENCH_OPS_PROPERTIES_H
#define PROBE_BENCH_OPS_PROPERTIES_H

#include "bench/call/op.h"

/* A continuous or discrete distribution by its cumulative function at x. `atoms`: the
 * distribution has atoms, so the lower limit cdf(x-) = cdf_below(x) differs. */
struct distribution {
    const char *name;
    double (*cdf)(double x, const double *parameters);
    double (*cdf_below)(double x, const double *parameters); /* NULL: continuous */
    double (*quantile)(double u, const double *parameters);  /* for drawing, 0 < u < 1 */
    double low, high;                                        /* range of legal values */
    bool whole;                                              /* integers only */
    bool
        bounded; /* parameters 0 and 1 are the ends of the range, the upper one excluded for integers */
};

/* The property "elements are independent draws of `distribution`" for a float tensor, by
 * Dvoretzky-Kiefer-Wolfowitz. NULL and a failure when there is no memory. */
const struct bench_property *random_property(struct call *call,
                                             const struct distribution *distribution,
                                             const double *parameters);

/* Uniform in (0, 1): element i of the draws of this call. The same call draws the same. */
double random_uniform(const struct call *call, size_t i);

/* Uniform in (0, 1), a function of i alone: what randomizes the test of discrete draws. */
double random_hash(size_t i);

/* Are u[0..n) independent uniform numbers in [0, 1], by Dvoretzky-Kiefer-Wolfowitz at 1e-9? They are
 * sorted. If not, `reason` says how far off they are, with the name of the law. */
bool random_uniforms_hold(double *u, size_t n, const char *law, char *reason, size_t bytes);

/* Are choices x[0..n) of 0 and 1 independent, each with its chance of a 1 given those before it (or all with `p`, where
 * `chances` is NULL)? They are standardized in place; NaN: not told. */
bool random_choices_hold(double *x, const double *chances, double p, size_t n, size_t row,
                         char *reason, size_t bytes);

/* The property "0 or 1, each 1 with its probability", of n elements; `probability` lives as long as the tape. NULL and a
 * failure when there is no memory. */
const struct bench_property *random_chances(struct tape *tape, const double *probability, size_t n);

/* Elements of a row, for tests of independence: the last extent, 1 of a number. */
size_t random_row(const struct tensor *t);

/* Return a tensor of draws: property in both arithmetics, values in the native one. */
void random_return(struct call *call, const struct distribution *distribution,
                   const double *parameters, enum dtype dtype, int rank, const int64_t *shape);

#endif
