/* f'(x) as a node, given x and y = f(x), of the functions in unary_functions.c. */
#ifndef PROBE_BENCH_PRIMITIVES_UNARY_DERIVATIVES_H
#define PROBE_BENCH_PRIMITIVES_UNARY_DERIVATIVES_H

#include "bench/tape/tape.h"

typedef struct node *unary_derivative(struct tape *tape, struct node *x, struct node *y);

unary_derivative derivative_abs, derivative_exp, derivative_exp2, derivative_expm1, derivative_log,
    derivative_logarithm2, derivative_logarithm10, derivative_log1p, derivative_sqrt,
    derivative_rsqrt, derivative_reciprocal, derivative_square, derivative_sin, derivative_cos,
    derivative_tan, derivative_asin, derivative_acos, derivative_atan, derivative_sinh,
    derivative_cosh, derivative_tanh, derivative_asinh, derivative_acosh, derivative_atanh,
    derivative_erf, derivative_erfc, derivative_sigmoid, derivative_silu, derivative_softplus,
    derivative_logsigmoid, derivative_mish, derivative_gelu, derivative_one, derivative_times_pi,
    derivative_deg2rad, derivative_rad2deg, derivative_sinpi, derivative_cospi, derivative_sinc,
    derivative_erfinv, derivative_digamma, derivative_i0, derivative_i1, derivative_lgamma,
    derivative_normal_pdf;

#endif
