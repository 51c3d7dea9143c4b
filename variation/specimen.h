/* A call that can be altered: a copy of everything it is made of, elements included.
 *
 * The alterations of a search are tried on copies; the original of each copy stays as it is.
 */
#ifndef PROBE_VARIATION_SPECIMEN_H
#define PROBE_VARIATION_SPECIMEN_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

/* Copy a call whose inputs are made. Nothing of the copy lies outside `arena`; its tensors are dense and
 * their records agree with them. Recorded gradients are left out. */
struct status specimen_copy(struct api_case *out, struct arena *arena, const struct api_case *c);

/* The same for one value. */
struct status specimen_copy_value(struct value *out, struct arena *arena,
                                  const struct value *value);

/* A tensor value takes other elements, and with them shape and dtype. */
struct status specimen_set_tensor(struct value *value, struct arena *arena,
                                  const struct tensor *tensor);

/* Make the rest of an altered call fit: the records of its outputs, as kernels of plugins are told
 * them, and the cotangents, whose elements are repeated or cut. STATUS_SKIP when it is no valid call any more,
 * with the bench's reason. */
struct status specimen_settle(struct api_case *c, struct arena *arena);

/* A tensor of this shape with elements of another of the same rank: element i of a dimension is
 * element (start + i) modulo the extent there. `out` is new in `arena`. */
struct status specimen_window(struct tensor *out, struct arena *arena, const struct tensor *in,
                              const int64_t *shape, const int64_t *start);

/* A dense floating tensor in another floating dtype, each element rounded once. STATUS_SKIP for any other. */
struct status specimen_convert(struct tensor *out, struct arena *arena, const struct tensor *in,
                               enum dtype dtype);

#endif
