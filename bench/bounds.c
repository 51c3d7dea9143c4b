#include "bench/bounds.h"

void model_overflows(struct graph *graph, struct node *node)
{
    size_t i = 0;
    if (!graph_is_model(graph) || graph->wide || graph_failed(graph)) return;
    while (i < node->n && !(fabs(node->value[i]) > dtype_info(DT_F32)->largest)) i++;
    if (i == node->n) return;
    bool uniform = !node->error;
    if (!node_need_errors(graph, node)) return;
    for (i = 0; i < node->n; i++) {
        double magnitude = fabs(node->value[i]);
        if (magnitude > dtype_info(DT_F32)->largest && isfinite(magnitude)) node->error[i] = INFINITY;
        else if (uniform) node->error[i] = isfinite(magnitude) ? node->relative * magnitude + node->absolute : 0;
    }
}
