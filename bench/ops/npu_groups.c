/* Rows in groups, and activations by number. */
#include "bench/ops/npu_groups.h"

#include "bench/ops/activation.h"
#include "bench/ops/operands.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/unary.h"

enum { MOST_GROUPS = 4096 };

/* The integers of a list or a tensor; -1 after a failure. */
static int read_integers(struct call *call, const char *name, int64_t *out)
{
    const struct value *value = call_value(call, name);
    if (value->kind != VALUE_TENSOR) {
        bool plain = value->kind == VALUE_LIST && value->list.count <= MOST_GROUPS;
        for (size_t i = 0; plain && i < value->list.count; i++) {
            plain = value->list.items[i].kind == VALUE_INT;
            out[i] = value->list.items[i].integer;
        }
        return call_require(call, plain, "'%s' is a list or a tensor of integers", name)
                   ? (int)value->list.count
                   : -1;
    }
    struct node *x = call_node(call, value);
    if (!call_require(call, x->integer && x->rank == 1 && x->n <= MOST_GROUPS,
                      "'%s' is a list or a tensor of integers", name))
        return -1;
    for (size_t i = 0; i < x->n; i++) out[i] = x->integer[i];
    return (int)x->n;
}

bool groups_read(struct call *call, struct groups *groups, const char *name, bool cumulative,
                 int64_t extent)
{
    int64_t *given = tape_allocate(call->tape, 3 * MOST_GROUPS, sizeof *given), at = 0;
    if (!given) return false;
    int count = read_integers(call, name, given);
    if (!call_require(call, count >= 1, "'%s' names no groups", name)) return false;
    groups->count = count;
    groups->start = given + MOST_GROUPS;
    groups->end = given + 2 * MOST_GROUPS;
    for (int i = 0; i < count; i++) {
        int64_t room = extent - at, size = given[i];
        if (cumulative) size = given[i] < at ? -1 : given[i] - at; /* at is within extent */
        if (!call_require(call, size >= 0 && size <= room,
                          "group %d of '%s' does not fit into %lld positions", i, name,
                          (long long)extent))
            return false;
        groups->start[i] = at;
        groups->end[i] = at += size;
    }
    groups->total = at;
    return true;
}

bool call_integers_below(struct call *call, const struct node *index, int64_t limit,
                         const char *name)
{
    if (!call_require(call, index->integer, "%s holds integers", name)) return false;
    for (size_t i = 0; i < index->n; i++)
        if (!call_require(call, index->integer[i] >= 0 && index->integer[i] < limit,
                          "%s holds %lld, which is not below %lld", name,
                          (long long)index->integer[i], (long long)limit))
            return false;
    return true;
}

struct node *node_activated(struct call *call, struct node *x, int64_t kind)
{
    struct tape *tape = call->tape;
    switch (kind) {
    case 0: return x;
    case 1: return node_positive_part(tape, x);
    case 2: return gelu_of(tape, x, true);
    case 3: return gelu_of(tape, x, false);
    case 4: return node_multiply(tape, x, node_apply(tape, "sigmoid", node_scale(tape, x, 1.702)));
    case 5: return node_apply(tape, "silu", x);
    default: call_fail(call, "the activation %lld is not known", (long long)kind); return x;
    }
}
