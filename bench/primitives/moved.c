/* What primitives that move elements share.
 *
 * Elements of real and integral nodes are both 8 bytes wide, so one copying loop serves values,
 * bounds and integers.
 */
#include "bench/primitives/moved.h"

#include <string.h>

void copy_strided(void *dst, const void *src, int rank, const int64_t *shape, const int64_t *stride,
                  int64_t offset, size_t n)
{
    int64_t index[TENSOR_MAX_RANK] = { 0 };
    char *to = dst;
    const char *from = (const char *)src + offset * 8;

    if (!n) return;
    int64_t count = rank ? shape[rank - 1] : 1, step = rank ? stride[rank - 1] : 0;
    for (size_t done = 0; done < n; done += (size_t)count) {
        if (step == 1) memcpy(to, from, (size_t)count * 8);
        else
            for (int64_t i = 0; i < count; i++) memcpy(to + i * 8, from + i * step * 8, 8);
        to += count * 8;
        for (int d = rank - 2; d >= 0; d--) {
            from += stride[d] * 8;
            if (++index[d] < shape[d]) break;
            from -= stride[d] * shape[d] * 8;
            index[d] = 0;
        }
    }
}

struct node *moved(struct tape *tape, const struct primitive *primitive, struct node *x, int rank,
                   const int64_t *shape, const void *parameters)
{
    if (x->integer) return node_new_integer(tape, x->dtype, rank, shape);
    (void)node_values(tape, x);
    struct node *node = node_new(tape, primitive, x->dtype, rank, shape, 1, &x, parameters);
    if (tape_failed(tape)) return tape_failure(tape);
    node->relative = x->relative;
    node->absolute = x->absolute;
    if (x->error) (void)node_need_errors(tape, node);
    return node;
}
