/* A device: whatever is tested. It gets a case with inputs and gives outputs, gradients or an
 * error; it never sees the reference. Each thread of a run has its own struct device.
 */
#ifndef PROBE_RUNNER_DEVICES_DEVICE_H
#define PROBE_RUNNER_DEVICES_DEVICE_H

#include "core/case.h"
#include "core/file.h"
#include "core/status.h"
#include "formats/dump.h"

struct device;
struct framework_backend;

struct device_options {
    const char
        *backend;  /* as the user typed it: "cpu", "recorded", "plugin:F", "torch:D", "worker:C" */
    int device_id; /* of -d, dealt round robin to the threads */
    bool jit_compile;
    double case_timeout_s; /* 0 = none */
    bool in_process;       /* --isolate none: kernels of a plugin run inside this process */
    size_t
        memory_limit_bytes; /* private memory a kernel process may take; 0: half of the machine's */
    bool translated_calls;  /* a worker gets PyTorch's calls, not those of another framework */
    struct file_policy file_policy; /* of the plugin's manifest */
    struct device *beside; /* of the same kind, which may share what it has started; or NULL */
    const struct framework_backend *framework; /* what `backend` means, when it was found already */
    /* Is this the bare name of an API? When not, *nearest is one. NULL: any name is taken. */
    bool (*is_api)(const char **nearest, struct arena *arena, const char *name);
};

/* What the device made of one case. Values live in the arena of the call. */
struct device_result {
    struct value outputs; /* LIST, nested outputs flattened depth-first */
    /* Gradients of all tensor arguments, args then kwargs, depth-first; NONE = no gradient. Not
     * set (kind VALUE_NONE) when no backward was asked for or `backward` is not OK. */
    struct value gradients;
    struct status backward; /* STATUS_SKIP: this device has no gradients here, and why */
};

struct device_class {
    const char *name;
    /* May the inputs be altered before the call (HF32 rounding, dtype conversions)? */
    bool alter_inputs;
    /* What it returns is what the dump stores. */
    bool needs_stored_outputs;
    /* The work is done by another process: the calling thread only waits meanwhile, so that its
     * core can be used for another case. */
    bool external;
    /* At most so many devices with one id; 0 = any number. */
    unsigned most_per_id;
    /* So many devices share what does the work, which has a call waiting then while another one is in work; 0 = 1. */
    unsigned sharing;
    /* Find what the devices of a run share, once: `options`, with no device id (-1) as yet, become those that
     * each is opened with. NULL when there is nothing to find; open finds it too where nobody did.
     *
     *   arena  holds what the options point to until all devices are open
     */
    struct status (*find)(struct device_options *options, struct arena *arena);
    struct status (*open)(struct device **out, const struct device_options *options);
    /* Wait until the device can run calls. Called once, when all devices of a run are open, so
     * that they start side by side; NULL when open is enough. */
    struct status (*ready)(struct device *device);
    /* STATUS_SKIP: cannot run this case. STATUS_DEVICE: the device failed (crash, hang, ...):
     * an `error` row with the text. */
    struct status (*run)(struct device *device, struct device_result *out, struct arena *arena,
                         const struct api_case *c, bool want_gradients);
    void (*close)(struct device *device);
    /* What the device calls itself ("PyTorch 2.4 npu Ascend910B"), once it is ready; lives as long
     * as the device. NULL when the class says all. */
    const char *(*describe)(const struct device *device);
};

struct device {
    const struct device_class *class;
};

/* The class for a backend name, NULL when there is none such. */
const struct device_class *device_find(const char *backend);

#endif
