/* The smallest failing call: delta debugging of one API call on a device.
 *
 * From a call that fails, what is not needed for the failure is taken away piece by piece: the
 * backward, arguments, narrow dtypes, extents, values. Each step is a call of the device as a run makes
 * it (a plugin's kernel or a worker is another process with a time limit), and stays when the same
 * row fails in the same way (results/failure.h). The order of steps is fixed, so the result is the same each time for
 * a kernel that is itself the same each time.
 *
 * (Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, 2002, is where the method
 * is from.)
 */
#ifndef PROBE_SHRINK_SHRINK_H
#define PROBE_SHRINK_SHRINK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/stop.h"
#include "runner/run_options.h"
#include "shrink/limits.h"

enum { SHRINK_LINES = 64 };

/* What was found, as sentences. */
struct shrink_result {
    struct arena arena;  /* of the texts */
    bool judged, fails;  /* the call as it was; nothing is written when it does not fail */
    enum shrink_end end; /* valid when it fails */
    size_t calls;
    const char *lines[SHRINK_LINES];
    size_t count;
};

/* Shrink a call of a dump, and write the smallest failing one as a dump of its own, with what
 * the device returned for it (formats/dump_write.h).
 *
 *   out        to be released also when this fails
 *   name       of the call (run_inputs_find) or of one of its rows, whose failure is looked for then
 *   directory  where the dump goes
 */
struct status shrink_call(struct shrink_result *out, const struct run_options *options,
                          const char *name, const char *directory,
                          const struct shrink_limits *limits, struct shrink_news news,
                          struct stop stop);
void shrink_result_release(struct shrink_result *result);

#endif
