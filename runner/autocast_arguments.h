/* What a call under autocast computes with. The dump, or a client that sees the call and not what autocast makes of it,
 * has the arguments in float32 and the result in float16 or bfloat16; a product or convolution was computed with the
 * arguments cast to that dtype, and its gradients were, too, before autograd widened them again.
 */
#ifndef PROBE_RUNNER_AUTOCAST_ARGUMENTS_H
#define PROBE_RUNNER_AUTOCAST_ARGUMENTS_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

/* Cast the floating arguments of a product or convolution as autocast did, where the dtypes of its recorded tensors show
 * that it has.
 *
 *   to      the dtype it was computed in; DT_NONE for a call that is left as it was
 *   c       its args and kwargs are replaced by copies; the values that it came with are not changed
 *   arena   owns the copies
 *   errors  STATUS_NO_MEMORY
 */
struct status autocast_arguments(enum dtype *to, struct api_case *c, struct arena *arena);

/* Narrow the gradients of such a call to the dtype that they were computed in. Nothing is lost where autograd has widened
 * them; those of a device that forms them in float32 are rounded once, as a product of that dtype is.
 *
 *   gradients  LIST, replaced by copies
 */
struct status autocast_gradients(struct value *gradients, enum dtype to, struct arena *arena);

#endif
