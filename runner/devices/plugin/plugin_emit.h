/* The half of a binding that writes the program: steps, arguments, slots, wrappers. */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_EMIT_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_EMIT_H

#include "runner/devices/plugin/plugin_binding.h"

/* Resolve the steps of a function whose outputs are placed, with the wrappers' steps before and
 * after, and put the program into the space. */
struct status emit_program(uint64_t *offset, uint64_t *bytes, struct binding *binding,
                           const struct manifest_steps *steps);

/* Resolve steps that belong to no call (a session) into `writer`; the program's offsets count
 * from its own start. Slots that they define are session slots. */
struct status emit_session(struct program_writer *out, struct binding *binding,
                           const struct manifest_steps *steps);

#endif
