/* The metrics pass with NEON, which every aarch64 core has (the hosts of Ascend cards). */
#include "standards/metrics/metrics_pass.h"

#if defined(__aarch64__)

#include "core/lanes_neon.h"

#include "standards/metrics/metrics_kernel.h"

LANES_END

pass_fold_chunks *pass_neon(enum dtype dtype) { return kernels[dtype]; }

#else

pass_fold_chunks *pass_neon(enum dtype dtype)
{
    (void)dtype;
    return NULL;
}

#endif
