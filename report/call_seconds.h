/* How long the calls of a run took, by name, for reports. */
#ifndef PROBE_REPORT_CALL_SECONDS_H
#define PROBE_REPORT_CALL_SECONDS_H

#include <stddef.h>

#include "core/status.h"
#include "core/text_table.h"

/* All zeros is an empty one. */
struct call_seconds {
    struct text_table names;
    double *seconds; /* by number in `names` */
    size_t capacity;
};

struct status call_seconds_add(struct call_seconds *all, const char *name, double seconds);

/* NaN for a call that is not there. */
double call_seconds_of(const struct call_seconds *all, const char *name, size_t length);

void call_seconds_release(struct call_seconds *all);

#endif
