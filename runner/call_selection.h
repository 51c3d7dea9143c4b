/* Which calls of a dump a run is about: those that --only names, without those that --skip names and
 * without duplicates (-f). The others have no rows. */
#ifndef PROBE_RUNNER_CALL_SELECTION_H
#define PROBE_RUNNER_CALL_SELECTION_H

#include <stdbool.h>

#include "core/framework.h"
#include "core/warnings.h"
#include "formats/dump.h"
#include "formats/dump_slice.h"
#include "results/call_order.h"
#include "runner/api_lists.h"

/* What decides before any list does: the framework's pre-check runs only some entries, and of equal
 * calls one is enough (-f). */
struct call_scope {
    const struct framework *framework;
    bool listed_only;     /* dump_framework_checks */
    bool filter;          /* of duplicates in this dump the first alone (-f) */
    struct call_set *met; /* with those of the dumps before it; NULL: that is not asked */
    bool is_one_of_many;  /* dumps of the run: it may have none of the calls that are wanted */
    /* Only these calls, among which there need not be one of every name; what duplicates there are is
     * known. NULL: all. */
    const struct dump_slice *slice;
};

/* Choose them.
 *
 *   out       its positions are allocated; to be freed also when this fails
 *   path      of the dump, for messages
 *   warnings  told of each name in the lists that means no call, with the nearest one; an API that
 *             exists may stand in a configuration without being in this dump
 *   errors    STATUS_BAD_ARGUMENT when --only and --skip leave no call, unless it is one dump of many
 */
struct status call_selection_make(struct call_order *out, const struct dump *dump, const char *path,
                                  const struct api_lists *lists, const struct call_scope *scope,
                                  struct warnings warnings);

#endif
