/* MPFR's results as enclosures, and how far a double may be from one. */
#include "bench/oracle.h"

#include <acb.h>
#include <acb_hypgeom.h>
#include <arb_hypgeom.h>
#include <math.h>

enum { ORACLE_BITS = 200 };

/* The interval from a value rounded downward to its upper neighbour (the value itself when it is
 * exact) as a ball. */
static void close_interval(arb_t out, mpfr_t low, int inexact)
{
    if (!mpfr_number_p(low)) {
        if (mpfr_nan_p(low)) arb_indeterminate(out);
        else if (mpfr_sgn(low) > 0) arb_pos_inf(out);
        else arb_neg_inf(out);
        return;
    }
    mpfr_t high;
    arf_t a, b;
    mpfr_init2(high, mpfr_get_prec(low));
    mpfr_set(high, low, MPFR_RNDN);
    if (inexact) mpfr_nextabove(high);
    arf_init(a);
    arf_init(b);
    arf_set_mpfr(a, low);
    arf_set_mpfr(b, high);
    arb_set_interval_arf(out, a, b, ORACLE_BITS + 40);
    arf_clear(a);
    arf_clear(b);
    mpfr_clear(high);
}

void oracle_mpfr(arb_t y, const struct oracle *oracle, double x)
{
    mpfr_t in, out;
    mpfr_init2(in, 53);
    mpfr_init2(out, ORACLE_BITS);
    mpfr_set_d(in, x, MPFR_RNDN);
    int inexact = oracle->mpfr(out, in, MPFR_RNDD);
    close_interval(y, out, inexact);
    mpfr_clear(in);
    mpfr_clear(out);
}

void oracle2_mpfr(arb_t y, const struct oracle2 *oracle, double a, double b)
{
    mpfr_t u, v, out;
    mpfr_init2(u, 53);
    mpfr_init2(v, 53);
    mpfr_init2(out, ORACLE_BITS);
    mpfr_set_d(u, a, MPFR_RNDN);
    mpfr_set_d(v, b, MPFR_RNDN);
    int inexact = oracle->mpfr(out, u, v, MPFR_RNDD);
    close_interval(y, out, inexact);
    mpfr_clear(u);
    mpfr_clear(v);
    mpfr_clear(out);
}

/* ---- judging ------------------------------------------------------------------------------------ */

bool oracle_distance(struct distance *distance, const arb_t exact, double y)
{
    arb_t difference;
    arf_t limit;

    if (!arb_is_finite(exact) || !isfinite(y)) return false;
    arb_init(difference);
    arf_init(limit);
    arb_set_d(difference, y);
    arb_sub(difference, exact, difference, 320);
    arb_get_abs_lbound_arf(limit, difference, 64);
    distance->least = arf_get_d(limit, ARF_RND_FLOOR);
    arb_get_abs_ubound_arf(limit, difference, 64);
    distance->most = arf_get_d(limit, ARF_RND_CEIL);
    arb_clear(difference);
    arf_clear(limit);
    return true;
}
