/* -save_error_data: the tensors of calls that are not a pass. For PyTorch as .pt files:
 *
 * {base}/ut_error_data{ts}/{name}.{forward.input|forward.output.bench|forward.output.device|
 * backward.input|backward.output.bench|backward.output.device}.{k}.pt
 *
 * A name that has other than letters, digits, "_", "-" and ".", or more than 160 bytes, is cut to
 * these and gets "~" and a digest of the whole name at its end. k counts all leaves of an argument
 * list, tensors or not; keyword arguments count on after the positional ones. (In the peer's files
 * they start anew and overwrite those.) Reference values
 * are saved in the nominal bench dtype.
 *
 * For MindSpore as .npy files named as its dumps name them, in {base}/error_data: {name}.{forward|backward}.
 * {input|kwargs|output}.{path}.npy, where output is what was tested; the reference is {name}.{forward|backward}.
 * bench.{k}.npy.
 */
#ifndef PROBE_RUNNER_ERROR_DATA_H
#define PROBE_RUNNER_ERROR_DATA_H

#include "runner/call_tensors.h"

struct error_layout {
    bool by_path; /* files are named by the place of the tensor in the arguments, not counted */
    struct status (*write)(const char *path, const struct tensor *tensor, struct arena *arena);
    const char *suffix;
    const char *forward_bench, *forward_device, *backward_bench, *backward_device;
};
extern const struct error_layout error_layout_numbered, error_layout_of_dumps;

struct error_data {
    const char *directory; /* made when the first tensor is saved */
    const struct error_layout *layout;
};

/* Save them. Files of an earlier attempt at this call are replaced. `arena` is scratch. */
struct status error_data_save(const struct error_data *data, struct arena *arena,
                              const struct call_tensors *tensors);

#endif
