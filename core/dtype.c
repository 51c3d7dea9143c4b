/* The table of element types and the conversions. Between 16- and 8-bit formats and double they work
 * on bits, rounding to nearest even in one step; loops over arrays are written so that compilers
 * vectorize them. */
#include "core/dtype.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/vectorize.h"

/* clang-format off */
static const struct dtype_info dtypes[DT_COUNT] = {
    /*               name                     bytes  kind          sig  emin  emax  largest, lowest */
    [DT_NONE]   = { "none",                     0, KIND_NONE,      0,     0,    0, 0, 0 },
    [DT_F64]    = { "torch.float64",            8, KIND_FLOAT,    53, -1022, 1023, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023 },
    [DT_F32]    = { "torch.float32",            4, KIND_FLOAT,    24,  -126,  127, 0x1.fffffep127, -0x1.fffffep127 },
    [DT_F16]    = { "torch.float16",            2, KIND_FLOAT,    11,   -14,   15, 65504.0, -65504.0 },
    [DT_BF16]   = { "torch.bfloat16",           2, KIND_FLOAT,     8,  -126,  127, 0x1.fep127, -0x1.fep127 },
    [DT_F8E4M3] = { "torch.float8_e4m3fn",      1, KIND_FLOAT,     4,    -6,    8, 448.0, -448.0 },
    [DT_F8E5M2] = { "torch.float8_e5m2",        1, KIND_FLOAT,     3,   -14,   15, 57344.0, -57344.0 },
    [DT_I64]    = { "torch.int64",              8, KIND_INTEGER,   0,     0,    0, 0x1p63, -0x1p63 },
    [DT_I32]    = { "torch.int32",              4, KIND_INTEGER,   0,     0,    0, 2147483647.0, -2147483648.0 },
    [DT_I16]    = { "torch.int16",              2, KIND_INTEGER,   0,     0,    0, 32767.0, -32768.0 },
    [DT_I8]     = { "torch.int8",               1, KIND_INTEGER,   0,     0,    0, 127.0, -128.0 },
    [DT_U8]     = { "torch.uint8",              1, KIND_INTEGER,   0,     0,    0, 255.0, 0.0 },
    [DT_BOOL]   = { "torch.bool",               1, KIND_BOOL,      0,     0,    0, 1.0, 0.0 },
    [DT_C128]   = { "torch.complex128",        16, KIND_COMPLEX,  53, -1022, 1023, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023 },
    [DT_C64]    = { "torch.complex64",          8, KIND_COMPLEX,  24,  -126,  127, 0x1.fffffep127, -0x1.fffffep127 },
};
/* clang-format on */

static const struct {
    const char *alias;
    enum dtype dtype;
    /* clang-format off */
} aliases[] = {
    { "float", DT_F32 },       { "double", DT_F64 },         { "half", DT_F16 },
    { "int", DT_I32 },         { "long", DT_I64 },           { "short", DT_I16 },
    { "cfloat", DT_C64 },      { "cdouble", DT_C128 },       { "bool_", DT_BOOL },
    { "float8_e4m3", DT_F8E4M3 },
    /* as MindSpore spells them; its Int4 is stored in bytes */
    { "Float64", DT_F64 },     { "Float32", DT_F32 },        { "Float16", DT_F16 },
    { "BFloat16", DT_BF16 },   { "Int64", DT_I64 },          { "Int32", DT_I32 },
    { "Int16", DT_I16 },       { "Int8", DT_I8 },            { "Int4", DT_I8 },
    { "UInt8", DT_U8 },        { "Bool", DT_BOOL },          { "Complex128", DT_C128 },
    { "Complex64", DT_C64 },   { "Float8E4M3FN", DT_F8E4M3 }, { "Float8E5M2", DT_F8E5M2 },
};
/* clang-format on */

const struct dtype_info *dtype_info(enum dtype dtype)
{
    assert((unsigned)dtype < DT_COUNT);
    return &dtypes[dtype];
}

const char *dtype_short_name(enum dtype dtype)
{
    const char *name = dtype_info(dtype)->name;
    return strncmp(name, "torch.", 6) ? name : name + 6;
}

