/* Movement of elements: reshape, broadcast, concatenation. Nothing here rounds. */
#include "bench/primitives/movement.h"

#include <string.h>

#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/moved.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/known_values.h"
#include "bench/tape/promotion.h"
#include "core/checked.h"

/* ---- reshape ------------------------------------------------------------------------------ */

static void reshape_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *x = node->inputs[0];
    tape_accumulate(tape, x, node_reshape(tape, cotangent, x->rank, x->shape));
}

static const struct primitive reshape_primitive = { "reshape", reshape_backward, input_enclose,
                                                    input_pair };

struct node *node_reshape(struct tape *tape, struct node *x, int rank, const int64_t *shape)
{
    int64_t full[TENSOR_MAX_RANK];
    int unknown = -1, unknowns = 0;
    size_t known;

    if (tape_failed(tape)) return tape_failure(tape);
    if (rank > TENSOR_MAX_RANK) {
        tape_fail(tape, STATUS_SKIP, "a reshape to %d dimensions", rank);
        return tape_failure(tape);
    }
    for (int i = 0; i < rank; i++) {
        full[i] = shape[i] == -1 ? 1 : shape[i];
        if (shape[i] != -1) continue;
        unknown = i;
        unknowns++;
    }
    bool fits = unknowns <= 1 && shape_elements(&known, rank, full);
    if (fits && unknown >= 0) {
        full[unknown] = known ? (int64_t)(x->n / known) : 0;
        known *= (size_t)full[unknown];
    }
    if (!fits || known != x->n) {
        char from[128], to[128];
        shape_format(from, sizeof from, x->rank, x->shape);
        shape_format(to, sizeof to, rank, shape);
        tape_fail(tape, STATUS_SKIP, "shape %s cannot be reshaped to %s", from, to);
        return tape_failure(tape);
    }
    if (rank == x->rank && !memcmp(full, x->shape, (size_t)rank * sizeof *full)) return x;
    if (x->imaginary)
        return node_complex(tape, node_reshape(tape, node_real_part(tape, x), rank, full),
                            node_reshape(tape, node_imaginary_part(tape, x), rank, full));
    struct node *node = node_sharing_unread(tape, &reshape_primitive, x);
    node->rank = rank;
    memcpy(node->shape, full, (size_t)rank * sizeof *full);
    return node;
}

struct node *node_squeeze(struct tape *tape, struct node *x, uint32_t dims)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
        if (!(dims >> d & 1)) shape[rank++] = x->shape[d];
    return node_reshape(tape, x, rank, shape);
}

/* ---- broadcast ------------------------------------------------------------------------------ */

static void broadcast_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *x = node->inputs[0];
    tape_accumulate(tape, x, node_sum_to_shape(tape, cotangent, x->rank, x->shape));
}

static void broadcast_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    enclosure_element(enclosure, ball, node->inputs[0], broadcast_offset(node, node->inputs[0], i));
}

static bool broadcast_pair(struct enclosure *enclosure, struct pair *out, struct node *node,
                           size_t i)
{
    return enclosure_pair(enclosure, out, node->inputs[0],
                          broadcast_offset(node, node->inputs[0], i));
}

static const struct primitive broadcast_primitive = { "broadcast", broadcast_backward,
                                                      broadcast_enclose, broadcast_pair };

/* Elements that are being made of a broadcast node, from `start` on. */
struct repetition {
    const struct node *x;
    size_t start;
    double *value, *error;
};

static void repeat_row(void *context, size_t out, size_t count, const size_t *offset,
                       const int64_t *step)
{
    const struct repetition *r = context;
    const struct node *x = r->x;
    const double *from = x->value + offset[0];
    double *value = r->value ? r->value + (out - r->start) : NULL,
           *error = r->error ? r->error + (out - r->start) : NULL;
    if (step[0]) {
        if (value) memcpy(value, from, count * sizeof *value);
        for (size_t i = 0; error && i < count; i++) error[i] = node_error(x, offset[0] + i);
        return;
    }
    const double repeated = *from, bound = error ? node_error(x, offset[0]) : 0;
    for (size_t i = 0; value && i < count; i++) value[i] = repeated;
    for (size_t i = 0; error && i < count; i++) error[i] = bound;
}

static void repeated_elements(const struct node *node, size_t start, size_t count, double *value,
                              double *error)
{
    bool known = node->deferral->values != NULL;
    struct repetition repetition = { node->inputs[0], start, known ? NULL : value, error };
    if (known && !error) return;
    walk_part(node->deferral->context, start, start + count, repeat_row, &repetition);
}

