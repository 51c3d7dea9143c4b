/* Affine views, their adjoint, and permutations.
 *
 * Slices, flips, diagonals, windows and as_strided are one primitive: an offset and a
 * stride per dimension. A view whose elements lie together shares them with its source. Its
 * adjoint places elements at a view of zeros; the cotangents of many parts of one value
 * (split, unbind) gather in one such node, so that n elements cut into k parts cost n and
 * not k n.
 */
#include "bench/primitives/view.h"

#include <string.h>

#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/moved.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/known_values.h"
#include "core/checked.h"

/* ---- affine views ------------------------------------------------------------------- */

struct view {
    int rank;
    int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], offset;
    /* Dimensions of extent above 1 by falling |stride|, when each steps over all that the
     * later ones reach together: then no two elements meet, and a place tells its index by
     * division. */
    bool nested, empty;
    int levels, order[TENSOR_MAX_RANK];
};

static size_t view_source(const struct view *view, size_t i)
{
    int64_t at = view->offset;
    for (int d = view->rank - 1; d >= 0; d--) {
        at += (int64_t)(i % (size_t)view->shape[d]) * view->stride[d];
        i /= (size_t)view->shape[d];
    }
    return (size_t)at;
}

static uint64_t magnitude(int64_t x) { return x < 0 ? -(uint64_t)x : (uint64_t)x; }

static void view_order(struct view *view)
{
    uint64_t reach = 0;
    view->levels = 0;
    view->nested = true;
    view->empty = false;
    for (int d = 0; d < view->rank; d++) {
        view->empty = view->empty || view->shape[d] == 0;
        if (view->shape[d] <= 1) continue;
        int k = view->levels++;
        for (; k && magnitude(view->stride[view->order[k - 1]]) < magnitude(view->stride[d]); k--)
            view->order[k] = view->order[k - 1];
        view->order[k] = d;
    }
    for (int k = view->levels - 1; k >= 0; k--) {
        int d = view->order[k];
        if (magnitude(view->stride[d]) <= reach) view->nested = false;
        reach += magnitude(view->stride[d]) * (uint64_t)(view->shape[d] - 1);
    }
}

/* The element of a nested view that lies at `place`; false when none does. */
static bool view_find(const struct view *view, size_t place, size_t *element)
{
    int64_t rest = (int64_t)place - view->offset, index[TENSOR_MAX_RANK] = { 0 };

    if (view->empty) return false;
    for (int k = 0; k < view->levels; k++) { /* from the lowest place on */
        int d = view->order[k];
        if (view->stride[d] < 0) rest -= (view->shape[d] - 1) * view->stride[d];
    }
    for (int k = 0; k < view->levels; k++) {
        int d = view->order[k];
        int64_t step = (int64_t)magnitude(view->stride[d]);
        if (rest < 0 || rest / step >= view->shape[d]) return false;
        index[d] = view->stride[d] < 0 ? view->shape[d] - 1 - rest / step : rest / step;
        rest %= step;
    }
    *element = 0;
    for (int d = 0; d < view->rank; d++)
        *element = *element * (size_t)view->shape[d] + (size_t)index[d];
    return rest == 0;
}

/* ---- places: the adjoint of a view -------------------------------------------------- */

/* The sum of parts, each at its own view of the result; `fill` where none lies. The
 * cotangent of a value that was cut into many parts is one such node, extended part by
 * part: `owner` is the only node whose cotangent it is, and nothing reads it before the
 * last part has come. */
struct assembly {
    double fill;
    const struct node *owner;
    const struct view **views; /* one per input of the node */
    int capacity;
};

static void assembly_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct assembly *assembly = node->state;
    for (int k = 0; k < node->input_count; k++) {
        const struct view *view = assembly->views[k];
        if (node->inputs[k]->tracked)
            tape_accumulate(
                tape, node->inputs[k],
                node_view(tape, cotangent, view->rank, view->shape, view->stride, view->offset));
    }
}

