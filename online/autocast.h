/* Calls under autocast. A client that sees the call and not what autocast makes of it records the arguments in
 * float32 and the result in float16 or bfloat16; what the product was computed with is the arguments cast to that dtype.
 */
#ifndef PROBE_ONLINE_AUTOCAST_H
#define PROBE_ONLINE_AUTOCAST_H

#include "online/record.h"

/* Cast the floating arguments of a product or convolution as autocast did, where the dtypes of the record show that it has.
 *
 *   record  its call's tensors are replaced, not changed; `unusable` is set where there is no room for the copies
 *   arena   of the record; its limit holds
 */
void record_cast_arguments(struct record *record, struct arena *arena);

#endif
