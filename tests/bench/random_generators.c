/* Each fills what is to be drawn, and takes its parameters from the arguments of the call. */
#include "bench/random_generators.h"

#include <math.h>
#include <stdlib.h>

double drawing_next(struct drawing *d) { return numbers_uniform(&d->numbers); }

const struct value *drawing_argument(const struct drawing *d, size_t k)
{
    return &d->sample->c.args.list.items[k];
}

/* Element i of tensor argument k. */
static double drawing_element(const struct drawing *d, size_t k, size_t i)
{
    const struct tensor *t = drawing_argument(d, k)->tensor.tensor;
    double pair[2];
    dtype_to_double(pair, (const char *)t->data + i * dtype_info(t->dtype)->bytes, t->dtype, 1);
    return pair[0];
}

void draw_uniform(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) d->out[i] = -1 + 3 * drawing_next(d) * d->off;
}
void draw_rand(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) d->out[i] = pow(drawing_next(d), d->off);
}
void draw_normal(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) d->out[i] = numbers_normal(&d->numbers) * d->off;
}
void draw_shifted_normal(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) d->out[i] = 1 + 2 * d->off * numbers_normal(&d->numbers);
}
void draw_each_normal(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->out[i] = drawing_element(d, 0, i) +
                    drawing_element(d, 1, i) * d->off * numbers_normal(&d->numbers);
}
void draw_log_normal(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->out[i] = exp(0.5 + 0.25 * d->off * numbers_normal(&d->numbers));
}
void draw_exponential(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) d->out[i] = -log(1 - drawing_next(d)) / 2 * d->off;
}
void draw_cauchy(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->out[i] = 1 + 2 * d->off * numbers_normal(&d->numbers) / numbers_normal(&d->numbers);
}
void draw_laplace(struct drawing *d) /* the difference of two exponential draws */
{
    for (size_t i = 0; i < d->n; i++)
        d->out[i] = 1 + 2 * d->off * (log(1 - drawing_next(d)) - log(1 - drawing_next(d)));
}
void draw_geometric(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++)
        for (d->out[i] = 1; drawing_next(d) >= 0.4 * d->off;) d->out[i]++;
}
void draw_integers(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) d->out[i] = floor(pow(drawing_next(d), d->off) * 9);
}
void draw_bernoulli(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->out[i] = drawing_next(d) < drawing_element(d, 0, i) * d->off;
}
void draw_fair(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) d->out[i] = drawing_next(d) < 0.3 * d->off;
}
void draw_poisson(struct drawing *d) /* Knuth: products of uniforms */
{
    for (size_t i = 0; i < d->n; i++) {
        double limit = exp(-drawing_element(d, 0, i) * d->off), product = drawing_next(d);
        for (d->out[i] = 0; product > limit; product *= drawing_next(d)) d->out[i]++;
    }
}
void draw_binomial(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) {
        d->out[i] = 0;
        for (int k = 0; k < (int)drawing_element(d, 0, i); k++)
            d->out[i] += drawing_next(d) < drawing_element(d, 1, i) * d->off;
    }
}
void draw_class_numbers(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) { /* the first of exponential clocks */
        double best = INFINITY;
        for (size_t c = 0; c < 7; c++) {
            double at = -log(1 - drawing_next(d)) / pow(drawing_element(d, 0, c), d->off);
            if (at < best) {
                best = at;
                d->out[i] = (double)c;
            }
        }
    }
}
void draw_race(struct drawing *d) /* three of four without replacement: the order of arrival */
{
    for (size_t row = 0; row < d->n / 3; row++) {
        double at[4];
        for (size_t c = 0; c < 4; c++)
            at[c] = -log(1 - drawing_next(d)) / pow(drawing_element(d, 0, 4 * row + c), d->off);
        for (size_t k = 0; k < 3; k++) {
            size_t first = 0;
            for (size_t c = 1; c < 4; c++)
                if (at[c] < at[first]) first = c;
            d->out[3 * row + k] = (double)first;
            at[first] = INFINITY;
        }
    }
}
void draw_permutation(struct drawing *d) /* an insertion sort of random keys, biased by `off` */
{
    double *key = malloc(d->n * sizeof *key);
    for (size_t i = 0; i < d->n; i++) {
        double k = drawing_next(d) + (d->off - 1) * (double)i / (double)d->n;
        size_t at = i;
        for (; at && key[at - 1] > k; at--) {
            key[at] = key[at - 1];
            d->out[at] = d->out[at - 1];
        }
        key[at] = k;
        d->out[at] = (double)i;
    }
    free(key);
}
void draw_shuffle(struct drawing *d)
{
    draw_permutation(d);
    for (size_t i = 0; i < d->n; i++) d->out[i] = drawing_element(d, 0, (size_t)d->out[i]);
}
void draw_sum_of_three(struct drawing *d) /* exponential draws: a gamma distribution */
{
    for (size_t i = 0; i < d->n; i++)
        d->out[i] = -log((1 - drawing_next(d)) * (1 - drawing_next(d)) * (1 - drawing_next(d))) *
                    d->off;
}
void draw_poisson_pairs(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) {
        double limit = exp(-drawing_element(d, 1, i % 2) * d->off), product = drawing_next(d);
        for (d->out[i] = 0; product > limit; product *= drawing_next(d)) d->out[i]++;
    }
}
void draw_categories(struct drawing *d) /* the largest of logits with Gumbel noise */
{
    for (size_t i = 0; i < d->n; i++) {
        double best = -INFINITY;
        for (size_t c = 0; c < 5; c++) {
            double at = drawing_element(d, 0, c) * d->off - log(-log(1 - drawing_next(d)));
            if (at > best) {
                best = at;
                d->out[i] = (double)c;
            }
        }
    }
}
void draw_log_uniform(struct drawing *d) /* whole parts of numbers with uniform logarithms */
{
    for (size_t i = 0; i < d->n; i++) d->out[i] = floor(pow(10, pow(drawing_next(d), d->off))) - 1;
}
void draw_unique_log_uniform(
    struct drawing *d) /* of ten times as many, those left out that are there */
{
    size_t classes = 10 * d->n;
    bool *there = calloc(classes, 1);
    for (size_t i = 0; i < d->n;) {
        double v = floor(pow((double)classes + 1, pow(drawing_next(d), d->off))) - 1;
        size_t k = (size_t)fmin(v, (double)classes - 1);
        if (there[k]) continue;
        there[k] = true;
        d->out[i++] = (double)k;
    }
    free(there);
}
void draw_dropout(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->out[i] = drawing_next(d) < 0.4 * d->off ? 0 : drawing_element(d, 0, i) / 0.6;
}
static void draw_alpha(struct drawing *d, size_t channel)
{
    const double limit = -1.7580993408473766, p = 0.4; /* Klambauer et al. 2017 */
    double a = pow((1 - p) * (1 + p * limit * limit), -0.5), b = -a * p * limit, u = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (i % channel == 0) u = drawing_next(d);
        d->out[i] = a * (u < p * d->off ? limit : drawing_element(d, 0, i)) + b;
    }
}
void draw_alpha_dropout(struct drawing *d) { draw_alpha(d, 1); }
void draw_feature_alpha_dropout(struct drawing *d) { draw_alpha(d, 2); }
void draw_rrelu(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) {
        double x = drawing_element(d, 0, i);
        d->out[i] = x > 0 ? x : x * (0.25 + 0.5 * pow(drawing_next(d), d->off));
    }
}
void draw_gumbel(struct drawing *d) /* lines of three: one-hot at the winner of a race */
{
    for (size_t line = 0; line < d->n / 3; line++) {
        double best = INFINITY;
        size_t winner = 0;
        for (size_t c = 0; c < 3; c++) {
            double at = -log(1 - drawing_next(d)) /
                        exp(drawing_element(d, 0, 3 * line + c) * d->off);
            if (at < best) best = at, winner = c;
        }
        for (size_t c = 0; c < 3; c++) d->out[3 * line + c] = c == winner;
    }
}

