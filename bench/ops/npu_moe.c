/* Mixtures of experts in torch_npu and MindSpeed: gates that choose experts, tokens brought to them and back; by their
 * documentation (op-plugin, docs/context; MindSpeed, docs/ops). A choice among equal gates, and an order of equal experts,
 * is the device's where it is as right as ours.
 */
#include <math.h>
#include <string.h>

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

/* ---- gates ---------------------------------------------------------------------------------------- */

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

/* ---- tokens to experts ------------------------------------------------------------------------------ */

/* The order that sorts all of x's integers, as a vector of positions; where the device's output `output` is the inverse
 * of another order that sorts them, that one. */
static struct node *sorting_order(struct call *call, const struct node *x, size_t output)
{
    struct tape *tape = call->tape;
    int64_t flat[1] = { (int64_t)x->n };
    struct node *line = node_reshape(tape, (struct node *)x, 1, flat);
    struct node *own = sort_positions(tape, line, 0, false);
    struct node *theirs = tape_failed(tape) ? NULL : call_device_integers(call, output, own);
    if (!theirs) return own;
    struct node *order = node_new_integer(tape, DT_I64, 1, flat);
    if (tape_failed(tape) || !positions_are_distinct(tape, theirs, 0, x->n)) return own;
    for (size_t i = 0; i < x->n; i++) order->integer[theirs->integer[i]] = (int64_t)i;
    return positions_tie(line, 0, own, order) ? order : own;
}

static struct node *inverse_of(struct tape *tape, const struct node *order)
{
    struct node *y = node_new_integer(tape, DT_I32, 1, order->shape);
    for (size_t i = 0; !tape_failed(tape) && i < order->n; i++)
        y->integer[order->integer[i]] = (int64_t)i;
    return y;
}

/* The first `rows` of x[order[i] / share] (or, with `modulo`, x[order[i] % share]). */
static struct node *ordered_rows(struct call *call, struct node *x, const struct node *order,
                                 int64_t rows, int64_t share, bool modulo)
{
    struct tape *tape = call->tape;
    int64_t shape[2] = { rows, x->shape[1] };
    int64_t *map = tape_allocate(tape, (size_t)rows, sizeof *map);
    for (int64_t i = 0; map && i < rows; i++)
        map[i] = modulo ? order->integer[i] % share : order->integer[i] / share;
    if (tape_failed(tape)) return x;
    return x->shape[1] ? node_gather_rows(tape, x, 2, shape, (size_t)x->shape[1], map, 0)
                       : node_constant(tape, x->dtype, 0, 2, shape);
}

/* Tokens sorted by the expert of each (stably), and where each went. */
static void token_permute(struct call *call)
{
    struct node *tokens = call_tensor(call, "tokens"), *indices = call_tensor(call, "indices");
    if (!call_require(call, !call_bool(call, "padded_mode"),
                      "padded tokens are not followed here") ||
        !call_require(call,
                      tokens->rank == 2 && indices->integer && !tokens->integer &&
                          (indices->rank == 1 || indices->rank == 2) &&
                          indices->shape[0] == tokens->shape[0] && indices->n,
                      "tokens are rows, and indices has a row for each"))
        return;
    int64_t share = indices->rank == 2 ? indices->shape[1] : 1, rows = (int64_t)indices->n;
    if (!call_is_none(call, "num_out_tokens")) {
        int64_t most = call_int(call, "num_out_tokens");
        if (most > 0 && most < rows) rows = most;
    }
    struct node *order = sorting_order(call, indices, 1);
    if (tape_failed(call->tape)) return;
    call_return_typed(call, ordered_rows(call, tokens, order, rows, share, false), tokens->dtype);
    call_return(call, inverse_of(call->tape, order));
}

/* Tokens expert by expert, those that routing_map (tokens, experts) sends there, with their probabilities; and where each
 * pair, by token, went. drop_and_pad: as many for each expert, those of the map first, and which they are. */
