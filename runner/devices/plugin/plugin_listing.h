/* What a plugin would do for a call, without doing it: the C calls of its kernel with every argument
 * resolved, and the tensors that they take, as they are when the first call is made. For who writes the
 * same calls down in another form. */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_LISTING_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_LISTING_H

#include "core/file.h"
#include "runner/devices/plugin/plugin_bind.h"

struct plugin_listing {
    struct manifest manifest;
    struct binding binding;       /* kernel, outputs, placed inputs, names of slots */
    struct space space;           /* its buffers hold inputs and what outputs start from */
    struct program_writer start;  /* struct program_start: environment, session */
    const unsigned char *program; /* struct program of the call; in `space` */
};

/* List the calls of one direction.
 *
 *   path     of the manifest
 *   c        its inputs are made; must outlive the listing
 *   outputs  what the forward returned, for the backward; NULL: the forward is listed
 *   out      large; to be closed also when this fails
 *   errors   STATUS_SKIP when the manifest has no kernel for the call
 */
struct status plugin_listing_open(struct plugin_listing *out, struct arena *arena, const char *path,
                                  struct file_policy policy, const struct api_case *c,
                                  const struct value *outputs);
void plugin_listing_close(struct plugin_listing *listing);

#endif
