/* PyTorch's kernels for short dtypes take a number as one of the dtype (scalar_t); what was made of numbers alone, say p - 1, was made
 * in double before. */
#include "bench/primitives/rounded_numbers.h"

#include "bench/tape/deviation.h"

static const struct primitive number_primitive = { "a number in the dtype", NULL, NULL, NULL };

struct node *node_number_itself(struct node *x)
{
    return x->primitive == &number_primitive ? x->inputs[0] : x;
}

struct node *node_rounded_number(struct tape *tape, struct node *x, const struct node *other,
                                 bool exponent)
{
    const struct deviation *deviation = tape->deviation;
    if (!deviation || x->integer || !node_is_number(x) || node_is_number(other)) return x;
    const size_t power = tape->node_count + 1; /* id of the step, which is made next */
    bool held = power < deviation->unrounded_ids && deviation->unrounded[power];
    bool of_step = exponent && deviation->composed_functions && !held;
    const struct rounding *rounding = of_step ? &deviation->steps : &deviation->numbers;
    double value = node_values(tape, x)[0];
    struct node *node = node_new(tape, &number_primitive, DT_NONE, x->rank, x->shape, 1, &x, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    node->value[0] = rounding_apply(rounding, value);
    return node;
}
