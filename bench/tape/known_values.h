/* Values that another evaluation of the same call has computed already.
 *
 * The reference and the models of a kernel's errors hold the same values and differ in their bounds, so a costly step of
 * one is worth looking up in the other. Nothing is assumed of the order of steps: a step is the same when the primitive, its
 * size and parameters are, and the elements of its inputs, bit for bit.
 */
#ifndef PROBE_BENCH_TAPE_KNOWN_VALUES_H
#define PROBE_BENCH_TAPE_KNOWN_VALUES_H

#include "bench/tape/tape.h"

/* Do two steps of one primitive compute the same of the same elements? */
typedef bool steps_alike(const struct node *a, const struct node *b);

/* Enter a costly step whose values are made, for the tapes that name this one as their `twin`. */
void known_values_enter(struct tape *tape, struct node *node);

/* The step of the twin that computes what `node` does, whose elements are not made; NULL when there is none. Inputs
 * are compared as they are stored. */
const struct node *known_values_find(struct tape *tape, const struct node *node,
                                     steps_alike *alike);

/* The elements of such a step. */
double *known_values_of(const struct node *node);

/* The values of a step of which models change the bounds alone, where the twin has made them: they are shared. Else
 * NULL. The step is entered. */
double *known_values_share(struct tape *tape, struct node *node, steps_alike *alike);

#endif
