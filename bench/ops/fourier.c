/* Discrete Fourier transforms.
 *
 * A length n = r m is transformed by Cooley and Tukey's step (1965): with the index m j + i,
 *     X[k + r l] = sum_i w_n^(i k) w_m^(i l) (sum_j w_r^(j k) x[m j + i]),      w_n = exp(-+ 2 pi i / n),
 * that is r-point transforms, which are certified matrix products, a multiplication by roots of unity, and
 * m-point transforms of what is left. The steps of at most 16 points make about the roundings of a library's
 * radices, so a model of this composition is one of an O(n log n) kernel. A prime factor larger than that is
 * one step of its own, as wide as it is.
 *
 * Multidimensional transforms go through one dimension after the other; that of real numbers over the last one
 * first, of which half is kept; the way back completes the half by symmetry. */
#include "bench/ops/fourier.h"

#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/line_errors.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/roots_of_unity.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

enum { WIDEST_STEP = 16, LARGEST_PRIME = 2048 };

/* ---- one dimension ---------------------------------------------------------------------------- */

/* The real and imaginary parts of rows; im is NULL where they are real. */
struct parts {
    struct node *re, *im;
};

/* Points of the next step: the largest divisor that fits, or the smallest prime factor. */
static int64_t step_of(int64_t n)
{
    for (int64_t r = WIDEST_STEP; r > 1; r--)
        if (n % r == 0) return r;
    int64_t r = WIDEST_STEP + 1;
    while (r * r <= n && n % r) r++;
    return n % r ? n : r;
}

/* The r-point transforms of x (batch, r, m) over its middle, or for m = 1 of rows (1, batch, r). */
static struct parts small_transforms(struct tape *tape, struct parts x, int64_t r, bool forward,
                                     bool rows)
{
    enum dtype dtype = x.re->dtype;
    int dim = rows ? 2 : 1; /* the sum's, in both factors' places for it */
    struct node *cosine = node_roots_of_unity(tape, dtype, ROOT_COSINE, r, r, r);
    struct node *sine =
        node_roots_of_unity(tape, dtype, forward ? ROOT_MINUS_SINE : ROOT_SINE, r, r, r);
    struct node *re = cosine, *im = sine, *both = x.re;
    if (x.im) { /* re = c re - s im, im = s re + c im, each one sum */
        int other = rows ? 1 : 2;
        both = node_concatenate(tape, (struct node *[]){ x.re, x.im }, 2, dim);
        re = node_concatenate(tape, (struct node *[]){ cosine, node_negate(tape, sine) }, 2, other);
        im = node_concatenate(tape, (struct node *[]){ sine, cosine }, 2, other);
    }
    if (rows)
        return (struct parts){ node_matmul(tape, both, false, re, false),
                               node_matmul(tape, both, false, im, false) };
    return (struct parts){ node_matmul(tape, re, false, both, false),
                           node_matmul(tape, im, false, both, false) };
}

static struct parts reshaped(struct tape *tape, struct parts x, int64_t a, int64_t b, int64_t c)
{
    int64_t shape[3] = { a, b, c };
    return (struct parts){ node_reshape(tape, x.re, 3, shape),
                           x.im ? node_reshape(tape, x.im, 3, shape) : NULL };
}

/* (a + i b) (c + i s) */
static struct parts turned(struct tape *tape, struct parts x, struct node *c, struct node *s)
{
    return (struct parts){
        node_subtract(tape, node_multiply(tape, x.re, c), node_multiply(tape, x.im, s)),
        node_add(tape, node_multiply(tape, x.re, s), node_multiply(tape, x.im, c))
    };
}

