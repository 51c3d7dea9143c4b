/* A reproducer: a folder with which somebody without this program sees a fault.
 *
 * For a kernel of a plugin it has a C program that loads the library and makes the same calls, for PyTorch a
 * script of plain torch calls. Both have the inputs and what is right in them, print which elements
 * are wrong, and exit with 1 when the fault is there, 0 when not and 2 when the library or device cannot be
 * used. A README has the evidence.
 */
#ifndef PROBE_REPRO_REPRO_H
#define PROBE_REPRO_REPRO_H

#include <stdbool.h>

#include "core/status.h"
#include "runner/run_options.h"

/* What came of it, for who asked. */
struct repro_result {
    bool judged, fails; /* nothing is written when it does not fail */
    char text[600];     /* the failure, or why there is none */
};

/* Check a call, and write the reproducer of its failure.
 *
 *   name       of the call, or of the row that is meant
 *   directory  is made; files of these names in it are replaced
 *   errors     STATUS_BAD_ARGUMENT for a backend that nobody else has; STATUS_SKIP when a fault cannot be
 *              told in this form, and why
 */
struct status repro_write(struct repro_result *out, const struct run_options *options,
                          const char *name, const char *directory);

#endif
