/* Boxes by falling score, of which one is left that overlaps none of those left before it by more than a threshold. Where
 * rounding decides, and among boxes of equal scores, the device's answer is as good as any.
 */
#ifndef PROBE_BENCH_OPS_SUPPRESSION_H
#define PROBE_BENCH_OPS_SUPPRESSION_H

#include "bench/call/op.h"
#include "bench/primitives/sorting.h"

struct suppression {
    const double *boxes; /* rows of `numbers` */
    int numbers;
    /* Shared area over union of two rows; a kernel's may be off by *slack. */
    double (*overlap)(const double *a, const double *b, double *slack);
    double threshold;
    struct sort_item *order; /* the candidates, best first */
    int64_t candidates, most;
};

/* What the device has: positions of boxes in its order, or NULL. */
struct device_list {
    const int64_t *at;
    size_t n;
};

/* The boxes of s->boxes whose score is above the least become the candidates, best first, equal ones by position. False
 * after a failure. */
bool suppression_order(struct call *call, struct suppression *s, struct node *scores, double least);

/* Boxes of equal scores in the device's order. */
void suppression_settle(struct sort_item *items, int64_t count, struct device_list device);

/* Is the box left beside the `count` of `left`? */
bool suppression_leaves(const struct suppression *s, int64_t box, const int64_t *left,
                        int64_t count, bool device_has, bool asked);

/* The positions of the candidates that are left, into `left` with room for all of them; their number. */
int64_t suppression_select(const struct suppression *s, struct device_list device, int64_t *left);

#endif
