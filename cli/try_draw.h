/* Elements of made-up calls in distributions that a dump of statistics cannot describe. */
#ifndef PROBE_CLI_TRY_DRAW_H
#define PROBE_CLI_TRY_DRAW_H

#include <stdint.h>

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

/* Set the elements of the floating tensors among the arguments of a call.
 *
 *   distribution  "uniform": none is set, the generator of inputs draws them between Min and Max.
 *                 "normal": around the middle of that range, whose ends are two standard deviations
 *                 away. "integers": whole numbers in the range, whose sums and products are exact
 */
struct status try_draw(struct api_case *c, struct arena *arena, const char *distribution,
                       uint64_t seed);

#endif
