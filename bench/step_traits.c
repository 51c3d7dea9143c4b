/* One table of primitives by their names. */
#include "bench/step_traits.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned traits;
} steps[] = {
    { "a function", STEP_MAPS | STEP_FUNCTION },
    { "a function of two", STEP_MAPS | STEP_FUNCTION },
    { "a function as steps", STEP_FUNCTION },
    { "the slope of an activation", STEP_MAPS },
    { "a straight-through value", STEP_MAPS },
    { "one of two formulas", STEP_MAPS },
    { "alias", STEP_MAPS | STEP_INDEPENDENT },
    { "broadcast", STEP_MAPS | STEP_INDEPENDENT },
    { "a cast to real", STEP_MAPS | STEP_INDEPENDENT },
    { "a cast", STEP_MAPS | STEP_INDEPENDENT },
    { "a selection", STEP_MAPS | STEP_INDEPENDENT },
    { "a stated gradient", STEP_MAPS | STEP_INDEPENDENT },
    { "reshape", STEP_INDEPENDENT },
    { "a view", STEP_INDEPENDENT },
    { "permute", STEP_INDEPENDENT },
    { "concatenate", STEP_INDEPENDENT },
    { "a placed part", STEP_INDEPENDENT },
    { "gather", STEP_INDEPENDENT },
    { "scatter_add", STEP_INDEPENDENT },
    { "a matrix product", STEP_INDEPENDENT | STEP_PRODUCT },
    { "a convolution", STEP_INDEPENDENT | STEP_PRODUCT },
    { "sum", STEP_INDEPENDENT | STEP_SUM },
    { "a sum of squares", STEP_SUM },
    { "a sum of squared deviations", STEP_SUM },
    { "a sum of exponentials", STEP_SUM },
    { "a weighted sum", STEP_SUM },
    { "a cumulative sum", STEP_SUM },
    { "a cumulative logsumexp", STEP_SUM },
    { "shares of running sums", STEP_SUM },
    { "logsumexp", STEP_SUM },
    { "softmax", STEP_SUM },
    { "a gradient of softmax", STEP_SUM },
    { "a residual of softmax", STEP_SUM },
    { "log_softmax", STEP_SUM },
    { "log_softmax at a class", STEP_SUM },
};

unsigned step_traits(const struct node *node)
{
    if (!node->primitive) return 0;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        if (!strcmp(node->primitive->name, steps[k].name)) return steps[k].traits;
    return 0;
}
