/* A directory for the test that runs, and the warnings that it was told, a line each. */
#ifndef PROBE_TESTS_SUPPORT_NOTES_H
#define PROBE_TESTS_SUPPORT_NOTES_H

#include <string.h>

#include "support/workspace.h"

static struct workspace place;
static char warnings[4000];

static inline void setup(void)
{
    place = workspace_make();
    warnings[0] = '\0';
}

static inline void teardown(void) { workspace_remove(&place); }

/* A listener of struct warnings; the context is not used. */
static inline void note(void *context, const char *text)
{
    (void)context;
    strncat(warnings, text, sizeof warnings - strlen(warnings) - 2);
    strcat(warnings, "\n");
}

#endif
