/* The reproducer of a call of PyTorch: reproducer.py. */
#ifndef PROBE_REPRO_TORCH_SOURCE_H
#define PROBE_REPRO_TORCH_SOURCE_H

#include "repro/fault.h"

/* Write reproducer.py, and its large tensors as files, into a directory.
 *
 *   device  "cpu", "cuda:1": what the script runs on unless told otherwise
 *   title   a line about the fault
 *   errors  STATUS_SKIP when the fault cannot be told in Python
 */
struct status torch_source_write(const char *directory, struct fault *fault, const char *device,
                                 const char *title);

#endif
