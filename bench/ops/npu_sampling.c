/* Logits of which only likely ones are left; by op-plugin's documentation (docs/zh). */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/sorting.h"

/* Which logits of a row are left, and how sure that is. */
struct filter {
    const double *value;
    struct sort_item *order; /* ascending, equal ones by position; room for twice the row */
    int64_t extent, kept;    /* the last `kept` of the order are those that top-k leaves */
};

/* Is element `position` of the device's result left? `own` where there is none yet. */
static bool device_keeps(struct node *device, int64_t position, bool own)
{
    return device ? device->value[position] != -INFINITY : own;
}

/* Top-p among what top-k leaves: from the least likely one on, those up to which no more than 1 - p of the probability
 * lies are dropped, but not the last. A kernel adds the probabilities in float32, so that sums of k of them are off by
 * k + 16 roundings at most; where that decides, the device's answer is taken. `margin` is what the dtype of p leaves open
 * about 1 - p. */
static void drop_unlikely(const struct filter *f, double most, double margin, struct node *device,
                          int64_t row, int64_t *left)
{
    double sum = 0, total = 0, largest = f->value[f->order[f->extent - 1].position];
    double slack = (double)(f->kept + 16) * 0x1p-24 + margin;
    for (int64_t i = f->extent - f->kept; i < f->extent; i++)
        total += exp(f->value[f->order[i].position] - largest);
    for (int64_t i = f->extent - f->kept; i < f->extent - 1; i++) {
        int64_t at = f->order[i].position;
        sum += exp(f->value[at] - largest) / total;
        bool keep = sum > most;
        if (fabs(sum - most) <= slack) keep = device_keeps(device, row + at, keep);
        left[at] = keep;
    }
}

/* Each row's logits, -inf in place of all but the k largest (and those equal to the least of them) and, of these, but the
 * most likely ones that have more than p of the probability. */
static void top_k_top_p(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "logits"), *p = call_optional_tensor(call, "p"),
                *k = call_optional_tensor(call, "k");
    if (!call_require(call,
                      x->rank == 2 && !x->integer && x->n &&
                          (!p || (!p->integer && p->n == (size_t)x->shape[0])) &&
                          (!k || (k->integer && k->n == (size_t)x->shape[0])),
                      "rows of logits, with p and k for each, are needed"))
        return;
    int64_t extent = x->shape[1];
    struct node *left = node_new_integer(tape, DT_BOOL, 2, x->shape),
                *device = call_device_numbers(call, 0, x->n);
    struct sort_item *items = tape_allocate(tape, 2 * (size_t)extent, sizeof *items);
    const double *value = node_values(tape, x), *likely = p ? node_values(tape, p) : NULL;
    if (tape_failed(tape)) return;
    if (device && device->integer) device = NULL;
    for (int64_t r = 0; r < x->shape[0]; r++) {
        struct filter f = { value + r * extent, items, extent, extent };
        int64_t *kept = left->integer + r * extent, most = k ? k->integer[r] : extent;
        if (!call_require(call, most >= 1 && most <= extent, "%lld of %lld logits", (long long)most,
                          (long long)extent))
            return;
        for (int64_t i = 0; i < extent; i++) {
            if (!call_require(call, !isnan(f.value[i]), "the order of NaN is open")) return;
            items[i] = (struct sort_item){ sort_key_real(f.value[i]), i };
        }
        sort_items(items, items + extent, (size_t)extent);
        double least = f.value[items[extent - most].position];
        for (int64_t i = 0; i < extent; i++) kept[i] = f.value[i] >= least;
        while (f.kept > most && f.value[items[extent - f.kept].position] < least) f.kept--;
        if (p)
            drop_unlikely(&f, 1 - likely[r], dtype_ulp(p->dtype, 1) / 2, device, r * extent, kept);
    }
    call_return_typed(call, node_select(tape, left, x, node_scalar(tape, -INFINITY)), x->dtype);
}

/* clang-format off */
const struct op ops_npu_sampling[] = {
    { "npu_top_k_top_p", NPU, "(Tensor logits, Tensor? p, Tensor? k)", top_k_top_p, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_sampling);
