/* Connectionist temporal classification (Graves et al. 2006). */
#ifndef PROBE_BENCH_PRIMITIVES_CTC_H
#define PROBE_BENCH_PRIMITIVES_CTC_H

#include "bench/tape/tape.h"

/* The samples of a batch. Lengths and targets are checked: input lengths at most `steps`, class
 * numbers below `classes`. */
struct ctc_samples {
    int64_t steps, batch, classes, blank;
    const int64_t *input_length, *target_length;
    const int64_t **target; /* per sample, target_length class numbers */
    bool zero_infinity;     /* impossible targets have no gradient, rather than NaN */
};

/* Negative log likelihoods (batch) of x (steps, batch, classes), logarithms of probabilities;
 * infinite where no alignment is possible. The gradient is PyTorch's, that of x = log_softmax
 * of something: exp(x) - posterior. */
struct node *node_ctc(struct tape *tape, struct node *x, const struct ctc_samples *samples);

#endif
