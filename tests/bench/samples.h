/* API calls to test with: every golden, and the calls written out in tests/data/calls.
 *
 * A line of a calls file is one call in a small notation:
 *
 *     Functional.conv2d(f32(1,4,5,5), f32(6,2,3,3), stride=[2,1], groups=2)  # remark
 *
 * A tensor is a dtype (f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool c64 c128 f8e4m3 f8e5m2), its shape in
 * parentheses and, in brackets, its elements (f32(3)[1 2 3]) or their range (f32(3)[0..1]);
 * without brackets floats are normal deviates and integers lie in -5..5. A tensor followed by
 * an apostrophe takes no gradient. Other values are written as in Python: 2, 0.5, inf, True,
 * None, "sum", [1, 2], (1, 2), {..}, slice(0,None,2), ..., torch.float64. An empty line or one that
 * starts with # is skipped. Random elements depend on the text of the line alone.
 */
#ifndef PROBE_TESTS_BENCH_SAMPLES_H
#define PROBE_TESTS_BENCH_SAMPLES_H

#include <stdbool.h>

#include "bench/bench.h"
#include "core/case.h"

struct sample {
    struct api_case c;  /* cotangents are set for goldens with a gradient */
    const char *remark; /* of a calls file, "" without */
    bool golden;
    char place[160]; /* "goldens_unary: Torch.abs.0", "calls/loss.txt:12" */
};

/* A deterministic stream of numbers. */
struct numbers {
    uint64_t state;
};
uint64_t numbers_next(struct numbers *numbers);
double numbers_uniform(struct numbers *numbers); /* in [0, 1), 53 bits */
double numbers_normal(struct numbers *numbers);

/* Visit the goldens, then the written calls, whose API contains `filter` (NULL: all). What the
 * sample points to is gone after the visit. Returns the number visited. */
typedef void sample_visitor(void *context, struct sample *sample, struct arena *arena);
size_t samples_each_golden(const char *filter, sample_visitor *visit, void *context);
size_t samples_each_call(const char *filter, sample_visitor *visit, void *context);
size_t samples_each(const char *filter, sample_visitor *visit, void *context);

/* Parse one call; NULL on success, otherwise what is wrong. */
const char *sample_parse(struct sample *sample, const char *line, struct arena *arena);

/* Cotangents for the differentiable outputs of a bench: small random numbers in the outputs'
 * dtypes. */
void sample_cotangents(struct value *cotangents, struct bench *bench, struct arena *arena,
                       struct numbers *numbers);

#endif