/* The transforms, without a factor, of `batch` rows of n. */
static struct parts transform(struct tape *tape, struct parts x, int64_t batch, int64_t n,
                              bool forward)
{
    int64_t r = step_of(n), m = n / r;
    if (tape_failed(tape)) return x;
    if (n == 1) {
        struct node *zero = node_constant(tape, x.re->dtype, 0, x.re->rank, x.re->shape);
        return (struct parts){ x.re, x.im ? x.im : zero };
    }
    if (m == 1) return small_transforms(tape, reshaped(tape, x, 1, batch, n), n, forward, true);
    x = small_transforms(tape, reshaped(tape, x, batch, r, m), r, forward, false);
    enum dtype dtype = x.re->dtype;
    x = turned(tape, x, node_roots_of_unity(tape, dtype, ROOT_COSINE, n, r, m),
               node_roots_of_unity(tape, dtype, forward ? ROOT_MINUS_SINE : ROOT_SINE, n, r, m));
    x = transform(tape, reshaped(tape, x, 1, batch * r, m), batch * r, m, forward);
    x = reshaped(tape, x, batch, r, m);
    x = (struct parts){ node_transpose(tape, x.re, 1, 2), node_transpose(tape, x.im, 1, 2) };
    return reshaped(tape, x, 1, batch, n);
}

/* Kernels factor n otherwise than `transform` does, and where terms cancel here, to 0 perhaps, they do not there. What all of them keep is
 * |error| <= 7 u log2 n |y| in the norm of a line y (Higham, Accuracy and Stability, theorem 24.2), so at worst one element has all of it;
 * typically it is spread evenly, and a log2 n-th of it independent. */
static double roundings_of(const struct tape *tape, int64_t n)
{
    double steps = fmax(log2((double)n), 1);
    return tape_is_typical(tape) ? sqrt(steps) / 2 : 7 * steps * sqrt((double)n);
}

/* In a model: y, parts of the transforms of lines (elements of n), where a line has an infinity or NaN. Kernels leave out what is multiplied by
 * 0, imaginary parts of real numbers that are 0 or that no other part says, and factor n in their own way: what is an infinity, what NaN
 * and, of imaginary parts, what a number is left open. */
static struct node *open_endless(struct tape *tape, struct node *y, struct node *lines, int64_t n)
{
    if (!tape_is_model(tape) || tape_failed(tape)) return y;
    struct node *lost = node_new_integer(tape, DT_BOOL, y->rank, y->shape);
    const double *re = node_values(tape, node_real_part(tape, lines));
    const double *im = lines->imaginary ? node_values(tape, node_imaginary_part(tape, lines)) : re;
    bool any = false;
    for (size_t i = 0; !tape_failed(tape) && i < lines->n; i++) {
        bool endless = !isfinite(re[i]) || !isfinite(im[i]);
        size_t first = i / (size_t)n * (size_t)n;
        any |= endless;
        for (size_t k = first; endless && k < first + (size_t)n; k++) lost->integer[k] = 1;
    }
    return any ? node_model_anything(tape, y, lost) : y;
}

/* x transformed along dim. */
static struct node *transformed(struct call *call, struct node *x, int dim, bool forward)
{
    struct tape *tape = call->tape;
    int last = x->rank - 1;
    int64_t shape[TENSOR_MAX_RANK];
    if (tape_failed(tape)) return tape_failure(tape);
    int64_t n = x->shape[dim];
    if (!call_require(call, n >= 1, "a transform of %lld points", (long long)n)) return x;
    for (int64_t rest = n, r; rest > 1; rest /= r) {
        r = step_of(rest);
        if (!call_require(call, r <= LARGEST_PRIME,
                          "%lld points have the prime factor %lld; those up to %d are in the "
                          "catalogue",
                          (long long)n, (long long)r, LARGEST_PRIME))
            return x;
    }
    struct transformed_lines of = { n, roundings_of(tape, n), NULL, NULL };
    struct line_slope *slope;
    struct node *lines = node_transpose(tape, x, dim, last);
    memcpy(shape, lines->shape, sizeof shape);
    lines = node_model_line_slope(tape, lines, &of, &slope);
    struct parts parts = { node_real_part(tape, lines),
                           x->imaginary ? node_imaginary_part(tape, lines) : NULL };
    of.re = parts.re;
    of.im = parts.im;
    parts = transform(tape, parts, (int64_t)(x->n / (size_t)n), n, forward);
    struct node *re = parts.re;
    parts.re =
        node_model_line_cotangent(tape, node_model_line_error(tape, re, parts.im, &of), slope, 0);
    parts.im =
        node_model_line_cotangent(tape, node_model_line_error(tape, parts.im, re, &of), slope, 1);
    parts.re = open_endless(tape, parts.re, lines, n);
    parts.im = open_endless(tape, parts.im, lines, n);
    struct node *y = node_complex(tape, node_reshape(tape, parts.re, x->rank, shape),
                                  node_reshape(tape, parts.im, x->rank, shape));
    return node_transpose(tape, y, dim, last);
}

