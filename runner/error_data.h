/* -save_error_data: the tensors of calls that are not a pass, as .pt files.
 *
 * {base}/ut_error_data{ts}/{name}.{forward.input|forward.output.bench|forward.output.device|
 * backward.input|backward.output.bench|backward.output.device}.{k}.pt
 *
 * A name that has other than letters, digits, "_", "-" and ".", or more than 160 bytes, is cut to
 * these and gets "~" and a digest of the whole name at its end. k counts all leaves of an argument
 * list, tensors or not; keyword arguments count on after the positional ones. (In the peer's files
 * they start anew and overwrite those.) Reference values
 * are saved in the nominal bench dtype.
 */
#ifndef PROBE_RUNNER_ERROR_DATA_H
#define PROBE_RUNNER_ERROR_DATA_H

#include "runner/call_tensors.h"

struct error_data {
    const char *directory; /* made when the first tensor is saved */
};

/* Save them. Files of an earlier attempt at this call are replaced. `arena` is scratch. */
struct status error_data_save(const struct error_data *data, struct arena *arena,
                              const struct call_tensors *tensors);

#endif
