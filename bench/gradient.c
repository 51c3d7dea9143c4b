/* Values whose gradient is stated: an alias of the value with a backward of its own. */
#include "bench/gradient.h"

#include "bench/pull.h"

struct stated {
    gradient_function *backward;
    const void *parameters;
};

static void stated_backward(struct graph *graph, struct node *node, struct node *cotangent)
{
    const struct stated *stated = node->parameters;
    stated->backward(graph, node, cotangent, stated->parameters);
}

static void stated_pull(struct pull *pull, void *ball, struct node *node, size_t i)
{
    pull_element(pull, ball, node->inputs[0], i);
}

static const struct primitive stated_primitive = { "a stated gradient", stated_backward,
                                                   stated_pull, NULL };

struct node *node_stated_gradient(struct graph *graph, struct node *value, int count,
                                struct node *const *inputs, gradient_function *backward,
                                const void *parameters)
{
    bool tracked = false;
    for (int k = 0; k < count; k++) tracked = tracked || inputs[k]->tracked;
    if (graph_failed(graph) || !tracked || value->integer) return value;
    (void)node_values(graph, value);
    struct stated *stated = graph_allocate(graph, 1, sizeof *stated);
    struct node *node = graph_allocate(graph, 1, sizeof *node);
    struct node **all = graph_allocate(graph, (size_t)count + 1, sizeof *all);
    if (graph_failed(graph)) return value;
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
    node->id = graph->node_count++;
    node->older = graph->newest;
    graph->newest = node;
    return node;
}

static void flat_backward(struct graph *graph, struct node *node, struct node *cotangent,
                          const void *parameters)
{
    (void)cotangent, (void)parameters;
    for (int k = 1; k < node->input_count; k++) {
        struct node *x = node->inputs[k];
        graph_accumulate(graph, x, node_constant(graph, DT_NONE, 0, x->rank, x->shape));
    }
}

struct node *node_flat(struct graph *graph, struct node *value, int count,
                       struct node *const *inputs)
{
    return node_stated_gradient(graph, value, count, inputs, flat_backward, NULL);
}

void gradient_pass(struct graph *graph, struct node *x, struct node *cotangent,
                   struct node *factor)
{
    if (!x->tracked) return;
    struct node *flow = factor ? node_multiply(graph, cotangent, factor) : cotangent;
    graph_accumulate(graph, x, node_sum_to_shape(graph, flow, x->rank, x->shape));
}
