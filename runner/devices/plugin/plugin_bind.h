/* From an API call and a manifest's kernel to a program of C calls.
 *
 * A binding is made for one call and lives in its arena. binding_open chooses the kernel whose
 * parameters and condition fit; binding_build resolves one direction of it: evaluates
 * expressions, places inputs and outputs into shared memory, writes the program; after the
 * program has run, binding_collect takes the outputs out of shared memory again.
 */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_BIND_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_BIND_H

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

/* Choose the kernel of a call. STATUS_SKIP, and why, when none fits. The binding is all zeros or
 * was used before. */
struct status binding_open(struct binding *binding, struct arena *arena,
                           const struct manifest *manifest, const struct api_case *c);

/* Resolve the forward direction. On success the program lies at *offset of the space. */
struct status binding_build_forward(struct binding *binding, struct space *space, uint64_t *offset,
                                    uint64_t *bytes);

/* Resolve the backward direction, with what the forward returned. STATUS_SKIP when the kernel
 * has none for this call. */
struct status binding_build_backward(struct binding *binding, struct space *space,
                                     const struct value *forward_outputs, uint64_t *offset,
                                     uint64_t *bytes);

/* The outputs that the program wrote, converted and copied into the arena: a LIST of tensors. */
struct status binding_collect_outputs(struct value *out, struct binding *binding);

/* The gradients in the order of all tensor arguments, args then kwargs depth-first, NONE where
 * there is none. */
struct status binding_collect_gradients(struct value *out, struct binding *binding);

/* The start request of a kernel process: libraries, environment, session. Sets the manifest's
 * session slots. Released with program_writer_release. */
struct status binding_build_start(struct program_writer *out, struct manifest *manifest);

/* Memory that a building call took outside the arena. */
void binding_close(struct binding *binding);

#endif
