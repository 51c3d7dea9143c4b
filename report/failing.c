/* One order of verdicts for all reports: a skip is the mildest failure, when it is one. */
#include "report/failing.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
    [FAILING_ERRORS] = "error",
    [FAILING_WARNINGS] = "warning",
    [FAILING_SKIPS] = "skip",
    NULL,
};

const char *const *failing_names(void) { return names; }

enum failing failing_from_name(const char *name)
{
    for (enum failing failing = FAILING_ERRORS; name && names[failing]; failing++)
        if (!strcmp(name, names[failing])) return failing;
    return FAILING_ERRORS;
}

int failing_severity(enum failing failing, enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_ERROR: return 3;
    case VERDICT_WARNING: return failing >= FAILING_WARNINGS ? 2 : 0;
    case VERDICT_SKIP: return failing >= FAILING_SKIPS ? 1 : 0;
    default: return 0;
    }
}
