/* The devices "torch" and "mindspore": the workers that come with the program, without a path to type.
 *
 *     torch            an NPU, else CUDA, else the CPU: what PyTorch has
 *     torch:cpu        torch:cuda[:N]  torch:npu[:N]; N is a device number in place of that of -d
 *     mindspore        what MindSpore takes by default
 *     mindspore:cpu    mindspore:gpu[:N]  mindspore:ascend[:N]
 *
 * The interpreter is $PROBE_UT_PYTHON, else the first that has the framework: that of the active virtual
 * or conda environment, each python3 on the PATH, /usr/bin/python3. The worker is $PROBE_UT_TORCH_WORKER or
 * $PROBE_UT_MINDSPORE_WORKER, else the installed one (in share/probe-ut beside the program's bin), else that
 * of the source tree in which the program was built.
 */
#ifndef PROBE_RUNNER_DEVICES_WORKER_FRAMEWORK_BACKEND_H
#define PROBE_RUNNER_DEVICES_WORKER_FRAMEWORK_BACKEND_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/status.h"

struct framework_backend {
    const char *python, *worker; /* paths */
    const char *title;           /* "PyTorch" */
    const char *kind;            /* "cpu", "cuda", "npu"; NULL: the worker chooses */
    int device_id;               /* -1: that of -d */
    bool recorded_calls;         /* it takes calls as the dump has them */
};

/* Is the text after --backend one of this device's? */
bool framework_backend_is_meant(const char *backend);

/* STATUS_BAD_ARGUMENT, naming those that there are, when it names no device. */
struct status framework_backend_check(const char *backend);

/* Find what a backend's text means; texts live in `arena`.
 *
 *   policy   how far the worker's file is trusted
 *   errors   STATUS_BAD_ARGUMENT for a device that the framework does not have; STATUS_BAD_INPUT when
 *            there is no interpreter or no worker, with the places that were tried
 */
struct status framework_backend_find(struct framework_backend *out, struct arena *arena,
                                     const char *backend, struct file_policy policy);

#endif
