/* Names of standards and limits, as they stand in files and messages. */
#include "standards/profile_parts.h"

/* clang-format off */
const char *const profile_standard_names[STANDARD_COUNT + 1] = {
    [STANDARD_NONE] = "", [STANDARD_ABSOLUTE] = "absolute",
    [STANDARD_BENCHMARK] = "benchmark", [STANDARD_BINARY] = "binary", [STANDARD_ULP] = "ulp",
    [STANDARD_THOUSANDTH] = "thousandth", [STANDARD_ACCUMULATIVE] = "accumulative",
    [STANDARD_ERROR_MODEL] = "error model",
};
/* clang-format on */

const char *const profile_limit_names[LIMIT_COUNT + 1] = {
    [LIMIT_COSINE] = "cosine",
    [LIMIT_MAX_ABS_ERROR] = "max_abs_error",
    [LIMIT_HUNDREDTH] = "hundredth",
    [LIMIT_THOUSANDTH] = "thousandth",
    [LIMIT_TEN_THOUSANDTH] = "ten_thousandth",
    [LIMIT_SMALL_VALUE] = "small_value",
    [LIMIT_ABSOLUTE_SMALL_VALUE_ATOL] = "absolute_small_value_atol",
    [LIMIT_BENCHMARK_SMALL_VALUE_ATOL] = "benchmark_small_value_atol",
    [LIMIT_RELATIVE_TOLERANCE] = "relative_tolerance",
    [LIMIT_ACCUMULATIVE_SMALL_VALUE] = "accumulative_small_value",
    [LIMIT_ACCUMULATIVE_BOUND] = "accumulative_bound",
    [LIMIT_ULP_COUNTED] = "ulp_counted",
    [LIMIT_FLOAT8_PROPORTION] = "float8_proportion",
    [LIMIT_INTEGER_MAX_ABS_ERROR] = "integer_max_abs_error",
    [LIMIT_MODEL_WORST] = "model_worst",
    [LIMIT_MODEL_RMS] = "model_rms",
    [LIMIT_MODEL_BIAS] = "model_bias",
    [LIMIT_MODEL_LARGEST] = "model_largest",
    [LIMIT_MODEL_EQUAL] = "model_equal",
    [LIMIT_MODEL_BITS] = "model_bits",
    [LIMIT_MODEL_OUTLIER] = "model_outlier",
    [LIMIT_MODEL_FLIPS] = "model_flips",
    [LIMIT_MODEL_NATS] = "model_nats",
    [LIMIT_MODEL_SIGNATURE] = "model_signature",
    [LIMIT_MODEL_LINE] = "model_line",
    [LIMIT_MODEL_STAGED] = "model_staged",
    [LIMIT_MODEL_FALLBACK_ULP] = "model_fallback_ulp",
    [LIMIT_MODEL_FALLBACK_SCALE] = "model_fallback_scale",
};

const char *standard_name(enum standard standard) { return profile_standard_names[standard]; }

const char *limit_name(enum limit limit) { return profile_limit_names[limit]; }