static void permute_with_routing_map(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *tokens = call_tensor(call, "tokens"), *routes = call_tensor(call, "routing_map"),
                *probs = call_optional_tensor(call, "probs");
    bool padded = call_bool(call, "drop_and_pad");
    if (!call_require(
            call,
            tokens->rank == 2 && !tokens->integer && tokens->shape[1] >= 1 && routes->rank == 2 &&
                routes->integer && routes->n && routes->shape[0] == tokens->shape[0] &&
                (!probs || (probs->rank == 2 && probs->n == routes->n && !probs->integer)),
            "routing_map tells of each token and expert; probs has its shape"))
        return;
    int64_t rows = routes->shape[0], experts = routes->shape[1], count = 0, room = 0;
    if (padded) {
        room = call_is_none(call, "num_out_tokens") ? 0
                                                    : call_int(call, "num_out_tokens") / experts;
        if (!call_require(call, room >= 1 && room <= rows,
                          "num_out_tokens does not suit %lld experts", (long long)experts))
            return;
    }
    int64_t *source = tape_allocate(tape, routes->n, sizeof *source),
            *pair = tape_allocate(tape, routes->n, sizeof *pair);
    if (tape_failed(tape)) return;
    for (int64_t e = 0; e < experts; e++) {
        int64_t first = count;
        for (int pass = 0; pass < (padded ? 2 : 1); pass++)
            for (int64_t t = 0; t < rows && (!padded || count - first < room); t++) {
                if ((routes->integer[t * experts + e] != 0) != (pass == 0)) continue;
                source[count] = t;
                pair[count++] = t * experts + e;
            }
    }
    int64_t shape[2] = { count, tokens->shape[1] };
    struct node *order = node_new_integer(tape, DT_I32, 1, &count);
    if (!call_require(call, count >= 1, "no token goes to any expert")) return;
    call_return_typed(call, node_gather_rows(tape, tokens, 2, shape, (size_t)shape[1], source, 0),
                      tokens->dtype);
    if (probs) call_return_typed(call, node_gather(tape, probs, 1, &count, pair, 0), probs->dtype);
    else call_return_none(call);
    for (int64_t t = 0, at = 0; t < rows; t++)
        for (int64_t i = 0; i < count; i++) {
            if (padded && t == 0) order->integer[i] = source[i];
            if (!padded && source[i] == t) order->integer[at++] = i;
        }
    call_return(call, order);
}

/* Row i is the sum over j of probs[i][j] times the row that sorted_indices[i K + j] names (one, without probs). */
static void token_unpermute(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *tokens = call_tensor(call, "permuted_tokens"),
                *index = call_tensor(call, "sorted_indices"),
                *probs = call_optional_tensor(call, "probs");
    if (!call_require(call, !call_bool(call, "padded_mode"),
                      "padded tokens are not followed here") ||
        !call_require(call,
                      tokens->rank == 2 && !tokens->integer && index->rank == 1 && index->n &&
                          (!probs || (probs->rank == 2 && probs->n == index->n && !probs->integer)),
                      "tokens are rows, sorted_indices names them, probs weighs them") ||
        !call_integers_below(call, index, (int64_t)index->n, "sorted_indices"))
        return;
    int64_t share = probs ? probs->shape[1] : 1, width = tokens->shape[1];
    int64_t shape[3] = { (int64_t)index->n / share, share, width };
    int64_t *map = tape_allocate(tape, index->n, sizeof *map);
    for (size_t i = 0; map && i < index->n; i++) /* tokens that were dropped count as 0 */
        map[i] = index->integer[i] < tokens->shape[0] ? index->integer[i] : -1;
    if (tape_failed(tape) || !call_require(call, width >= 1, "tokens without elements")) return;
    struct node *rows = node_gather_rows(tape, tokens, 3, shape, (size_t)width, map, 0);
    if (probs) {
        int64_t column[3] = { shape[0], share, 1 };
        rows = node_multiply(tape, rows, node_reshape(tape, probs, 3, column));
    }
    call_return_typed(call, node_sum(tape, rows, 2, false), tokens->dtype);
}

