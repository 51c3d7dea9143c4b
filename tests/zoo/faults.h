/* The zoo's faults: one row each, used by the kernels (which misbehave when theirs is chosen), by
 * the driver (which calls to make) and by the report.
 *
 *     FAULT(NAME, call, dtypes, description)
 *
 * `call` is a row of the table in calls.c: which API is called, with which arguments. The dtypes
 * are those in which the fault shows.
 */
#ifndef ZOO_FAULTS_H
#define ZOO_FAULTS_H

enum { F32 = 1, F16 = 2, BF16 = 4, NARROW = F16 | BF16, ALL = F32 | F16 | BF16 };

#define FAULTS(FAULT)                                                                              \
    /* matrix products */                                                                          \
    FAULT(MATMUL_F16_SUM, "matmul", F16, "accumulates in float16")                                 \
    FAULT(MATMUL_BF16_SUM, "matmul", BF16, "accumulates in bfloat16")                              \
    FAULT(MATMUL_TF32, "matmul", F32, "inputs rounded to TF32 (11 bits)")                          \
    FAULT(MATMUL_BF16_INPUTS, "matmul", F32, "inputs rounded to bfloat16")                         \
    FAULT(MATMUL_DROPPED_TAIL, "matmul", ALL, "drops the tail of the inner dimension")             \
    FAULT(MATMUL_OFF_BY_ONE, "matmul", ALL, "last row read one element too far")                   \
    FAULT(MATMUL_TRANSPOSED_BLOCK, "matmul", ALL, "one 4 x 4 block of the result transposed")      \
    FAULT(MATMUL_UNWRITTEN_TAIL, "matmul", ALL, "tail columns of the result not written")          \
    FAULT(MATMUL_STALE_SUM, "matmul", ALL, "accumulator not reset between column blocks")          \
    FAULT(MATMUL_TRUNCATES, "matmul", NARROW, "result truncated instead of rounded")               \
    FAULT(MATMUL_SPLIT_K_F16, "matmul", F16, "partial sums of split K stored in float16")          \
    FAULT(MATMUL_GRAD_SCALE, "matmul_grad", ALL, "gradient of the second operand scaled by 2")     \
    FAULT(MATMUL_GRAD_NO_TRANSPOSE, "matmul_grad", ALL,                                            \
          "gradient of a square operand not transposed")                                           \
    FAULT(BMM_SWAPPED_BATCH, "bmm", ALL, "last two batches swapped")                               \
    FAULT(BMM_FIRST_BATCH, "bmm", ALL, "second operand of every batch is the first one's")         \
    FAULT(LINEAR_DOUBLE_BIAS, "linear", ALL, "bias added twice")                                   \
    FAULT(LINEAR_BIAS_SHIFTED, "linear", ALL, "bias of the neighbouring column")                   \
    FAULT(LINEAR_BIAS_TAIL, "linear", ALL, "bias missing in the last vector of columns")           \
    FAULT(LINEAR_GRAD_BIAS_ROW, "linear_grad", ALL, "bias gradient of the first row only")         \
    FAULT(ADDMM_BETA_IGNORED, "addmm", ALL, "beta ignored")                                        \
    /* convolution and pooling */                                                                  \
    FAULT(CONV_EDGE_PADDING, "conv2d", ALL, "padding repeats the edge instead of zeros")           \
    FAULT(CONV_DILATION_IGNORED, "conv2d_dilated", ALL, "dilation ignored along the width")        \
    FAULT(CONV_WRONG_GROUP, "conv2d_grouped", ALL, "channel offset of the group forgotten")        \
    FAULT(CONV_BF16_SUM, "conv2d", BF16, "partial sums of channels stored in bfloat16")            \
    FAULT(CONV_LAST_COLUMN, "conv2d", ALL, "last output column computed from the one before")      \
    FAULT(MAX_POOL_ZERO_PADDING, "max_pool2d", ALL, "padding counts as 0 instead of -infinity")    \
    FAULT(AVG_POOL_DIVISOR, "avg_pool2d", ALL, "padding not counted in the divisor")               \
    /* softmax */                                                                                  \
    FAULT(SOFTMAX_NO_MAX, "softmax_large", ALL, "maximum not subtracted")                          \
    FAULT(SOFTMAX_WRONG_AXIS, "softmax", ALL, "sum along the other axis")                          \
    FAULT(SOFTMAX_DROPPED_TAIL, "softmax", ALL, "tail of the row missing in the sum")              \
    FAULT(SOFTMAX_F16_SUM, "softmax", F16, "sum accumulated in float16")                           \
    FAULT(SOFTMAX_FAST_EXP, "softmax", F32, "exponential from a table of 10 bits")                 \
    FAULT(SOFTMAX_GRAD_NO_SUM, "softmax_grad", ALL, "gradient without the sum over the row")       \
    FAULT(LOG_SOFTMAX_OF_SOFTMAX, "log_softmax_large", ALL, "logarithm of the rounded softmax")    \
    /* normalisation */                                                                            \
    FAULT(LAYER_NORM_EPS, "layer_norm_small", ALL, "eps 1e-3 instead of 1e-5")                     \
    FAULT(LAYER_NORM_UNBIASED, "layer_norm", ALL, "variance divided by n - 1")                     \
    FAULT(LAYER_NORM_TWO_MOMENTS, "layer_norm_offset", F32, "variance as E[x^2] - E[x]^2")         \
    FAULT(LAYER_NORM_DOUBLE_BIAS, "layer_norm", ALL, "bias added twice")                           \
    FAULT(LAYER_NORM_WEIGHT_TAIL, "layer_norm", ALL, "weight missing in the tail")                 \
    FAULT(LAYER_NORM_F16_MEAN, "layer_norm_offset", F16, "mean rounded to float16")                \
    FAULT(LAYER_NORM_GRAD_NO_MEAN, "layer_norm_grad", ALL, "gradient without its mean subtracted") \
    FAULT(BATCH_NORM_EPS_OUTSIDE, "batch_norm", F32,                                               \
          "eps added to the root instead of the variance")                                         \
    FAULT(BATCH_NORM_NEXT_CHANNEL, "batch_norm", F32, "weight of the next channel")                \
    /* reductions */                                                                               \
    FAULT(SUM_F16, "sum", F16, "accumulates in float16")                                           \
    FAULT(SUM_BF16, "sum", BF16, "accumulates in bfloat16")                                        \
    FAULT(SUM_DROPPED_TAIL, "sum", ALL, "drops the tail of each row")                              \
    FAULT(SUM_STALE, "sum", ALL, "returns the result of the call before")                          \
    FAULT(MEAN_PADDED_COUNT, "mean", ALL, "divides by the padded count")                           \
    FAULT(VAR_BIASED, "var", F32, "divides by n instead of n - 1")                                 \
    FAULT(AMAX_FROM_ZERO, "amax_negative", ALL, "starts from 0")                                   \
    FAULT(AMAX_NAN_SWALLOWED, "amax_nan", ALL, "NaN ignored")                                      \
    FAULT(CUMSUM_EXCLUSIVE, "cumsum", ALL, "exclusive instead of inclusive")                       \
    FAULT(CUMSUM_F16, "cumsum", F16, "carry kept in float16")                                      \
    /* elementwise */                                                                              \
    FAULT(ADD_FLUSHES, "add_subnormal", F32, "flushes subnormal results to zero")                  \
    FAULT(ADD_BROADCAST, "add", ALL, "broadcast operand read with a wrong stride")                 \
    FAULT(MUL_TRUNCATES, "mul", NARROW, "result truncated instead of rounded")                     \
    FAULT(MUL_SATURATES, "mul_large", F16, "overflow saturates instead of giving infinity")        \
    FAULT(DIV_ZERO_SIGN_LOST, "div_subnormal", F32, "negative subnormal divisor flushed to +0")    \
    FAULT(DIV_RECIPROCAL, "div", F32, "multiplies by a 12-bit reciprocal")                         \
    FAULT(MAXIMUM_NAN_SWALLOWED, "maximum_nan", ALL, "NaN ignored")                                \
    FAULT(RELU_NAN_SWALLOWED, "relu_nan", ALL, "NaN becomes 0")                                    \
    FAULT(RELU_GRAD_OF_COTANGENT, "relu_grad", ALL, "gradient masked by the cotangent's sign")     \
    FAULT(LEAKY_RELU_SLOPE, "leaky_relu", ALL, "slope 0.1 instead of 0.01")                        \
    FAULT(SIGMOID_CLAMPED, "sigmoid", F32, "argument clamped to [-8, 8]")                          \
    FAULT(TANH_RATIONAL, "tanh", F32, "low-degree rational approximation")                         \
    FAULT(GELU_TANH, "gelu", F32, "tanh approximation instead of erf")                             \
    FAULT(GELU_GRAD_NO_DENSITY, "gelu_grad", ALL, "gradient without the density term")             \
    FAULT(SILU_F16_SIGMOID, "silu", F16, "sigmoid rounded to float16 before the product")          \
    FAULT(EXP_10_BITS, "exp", F32, "table of 10 bits")                                             \
    FAULT(RSQRT_ONE_STEP, "rsqrt", F32, "one Newton step from a bit trick")                        \
    FAULT(SQRT_12_BITS, "sqrt", F32, "12-bit estimate without refinement")                         \
    FAULT(POW_OF_LOG, "pow", F32, "exp(y log x) in float32")                                       \
    FAULT(FLOOR_TRUNCATES, "floor", ALL, "truncates negative numbers")                             \
    /* movement and indices */                                                                     \
    FAULT(TRANSPOSE_BLOCK, "transpose", ALL, "last 8 x 8 tile copied without transposing")         \
    FAULT(CAT_OFF_BY_ONE, "cat", ALL, "second tensor placed one element early")                    \
    FAULT(WHERE_TAIL, "where", ALL, "condition inverted in the tail")                              \
    FAULT(MASKED_FILL_STRIDE, "masked_fill", ALL, "mask read with the stride of the row")          \
    FAULT(EMBEDDING_NEXT_ROW, "embedding", ALL, "last index reads the next row")                   \
    FAULT(EMBEDDING_GRAD_OVERWRITES, "embedding_grad", ALL,                                        \
          "repeated indices overwrite instead of add")                                             \
    /* losses */                                                                                   \
    FAULT(CROSS_ENTROPY_IGNORE, "cross_entropy", F32, "ignore_index not honoured")                 \
    FAULT(CROSS_ENTROPY_DIVISOR, "cross_entropy", F32, "ignored targets counted in the mean")      \
    FAULT(MSE_SUM, "mse_loss", ALL, "sum instead of mean")                                         \
    FAULT(MSE_GRAD_NO_TWO, "mse_loss_grad", ALL, "gradient without the factor 2")                  \
    /* fused operators of the NPU */                                                               \
    FAULT(RMS_NORM_EPS, "rms_norm_small", ALL, "eps 1e-3 instead of 1e-6")                         \
    FAULT(RMS_NORM_CENTERED, "rms_norm", ALL, "mean subtracted first")                             \
    FAULT(RMS_NORM_DROPPED_TAIL, "rms_norm", ALL, "tail of the row missing in the squares")        \
    FAULT(RMS_NORM_GAMMA_TAIL, "rms_norm", ALL, "gamma missing in the tail")                       \
    FAULT(SWIGLU_HALVES, "swiglu", ALL, "the other half goes through the sigmoid")                 \
    FAULT(SWIGLU_TAIL, "swiglu", ALL, "tail not multiplied by its gate")                           \
    FAULT(SWIGLU_FAST_EXP, "swiglu", F32, "exponential from a table of 10 bits")                   \
    FAULT(ROTARY_SIGN, "rotary", ALL, "first half not negated when it is turned")                  \
    FAULT(ROTARY_INTERLEAVED, "rotary", ALL, "pairs turned instead of halves")                     \
    FAULT(ROTARY_NEXT_POSITION, "rotary", ALL, "angles of the next position")

#endif