/* ---- arguments ---------------------------------------------------------------------------------- */

struct node *spectrum_resized(struct tape *tape, struct node *x, int dim, int64_t points)
{
    int64_t extent = x->shape[dim], shape[TENSOR_MAX_RANK];
    if (tape_failed(tape) || points == extent) return x;
    if (points < extent) return node_slice(tape, x, dim, 0, points, 1);
    memcpy(shape, x->shape, sizeof shape);
    shape[dim] = points - extent;
    struct node *parts[2] = { x, node_constant(tape, x->dtype, 0, x->rank, shape) };
    return node_concatenate(tape, parts, 2, dim);
}

/* "backward": the inverse is divided by all points; "ortho": both by their root; "forward": the transform
 * is divided. */
static void read_scale(struct spectrum *spectrum, struct call *call, bool forward)
{
    const char *norm = call_is_none(call, "norm") ? "backward" : call_string(call, "norm");
    bool divided = !strcmp(norm, forward ? "forward" : "backward");
    spectrum->scale = !strcmp(norm, "ortho") ? SCALE_ROOT : divided ? SCALE_ALL : SCALE_NONE;
    (void)call_require(call,
                       divided || !strcmp(norm, "ortho") || !strcmp(norm, "forward") ||
                           !strcmp(norm, "backward"),
                       "norm is '%s'; it can be 'forward', 'backward' or 'ortho'", norm);
}

static bool add_dim(struct spectrum *spectrum, struct call *call, const struct node *x, int64_t dim)
{
    int at = wrap_dim(call, dim, x->rank);
    for (int k = 0; k < spectrum->count; k++)
        if (!call_require(call, spectrum->dims[k] != at, "a dimension is transformed twice"))
            return false;
    if (!call_require(call, spectrum->count < TENSOR_MAX_RANK && x->rank > 0,
                      "a transform needs a dimension"))
        return false;
    spectrum->dims[spectrum->count] = at;
    spectrum->points[spectrum->count++] = x->shape[at];
    return true;
}

/* detail: number of dimensions, 1 for n and dim, 2 and 0 (any) for s and dim. */
static bool read_spectrum(struct spectrum *spectrum, struct call *call, const struct node *x,
                          bool forward)
{
    int64_t dims[TENSOR_MAX_RANK], sizes[TENSOR_MAX_RANK];
    const char *name = call->op->detail == 1 ? "n" : "s";
    int given = call_ints(call, name, sizes, TENSOR_MAX_RANK);
    int count = call_ints(call, "dim", dims, TENSOR_MAX_RANK);
    *spectrum = (struct spectrum){ 0 };
    if (call_is_none(call, "dim")) {
        count = given ? given : x->rank;
        if (!call_require(call, count <= x->rank, "%d extents for %d dimensions", count, x->rank))
            return false;
        for (int k = 0; k < count; k++) dims[k] = x->rank - count + k;
    }
    if (!call_require(call, !given || given == count, "%d extents for %d dimensions", given, count))
        return false;
    for (int k = 0; k < count; k++) {
        if (!add_dim(spectrum, call, x, dims[k])) return false;
        if (given && sizes[k] != -1) spectrum->points[k] = sizes[k];
        if (!call_require(call, spectrum->points[k] >= 1 && spectrum->points[k] <= INT32_MAX,
                          "a transform of %lld points", (long long)spectrum->points[k]))
            return false;
    }
    read_scale(spectrum, call, forward);
    return !tape_failed(call->tape);
}

/* ---- transforms ---------------------------------------------------------------------------------- */

/* The components divided by `divisor`. */
static struct node *divided(struct tape *tape, struct node *y, struct node *divisor)
{
    struct node *re = node_divide(tape, node_real_part(tape, y), divisor);
    if (!y->imaginary) return re;
    return node_complex(tape, re, node_divide(tape, node_imaginary_part(tape, y), divisor));
}

