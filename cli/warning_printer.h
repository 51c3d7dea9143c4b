/* Where warnings from below the command line come out. */
#ifndef PROBE_CLI_WARNING_PRINTER_H
#define PROBE_CLI_WARNING_PRINTER_H

#include "core/warnings.h"

/* A line "warning: ..." on the standard error for each. */
extern const struct warnings warning_printer;

#endif
