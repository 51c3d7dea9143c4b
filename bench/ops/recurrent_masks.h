/* What a dropout between two recurrent layers dropped, read from what the second layer returned.
 *
 * The input s of a step of the second layer has an element for each element of its output, as both layers have the same form. The
 * output and the state before the step are known, so s solves as many equations as it has elements, which Newton's method does
 * from the input without dropout, its mean. Each element is then taken for what it is nearer to, 0 or x / (1 - p), and choices
 * are exchanged one by one as long as the residual falls. They are the device's where the residual is small beside what
 * a single choice changes: wrong choices would have to cancel in all equations at once. Elements whose choice changes no more than a
 * few times the residual, those next to 0, remain open.
 *
 * The state before a step is the output before it, in the direction that runs backward the one behind it; of an LSTM also its
 * cell, which no output has but the last. Forward it follows from step to step. Backward the last is that of the first
 * position: o = h / tanh c gives the equations, and then c follows for the step before.
 *
 * Not read: a plain layer with relu, whose zeros tell nothing; the last of more than two layers, whose input is not known;
 * an LSTM of both directions with a projection, whose cells cannot be followed backward; 16-bit outputs of larger layers, whose
 * rounding hides single choices. */
#ifndef PROBE_BENCH_OPS_RECURRENT_MASKS_H
#define PROBE_BENCH_OPS_RECURRENT_MASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/ops/recurrent_cell.h"

/* The second layer in one direction, as arrays. */
struct masked_direction {
    int64_t width, outputs, inputs; /* of a gate, of the output, of the input */
    /* (gates * width, inputs or outputs), biases by row or, with one element, the same for all rows; NULL: none */
    const double *w_input, *w_hidden, *w_projection, *b_input, *b_hidden;
    size_t b_inputs, b_hiddens;
    const double *h, *c;  /* before the first step, (batch, outputs) and (batch, width) */
    const double *last_c; /* behind the last step */
};

struct masked_layer {
    enum cell_kind kind;
    double p, unit; /* the chance to be dropped; roundoff of the device */
    int directions;
    struct masked_direction direction[2];
    int64_t steps, batch;
    const int64_t *sizes, *starts; /* rows of each step, and where they begin */
    const double *x, *y; /* (rows, inputs) without dropout; (rows, directions * outputs) */
};

enum choice { DROPPED, KEPT, OPEN };

/* Read the choices of all elements of x into `choices`. False when they cannot be read, or no memory is left. */
bool recurrent_choices(unsigned char *choices, const struct masked_layer *layer);

#endif