static void assembly_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct assembly *assembly = node->state;
    bool found = false;
    size_t element;
    arb_t term;

    arb_init(term);
    arb_zero(ball);
    for (int k = 0; k < node->input_count; k++) {
        if (!view_find(assembly->views[k], i, &element)) continue;
        enclosure_element(enclosure, term, node->inputs[k], element);
        arb_add(ball, ball, term, enclosure->precision);
        found = true;
    }
    if (!found) arb_set_d(ball, assembly->fill);
    arb_clear(term);
}

static const struct primitive assembly_primitive = { "a placed part", assembly_backward,
                                                     assembly_enclose, NULL };

/* Until a part is inexact or two overlap, the assembly is exact and has no array
 * of bounds. */
static bool assembly_errors(struct tape *tape, struct node *node)
{
    if (node->error || !tape_is_reference(tape)) return true;
    if (!node_need_errors(tape, node)) return false;
    memset(node->error, 0, node->n * sizeof *node->error);
    return true;
}

/* One row of a part into the assembly: `count` elements from `from` on, `step` apart at
 * `to`. */
struct placing {
    struct tape *tape;
    struct node *node;
    const struct node *part;
    bool first; /* nothing was placed before: elements replace the fill */
};

static void place_reals(const struct placing *p, size_t from, int64_t count, int64_t to,
                        int64_t step)
{
    bool single = tape_is_single(p->tape);
    for (int64_t k = 0; k < count; k++, to += step) {
        size_t at = from + (size_t)k;
        double *value = &p->node->value[to], before = *value;
        if (p->first || before == 0) {
            *value = p->part->value[at];
            if (p->node->error)
                p->node->error[to] = node_error(p->part, at) + (p->first ? 0 : p->node->error[to]);
            continue;
        }
        if (!assembly_errors(p->tape, p->node)) return;
        double sum = before + p->part->value[at];
        *value = single ? (float)sum : sum;
        if (p->node->error)
            p->node->error[to] = isfinite(sum) ? (p->node->error[to] + node_error(p->part, at) +
                                                  p->tape->unit * fabs(sum)) *
                                                     (1 + 0x1p-50)
                                               : 0;
    }
}

static void place_part(const struct placing *p, const struct view *view)
{
    int64_t index[TENSOR_MAX_RANK] = { 0 }, to = view->offset;
    int last = view->rank - 1;
    int64_t count = last >= 0 ? view->shape[last] : 1, step = last >= 0 ? view->stride[last] : 1;

    for (size_t from = 0; from < p->part->n; from += (size_t)count) {
        if (p->node->integer)
            for (int64_t k = 0; k < count; k++)
                p->node->integer[to + k * step] = p->part->integer[from + (size_t)k];
        else place_reals(p, from, count, to, step);
        for (int d = last - 1; d >= 0; d--) {
            to += view->stride[d];
            if (++index[d] < view->shape[d]) break;
            to -= view->stride[d] * view->shape[d];
            index[d] = 0;
        }
    }
}

/* Add a part to an assembly whose other parts are in place. */
static void assembly_extend(struct tape *tape, struct node *node, struct node *part,
                            const struct view *view)
{
    struct assembly *assembly = node->state;
    int count = node->input_count;

    (void)node_values(tape, part);
    if (count == assembly->capacity) {
        int capacity = count ? 2 * count : 1;
        struct node **inputs = tape_allocate(tape, (size_t)capacity, sizeof *inputs);
        const struct view **views = tape_allocate(tape, (size_t)capacity, sizeof *views);
        if (!inputs || !views) return;
        if (count) memcpy(inputs, node->inputs, (size_t)count * sizeof *inputs);
        if (count) memcpy(views, assembly->views, (size_t)count * sizeof *views);
        node->inputs = inputs;
        assembly->views = views;
        assembly->capacity = capacity;
    }
    if (!node_is_exact(part) && !assembly_errors(tape, node)) return;
    node->inputs[count] = part;
    assembly->views[count] = view;
    node->input_count++;
    node->tracked = node->tracked || part->tracked;
    if (tape_failed(tape)) return; /* its values could not be made */
    place_part(&(struct placing){ tape, node, part, count == 0 }, view);
}

