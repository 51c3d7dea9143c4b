/* ln |Γ(x)| for threads: lgamma of the C library leaves the sign of Γ in a variable that all of them
 * share. */
#ifndef PROBE_CORE_LOG_GAMMA_H
#define PROBE_CORE_LOG_GAMMA_H

#include <math.h>

static inline double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

#endif
