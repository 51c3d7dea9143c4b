/* Warnings as lines on the standard error. */
#include "cli/warning_printer.h"

#include <stdio.h>

static void print(void *context, const char *text)
{
    (void)context;
    (void)fprintf(stderr, "warning: %s\n", text);
}

const struct warnings warning_printer = { print, NULL };
