/* Floating-point numbers as the shortest decimal digits that read back as the same value, closest to it
 * among those, in the notation of Python's repr(): positional from 1e-4 to below 1e16, scientific
 * outside ("0.1", "1e-05", "100.0", "1e+16", "-0.0", "inf", "nan").
 */
#ifndef PROBE_CORE_SHORTEST_H
#define PROBE_CORE_SHORTEST_H

#include <stddef.h>

#include "core/dtype.h"

enum { SHORTEST_BYTES = 32 };

/* Write the text with a NUL behind it; its length. */
size_t shortest_double(char text[SHORTEST_BYTES], double x);

/* The same of a value of a floating dtype: as numpy prints a scalar of it, "0.1" for the f32 nearest to 0.1. */
size_t shortest_typed(char text[SHORTEST_BYTES], double x, enum dtype dtype);

#endif
