/* Evaluations take the same steps in the same order, so the step after the one that was found last is tried first. */
#include "bench/tape/known_values.h"

#include <string.h>

struct known_values {
    struct node *node;
    struct known_values *next;
};

void known_values_enter(struct tape *tape, struct node *node)
{
    struct known_values *entry = tape_allocate(tape, 1, sizeof *entry);
    if (!entry) return;
    *entry = (struct known_values){ node, NULL };
    if (tape->last_known) tape->last_known->next = entry;
    else tape->first_known = entry;
    tape->last_known = entry;
}

double *known_values_of(const struct node *node)
{
    double *values = node->value ? node->value : node->kept;
    return values ? values : node_stored_values(node);
}

/* Elements as they are stored: of a tensor, or as doubles. */
static const void *elements_of(size_t *bytes, const struct node *node)
{
    const double *values = known_values_of(node);
    enum dtype dtype = values ? DT_F64 : node->source ? node->source->dtype : DT_NONE;
    const void *elements = values ? values : node->source ? node->source->data : NULL;
    *bytes = elements ? node->n * dtype_info(dtype)->bytes : 0;
    return elements;
}

static bool is_same(const struct node *a, const struct node *b)
{
    size_t bytes, others;
    if (a->n != b->n || a->rank != b->rank ||
        memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape))
        return false;
    if (a->source && b->source && a->source->data == b->source->data)
        return a->source->dtype == b->source->dtype;
    const void *x = elements_of(&bytes, a), *y = elements_of(&others, b);
    return x && y && bytes == others && (x == y || !memcmp(x, y, bytes));
}

static bool is_step(const struct node *known, const struct node *node, steps_alike *alike)
{
    if (known->primitive != node->primitive || known->n != node->n ||
        known->input_count != node->input_count || !alike(known, node))
        return false;
    for (int i = 0; i < node->input_count; i++)
        if (!is_same(known->inputs[i], node->inputs[i])) return false;
    return true;
}

const struct node *known_values_find(struct tape *tape, const struct node *node, steps_alike *alike)
{
    enum { MOST_TRIED = 8 };
    if (!tape->twin) return NULL;
    struct known_values *from = tape->found ? tape->found->next : tape->twin->first_known;
    for (int tried = 0; from && tried < MOST_TRIED; from = from->next) {
        if (!known_values_of(from->node)) continue; /* made in blocks that nobody has kept */
        tried++;
        if (!is_step(from->node, node, alike)) continue;
        tape->found = from;
        return from->node;
    }
    return NULL;
}

double *known_values_share(struct tape *tape, struct node *node, steps_alike *alike)
{
    if (!tape_is_reference(tape)) return NULL;
    const struct node *known = tape_is_model(tape) ? known_values_find(tape, node, alike) : NULL;
    known_values_enter(tape, node);
    return known ? known_values_of(known) : NULL;
}
