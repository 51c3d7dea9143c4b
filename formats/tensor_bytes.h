/* Elements from a file, as the elements of a tensor: shared by the tensor formats. */
#ifndef PROBE_FORMATS_TENSOR_BYTES_H
#define PROBE_FORMATS_TENSOR_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/dtype.h"
#include "core/status.h"

/* `elements` elements at `bytes`, usable as `dtype`: where they are when aligned and in this
 * host's order, otherwise a copy in `arena`. Bools other than 0 and 1, which C does not know,
 * are refused. What is left in place must not be written. `name` is for messages. */
struct status tensor_bytes_take(void **out, struct arena *arena, const void *bytes, size_t elements,
                                enum dtype dtype, bool swapped, const char *name);

#endif
