/* A range and a key -> the elements of a tensor.
 *
 * Element i is a pure function of (range, key, i). Reals are drawn in double, uniform over
 * 2^32 cells of the range (2^52 for float64), and rounded once to the dtype: every value of
 * a dtype of at most 24 significand bits that is not smaller than 2^-32 of the range can
 * occur, with the share of the range that rounds to it. Integers are drawn from the closed
 * range.
 *
 * A complex element is a magnitude in the range and a direction: one of four right-angle
 * turns of (1 - t^2, 2 t) / (1 + t^2), t uniform in +-(sqrt(2) - 1). Its density in the
 * angle varies by 17 %, and no libm function, whose last bit could differ between hosts,
 * takes part.
 */
#ifndef PROBE_GENERATORS_FILL_H
#define PROBE_GENERATORS_FILL_H

#include "core/parallel.h"
#include "core/tensor.h"
#include "generators/range.h"

/* The streams of a key, so that draws for different purposes are independent. */
enum fill_stream { STREAM_VALUE, STREAM_DIRECTION, STREAM_RULE };

/* 64-bit hash of (seed, API full name, argument path): the key of a tensor. */
uint64_t fill_key(uint64_t seed, const char *full_name, const char *path);

/* A key of its own for part `i` of what belongs to `key`. */
uint64_t fill_key_derive(uint64_t key, uint64_t i);

/* Set all elements of a dense tensor, placed values included. `help`: who draws some of them, or NULL. */
void fill_tensor(struct tensor *out, const struct range *range, uint64_t key, struct help *help);

/* A pseudo-random permutation of 0 ... size - 1, as a function: no table, any size. */
struct shuffle {
    uint64_t key, size;
    unsigned half_bits;
};
struct shuffle shuffle_create(uint64_t key, uint64_t size);
uint64_t shuffle_at(const struct shuffle *shuffle, uint64_t i);

#endif
