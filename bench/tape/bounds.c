/* Values that overflow in a float kernel and not in double. */
#include "bench/tape/bounds.h"

void model_overflows(struct tape *tape, struct node *node)
{
    size_t i = 0;
    if (!tape_is_model(tape) || tape->wide || tape_failed(tape)) return;
    while (i < node->n && !(fabs(node->value[i]) > dtype_info(DT_F32)->largest)) i++;
    if (i == node->n) return;
    bool uniform = !node->error;
    if (!node_need_errors(tape, node)) return;
    for (i = 0; i < node->n; i++) {
        double magnitude = fabs(node->value[i]);
        if (magnitude > dtype_info(DT_F32)->largest && isfinite(magnitude))
            node->error[i] = INFINITY;
        else if (uniform)
            node->error[i] = isfinite(magnitude) ? node->relative * magnitude + node->absolute : 0;
    }
}
