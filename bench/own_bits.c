/* Walks from the result to the last step that rounds. */
#include "bench/own_bits.h"

#include <string.h>

#include "bench/primitives/binary.h"
#include "bench/step_traits.h"

/* Is every element 0 or a power of two, exactly? */
static bool rounds_nothing(struct tape *tape, struct node *factor)
{
    if (!node_is_exact(factor)) return false;
    const double *value = node_values(tape, factor);
    for (size_t i = 0; !tape_failed(tape) && i < factor->n; i++) {
        uint64_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        if (bits << 12) return false;
    }
    return true;
}

/* The factor whose bits a product or quotient has; NULL where it has bits of its own. */
static struct node *kept_factor(struct tape *tape, const struct node *node, char operation)
{
    struct node *a = node->inputs[0], *b = node->inputs[1];
    if (rounds_nothing(tape, b)) return a;
    return operation == '*' && rounds_nothing(tape, a) ? b : NULL;
}

static bool is_one_of(const struct node *node, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (!strcmp(node->primitive->name, names[k])) return true;
    return false;
}

bool has_own_bits(struct tape *tape, struct node *result)
{
    static const char *const moves[] = { "alias", "reshape", "a view", "permute" },
                             *const quotients[] = { "softmax", "a gradient of softmax" };
    struct node *node = result;
    while (node && node->primitive && node_is_real(node) && !node->imaginary) {
        char operation = node_operation(node);
        if (operation == '*' || operation == '/') {
            struct node *factor = kept_factor(tape, node, operation);
            if (!factor) return !tape_failed(tape);
            node = factor;
        } else if (is_one_of(node, moves, sizeof moves / sizeof *moves)) node = node->inputs[0];
        else if (step_traits(node) & STEP_FUNCTION) {
            for (int k = 0; k < node->input_count; k++)
                if (!node_is_exact(node->inputs[k])) return false;
            return true;
        } else return is_one_of(node, quotients, sizeof quotients / sizeof *quotients);
    }
    return false;
}
