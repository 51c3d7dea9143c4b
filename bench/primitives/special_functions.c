/* Functions of torch.special by Arb's hypergeometric functions.
 *
 * Arb's functions of a wide ball may integrate for seconds or lose their bounds, so balls go in as points: a monotone
 * function at both ends, one whose slope has a bound at the midpoint.
 */
#include "bench/primitives/special_functions.h"

#include <acb_hypgeom.h>
#include <arb_hypgeom.h>
#include <math.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/ball_values.h"
#include "bench/primitives/chain_rule.h"

/* ---- balls from points ------------------------------------------------------------------------ */

/* f monotone. */
static void from_both_ends(ball_function *f, arb_t y, const arb_t x, slong p)
{
    if (arb_is_exact(x) || !arb_is_finite(x)) {
        f(y, x, p);
        return;
    }
    arb_t end, other;
    arb_init(end);
    arb_init(other);
    arb_get_lbound_arf(arb_midref(end), x, p);
    f(other, end, p);
    arb_get_ubound_arf(arb_midref(end), x, p);
    f(y, end, p);
    arb_union(y, y, other, p);
    arb_clear(end);
    arb_clear(other);
}

/* |f'| <= slope on x. */
static void from_midpoint(ball_function *f, const arb_t slope, arb_t y, const arb_t x, slong p)
{
    arb_t middle, spread;
    arb_init(middle);
    arb_init(spread);
    arf_set_mag(arb_midref(spread), arb_radref(x));
    arb_mul(spread, spread, slope, 64);
    arb_get_mid_arb(middle, x);
    f(y, middle, p);
    arb_add_error(y, spread);
    arb_clear(middle);
    arb_clear(spread);
}

/* |f'| <= 1. */
static void from_midpoint_flat(ball_function *f, arb_t y, const arb_t x, slong p)
{
    arb_t one;
    arb_init(one);
    arb_one(one);
    from_midpoint(f, one, y, x, p);
    arb_clear(one);
}

/* ---- the error function's ---------------------------------------------------------------------- */

/* exp(x^2) erfc(x), or for x > 1, where that would be a product of what overflows and what
 * underflows, U(1/2, 1/2, x^2) / sqrt(pi) (DLMF 7.11.5). */
static void point_erfcx(arb_t y, const arb_t x, slong p)
{
    arb_t square, t;
    arb_init(square);
    arb_init(t);
    arb_mul(square, x, x, p + 64);
    if (arf_cmp_si(arb_midref(x), 1) > 0) {
        arb_t half;
        arb_init(half);
        arb_set_d(half, 0.5);
        arb_hypgeom_u(t, half, half, square, p);
        arb_const_sqrt_pi(square, p);
        arb_div(y, t, square, p);
        arb_clear(half);
    } else {
        arb_hypgeom_erfc(t, x, p);
        arb_exp(square, square, p);
        arb_mul(y, t, square, p);
    }
    arb_clear(square);
    arb_clear(t);
}

void ball_erfcx(arb_t y, const arb_t x, slong p) { from_both_ends(point_erfcx, y, x, p); }

double value_erfcx(double x)
{
    if (isnan(x)) return x;
    return x < -27 ? INFINITY : x == INFINITY ? 0 : value_from_ball(ball_erfcx, x);
}

/* f' = 2 x f - 2 / sqrt(pi). For x > 0, 1 - 1 / (2 x^2) < sqrt(pi) x f < 1 (DLMF 7.8.2 and 7.12.1), so that |f'| is
 * at most 1.13 and 0.565 / x^2; for x < 0, f < 2 exp(x^2). */
double slope_erfcx(double x, double e)
{
    double low = (x - e) * (1 - copysign(0x1p-50, x - e));
    if (low > 0x1p400) return INFINITY; /* the square would underflow */
    if (low > 1) return 0.565 / (low * low);
    return low >= 0 ? 1.13 : 1.13 - 4 * low * exp(low * low) * (1 + 0x1p-40);
}

struct node *derivative_erfcx(struct tape *tape, struct node *x, struct node *y)
{
    struct node *root =
        node_apply(tape, "sqrt", node_apply(tape, "times_pi", node_scalar(tape, 1)));
    return node_subtract(tape, node_scale(tape, node_multiply(tape, x, y), 2),
                         node_divide(tape, node_scalar(tape, 2), root));
}

