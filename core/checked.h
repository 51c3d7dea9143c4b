/* Size arithmetic that reports overflow. Sizes that come from a file pass through here. */
#ifndef PROBE_CORE_CHECKED_H
#define PROBE_CORE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b; false, with *out untouched, when the product does not fit. */
static inline bool size_multiply(size_t *out, size_t a, size_t b)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}

/* *out = a + b; false, with *out untouched, when the sum does not fit. */
static inline bool size_add(size_t *out, size_t a, size_t b)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return false;
    *out = sum;
    return true;
}

/* Product of `rank` extents. False for a negative extent or a product beyond PTRDIFF_MAX. */
static inline bool shape_elements(size_t *out, int rank, const int64_t *shape)
{
    size_t n = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) return false;
        if (shape[i] == 0) empty = true;
        else if (!size_multiply(&n, n, (size_t)shape[i]) || n > PTRDIFF_MAX) return false;
    }
    *out = empty ? 0 : n;
    return true;
}

#endif
