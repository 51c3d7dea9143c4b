/* interpolate and its older names: nearest, area, linear, cubic, with and without
 * antialiasing. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/resample.h"
#include "bench/primitives/taps.h"
#include "bench/primitives/window_sums.h"

enum { SPATIAL = 3 };

/* Extents of the result and, where the caller's factors count, the factors (else 0). */
struct sizes {
    int dims;
    int64_t out[SPATIAL];
    double scale[SPATIAL];
};

static const struct value *item_of(const struct value *list, int k)
{
    return value_is_sequence(list) ? &list->list.items[list->list.count == 1 ? 0 : k] : list;
}

static bool length_fits(struct call *call, const struct value *list, int dims, const char *name)
{
    if (!value_is_sequence(list) || list->list.count == (size_t)dims || list->list.count == 1)
        return true;
    call_fail(call, "%s has %zu items for %d spatial dimensions", name, list->list.count, dims);
    return false;
}

/* `size` or `scale_factor`; with `recompute` the factors only make the size. */
static bool read_sizes(struct sizes *sizes, struct call *call, const struct node *x, bool recompute)
{
    const struct value *size = call_value(call, "size"), *factor = call_value(call, "scale_factor");
    memset(sizes, 0, sizeof *sizes);
    sizes->dims = x->rank - 2;
    if (!call_require(call, sizes->dims >= 1 && sizes->dims <= SPATIAL,
                      "interpolation takes 3 to 5 dimensions, the argument has %d", x->rank))
        return false;
    bool sized = size->kind != VALUE_NONE;
    if (sized == (factor->kind != VALUE_NONE))
        call_fail(call, "either size or scale_factor is needed");
    if (tape_failed(call->tape) ||
        !length_fits(call, sized ? size : factor, sizes->dims, sized ? "size" : "scale_factor"))
        return false;
    for (int k = 0; k < sizes->dims; k++) {
        const struct value *item = item_of(sized ? size : factor, k);
        double number = item->kind == VALUE_INT     ? (double)item->integer
                        : item->kind == VALUE_FLOAT ? item->real
                                                    : NAN;
        double out = sized ? number : floor((double)x->shape[k + 2] * number);
        if (!call_require(call, out >= 1 && out < 0x1p31 && x->shape[k + 2] >= 1,
                          "a result extent of %g", out))
            return false;
        sizes->out[k] = (int64_t)out;
        sizes->scale[k] = sized || recompute ? 0 : number;
    }
    return true;
}

/* ---- nearest ------------------------------------------------------------------------ */

/* Source of output o: floor(o r), or floor((o + 1/2) r) exactly centred, in float or
 * double. PyTorch's kernels use one or the other; where r is inexact they can differ by
 * one. */
static int64_t nearest_source(int64_t o, int64_t in, int64_t out, double scale, bool exact,
                              bool single)
{
    double at;
    if (!exact && in == out) return o;
    if (single) {
        float r = scale > 0 ? (float)(1 / scale) : (float)in / (float)out;
        at = exact ? ((double)o + 0.5) * (double)r : (double)((float)o * r);
    } else {
        double r = scale > 0 ? 1 / scale : (double)in / (double)out;
        at = ((double)o + (exact ? 0.5 : 0)) * r;
    }
    int64_t source = (int64_t)floor(at);
    return source < in - 1 ? source : in - 1;
}

/* Sources along spatial dimension k; true when float and double agree on all of them. */
static bool nearest_sources(struct node *index, const struct sizes *sizes, const struct node *x,
                            int k, bool exact, bool single)
{
    bool agree = true;
    for (int64_t o = 0; o < sizes->out[k]; o++) {
        int64_t in = x->shape[k + 2];
        index->integer[o] = nearest_source(o, in, sizes->out[k], sizes->scale[k], exact, single);
        agree = agree && index->integer[o] ==
                             nearest_source(o, in, sizes->out[k], sizes->scale[k], exact, !single);
    }
    return agree;
}

/* In a model: all dimensions at once, as a kernel adds the gradients of a cell in any order. */
static struct node *nearest_at_once(struct tape *tape, struct node *x, const struct sizes *sizes,
                                    struct node *const *index)
{
    int64_t shape[TENSOR_MAX_RANK], planes = x->shape[0] * x->shape[1];
    size_t n = (size_t)planes;
    memcpy(shape, x->shape, sizeof shape);
    for (int k = 0; k < sizes->dims; k++) {
        shape[k + 2] = sizes->out[k];
        n *= (size_t)sizes->out[k];
    }
    int64_t *map = tape_allocate(tape, n, sizeof *map);
    for (size_t i = 0; map && i < n; i++) {
        size_t rest = i;
        int64_t at = 0, stride = 1;
        for (int k = sizes->dims - 1; k >= 0; k--) {
            at += index[k]->integer[rest % (size_t)sizes->out[k]] * stride;
            rest /= (size_t)sizes->out[k];
            stride *= x->shape[k + 2];
        }
        map[i] = at + (int64_t)rest * stride;
    }
    return map ? node_gather(tape, x, x->rank, shape, map, 0) : x;
}

