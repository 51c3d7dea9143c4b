/* Values whose gradient is stated: an alias of the value with a backward of its own. */
#include "bench/primitives/stated_gradient.h"

#include <string.h>

#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/moved.h"
#include "bench/tape/enclosure.h"

struct stated {
    gradient_function *backward;
    const void *parameters;
};

static void stated_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct stated *stated = node->parameters;
    stated->backward(tape, node, cotangent, stated->parameters);
}

static void stated_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    enclosure_element(enclosure, ball, node->inputs[0], i);
}

static const struct primitive stated_primitive = { "a stated gradient", stated_backward,
                                                   stated_enclose, NULL };

struct node *node_stated_gradient(struct tape *tape, struct node *value, int count,
                                  struct node *const *inputs, gradient_function *backward,
                                  const void *parameters)
{
    bool tracked = false;
    for (int k = 0; k < count; k++) tracked = tracked || inputs[k]->tracked;
    if (tape_failed(tape) || !tracked || value->integer) return value;
    struct stated *stated = tape_allocate(tape, 1, sizeof *stated);
    struct node **all = tape_allocate(tape, (size_t)count + 1, sizeof *all);
    if (tape_failed(tape)) return value;
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

static void straight_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    enclosure_element(enclosure, ball, node->inputs[0], i);
}

static const struct primitive straight_primitive = { "a straight-through value", straight_backward,
                                                     straight_enclose, NULL };

struct node *node_straight_through(struct tape *tape, struct node *value, struct node *through)
{
    if (tape_failed(tape) || value->integer) return value;
    if (value->imaginary)
        return node_complex(
            tape,
            node_straight_through(tape, node_real_part(tape, value), node_real_part(tape, through)),
            node_straight_through(tape, node_imaginary_part(tape, value),
                                  node_imaginary_part(tape, through)));
    struct node *node = moved(tape, &straight_primitive, value, value->rank, value->shape, NULL);
    struct node **inputs = tape_allocate(tape, 2, sizeof *inputs);
    if (tape_failed(tape)) return unless_failed(tape, value);
    inputs[0] = value;
    inputs[1] = through;
    node->inputs = inputs;
    node->input_count = 2;
    node->tracked = through->tracked;
    memcpy(node->value, value->value, value->n * sizeof *value->value);
    if (node->error) memcpy(node->error, value->error, value->n * sizeof *value->error);
    return node;
}
