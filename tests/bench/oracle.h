/* Oracles of the scalar functions: enclosures of the exact value that owe nothing to bench/.
 *
 * Every row of bench/primitives/unary_functions.c and binary_functions.c has one here, by name. The first
 * source is a formula in Arb's balls, written from the definition; the second, where MPFR has
 * the function, is MPFR rounded downward, whose neighbour above closes the interval. Tests use
 * the first for volume and the second to check the first.
 */
#ifndef PROBE_TESTS_BENCH_ORACLE_H
#define PROBE_TESTS_BENCH_ORACLE_H

#include <arb.h>
#include <mpfr.h>
#include <stdbool.h>

struct oracle {
    const char *name;
    void (*ball)(arb_t y, const arb_t x, slong precision);
    int (*mpfr)(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding); /* or NULL */
    double low, high; /* where the function is interesting: inputs uniform in value */
    bool slow;        /* microseconds per call: fewer inputs */
    double points[8]; /* branch points and edges of the range; 0 ends */
};

struct oracle2 {
    const char *name;
    void (*ball)(arb_t y, const arb_t a, const arb_t b, slong precision);
    int (*mpfr)(mpfr_t y, const mpfr_t a, const mpfr_t b, mpfr_rnd_t rounding); /* or NULL */
    double low_a, high_a, low_b, high_b;
    bool whole_a; /* the first argument is a small whole number */
    bool slow;
};

/* NULL when there is none: a new row needs a new oracle. */
const struct oracle *oracle_find(const char *name);
const struct oracle2 *oracle2_find(const char *name);

/* MPFR's enclosure of f(x) at 200 bits as a ball; NaN where f has no value, infinite where it is
 * infinite. */
void oracle_mpfr(arb_t y, const struct oracle *oracle, double x);
void oracle2_mpfr(arb_t y, const struct oracle2 *oracle, double a, double b);

/* Bounds of |y - exact|, rounded outward; false when the enclosure is not finite. */
struct distance {
    double least, most;
};
bool oracle_distance(struct distance *distance, const arb_t exact, double y);

#endif
