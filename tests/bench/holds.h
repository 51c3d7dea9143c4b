/* Does a reference hold these values, each of its type? */
#ifndef PROBE_TESTS_BENCH_HOLDS_H
#define PROBE_TESTS_BENCH_HOLDS_H

#include "bench/bench.h"

__attribute__((unused)) static bool holds(const struct reference *r, const struct tensor *want)
{
    size_t n = tensor_elements(want), parts = dtype_is_complex(want->dtype) ? 2 : 1;
    if (r->n != n * parts) return false;
    for (size_t i = 0; i < n; i++) {
        const void *element = (const char *)want->data + i * dtype_info(want->dtype)->bytes;
        if (r->integer && dtype_is_integral(want->dtype)) {
            int64_t integer;
            dtype_to_int64(&integer, element, want->dtype, 1);
            if (r->integer[i] != integer) return false;
            continue;
        }
        double x[2];
        dtype_to_double(x, element, want->dtype, 1);
        for (size_t k = 0; k < parts; k++) {
            double own = r->integer ? (double)r->integer[i] : r->hi[i * parts + k];
            if (own != x[k] && !(own != own && x[k] != x[k])) return false;
        }
    }
    return true;
}

#endif
