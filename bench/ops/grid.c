/* Sampling at given places: grid_sample, affine_grid.
 *
 * A sample is a sum over the 2^d (bicubic: 16) inputs around its place of gathered values
 * times products of per-dimension weights, which are functions of the place; both gradients
 * follow from that. The cell a place lies in is found in double precision: the sum is
 * continuous across cells, so the choice at a border does not show in it. Its slope jumps there, between
 * linear pieces and where places are clipped, so a model of kernels knows nothing of the grid's gradient within
 * rounding of a border, and it has the inputs of both cells. The nearest input does jump, and where a place is within
 * rounding of half-way the device may take either.
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/pullback.h"
#include "bench/ops/stencils.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/view.h"

enum grid_mode { GRID_BILINEAR, GRID_NEAREST, GRID_BICUBIC };
enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

struct sampler {
    struct call *call;
    struct node *grid;
    enum grid_mode mode;
    enum grid_padding padding;
    bool align;
    struct sampled of;
};

/* ---- places ------------------------------------------------------------------------- */

static double clip(double at, int64_t size, bool *flat)
{
    if (at <= 0) {
        *flat = true;
        return 0;
    }
    if (at >= (double)(size - 1)) {
        *flat = true;
        return (double)(size - 1);
    }
    return at;
}

/* at reflected between its borders as sign * at + *shift. */
static double reflection(const struct sampler *sampler, double at, int64_t size, double *shift)
{
    double low = sampler->align ? 0 : -0.5,
           span = sampler->align ? (double)(size - 1) : (double)size;
    if (span == 0) {
        *shift = 0;
        return 0;
    }
    double sign = at < low ? -1 : 1, distance = fabs(at - low), flips = floor(distance / span);
    /* distance = sign (at - low); even: distance - flips span + low, odd: mirrored. */
    if (fmod(flips, 2) == 0) {
        *shift = -sign * low - flips * span + low;
        return sign;
    }
    *shift = sign * low + flips * span + span + low;
    return -sign;
}

/* A place as padding moves it; plain doubles. */
static double moved_place(const struct sampler *sampler, double at, int64_t size)
{
    bool flat = false;
    double shift;
    if (sampler->padding == GRID_ZEROS) return at;
    if (sampler->padding == GRID_REFLECTION) {
        double sign = reflection(sampler, at, size, &shift);
        at = sign * at + shift;
    }
    return clip(at, size, &flat);
}

/* Column k of the grid as places along input dimension dims - 1 - k: (batch, points). */
static struct node *places(const struct sampler *sampler, int dim)
{
    struct tape *tape = sampler->of.tape;
    int64_t shape[2] = { (int64_t)sampler->of.batch, (int64_t)sampler->of.points };
    double size = (double)sampler->of.size[dim];
    struct node *at =
        node_slice(tape, sampler->grid, sampler->grid->rank - 1, sampler->of.dims - 1 - dim, 1, 1);
    at = node_reshape(tape, at, 2, shape);
    if (sampler->align) return node_scale(tape, node_offset(tape, at, 1), (size - 1) / 2);
    return node_scale(tape, node_offset(tape, node_scale(tape, node_offset(tape, at, 1), size), -1),
                      0.5);
}

/* How far rounding may move a place of the size of the input: three roundings of at most its span, twice that for a
 * reflection. */
static double place_width(const struct sampler *sampler, int64_t size)
{
    double unit = dtype_ulp(sampler->grid->dtype == DT_F64 ? DT_F64 : DT_F32, 1);
    return 8 * unit * (double)(size + 1);
}

/* Places moved by the padding, with PyTorch's gradient: none where they were clipped. The places before clipping are
 * `unclipped`. */
