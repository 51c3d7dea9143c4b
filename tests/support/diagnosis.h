/* What a test expects to be said about a kernel that misbehaved.
 *
 * Under qemu-user two things are different: the emulator writes a line of its own when a signal ends
 * its program, which then is the last one, and it does not say whether a fault was a write. */
#ifndef PROBE_TESTS_RUNNER_DIAGNOSIS_H
#define PROBE_TESTS_RUNNER_DIAGNOSIS_H

#include <stdbool.h>
#include <string.h>

#include "support/suite.h"

static inline bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Does `got` start with `want`, as far as it can where the test runs? */
static inline bool is_diagnosed(const char *got, const char *want)
{
    static const char wrote[] = "device wrote past", went[] = "device went past";
    static const char crashed[] = "device crashed: ";
    if (starts_with(got, want)) return true;
    if (!emulated()) return false;
    if (strstr(got, ": qemu: uncaught target signal ")) {
        const char *signal = got + strlen(crashed);
        return starts_with(got, crashed) &&
               memmem(want, strlen(want), signal, strcspn(signal, " :"));
    }
    return starts_with(want, wrote) && starts_with(got, went) &&
           starts_with(got + strlen(went), want + strlen(wrote));
}

/* Is `got` the text `want`, as far as it can be where the test runs? */
static inline bool is_whole_diagnosis(const char *got, const char *want)
{
    return emulated() ? is_diagnosed(got, want) : !strcmp(got, want);
}

#endif
