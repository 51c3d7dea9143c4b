/* A hash takes the place of each element, and the walk from the tensors to the result that of the arithmetic. */
#include "bench/equal_inputs.h"

#include <string.h>

#include "bench/step_traits.h"
#include "bench/tape/broadcast.h"

/* PyTorch gives a thread 2^15 elements at least (GRAIN_SIZE): what is left over by vectors of one thread lies where
 * standards/unequal_results.h expects it. */
enum { FEWEST = 64, MOST = 1 << 15, MOST_DIFFERENT = 64 };

static uint64_t mixed(uint64_t hash, uint64_t next)
{
    hash = (hash ^ next) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static bool hash_leaf(uint64_t *hash, struct tape *tape, struct node *leaf)
{
    const double *value = leaf->integer ? NULL : node_values(tape, leaf);
    if (tape_failed(tape)) return false;
    for (size_t i = 0; i < leaf->n; i++) {
        uint64_t bits;
        memcpy(&bits, leaf->integer ? (const void *)&leaf->integer[i] : &value[i], sizeof bits);
        hash[i] = mixed(leaf->n > 1, bits);
    }
    return true;
}

/* The hashes of a node's elements, whose inputs have theirs. */
static uint64_t *hash_node(struct tape *tape, struct node *node, uint64_t *const *of)
{
    bool leaf = !node->primitive,
         made = !leaf && !node->input_count; /* of places, not of numbers */
    if (node->imaginary || made || (!leaf && !(step_traits(node) & STEP_MAPS))) return NULL;
    uint64_t *hash = tape_allocate(tape, node->n, sizeof *hash);
    if (!hash || (leaf && !hash_leaf(hash, tape, node))) return NULL;
    if (leaf) return hash;
    for (size_t i = 0; i < node->n; i++) hash[i] = mixed(1, (uint64_t)(uintptr_t)node->primitive);
    for (int k = 0; k < node->input_count; k++) {
        const struct node *input = node->inputs[k];
        if (!of[input->id]) return NULL;
        for (size_t i = 0; i < node->n; i++)
            hash[i] = mixed(hash[i], of[input->id][broadcast_offset(node, input, i)]);
    }
    return hash;
}

static bool are_few(const double *value, size_t n)
{
    double seen[MOST_DIFFERENT];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < count && seen[k] != value[i]) k++;
        if (k < count) continue;
        if (count == MOST_DIFFERENT) return false;
        seen[count++] = value[i];
    }
    return true;
}

/* The nodes that the result comes from, oldest last. */
static struct node **ancestors(size_t *count, struct tape *tape, struct node *result)
{
    struct node **found = tape_allocate(tape, tape->node_count + 1, sizeof *found);
    bool *marked = tape_allocate_zeroed(tape, tape->node_count + 1, sizeof *marked);
    *count = 0;
    if (!found || !marked) return NULL;
    marked[result->id] = true;
    for (struct node *node = tape->newest; node; node = node->older) {
        if (!marked[node->id]) continue;
        found[(*count)++] = node;
        for (int i = 0; i < node->input_count; i++) marked[node->inputs[i]->id] = true;
    }
    return found;
}

uint64_t *equal_inputs(struct tape *tape, struct node *result)
{
    size_t count;
    if (result->integer || result->n < FEWEST || result->n > MOST) return NULL;
    const double *value = node_values(tape, result);
    if (tape_failed(tape) || !are_few(value, result->n)) return NULL;
    struct node **node = ancestors(&count, tape, result);
    uint64_t **of = tape_allocate_zeroed(tape, tape->node_count + 1, sizeof *of);
    if (!node || !of) return NULL;
    for (size_t k = count; k-- > 0;) {
        of[node[k]->id] = hash_node(tape, node[k], of);
        if (!of[node[k]->id]) return NULL;
    }
    return of[result->id];
}
