/* The precision doubles until a ball rounds to within an ulp. */
#include "bench/primitives/ball_values.h"

#include <math.h>
#include <stdbool.h>

enum { FIRST_PRECISION = 80, MOST_PRECISION = 10240, ENOUGH_BITS = 60 };

static bool is_narrow(double *y, const arb_t ball)
{
    if (arb_rel_accuracy_bits(ball) < ENOUGH_BITS) return false;
    *y = arf_get_d(arb_midref(ball), ARF_RND_NEAR);
    return true;
}

double value_from_ball(ball_function *f, double x)
{
    arb_t in, out;
    double y = NAN;
    bool found = false;
    arb_init(in);
    arb_init(out);
    arb_set_d(in, x);
    for (slong p = FIRST_PRECISION; p <= MOST_PRECISION && !found; p *= 2) {
        f(out, in, p);
        found = is_narrow(&y, out);
    }
    arb_clear(in);
    arb_clear(out);
    return y;
}

double value_from_ball2(ball_function2 *f, double a, double b, slong most_precision)
{
    arb_t u, v, out;
    double y = NAN;
    bool found = false;
    arb_init(u);
    arb_init(v);
    arb_init(out);
    arb_set_d(u, a);
    arb_set_d(v, b);
    for (slong p = FIRST_PRECISION; p <= most_precision && !found; p *= 2) {
        f(out, u, v, p);
        found = is_narrow(&y, out);
    }
    arb_clear(u);
    arb_clear(v);
    arb_clear(out);
    return y;
}