/* -sqrt(2) erfcinv(2 p) */
static void point_ndtri(arb_t y, const arb_t x, slong p)
{
    arb_t t;
    arb_init(t);
    arb_mul_2exp_si(t, x, 1);
    arb_hypgeom_erfcinv(y, t, p);
    arb_sqrt_ui(t, 2, p);
    arb_mul(y, y, t, p);
    arb_neg(y, y);
    arb_clear(t);
}

void ball_ndtri(arb_t y, const arb_t x, slong p) { from_both_ends(point_ndtri, y, x, p); }

double value_ndtri(double x)
{
    if (x == 0) return -INFINITY;
    if (x == 0.5) return 0;
    return x == 1 ? INFINITY : x > 0 && x < 1 ? value_from_ball(ball_ndtri, x) : NAN;
}

/* sqrt(2 pi) exp(y^2 / 2) */
struct node *derivative_ndtri(struct tape *tape, struct node *x, struct node *y)
{
    (void)x;
    struct node *root =
        node_apply(tape, "sqrt", node_apply(tape, "times_pi", node_scalar(tape, 2)));
    struct node *half_square = node_scale(tape, node_multiply(tape, y, y), 0.5);
    return node_multiply(tape, root, node_apply(tape, "exp", half_square));
}

/* log(erfcx(t) / 2) - t^2 with t = -x / sqrt(2) for x < -1, else log1p(-erfc(-t) / 2). */
static void point_log_ndtr(arb_t y, const arb_t x, slong p)
{
    arb_t t, s;
    arb_init(t);
    arb_init(s);
    arb_sqrt_ui(t, 2, p + 64);
    arb_div(t, x, t, p + 64);
    if (arf_cmp_si(arb_midref(x), -1) < 0) {
        arb_neg(t, t);
        point_erfcx(s, t, p);
        arb_mul_2exp_si(s, s, -1);
        arb_log(s, s, p);
        arb_mul(t, x, x, p + 64);
        arb_mul_2exp_si(t, t, -1);
        arb_sub(y, s, t, p);
    } else {
        arb_hypgeom_erfc(s, t, p);
        arb_mul_2exp_si(s, s, -1);
        arb_neg(s, s);
        arb_log1p(y, s, p);
    }
    arb_clear(t);
    arb_clear(s);
}

void ball_log_ndtr(arb_t y, const arb_t x, slong p) { from_both_ends(point_log_ndtr, y, x, p); }

double value_log_ndtr(double x)
{
    if (isnan(x) || x == -INFINITY) return x;
    return x > 39 ? -0.0 : value_from_ball(ball_log_ndtr, x);
}

/* The inverse Mills ratio decreases; it is 0.8 at 0 and below |x| + 0.8 left of it. */
double slope_log_ndtr(double x, double e) { return (1 + fmax(0, e - x)) * (1 + 0x1p-40); }

/* sqrt(2 / pi) / erfcx(-x / sqrt(2)). PyTorch's exp(-x^2 / 2) / exp(y) loses the roundings of the square and of y, which for
 * x < 0 is about as large, and what the exponentials lose that underflow. */
struct node *derivative_log_ndtr(struct tape *tape, struct node *x, struct node *y)
{
    struct node *pi = node_apply(tape, "times_pi", node_scalar(tape, 1));
    struct node *root = node_apply(tape, "sqrt", node_divide(tape, node_scalar(tape, 2), pi));
    struct node *half_root = node_apply(tape, "sqrt", node_scalar(tape, 0.5));
    struct node *t = node_negate(tape, node_multiply(tape, x, half_root));
    struct node *slope = node_divide(tape, root, node_apply(tape, "erfcx", t));
    slope = node_model_error(tape, slope, node_multiply(tape, slope, node_multiply(tape, x, x)), 4);
    if (!tape_is_model(tape)) return slope;
    struct node *grown = node_apply(tape, "exp", node_negate(tape, node_detach(tape, y)));
    return node_model_error(tape, slope, node_multiply(tape, slope, grown),
                            4 * tape->tiny / tape->unit);
}

/* ---- Bessel functions ----------------------------------------------------------------------------- */

