/* The metrics pass with AVX2, FMA and F16C (every x86-64 server core since 2013). */
#include "standards/metrics/metrics_pass.h"

#if defined(__x86_64__)

#include "core/lanes_avx2.h"

#include "standards/metrics/metrics_kernel.h"

LANES_END

pass_fold_chunks *pass_avx2(enum dtype dtype)
{
    return lanes_avx2_available() ? kernels[dtype] : NULL;
}

#else

pass_fold_chunks *pass_avx2(enum dtype dtype)
{
    (void)dtype;
    return NULL;
}

#endif
