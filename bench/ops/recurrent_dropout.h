/* Dropout between recurrent layers: the device's choices, where its outputs tell them, else what must hold of these. */
#ifndef PROBE_BENCH_OPS_RECURRENT_DROPOUT_H
#define PROBE_BENCH_OPS_RECURRENT_DROPOUT_H

#include "bench/ops/recurrent_layers.h"

/* What layer k - 1 hands to layer k, of x, rows by time; `params` as for cell_read. The reference drops what the device did; where that is not known it drops nothing, and is
 * used for the first layer alone. */
struct node *layer_handed_on(struct call *call, struct layers *layers,
                             const struct sequence *sequence, struct node *x, int k,
                             struct node **params, int count, int each);

/* Return the outputs y, behind a dropout whose choices are not known, by what must hold of them. The final states h of the layers
 * that it reaches, then the cells, become the device's. False fails the call. */
bool layers_return_by_law(struct call *call, const struct layers *layers,
                          const struct sequence *sequence, struct node *y, struct node **h,
                          bool packed, bool batch_first, enum dtype dtype);

#endif
