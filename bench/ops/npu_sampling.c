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

/* ---- the most likely one ---------------------------------------------------------------------------------------- */

/* A row of logits, by falling size, of which `count` are left; more or fewer, where rounding decides. */
struct row {
    struct call *call;
    const double *x;
    struct sort_item *order;
    int64_t extent, fewest, count, most;
    int64_t *left;
    const double *device; /* what the device has left, or NULL; what it left out is `fill` */
    double fill;
};

static bool device_has(const struct row *r, int64_t at) { return r->device[at] != r->fill; }

/* How many have no more than p of the probability before them. A kernel adds in float32. */
static void count_likely(struct row *r, double p, double margin)
{
    double total = 0, before = 0, largest = r->x[r->order[0].position];
    int64_t all = r->most;
    double slack = (double)(all + 16) * 0x1p-24 + margin;
    for (int64_t i = 0; i < all; i++) total += exp(r->x[r->order[i].position] - largest);
    r->fewest = r->count = r->most = 0;
    for (int64_t i = 0; i < all; i++) {
        if (before <= p - slack || i == 0) r->fewest = i + 1;
        if (before <= p || i == 0) r->count = i + 1;
        if (before <= p + slack) r->most = i + 1;
        before += exp(r->x[r->order[i].position] - largest) / total;
    }
}

/* Which are left: those above the last one, and of those equal to it the device's, or the first. */
static void mark_left(struct row *r)
{
    int64_t own = 0, above = 0, equal = 0;
    for (int64_t i = 0; r->device && i < r->extent; i++) own += device_has(r, i);
    if (r->device && own >= r->fewest && own <= r->most) r->count = own;
    double last = r->x[r->order[r->count - 1].position];
    for (int64_t i = 0; i < r->extent; i++) {
        r->left[i] = 0;
        above += r->x[i] > last;
        equal += r->device && r->x[i] == last && device_has(r, i);
    }
    bool theirs = equal == r->count - above;
    for (int64_t i = 0; i < r->extent && r->x[r->order[i].position] >= last; i++) {
        int64_t at = r->order[i].position;
        r->left[at] = theirs && r->x[at] == last ? device_has(r, at) : i < r->count;
    }
}

/* The largest share of those equal to element `at`, which may stand at any of their places. */
static double share_of(const struct row *r, int64_t at, const double *q, double eps)
{
    double most = 0;
    for (int64_t i = 0; i < r->most; i++) {
        double x = r->x[r->order[i].position];
        if (x == r->x[at])
            most = fmax(most, exp(x - r->x[r->order[0].position]) / (q ? fabs(q[i]) + eps : 1));
    }
    return most;
}

/* The element with the largest probability over |q| + eps, q by its place; the device's where it is as good. */
static int64_t best_of(const struct row *r, const double *q, double eps, int64_t device)
{
    double most = -1;
    int64_t best = 0;
    for (int64_t i = 0; i < r->count; i++) {
        double x = r->x[r->order[i].position],
               share = exp(x - r->x[r->order[0].position]) / (q ? fabs(q[i]) + eps : 1);
        if (share <= most) continue;
        most = share;
        best = r->order[i].position;
    }
    if (device < 0 || device >= r->extent || r->x[device] < r->x[r->order[r->most - 1].position])
        return best;
    double away = r->x[r->order[0].position] - r->x[device];
    return share_of(r, device, q, eps) >= most * (1 - 16 * 0x1p-24 * (away + 1)) ? device : best;
}

/* Row `b`: its order, how many are left of it, and which. */
static bool read_row(struct row *r, int64_t b, int64_t k, double p, double margin)
{
    const int64_t ks_most = call_int(r->call, "ks_max");
    for (int64_t i = 0; i < r->extent; i++) {
        if (!call_require(r->call, !isnan(r->x[i]), "the order of NaN is open")) return false;
        r->order[i] = (struct sort_item){ ~sort_key_real(r->x[i]), i };
    }
    sort_items(r->order, r->order + r->extent, (size_t)r->extent);
    bool cuts = k >= 1 && k <= r->extent && k <= ks_most;
    r->fewest = r->count = r->most = cuts ? k : r->extent;
    if (!call_require(r->call, p > 0, "a top_p of %g in row %lld is not followed here", p,
                      (long long)b))
        return false;
    if (p < 1) count_likely(r, p, margin);
    mark_left(r);
    return true;
}

