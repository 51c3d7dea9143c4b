/* A small call for a kernel of a manifest, to see whether it runs at all. */
#ifndef PROBE_CLI_PLUGIN_SMOKE_H
#define PROBE_CLI_PLUGIN_SMOKE_H

#include "core/case.h"
#include "runner/devices/plugin/plugin_manifest.h"

/* How many calls there are to try for a kernel: the one that its "smoke" describes, or made up
 * ones of tensors of extent 4, by dtype and rank. Tensors hold values between 0.1 and 0.9
 * (integers 0 to 3) and require gradients. */
size_t smoke_attempts(const struct manifest_kernel *kernel);

/* The call number `attempt`, named after the kernel's first API and its place in the manifest.
 * STATUS_SKIP, and why, when it is no call of this kernel. */
struct status smoke_case(struct api_case *out, struct arena *arena, const struct manifest *manifest,
                         const struct manifest_kernel *kernel, size_t attempt);

#endif