static struct node *nearest_in(struct call *call, struct node *x, const struct sizes *sizes,
                               bool exact, bool single, bool *agree)
{
    struct node *index[TENSOR_MAX_RANK];
    bool at_once = tape_is_model(call->tape) && call->tape->stage == 0 && sizes->dims > 1;
    *agree = true;
    for (int k = 0; k < sizes->dims; k++) {
        index[k] = node_new_integer(call->tape, DT_I64, 1, &sizes->out[k]);
        if (tape_failed(call->tape)) return x;
        *agree = nearest_sources(index[k], sizes, x, k, exact, single) && *agree;
        if (!at_once) x = node_index_select(call->tape, x, k + 2, index[k]);
    }
    return at_once ? nearest_at_once(call->tape, x, sizes, index) : x;
}

/* How many elements of y the device does not have. */
static size_t differing(struct tape *tape, struct node *y, struct node *device)
{
    const double *own = node_values(tape, y), *theirs = node_values(tape, device);
    size_t count = 0;
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++)
        count += theirs[i] != own[i] && !isnan(own[i]);
    return count;
}

/* In the arithmetic of the dtype, unless the device's result is nearer to the other's. */
static struct node *nearest(struct call *call, struct node *x, const struct sizes *sizes,
                            bool exact)
{
    bool agree, single = x->dtype != DT_F64;
    struct node *y = nearest_in(call, x, sizes, exact, single, &agree);
    if (agree || tape_failed(call->tape)) return y;
    struct node *device = call_device_numbers(call, 0, y->n);
    if (!device) return y;
    struct node *other = nearest_in(call, x, sizes, exact, !single, &agree);
    return differing(call->tape, other, device) < differing(call->tape, y, device) ? other : y;
}

/* ---- modes -------------------------------------------------------------------------- */

/* Adaptive averages, over one extent after the other. */
static struct node *area(struct call *call, struct node *x, const struct sizes *sizes)
{
    struct tape *tape = call->tape;
    struct window_axis axes[SPATIAL];
    struct node *count[SPATIAL];
    for (int k = 0; k < sizes->dims; k++) {
        int64_t in = x->shape[k + 2], out = sizes->out[k], shape[SPATIAL] = { out, 1, 1 };
        int64_t *start = tape_allocate(tape, 2 * (size_t)out, sizeof *start), *end = start + out;
        count[k] = node_new_real(tape, DT_NONE, sizes->dims - k, shape);
        if (tape_failed(tape)) return x;
        for (int64_t o = 0; o < out; o++) {
            start[o] = o * in / out;
            end[o] = ((o + 1) * in + out - 1) / out;
            count[k]->value[o] = (double)(end[o] - start[o]);
        }
        axes[k] = (struct window_axis){ in, out, start, end };
    }
    x = node_window_sums(tape, x, sizes->dims, axes);
    for (int k = 0; k < sizes->dims; k++) x = node_divide(tape, x, count[k]);
    return x;
}

/* How many taps an output has along the last dimensions, and an input along the first ones. */
static double taps_of_output(const struct resample *r)
{
    double stretch = fmax(1, (double)r->in / (double)r->out);
    switch (r->kind) {
    case RESAMPLE_LINEAR: return 2;
    case RESAMPLE_CUBIC: return 4;
    case RESAMPLE_LINEAR_ANTIALIAS: return 2 * stretch + 1;
    default: return 4 * stretch + 1;
    }
}

static double taps_of_input(const struct sizes *sizes, const struct node *x, int end)
{
    double count = 1;
    for (int k = 0; k < end; k++) count *= fmax(1, (double)sizes->out[k] / (double)x->shape[k + 2]);
    return count;
}

static struct node *resampled(struct call *call, struct node *x, const struct sizes *sizes,
                              enum resample_kind kind, bool align_corners)
{
    double summed = 1;
    for (int k = sizes->dims - 1; k >= 0; k--) {
        struct resample resample = { kind, x->shape[k + 2], sizes->out[k], sizes->scale[k],
                                     align_corners };
        /* PyTorch copies where the extent stays, also under a factor near 1. */
        if (kind == RESAMPLE_LINEAR && resample.in == resample.out) continue;
        struct taps *taps = resample_taps(call->tape, &resample);
        if (!taps) break;
        taps->summed = summed;
        taps->summed_by_adjoint = taps_of_input(sizes, x, k);
        x = node_taps(call->tape, x, k + 2, taps);
        summed *= taps_of_output(&resample);
    }
    return x;
}

