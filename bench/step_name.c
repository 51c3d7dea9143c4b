/* The name of its primitive, or of the function that it applies. */
#include "bench/step_name.h"

#include "bench/step_traits.h"

const char *step_name(const struct node *node)
{
    if (!node->primitive) return "a number";
    bool function = step_traits(node) & STEP_FUNCTION;
    return function ? *(const char *const *)node->parameters : node->primitive->name;
}
