/* The half of a binding that writes the program: steps, arguments, slots, wrappers. */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_EMIT_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_EMIT_H

#include "runner/devices/plugin/plugin_bind.h"

/* Resolve the steps of a function whose outputs are placed, with the wrappers' steps before and
 * after, and put the program into the space. */
struct status emit_program(uint64_t *offset, uint64_t *bytes, struct binding *binding,
                           const struct manifest_steps *steps);

/* Resolve steps that belong to no call (a session) into `writer`; the program's offsets count
 * from its own start. Slots that they define are session slots. */
struct status emit_session(struct program_writer *out, struct binding *binding,
                           const struct manifest_steps *steps);

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