static const struct {
    const char *name;
    int dims; /* 0: any */
    enum { MODE_NEAREST, MODE_NEAREST_EXACT, MODE_AREA, MODE_LINEAR, MODE_CUBIC } mode;
} modes[] = {
    { "nearest", 0, MODE_NEAREST }, { "nearest-exact", 0, MODE_NEAREST_EXACT },
    { "area", 0, MODE_AREA },       { "linear", 1, MODE_LINEAR },
    { "bilinear", 2, MODE_LINEAR }, { "trilinear", 3, MODE_LINEAR },
    { "bicubic", 2, MODE_CUBIC },
};

/* x in `sizes` by mode m of the table. */
static struct node *resized(struct call *call, struct node *x, const struct sizes *sizes, size_t m,
                            bool align_corners, bool antialias)
{
    switch (modes[m].mode) {
    case MODE_NEAREST: return nearest(call, x, sizes, false);
    case MODE_NEAREST_EXACT: return nearest(call, x, sizes, true);
    case MODE_AREA: return area(call, x, sizes);
    case MODE_LINEAR:
        return resampled(call, x, sizes, antialias ? RESAMPLE_LINEAR_ANTIALIAS : RESAMPLE_LINEAR,
                         align_corners);
    default:
        return resampled(call, x, sizes, antialias ? RESAMPLE_CUBIC_ANTIALIAS : RESAMPLE_CUBIC,
                         align_corners);
    }
}

static size_t mode_named(const char *mode)
{
    size_t m = 0;
    while (m < sizeof modes / sizeof *modes && strcmp(modes[m].name, mode) != 0) m++;
    return m;
}

static void interpolate_as(struct call *call, const char *mode, bool align_corners, bool recompute,
                           bool antialias)
{
    struct node *x = call_tensor(call, "input");
    size_t m = mode_named(mode);
    struct sizes sizes;

    if (!call_require(call, m != sizeof modes / sizeof *modes,
                      "the interpolation mode '%s' is not known", mode))
        return;
    if (!read_sizes(&sizes, call, x, recompute || modes[m].mode == MODE_AREA)) return;
    if (!call_require(call, !modes[m].dims || modes[m].dims == sizes.dims,
                      "mode '%s' is for %d spatial dimensions, the argument has %d", mode,
                      modes[m].dims, sizes.dims))
        return;
    call_return_typed(call, resized(call, x, &sizes, m, align_corners, antialias), x->dtype);
}

static void interpolate(struct call *call)
{
    interpolate_as(call, call_string(call, "mode"), call_bool(call, "align_corners"),
                   call_bool(call, "recompute_scale_factor"), call_bool(call, "antialias"));
}

/* upsample_nearest and upsample_bilinear: text is the mode; the latter aligns corners. */
static void upsample(struct call *call)
{
    interpolate_as(call, call->op->text, strcmp(call->op->text, "nearest") != 0, false, false);
}

/* ---- operators of aten -------------------------------------------------------------- */

/* detail: spatial dimensions, and whether the taps are antialiased. text: the mode. */
enum { ANTIALIAS = 8 };

/* output_size, or the input's extents times scale_factors; scales_h and the like are factors that count
 * beside an output size. `x` has the extents of the input. */
static bool read_aten_sizes(struct sizes *sizes, struct call *call, const struct node *x)
{
    static const char *const names[SPATIAL][SPATIAL] = { { "scales" },
                                                         { "scales_h", "scales_w" },
                                                         { "scales_d", "scales_h", "scales_w" } };
    const struct value *size = call_value(call, "output_size"),
                       *factors = call_value(call, "scale_factors");
    *sizes = (struct sizes){ .dims = (int)call->op->detail & ~ANTIALIAS };
    if (!call_require(call, x->rank == sizes->dims + 2,
                      "%d spatial dimensions for an argument of %d dimensions", sizes->dims,
                      x->rank))
        return false;
    bool sized = size->kind != VALUE_NONE;
    if (!call_require(call, sized || factors->kind != VALUE_NONE,
                      "either output_size or scale_factors is needed"))
        return false;
    if (sized) call_ints_repeated(call, "output_size", sizes->out, sizes->dims);
    if (!length_fits(call, factors, sizes->dims, "scale_factors")) return false;
    for (int k = 0; k < sizes->dims; k++) {
        const char *name = names[sizes->dims - 1][k];
        const struct value *item = item_of(factors, k);
        if (item->kind == VALUE_FLOAT) sizes->scale[k] = item->real;
        else if (item->kind == VALUE_INT) sizes->scale[k] = (double)item->integer;
        else if (!call_is_none(call, name)) sizes->scale[k] = call_real(call, name);
        double out = sized ? (double)sizes->out[k]
                           : floor((double)x->shape[k + 2] * sizes->scale[k]);
        if (!call_require(call, out >= 1 && out <= INT32_MAX && x->shape[k + 2] >= 1,
                          "a result extent of %g", out))
            return false;
        sizes->out[k] = (int64_t)out;
    }
    return true;
}