/* An assembly of one part. */
static struct node *assembly_new(struct tape *tape, struct node *part, const struct view *view,
                                 double fill, enum dtype dtype, int rank, const int64_t *shape)
{
    struct assembly *assembly = tape_allocate(tape, 1, sizeof *assembly);
    if (!assembly) return tape_failure(tape);
    *assembly = (struct assembly){ fill, NULL, NULL, 0 };
    struct node *node = node_new(tape, &assembly_primitive, dtype, rank, shape, 0, NULL, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    node->state = assembly;
    for (size_t i = 0; i < node->n; i++) node->value[i] = fill;
    assembly_extend(tape, node, part, view);
    return node;
}

/* Does a part meet others there? Where kernels round between their steps each sum of two is one of these steps. */
static bool is_added(const struct tape *tape, const struct node *node, const struct view *view,
                     size_t n)
{
    if (!(tape->stage > 0 || tape->deviation) || node->integer) return false;
    for (size_t i = 0; i < n; i++)
        if (node->value[view_source(view, i)] != 0) return true;
    return false;
}

static void view_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct view *view = node->parameters;
    struct node *x = node->inputs[0];

    if (!view->nested) {
        int64_t *map = tape_allocate(tape, node->n, sizeof *map);
        if (!map) return;
        for (size_t i = 0; i < node->n; i++) map[i] = (int64_t)view_source(view, i);
        tape_accumulate(tape, x, node_scatter_add(tape, cotangent, x->rank, x->shape, map));
        return;
    }
    struct node *sum = x->cotangent;
    if (sum && sum->primitive == &assembly_primitive &&
        ((const struct assembly *)sum->state)->owner == x &&
        !is_added(tape, sum, view, cotangent->n)) {
        assembly_extend(tape, sum, cotangent, view);
        return;
    }
    sum = assembly_new(tape, cotangent, view, 0, cotangent->dtype, x->rank, x->shape);
    if (tape_failed(tape)) return;
    if (!x->cotangent) ((struct assembly *)sum->state)->owner = x;
    tape_accumulate(tape, x, sum);
}

static void view_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    enclosure_element(enclosure, ball, node->inputs[0], view_source(node->parameters, i));
}

static bool view_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    return enclosure_pair(enclosure, out, node->inputs[0], view_source(node->parameters, i));
}

static const struct primitive view_primitive = { "a view", view_backward, view_enclose, view_pair };

/* Do the elements of the view lie together in order? */
static bool view_is_dense(const struct view *view)
{
    int64_t step = 1;
    for (int d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] != 1 && view->stride[d] != step) return false;
        step *= view->shape[d];
    }
    return true;
}

/* A node over elements of x from `offset` on: no copy is made. */
static struct node *shared(struct tape *tape, const struct primitive *primitive, struct node *x,
                           const struct view *view)
{
    struct node *node = node_sharing(tape, primitive, x, 1, &x, view);
    if (tape_failed(tape)) return tape_failure(tape);
    node->rank = view->rank;
    memcpy(node->shape, view->shape, sizeof node->shape);
    (void)shape_elements(&node->n, node->rank, node->shape);
    node->single = NULL;
    if (x->integer) {
        node->integer += view->offset;
        node->value = NULL;
    } else {
        node->value += view->offset;
        if (node->error) node->error += view->offset;
    }
    return node;
}

static bool is_same_view(const struct node *a, const struct node *b)
{
    const struct view *v = a->parameters, *w = b->parameters;
    size_t bytes = (size_t)v->rank * sizeof *v->stride;
    return v->rank == w->rank && v->offset == w->offset && !memcmp(v->shape, w->shape, bytes) &&
           !memcmp(v->stride, w->stride, bytes);
}