typedef void bessel_function(arb_t y, const arb_t order, const arb_t x, slong p);

static void bessel(bessel_function *f, arb_t y, slong order, const arb_t x, slong p)
{
    arb_t n;
    arb_init(n);
    arb_set_si(n, order);
    f(y, n, x, p);
    arb_clear(n);
}

/* Even and odd: of |x|. */
static void point_i0e(arb_t y, const arb_t x, slong p)
{
    arb_t t;
    arb_init(t);
    arb_abs(t, x);
    bessel(arb_hypgeom_bessel_i_scaled, y, 0, t, p);
    arb_clear(t);
}
static void point_i1e(arb_t y, const arb_t x, slong p)
{
    bool negative = arf_sgn(arb_midref(x)) < 0;
    arb_t t;
    arb_init(t);
    arb_abs(t, x);
    bessel(arb_hypgeom_bessel_i_scaled, y, 1, t, p);
    if (negative) arb_neg(y, y);
    arb_clear(t);
}
/* Far out J and Y are waves: as many bits more as x has before its point. */
static slong for_angle(const arb_t x, slong p)
{
    if (arf_cmpabs_2exp_si(arb_midref(x), 0) < 0 || arf_cmpabs_2exp_si(arb_midref(x), 1100) > 0)
        return p;
    return p + arf_abs_bound_lt_2exp_si(arb_midref(x));
}

/* The power series of Y and K cancel to exp(-2 x) of their terms; the asymptotic ones leave no more than it, and are
 * used where that is too little. */
static slong for_series(const arb_t x, slong p)
{
    double bits = 3 * fabs(arf_get_d(arb_midref(x), ARF_RND_NEAR));
    return bits < (double)p ? p + (slong)bits : p;
}

/* K_n(x), or exp(x) K_n(x). Arb's own choice between the two series leaves K_0 without digits for x from 30 to 60. */
static void bessel_k(arb_t y, slong n, bool scaled, const arb_t x, slong p)
{
    acb_t z, order;
    if (!arb_is_positive(x)) {
        arb_indeterminate(y);
        return;
    }
    acb_init(z);
    acb_init(order);
    acb_set_arb(z, x);
    acb_set_si(order, n);
    slong precise = for_series(x, p + 20);
    bool far = precise == p + 20 && arf_cmpabs_ui(arb_midref(x), 1) > 0;
    if (!far) acb_hypgeom_bessel_k_0f1(z, order, z, scaled, precise);
    else acb_hypgeom_bessel_k_asymp(z, order, z, scaled, precise);
    acb_get_real(y, z);
    acb_clear(z);
    acb_clear(order);
}

/* clang-format off */
static void point_j0(arb_t y, const arb_t x, slong p) { bessel(arb_hypgeom_bessel_j, y, 0, x, for_angle(x, p)); }
static void point_j1(arb_t y, const arb_t x, slong p) { bessel(arb_hypgeom_bessel_j, y, 1, x, for_angle(x, p)); }
static void point_y0(arb_t y, const arb_t x, slong p) { bessel(arb_hypgeom_bessel_y, y, 0, x, for_angle(x, for_series(x, p))); }
static void point_y1(arb_t y, const arb_t x, slong p) { bessel(arb_hypgeom_bessel_y, y, 1, x, for_angle(x, for_series(x, p))); }
static void point_k0(arb_t y, const arb_t x, slong p) { bessel_k(y, 0, false, x, p); }
static void point_k1(arb_t y, const arb_t x, slong p) { bessel_k(y, 1, false, x, p); }
static void point_k0e(arb_t y, const arb_t x, slong p) { bessel_k(y, 0, true, x, p); }
static void point_k1e(arb_t y, const arb_t x, slong p) { bessel_k(y, 1, true, x, p); }

