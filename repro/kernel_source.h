/* The reproducer of a plugin's kernel: reproducer.c. */
#ifndef PROBE_REPRO_KERNEL_SOURCE_H
#define PROBE_REPRO_KERNEL_SOURCE_H

#include "repro/fault.h"

/* Write reproducer.c, and its large arrays as files, into a directory.
 *
 *   backend  "plugin:FILE.json"
 *   title    a line about the fault
 *   errors   STATUS_SKIP when the fault cannot be told in C
 */
struct status kernel_source_write(const char *directory, struct fault *fault, const char *backend,
                                  const char *title, struct file_policy policy);

#endif
