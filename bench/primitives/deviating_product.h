/* Matrix products as a kernel with a mistake in its arithmetic computes them (bench/tape/deviation.h). */
#ifndef PROBE_BENCH_PRIMITIVES_DEVIATING_PRODUCT_H
#define PROBE_BENCH_PRIMITIVES_DEVIATING_PRODUCT_H

#include "bench/arithmetic/gemm.h"
#include "bench/tape/tape.h"

/* z = op(a) op(b) as tape->deviation has it, plus z with `shape->add`; what gemm_double does without
 * one. Failure is the tape's. */
void deviating_gemm(struct tape *tape, double *z, const struct gemm *shape, const double *a,
                    const double *b);

#endif