/* Rows of x in the order of their experts, where row_idx (column by column) numbers the pairs of a row and a choice. */
static void init_routing(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *rows = call_tensor(call, "row_idx"),
                *experts = call_tensor(call, "expert_idx");
    int64_t active = call_int(call, "active_num");
    if (!call_require(call,
                      x->rank == 2 && experts->integer && experts->rank == 2 && experts->n &&
                          experts->shape[0] == x->shape[0] && rows->n == experts->n && active >= 0,
                      "x, row_idx and expert_idx have a row for each token") ||
        !call_integers_below(call, rows, (int64_t)rows->n, "row_idx"))
        return;
    int64_t flat[1] = { (int64_t)rows->n }, k = experts->shape[1];
    if (active > x->shape[0]) active = x->shape[0];
    if (!call_require(call,
                      positions_are_distinct(tape, node_reshape(tape, rows, 1, flat), 0, rows->n),
                      "row_idx names a pair twice"))
        return;
    /* Sorted by expert, equal ones in the order of the tokens. */
    struct node *order = sort_positions(tape, node_reshape(tape, experts, 1, flat), 0, false);
    struct node *source = node_new_integer(tape, DT_I64, 1, flat),
                *expert = node_new_integer(tape, DT_I32, 1, flat);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < rows->n; i++) {
        source->integer[i] = rows->integer[order->integer[i]];
        expert->integer[i] = experts->integer[order->integer[i]];
    }
    call_return_typed(call, ordered_rows(call, x, source, active * k, x->shape[0], true), x->dtype);
    call_return(call, inverse_of(tape, source));
    call_return(call, expert);
}

/* Rows of x by expert, each with its number of choices; where each pair went (row_idx_type 0) or came from (1); how many
 * each expert of active_expert_range has, as counts (type 1) or their running sum (0). drop_pad_mode 1: the first
 * expert_capacity rows of each expert and zeros, pairs that are dropped being -1. */
static void init_routing_v2(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *experts = call_tensor(call, "expert_idx"),
                *scale = call_optional_tensor(call, "scale");
    int64_t range[2] = { 0, 0 }, active = call_int(call, "active_num"),
            capacity = call_int(call, "expert_capacity"), count = call_int(call, "expert_num"),
            kind = call_int(call, "expert_tokens_num_type"), where = call_int(call, "row_idx_type");
    bool padded = call_int(call, "drop_pad_mode") == 1;
    int ends = call_ints(call, "active_expert_range", range, 2);
    if (ends == 0) range[1] = count;
    if (!call_require(call, call_int(call, "quant_mode") == -1 && call_is_none(call, "offset"),
                      "a quantized result is not followed here") ||
        !call_require(call,
                      x->rank == 2 && !x->integer && x->shape[1] >= 1 && experts->integer &&
                          experts->rank == 2 && experts->n && experts->shape[0] == x->shape[0] &&
                          (!scale || (scale->rank == 1 && scale->shape[0] == x->shape[0])),
                      "x and expert_idx have a row for each token") ||
        !call_require(call,
                      range[0] >= 0 && range[0] < range[1] && range[1] <= 1 << 20 &&
                          (kind == 0 || kind == 1) && (where == 0 || (where == 1 && !padded)) &&
                          (!padded || (capacity >= 1 && range[0] == 0 && capacity <= 1 << 20)),
                      "a range of experts, counts or their sums, and a capacity are needed"))
        return;
    for (size_t i = 0; i < experts->n; i++)
        if (!call_require(call, experts->integer[i] >= range[0] && experts->integer[i] < range[1],
                          "expert %lld outside of the active range",
                          (long long)experts->integer[i]))
            return;
    int64_t pairs = (int64_t)experts->n, k = experts->shape[1], total = range[1] - range[0];
    int64_t rows = !padded && active > 0 && active < pairs ? active : pairs;
    int64_t flat[1] = { pairs };
    struct node *order = where == 0 && !padded
                             ? sorting_order(call, experts, 1)
                             : sort_positions(tape, node_reshape(tape, experts, 1, flat), 0, false);
    struct node *places = node_new_integer(tape, DT_I32, 1, flat),
                *counts = node_new_integer(tape, DT_I64, 1, &total);
    if (tape_failed(tape)) return;
    memset(counts->integer, 0, counts->n * sizeof *counts->integer);
    size_t slots = padded ? (size_t)(total * capacity) : (size_t)rows;
    int64_t *map = tape_allocate(tape, slots, sizeof *map);
    if (!map) return;
    for (size_t i = 0; i < slots; i++) map[i] = padded ? -1 : order->integer[i] / k;
    for (int64_t i = 0; i < pairs; i++) {
        int64_t pair = order->integer[i], e = experts->integer[pair] - range[0],
                at = counts->integer[e]++;
        if (padded) {
            bool fits = at < capacity;
            places->integer[pair] = fits ? e * capacity + at : -1;
            if (fits) map[e * capacity + at] = pair / k;
        } else if (where == 1) {
            places->integer[i] = pair;
        } else {
            places->integer[pair] = i;
        }
    }
    for (int64_t e = 1; kind == 0 && e < total; e++) counts->integer[e] += counts->integer[e - 1];
    int64_t dense[2] = { rows, x->shape[1] }, blocks[3] = { total, capacity, x->shape[1] };
    call_return_typed(call,
                      node_gather_rows(tape, x, padded ? 3 : 2, padded ? blocks : dense,
                                       (size_t)x->shape[1], map, 0),
                      x->dtype);
    call_return(call, places);
    if (call_bool(call, "expert_tokens_num_flag")) call_return(call, counts);
    else call_return_none(call);
    int64_t length[1] = { (int64_t)slots };
    if (scale) call_return_typed(call, node_gather(tape, scale, 1, length, map, 0), DT_F32);
    else call_return_none(call);
}

