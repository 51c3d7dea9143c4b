/* Double-double arithmetic: TwoSum and fused products, renormalized after each step. */
#include "bench/arithmetic/pair.h"

#include <math.h>

#include "bench/arithmetic/rounding.h"

/* Beyond these no product of two numbers or its error leaves the range of double. */
#define SMALLEST 0x1p-450
#define LARGEST  0x1p450
#define GROWTH   (1 + 0x1p-40) /* covers the rounding of the bounds themselves */

struct pair pair_exact(double x) { return (struct pair){ x, 0, 0 }; }

struct pair pair_integer(int64_t x)
{
    int64_t high = x &
                   ~INT64_C(0xffffffff); /* each part is a double, and so is their sum's error */
    double a = (double)high, b = (double)(x - high), sum = a + b;
    return (struct pair){ sum, b - (sum - a), 0 };
}

static bool is_moderate(double x)
{
    double magnitude = fabs(x);
    return magnitude == 0 || (magnitude > SMALLEST && magnitude < LARGEST);
}

/* hi + lo as a normalized pair. */
static struct pair normalized(double hi, double lo)
{
    double error = two_sum(&hi, lo);
    return (struct pair){ hi, error, 0 };
}

static bool take(struct pair *out, struct pair result, double error)
{
    if (!isfinite(result.hi) || !(error < INFINITY)) return false;
    result.error = error == 0 ? 0 : error * GROWTH;
    *out = result;
    return true;
}

bool pair_add(struct pair *out, struct pair a, struct pair b)
{
    struct pair high = normalized(a.hi, b.hi), low = normalized(a.lo, b.lo);
    if (a.lo == 0 && b.lo == 0) return take(out, high, a.error + b.error); /* TwoSum is exact */
    struct pair sum = normalized(high.hi, high.lo + low.hi);
    sum = normalized(sum.hi, sum.lo + low.lo);
    return take(out, sum, a.error + b.error + PAIR_ROUNDOFF * fabs(sum.hi));
}

bool pair_multiply(struct pair *out, struct pair a, struct pair b)
{
    if (!is_moderate(a.hi) || !is_moderate(b.hi)) return false;
    double product = a.hi * b.hi, low = fma(a.hi, b.hi, -product);
    bool exact = a.lo == 0 && b.lo == 0;
    if (!exact) low += a.hi * b.lo + a.lo * b.hi;
    double carried = fabs(a.hi) * b.error + fabs(b.hi) * a.error + a.error * b.error;
    return take(out, normalized(product, low),
                carried * (1 + 0x1p-50) + (exact ? 0 : PAIR_ROUNDOFF * fabs(product)));
}

/* q = fl(ah / bh) leaves a - q b = (ah - q bh) + al - q bl, the first difference exact, all three
 * terms at most u |a| or so: adding them up errs by 6 u^2 |a|, dividing by bh instead of b by 3 u^2,
 * the division itself by 3 u^2. */
bool pair_divide(struct pair *out, struct pair a, struct pair b)
{
    double divisor = fabs(b.hi) * (1 - 0x1p-50);
    if (!is_moderate(a.hi) || !is_moderate(b.hi) || b.hi == 0 || !(b.error < divisor)) return false;
    double q = a.hi / b.hi, rest = fma(-q, b.hi, a.hi);
    bool exact = rest == 0 && a.lo == 0 && b.lo == 0;
    double low = ((rest + a.lo) - q * b.lo) / b.hi;
    double carried = (a.error + fabs(q) * (1 + 0x1p-50) * b.error) / (divisor - b.error);
    return take(out, normalized(q, low), carried + (exact ? 0 : PAIR_ROUNDOFF * fabs(q)));
}

/* y = fl(sqrt(ah)) leaves r = (ah - y^2) + al, at most 3 u a; sqrt(a) = y + r / 2y - r^2 / 8y^3 + ...
 * The last term kept errs by 3 u^2 y with its roundings, what is left out by 9/8 u^2 y. */
bool pair_sqrt(struct pair *out, struct pair a)
{
    if (!is_moderate(a.hi) || a.hi < 0 || (a.error > 0 && !(a.error < a.hi / 4))) return false;
    if (a.hi == 0) return take(out, a, 0);
    double y = sqrt(a.hi), rest = fma(-y, y, a.hi) + a.lo;
    return take(out, normalized(y, rest / (2 * y)),
                a.error / y + (rest == 0 ? 0 : PAIR_ROUNDOFF * y));
}
