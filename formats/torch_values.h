/* Values of a pickle as arguments of a call. */
#ifndef PROBE_FORMATS_TORCH_VALUES_H
#define PROBE_FORMATS_TORCH_VALUES_H

#include <stddef.h>

#include "core/status.h"
#include "core/value.h"
#include "formats/torch_objects.h"

enum {
    TORCH_VALUES_MOST = 1 << 20, /* of one file, what it shares counted each time */
    TORCH_VALUES_DEPTH = 64
};

struct torch_values {
    struct torch_objects *objects;
    size_t count; /* values so far */
    /* STATUS_SKIP: the first value that has no kind here. It is VALUE_UNSUPPORTED. */
    struct status unsupported;
};

/* Convert a value and all that is in it; tensors get their records and elements.
 *
 *   errors  STATUS_BAD_INPUT: a tensor that its storage does not hold, too deep, too many, keys that are no
 *           texts; STATUS_NO_MEMORY
 */
struct status torch_value(struct value *out, struct torch_values *values,
                          const struct pickle_value *in);

#endif
