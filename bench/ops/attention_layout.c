/* Layouts as permutations of one. */
#include "bench/ops/attention_layout.h"

#include <string.h>

#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

static bool layout_is(const char *layout, const char *const *known)
{
    for (; *known; known++)
        if (!strcmp(layout, *known)) return true;
    return false;
}

struct node *to_bnsd(struct call *call, struct node *x, const char *layout, int64_t heads)
{
    static const char *const known[] = { "BNSD", "BSND", "BSH", "SBH", "TND", "NTD", NULL };
    struct tape *tape = call->tape;
    bool folded = !strcmp(layout, "BSH") || !strcmp(layout, "SBH");
    if (!call_require(call, layout_is(layout, known), "input_layout \"%s\" is not in the catalogue",
                      layout) ||
        !call_require(call, x->rank == (int)strlen(layout) && !x->integer,
                      "a tensor of %d dimensions for the layout \"%s\"", x->rank, layout) ||
        !call_require(call, !folded || (heads >= 1 && x->shape[2] % heads == 0),
                      "%lld channels do not divide into %lld heads", (long long)x->shape[2],
                      (long long)heads))
        return tape_failure(tape);
    if (!strcmp(layout, "BNSD")) return x;
    if (!strcmp(layout, "BSND")) return node_transpose(tape, x, 1, 2);
    if (folded) {
        bool sbh = layout[0] == 'S';
        int64_t shape[4] = { x->shape[0], x->shape[1], heads, x->shape[2] / heads };
        int order[4] = { sbh ? 1 : 0, 2, sbh ? 0 : 1, 3 };
        return node_permute(tape, node_reshape(tape, x, 4, shape), order);
    }
    struct node *y = layout[0] == 'T' ? node_transpose(tape, x, 0, 1) : x;
    int64_t shape[4] = { 1, y->shape[0], y->shape[1], y->shape[2] };
    return node_reshape(tape, y, 4, shape);
}

struct node *from_bnsd(struct tape *tape, struct node *x, const char *layout)
{
    if (tape_failed(tape) || !strcmp(layout, "BNSD")) return x;
    if (!strcmp(layout, "BSND")) return node_transpose(tape, x, 1, 2);
    if (strlen(layout) == 3 && layout[2] == 'D') { /* packed */
        int64_t shape[3] = { x->shape[1], x->shape[2], x->shape[3] };
        struct node *y = node_reshape(tape, x, 3, shape);
        return layout[0] == 'T' ? node_transpose(tape, y, 0, 1) : y;
    }
    bool sbh = layout[0] == 'S';
    int order[4] = { sbh ? 2 : 0, sbh ? 0 : 2, 1, 3 };
    struct node *y = node_permute(tape, x, order);
    int64_t shape[3] = { y->shape[0], y->shape[1], y->shape[2] * y->shape[3] };
    return node_reshape(tape, y, 3, shape);
}