static struct node *padded_places(const struct sampler *sampler, struct node *at, int64_t size,
                                  double *unclipped)
{
    struct tape *tape = sampler->of.tape;
    const double *place = node_values(tape, at);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < at->n; i++) unclipped[i] = place[i];
    if (sampler->padding == GRID_ZEROS) return at;
    struct node *sign = node_new_real(tape, DT_NONE, 2, at->shape),
                *shift = node_new_real(tape, DT_NONE, 2, at->shape);
    struct node *keep = node_new_integer(tape, DT_BOOL, 2, at->shape);
    struct node *border = node_new_real(tape, DT_NONE, 2, at->shape);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < at->n; i++) {
        bool flat = false;
        sign->value[i] = 1;
        shift->value[i] = 0;
        if (sampler->padding == GRID_REFLECTION)
            sign->value[i] = reflection(sampler, place[i], size, &shift->value[i]);
        unclipped[i] = sign->value[i] * place[i] + shift->value[i];
        border->value[i] = clip(unclipped[i], size, &flat);
        keep->integer[i] = !flat;
    }
    if (sampler->padding == GRID_REFLECTION)
        at = node_add(tape, node_multiply(tape, at, sign), shift);
    return node_select(tape, keep, at, border);
}

/* ---- sums over inputs ------------------------------------------------------------------- */

static struct node *bilinear(const struct sampler *sampler)
{
    struct stencil stencil = { .taps = 0 };
    for (int d = 0; d < sampler->of.dims; d++) {
        struct node *at = places(sampler, d);
        double *unclipped = tape_allocate(sampler->of.tape, at->n, sizeof *unclipped);
        if (tape_failed(sampler->of.tape)) return sampler->of.x;
        at = padded_places(sampler, at, sampler->of.size[d], unclipped);
        stencil_linear(&sampler->of, &stencil, d, at, unclipped,
                       place_width(sampler, sampler->of.size[d]));
    }
    return stencil_sum(&sampler->of, &stencil);
}

/* The slopes of kernels are polynomials of the distance, too: of (-3 a d - 10 a) d - 8 a with d from -2 the roundings, times what they
 * are multiplied by later, are 9 + 6 + 6 + 4 units, of (-3 (a + 2) d - 2 (a + 3)) d with d from -1 no more than 10. */
static const double slope_roundings[4] = { 25, 10, 10, 25 };

static void weight_backward(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    struct node *w = node->inputs[1], *t = node->inputs[2];
    const double *roundings = parameters;
    struct node *none = node_constant(tape, DT_NONE, 0, t->rank, t->shape);
    tape_accumulate(tape, w, cotangent);
    if (t->tracked) tape_accumulate(tape, t, node_model_error(tape, none, cotangent, *roundings));
}

/* Keys' kernel with a = -3/4 at distances 1 + t, t, 1 - t, 2 - t. */
static void cubic_weights(struct tape *tape, struct node *t, struct node **w)
{
    const double a = -0.75;
    struct node *r = node_subtract(tape, node_scalar(tape, 1), t);
    struct node *tt = node_multiply(tape, t, t), *rr = node_multiply(tape, r, r);
    w[0] = node_scale(tape, node_multiply(tape, t, rr), a);
    w[1] = node_offset(
        tape, node_multiply(tape, node_offset(tape, node_scale(tape, t, a + 2), -(a + 3)), tt), 1);
    w[2] = node_offset(
        tape, node_multiply(tape, node_offset(tape, node_scale(tape, r, a + 2), -(a + 3)), rr), 1);
    w[3] = node_scale(tape, node_multiply(tape, r, tt), a);
    /* Kernels evaluate polynomials of the distance d, which cancel where a weight is small. For ((a d - 5 a) d + 8 a) d - 4 a
     * with d up to 2 the roundings of the steps, times what they are multiplied by later, are 1.5 d^2 + 2.25 d^2 +
     * 4.5 d + 1.5 d + 3 = 30 units; for ((a + 2) d - (a + 3)) d d + 1 with d up to 1 they are 1.25 d^3 and four times at most 1. */
    struct node *one = node_constant(tape, DT_NONE, 1, t->rank, t->shape);
    for (int k = 0; k < 4; k++) {
        w[k] = node_model_error(tape, w[k], one, k == 0 || k == 3 ? 32 : 6);
        if (tape_is_model(tape) && t->tracked)
            w[k] = node_stated_gradient(tape, w[k], 2, (struct node *[]){ w[k], t },
                                        weight_backward, &slope_roundings[k]);
    }
}

