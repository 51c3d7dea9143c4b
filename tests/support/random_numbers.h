/* Numbers that look random and are the same in every run: xorshift64* (S. Vigna, An experimental
 * exploration of Marsaglia's xorshift generators, 2016). */
#ifndef PROBE_TESTS_SUPPORT_RANDOM_NUMBERS_H
#define PROBE_TESTS_SUPPORT_RANDOM_NUMBERS_H

#include <stdint.h>

static uint64_t state; /* to be set, not to 0, before the first number */

static inline uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

/* From [0, 1). */
static inline double uniform(void) { return (double)(next_random() >> 11) * 0x1p-53; }

#endif
