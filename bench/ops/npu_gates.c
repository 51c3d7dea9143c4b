/* Gates of mixtures of experts in torch_npu: which experts each token goes to, and which copies of them; by their documentation
 * (op-plugin, docs/context). A choice among equal gates is the device's where it is as right as ours.
 */
#include <math.h>

#include "bench/call/op.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/settling.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/sorting.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* Positions of the k largest experts of each row. Of equal ones the device's choice counts, which
 * its second output tells, but for finished rows: they report the expert number E. */
static struct node *chosen_experts(struct call *call, struct node *x, const struct node *finished,
                                   int64_t k)
{
    struct tape *tape = call->tape;
    int last = x->rank - 1;
    size_t experts = (size_t)x->shape[last];
    struct node *own = node_slice(tape, sort_positions(tape, x, last, true), last, 0, k, 1);
    struct node *theirs = call_device_integers(call, 1, own);
    if (!theirs) return own;
    for (size_t i = 0; finished && i < own->n; i++) {
        if (!finished->integer[i / (size_t)k]) continue;
        if (theirs->integer[i] != (int64_t)experts) return own;
        theirs->integer[i] = own->integer[i];
    }
    bool right = positions_tie(x, last, own, theirs) &&
                 positions_are_distinct(tape, theirs, last, experts);
    return right ? theirs : own;
}

/* Top k of a softmax, which keeps the order, over experts; the experts, and the number of each
 * choice counted column by column. */
static void moe_gating(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *finished = call_optional_tensor(call, "finished");
    int64_t k = call_int(call, "k"), experts = x->rank ? x->shape[x->rank - 1] : 0;
    int64_t rows = experts ? (int64_t)x->n / experts : 0;
    if (!call_require(call, k >= 1 && k <= experts, "k is %lld for %lld experts", (long long)k,
                      (long long)experts) ||
        !call_require(call, !finished || (finished->integer && finished->n == (size_t)rows),
                      "finished must tell true or false of each of the %lld rows", (long long)rows))
        return;
    struct node *index = chosen_experts(call, x, finished, k);
    struct node *reported = node_new_integer(tape, DT_I32, x->rank, index->shape),
                *choice = node_new_integer(tape, DT_I32, x->rank, index->shape);
    for (int64_t i = 0; !tape_failed(tape) && i < rows * k; i++) {
        bool is_finished = finished && finished->integer[i / k];
        reported->integer[i] = is_finished ? experts : index->integer[i];
        choice->integer[i] = i % k * rows + i / k;
    }
    struct node *p = node_softmax(tape, x, x->rank - 1);
    call_return_typed(call, node_take_along(tape, p, x->rank - 1, index), x->dtype);
    call_return(call, reported);
    call_return(call, choice);
}

/* The value of each group of a row: its largest entry, or the sum of its n largest ones. */
static double group_value(const double *x, int64_t width, int64_t n)
{
    double sum = 0, last = INFINITY;
    for (int64_t taken = 0, equal = 0; taken < n && taken < width; taken += equal) {
        double next = -INFINITY;
        equal = 0;
        for (int64_t k = 0; k < width; k++)
            if (x[k] < last && x[k] >= next) {
                equal = x[k] > next ? 1 : equal + 1;
                next = x[k];
            }
        if (!equal) break;
        if (equal > n - taken) equal = n - taken;
        sum += (double)equal * next;
        last = next;
    }
    return sum;
}

/* How a gate chooses: k experts of the `kept` best of `groups` groups, whose values are sums of their `n` largest. The
 * scores of a float kernel are off by up to `roundings` units of the largest. */
struct choice {
    int64_t k, groups, kept, n;
    double roundings;
};

/* By how much two values of a row that a kernel compares may have to differ, each being off. */
static double slack_of(const struct choice *choice, const double *row, int64_t experts)
{
    double most = 0;
    for (int64_t i = 0; i < experts; i++)
        if (isfinite(row[i])) most = fmax(most, fabs(row[i]));
    return 2 * choice->roundings * 0x1p-24 * most;
}

