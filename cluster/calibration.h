/* How fast this machine is: a few calls checked, and their time against the estimate. */
#ifndef PROBE_CLUSTER_CALIBRATION_H
#define PROBE_CLUSTER_CALIBRATION_H

#include "runner/cost.h"
#include "runner/run_options.h"

/* Measure the factors of this machine; takes a second or two.
 *
 *   options  of the job: `profile` counts. The device is always `cpu`: a plan may be made where the
 *            device is not, and the reference is most of the work
 *   errors   of files in the directory for temporary ones; STATUS_NO_MEMORY
 */
struct status cost_calibrate(struct cost_model *out, const struct run_options *options);

/* "measured", "built-in", ended by NULL: where the factors of a plan come from. Built-in ones make the same
 * plan on every machine. */
const char *const *calibration_names(void);

/* The factors that a name asks for; NULL: measured. */
struct status calibration_of(struct cost_model *out, const char *name,
                             const struct run_options *options);

#endif