/* Which of n elements are the `count` with the least random keys, of those that `of` tells; early ones first by `off`. */
static void choose(struct drawing *d, const bool *of, size_t n, size_t count, bool *chosen)
{
    double *key = malloc(n * sizeof *key);
    for (size_t i = 0; i < n; i++) {
        chosen[i] = false;
        key[i] = of[i] ? drawing_next(d) + (d->off - 1) * (double)i / (double)n : INFINITY;
    }
    while (count--) {
        size_t least = 0;
        for (size_t i = 1; i < n; i++)
            if (key[i] < key[least]) least = i;
        if (isinf(key[least])) break;
        chosen[least] = true;
        key[least] = INFINITY;
    }
    free(key);
}
void draw_labels(struct drawing *d) /* n labels are kept, a fifth of them 1 */
{
    bool *of = calloc(2 * d->n + 1, 1), *chosen = of + d->n;
    size_t kept = 0;
    for (size_t i = 0; i < d->n; i++) d->out[i] = -1;
    for (int label = 1; label >= 0; label--) {
        for (size_t i = 0; i < d->n; i++) of[i] = (int)drawing_element(d, 0, i) == label;
        choose(d, of, d->n, label ? d->n / 5 : d->n - kept, chosen);
        for (size_t i = 0; i < d->n; i++)
            if (chosen[i]) d->out[i] = label, kept++;
    }
    free(of);
}
void draw_positions(struct drawing *d) /* pairs of indices */
{
    size_t n = tensor_elements(drawing_argument(d, 0)->tensor.tensor), row = 0;
    bool *of = calloc(2 * n + 1, 1), *chosen = of + n;
    for (size_t i = 0; i < n; i++) of[i] = drawing_element(d, 0, i) != 0;
    choose(d, of, n, d->n / 2, chosen);
    for (size_t i = 0; i < n; i++)
        if (chosen[i]) {
            d->out[2 * row] = (double)(i / 2);
            d->out[2 * row++ + 1] = (double)(i % 2);
        }
    free(of);
}