static struct node *bicubic(const struct sampler *sampler)
{
    struct tape *tape = sampler->of.tape;
    struct stencil stencil = { .taps = 4 };
    for (int d = 0; d < sampler->of.dims; d++) {
        struct node *cell, *into = stencil_cell(&sampler->of, places(sampler, d), &cell);
        cubic_weights(tape, into, stencil.weight[d]);
        for (int k = 0; k < 4; k++) {
            stencil.index[d][k] = tape_allocate(tape, cell->n, sizeof(int64_t));
            if (tape_failed(tape)) return sampler->of.x;
            for (size_t i = 0; i < cell->n; i++)
                stencil.index[d][k][i] = stencil_index(
                    moved_place(sampler, cell->value[i] + k - 1, sampler->of.size[d]));
        }
    }
    return stencil_sum(&sampler->of, &stencil);
}

/* ---- nearest ----------------------------------------------------------------------------- */

/* A place that is half-way between inputs: along which dimensions, and the inputs on either side. */
struct ties {
    int open; /* bits: dimensions */
    int64_t side[STENCIL_MOST_DIMS][2];
};

static void ties_find(struct ties *out, const struct sampler *sampler, int64_t *const *index,
                      struct node *const *at, size_t i)
{
    out->open = 0;
    for (int d = 0; d < sampler->of.dims; d++) {
        double place = at[d]->value[i], half = place - floor(place) - 0.5;
        out->side[d][0] = out->side[d][1] = index[d][i];
        if (!(fabs(half) <= place_width(sampler, sampler->of.size[d]))) continue;
        out->side[d][1] = (int64_t)(2 * floor(place) + 1) - index[d][i];
        out->open |= 1 << d;
    }
}

/* Take side `choice >> d & 1` of dimension d; the element of a channel that this is, or -1 outside. */
static int64_t ties_choose(const struct ties *ties, const struct sampler *sampler, int64_t **index,
                           size_t i, int choice)
{
    int64_t flat = 0;
    for (int d = 0; d < sampler->of.dims; d++) {
        int64_t k = index[d][i] = ties->side[d][choice >> d & 1];
        flat = flat < 0 || k < 0 || k >= sampler->of.size[d] ? -1 : flat * sampler->of.size[d] + k;
    }
    return flat;
}

/* Does the device's result have the values of this element in all channels? `first`: the first channel's number. */
static bool has_values_of(const struct sampler *sampler, const double *theirs, size_t first,
                          size_t point, int64_t flat)
{
    const double *x = sampler->of.x->value;
    size_t plane = 1;
    for (int d = 0; d < sampler->of.dims; d++) plane *= (size_t)sampler->of.size[d];
    for (size_t c = first; c < first + sampler->of.channels; c++) {
        double have = flat < 0 ? 0 : x[c * plane + (size_t)flat];
        if (have != theirs[c * sampler->of.points + point]) return false;
    }
    return true;
}

/* The device's result where it has the values of another input that is as near. Of each point, whether a choice is left: there
 * is no result, or inputs are equal. */
