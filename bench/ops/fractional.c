/* Fractional max pooling (Graham, 2014): windows whose starts follow a random sequence.
 *
 * Given the sample u of a dimension, window i starts at floor((i + u) a) - floor(u a) with
 * a = (in - k) / (out - 1), the last one at in - k. When the samples are not arguments they
 * are the device's secret, but few sequences are possible: for each plane the first
 * combination is taken that explains every output of the device, so its result is judged as
 * exactly as if the samples were known. A result that no combination explains is compared
 * with that of u = 1/2. Where elements are equal several may explain it, with other elements behind a result:
 * then a model lets its gradient be at either.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/stated_gradient.h"

enum { MOST_DIMS = 3 };

struct fractional {
    int dims;
    size_t planes;
    int64_t in[MOST_DIMS], out[MOST_DIMS], kernel[MOST_DIMS];
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    /* The possible sequences of each dimension: count of them, `out` starts each. */
    int64_t *starts[MOST_DIMS];
    size_t count[MOST_DIMS];
};

static void make_sequence(int64_t *starts, const struct fractional *fractional, int d, double u,
                          bool single)
{
    int64_t out = fractional->out[d], span = fractional->in[d] - fractional->kernel[d];
    for (int64_t i = 0; i + 1 < out; i++) {
        if (single) {
            float a = (float)span / (float)(out - 1), s = (float)u;
            starts[i] = (int64_t)(((float)i + s) * a) - (int64_t)(s * a);
        } else {
            double a = (double)span / (double)(out - 1);
            starts[i] = (int64_t)(((double)i + u) * a) - (int64_t)(u * a);
        }
    }
    if (out) starts[out - 1] = span;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All sequences: between consecutive u at which some (i + u) a is whole nothing changes.
 * That of u = 1/2 comes first. */
static bool make_all(struct fractional *fractional, struct tape *tape, int d)
{
    size_t out = (size_t)fractional->out[d], n = 0;
    double a = out > 1 ? (double)(fractional->in[d] - fractional->kernel[d]) / (double)(out - 1)
                       : 0;
    size_t most = (out + 1) * ((size_t)ceil(a) + 2) + 2;
    double *breaks = tape_allocate(tape, most, sizeof *breaks);
    fractional->starts[d] = tape_allocate(tape, (most + 1) * out, sizeof *fractional->starts[d]);
    if (tape_failed(tape)) return false;
    breaks[n++] = 0;
    for (size_t i = 0; i + 1 < out && a > 0; i++)
        for (double m = ceil((double)i * a); m < (double)(i + 1) * a && n < most - 1; m++)
            breaks[n++] = m / a - (double)i;
    qsort(breaks, n, sizeof *breaks, by_value);
    breaks[n++] = 1;
    make_sequence(fractional->starts[d], fractional, d, 0.5, false);
    fractional->count[d] = 1;
    for (size_t k = 0; k + 1 < n; k++) {
        int64_t *next = fractional->starts[d] + fractional->count[d] * out;
        if (breaks[k + 1] - breaks[k] < 0x1p-40) continue;
        make_sequence(next, fractional, d, (breaks[k] + breaks[k + 1]) / 2, false);
        if (memcmp(next, next - out, out * sizeof *next)) fractional->count[d]++;
    }
    return true;
}

/* The first largest element of a window, PyTorch's order; a later NaN
 * replaces everything. */
static size_t window_maximum(const struct fractional *fractional, const double *plane,
                             const int64_t *at)
{
    size_t best = SIZE_MAX;
    int64_t end[MOST_DIMS];
    for (int d = 0; d < MOST_DIMS; d++) end[d] = at[d] + fractional->kernel[d];
    for (int64_t z = at[0]; z < end[0]; z++)
        for (int64_t y = at[1]; y < end[1]; y++)
            for (int64_t x = at[2]; x < end[2]; x++) {
                size_t k = (size_t)((z * fractional->in[1] + y) * fractional->in[2] + x);
                if (best == SIZE_MAX || plane[k] > plane[best] || isnan(plane[k])) best = k;
            }
    return best;
}

/* Maxima of one plane for one sequence per dimension. With `got`, stop and return false at
 * the first that is not the device's. */
static bool pool_plane(const struct fractional *fractional, const double *plane,
                       const int64_t *const *starts, const double *got, int64_t *index)
{
    size_t at = 0;
    for (int64_t z = 0; z < fractional->out[0]; z++)
        for (int64_t y = 0; y < fractional->out[1]; y++)
            for (int64_t x = 0; x < fractional->out[2]; x++, at++) {
                int64_t place[MOST_DIMS] = { starts[0][z], starts[1][y], starts[2][x] };
                size_t best = window_maximum(fractional, plane, place);
                if (got && got[at] != plane[best] && !(isnan(got[at]) && isnan(plane[best])))
                    return false;
                index[at] = (int64_t)best;
            }
    return true;
}

static size_t combinations(const struct fractional *fractional)
{
    return fractional->count[0] * fractional->count[1] * fractional->count[2];
}

/* The sequences of combination k. */
static void choose_starts(const int64_t **starts, const struct fractional *fractional, size_t k)
{
    for (int d = 0; d < MOST_DIMS; d++) {
        starts[d] = fractional->starts[d] + k % fractional->count[d] * (size_t)fractional->out[d];
        k /= fractional->count[d];
    }
}

static void explain_plane(const struct fractional *fractional, const double *plane,
                          const double *got, int64_t *index)
{
    const int64_t *starts[MOST_DIMS];
    for (size_t k = 0; got && k < combinations(fractional); k++) {
        choose_starts(starts, fractional, k);
        if (pool_plane(fractional, plane, starts, got, index)) return;
    }
    for (int d = 0; d < MOST_DIMS; d++) starts[d] = fractional->starts[d];
    (void)pool_plane(fractional, plane, starts, NULL, index);
}

/* Sequences of one plane from given samples: PyTorch lists them width first in 2-D and
 * depth first in 3-D. */
static void sampled_plane(const struct fractional *fractional, const double *plane,
                          const double *samples, bool single, int64_t *const *scratch,
                          int64_t *index)
{
    const int64_t *starts[MOST_DIMS];
    for (int d = 0; d < MOST_DIMS; d++) {
        starts[d] = fractional->starts[d];
        int k = fractional->dims == 2 ? 2 - d : d;
        if (d < MOST_DIMS - fractional->dims) continue;
        make_sequence(scratch[d], fractional, d, samples[k], single);
        starts[d] = scratch[d];
    }
    (void)pool_plane(fractional, plane, starts, NULL, index);
}

static bool open_fractional(struct fractional *fractional, struct call *call, const struct node *x)
{
    const struct value *size = call_value(call, "output_size"),
                       *by = call_value(call, "output_ratio");
    int64_t kernel[MOST_DIMS], out[MOST_DIMS] = { 0 };

    *fractional =
        (struct fractional){ .dims = (int)call->op->detail, .planes = 1, .rank = x->rank };
    if (!call_require(call, x->rank == fractional->dims + 1 || x->rank == fractional->dims + 2,
                      "%d spatial dimensions are needed", fractional->dims))
        return false;
    call_ints_repeated(call, "kernel_size", kernel, fractional->dims);
    if (size->kind != VALUE_NONE) call_ints_repeated(call, "output_size", out, fractional->dims);
    else if (by->kind == VALUE_NONE) call_fail(call, "output_size or output_ratio is needed");
    memcpy(fractional->shape, x->shape, sizeof fractional->shape);
    for (int d = 0; d < x->rank - fractional->dims; d++) fractional->planes *= (size_t)x->shape[d];
    for (int d = 0; d < MOST_DIMS && !tape_failed(call->tape); d++) {
        int own = d - (MOST_DIMS - fractional->dims);
        fractional->in[d] = fractional->out[d] = fractional->kernel[d] = 1;
        if (own < 0) {
            (void)make_all(fractional, call->tape, d);
            continue;
        }
        fractional->in[d] = x->shape[x->rank - fractional->dims + own];
        if (size->kind == VALUE_NONE) {
            const struct value *item = value_is_sequence(by)
                                           ? &by->list.items[by->list.count > (size_t)own ? own : 0]
                                           : by;
            out[own] =
                (int64_t)((double)fractional->in[d] * (item->kind == VALUE_FLOAT ? item->real : 1));
        }
        fractional->out[d] = out[own];
        fractional->kernel[d] = kernel[own];
        fractional->shape[x->rank - fractional->dims + own] = out[own];
        if (out[own] < 1 || kernel[own] < 1 || out[own] > fractional->in[d] ||
            kernel[own] > fractional->in[d] || out[own] + kernel[own] - 1 > fractional->in[d])
            call_fail(call, "%lld windows of %lld do not fit %lld elements", (long long)out[own],
                      (long long)kernel[own], (long long)fractional->in[d]);
        else (void)make_all(fractional, call->tape, d);
    }
    return !tape_failed(call->tape);
}

struct tied_place {
    const struct node *x;
    const int64_t *own;
    size_t plane, per_plane;
};

static bool same_value(void *context, size_t i, int64_t index)
{
    const struct tied_place *tied = context;
    size_t first = i / tied->per_plane * tied->plane;
    return index >= 0 && (size_t)index < tied->plane &&
           tied->x->value[first + (size_t)index] == tied->x->value[first + (size_t)tied->own[i]];
}

/* The results of all planes, and whether an element of its plane could be behind a result besides its own. */
struct choices {
    const int64_t *own;
    bool *other; /* (results, elements of a plane) */
    size_t plane, per_plane;
};

/* The cotangent as the error of all elements that could have it. */
static void choices_backward(struct tape *tape, struct node *node, struct node *cotangent,
                             const void *parameters)
{
    const struct choices *choices = parameters;
    struct node *x = node->inputs[1];
    const double *c = node_values(tape, cotangent);
    struct node *none = node_constant(tape, DT_NONE, 0, x->rank, x->shape),
                *open = node_constant(tape, DT_NONE, 0, x->rank, x->shape);
    for (size_t i = 0; i < node->n && !tape_failed(tape); i++) {
        double *plane = open->value + i / choices->per_plane * choices->plane;
        const bool *other = choices->other + i * choices->plane;
        bool any = false;
        for (size_t k = 0; k < choices->plane; k++) {
            if (other[k]) plane[k] += fabs(c[i]);
            any |= other[k];
        }
        if (any) plane[choices->own[i]] += fabs(c[i]);
    }
    double whole = tape_is_typical(tape) ? 4 : 1; /* of a rounding */
    tape_accumulate(tape, x, node_model_error(tape, none, open, whole / tape->unit));
}

/* In a model: y, the results, whose gradient is at one of the elements that explain them. y itself where there would be too much to
 * look at. */
static struct node *with_choices(struct tape *tape, struct node *y, struct node *x,
                                 const struct fractional *fractional, const double *got,
                                 struct choices choices)
{
    enum { MOST_COMBINATIONS = 1 << 12, MOST_PLACES = 1 << 22 };
    const int64_t *starts[MOST_DIMS];
    if (!tape_is_model(tape) || !x->tracked || !got || choices.plane > MOST_PLACES / (y->n + 1) ||
        combinations(fractional) > MOST_COMBINATIONS)
        return y;
    struct choices *kept = tape_allocate(tape, 1, sizeof *kept);
    int64_t *index = tape_allocate(tape, choices.per_plane, sizeof *index);
    choices.other = tape_allocate(tape, y->n * choices.plane, sizeof *choices.other);
    if (tape_failed(tape)) return y;
    memset(choices.other, 0, y->n * choices.plane * sizeof *choices.other);
    *kept = choices;
    for (size_t p = 0; p < fractional->planes; p++)
        for (size_t k = 0, first = p * choices.per_plane; k < combinations(fractional); k++) {
            choose_starts(starts, fractional, k);
            if (!pool_plane(fractional, x->value + p * choices.plane, starts, got + first, index))
                continue;
            for (size_t i = 0; i < choices.per_plane; i++)
                if (index[i] != choices.own[first + i])
                    choices.other[(first + i) * choices.plane + (size_t)index[i]] = true;
        }
    struct node *none = node_constant(tape, y->dtype, 0, y->rank, y->shape);
    return node_add(tape, y, node_stated_gradient(tape, none, 1, &x, choices_backward, kept));
}

/* text: "indices" when the API always returns them. */
static void fractional_max_pool(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"),
                *samples = call_optional_tensor(call, "_random_samples");
    struct fractional fractional;

    x = node_to_real(tape, x);
    const double *value = node_values(tape, x);
    if (!open_fractional(&fractional, call, x)) return;
    struct node *index = node_new_integer(tape, DT_I64, fractional.rank, fractional.shape);
    size_t plane = (size_t)(fractional.in[0] * fractional.in[1] * fractional.in[2]),
           per_plane = (size_t)(fractional.out[0] * fractional.out[1] * fractional.out[2]);
    int64_t *scratch[MOST_DIMS];
    for (int d = 0; d < MOST_DIMS; d++)
        scratch[d] = tape_allocate(tape, (size_t)fractional.out[d], sizeof(int64_t));
    if (!call_require(call, !samples || samples->n >= fractional.planes * (size_t)fractional.dims,
                      "there are too few random samples"))
        return;
    const double *sample = samples ? node_values(tape, samples) : NULL;
    struct node *device = samples ? NULL : call_device_numbers(call, 0, index->n);
    const double *got = device ? node_values(tape, device) : NULL;
    if (tape_failed(tape)) return;
    for (size_t p = 0; p < fractional.planes; p++) {
        int64_t *own = index->integer + p * per_plane;
        if (sample)
            sampled_plane(&fractional, value + p * plane, sample + p * (size_t)fractional.dims,
                          x->dtype != DT_F64, scratch, own);
        else explain_plane(&fractional, value + p * plane, got ? got + p * per_plane : NULL, own);
    }
    bool both = call->op->text || call_bool(call, "return_indices");
    struct tied_place tie = { x, index->integer, plane, per_plane };
    if (both) index = call_settled_indices(call, 1, index, same_value, &tie);
    int64_t *map = tape_allocate(tape, index->n, sizeof *map);
    if (!map) return;
    for (size_t i = 0; i < index->n; i++)
        map[i] = (int64_t)(i / per_plane * plane) + index->integer[i];
    struct node *y = node_gather(tape, x, fractional.rank, fractional.shape, map, 0);
    if (!both)
        y = with_choices(tape, y, x, &fractional, got,
                         (struct choices){ index->integer, NULL, plane, per_plane });
    call_return(call, y);
    if (both) call_return(call, index);
}

/* clang-format off */
#define FRACTIONAL_ROW(name, dims, text) \
    { name, FUNCTIONAL, "(Tensor input, int[] kernel_size, int[]? output_size=None, Any output_ratio=None, bool return_indices=False, Tensor? _random_samples=None)", fractional_max_pool, OP_ONE_NODE, dims, text }

const struct op ops_fractional[] = {
    FRACTIONAL_ROW("fractional_max_pool2d", 2, NULL),
    FRACTIONAL_ROW("fractional_max_pool3d", 3, NULL),
    FRACTIONAL_ROW("fractional_max_pool2d_with_indices", 2, "indices"),
    FRACTIONAL_ROW("fractional_max_pool3d_with_indices", 3, "indices"),
};
/* clang-format on */
OP_TABLE_END(fractional);