struct node *spectrum_scaled(struct tape *tape, struct node *y, const struct spectrum *spectrum)
{
    double points = 1;
    for (int k = 0; k < spectrum->count; k++) points *= (double)spectrum->points[k];
    struct node *divisor = node_scalar(tape, points);
    if (spectrum->scale == SCALE_NONE || points == 1) return y;
    if (spectrum->scale == SCALE_ROOT) divisor = node_apply(tape, "sqrt", divisor);
    return divided(tape, y, divisor);
}

enum dtype spectrum_part(const struct node *x)
{
    return dtype_is_complex(x->dtype) ? dtype_component(x->dtype)
           : dtype_is_float(x->dtype) ? x->dtype
                                      : DT_F32;
}

void spectrum_return(struct call *call, struct node *y, enum dtype part)
{
    enum dtype whole = part == DT_F64 ? DT_C128 : DT_C64;
    call_return_typed(call, y, y->imaginary ? whole : part);
}

struct node *spectrum_over(struct call *call, struct node *x, const struct spectrum *spectrum,
                           int count, bool forward)
{
    for (int k = 0; k < count && !tape_failed(call->tape); k++) {
        x = spectrum_resized(call->tape, x, spectrum->dims[k], spectrum->points[k]);
        x = transformed(call, x, spectrum->dims[k], forward);
    }
    return x;
}

struct node *spectrum_of_real(struct call *call, struct node *x, const struct spectrum *spectrum,
                              bool onesided)
{
    struct tape *tape = call->tape;
    int last = spectrum->count - 1;
    x = spectrum_resized(tape, x, spectrum->dims[last], spectrum->points[last]);
    struct node *y = transformed(call, x, spectrum->dims[last], true);
    if (onesided)
        y = node_slice(tape, y, spectrum->dims[last], 0, spectrum->points[last] / 2 + 1, 1);
    return spectrum_over(call, y, spectrum, last, true);
}

/* The whole of a spectrum of which the first half along dim is given: x[n - k] = conj x[k]. */
static struct node *completed(struct tape *tape, struct node *x, int dim, int64_t n)
{
    int64_t half = n / 2 + 1, shape[TENSOR_MAX_RANK];
    struct node *index = node_new_integer(tape, DT_I64, 1, &n);
    x = spectrum_resized(tape, x, dim, half);
    if (tape_failed(tape)) return x;
    for (int d = 0; d < x->rank; d++) shape[d] = 1;
    shape[dim] = n;
    struct node *sign = node_constant(tape, DT_NONE, 1, x->rank, shape);
    if (tape_failed(tape)) return x;
    for (int64_t k = 0; k < n; k++) {
        index->integer[k] = k < half ? k : n - k;
        if (k >= half) sign->value[k] = -1;
    }
    struct node *re = node_index_select(tape, node_real_part(tape, x), dim, index);
    struct node *im = node_index_select(tape, node_imaginary_part(tape, x), dim, index);
    return node_complex(tape, re, node_multiply(tape, im, sign));
}

struct node *spectrum_to_real(struct call *call, struct node *x, const struct spectrum *spectrum)
{
    struct tape *tape = call->tape;
    int last = spectrum->count - 1;
    struct node *y = spectrum_over(call, x, spectrum, last, false);
    if (!y->imaginary) /* of reals, over one dimension */
        y = node_complex(tape, y, node_constant(tape, y->dtype, 0, y->rank, y->shape));
    y = completed(tape, y, spectrum->dims[last], spectrum->points[last]);
    return node_real_part(tape, transformed(call, y, spectrum->dims[last], false));
}

struct node *spectrum_signal(struct call *call, struct node *x)
{
    return x->integer ? node_cast(call->tape, x, DT_F32) : x;
}

