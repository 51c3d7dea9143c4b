/* From an API call and a manifest's kernel to a program of C calls.
 *
 * A binding is made for one call and lives in its arena. binding_open chooses the kernel whose
 * parameters and condition fit; binding_build resolves one direction of it: evaluates
 * expressions, places inputs and outputs into shared memory, writes the program; after the
 * program has run, binding_collect takes the outputs out of shared memory again.
 */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_BIND_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_BIND_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"
#include "runner/devices/plugin/plugin_binding.h"

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
