/* The first of each is the default. */
#include "cli/choices.h"

#include <stddef.h>

const char *const *color_names(void)
{
    static const char *const names[] = { "auto", "always", "never", NULL };
    return names;
}

const char *const *isolation_names(void)
{
    static const char *const names[] = { "process", "none", NULL };
    return names;
}

const char *const *fail_on_verdicts(void)
{
    static const char *const verdicts[] = { "error", "warning", NULL };
    return verdicts;
}