static bool *settle_nearest(const struct sampler *sampler, int64_t **index, struct node *const *at)
{
    struct tape *tape = sampler->of.tape;
    size_t points = sampler->of.batch * sampler->of.points;
    struct node *device = call_device_numbers(sampler->call, 0, points * sampler->of.channels);
    bool *left = tape_allocate(tape, points, sizeof *left);
    const double *theirs = device ? node_values(tape, device) : NULL;
    (void)node_values(tape, sampler->of.x);
    for (size_t i = 0; i < points && !tape_failed(tape); i++) {
        struct ties ties;
        size_t first = i / sampler->of.points * sampler->of.channels, matches = 0;
        int chosen = 0;
        ties_find(&ties, sampler, index, at, i);
        for (int choice = 0; device && ties.open && choice < 1 << sampler->of.dims; choice++) {
            if (choice & ~ties.open) continue;
            int64_t flat = ties_choose(&ties, sampler, index, i, choice);
            if (!has_values_of(sampler, theirs, first, i % sampler->of.points, flat)) continue;
            if (!matches++) chosen = choice;
        }
        (void)ties_choose(&ties, sampler, index, i, chosen);
        left[i] = !device || matches > 1;
    }
    return left;
}

/* In a model: along a dimension where a place is half-way and a choice is `left`, either input may have all of the weight. */
static struct node *open_nearest(const struct sampler *sampler, int64_t **index,
                                 struct node *const *at, const bool *left)
{
    struct tape *tape = sampler->of.tape;
    struct stencil stencil = { .taps = 2 };
    bool any = false;
    for (int d = 0; d < sampler->of.dims; d++)
        for (int k = 0; k < 2; k++) {
            struct node *weight = node_new_real(tape, DT_NONE, at[d]->rank, at[d]->shape);
            stencil.weight[d][k] = weight;
            stencil.index[d][k] = tape_allocate(tape, at[d]->n, sizeof(int64_t));
            if (!node_need_errors(tape, weight) || tape_failed(tape)) return sampler->of.x;
            for (size_t i = 0; i < at[d]->n; i++) {
                struct ties ties;
                ties_find(&ties, sampler, index, at, i);
                bool open = left[i] && ties.open >> d & 1;
                any |= open;
                weight->value[i] = k == 0;
                weight->error[i] = open;
                stencil.index[d][k][i] = ties.side[d][k];
            }
        }
    return any ? stencil_sum(&sampler->of, &stencil) : stencil_gathered(&sampler->of, index);
}

static struct node *nearest(const struct sampler *sampler)
{
    struct tape *tape = sampler->of.tape;
    struct node *at[STENCIL_MOST_DIMS], *zero = NULL;
    int64_t *index[STENCIL_MOST_DIMS];
    for (int d = 0; d < sampler->of.dims; d++) {
        at[d] = places(sampler, d);
        index[d] = tape_allocate(tape, at[d]->n, sizeof(int64_t));
        double *unclipped = tape_allocate(tape, at[d]->n, sizeof *unclipped);
        if (tape_failed(tape)) return sampler->of.x;
        at[d] = padded_places(sampler, at[d], sampler->of.size[d], unclipped);
        const double *value = node_values(tape, at[d]);
        if (tape_failed(tape)) return sampler->of.x;
        for (size_t i = 0; i < at[d]->n; i++) index[d][i] = stencil_index(nearbyint(value[i]));
        struct node *none = node_scale(tape, places(sampler, d), 0);
        zero = zero ? node_add(tape, zero, none) : none;
    }
    bool *left = settle_nearest(sampler, index, at);
    if (tape_failed(tape)) return sampler->of.x;
    struct node *y = tape_is_model(tape) ? open_nearest(sampler, index, at, left)
                                         : stencil_gathered(&sampler->of, index);
    /* The grid's gradient is zero, not absent. */
    return sampler->grid->tracked
               ? node_straight_through(tape, y,
                                       node_add(tape, y, stencil_over_channels(&sampler->of, zero)))
               : y;
}

/* ---- grid_sample --------------------------------------------------------------------- */

