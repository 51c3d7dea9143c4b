/* Values whose gradient is stated: an alias of the value with a backward of its own. */
#include "bench/primitives/stated_gradient.h"

#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/composed_functions.h"
#include "bench/tape/enclosure.h"

struct stated {
    gradient_function *backward;
    const void *parameters;
};

static void stated_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct stated *stated = node->parameters;
    const struct node *before = tape->newest;
    stated->backward(tape, node, cotangent, stated->parameters);
    if (composes(tape)) tape_own_kernels(tape, before);
}

static const struct primitive stated_primitive = { "a stated gradient", stated_backward,
                                                   input_enclose, input_pair };

struct node *node_stated_gradient(struct tape *tape, struct node *value, int count,
                                  struct node *const *inputs, gradient_function *backward,
                                  const void *parameters)
{
    bool tracked = false;
    for (int k = 0; k < count; k++) tracked = tracked || inputs[k]->tracked;
    if (tape_failed(tape) || !tracked || value->integer) return value;
    struct stated *stated = tape_allocate(tape, 1, sizeof *stated);
    struct node **all = tape_allocate(tape, (size_t)count + 1, sizeof *all);
    if (tape_failed(tape)) return tape_failure(tape);
    *stated = (struct stated){ backward, parameters };
    all[0] = value;
    for (int k = 0; k < count; k++) all[k + 1] = inputs[k];
    struct node *node = node_sharing(tape, &stated_primitive, value, count + 1, all, stated);
    node->tracked = true;
    return node;
}

static void flat_backward(struct tape *tape, struct node *node, struct node *cotangent,
                          const void *parameters)
{
    (void)cotangent, (void)parameters;
    for (int k = 1; k < node->input_count; k++) {
        struct node *x = node->inputs[k];
        tape_accumulate(tape, x, node_constant(tape, DT_NONE, 0, x->rank, x->shape));
    }
}

struct node *node_flat(struct tape *tape, struct node *value, int count, struct node *const *inputs)
{
    return node_stated_gradient(tape, value, count, inputs, flat_backward, NULL);
}

/* ---- straight through --------------------------------------------------------------- */

static void straight_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    tape_accumulate(tape, node->inputs[1], cotangent);
}

static const struct primitive straight_primitive = { "a straight-through value", straight_backward,
                                                     input_enclose, input_pair };

struct node *node_straight_through(struct tape *tape, struct node *value, struct node *through)
{
    if (tape_failed(tape) || value->integer) return value;
    if (value->imaginary)
        return node_complex(
            tape,
            node_straight_through(tape, node_real_part(tape, value), node_real_part(tape, through)),
            node_straight_through(tape, node_imaginary_part(tape, value),
                                  node_imaginary_part(tape, through)));
    struct node *inputs[2] = { value, through };
    struct node *node = node_sharing(tape, &straight_primitive, value, 2, inputs, NULL);
    node->tracked = through->tracked;
    return node;
}