/* fft and ifft (text). */
static void fft(struct call *call)
{
    struct node *x = spectrum_signal(call, call_tensor(call, "input"));
    bool forward = !strcmp(call->op->text, "forward");
    struct spectrum spectrum;
    if (!read_spectrum(&spectrum, call, x, forward)) return;
    struct node *y = spectrum_over(call, x, &spectrum, spectrum.count, forward);
    spectrum_return(call, spectrum_scaled(call->tape, y, &spectrum), spectrum_part(x));
}

/* rfft, and ihfft: the conjugate, other dimensions and factor those of an inverse. */
static void rfft(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = spectrum_signal(call, call_tensor(call, "input")), *y;
    bool forward = !strcmp(call->op->text, "forward");
    struct spectrum spectrum;
    if (!call_require(call, !x->imaginary, "this transform is for real numbers")) return;
    if (!read_spectrum(&spectrum, call, x, forward)) return;
    if (!call_require(call, spectrum.count >= 1, "a transform needs a dimension")) return;
    if (forward) {
        y = spectrum_of_real(call, x, &spectrum, true);
    } else {
        struct spectrum last = spectrum;
        last.count = 1;
        last.dims[0] = spectrum.dims[spectrum.count - 1];
        last.points[0] = spectrum.points[spectrum.count - 1];
        y = node_conjugate(tape, spectrum_of_real(call, x, &last, true));
        y = spectrum_over(call, y, &spectrum, spectrum.count - 1, false);
    }
    spectrum_return(call, spectrum_scaled(tape, y, &spectrum), spectrum_part(x));
}

/* irfft, and hfft: of the conjugate, the factor that of a transform. The last extent is 2 (points - 1)
 * unless it is given. */
static void irfft(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = spectrum_signal(call, call_tensor(call, "input"));
    bool forward = !strcmp(call->op->text, "forward");
    struct spectrum spectrum;
    if (!read_spectrum(&spectrum, call, x, forward)) return;
    if (!call_require(call, spectrum.count >= 1, "a transform needs a dimension")) return;
    int last = spectrum.count - 1;
    int64_t given[TENSOR_MAX_RANK];
    int count = call_ints(call, call->op->detail == 1 ? "n" : "s", given, TENSOR_MAX_RANK);
    if (!count || given[count - 1] == -1)
        spectrum.points[last] = 2 * (x->shape[spectrum.dims[last]] - 1);
    if (!call_require(call, spectrum.points[last] >= 1, "a transform of no points")) return;
    struct node *y = spectrum_to_real(call, forward ? node_conjugate(tape, x) : x, &spectrum);
    spectrum_return(call, spectrum_scaled(tape, y, &spectrum), spectrum_part(x));
}

/* ---- operators of aten: normalization is a number ------------------------------------------------ */

static bool read_aten(struct spectrum *spectrum, struct call *call, const struct node *x)
{
    int64_t dims[TENSOR_MAX_RANK];
    int count = call_ints(call, "dim", dims, TENSOR_MAX_RANK);
    *spectrum = (struct spectrum){ .scale = SCALE_NONE };
    for (int k = 0; k < count; k++)
        if (!add_dim(spectrum, call, x, dims[k])) return false;
    int64_t scale = call_int(call, "normalization");
    if (!call_require(call, scale >= 0 && scale <= 2 && count, "an unknown normalization"))
        return false;
    spectrum->scale = scale == 0 ? SCALE_NONE : scale == 1 ? SCALE_ROOT : SCALE_ALL;
    return true;
}

static void fft_c2c(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct spectrum spectrum;
    if (!read_aten(&spectrum, call, x)) return;
    struct node *y = spectrum_over(call, x, &spectrum, spectrum.count, call_bool(call, "forward"));
    spectrum_return(call, spectrum_scaled(call->tape, y, &spectrum), spectrum_part(x));
}

static void fft_r2c(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct spectrum spectrum;
    if (!read_aten(&spectrum, call, x)) return;
    struct node *y = spectrum_of_real(call, x, &spectrum, call_bool(call, "onesided"));
    spectrum_return(call, spectrum_scaled(call->tape, y, &spectrum), spectrum_part(x));
}