enum dtype dtype_from_name(const char *name)
{
    if (!strncmp(name, "torch.", 6)) name += 6;
    else if (!strncmp(name, "numpy.", 6)) name += 6;
    else if (!strncmp(name, "mindspore.", 10)) name += 10;
    for (int i = DT_F64; i < DT_COUNT; i++)
        if (!strcmp(name, dtypes[i].name + 6)) return (enum dtype)i;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(name, aliases[i].alias)) return aliases[i].dtype;
    return DT_NONE;
}

/* ---- 16- and 8-bit formats -------------------------------------------------------------- */

static float float_from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_from_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint64_t bits_from_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float bf16_decode(uint16_t h) { return float_from_bits((uint32_t)h << 16); }

static float f16_decode(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = (h >> 10) & 0x1f, fraction = h & 0x3ff;

    if (exponent == 31) return float_from_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent) return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = (float)fraction * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}

static float f8e5m2_decode(uint8_t b)
{
    return f16_decode((uint16_t)(b << 8)); /* the same format with eight fraction bits fewer */
}

static float f8e4m3_decode(uint8_t b)
{
    uint32_t sign = (uint32_t)(b & 0x80) << 24;
    uint32_t exponent = (b >> 3) & 0xf, fraction = b & 7;

    if (exponent == 15 && fraction == 7) return float_from_bits(sign | 0x7fc00000);
    if (exponent) return float_from_bits(sign | (exponent + 120) << 23 | fraction << 20);
    float magnitude = (float)fraction * 0x1p-9f;
    return sign ? -magnitude : magnitude;
}

/* Round a double to a small format given by its row: the code of the magnitude as an integer
 * with `significand_bits - 1` fraction bits below the biased exponent. Rounding happens once,
 * straight from the double. Values beyond the largest finite one give `overflow_code`. */
static uint32_t small_encode(double x, const struct dtype_info *info, uint32_t overflow_code)
{
    const int fraction_bits = info->significand_bits - 1;
    double magnitude = fabs(x);

    if (magnitude == 0) return 0;
    int exponent = (int)((bits_from_double(magnitude) >> 52) & 0x7ff) - 1023;
    if (exponent < info->exponent_min) exponent = info->exponent_min;
    if (exponent > info->exponent_max) return overflow_code;
    /* In units of the last place; below 2^(fraction_bits + 1), so exact but for rint. */
    double units = rint(ldexp(magnitude, fraction_bits - exponent));
    uint32_t code = (uint32_t)units;
    code += (uint32_t)(exponent - info->exponent_min) << fraction_bits;
    /* A carry out of the significand moves into the exponent field by itself. */
    return code >= overflow_code ? overflow_code : code;
}

static uint16_t f16_encode(double x)
{
    uint16_t sign = (uint16_t)((bits_from_double(x) >> 48) & 0x8000);
    if (isnan(x)) return (uint16_t)(sign | 0x7e00);
    if (isinf(x)) return (uint16_t)(sign | 0x7c00);
    return (uint16_t)(sign | small_encode(x, &dtypes[DT_F16], 0x7c00));
}

static uint16_t bf16_encode(double x)
{
    uint16_t sign = (uint16_t)((bits_from_double(x) >> 48) & 0x8000);
    if (isnan(x)) return (uint16_t)(sign | 0x7fc0);
    if (isinf(x)) return (uint16_t)(sign | 0x7f80);
    return (uint16_t)(sign | small_encode(x, &dtypes[DT_BF16], 0x7f80));
}

static uint8_t f8e5m2_encode(double x)
{
    uint8_t sign = signbit(x) ? 0x80 : 0;
    if (isnan(x)) return sign | 0x7e;
    if (isinf(x)) return sign | 0x7c;
    return (uint8_t)(sign | small_encode(x, &dtypes[DT_F8E5M2], 0x7c));
}

static uint8_t f8e4m3_encode(double x)
{
    uint8_t sign = signbit(x) ? 0x80 : 0;
    if (isnan(x) || isinf(x)) return sign | 0x7f;
    return (uint8_t)(sign | small_encode(x, &dtypes[DT_F8E4M3], 0x7f));
}