/* Broadcasts of the same elements to one shape are the same. */
static bool is_of_shape(const struct node *a, const struct node *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

/* x read at the places of a larger shape, when that is read. */
static struct node *repeated(struct tape *tape, struct node *x, int rank, const int64_t *shape)
{
    struct walk *walk = tape_allocate(tape, 1, sizeof *walk);
    (void)node_values(tape, x);
    struct node *node = node_step(tape, &broadcast_primitive, x->dtype, rank, shape, 1, &x, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    walk_over(walk, 1, &x, rank, shape);
    node->relative = x->relative;
    node->absolute = x->absolute;
    double *known = tape_is_model(tape) ? known_values_share(tape, node, is_of_shape) : NULL;
    node_evaluate(tape, node,
                  (struct deferral){ .elements = repeated_elements,
                                     .context = walk,
                                     .cost = 1,
                                     .bounded = x->error != NULL,
                                     .values = known,
                                     .apart = true },
                  true);
    return tape_failed(tape) ? tape_failure(tape) : node;
}

struct node *node_broadcast(struct tape *tape, struct node *x, int rank, const int64_t *shape)
{
    int64_t full[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], own[TENSOR_MAX_RANK];

    if (tape_failed(tape)) return tape_failure(tape);
    bool fits = rank >= x->rank && rank <= TENSOR_MAX_RANK;
    shape_strides(own, x->rank, x->shape);
    for (int d = rank - 1; d >= 0 && fits; d--) {
        int k = d - (rank - x->rank);
        int64_t extent = k >= 0 ? x->shape[k] : 1;
        full[d] = shape[d] == -1 && k >= 0 ? extent : shape[d];
        stride[d] = k >= 0 && extent != 1 ? own[k] : 0;
        if (extent != 1 && extent != full[d]) fits = false;
    }
    if (!fits) {
        char from[128], to[128];
        shape_format(from, sizeof from, x->rank, x->shape);
        shape_format(to, sizeof to, rank, shape);
        tape_fail(tape, STATUS_SKIP, "shape %s does not expand to %s", from, to);
        return tape_failure(tape);
    }
    if (rank == x->rank && !memcmp(full, x->shape, (size_t)rank * sizeof *full)) return x;
    if (x->imaginary)
        return node_complex(tape, node_broadcast(tape, node_real_part(tape, x), rank, full),
                            node_broadcast(tape, node_imaginary_part(tape, x), rank, full));
    size_t n = 0;
    if (!x->integer && shape_elements(&n, rank, full) && tape_may_defer(tape, n, 1, 1, &x))
        return repeated(tape, x, rank, full);
    struct node *node = moved(tape, &broadcast_primitive, x, rank, full, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    double *known = x->integer ? NULL : known_values_share(tape, node, is_of_shape);
    const struct strides places = { rank, full, stride, 0 };
    if (x->integer) copy_strided(tape->help, node->integer, x->integer, &places, node->n);
    else if (known) node->value = known;
    else copy_strided(tape->help, node->value, x->value, &places, node->n);
    if (node->error) copy_strided(tape->help, node->error, x->error, &places, node->n);
    return node;
}

/* ---- concatenation ------------------------------------------------------------------------------ */

struct concatenation {
    int dim;
    size_t inner, extent; /* elements below dim; total extent along it */
};

static void concatenate_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct concatenation *c = node->parameters;
    int64_t start = 0;
    for (int k = 0; k < node->input_count; k++) {
        struct node *part = node->inputs[k];
        int64_t length = part->shape[c->dim];
        if (part->tracked)
            tape_accumulate(tape, part, node_slice(tape, cotangent, c->dim, start, length, 1));
        start += length;
    }
}

/* The input that gives element i, and the element of it. */
static struct node *source_of_concatenation(size_t *element, const struct node *node, size_t i)
{
    const struct concatenation *c = node->parameters;
    size_t below = i % c->inner, at = i / c->inner % c->extent, above = i / c->inner / c->extent;
    int k = 0;
    while (at >= (size_t)node->inputs[k]->shape[c->dim])
        at -= (size_t)node->inputs[k++]->shape[c->dim];
    size_t extent = (size_t)node->inputs[k]->shape[c->dim];
    *element = (above * extent + at) * c->inner + below;
    return node->inputs[k];
}

static void concatenate_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                                size_t i)
{
    size_t element;
    struct node *from = source_of_concatenation(&element, node, i);
    enclosure_element(enclosure, ball, from, element);
}

static bool concatenate_pair(struct enclosure *enclosure, struct pair *out, struct node *node,
                             size_t i)
{
    size_t element;
    struct node *from = source_of_concatenation(&element, node, i);
    return enclosure_pair(enclosure, out, from, element);
}

static const struct primitive concatenate_primitive = { "concatenate", concatenate_backward,
                                                        concatenate_enclose, concatenate_pair };

/* What the parts make together. */
struct joined {
    int64_t shape[TENSOR_MAX_RANK];
    enum dtype dtype;
    bool complex_valued, integral;
};

/* False after a failure. */
static bool join_shapes(struct joined *j, struct tape *tape, struct node **parts, int count,
                        int dim)
{
    *j = (struct joined){ .dtype = DT_NONE, .integral = true };
    if (tape_failed(tape)) return false;
    if (count < 1) {
        tape_fail(tape, STATUS_SKIP, "concatenation of nothing");
        return false;
    }
    if (dim < 0 || dim >= parts[0]->rank) {
        tape_fail(tape, STATUS_SKIP, "tensors of %d dimensions are not joined along number %d",
                  parts[0]->rank, dim);
        return false;
    }
    memcpy(j->shape, parts[0]->shape, sizeof j->shape);
    j->shape[dim] = 0;
    for (int k = 0; k < count; k++) {
        const struct node *part = parts[k];
        bool fits = part->rank == parts[0]->rank;
        for (int d = 0; d < part->rank && fits; d++)
            fits = d == dim || part->shape[d] == j->shape[d];
        if (!fits) {
            tape_fail(tape, STATUS_SKIP, "concatenated tensors differ in shape");
            return false;
        }
        j->shape[dim] += part->shape[dim];
        j->complex_valued = j->complex_valued || part->imaginary;
        j->integral = j->integral && part->integer;
        j->dtype = dtype_promote(j->dtype, part->dtype);
    }
    return true;
}

static struct node *concatenate_complex(struct tape *tape, struct node **parts, int count, int dim)
{
    struct node **own = tape_allocate(tape, (size_t)count, sizeof *own);
    if (!own) return tape_failure(tape);
    for (int k = 0; k < count; k++) own[k] = node_real_part(tape, node_to_real(tape, parts[k]));
    struct node *re = node_concatenate(tape, own, count, dim);
    for (int k = 0; k < count; k++)
        own[k] = node_imaginary_part(tape, node_to_real(tape, parts[k]));
    return node_complex(tape, re, node_concatenate(tape, own, count, dim));
}

/* Copy one part to its place: `width` elements of every row, from `start` on. */
static void copy_part(struct node *node, const struct node *part, size_t row, size_t start,
                      size_t width)
{
    for (size_t to = start, from = 0; width && from < part->n; to += row, from += width) {
        if (node->integer) {
            memcpy(node->integer + to, part->integer + from, width * 8);
            continue;
        }
        memcpy(node->value + to, part->value + from, width * 8);
        for (size_t i = 0; node->error && i < width; i++)
            node->error[to + i] = node_error(part, from + i);
    }
}

struct node *node_concatenate(struct tape *tape, struct node **parts, int count, int dim)
{
    struct joined j;
    bool errors = false;

    if (!join_shapes(&j, tape, parts, count, dim)) return tape_failure(tape);
    if (j.complex_valued) return concatenate_complex(tape, parts, count, dim);
    struct node **inputs = tape_allocate(tape, (size_t)count, sizeof *inputs);
    struct concatenation *c = tape_allocate(tape, 1, sizeof *c);
    if (tape_failed(tape)) return tape_failure(tape);
    for (int k = 0; k < count; k++) {
        inputs[k] = j.integral ? parts[k] : node_to_real(tape, parts[k]);
        if (!j.integral) (void)node_values(tape, inputs[k]);
        errors = errors || !node_is_exact(inputs[k]);
    }
    *c = (struct concatenation){ dim, 1, (size_t)j.shape[dim] };
    for (int d = dim + 1; d < parts[0]->rank; d++) c->inner *= (size_t)j.shape[d];
    struct node *node = j.integral ? node_new_integer(tape, j.dtype, parts[0]->rank, j.shape)
                                   : node_new(tape, &concatenate_primitive, j.dtype, parts[0]->rank,
                                              j.shape, count, inputs, c);
    if (!j.integral && errors) (void)node_need_errors(tape, node);
    for (size_t k = 0, start = 0; !tape_failed(tape) && k < (size_t)count; k++) {
        size_t width = (size_t)inputs[k]->shape[dim] * c->inner;
        copy_part(node, inputs[k], c->extent * c->inner, start, width);
        start += width;
    }
    return node;
}
