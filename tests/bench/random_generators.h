/* Generators of the laws of random APIs, by other methods than the product's (sums of trials, races of exponential clocks, ratios of
 * normals, sorted keys): right ones, and wrong where `off` is not 1. */
#ifndef PROBE_TESTS_BENCH_RANDOM_GENERATORS_H
#define PROBE_TESTS_BENCH_RANDOM_GENERATORS_H

#include "bench/samples.h"

struct drawing {
    const struct sample *sample;
    struct numbers numbers;
    double off; /* factor on the parameter: 1 in a correct generator */
    size_t n;   /* elements to draw */
    double *out;
};

/* The next number of the drawing, from 0 to 1. */
double drawing_next(struct drawing *d);

/* Argument k of the call. */
const struct value *drawing_argument(const struct drawing *d, size_t k);

void draw_uniform(struct drawing *d);
void draw_rand(struct drawing *d);
void draw_normal(struct drawing *d);
void draw_shifted_normal(struct drawing *d);
void draw_each_normal(struct drawing *d);
void draw_log_normal(struct drawing *d);
void draw_exponential(struct drawing *d);
void draw_cauchy(struct drawing *d);
void draw_laplace(struct drawing *d);
void draw_geometric(struct drawing *d);
void draw_integers(struct drawing *d);
void draw_bernoulli(struct drawing *d);
void draw_fair(struct drawing *d);
void draw_poisson(struct drawing *d);
void draw_binomial(struct drawing *d);
void draw_class_numbers(struct drawing *d);
void draw_race(struct drawing *d);
void draw_permutation(struct drawing *d);
void draw_shuffle(struct drawing *d);
void draw_sum_of_three(struct drawing *d);
void draw_poisson_pairs(struct drawing *d);
void draw_categories(struct drawing *d);
void draw_log_uniform(struct drawing *d);
void draw_unique_log_uniform(struct drawing *d);
void draw_dropout(struct drawing *d);
void draw_alpha_dropout(struct drawing *d);
void draw_feature_alpha_dropout(struct drawing *d);
void draw_rrelu(struct drawing *d);
void draw_gumbel(struct drawing *d);
void draw_labels(struct drawing *d);
void draw_positions(struct drawing *d);

#endif
