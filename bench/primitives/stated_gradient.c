/* Values whose gradient is stated: an alias of the value with a backward of its own. */
#include "bench/primitives/stated_gradient.h"

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

static void stated_enclosure(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    enclosure_element(enclosure, ball, node->inputs[0], i);
}

static const struct primitive stated_primitive = { "a stated gradient", stated_backward,
                                                   stated_enclosure, NULL };

struct node *node_stated_gradient(struct tape *tape, struct node *value, int count,
                                  struct node *const *inputs, gradient_function *backward,
                                  const void *parameters)
{
    bool tracked = false;
    for (int k = 0; k < count; k++) tracked = tracked || inputs[k]->tracked;
    if (tape_failed(tape) || !tracked || value->integer) return value;
    (void)node_values(tape, value);
    struct stated *stated = tape_allocate(tape, 1, sizeof *stated);
    struct node *node = tape_allocate(tape, 1, sizeof *node);
    struct node **all = tape_allocate(tape, (size_t)count + 1, sizeof *all);
    if (tape_failed(tape)) return value;
    *stated = (struct stated){ backward, parameters };
    *node = *value; /* shares the elements */
    node->primitive = &stated_primitive;
    node->parameters = stated;
    node->inputs = all;
    node->input_count = count + 1;
    all[0] = value;
    for (int k = 0; k < count; k++) all[k + 1] = inputs[k];
    node->source = NULL;
    node->tracked = true;
    node->cotangent = NULL;
    node->id = tape->node_count++;
    node->older = tape->newest;
    tape->newest = node;
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

void gradient_pass(struct tape *tape, struct node *x, struct node *cotangent, struct node *factor)
{
    if (!x->tracked) return;
    struct node *flow = factor ? node_multiply(tape, cotangent, factor) : cotangent;
    tape_accumulate(tape, x, node_sum_to_shape(tape, flow, x->rank, x->shape));
}
