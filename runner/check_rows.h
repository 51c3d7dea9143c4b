/* The rows of a call that is being checked. */
#ifndef PROBE_RUNNER_CHECK_ROWS_H
#define PROBE_RUNNER_CHECK_ROWS_H

#include "runner/check_state.h"

/* A row that compares nothing. `message` is copied. */
struct status check_add_plain_row(struct check *k, bool backward, enum verdict verdict,
                                  enum row_cause cause, const char *message);

/* One output (gradient where `backward`) against its reference: judged, held to the budget of its API, compared with
 * what other runs of the device returned, and looked into where it fails.
 *
 *   index  of the output, or of the gradient among those of all tensor arguments
 *   got    what the device returned; not NULL
 */
struct status check_judge_row(struct check *k, bool backward, size_t index,
                              struct bench_output *output, const struct value *got);

#endif
