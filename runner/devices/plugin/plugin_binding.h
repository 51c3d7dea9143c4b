/* A kernel, a call, and what is known of the two while the program of C calls is being made; for
 * plugin_bind.c and plugin_emit.c. */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_BINDING_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_BINDING_H

#include "core/case.h"
#include "runner/devices/plugin/plugin_expression.h"
#include "runner/devices/plugin/plugin_manifest.h"
#include "runner/devices/plugin/plugin_program.h"
#include "runner/devices/process/isolation_space.h"

enum { BINDING_VARIABLES = 96, BINDING_OUTPUTS = 64, BINDING_PLACED = 256, BINDING_WRAPPED = 64 };

struct binding_variable {
    const char *name;
    struct expression_value value;
};

/* A result of the kernel while it lies in shared memory. */
struct binding_output {
    const struct manifest_output *row;
    struct tensor tensor; /* as the kernel writes it; data in shared memory, storage order axes */
    int axes[TENSOR_MAX_RANK];
    struct space_buffer *buffer;
    enum dtype returns;
    const struct tensor *of; /* gradients: of which argument */
};

/* A tensor that was placed as an input, in a certain form. */
struct binding_placed {
    const struct tensor *tensor;
    enum dtype dtype;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    int axes[TENSOR_MAX_RANK];
    uint64_t offset;
};

struct binding_wrapped {
    const struct manifest_wrapper *wrapper;
    const struct tensor *tensor;
    uint64_t slot;
    bool is_output;
    size_t number; /* tells the slots of several uses apart */
};

struct binding {
    const struct manifest *manifest;
    const struct manifest_kernel *kernel;
    const struct manifest_function *function; /* the direction being built */
    const struct api_case *c;
    struct arena *arena;
    struct expression_scope scope;

    struct binding_variable variables[BINDING_VARIABLES];
    size_t n_variables, n_parameters; /* the parameters come first */

    /* Of the direction being built. */
    struct space *space;
    struct binding_output outputs[BINDING_OUTPUTS];
    size_t n_outputs;
    struct binding_placed placed[BINDING_PLACED];
    size_t n_placed;
    struct binding_wrapped wrapped[BINDING_WRAPPED];
    size_t n_wrapped;
    const char *slots[PROGRAM_SLOTS];
    size_t n_slots;
    size_t scope_number; /* 0, or the number of the wrapper whose steps are being written */
    struct program_writer writer;
    struct program_step steps[512];
    size_t n_steps;
};

/* A fault of the manifest that shows only with a certain call: file, line, key, reason. */
#define BINDING_FAULT(binding, node, ...) \
    config_json_fault(&(binding)->manifest->file, (node), __VA_ARGS__)

/* The fault of an expression, with file, line and key before it. */
struct status binding_located(const struct binding *binding, const cJSON *node,
                              struct status status);

/* "axes": an expression of a permutation of the dimensions, slowest first; NULL is row-major. */
struct status binding_axes(int *axes, const struct binding *binding, const cJSON *node,
                           const char *text, int rank);

/* An expression of the name of a dtype. */
struct status binding_dtype(enum dtype *out, const struct binding *binding, const cJSON *node,
                            const char *text);

/* "input 1", "cotangent 0": what a tensor of the call is called in a diagnosis. */
void binding_label(char *text, size_t bytes, const struct binding *binding,
                   const struct tensor *tensor);

#endif