void ball_i0e(arb_t y, const arb_t x, slong p) { from_midpoint_flat(point_i0e, y, x, p); }
void ball_i1e(arb_t y, const arb_t x, slong p) { from_midpoint_flat(point_i1e, y, x, p); }
void ball_bessel_j0(arb_t y, const arb_t x, slong p) { from_midpoint_flat(point_j0, y, x, p); }
void ball_bessel_j1(arb_t y, const arb_t x, slong p) { from_midpoint_flat(point_j1, y, x, p); }
void ball_bessel_k0(arb_t y, const arb_t x, slong p) { from_both_ends(point_k0, y, x, p); }
void ball_bessel_k1(arb_t y, const arb_t x, slong p) { from_both_ends(point_k1, y, x, p); }
void ball_k0e(arb_t y, const arb_t x, slong p) { from_both_ends(point_k0e, y, x, p); }
void ball_k1e(arb_t y, const arb_t x, slong p) { from_both_ends(point_k1e, y, x, p); }
/* clang-format on */

/* J^2 + Y^2 decreases (Watson, 13.74), so that at x >= a > 0 |Y_n(x)| is at most its root at a; Y0' = -Y1,
 * Y1' = Y0 - Y1 / x. */
static void bound_y(arb_t bound, ball_function *j, ball_function *y, const arb_t a)
{
    arb_t t;
    arb_init(t);
    j(t, a, 64);
    y(bound, a, 64);
    arb_hypot(bound, bound, t, 64);
    arb_clear(t);
}

static void ball_y(arb_t y, slong order, const arb_t x, slong p)
{
    ball_function *f = order ? point_y1 : point_y0;
    if (arb_is_exact(x) || !arb_is_positive(x)) {
        f(y, x, p);
        return;
    }
    arb_t low, slope, more;
    arb_init(low);
    arb_init(slope);
    arb_init(more);
    arb_get_lbound_arf(arb_midref(low), x, 64);
    bound_y(slope, point_j1, point_y1, low);
    if (order) {
        arb_div(slope, slope, low, 64);
        bound_y(more, point_j0, point_y0, low);
        arb_add(slope, slope, more, 64);
    }
    from_midpoint(f, slope, y, x, p);
    arb_clear(low);
    arb_clear(slope);
    arb_clear(more);
}

void ball_bessel_y0(arb_t y, const arb_t x, slong p) { ball_y(y, 0, x, p); }
void ball_bessel_y1(arb_t y, const arb_t x, slong p) { ball_y(y, 1, x, p); }

/* clang-format off */
double value_i0e(double x) { return isnan(x) ? x : isinf(x) ? 0 : value_from_ball(ball_i0e, x); }
double value_i1e(double x) { return x == 0 || isnan(x) ? x : isinf(x) ? copysign(0, x) : value_from_ball(ball_i1e, x); }
/* Kernels take the cosine of an infinite argument: NaN. */
double value_bessel_j0(double x) { return isfinite(x) ? value_from_ball(ball_bessel_j0, x) : NAN; }
double value_bessel_j1(double x) { return x == 0 ? x : isfinite(x) ? value_from_ball(ball_bessel_j1, x) : NAN; }
/* clang-format on */

/* On (0, inf), with a limit at both ends. */
static double on_positive(ball_function *f, double x, double at_zero, double at_infinity)
{
    if (x == 0) return at_zero;
    if (x == INFINITY) return at_infinity;
    return x > 0 ? value_from_ball(f, x) : NAN;
}

/* K_n(x) < 2 exp(-x) for x > 1: less than half the least subnormal beyond 750. */
static double decaying(ball_function *f, double x)
{
    return x > 750 ? 0 : on_positive(f, x, INFINITY, 0);
}

/* clang-format off */
double value_bessel_y0(double x) { return on_positive(ball_bessel_y0, x, -INFINITY, NAN); }
double value_bessel_y1(double x) { return on_positive(ball_bessel_y1, x, -INFINITY, NAN); }
double value_bessel_k0(double x) { return decaying(ball_bessel_k0, x); }
double value_bessel_k1(double x) { return decaying(ball_bessel_k1, x); }
double value_k0e(double x) { return on_positive(ball_k0e, x, INFINITY, 0); }
double value_k1e(double x) { return on_positive(ball_k1e, x, INFINITY, 0); }
/* clang-format on */

/* I1e - sign(x) I0e */
struct node *derivative_i0e(struct tape *tape, struct node *x, struct node *y)
{
    return node_subtract(tape, node_apply(tape, "i1e", x),
                         node_multiply(tape, node_apply(tape, "sign", x), y));
}

