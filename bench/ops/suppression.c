#include "bench/ops/suppression.h"

#include <math.h>

#include "bench/ops/operands.h"

/* Where in the device's list a box stands; behind it when it does not. */
static int64_t device_place(struct device_list device, int64_t box)
{
    size_t at = 0;
    while (at < device.n && device.at[at] != box) at++;
    return (int64_t)at;
}

void suppression_settle(struct sort_item *items, int64_t count, struct device_list device)
{
    for (int64_t i = 1; device.at && i < count; i++) {
        struct sort_item item = items[i];
        int64_t at = i, place = device_place(device, item.position);
        for (; at > 0 && items[at - 1].key == item.key &&
               device_place(device, items[at - 1].position) > place;
             at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

bool suppression_leaves(const struct suppression *s, int64_t box, const int64_t *left,
                        int64_t count, bool device_has, bool asked)
{
    bool keep = true;
    for (int64_t k = 0; k < count; k++) {
        double slack,
            iou = s->overlap(s->boxes + s->numbers * box, s->boxes + s->numbers * left[k], &slack);
        if (iou > s->threshold + slack) return false;
        if (iou > s->threshold - slack) keep = asked ? device_has : keep && iou <= s->threshold;
    }
    return keep;
}

int64_t suppression_select(const struct suppression *s, struct device_list device, int64_t *left)
{
    int64_t count = 0;
    suppression_settle(s->order, s->candidates, device);
    for (int64_t i = 0; i < s->candidates && count < s->most; i++) {
        int64_t box = s->order[i].position;
        bool has = device.at && device_place(device, box) < (int64_t)device.n;
        if (suppression_leaves(s, box, left, count, has, device.at != NULL)) left[count++] = box;
    }
    return count;
}

bool suppression_order(struct call *call, struct suppression *s, struct node *scores, double least)
{
    struct tape *tape = call->tape;
    const double *score = node_values(tape, scores);
    s->order = tape_allocate(tape, 2 * scores->n, sizeof *s->order);
    if (tape_failed(tape)) return false;
    s->candidates = 0;
    least = number_as_compared(least, scores->dtype);
    for (size_t i = 0; i < scores->n; i++) {
        if (!call_require(call, !isnan(score[i]), "the order of NaN is open")) return false;
        if (score[i] > least)
            s->order[s->candidates++] = (struct sort_item){ ~sort_key_real(score[i]), (int64_t)i };
    }
    sort_items(s->order, s->order + scores->n, (size_t)s->candidates);
    return true;
}
