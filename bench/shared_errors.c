/* One walk over the nodes before the result, which are older. A node that is newer than what it goes into, softmax's sums of
 * exponentials, does not count: what elements share of it is a quarter of what each is off by. */
#include "bench/shared_errors.h"

#include <math.h>

/* Is some element off by more than one rounding, which is at most sqrt 3 times what is expected of it? */
static bool is_off(struct tape *tape, struct node *node)
{
    if (!node_is_real(node) || node_is_exact(node)) return false;
    const double *value = node_values(tape, node);
    if (tape_failed(tape)) return false;
    for (size_t i = 0; i < node->n; i++)
        if (node_error(node, i) > 1.5 * tape->unit * fabs(value[i]) + tape->tiny) return true;
    return false;
}

static void mark_inputs(bool *marked, const struct node *node)
{
    for (int i = 0; i < node->input_count; i++) marked[node->inputs[i]->id] = true;
    if (node->imaginary) marked[node->imaginary->id] = true;
}

size_t shared_error_count(struct tape *tape, struct node *result, struct arena *arena)
{
    size_t fewest = result->n;
    bool *marked = arena_allocate_zeroed(arena, tape->node_count + 1, sizeof *marked);
    if (!marked) return fewest;
    marked[result->id] = true;
    for (struct node *node = result; node; node = node->older) {
        if (!marked[node->id]) continue;
        mark_inputs(marked, node);
        if (node->n && node->n < fewest && is_off(tape, node)) fewest = node->n;
    }
    return fewest;
}
