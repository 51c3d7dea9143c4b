/* Modes of kernels that are less exact than their dtype, and legitimate where a user says so: factors of products in
 * a shorter format, roundings between the steps, subnormals flushed, fast library functions. Which are allowed is a
 * value of this type; bench/allowed_model.h derives what a kernel may then return. */
#ifndef PROBE_CORE_KERNEL_MODES_H
#define PROBE_CORE_KERNEL_MODES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

enum kernel_mode {
    KERNEL_TF32,      /* float32 factors of products have 10 fraction bits */
    KERNEL_HF32,      /* ... 11 fraction bits */
    KERNEL_BF16X2,    /* ... are sums of two bfloat16; the product of the lower parts is left out */
    KERNEL_STAGED,    /* 16- and 8-bit results are rounded after every step */
    KERNEL_FTZ,       /* float32 inputs and results below 2^-126 may be 0 */
    KERNEL_FAST_MATH, /* library functions are good to as many ulp as stated */
    KERNEL_MODE_COUNT
};

enum { FAST_FUNCTIONS_MAX = 16, FAST_FUNCTION_BYTES = 32, KERNEL_MODES_BYTES = 256 };

struct fast_function {
    char name[FAST_FUNCTION_BYTES]; /* "exp" */
    double ulps;
};

/* All zeros: none. */
struct kernel_modes {
    bool allowed[KERNEL_MODE_COUNT];
    struct fast_function functions[FAST_FUNCTIONS_MAX]; /* of KERNEL_FAST_MATH */
    size_t function_count;
};

/* "tf32", "hf32", "bf16x2", "staged", "ftz", "fast-math". */
const char *kernel_mode_name(enum kernel_mode mode);

/* Add the modes of a list: "tf32", "hf32,ftz,fast-math:exp=8". STATUS_BAD_ARGUMENT says what is wrong with it. */
struct status kernel_modes_read(struct kernel_modes *modes, const char *list);

/* Add those of `more`; of a function that both have the larger error counts. */
struct status kernel_modes_add(struct kernel_modes *modes, const struct kernel_modes *more);

/* How many are allowed; fast functions count once. */
size_t kernel_modes_count(const struct kernel_modes *modes);

/* `modes` without all but one. */
struct kernel_modes kernel_modes_only(const struct kernel_modes *modes, enum kernel_mode mode);

/* The same as kernel_modes_read takes it; cut off where it does not fit. */
void kernel_modes_text(char out[KERNEL_MODES_BYTES], const struct kernel_modes *modes);

/* The error in ulp that a library function may have, `usual` where nothing else is allowed. */
double kernel_modes_ulps(const struct kernel_modes *modes, const char *function, double usual);

#endif