static bool open_sampler(struct sampler *sampler, struct call *call)
{
    *sampler = (struct sampler){ .call = call,
                                 .grid = call_tensor(call, "grid"),
                                 .of = { call->tape, .x = call_tensor(call, "input") } };
    const struct node *x = sampler->of.x, *grid = sampler->grid;
    if (tape_failed(call->tape)) return false;
    sampler->of.dims = x->rank - 2;
    sampler->align = call_bool(call, "align_corners");
    if (!call_require(call,
                      sampler->of.dims >= 2 && sampler->of.dims <= STENCIL_MOST_DIMS &&
                          grid->rank == x->rank && grid->shape[0] == x->shape[0] &&
                          grid->shape[grid->rank - 1] == sampler->of.dims && !x->integer &&
                          !grid->integer,
                      "input and grid do not fit each other"))
        return false;
    sampler->of.rank = x->rank;
    sampler->of.batch = (size_t)x->shape[0];
    sampler->of.channels = (size_t)x->shape[1];
    sampler->of.points = 1;
    sampler->of.shape[0] = x->shape[0];
    sampler->of.shape[1] = x->shape[1];
    for (int d = 0; d < sampler->of.dims; d++) {
        sampler->of.size[d] = x->shape[d + 2];
        sampler->of.shape[d + 2] = grid->shape[d + 1];
        sampler->of.points *= (size_t)grid->shape[d + 1];
        if (!sampler->of.size[d]) call_fail(call, "an empty input cannot be sampled");
    }
    return !tape_failed(call->tape);
}

/* The index of a name in a list, or the number itself (torch.grid_sampler). */
static int choice(struct call *call, const char *name, const char *const *names)
{
    const struct value *value = call_value(call, name);
    if (value->kind == VALUE_INT && value->integer >= 0 && value->integer < 3)
        return (int)value->integer;
    for (int k = 0; k < 3; k++)
        if (value->kind == VALUE_STRING && !strcmp(value->string, names[k])) return k;
    call_fail(call, "an unknown value of '%s'", name);
    return 0;
}

static struct node *sampled(const struct sampler *sampler)
{
    return sampler->mode == GRID_BILINEAR  ? bilinear(sampler)
           : sampler->mode == GRID_NEAREST ? nearest(sampler)
                                           : bicubic(sampler);
}

/* Of what the model has sampled as y: the coordinates of points that have an infinity or a NaN among their inputs, as a mask; NULL where there are none. */
static struct node *endless_points(const struct sampler *sampler, struct node *y)
{
    const struct sampled *of = &sampler->of;
    struct node *grid = sampler->grid, *mask = NULL;
    const double *value = node_values(of->tape, y);
    for (size_t i = 0; i < y->n && !tape_failed(of->tape); i++) {
        if (isfinite(value[i])) continue;
        if (!mask) {
            mask = node_new_integer(of->tape, DT_BOOL, grid->rank, grid->shape);
            if (tape_failed(of->tape)) return NULL;
            memset(mask->integer, 0, mask->n * sizeof *mask->integer);
        }
        size_t batch = i / (of->points * of->channels), dims = (size_t)of->dims;
        int64_t *own = mask->integer + (batch * of->points + i % of->points) * dims;
        for (size_t d = 0; d < dims; d++) own[d] = 1;
    }
    return mask;
}

/* text: the parameter that has the mode. */
static void grid_sample(struct call *call)
{
    static const char *const mode_names[] = { "bilinear", "nearest", "bicubic" };
    static const char *const padding_names[] = { "zeros", "border", "reflection" };
    struct sampler sampler;
    if (!open_sampler(&sampler, call)) return;
    sampler.mode = (enum grid_mode)choice(call, call->op->text, mode_names);
    sampler.padding = (enum grid_padding)choice(call, "padding_mode", padding_names);
    if (!call_require(call, sampler.mode != GRID_BICUBIC || sampler.of.dims == 2,
                      "bicubic sampling is for 2 spatial dimensions"))
        return;
    struct node *y = sampled(&sampler), *open = NULL;
    /* Slopes of weights sum to 0: among infinities kernels have infinities or NaN by the order of their factors, and 0 times these where places were clipped. */
    if (tape_is_model(call->tape) && sampler.grid->tracked && sampler.mode != GRID_NEAREST)
        open = endless_points(&sampler, y);
    if (open) {
        sampler.grid = node_model_any_slope(call->tape, sampler.grid, open);
        y = sampled(&sampler);
    }
    call_return_typed(call, y, sampler.of.x->dtype);
}

