/* The tape within a call: forward, seed, back. */
#include "bench/ops/pullback.h"

#include <string.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/movement.h"
#include "bench/tape/broadcast.h"

struct node *node_tracked(struct tape *tape, struct node *x)
{
    if (x->integer) return x;
    struct node *node = node_alias(tape, x, x->dtype);
    node->tracked = true;
    if (node->imaginary) node->imaginary->tracked = true;
    return node;
}

struct node *node_tracked_zero(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape)
{
    return node_tracked(tape, node_constant(tape, dtype, 0, rank, shape));
}

struct node *call_tracked_zero(struct call *call, const char *name, const struct node *like)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = call_ints(call, name, shape, TENSOR_MAX_RANK);
    for (int d = 0; d < rank; d++)
        if (!call_require(call, shape[d] >= 0, "a negative extent in '%s'", name)) rank = 0;
    return node_tracked_zero(call->tape, like->dtype, rank, shape);
}

/* The cotangent as it must be for y. */
static struct node *seed_of(struct call *call, const struct node *y, struct node *cotangent)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    cotangent = node_to_real(call->tape, cotangent);
    bool fits =
        shape_broadcast(&rank, shape, y->rank, y->shape, cotangent->rank, cotangent->shape) &&
        rank == y->rank && !memcmp(shape, y->shape, (size_t)rank * sizeof *shape);
    char have[128], want[128];
    shape_format(have, sizeof have, cotangent->rank, cotangent->shape);
    shape_format(want, sizeof want, y->rank, y->shape);
    if (!call_require(call, fits, "a gradient of shape %s for a result of shape %s", have, want))
        return cotangent;
    return node_broadcast(call->tape, cotangent, y->rank, y->shape);
}

void call_pull_back(struct call *call, struct node *y, struct node *cotangent, int count,
                    struct node **x)
{
    struct tape *tape = call->tape;
    struct node *seed = seed_of(call, y, cotangent);
    if (tape_failed(tape)) return;
    tape_accumulate(tape, y, seed);
    tape_backward(tape);
    for (int k = 0; k < count; k++) {
        struct node *gradient = node_gradient(tape, x[k]);
        if (!gradient) gradient = node_constant(tape, x[k]->dtype, 0, x[k]->rank, x[k]->shape);
        x[k] = node_with_dtype(tape, gradient, x[k]->dtype);
    }
}

struct node *call_gradient(struct call *call, struct node *y, struct node *cotangent,
                           struct node *x)
{
    call_pull_back(call, y, cotangent, 1, &x);
    return x;
}

/* The place of a parameter, or -1. */
static int place_of(const struct schema *schema, const char *name)
{
    for (int i = 0; i < schema->count; i++)
        if (!strcmp(schema->parameters[i].name, name)) return i;
    return -1;
}

struct node *node_with_more_gradient(struct tape *tape, struct node *y, struct node *x,
                                     gradient_function *backward, const void *parameters)
{
    struct node *parts[2] = { node_real_part(tape, x), node_imaginary_part(tape, x) }, *out[2];
    struct node *of[2] = { node_real_part(tape, y), node_imaginary_part(tape, y) };
    for (int k = 0; k < 2; k++) {
        struct node *none = node_constant(tape, DT_NONE, 0, y->rank, y->shape);
        out[k] =
            node_add(tape, of[k], node_stated_gradient(tape, none, 2, parts, backward, parameters));
    }
    return node_complex(tape, out[0], out[1]);
}

bool call_wants_output(struct call *call, size_t k)
{
    if (place_of(call->arguments.schema, "output_mask") < 0) return true;
    const struct value *mask = call_value(call, "output_mask");
    if (!value_is_sequence(mask) || k >= mask->list.count) return true;
    const struct value *item = &mask->list.items[k];
    return item->kind == VALUE_BOOL ? item->boolean : item->kind != VALUE_NONE;
}

enum { MOST_INPUTS = 8 };

/* Make x[k], where there is one, the node of argument inputs[k] of `forward`. Two arguments that are one
 * tensor become two values: each has a gradient. */
static bool track_inputs(struct call *forward, struct node **x, const char *const *inputs)
{
    struct tape *tape = forward->tape;
    struct arguments *arguments = &forward->arguments;
    size_t others = arguments->leaf_count, used = 0;
    struct leaf *leaves = tape_allocate(tape, others + MOST_INPUTS, sizeof *leaves);
    if (!leaves) return false;
    for (int k = 0; inputs[k]; k++) {
        struct value *bound = &arguments->bound[place_of(arguments->schema, inputs[k])];
        if (!x[k] || bound->kind != VALUE_TENSOR || !bound->tensor.tensor) continue;
        struct tensor *own = tape_allocate(tape, 1, sizeof *own);
        if (!own) return false;
        *own = *bound->tensor.tensor;
        bound->tensor.tensor = own;
        leaves[used++] = (struct leaf){ bound, x[k] };
    }
    if (others) memcpy(leaves + used, arguments->leaves, others * sizeof *leaves);
    arguments->leaves = leaves;
    arguments->leaf_count = used + others;
    return true;
}

void call_return_gradients(struct call *call, void (*forward)(struct call *call),
                           const char *const *inputs)
{
    struct tape *tape = call->tape;
    struct node *x[MOST_INPUTS] = { NULL };
    struct api_case unrecorded = *call->api_case; /* what is recorded are the gradients */
    struct call inner = *call;
    int count = 0;

    unrecorded.outputs = (struct value){ .kind = VALUE_LIST };
    inner.api_case = &unrecorded;
    inner.in_place = false;
    inner.results = (struct results){ 0 };
    inner.device_answer = (struct device_answer){ 0 }; /* likewise */
    for (; inputs[count]; count++)
        if (!call_is_none(call, inputs[count]))
            x[count] = node_tracked(tape, call_tensor(call, inputs[count]));
    if (!track_inputs(&inner, x, inputs)) return;
    forward(&inner);
    if (!call_require(call, inner.results.count && inner.results.items[0].node,
                      "the operator of this gradient returns no tensor"))
        return;
    struct node *wanted[MOST_INPUTS];
    int given = 0;
    for (int k = 0; k < count; k++)
        if (x[k]) wanted[given++] = x[k];
    call_pull_back(call, inner.results.items[0].node,
                   call_tensor(call, call->arguments.schema->parameters[0].name), given, wanted);
    for (int k = 0, at = 0; k < count && !tape_failed(tape); k++) {
        struct node *gradient = x[k] ? wanted[at++] : NULL;
        if (gradient && call_wants_output(call, (size_t)k)) call_return(call, gradient);
        else call_return_none(call);
    }
}