static void fft_c2r(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct spectrum spectrum;
    if (!read_aten(&spectrum, call, x)) return;
    spectrum.points[spectrum.count - 1] = call_int(call, "last_dim_size");
    if (!call_require(call,
                      spectrum.points[spectrum.count - 1] >= 1 &&
                          spectrum.points[spectrum.count - 1] <= INT32_MAX,
                      "a transform of %lld points", (long long)spectrum.points[spectrum.count - 1]))
        return;
    struct node *y = spectrum_to_real(call, x, &spectrum);
    spectrum_return(call, spectrum_scaled(call->tape, y, &spectrum), spectrum_part(x));
}

/* ---- order of a spectrum ---------------------------------------------------------------------------- */

/* The zero frequency to the middle, or (detail 1) back to the front. */
static void fftshift(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    uint32_t dims = call_dims(call, "dim", x);
    for (int d = 0; d < x->rank && !tape_failed(tape); d++) {
        int64_t n = x->shape[d], first = call->op->detail ? n / 2 : n - n / 2;
        if (!(dims >> d & 1) || n < 2) continue;
        struct node *parts[2] = { node_slice(tape, x, d, first, n - first, 1),
                                  node_slice(tape, x, d, 0, first, 1) };
        x = node_concatenate(tape, parts, 2, d);
    }
    call_return(call, x);
}

/* k / (n d) for k = 0, 1, .. and, of all frequencies, .., -2, -1. */
static void frequencies(struct call *call)
{
    struct tape *tape = call->tape;
    int64_t n = call_int(call, "n"), count = call->op->detail ? n / 2 + 1 : n;
    enum dtype dtype = call_dtype(call, "dtype");
    if (!call_require(call, n >= 1 && n <= INT32_MAX, "frequencies of %lld points", (long long)n))
        return;
    struct node *k = node_new_real(tape, DT_NONE, 1, &count);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < count; i++)
        k->value[i] = (double)(call->op->detail || i < n - n / 2 ? i : i - n);
    struct node *span =
        node_multiply(tape, node_scalar(tape, (double)n), node_scalar(tape, call_real(call, "d")));
    call_return_typed(call, node_divide(tape, k, span), dtype == DT_NONE ? DT_F32 : dtype);
}

/* clang-format off */
#define ONE "(Tensor input, int? n=None, int dim=-1, str? norm=None)"
#define TWO "(Tensor input, int[]? s=None, int[] dim=[-2, -1], str? norm=None)"
#define ANY "(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None)"
#define FAMILY(name, function, direction) \
    { "fft." name, TORCH, ONE, function, OP_ONE_NODE, 1, direction }, \
    { "fft." name "2", TORCH, TWO, function, OP_ONE_NODE, 2, direction }, \
    { "fft." name "n", TORCH, ANY, function, OP_ONE_NODE, 0, direction }
const struct op ops_fourier[] = {
    FAMILY("fft", fft, "forward"),
    FAMILY("ifft", fft, "inverse"),
    FAMILY("rfft", rfft, "forward"),
    FAMILY("ihfft", rfft, "inverse"),
    FAMILY("irfft", irfft, "inverse"),
    FAMILY("hfft", irfft, "forward"),
    { "fft.fftshift", TORCH, "(Tensor input, int[]? dim=None)", fftshift, OP_ONE_NODE, 0, NULL },
    { "fft.ifftshift", TORCH, "(Tensor input, int[]? dim=None)", fftshift, OP_ONE_NODE, 1, NULL },
    { "fft.fftfreq", TORCH, "(int n, float d=1.0, *, ScalarType? dtype=None, ...)", frequencies, OP_NO_GRADIENT, 0, NULL },
    { "fft.rfftfreq", TORCH, "(int n, float d=1.0, *, ScalarType? dtype=None, ...)", frequencies, OP_NO_GRADIENT, 1, NULL },
    { "_fft_c2c", ATEN, "(Tensor input, int[] dim, int normalization, bool forward)", fft_c2c, OP_ONE_NODE, 0, NULL },
    { "_fft_r2c", ATEN, "(Tensor input, int[] dim, int normalization, bool onesided)", fft_r2c, OP_ONE_NODE, 0, NULL },
    { "_fft_c2r", ATEN, "(Tensor input, int[] dim, int normalization, int last_dim_size)", fft_c2r, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(fourier);