static struct node *strided(struct tape *tape, const struct primitive *primitive, struct node *x,
                            struct view *view)
{
    const struct strides strides = { view->rank, view->shape, view->stride, view->offset };
    size_t n;
    view_order(view);
    if (view_is_dense(view)) return shared(tape, primitive, x, view);
    bool reorders = view->nested && shape_elements(&n, view->rank, view->shape) && n == x->n;
    struct node *node = reorders ? moved_in_runs(tape, primitive, x, &strides, view, is_same_view)
                                 : NULL;
    if (node) return node;
    node = moved(tape, primitive, x, view->rank, view->shape, view);
    if (tape_failed(tape)) return tape_failure(tape);
    double *known = x->integer ? NULL : known_values_share(tape, node, is_same_view);
    if (x->integer) copy_strided(tape->help, node->integer, x->integer, &strides, node->n);
    else if (known) node->value = known;
    else copy_strided(tape->help, node->value, x->value, &strides, node->n);
    if (node->error) copy_strided(tape->help, node->error, x->error, &strides, node->n);
    return node;
}

/* Do all elements of the view lie among n? */
static bool view_fits(const struct view *view, size_t n)
{
    int64_t low = view->offset, high = view->offset;
    for (int d = 0; d < view->rank; d++) {
        if (view->shape[d] < 0) return false;
        if (view->shape[d] == 0) return true;
        int64_t reach;
        if (__builtin_mul_overflow(view->shape[d] - 1, view->stride[d], &reach)) return false;
        if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
    }
    return low >= 0 && high < (int64_t)n;
}

static struct view *view_new(struct tape *tape, int rank, const int64_t *shape,
                             const int64_t *stride, int64_t offset)
{
    struct view *view = tape_allocate(tape, 1, sizeof *view);
    if (!view) return NULL;
    if (rank > TENSOR_MAX_RANK) rank = TENSOR_MAX_RANK;
    *view = (struct view){ .rank = rank, .offset = offset };
    if (rank) memcpy(view->shape, shape, (size_t)rank * sizeof *shape);
    if (rank) memcpy(view->stride, stride, (size_t)rank * sizeof *stride);
    for (int d = 0; d < rank; d++) {
        if (shape[d] == 0) view->offset = 0;    /* of nothing */
        if (shape[d] <= 1) view->stride[d] = 0; /* any will do, and it may be large */
    }
    return view;
}

struct node *node_view(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                       const int64_t *stride, int64_t offset)
{
    if (tape_failed(tape)) return tape_failure(tape);
    if (x->imaginary)
        return node_complex(
            tape, node_view(tape, node_real_part(tape, x), rank, shape, stride, offset),
            node_view(tape, node_imaginary_part(tape, x), rank, shape, stride, offset));
    struct view *view = view_new(tape, rank, shape, stride, offset);
    if (!view) return tape_failure(tape);
    if (!view_fits(view, x->n)) {
        tape_fail(tape, STATUS_SKIP, "a view reaches outside its tensor");
        return tape_failure(tape);
    }
    return strided(tape, &view_primitive, x, view);
}

/* Integers placed among copies of the first element of `fill`. */
static struct node *place_integers(struct tape *tape, struct node *x, struct node *fill,
                                   const struct view *view, int rank, const int64_t *shape)
{
    fill = fill ? node_to_integer(tape, fill, x->dtype) : NULL;
    if (tape_failed(tape)) return tape_failure(tape);
    struct node *node =
        node_integer_constant(tape, x->dtype, fill ? fill->integer[0] : 0, rank, shape);
    if (!tape_failed(tape)) place_part(&(struct placing){ tape, node, x, true }, view);
    return node;
}