/* The index of the most likely of those that top-k and top-p leave, by q where it is given (qSample), and the logits that
 * are left where they are asked for; the others are -inf, or 0 as the operator's test has it. */
static void top_k_top_p_sample(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "logits"), *k = call_tensor(call, "top_k"),
                *p = call_tensor(call, "top_p"), *q = call_optional_tensor(call, "q");
    const char *after = call_string(call, "post_sample");
    bool asked = call_bool(call, "is_need_logits");
    if (!call_require(call,
                      call_is_none(call, "min_ps") && call_bool(call, "input_is_logits") &&
                          strcmp(after, "multiNomial") != 0,
                      "only logits without min_ps and without draws are followed here") ||
        !call_require(call,
                      x->rank == 2 && !x->integer && x->n && k->integer &&
                          k->n == (size_t)x->shape[0] && !p->integer && p->n == k->n &&
                          (!q || (!q->integer && q->rank == 2 && q->n == x->n)),
                      "rows of logits, with k and p for each, are needed"))
        return;
    int64_t rows = x->shape[0], extent = x->shape[1];
    struct node *index = node_new_integer(tape, DT_I64, 1, &rows),
                *left = node_new_integer(tape, DT_BOOL, 2, x->shape),
                *theirs = call_device_integers(call, 0, index),
                *given = asked ? call_device_numbers(call, 1, x->n) : NULL;
    const double *value = node_values(tape, x), *likely = node_values(tape, p),
                 *weight = q && !strcmp(after, "qSample") ? node_values(tape, q) : NULL;
    struct row r = { .call = call, .extent = extent, .fill = -INFINITY };
    r.order = tape_allocate(tape, 2 * (size_t)extent, sizeof *r.order);
    if (tape_failed(tape)) return;
    if (given && given->integer) given = NULL;
    bool infinite = !given;
    for (size_t i = 0; given && i < given->n; i++) infinite |= given->value[i] == -INFINITY;
    if (!infinite) r.fill = 0;
    for (int64_t b = 0; b < rows; b++) {
        r.x = value + b * extent;
        r.left = left->integer + b * extent;
        r.device = given ? given->value + b * extent : NULL;
        if (!read_row(&r, b, k->integer[b], likely[b], dtype_ulp(p->dtype, 1) / 2)) return;
        index->integer[b] = best_of(&r, weight ? weight + b * extent : NULL, call_real(call, "eps"),
                                    theirs ? theirs->integer[b] : -1);
    }
    call_return(call, index);
    const struct tensor *empty = call_device_output(call, 1);
    int64_t none = 0;
    if (asked)
        call_return_typed(call, node_select(tape, left, x, node_scalar(tape, r.fill)), DT_F32);
    else if (empty && tensor_elements(empty) == 0)
        call_return(call, node_constant(tape, DT_F32, 0, empty->rank, empty->shape));
    else call_return(call, node_constant(tape, DT_F32, 0, 1, &none));
}

/* clang-format off */
const struct op ops_npu_sampling[] = {
    { "npu_top_k_top_p", NPU, "(Tensor logits, Tensor? p, Tensor? k)", top_k_top_p, OP_NO_GRADIENT, 0, NULL },
    { "npu_top_k_top_p_sample", NPU, "(Tensor logits, Tensor top_k, Tensor top_p, Tensor? q=None, float eps=1e-08, bool is_need_logits=False, int top_k_guess=32, Tensor? min_ps=None, int ks_max=1024, bool input_is_logits=True, str post_sample='qSample', ...)", top_k_top_p_sample, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_sampling);