/* I0e - (I1e sign(x) + I1e / x), which tends to 1/2 at 0. */
struct node *derivative_i1e(struct tape *tape, struct node *x, struct node *y)
{
    struct node *signed_y = node_multiply(tape, y, node_apply(tape, "sign", x));
    struct node *slope = node_subtract(tape, node_apply(tape, "i0e", x),
                                       node_add(tape, signed_y, node_divide(tape, y, x)));
    struct node *is_zero = node_compare(tape, COMPARE_EQ, x, node_scalar(tape, 0));
    return node_select(tape, is_zero, node_scalar(tape, 0.5), slope);
}

/* The recurrences of DLMF 10.6 and 10.29: f0' = -f1, f1' = f0 - f1 / x, for K f1' = -f0 - f1 / x. */
static struct node *negated(struct tape *tape, const char *name, struct node *x)
{
    return node_negate(tape, node_apply(tape, name, x));
}

static struct node *less_quotient(struct tape *tape, struct node *first, struct node *x,
                                  struct node *y)
{
    return node_subtract(tape, first, node_divide(tape, y, x));
}

struct node *derivative_bessel_j0(struct tape *tape, struct node *x, struct node *y)
{
    (void)y;
    return negated(tape, "bessel_j1", x);
}
struct node *derivative_bessel_j1(struct tape *tape, struct node *x, struct node *y)
{
    struct node *is_zero = node_compare(tape, COMPARE_EQ, x, node_scalar(tape, 0));
    return node_select(tape, is_zero, node_scalar(tape, 0.5),
                       less_quotient(tape, node_apply(tape, "bessel_j0", x), x, y));
}
struct node *derivative_bessel_y0(struct tape *tape, struct node *x, struct node *y)
{
    (void)y;
    return negated(tape, "bessel_y1", x);
}
struct node *derivative_bessel_y1(struct tape *tape, struct node *x, struct node *y)
{
    return less_quotient(tape, node_apply(tape, "bessel_y0", x), x, y);
}
struct node *derivative_bessel_k0(struct tape *tape, struct node *x, struct node *y)
{
    (void)y;
    return negated(tape, "bessel_k1", x);
}
struct node *derivative_bessel_k1(struct tape *tape, struct node *x, struct node *y)
{
    return less_quotient(tape, negated(tape, "bessel_k0", x), x, y);
}
struct node *derivative_k0e(struct tape *tape, struct node *x, struct node *y)
{
    return node_subtract(tape, y, node_apply(tape, "k1e", x));
}
struct node *derivative_k1e(struct tape *tape, struct node *x, struct node *y)
{
    return less_quotient(tape, node_subtract(tape, y, node_apply(tape, "k0e", x)), x, y);
}

/* ---- Airy's ------------------------------------------------------------------------------------------- */

/* A wave of the angle 2/3 |x|^(3/2) for x < 0: as many bits more as it has before its point. */
static slong for_airy(const arb_t x, slong p)
{
    slong digits = arf_abs_bound_lt_2exp_si(arb_midref(x));
    return digits > 0 && digits < 1100 ? p + 3 * digits / 2 : p;
}

void ball_airy_ai(arb_t y, const arb_t x, slong p)
{
    arb_hypgeom_airy(y, NULL, NULL, NULL, x, for_airy(x, p));
}

void ball_airy_ai_prime(arb_t y, const arb_t x, slong p)
{
    arb_hypgeom_airy(NULL, y, NULL, NULL, x, for_airy(x, p));
}

/* Ai(x) < exp(-2/3 x^(3/2)) for x > 1, -Ai'(x) < x times that: below half the least subnormal beyond 110. Kernels
 * return NaN at infinity. */
static double airy(ball_function *f, double x)
{
    return !isfinite(x) ? NAN : x > 110 ? 0 : value_from_ball(f, x);
}

double value_airy_ai(double x) { return airy(ball_airy_ai, x); }
double value_airy_ai_prime(double x) { return airy(ball_airy_ai_prime, x); }

struct node *derivative_airy_ai(struct tape *tape, struct node *x, struct node *y)
{
    (void)y;
    return node_apply(tape, "airy_ai_prime", x);
}

struct node *derivative_airy_ai_prime(struct tape *tape, struct node *x, struct node *y)
{
    (void)y;
    return node_multiply(tape, x, node_apply(tape, "airy_ai", x));
}
