/* Double values from balls, for functions without a library of proven accuracy. They cost microseconds. */
#ifndef PROBE_BENCH_PRIMITIVES_BALL_VALUES_H
#define PROBE_BENCH_PRIMITIVES_BALL_VALUES_H

#include <arb.h>

/* The same function as a double one on a ball, at a working precision in bits. */
typedef void ball_function(arb_t y, const arb_t x, slong precision);
typedef void ball_function2(arb_t y, const arb_t a, const arb_t b, slong precision);

/* f at doubles, within an ulp: the precision grows from 80 bits until the ball is narrow. NaN when it never is,
 * up to 10240 bits or `most_precision`. */
double value_from_ball(ball_function *f, double x);
double value_from_ball2(ball_function2 *f, double a, double b, slong most_precision);

#endif