struct node *node_place(struct tape *tape, struct node *x, struct node *fill, int rank,
                        const int64_t *shape, const int64_t *stride, int64_t offset)
{
    size_t n;
    if (tape_failed(tape)) return tape_failure(tape);
    if (x->imaginary)
        return node_complex(
            tape, node_place(tape, node_real_part(tape, x), fill, rank, shape, stride, offset),
            node_place(tape, node_imaginary_part(tape, x), NULL, rank, shape, stride, offset));
    struct view *view = view_new(tape, x->rank, x->shape, stride, offset);
    if (!view) return tape_failure(tape);
    view_order(view);
    if (!shape_elements(&n, rank, shape) || !view_fits(view, n) || !view->nested) {
        tape_fail(tape, STATUS_SKIP, "elements are placed outside the result or twice");
        return tape_failure(tape);
    }
    if (fill && fill->n != 1) {
        tape_fail(tape, STATUS_SKIP, "the value to fill with must be one number");
        return tape_failure(tape);
    }
    if (x->integer) return place_integers(tape, x, fill, view, rank, shape);
    double value = fill ? *node_values(tape, node_to_real(tape, fill)) : 0;
    return assembly_new(tape, x, view, value, x->dtype, rank, shape);
}

/* ---- permutation -------------------------------------------------------------------- */

static void permute_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct view *view = node->parameters;
    struct node *x = node->inputs[0];
    int64_t stride[TENSOR_MAX_RANK], own[TENSOR_MAX_RANK], out[TENSOR_MAX_RANK];

    /* Input dimension with stride s went to the output dimension whose view stride is s;
     * among extents of 1 any match serves. */
    shape_strides(own, x->rank, x->shape);
    shape_strides(out, node->rank, node->shape);
    for (int d = 0; d < x->rank; d++) {
        stride[d] = 0;
        for (int k = 0; k < node->rank; k++)
            if (x->shape[d] != 1 && node->shape[k] == x->shape[d] && view->stride[k] == own[d])
                stride[d] = out[k];
    }
    tape_accumulate(tape, x, node_view(tape, cotangent, x->rank, x->shape, stride, 0));
}

static const struct primitive permute_primitive = { "permute", permute_backward, view_enclose,
                                                    NULL };

struct node *node_permute(struct tape *tape, struct node *x, const int *order)
{
    int64_t own[TENSOR_MAX_RANK];
    bool moves = false;

    if (tape_failed(tape)) return tape_failure(tape);
    for (int d = 0; d < x->rank; d++) moves = moves || order[d] != d;
    if (!moves) return x;
    if (x->imaginary)
        return node_complex(tape, node_permute(tape, node_real_part(tape, x), order),
                            node_permute(tape, node_imaginary_part(tape, x), order));
    int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];
    shape_strides(own, x->rank, x->shape);
    for (int d = 0; d < x->rank; d++) {
        shape[d] = x->shape[order[d]];
        stride[d] = own[order[d]];
    }
    struct view *view = view_new(tape, x->rank, shape, stride, 0);
    if (!view) return tape_failure(tape);
    return strided(tape, x->n ? &permute_primitive : &view_primitive, x, view);
}

struct node *node_transpose(struct tape *tape, struct node *x, int dim0, int dim1)
{
    int order[TENSOR_MAX_RANK];
    for (int d = 0; d < x->rank; d++) order[d] = d;
    if (!tape_failed(tape) && x->rank) {
        order[dim0] = dim1;
        order[dim1] = dim0;
    }
    return node_permute(tape, x, order);
}

struct node *node_slice(struct tape *tape, struct node *x, int dim, int64_t start, int64_t length,
                        int64_t step)
{
    int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];

    if (tape_failed(tape)) return tape_failure(tape);
    shape_strides(stride, x->rank, x->shape);
    memcpy(shape, x->shape, sizeof shape);
    int64_t offset = start * stride[dim];
    shape[dim] = length;
    stride[dim] *= step;
    return node_view(tape, x, x->rank, shape, stride, length ? offset : 0);
}
