/* The name of its primitive, or of the function that it applies. */
#include "bench/step_name.h"

#include <string.h>

const char *step_name(const struct node *node)
{
    if (!node->primitive) return "a number";
    bool function = !strncmp(node->primitive->name, "a function", 10);
    return function ? *(const char *const *)node->parameters : node->primitive->name;
}
