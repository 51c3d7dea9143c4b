/* The metrics pass with AVX-512 (F, DQ, BW, VL: every server core since 2017). */
#include "standards/metrics/metrics_pass.h"

#if defined(__x86_64__)

#include "core/lanes_avx512.h"

#include "standards/metrics/metrics_kernel.h"

LANES_END

pass_fold_chunks *pass_avx512(enum dtype dtype)
{
    return lanes_avx512_available() ? kernels[dtype] : NULL;
}

#else

pass_fold_chunks *pass_avx512(enum dtype dtype)
{
    (void)dtype;
    return NULL;
}

#endif
