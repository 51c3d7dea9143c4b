/* The C calls of a plugin's kernel as C. */
#ifndef PROBE_REPRO_KERNEL_CALLS_H
#define PROBE_REPRO_KERNEL_CALLS_H

#include "core/status.h"
#include "repro/source_data.h"
#include "runner/devices/plugin/plugin_listing.h"

/* What the statements use, found out while they are written. */
struct kernel_calls {
    const struct plugin_listing *listing;
    struct source_arrays *arrays;      /* lists of numbers are declared there */
    char names[SPACE_MAX_BUFFERS][64]; /* of the tensors, by buffer */
    struct text_out text;              /* statements, indented by four */
    bool uses_slots;
    size_t lists;
};

/* Name the tensors. */
void kernel_calls_open(struct kernel_calls *out, const struct plugin_listing *listing,
                       struct source_arrays *arrays);

/* Append the statements of a program: a session's, or that of the call. Its offsets count from `program`.
 * STATUS_SKIP for what cannot be written down so. */
struct status kernel_calls_append(struct kernel_calls *calls, const unsigned char *program);

#endif