/* align_corners, where the mode has it. */
static bool aligns_corners(struct call *call)
{
    return strncmp(call->op->text, "nearest", 7) != 0 && call_bool(call, "align_corners");
}

static struct node *upsampled(struct call *call, struct node *x, const struct sizes *sizes)
{
    return resized(call, x, sizes, mode_named(call->op->text), aligns_corners(call),
                   call->op->detail & ANTIALIAS);
}

static void aten_upsample(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct sizes sizes;
    if (!read_aten_sizes(&sizes, call, x)) return;
    call_return_typed(call, upsampled(call, x, &sizes), x->dtype);
}

/* Linear in the input, of which only the shape is given. */
static void aten_upsample_backward(struct call *call)
{
    struct node *gradient = call_tensor(call, "grad_output");
    struct node *x = call_tracked_zero(call, "input_size", gradient);
    struct sizes sizes;
    if (!read_aten_sizes(&sizes, call, x)) return;
    call_return(call, call_gradient(call, upsampled(call, x, &sizes), gradient, x));
}

/* The overload "vec" has no scales: its list of factors comes last. */
/* clang-format off */
#define CORNERS ", bool align_corners"
#define UPSAMPLE(name, corners, scales, detail, mode) \
    { name, ATEN, "(Tensor input, int[]? output_size" corners ", float[]? scale_factors, *, " scales ")", aten_upsample, OP_ONE_NODE, detail, mode }, \
    { name, ATEN, "(Tensor input, int[]? output_size" corners ", " scales ", *, float[]? scale_factors=None)", aten_upsample, OP_ONE_NODE, detail, mode }, \
    { name "_backward", ATEN, "(Tensor grad_output, int[]? output_size, int[] input_size" corners ", float[]? scale_factors, *, " scales ")", aten_upsample_backward, OP_NO_GRADIENT, detail, mode }, \
    { name "_backward", ATEN, "(Tensor grad_output, int[]? output_size, int[] input_size" corners ", " scales ", *, float[]? scale_factors=None)", aten_upsample_backward, OP_NO_GRADIENT, detail, mode }
#define SCALES_1 "float? scales=None"
#define SCALES_2 "float? scales_h=None, float? scales_w=None"
#define SCALES_3 "float? scales_d=None, float? scales_h=None, float? scales_w=None"
const struct op ops_interpolate[] = {
    { "interpolate", FUNCTIONAL, "(Tensor input, Any size=None, Any scale_factor=None, str mode='nearest', bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False)", interpolate, OP_ONE_NODE, 0, NULL },
    { "upsample", FUNCTIONAL, "(Tensor input, Any size=None, Any scale_factor=None, str mode='nearest', bool? align_corners=None, *, bool? recompute_scale_factor=None, bool antialias=False)", interpolate, OP_ONE_NODE, 0, NULL },
    { "upsample_nearest", FUNCTIONAL, "(Tensor input, Any size=None, Any scale_factor=None)", upsample, OP_ONE_NODE, 0, "nearest" },
    { "upsample_bilinear", FUNCTIONAL, "(Tensor input, Any size=None, Any scale_factor=None)", upsample, OP_ONE_NODE, 0, "bilinear" },
    UPSAMPLE("upsample_nearest1d", "", SCALES_1, 1, "nearest"),
    UPSAMPLE("upsample_nearest2d", "", SCALES_2, 2, "nearest"),
    UPSAMPLE("upsample_nearest3d", "", SCALES_3, 3, "nearest"),
    UPSAMPLE("_upsample_nearest_exact1d", "", SCALES_1, 1, "nearest-exact"),
    UPSAMPLE("_upsample_nearest_exact2d", "", SCALES_2, 2, "nearest-exact"),
    UPSAMPLE("_upsample_nearest_exact3d", "", SCALES_3, 3, "nearest-exact"),
    UPSAMPLE("upsample_linear1d", CORNERS, SCALES_1, 1, "linear"),
    UPSAMPLE("upsample_bilinear2d", CORNERS, SCALES_2, 2, "bilinear"),
    UPSAMPLE("upsample_trilinear3d", CORNERS, SCALES_3, 3, "trilinear"),
    UPSAMPLE("upsample_bicubic2d", CORNERS, SCALES_2, 2, "bicubic"),
    UPSAMPLE("_upsample_bilinear2d_aa", CORNERS, SCALES_2, 2 | ANTIALIAS, "bilinear"),
    UPSAMPLE("_upsample_bicubic2d_aa", CORNERS, SCALES_2, 2 | ANTIALIAS, "bicubic"),
};
/* clang-format on */
OP_TABLE_END(interpolate);
