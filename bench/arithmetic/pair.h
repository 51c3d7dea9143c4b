/* Double-double arithmetic with bounds: the tier between double and balls, for results in float64
 * and for what cancels.
 *
 * A pair stands for every real within `error` of hi + lo; |lo| is at most half an ulp of hi. The
 * operations are those of Joldes, Muller and Popescu (Tight and rigorous error bounds for basic
 * building blocks of double-word arithmetic, ACM TOMS 44, 2017); their relative errors are below
 * PAIR_ROUNDOFF. Each returns false, with nothing said, where a step could underflow or overflow or
 * the result is not finite.
 */
#ifndef PROBE_BENCH_ARITHMETIC_PAIR_H
#define PROBE_BENCH_ARITHMETIC_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIR_ROUNDOFF 0x1p-102 /* 16 u^2 */

struct pair {
    double hi, lo, error;
};

/* An exact number. */
struct pair pair_exact(double x);
struct pair pair_integer(int64_t x);

bool pair_add(struct pair *out, struct pair a, struct pair b);      /* error 3 u^2 */
bool pair_multiply(struct pair *out, struct pair a, struct pair b); /* 7 u^2 */
bool pair_divide(struct pair *out, struct pair a, struct pair b);   /* 12 u^2: see pair.c */
bool pair_sqrt(struct pair *out, struct pair a);                    /* 5 u^2: see pair.c */

#endif
