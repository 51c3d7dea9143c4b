/* Inputs for oracle tests: uniform in the bit pattern, uniform in value, and the values where
 * implementations break. */
#ifndef PROBE_TESTS_BENCH_INPUTS_H
#define PROBE_TESTS_BENCH_INPUTS_H

#include <stddef.h>

#include "bench/oracle.h"
#include "bench/samples.h"

/* Powers of two and one ulp to either side, over all exponents; the oracle's points, multiples of
 * pi / 2, small whole numbers and halves, each with its neighbours up to 3 ulp away; zeros,
 * subnormals, infinities, NaN; all with both signs. Returns the number; `most` is enough at
 * SPECIAL_INPUTS. */
enum { SPECIAL_INPUTS = 16000 };
size_t special_inputs(double *x, const struct oracle *oracle);

/* A few of them for pairs. */
enum { FEW_SPECIALS = 56 };
extern const double few_specials[FEW_SPECIALS];

/* Input i of a mixed stream: bit patterns of double, of float, uniform in [low, high], and
 * logarithmically near 0. */
double mixed_input(struct numbers *numbers, size_t i, double low, double high);

/* How many of `count` inputs a sweep takes: all of them, or one in n where the environment has
 * PROBE_TEST_THIN=n, for emulated machines and instrumented builds that are many times slower. */
size_t thinned_inputs(size_t count);

/* A double with random bits. */
double any_double(struct numbers *numbers);

#endif
