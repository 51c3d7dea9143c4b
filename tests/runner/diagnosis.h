/* What a test expects to be said about a kernel that misbehaved.
 *
 * Under qemu-user two things are different: the
 * emulator writes a line of its own when its program aborts, which then is the last one, and it
 * does not say whether a fault was a write. */
#ifndef PROBE_TESTS_RUNNER_DIAGNOSIS_H
#define PROBE_TESTS_RUNNER_DIAGNOSIS_H

#include <stdbool.h>
#include <string.h>

#include "suite.h"

static inline bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Does `got` start with `want`, as far as it can where the test runs? */
static inline bool is_diagnosed(const char *got, const char *want)
{
    static const char wrote[] = "device wrote past", went[] = "device went past";
    if (starts_with(got, want)) return true;
    if (!emulated()) return false;
    const char *aborted = strstr(want, "SIGABRT in "), *words = aborted ? strchr(aborted, ':') : NULL;
    if (words)
        return !strncmp(got, want, (size_t)(words - want)) &&
               strstr(got, ": qemu: uncaught target signal 6") != NULL;
    return starts_with(want, wrote) && starts_with(got, went) &&
           starts_with(got + strlen(went), want + strlen(wrote));
}

#endif