/* x (rows, experts) with -inf for the experts of groups that are not among the kept best ones of their row. Where rounding may
 * exchange two groups, those are kept that `theirs` (or NULL) chose from. */
static struct node *best_groups(struct tape *tape, struct node *x, const struct choice *choice,
                                const struct node *theirs)
{
    int64_t groups = choice->groups, kept = choice->kept;
    int64_t experts = x->shape[1], width = experts / groups;
    const double *value = node_values(tape, x);
    struct node *y = node_new_real(tape, x->dtype, 2, x->shape);
    double *of_group = tape_allocate(tape, (size_t)groups, sizeof *of_group);
    if (tape_failed(tape)) return x;
    for (int64_t row = 0; row < x->shape[0]; row++) {
        const double *own = value + row * experts;
        double slack = (double)choice->n * slack_of(choice, own, experts);
        for (int64_t g = 0; g < groups; g++) {
            bool chosen = false;
            for (int64_t k = 0; theirs && k < choice->k; k++)
                chosen |= theirs->integer[row * choice->k + k] / width == g;
            of_group[g] = group_value(own + g * width, width, choice->n) + (chosen ? slack : 0);
        }
        for (int64_t g = 0; g < groups; g++) {
            int64_t better = 0;
            for (int64_t h = 0; h < groups; h++)
                better += of_group[h] > of_group[g] || (of_group[h] == of_group[g] && h < g);
            for (int64_t k = 0; k < width; k++) {
                int64_t at = row * experts + g * width + k;
                y->value[at] = better < kept ? value[at] : -INFINITY;
            }
        }
    }
    return y;
}

/* Is each of their experts as good as ours at its place, but for rounding? */
static bool is_as_good(struct tape *tape, const struct choice *choice, struct node *ranks,
                       const struct node *own, const struct node *theirs)
{
    int64_t experts = ranks->shape[1];
    const double *value = node_values(tape, ranks);
    if (tape_failed(tape) || !positions_are_distinct(tape, theirs, 1, (size_t)experts))
        return false;
    for (size_t i = 0; i < own->n; i++) {
        const double *row = value + (int64_t)i / choice->k * experts;
        if (own->integer[i] == theirs->integer[i]) continue;
        if (!(fabs(row[own->integer[i]] - row[theirs->integer[i]]) <=
              slack_of(choice, row, experts)))
            return false;
    }
    return true;
}

/* The k best experts of each row of `scores` by `ranks`, (rows, experts): their scores divided by the sum plus eps if
 * `norm`, times scale; and which they are. */
static void return_choice(struct call *call, struct node *scores, struct node *ranks,
                          const struct choice *choice, bool norm, double eps, double scale,
                          enum dtype dtype)
{
    struct tape *tape = call->tape;
    if (!call_require(call,
                      scores->rank == 2 && ranks->rank == 2 && ranks->n == scores->n &&
                          choice->groups >= 1 && choice->groups <= scores->shape[1] &&
                          scores->shape[1] % choice->groups == 0 && choice->kept >= 1 &&
                          choice->k >= 1 && choice->k <= scores->shape[1],
                      "%lld experts in %lld groups, of which %lld are chosen",
                      (long long)(scores->rank == 2 ? scores->shape[1] : 0),
                      (long long)choice->groups, (long long)choice->k))
        return;
    int64_t shape[2] = { scores->shape[0], choice->k };
    struct node *theirs = call_device_integers(call, 1, node_new_integer(tape, DT_I32, 2, shape));
    if (tape_failed(tape)) return;
    if (choice->groups > 1) ranks = best_groups(tape, ranks, choice, theirs);
    struct node *own = node_slice(tape, sort_positions(tape, ranks, 1, true), 1, 0, choice->k, 1);
    if (tape_failed(tape)) return;
    struct node *index = theirs && is_as_good(tape, choice, ranks, own, theirs) ? theirs : own;
    struct node *y = node_take_along(tape, scores, 1, index);
    if (norm) y = node_divide(tape, y, node_offset(tape, node_sum(tape, y, 2, true), eps));
    call_return_typed(call, node_scale(tape, y, scale), dtype);
    call_return_typed(call, index, DT_I32);
}

