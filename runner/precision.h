/* Which dtype the bench column of a row names.
 *
 * Our reference is computed in double or better whatever the inputs are. The details file,
 * however, follows a convention that its readers depend on: the bench is said to run one dtype
 * above the device (float16 and bfloat16 in float32, float32 in float64, a mixture in float32),
 * and that nominal dtype sets the machine epsilon of the relative errors and the format of the
 * cells.
 */
#ifndef PROBE_RUNNER_PRECISION_H
#define PROBE_RUNNER_PRECISION_H

#include "core/case.h"

struct bench_precision {
    enum dtype raised;      /* floats of 32 bits or fewer become this; DT_NONE: nothing is cast */
    enum dtype first_float; /* dtype of the first floating tensor argument, or DT_NONE */
    bool explicit_dtype;    /* the call itself names the dtype of its result */
};

/* The nominal precision of a call, from the recorded dtypes of its arguments. */
struct bench_precision precision_of_case(const struct api_case *c);

/* The nominal bench dtype of an output or gradient that the device returns as `device`. */
enum dtype precision_forward(const struct bench_precision *precision, enum dtype device);
enum dtype precision_backward(const struct bench_precision *precision, enum dtype device);

#endif
