/* Errors of states that pass the same weights at every step, in the typical model.
 *
 * Elements whose errors are independent have sqrt(sum_j (w_ij e_j)^2) in the next step. But what many steps leave of errors lies along an
 * eigenvector of the weights, where they add up with their signs: of three elements with equal weights every step makes sqrt(3) more of them
 * than that. So some draws of errors go along, each from the roundings that every step adds, through the weights and the slope of the
 * activation, and their root mean square is what is expected.
 *
 * For layers with a plain activation: gates of an LSTM or a GRU weigh what stays, and a state has no more than that from each. */
#ifndef PROBE_BENCH_OPS_RECURRENT_ERRORS_H
#define PROBE_BENCH_OPS_RECURRENT_ERRORS_H

#include "bench/ops/recurrent_cell.h"
#include "bench/tape/tape.h"

struct step_errors;

/* For up to `batch` rows. NULL where there is nothing to do: no typical model, another cell. */
struct step_errors *step_errors_open(struct tape *tape, const struct cell *cell, int64_t batch);

/* `state` (rows, width), what the next step makes, with the errors that draws have; `alone` is what it makes of an exact state, whose errors are those that this
 * step adds. `state` itself for errors that are NULL. */
struct node *step_errors_grown(struct step_errors *errors, struct node *state, struct node *alone);

#endif