static void grid_sample_backward(struct call *call)
{
    call_return_gradients(call, grid_sample, (const char *const[]){ "input", "grid", NULL });
}

/* ---- affine_grid ------------------------------------------------------------------------- */

/* n places from -1 to 1: of centres, or with aligned corners from end to end. */
static struct node *base_places(struct tape *tape, int64_t n, bool align)
{
    struct node *i = node_new_real(tape, DT_NONE, 1, &n);
    if (tape_failed(tape)) return tape_failure(tape);
    for (int64_t k = 0; k < n; k++) i->value[k] = (double)(2 * k - (n - 1));
    if (n == 1) return i; /* a single place lies in the middle */
    return node_divide(tape, i, node_scalar(tape, (double)(align ? n - 1 : n)));
}

static void affine_grid(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *theta = call_tensor(call, "theta");
    int64_t size[STENCIL_MOST_DIMS + 2], spatial[STENCIL_MOST_DIMS + 1];
    int dims = call_ints(call, "size", size, STENCIL_MOST_DIMS + 2) - 2;
    bool align = call_bool(call, "align_corners");

    if (!call_require(call,
                      dims >= 2 && theta->rank == 3 && theta->shape[0] == size[0] &&
                          theta->shape[1] == dims && theta->shape[2] == dims + 1,
                      "theta and size do not fit each other"))
        return;
    int64_t points = 1;
    for (int d = 0; d < dims; d++) {
        spatial[d] = size[d + 2];
        if (!call_require(call,
                          spatial[d] >= 1 && spatial[d] <= INT32_MAX &&
                              !__builtin_mul_overflow(points, spatial[d], &points),
                          "a grid extent of %lld", (long long)spatial[d]))
            return;
    }
    spatial[dims] = 1;
    struct node *columns[STENCIL_MOST_DIMS + 1];
    for (int k = 0; k < dims; k++) { /* x, y, z: the last spatial dimension first */
        int64_t own[STENCIL_MOST_DIMS + 1] = { 1, 1, 1, 1 };
        own[dims - 1 - k] = spatial[dims - 1 - k];
        struct node *base =
            node_reshape(tape, base_places(tape, spatial[dims - 1 - k], align), dims + 1, own);
        columns[k] = node_broadcast(tape, base, dims + 1, spatial);
    }
    columns[dims] = node_constant(tape, DT_NONE, 1, dims + 1, spatial);
    struct node *base = node_concatenate(tape, columns, dims + 1, dims);
    base = node_reshape(tape, base, 3, (int64_t[]){ 1, points, dims + 1 });
    struct node *grid = node_matmul(tape, base, false, theta, true);
    int64_t shape[STENCIL_MOST_DIMS + 2] = { size[0] };
    memcpy(shape + 1, spatial, (size_t)dims * sizeof *shape);
    shape[dims + 1] = dims;
    call_return_typed(call, node_reshape(tape, grid, dims + 2, shape), theta->dtype);
}

/* clang-format off */
const struct op ops_grid[] = {
    { "grid_sample", FUNCTIONAL, "(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None)", grid_sample, OP_ONE_NODE, 0, "mode" },
    { "grid_sampler|grid_sampler_2d|grid_sampler_3d", TORCH | ATEN, "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)", grid_sample, OP_ONE_NODE, 0, "interpolation_mode" },
    { "grid_sampler_2d_backward|grid_sampler_3d_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[]? output_mask=None)", grid_sample_backward, OP_NO_GRADIENT, 0, "interpolation_mode" },
    { "affine_grid", FUNCTIONAL, "(Tensor theta, int[] size, bool? align_corners=None)", affine_grid, OP_ONE_NODE, 0, NULL },
    { "affine_grid_generator", TORCH | ATEN, "(Tensor theta, int[] size, bool align_corners)", affine_grid, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(grid);