/* Fast exact rounding of floats, which is where outputs of kernels come from. */
static uint16_t bf16_encode_float(float f)
{
    uint32_t bits = bits_from_float(f);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- arrays ----------------------------------------------------------------------------- */

#define EACH(statement)                  \
    do {                                 \
        for (size_t i = 0; i < n; i++) { \
            statement;                   \
        }                                \
    } while (0)

/* One reader for double and float: REAL is the type written. */
#define DEFINE_READER(NAME, REAL)                                                            \
    VECTORIZED void NAME(REAL *out, const void *in, enum dtype dtype, size_t n)              \
    {                                                                                        \
        switch (dtype) {                                                                     \
        case DT_C128: n *= 2; /* fall through */                                             \
        case DT_F64: EACH(out[i] = (REAL)((const double *)in)[i]); break;                    \
        case DT_C64: n *= 2; /* fall through */                                              \
        case DT_F32: EACH(out[i] = (REAL)((const float *)in)[i]); break;                     \
        case DT_F16: EACH(out[i] = (REAL)f16_decode(((const uint16_t *)in)[i])); break;      \
        case DT_BF16: EACH(out[i] = (REAL)bf16_decode(((const uint16_t *)in)[i])); break;    \
        case DT_F8E4M3: EACH(out[i] = (REAL)f8e4m3_decode(((const uint8_t *)in)[i])); break; \
        case DT_F8E5M2: EACH(out[i] = (REAL)f8e5m2_decode(((const uint8_t *)in)[i])); break; \
        case DT_I64: EACH(out[i] = (REAL)((const int64_t *)in)[i]); break;                   \
        case DT_I32: EACH(out[i] = (REAL)((const int32_t *)in)[i]); break;                   \
        case DT_I16: EACH(out[i] = (REAL)((const int16_t *)in)[i]); break;                   \
        case DT_I8: EACH(out[i] = (REAL)((const int8_t *)in)[i]); break;                     \
        case DT_U8: EACH(out[i] = (REAL)((const uint8_t *)in)[i]); break;                    \
        case DT_BOOL: EACH(out[i] = ((const uint8_t *)in)[i] ? 1 : 0); break;                \
        case DT_NONE:                                                                        \
        case DT_COUNT: assert(0 && "a dtype"); break;                                        \
        }                                                                                    \
    }

DEFINE_READER(dtype_to_double, double)
DEFINE_READER(dtype_to_float, float)

static int64_t saturate_int64(double x)
{
    if (isnan(x)) return 0;
    if (x >= 0x1p63) return INT64_MAX;
    if (x < -0x1p63) return INT64_MIN;
    return (int64_t)x;
}

void dtype_to_int64(int64_t *out, const void *in, enum dtype dtype, size_t n)
{
    switch (dtype) {
    case DT_I64: memcpy(out, in, n * sizeof *out); break;
    case DT_I32: EACH(out[i] = ((const int32_t *)in)[i]); break;
    case DT_I16: EACH(out[i] = ((const int16_t *)in)[i]); break;
    /* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c): numbers, not characters */
    case DT_I8: EACH(out[i] = ((const int8_t *)in)[i]); break;
    case DT_U8: EACH(out[i] = ((const uint8_t *)in)[i]); break;
    case DT_BOOL: EACH(out[i] = ((const uint8_t *)in)[i] ? 1 : 0); break;
    default:
        for (size_t i = 0; i < n; i++) {
            double pair[2];
            dtype_to_double(pair, (const unsigned char *)in + i * dtypes[dtype].bytes, dtype, 1);
            out[i] = saturate_int64(pair[0]);
        }
    }
}

/* A double into an integer type with the given bounds: toward zero, saturating. */
static int64_t clamp_integer(double x, const struct dtype_info *info)
{
    if (isnan(x)) return 0;
    if (x >= info->largest) return info->bytes == 8 ? INT64_MAX : (int64_t)info->largest;
    if (x <= info->lowest) return (int64_t)info->lowest;
    return (int64_t)x;
}

#define DEFINE_WRITER(NAME, REAL, BF16)                                                           \
    VECTORIZED void NAME(void *out, enum dtype dtype, const REAL *in, size_t n)                   \
    {                                                                                             \
        const struct dtype_info *info = &dtypes[dtype];                                           \
        switch (dtype) {                                                                          \
        case DT_C128: n *= 2; /* fall through */                                                  \
        case DT_F64: EACH(((double *)out)[i] = (double)in[i]); break;                             \
        case DT_C64: n *= 2; /* fall through */                                                   \
        case DT_F32: EACH(((float *)out)[i] = (float)in[i]); break;                               \
        case DT_F16: EACH(((uint16_t *)out)[i] = f16_encode((double)in[i])); break;               \
        case DT_BF16: EACH(((uint16_t *)out)[i] = BF16(in[i])); break;                            \
        case DT_F8E4M3: EACH(((uint8_t *)out)[i] = f8e4m3_encode((double)in[i])); break;          \
        case DT_F8E5M2: EACH(((uint8_t *)out)[i] = f8e5m2_encode((double)in[i])); break;          \
        case DT_I64: EACH(((int64_t *)out)[i] = clamp_integer((double)in[i], info)); break;       \
        case DT_I32: EACH(((int32_t *)out)[i] = (int32_t)clamp_integer((double)in[i], info));     \
            break;                                                                                \
        case DT_I16: EACH(((int16_t *)out)[i] = (int16_t)clamp_integer((double)in[i], info));     \
            break;                                                                                \
        case DT_I8: EACH(((int8_t *)out)[i] = (int8_t)clamp_integer((double)in[i], info)); break; \
        case DT_U8: EACH(((uint8_t *)out)[i] = (uint8_t)clamp_integer((double)in[i], info));      \
            break;                                                                                \
        case DT_BOOL: EACH(((uint8_t *)out)[i] = in[i] != 0); break;                              \
        case DT_NONE:                                                                             \
        case DT_COUNT: assert(0 && "a dtype"); break;                                             \
        }                                                                                         \
    }

DEFINE_WRITER(dtype_from_double, double, bf16_encode)
DEFINE_WRITER(dtype_from_float, float, bf16_encode_float)

/* A double from which every narrower format rounds as it would from the integer itself: what does not
 * fit is rounded to odd, which is innocuous when the target has two bits less at least (Boldo and
 * Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd",
 * 2008). Rounding to nearest twice would turn just above a tie into a tie. */
static double odd_double(int64_t x)
{
    uint64_t magnitude = x < 0 ? -(uint64_t)x : (uint64_t)x;
    int shift = 0;
    for (; magnitude >> 53; shift++) magnitude = magnitude >> 1 | (magnitude & 1);
    double rounded = ldexp((double)magnitude, shift);
    return x < 0 ? -rounded : rounded;
}

void dtype_from_int64(void *out, enum dtype dtype, const int64_t *in, size_t n)
{
    switch (dtype) {
    case DT_I64: memcpy(out, in, n * sizeof *in); break;
    case DT_I32: EACH(((uint32_t *)out)[i] = (uint32_t)in[i]); break;
    case DT_I16: EACH(((uint16_t *)out)[i] = (uint16_t)in[i]); break;
    case DT_I8:
    case DT_U8: EACH(((uint8_t *)out)[i] = (uint8_t)in[i]); break;
    case DT_BOOL: EACH(((uint8_t *)out)[i] = in[i] != 0); break;
    default:
        for (size_t i = 0; i < n; i++) {
            bool wide = dtype == DT_F64 || dtype == DT_C128;
            double pair[2] = { wide ? (double)in[i] : odd_double(in[i]), 0 };
            dtype_from_double((unsigned char *)out + i * dtypes[dtype].bytes, dtype, pair, 1);
        }
    }
}

double dtype_ulp(enum dtype dtype, double x)
{
    const struct dtype_info *info = &dtypes[dtype];
    /* The exponent field of a subnormal is below every exponent_min. */
    int exponent = (int)(bits_from_double(x) >> 52 & 0x7ff) - 1023;
    if (exponent == 1024) return NAN;
    if (exponent < info->exponent_min) exponent = info->exponent_min;
    int power = exponent - info->significand_bits + 1;
    uint64_t bits = power >= -1022 ? (uint64_t)(power + 1023) << 52 : UINT64_C(1) << (power + 1074);
    double ulp;
    memcpy(&ulp, &bits, sizeof ulp);
    return ulp;
}
