/* Calls that a device under test answers, and what its answers must be. */
#ifndef PROBE_TESTS_SUPPORT_DEVICE_CALLS_H
#define PROBE_TESTS_SUPPORT_DEVICE_CALLS_H

#include <check.h>
#include <math.h>

#include "runner/devices/device.h"
#include "support/cases.h"

/* The rank and extents of a shape, as arguments: SHAPE(2, 3). */
#define SHAPE(...) \
    (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

/* Forward, and backward where the call has one; both must succeed. */
static inline struct device_result run_on(struct device *device, struct arena *arena,
                                          const struct api_case *c)
{
    struct device_result r;
    struct status status = device->class->run(device, &r, arena, c, c->has_backward);
    ck_assert_msg(!status.code, "%s: %s", c->full_name, status.text);
    if (c->has_backward) ck_assert_msg(!r.backward.code, "%s", r.backward.text);
    return r;
}

/* `got` has these n elements, within an absolute tolerance. */
static inline void check_elements_of(struct arena *arena, const struct value *got,
                                     const double *want, size_t n, double tolerance)
{
    ck_assert_int_eq(got->kind, VALUE_TENSOR);
    ck_assert_uint_eq(tensor_elements(got->tensor.tensor), n);
    const double *x = doubles_of(arena, got);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs(x[i] - want[i]) <= tolerance, "element %zu: %.9g, not %.9g", i, x[i],
                      want[i]);
}

#endif
