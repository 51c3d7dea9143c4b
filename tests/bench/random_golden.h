/* What is asked of calls drawn at random (tests/long/against_torch), where PyTorch's float64 is not always an oracle. */
#ifndef PROBE_TESTS_BENCH_RANDOM_GOLDEN_H
#define PROBE_TESTS_BENCH_RANDOM_GOLDEN_H

#include "bench/bench.h"
#include "bench/golden.h"

/* Integers that a kernel may set as it likes: info of a matrix that is as good as singular, notes to itself; and of a call that draws what
 * it shows of its draws. */
bool random_output_is_open(const struct bench_output *have, const struct tensor *want, bool draws);

/* What functions make of infinities and NaN, and of poles, is a convention of each kernel, and PyTorch's vectorised and scalar code
 * differ. Where there is one among arguments or results, mark results and gradients `open`; gradients of NaN are not compared at
 * all. Returns whether there is one. */
bool random_golden_open(struct golden *golden);

/* Does this reason of a SKIP say that the result hangs on roundings, or that there is none? */
bool random_result_is_undetermined(const char *reason);

/* Random calls are anything: determinants next to 0, rows that are constant, poles. There float64 and float32 are as far off as
 * their arithmetic is, and neither is an oracle: results have to lie within the model of a legitimate kernel of their dtype, as
 * `strict` has it. Shapes, dtypes and integers are not excused. `outputs`, `gradients`: lists of tensors as bench_settle takes them;
 * gradients NONE without any. `open`: kinds of numbers may differ. */
bool rounding_explains(const struct api_case *c, const struct value *outputs,
                       const struct value *gradients, bool open, struct arena *arena);

/* The same for PyTorch's results in float64. Widens the arguments. */
bool double_rounding_explains(struct golden *golden, bool open, struct arena *arena);

#endif