/* How many of the sorted experts are no larger than each of num_expert. */
static void compute_expert_tokens(struct call *call)
{
    struct node *x = call_tensor(call, "sorted_experts");
    int64_t count = call_int(call, "num_expert");
    if (!call_require(call, x->integer && count >= 1 && count <= 1 << 20, "experts are integers"))
        return;
    struct node *y = node_new_integer(call->tape, x->dtype, 1, &count);
    if (tape_failed(call->tape)) return;
    memset(y->integer, 0, y->n * sizeof *y->integer);
    for (size_t i = 0; i < x->n; i++)
        if (x->integer[i] < count) y->integer[x->integer[i] < 0 ? 0 : x->integer[i]]++;
    for (size_t i = 1; i < y->n; i++) y->integer[i] += y->integer[i - 1];
    call_return(call, y);
}

/* skip1 + skip2 + the sum over choices j of scales[i][j] (the row where pair (i, j) went + bias of its expert). Pairs are
 * numbered column by column (drop_pad_mode 0 and 1) or row by row (2 and 3); a pair that was dropped has -1. */
static void finalize_routing(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "expanded_permuted_rows"),
                *place = call_tensor(call, "expanded_src_to_dst_row"),
                *scales = call_optional_tensor(call, "scales"),
                *bias = call_optional_tensor(call, "bias"),
                *experts = call_optional_tensor(call, "export_for_source_row");
    int64_t mode = call_is_none(call, "drop_pad_mode") ? 0 : call_int(call, "drop_pad_mode");
    if (!call_require(call,
                      (x->rank == 2 || x->rank == 3) && !x->integer && x->shape[x->rank - 1] >= 1 &&
                          place->integer && mode >= 0 && mode <= 3,
                      "rows, where each went, and a drop_pad_mode of 0 to 3 are needed") ||
        !call_require(call, !scales || (scales->rank == 2 && scales->shape[1] >= 1),
                      "scales is a matrix"))
        return;
    int64_t width = x->shape[x->rank - 1], flat[2] = { (int64_t)x->n / width, width },
            k = scales ? scales->shape[1] : 1, rows = (int64_t)place->n / k;
    if (!call_require(call,
                      place->n == (size_t)(rows * k) && (!scales || scales->shape[0] == rows) &&
                          (!experts || (experts->integer && experts->n == place->n)) &&
                          (!bias || (experts && bias->rank == 2 && bias->shape[1] == width)),
                      "there is a place, a scale and an expert for each of %lld rows",
                      (long long)rows) ||
        (bias && !call_integers_below(call, experts, bias->shape[0], "export_for_source_row")))
        return;
    int64_t shape[3] = { rows, k, width }, column[3] = { rows, k, 1 };
    int64_t *map = tape_allocate(tape, place->n, sizeof *map),
            *biases = tape_allocate(tape, place->n, sizeof *biases);
    for (int64_t i = 0; !tape_failed(tape) && i < rows * k; i++) {
        int64_t to = place->integer[mode < 2 ? i % k * rows + i / k : i];
        if (!call_require(call, to < flat[0] && to >= (mode & 1 ? -1 : 0), "row %lld of %lld",
                          (long long)to, (long long)flat[0]))
            return;
        map[i] = to;
        biases[i] = bias && to >= 0 ? experts->integer[i] : -1;
    }
    if (tape_failed(tape)) return;
    struct node *y =
        node_gather_rows(tape, node_reshape(tape, x, 2, flat), 3, shape, (size_t)width, map, 0);
    if (bias)
        y = node_add(tape, y, node_gather_rows(tape, bias, 3, shape, (size_t)width, biases, 0));
    if (scales) y = node_multiply(tape, y, node_reshape(tape, scales, 3, column));
    y = node_sum(tape, y, 2, false);
    static const char *const skips[2] = { "skip1", "skip2" };
    for (int s = 0; s < 2; s++) {
        struct node *skip = call_optional_tensor(call, skips[s]);
        if (!skip) continue;
        if (!call_require(call, skip->n == y->n, "%s has the shape of the result", skips[s]))
            return;
        y = node_add(tape, y, node_reshape(tape, skip, 2, y->shape));
    }
    call_return_typed(call, y, x->dtype);
}

