/* Causes and their words in the evidence. */
#include "results/row_cause.h"

#include <string.h>

static const char *const cause_names[CAUSES] = {
    [CAUSE_NONE] = "",
    [CAUSE_LISTS] = "not listed",
    [CAUSE_NEVER_CHECKED] = "never checked",
    [CAUSE_NO_INPUTS] = "no inputs",
    [CAUSE_NO_REFERENCE] = "no reference",
    [CAUSE_NOTHING_TO_JUDGE] = "nothing to judge",
    [CAUSE_NO_GRADIENT] = "no gradient",
    [CAUSE_MEMORY] = "memory",
    [CAUSE_DEVICE_DECLINED] = "device declined",
    [CAUSE_DEVICE_FAILED] = "device failed",
    [CAUSE_OUTPUT_MISSING] = "output missing",
    [CAUSE_INTERNAL] = "internal error",
};

bool row_cause_before_device(enum row_cause cause)
{
    switch (cause) {
    case CAUSE_LISTS:
    case CAUSE_NEVER_CHECKED:
    case CAUSE_NO_INPUTS:
    case CAUSE_NO_REFERENCE:
    case CAUSE_MEMORY:
    case CAUSE_DEVICE_DECLINED:
    case CAUSE_INTERNAL: return true;
    default: return false;
    }
}

const char *row_cause_name(enum row_cause cause) { return cause_names[cause]; }

enum row_cause row_cause_from_name(const char *name, size_t length)
{
    for (enum row_cause cause = CAUSE_NONE; cause < CAUSES; cause++)
        if (strlen(cause_names[cause]) == length && !memcmp(cause_names[cause], name, length))
            return cause;
    return CAUSE_NONE;
}
