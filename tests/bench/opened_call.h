/* Calls in the notation of samples.h, opened, and what tests of written-out definitions ask of them. What goes wrong ends the test. */
#ifndef PROBE_TESTS_BENCH_OPENED_CALL_H
#define PROBE_TESTS_BENCH_OPENED_CALL_H

#include <check.h>
#include <math.h>

#include "bench/bench.h"
#include "bench/samples.h"

static inline struct bench *opened_in(struct sample *sample, const char *call, struct arena *arena,
                                      enum bench_arithmetic arithmetic)
{
    struct bench *bench;
    ck_assert_ptr_null(sample_parse(sample, call, arena));
    struct status st = bench_open(&bench, &sample->c, arena, arithmetic);
    ck_assert_msg(!st.code, "%s: %s", call, st.text);
    return bench;
}

/* The reference of a call. */
static inline struct bench *opened(struct sample *sample, const char *call, struct arena *arena)
{
    return opened_in(sample, call, arena, BENCH_REFERENCE);
}

/* Elements of a tensor as numbers. */
static inline double *numbers_of(const struct value *value, struct arena *arena)
{
    const struct tensor *t = value->tensor.tensor;
    double *x = arena_allocate(arena, tensor_elements(t) * sizeof *x);
    dtype_to_double(x, t->data, t->dtype, tensor_elements(t));
    return x;
}

/* Argument k of a call as numbers. */
static inline double *argument(const struct sample *sample, size_t k, struct arena *arena)
{
    return numbers_of(&sample->c.args.list.items[k], arena);
}

/* Does element i lie within its bound of what the definition says? */
static inline void check_element(const struct reference *r, size_t i, long double want)
{
    double off = fabs((double)(r->hi[i] - want));
    ck_assert_msg(off <= reference_bound(r, i) + 1e-14 * fabs((double)want),
                  "element %zu: %.17g, %.17Lg", i, r->hi[i], want);
}

#endif
