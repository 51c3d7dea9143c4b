/* Devices that get the translated form of a call give gradients in its order of tensors. */
#ifndef PROBE_RUNNER_DEVICES_LEAF_ORDER_H
#define PROBE_RUNNER_DEVICES_LEAF_ORDER_H

#include <stdbool.h>

#include "core/case.h"

/* Are the tensor arguments of a call those of the recorded one, in its order? True for a call that was
 * not translated. */
bool leaf_order_is_kept(const struct api_case *c);

/* Why there are no gradients of a call whose order is another. */
extern const char leaf_order_reason[];

#endif