/* A sigmoid is good to 4 ulp, of the exponentials of a softmax the arguments are rounded, too, at most 88 of them, and n are
 * summed; a bias is one more rounding. */
static double score_roundings(bool sigmoid, int64_t n) { return sigmoid ? 10 : 100 + (double)n; }

/* norm_type: 0 softmax, 1 sigmoid. A bias decides the choice and is no part of the result. */
static void gating_top_k(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *bias = call_optional_tensor(call, "bias");
    int64_t kind = call_int(call, "norm_type"), mode = call_int(call, "group_select_mode");
    bool renorm = call_int(call, "renorm") != 0;
    if (!call_require(call,
                      x->rank == 2 && !x->integer && (kind == 0 || kind == 1) &&
                          (mode == 0 || mode == 1),
                      "the gates are (rows, experts); norm_type and group_select_mode are 0 or 1"))
        return;
    struct node *scores = kind ? node_apply(tape, "sigmoid", x) : node_softmax(tape, x, 1);
    struct node *ranks = bias ? node_add(tape, scores, bias) : scores;
    struct choice choice = { call_int(call, "k"), call_int(call, "group_count"),
                             call_int(call, "k_group"), mode ? 2 : 1,
                             score_roundings(kind == 1, x->shape[1]) };
    return_choice(call, scores, ranks, &choice, kind == 1 || renorm, call_real(call, "eps"),
                  call_real(call, "routed_scaling_factor"), x->dtype);
    if (call_bool(call, "out_flag")) call_return_typed(call, scores, DT_F32);
    else call_return_none(call);
}

static void fused_add_topk_div(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *added = call_tensor(call, "add_num");
    if (!call_require(call,
                      call_int(call, "activation_type") == 0 && x->rank == 2 && !x->integer &&
                          !call_bool(call, "enable_expert_mapping"),
                      "only the sigmoid without a mapping of experts is followed here"))
        return;
    struct node *scores = node_apply(tape, "sigmoid", x);
    struct choice choice = { call_int(call, "k"), call_int(call, "group_num"),
                             call_int(call, "group_topk"), call_int(call, "n"),
                             score_roundings(true, x->shape[1]) };
    return_choice(call, scores, node_add(tape, scores, added), &choice, call_bool(call, "is_norm"),
                  0, call_real(call, "scale"), DT_F32);
}

static bool fits_update(struct call *call, const struct node *ids, const struct node *table,
                        const struct node *scales, const struct node *limits,
                        const struct node *active)
{
    int64_t mode = call_int(call, "balance_mode"), ranks = call_int(call, "world_size"),
            rank = call_int(call, "local_rank_id");
    return call_require(
               call,
               ids->integer && ids->rank == 2 && table->integer && table->rank == 2 &&
                   table->shape[1] >= 2 &&
                   (mode == 1 ||
                    (mode == 0 && ranks >= 1 && ranks <= 1 << 20 && rank >= 0 && rank < ranks)),
               "expert_ids and eplb_table are matrices; mode 0 needs the rank and their number") &&
           call_require(
               call,
               !scales == !limits &&
                   (!scales || (scales->rank == 2 && scales->n == ids->n && !scales->integer &&
                                !limits->integer && limits->n == (size_t)ids->shape[1])) &&
                   (!active || (active->integer && active->n == (size_t)ids->shape[0])),
               "scales are as many as choices, thresholds as a row, active_mask as rows") &&
           call_integers_below(call, ids, table->shape[0], "expert_ids");
}

/* The copies that serve the choices. False when a row of the table makes no sense. */
static bool copies_of(struct call *call, struct node *y, const struct node *ids,
                      const struct node *table)
{
    int64_t ranks = call_int(call, "world_size"), rank = call_int(call, "local_rank_id"),
            columns = table->shape[1], k = ids->shape[1];
    bool by_rank = call_int(call, "balance_mode") == 0;
    for (size_t i = 0; !tape_failed(call->tape) && i < ids->n; i++) {
        const int64_t *row = table->integer + ids->integer[i] * columns;
        if (!call_require(call, row[0] >= 1 && row[0] < columns, "%lld copies of expert %lld",
                          (long long)row[0], (long long)ids->integer[i]))
            return false;
        int64_t copy = by_rank ? rank / ((ranks + row[0] - 1) / row[0]) : (int64_t)i / k % row[0];
        y->integer[i] = row[copy + 1];
    }
    return true;
}