/* Tokens that came rank by rank, each rank's by expert, brought together expert by expert. */
static void re_routing(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *tokens = call_tensor(call, "tokens"),
                *counts = call_tensor(call, "expert_token_num_per_rank"),
                *scales = call_optional_tensor(call, "per_token_scales");
    int64_t kind = call_int(call, "expert_token_num_type"), idx = call_int(call, "idx_type");
    if (!call_require(call,
                      tokens->rank == 2 && counts->rank == 2 && counts->integer && counts->n &&
                          (kind == 0 || kind == 1) && idx == 0 &&
                          (!scales || (scales->rank == 1 && scales->shape[0] == tokens->shape[0])),
                      "tokens are rows, counts a matrix of ranks and experts; idx_type is 0") ||
        !call_integers_below(call, counts, tokens->shape[0] + 1, "expert_token_num_per_rank"))
        return;
    int64_t ranks = counts->shape[0], experts = counts->shape[1], total = 0;
    int64_t *first = tape_allocate(tape, counts->n, sizeof *first), rows[1] = { tokens->shape[0] };
    struct node *source = node_new_integer(tape, DT_I32, 1, rows),
                *sums = node_new_integer(tape, counts->dtype, 1, &experts);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < ranks * experts; i++) {
        first[i] = total;
        total += counts->integer[i];
        if (!call_require(call, total <= rows[0], "%lld tokens are fewer than are counted",
                          (long long)rows[0]))
            return;
    }
    if (!call_require(call, total == rows[0], "%lld of %lld tokens are counted", (long long)total,
                      (long long)rows[0]))
        return;
    int64_t at = 0;
    for (int64_t e = 0; e < experts; e++) {
        sums->integer[e] = kind == 0 && e ? sums->integer[e - 1] : 0;
        for (int64_t r = 0; r < ranks; r++) {
            sums->integer[e] += counts->integer[r * experts + e];
            for (int64_t k = 0; k < counts->integer[r * experts + e]; k++)
                source->integer[at++] = first[r * experts + e] + k;
        }
    }
    call_return_typed(call, ordered_rows(call, tokens, source, rows[0], 1, false), tokens->dtype);
    if (scales) {
        int64_t column[2] = { rows[0], 1 };
        struct node *y =
            ordered_rows(call, node_reshape(tape, scales, 2, column), source, rows[0], 1, false);
        call_return_typed(call, node_reshape(tape, y, 1, rows), scales->dtype);
    } else {
        call_return_none(call);
    }
    call_return(call, source);
    call_return(call, sums);
}

