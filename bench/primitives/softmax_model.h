/* What a kernel's exponentials and their sums over lines are off by: the models of softmax and its relatives. */
#ifndef PROBE_BENCH_PRIMITIVES_SOFTMAX_MODEL_H
#define PROBE_BENCH_PRIMITIVES_SOFTMAX_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "bench/tape/tape.h"

/* Of exp(d): the roundings of the library function, the roundoff, that of the stages; |d| beyond which the exponential is 0. */
struct exponential_model {
    double own, unit, stage, most;
    bool typical;
};
struct exponential_model exponential_model_of(const struct tape *tape);

/* Relative error of exp(d) in a kernel: the rounding of d, and a library function, typically a quarter; typically d is off
 * by half of what it is off by at most. A kernel that rounds between its steps rounds d and the exponential. */
static inline double modelled_exponential(const struct exponential_model *model, double d)
{
    double size = fabs(d) < model->most ? fabs(d) : model->most, staged = model->stage * (1 + size);
    double most = model->own + size, typical = sqrt(model->own * model->own / 4 + size * size) / 2;
    double error = model->typical ? model->unit * typical + staged / 2
                                  : model->unit * most + staged;
    return d == 0 ? 0 : error; /* exp(0) is 1 everywhere */
}

/* What a kernel's logarithm is off by, in roundoffs. */
double modelled_logarithm(const struct tape *tape);

/* What the error of a line's sum is of a kernel's exponential over it, with three roundings more. */
double modelled_share_of_total(const struct tape *tape, double total);

/* Lines of exponentials that are summed side by side: as many as bench/arithmetic/sum_spread.h takes, or one where lines are
 * so long that more would not stay in a cache. */
struct exponential_lines {
    struct exponential_model model;
    size_t extent, width,
        count;     /* elements of a line; lines that there is room for, and that are there */
    double growth; /* tape_sum_growth */
    bool single;
    double *term, *difference; /* width lines, interleaved: exp(d) and d */
};

/* Room for lines of `extent` elements, from the tape's arena; a failure is sticky. */
void exponential_lines_open(struct exponential_lines *lines, struct tape *tape, size_t extent,
                            size_t count);

/* Add the line of x_k - m, x_k = x[k * stride], and its exponentials e. Is there no room for another? */
bool exponential_lines_add(struct exponential_lines *lines, const double *e, const double *x,
                           size_t stride, double m);

/* Relative errors of a kernel's sums over the lines that were added: the roundings of the sum, and the weighted mean of
 * its exponentials' errors; typically the root of the sum of their squares. The lines are gone then. */
void exponential_lines_total(double *total, struct exponential_lines *lines);

#endif
