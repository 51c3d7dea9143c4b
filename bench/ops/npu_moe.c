/* Mixtures of experts in torch_npu and MindSpeed: tokens brought to the experts that gates chose, and back; by their
 * documentation (op-plugin, docs/context; MindSpeed, docs/ops). An order of equal experts is the device's where it is as right as ours.
 */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/settling.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/sorting.h"

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

/* A call of init_routing_v2. Each expert of the range has room for `capacity` rows where they are padded. */
struct routing {
    struct node *x, *experts, *scale;
    int64_t range[2], active, capacity;
    bool sums;     /* counts are added up */
    bool by_place; /* places are those of the pairs, else where the pairs went */
    bool padded;
};

static bool open_routing(struct routing *r, struct call *call)
{
    int64_t kind = call_int(call, "expert_tokens_num_type"), where = call_int(call, "row_idx_type");
    *r = (struct routing){ .x = call_tensor(call, "x"),
                           .experts = call_tensor(call, "expert_idx"),
                           .scale = call_optional_tensor(call, "scale"),
                           .active = call_int(call, "active_num"),
                           .capacity = call_int(call, "expert_capacity"),
                           .sums = kind == 0,
                           .by_place = where == 1,
                           .padded = call_int(call, "drop_pad_mode") == 1 };
    const struct node *x = r->x, *experts = r->experts, *scale = r->scale;
    int64_t *range = r->range;
    if (call_ints(call, "active_expert_range", range, 2) == 0)
        range[1] = call_int(call, "expert_num");
    if (!call_require(call, call_int(call, "quant_mode") == -1 && call_is_none(call, "offset"),
                      "a quantized result is not followed here") ||
        !call_require(call,
                      x->rank == 2 && !x->integer && x->shape[1] >= 1 && experts->integer &&
                          experts->rank == 2 && experts->n && experts->shape[0] == x->shape[0] &&
                          (!scale || (scale->rank == 1 && scale->shape[0] == x->shape[0])),
                      "x and expert_idx have a row for each token") ||
        !call_require(
            call,
            range[0] >= 0 && range[0] < range[1] && range[1] <= 1 << 20 &&
                (kind == 0 || kind == 1) && (where == 0 || (where == 1 && !r->padded)) &&
                (!r->padded || (r->capacity >= 1 && range[0] == 0 && r->capacity <= 1 << 20)),
            "a range of experts, counts or their sums, and a capacity are needed"))
        return false;
    for (size_t i = 0; i < experts->n; i++)
        if (!call_require(call, experts->integer[i] >= range[0] && experts->integer[i] < range[1],
                          "expert %lld outside of the active range",
                          (long long)experts->integer[i]))
            return false;
    return true;
}

/* Count the pairs of each expert in this order and say where each goes; `map` has the token of each row, -1 where a row stays empty. */
static void place_pairs(struct node *places, struct node *counts, int64_t *map,
                        const struct routing *r, const struct node *order)
{
    int64_t k = r->experts->shape[1], capacity = r->capacity;
    memset(counts->integer, 0, counts->n * sizeof *counts->integer);
    for (size_t i = 0; i < order->n; i++) {
        int64_t pair = order->integer[i], e = r->experts->integer[pair] - r->range[0],
                at = counts->integer[e]++;
        bool fits = at < capacity;
        if (r->padded) places->integer[pair] = fits ? e * capacity + at : -1;
        else if (r->by_place) places->integer[i] = pair;
        else places->integer[pair] = (int64_t)i;
        if (r->padded && fits) map[e * capacity + at] = pair / k;
    }
    for (size_t e = 1; r->sums && e < counts->n; e++) counts->integer[e] += counts->integer[e - 1];
}

/* Rows of x by expert, each with its number of choices; where each pair went (row_idx_type 0) or came from (1); how many
 * each expert of active_expert_range has, as counts (type 1) or their running sum (0). drop_pad_mode 1: the first
 * expert_capacity rows of each expert and zeros, pairs that are dropped being -1. */
static void init_routing_v2(struct call *call)
{
    struct tape *tape = call->tape;
    struct routing r;
    if (!open_routing(&r, call)) return;
    bool padded = r.padded;
    int64_t pairs = (int64_t)r.experts->n, k = r.experts->shape[1], total = r.range[1] - r.range[0],
            width = r.x->shape[1];
    int64_t rows = !padded && r.active > 0 && r.active < pairs ? r.active : pairs;
    struct node *order =
        !r.by_place && !padded
            ? sorting_order(call, r.experts, 1)
            : sort_positions(tape, node_reshape(tape, r.experts, 1, &pairs), 0, false);
    struct node *places = node_new_integer(tape, DT_I32, 1, &pairs),
                *counts = node_new_integer(tape, DT_I64, 1, &total);
    int64_t slots = padded ? total * r.capacity : rows,
            *map = tape_allocate(tape, (size_t)slots, sizeof *map);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < slots; i++) map[i] = padded ? -1 : order->integer[i] / k;
    place_pairs(places, counts, map, &r, order);
    int64_t dense[2] = { rows, width }, blocks[3] = { total, r.capacity, width };
    call_return_typed(
        call,
        node_gather_rows(tape, r.x, padded ? 3 : 2, padded ? blocks : dense, (size_t)width, map, 0),
        r.x->dtype);
    call_return(call, places);
    if (call_bool(call, "expert_tokens_num_flag")) call_return(call, counts);
    else call_return_none(call);
    if (r.scale) call_return_typed(call, node_gather(tape, r.scale, 1, &slots, map, 0), DT_F32);
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

/* clang-format off */
#define PERMUTE "(Tensor tokens, Tensor indices, int? num_out_tokens=None, bool padded_mode=False)"
#define UNPERMUTE "(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, bool padded_mode=False, int[]? restore_shape=None)"
const struct op ops_npu_moe[] = {
    { "npu_moe_token_permute", NPU, PERMUTE, token_permute, OP_ONE_NODE, 0, NULL },
    { "npu_moe_token_permute.npu_moe_token_permute", MINDSPEED, PERMUTE, token_permute, OP_ONE_NODE, 0, NULL },
    { "npu_moe_token_permute_with_routing_map", NPU, "(Tensor tokens, Tensor routing_map, *, Tensor? probs=None, int? num_out_tokens=None, bool drop_and_pad=False)", permute_with_routing_map, OP_ONE_NODE, 0, NULL },
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