/* Which copy of an expert serves each choice: eplb_table has for each expert the number of its copies, then these. Mode 0
 * goes by the rank, mode 1 by the row. A choice is active while its row is and its scale is no smaller than its threshold
 * of the row's sum; where rounding decides that, the device's answer counts. */
static void update_expert(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *ids = call_tensor(call, "expert_ids"), *table = call_tensor(call, "eplb_table"),
                *scales = call_optional_tensor(call, "expert_scales"),
                *limits = call_optional_tensor(call, "pruning_threshold"),
                *active = call_optional_tensor(call, "active_mask");
    int64_t mode = call_int(call, "balance_mode"), ranks = call_int(call, "world_size"),
            rank = call_int(call, "local_rank_id");
    if (!call_require(
            call,
            ids->integer && ids->rank == 2 && table->integer && table->rank == 2 &&
                table->shape[1] >= 2 &&
                (mode == 1 ||
                 (mode == 0 && ranks >= 1 && ranks <= 1 << 20 && rank >= 0 && rank < ranks)),
            "expert_ids and eplb_table are matrices; mode 0 needs the rank and their number") ||
        !call_require(
            call,
            !scales == !limits &&
                (!scales || (scales->rank == 2 && scales->n == ids->n && !scales->integer &&
                             !limits->integer && limits->n == (size_t)ids->shape[1])) &&
                (!active || (active->integer && active->n == (size_t)ids->shape[0])),
            "scales are as many as choices, thresholds as a row, active_mask as rows") ||
        !call_integers_below(call, ids, table->shape[0], "expert_ids"))
        return;
    struct node *y = node_new_integer(tape, ids->dtype, 2, ids->shape);
    int64_t columns = table->shape[1], k = ids->shape[1];
    for (size_t i = 0; !tape_failed(tape) && i < ids->n; i++) {
        const int64_t *row = table->integer + ids->integer[i] * columns;
        if (!call_require(call, row[0] >= 1 && row[0] < columns, "%lld copies of expert %lld",
                          (long long)row[0], (long long)ids->integer[i]))
            return;
        int64_t copy = mode == 0 ? rank / ((ranks + row[0] - 1) / row[0]) : (int64_t)i / k % row[0];
        y->integer[i] = row[copy + 1];
    }
    call_return(call, y);
    if (!scales) {
        call_return_none(call);
        return;
    }
    struct node *sum =
        node_multiply(tape, node_sum(tape, scales, 2, true), node_reshape(tape, limits, 1, &k));
    struct node *keep = node_compare(tape, COMPARE_GE, scales, sum);
    (void)node_values(tape, scales), (void)node_values(tape, sum);
    struct node *mask = node_new_integer(tape, DT_BOOL, 2, ids->shape);
    if (tape_failed(tape)) return;
    const struct tensor *got = call_device_output(call, 1);
    struct node *theirs = got && got->dtype == DT_BOOL && tensor_elements(got) == ids->n
                              ? node_leaf(tape, got, false)
                              : NULL;
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < ids->n; i++) {
        bool row = !active || active->integer[i / (size_t)k];
        double room = ((double)k + 2) * 0x1p-24 * fabs(sum->value[i]);
        mask->integer[i] = row && keep->integer[i];
        if (row && theirs && fabs(scales->value[i] - sum->value[i]) <= room)
            mask->integer[i] = theirs->integer[i];
    }
    call_return(call, mask);
}

