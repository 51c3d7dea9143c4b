/* The walk that builds gradients, and which of its steps, and of others, frameworks have in one kernel. */
#include "bench/tape/tape.h"

/* Another name of its first input. */
static bool is_alias(const struct node *node)
{
    return node->input_count > 0 && node->value && node->inputs[0]->value == node->value;
}

struct node *tape_step_of(struct node *node)
{
    while (node && (is_alias(node) || (!node->is_step && node->input_count == 1)))
        node = node->inputs[0];
    return node && node->is_step ? node : NULL;
}

void tape_returned(struct tape *tape, struct node *node)
{
    struct node *step = tape->deviation ? tape_step_of(node) : NULL;
    if (!step) return;
    step->returned = true;
    step->inner = false;
}

static void hold_all_but_returned(struct tape *tape, const struct node *before)
{
    for (struct node *node = tape->newest; node && node != before; node = node->older)
        node->inner |= !node->returned;
}

void tape_one_kernel(struct tape *tape, const struct node *before, struct node *result)
{
    if (!tape->deviation || tape_failed(tape)) return;
    for (struct node *node = tape->newest; node && node != before; node = node->older)
        node->returned = false; /* by a kernel that is part of this one */
    tape_returned(tape, result);
    hold_all_but_returned(tape, before);
}

void tape_own_kernels(struct tape *tape, const struct node *before)
{
    if (!tape->deviation) return;
    for (struct node *node = tape->newest; node && node != before; node = node->older)
        node->returned |= !node->inner;
}

void tape_backward(struct tape *tape)
{
    tape_defer(tape); /* the primitives read cotangents as they read input tensors */
    for (struct node *node = tape->newest; node && !tape_failed(tape); node = node->older) {
        if (!node->tracked || !node->cotangent || !node->primitive) continue;
        if (node->primitive->backward) {
            /* The reverse walk builds new nodes, none of which is differentiated again. */
            const struct node *before = tape->newest;
            node->primitive->backward(tape, node, node->cotangent);
            if (tape->deviation) hold_all_but_returned(tape, before);
        } else {
            tape_fail(tape, STATUS_SKIP, "the reference has no gradient for %s",
                      node->primitive->name);
        }
    }
}
