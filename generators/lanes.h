/* The inner loops of the generator, once per instruction set.
 *
 * Every variant gives the same bits: the Philox words are integers, and the rest uses
 * additions and multiplications of doubles, which IEEE-754 defines to the last bit and
 * which are never contracted (-ffp-contract=off). All that depends on the instruction set
 * is in lanes.c.
 */
#ifndef PROBE_GENERATORS_LANES_H
#define PROBE_GENERATORS_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"

/* An interval [lo, hi] of finite doubles as center and half width, so that hi - lo is never
 * formed: it overflows for lo = -DBL_MAX, hi = DBL_MAX. */
struct interval {
    double lo, hi;
    double center, half_width;
};

struct interval interval_between(double lo, double hi);

/* Integers lo, lo + 1, ..., lo + last. */
struct integer_interval {
    int64_t lo;
    uint64_t last;
};

struct lanes {
    const char *name;

    /* As philox_blocks. */
    void (*philox)(uint32_t *out, uint64_t key, uint64_t stream, uint64_t first_block,
                   size_t blocks);

    /* Uniform doubles in the interval, one word each: the word picks one of 2^32 equal
     * cells, the value is the center of the cell. */
    void (*reals)(double *out, const uint32_t *words, size_t n, const struct interval *interval);

    /* The same for float64 with two words each and 2^52 cells, of which the value is the
     * lower end. */
    void (*fine_reals)(double *out, const uint32_t *words, size_t n,
                       const struct interval *interval);

    /* Doubles rounded once, to nearest even, to floating type `dtype`. All must be finite
     * and at most the largest value of the type in magnitude. */
    void (*encode)(void *out, enum dtype dtype, const double *in, size_t n);

    /* Uniform integers, one word each, as `dtype` (integer or bool); last < 2^32. */
    void (*integers)(void *out, enum dtype dtype, const uint32_t *words, size_t n,
                     const struct integer_interval *interval);
};

/* The variant for this processor. */
const struct lanes *lanes_best(void);

/* All variants this processor can run, best last, for tests; NULL after the end. */
const struct lanes *lanes_variant(size_t i);

#endif