/* clang-format off */
#define PERMUTE "(Tensor tokens, Tensor indices, int? num_out_tokens=None, bool padded_mode=False)"
#define UNPERMUTE "(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, bool padded_mode=False, int[]? restore_shape=None)"
const struct op ops_npu_moe[] = {
    { "npu_moe_gating_top_k_softmax", NPU, "(Tensor x, Tensor? finished=None, int k=1)", moe_gating, 0, 0, NULL },
    { "npu_moe_gating_top_k", NPU, "(Tensor x, int k, *, Tensor? bias=None, int k_group=1, int group_count=1, int group_select_mode=0, int renorm=0, int norm_type=0, bool out_flag=False, float routed_scaling_factor=1.0, float eps=1e-20)", gating_top_k, OP_NO_GRADIENT, 0, NULL },
    { "atb.npu_fused_add_topk_div", NPU, "(Tensor x, Tensor add_num, *, int group_num=1, int group_topk=1, int n=1, int k=1, int activation_type=0, bool is_norm=True, float scale=1.0, bool enable_expert_mapping=False, Tensor? mapping_num=None, Tensor? mapping_table=None)", fused_add_topk_div, OP_NO_GRADIENT, 0, NULL },
    { "npu_moe_token_permute", NPU, PERMUTE, token_permute, OP_ONE_NODE, 0, NULL },
    { "npu_moe_token_permute.npu_moe_token_permute", MINDSPEED, PERMUTE, token_permute, OP_ONE_NODE, 0, NULL },
    { "npu_moe_token_permute_with_routing_map", NPU, "(Tensor tokens, Tensor routing_map, *, Tensor? probs=None, int? num_out_tokens=None, bool drop_and_pad=False)", permute_with_routing_map, OP_ONE_NODE, 0, NULL },
    { "npu_moe_update_expert", NPU, "(Tensor expert_ids, Tensor eplb_table, *, Tensor? expert_scales=None, Tensor? pruning_threshold=None, Tensor? active_mask=None, int local_rank_id=-1, int world_size=-1, int balance_mode=0)", update_expert, OP_NO_GRADIENT, 0, NULL },
    { "npu_moe_token_unpermute", NPU, UNPERMUTE, token_unpermute, OP_ONE_NODE, 0, NULL },
    { "npu_moe_token_unpermute.npu_moe_token_unpermute", MINDSPEED, UNPERMUTE, token_unpermute, OP_ONE_NODE, 0, NULL },
    { "npu_moe_init_routing", NPU, "(Tensor x, Tensor row_idx, Tensor expert_idx, int active_num)", init_routing, OP_NO_GRADIENT, 0, NULL },
    { "npu_moe_init_routing_v2", NPU, "(Tensor x, Tensor expert_idx, *, Tensor? scale=None, Tensor? offset=None, int active_num=-1, int expert_capacity=-1, int expert_num=-1, int drop_pad_mode=0, int expert_tokens_num_type=0, bool expert_tokens_num_flag=False, int quant_mode=0, int[] active_expert_range=[], int row_idx_type=0)", init_routing_v2, OP_NO_GRADIENT, 0, NULL },
    { "npu_moe_compute_expert_tokens", NPU, "(Tensor sorted_experts, int num_expert)", compute_expert_tokens, OP_NO_GRADIENT, 0, NULL },
    { "npu_moe_finalize_routing|npu_moe_finalize_routing_v2", NPU, "(Tensor expanded_permuted_rows, Tensor? skip1, Tensor? skip2, Tensor? bias, Tensor? scales, Tensor expanded_src_to_dst_row, Tensor? export_for_source_row, int? drop_pad_mode=0)", finalize_routing, OP_NO_GRADIENT, 0, NULL },
    { "npu_moe_re_routing", NPU, "(Tensor tokens, Tensor expert_token_num_per_rank, *, Tensor? per_token_scales=None, int expert_token_num_type=1, int idx_type=0)", re_routing, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_moe);
