/* The stages of a call that has been read. */
#ifndef PROBE_RUNNER_CHECK_STAGES_H
#define PROBE_RUNNER_CHECK_STAGES_H

#include "runner/check_state.h"

/* A core to compute on. Threads whose device works in another process give it away meanwhile. */
void check_take_slot(const struct check_setup *setup);
void check_return_slot(const struct check_setup *setup);

/* From the inputs to the rows of all outputs and gradients. Up to bench_settle nothing is written to the rows.
 * The caller has a slot, and room in the memory budget. */
struct ending check_stages(struct check *k);

/* The rows of the outputs that the device returned (`k->call.got`). */
struct status check_judge_forward(struct check *k);

#endif