/* Which choices are active: a choice whose scale is within rounding of its limit is what the device says. NULL after a failure. */
static struct node *active_choices(struct call *call, const struct node *ids, struct node *scales,
                                   struct node *limits, const struct node *active)
{
    struct tape *tape = call->tape;
    int64_t k = ids->shape[1];
    struct node *sum =
        node_multiply(tape, node_sum(tape, scales, 2, true), node_reshape(tape, limits, 1, &k));
    struct node *keep = node_compare(tape, COMPARE_GE, scales, sum);
    (void)node_values(tape, scales), (void)node_values(tape, sum);
    struct node *mask = node_new_integer(tape, DT_BOOL, 2, ids->shape);
    if (tape_failed(tape)) return NULL;
    const struct tensor *got = call_device_output(call, 1);
    struct node *theirs = got && got->dtype == DT_BOOL && tensor_elements(got) == ids->n
                              ? node_leaf(tape, got, false)
                              : NULL;
    if (tape_failed(tape)) return NULL;
    for (size_t i = 0; i < ids->n; i++) {
        bool row = !active || active->integer[i / (size_t)k];
        double room = ((double)k + 2) * 0x1p-24 * fabs(sum->value[i]);
        mask->integer[i] = row && keep->integer[i];
        if (row && theirs && fabs(scales->value[i] - sum->value[i]) <= room)
            mask->integer[i] = theirs->integer[i];
    }
    return mask;
}

/* Which copy of an expert serves each choice: eplb_table has for each expert the number of its copies, then these. Mode 0
 * goes by the rank, mode 1 by the row. A choice is active while its row is and its scale is no smaller than its threshold
 * of the row's sum; where rounding decides that, the device's answer counts. */
static void update_expert(struct call *call)
{
    struct node *ids = call_tensor(call, "expert_ids"), *table = call_tensor(call, "eplb_table"),
                *scales = call_optional_tensor(call, "expert_scales"),
                *limits = call_optional_tensor(call, "pruning_threshold"),
                *active = call_optional_tensor(call, "active_mask");
    if (!fits_update(call, ids, table, scales, limits, active)) return;
    struct node *y = node_new_integer(call->tape, ids->dtype, 2, ids->shape);
    if (!copies_of(call, y, ids, table)) return;
    call_return(call, y);
    if (!scales) {
        call_return_none(call);
        return;
    }
    struct node *mask = active_choices(call, ids, scales, limits, active);
    if (mask) call_return(call, mask);
}

/* clang-format off */
const struct op ops_npu_gates[] = {
    { "npu_moe_gating_top_k_softmax", NPU, "(Tensor x, Tensor? finished=None, int k=1)", moe_gating, 0, 0, NULL },
    { "npu_moe_gating_top_k", NPU, "(Tensor x, int k, *, Tensor? bias=None, int k_group=1, int group_count=1, int group_select_mode=0, int renorm=0, int norm_type=0, bool out_flag=False, float routed_scaling_factor=1.0, float eps=1e-20)", gating_top_k, OP_NO_GRADIENT, 0, NULL },
    { "atb.npu_fused_add_topk_div", NPU, "(Tensor x, Tensor add_num, *, int group_num=1, int group_topk=1, int n=1, int k=1, int activation_type=0, bool is_norm=True, float scale=1.0, bool enable_expert_mapping=False, Tensor? mapping_num=None, Tensor? mapping_table=None)", fused_add_topk_div, OP_NO_GRADIENT, 0, NULL },
    { "npu_moe_update_expert", NPU, "(Tensor expert_ids, Tensor eplb_table, *, Tensor? expert_scales=None, Tensor? pruning_threshold=None, Tensor? active_mask=None, int local_rank_id=-1, int world_size=-1, int balance_mode=0)", update_expert, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_gates);
