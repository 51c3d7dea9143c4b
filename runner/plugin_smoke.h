/* A small call for a kernel of a manifest, to see whether it runs at all. */
#ifndef PROBE_RUNNER_PLUGIN_SMOKE_H
#define PROBE_RUNNER_PLUGIN_SMOKE_H

#include "core/case.h"
#include "runner/devices/plugin_manifest.h"

/* The call that the kernel's "smoke" describes or, when it has none, one of tensors of extent 4 in
 * the first dtype and rank that the kernel's condition accepts. Tensors hold values between 0.1
 * and 0.9 (integers 0 to 3) and require gradients when the kernel has a backward.
 *
 *   returns  STATUS_SKIP, and what is missing, when there is no such call
 */
struct status smoke_case(struct api_case *out, struct arena *arena,
                         const struct manifest *manifest, const struct manifest_kernel *kernel);

#endif
