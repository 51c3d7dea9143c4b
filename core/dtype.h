/* Element types, one row each, and conversion between them.
 *
 * Floating types are IEEE-754 binary formats or the OCP 8-bit formats; the table gives their
 * significand (with the hidden bit), exponent range and largest finite value. Conversions
 * round to nearest, ties to even, in one step from the source value.
 */
#ifndef PROBE_CORE_DTYPE_H
#define PROBE_CORE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype {
    DT_NONE, /* no dtype given */
    DT_F64,
    DT_F32,
    DT_F16,
    DT_BF16,
    DT_F8E4M3,
    DT_F8E5M2,
    DT_I64,
    DT_I32,
    DT_I16,
    DT_I8,
    DT_U8,
    DT_BOOL,
    DT_C128,
    DT_C64,
    DT_COUNT
};

enum dtype_kind { KIND_NONE, KIND_BOOL, KIND_INTEGER, KIND_FLOAT, KIND_COMPLEX };

struct dtype_info {
    const char *name; /* "torch.float32" */
    size_t bytes;
    enum dtype_kind kind;
    int significand_bits; /* with the hidden bit; of one component for complex; 0 otherwise */
    int exponent_min;     /* of the smallest normal number, as 2^exponent_min * 1.x */
    int exponent_max;
    double largest; /* largest finite value; largest integer for integers */
    double lowest;  /* most negative finite value */
};

/* The row of a dtype. `dtype` must be one of the enumeration. */
const struct dtype_info *dtype_info(enum dtype dtype);

/* Its name without "torch.": "float16". */
const char *dtype_short_name(enum dtype dtype);

/* The dtype of a spelling of PyTorch, numpy or MindSpore ("torch.float16", "torch.half", "float32",
 * "Float32", "mindspore.float32", ...) or DT_NONE. */
enum dtype dtype_from_name(const char *name);

static inline bool dtype_is_float(enum dtype d) { return dtype_info(d)->kind == KIND_FLOAT; }
static inline bool dtype_is_complex(enum dtype d) { return dtype_info(d)->kind == KIND_COMPLEX; }
/* The dtype of the parts of a complex dtype; a real one is its own. */
static inline enum dtype dtype_component(enum dtype d)
{
    return d == DT_C128 ? DT_F64 : d == DT_C64 ? DT_F32 : d;
}
static inline bool dtype_is_integral(enum dtype d) /* integers and bool */
{
    return dtype_info(d)->kind == KIND_INTEGER || dtype_info(d)->kind == KIND_BOOL;
}

/* Elements of `dtype` as doubles. Exact for every type but int64 beyond 2^53 (rounded).
 * A complex element gives two doubles, real part first: `out` holds 2 * n then. */
void dtype_to_double(double *out, const void *in, enum dtype dtype, size_t n);

/* Elements of `dtype` as floats, each rounded once (exact for float32 and narrower). */
void dtype_to_float(float *out, const void *in, enum dtype dtype, size_t n);

/* Elements of an integer or bool dtype as int64, exact; floats are truncated toward zero and
 * saturate, NaN gives 0. */
void dtype_to_int64(int64_t *out, const void *in, enum dtype dtype, size_t n);

/* Doubles rounded once to `dtype`. Floats overflow to infinity (float8_e4m3: NaN), integers
 * truncate toward zero and saturate, bool is (x != 0). Complex takes pairs. */
void dtype_from_double(void *out, enum dtype dtype, const double *in, size_t n);
void dtype_from_float(void *out, enum dtype dtype, const float *in, size_t n);

/* int64 values into `dtype`, rounded once; narrower integers wrap as C conversions do. */
void dtype_from_int64(void *out, enum dtype dtype, const int64_t *in, size_t n);

/* The spacing of floating type `dtype` at |x|, in Muller's sense: 2^(max(e, exponent_min) -
 * significand_bits + 1) with e the binary exponent of x; 0 uses exponent_min. NaN and
 * infinities give NaN. */
double dtype_ulp(enum dtype dtype, double x);

#endif
