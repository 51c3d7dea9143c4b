/* Ops of MindSpore that PyTorch has not: blocks of space and batches, diagonals in bands, sequences turned round, and a few
 * formulas. By the reference pages of mindspore.ops and their examples; diagonals and reversed sequences are those of
 * TensorFlow's ops of these names, which the pages repeat.
 */
#include <math.h>
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- formulas ----------------------------------------------------------------------------------------------- */

/* |x - y| < tolerance */
static void approximate_equal(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands o = two_operands(call, "x", "y");
    if (tape_failed(tape)) return;
    struct node *apart = node_apply(
        tape, "abs", node_subtract(tape, node_to_real(tape, o.a), node_to_real(tape, o.b)));
    struct node *limit =
        node_scalar(tape, number_as_compared(call_real(call, "tolerance"), o.dtype));
    call_return(call, node_compare(tape, COMPARE_LT, apart, limit));
}

/* The step from 1 to the next number of the dtype, everywhere. */
static void epsilon(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    if (!call_require(call, dtype_is_float(x->dtype), "floats are needed")) return;
    call_return(call,
                node_constant(call->tape, x->dtype, dtype_ulp(x->dtype, 1), x->rank, x->shape));
}

/* Tensors times max_norm / (norm + 1e-6) where that is below 1; the norm is that of all of them together. */
static void clip_by_norm(struct call *call)
{
    struct tape *tape = call->tape;
    int count;
    struct node **x = call_tensors(call, "x", &count), *squares = NULL;
    if (!call_require(call, count > 0, "a list of tensors was expected") ||
        !call_require(call, call_real(call, "norm_type") == 2,
                      "only the norm of order 2 is followed here"))
        return;
    for (int i = 0; i < count; i++) {
        struct node *one = node_sum(tape, node_multiply(tape, x[i], x[i]), all_dims(x[i]), false);
        squares = squares ? node_add(tape, squares, one) : one;
    }
    struct node *norm = node_offset(tape, node_apply(tape, "sqrt", squares), 1e-6);
    struct node *share = node_divide(tape, node_scalar(tape, call_real(call, "max_norm")), norm);
    struct node *one = node_scalar(tape, 1);
    share = node_select(tape, node_compare(tape, COMPARE_GT, share, one), one, share);
    for (int i = 0; i < count; i++)
        call_return_typed(call, node_multiply(tape, x[i], share), x[i]->dtype);
}

/* x / (bias + alpha sum of squares over depth_radius channels on either side)^beta */
static void local_response(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *sum = NULL;
    int64_t radius = call_int(call, "depth_radius");
    if (!call_require(call,
                      x->rank == 4 && !x->integer && radius >= 0 &&
                          !strcmp(call_string(call, "norm_region"), "ACROSS_CHANNELS"),
                      "a tensor (n, c, h, w) and channels are needed"))
        return;
    struct node *squares = node_multiply(tape, x, x);
    int64_t channels = x->shape[1];
    for (int64_t away = -radius; away <= radius; away++) {
        int64_t shape[4] = { x->shape[0], 0, x->shape[2], x->shape[3] },
                shift = away < 0 ? -away : away;
        if (shift >= channels) continue;
        struct node *part = node_slice(tape, squares, 1, away > 0 ? away : 0, channels - shift, 1);
        shape[1] = shift;
        struct node *rest = node_constant(tape, x->dtype, 0, 4, shape);
        if (shift)
            part = node_concatenate(
                tape, away > 0 ? (struct node *[]){ part, rest } : (struct node *[]){ rest, part },
                2, 1);
        sum = sum ? node_add(tape, sum, part) : part;
    }
    if (!call_require(call, sum != NULL, "there are no channels")) return;
    struct node *base =
        node_offset(tape, node_scale(tape, sum, call_real(call, "alpha")), call_real(call, "bias"));
    struct node *power = node_apply2(tape, "pow", base, node_scalar(tape, call_real(call, "beta")));
    call_return_typed(call, node_divide(tape, x, power), x->dtype);
}

/* Sums over one axis of each, sample by sample. */
static void batch_dot(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x[2] = { call_tensor(call, "x1"), call_tensor(call, "x2") };
    int64_t axis[2] = { -1, -2 }, shape[TENSOR_MAX_RANK], rows[2] = { 1, 1 };
    if (!call_require(call,
                      x[0]->rank >= 2 && x[1]->rank >= 2 && x[0]->shape[0] == x[1]->shape[0] &&
                          x[0]->rank + x[1]->rank - 2 <= TENSOR_MAX_RANK,
                      "tensors of as many samples are needed"))
        return;
    if (x[1]->rank == 2) axis[1] = -1;
    if (!call_is_none(call, "axes") && call_ints(call, "axes", axis, 2) == 1) axis[1] = axis[0];
    int rank = 1;
    shape[0] = x[0]->shape[0];
    for (int k = 0; k < 2; k++) {
        int d = wrap_dim(call, axis[k], x[k]->rank), order[TENSOR_MAX_RANK], at = 0;
        if (!call_require(call, d >= 1, "the first axis is that of samples")) return;
        axis[k] = x[k]->shape[d];
        for (int i = 0; i < x[k]->rank; i++)
            if (i != d) order[at++] = i;
        order[at] = d;
        for (int i = 1; i < x[k]->rank; i++) {
            if (i == d) continue;
            rows[k] *= x[k]->shape[i];
            shape[rank++] = x[k]->shape[i];
        }
        x[k] = node_permute(tape, x[k], order);
        x[k] = node_reshape(tape, x[k], 3, (int64_t[]){ shape[0], rows[k], axis[k] });
    }
    if (!call_require(call, axis[0] == axis[1], "the axes have %lld and %lld elements",
                      (long long)axis[0], (long long)axis[1]))
        return;
    if (rank == 1) shape[rank++] = 1;
    struct node *y = compose_matmul(tape, x[0], node_transpose(tape, x[1], 1, 2));
    call_return_typed(call, node_reshape(tape, y, rank, shape), x[0]->dtype);
}

/* Are no k predictions larger than that of the target? */
static void in_top_k(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x1"), *target = call_tensor(call, "x2");
    int64_t k = call_int(call, "k");
    if (!call_require(call,
                      x->rank == 2 && !x->integer && target->integer && target->rank == 1 &&
                          target->shape[0] == x->shape[0],
                      "rows of predictions and a target for each are needed"))
        return;
    const double *value = node_values(tape, x);
    struct node *y = node_new_integer(tape, DT_BOOL, 1, target->shape);
    for (int64_t r = 0; !tape_failed(tape) && r < x->shape[0]; r++) {
        const double *row = value + r * x->shape[1];
        int64_t at = target->integer[r], above = 0;
        if (!call_require(call, at >= 0 && at < x->shape[1], "target %lld of %lld", (long long)at,
                          (long long)x->shape[1]))
            return;
        for (int64_t i = 0; i < x->shape[1]; i++) {
            if (!call_require(call, isfinite(row[i]), "only finite predictions are followed here"))
                return;
            above += row[i] > row[at];
        }
        y->integer[r] = above < k;
    }
    call_return(call, y);
}

/* The bits that are 1. */
static void population_count(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    if (!call_require(call, x->integer && dtype_info(x->dtype)->bytes == 2,
                      "integers of 16 bits are needed"))
        return;
    struct node *y = node_new_integer(call->tape, DT_U8, x->rank, x->shape);
    for (size_t i = 0; !tape_failed(call->tape) && i < x->n; i++)
        y->integer[i] = __builtin_popcount((unsigned)x->integer[i] & 0xffff);
    call_return(call, y);
}

/* ---- blocks -------------------------------------------------------------------------------------------------- */

/* Blocks of the spatial dimensions behind the first (space_to_batch_nd) or brought from it (detail 1: batch_to_space_nd). */
struct space {
    int dims;
    int64_t block[TENSOR_MAX_RANK], edge[TENSOR_MAX_RANK][2];
};

/* Pairs of a list of lists. */
static bool read_edges(struct call *call, struct space *s, const char *name)
{
    const struct value *list = call_value(call, name);
    bool fits = (list->kind == VALUE_LIST) && list->list.count == (size_t)s->dims;
    for (int d = 0; fits && d < s->dims; d++) {
        const struct value *pair = &list->list.items[d];
        fits = pair->kind == VALUE_LIST && pair->list.count == 2;
        for (int k = 0; fits && k < 2; k++) {
            fits = pair->list.items[k].kind == VALUE_INT && pair->list.items[k].integer >= 0 &&
                   pair->list.items[k].integer <= INT32_MAX;
            s->edge[d][k] = fits ? pair->list.items[k].integer : 0;
        }
    }
    return call_require(call, fits, "'%s' has two numbers for each dimension of blocks", name);
}

/* Blocks of the last dimensions, and how many elements one has. */
static bool read_blocks(struct call *call, struct space *s, int64_t *product, const struct node *x)
{
    const struct value *blocks = call_value(call, "block_size");
    s->dims = blocks->kind == VALUE_INT ? x->rank - 2
                                        : call_ints(call, "block_size", s->block, TENSOR_MAX_RANK);
    if (blocks->kind == VALUE_INT) call_ints_repeated(call, "block_size", s->block, s->dims);
    *product = 1;
    if (!call_require(call,
                      s->dims >= 1 && x->rank > s->dims && x->rank + s->dims <= TENSOR_MAX_RANK,
                      "blocks of up to the last dimensions are needed") ||
        !read_edges(call, s, call->op->detail == 1 ? "crops" : "paddings"))
        return false;
    for (int d = 0; d < s->dims; d++)
        if (!call_require(call, s->block[d] >= 1 && s->block[d] <= INT32_MAX, "a block of %lld",
                          (long long)s->block[d]) ||
            !call_require(call, !__builtin_mul_overflow(*product, s->block[d], product),
                          "too large blocks"))
            return false;
    return true;
}

/* The shape of the result, `back` of blocks in the batch. False where the blocks do not fill the tensor. */
static bool shape_of_blocks(int64_t *shape, const struct space *s, const struct node *x,
                            int64_t product, bool back)
{
    int lead = x->rank - s->dims;
    memcpy(shape, x->shape, sizeof x->shape);
    shape[0] = back ? x->shape[0] / product : x->shape[0] * product;
    bool fits = !back || x->shape[0] % product == 0;
    for (int d = 0; d < s->dims; d++) {
        int64_t own = x->shape[lead + d], edge = s->edge[d][0] + s->edge[d][1];
        int64_t whole = back ? own * s->block[d] - edge : own + edge;
        fits = fits && whole >= 0 && (back || whole % s->block[d] == 0);
        shape[lead + d] = back ? whole : whole / s->block[d];
    }
    return fits;
}

/* Where an element of a result with blocks in the batch was in x: `at`, its own place, becomes that. False in the padding. */
static bool out_of_batch(int64_t *at, const struct space *s, const struct node *x)
{
    int lead = x->rank - s->dims;
    int64_t which = at[0] / x->shape[0];
    bool within = true;
    at[0] %= x->shape[0];
    for (int d = s->dims; d-- > 0; which /= s->block[d]) {
        int64_t *place = &at[lead + d];
        *place = *place * s->block[d] + which % s->block[d] - s->edge[d][0];
        within = within && *place >= 0 && *place < x->shape[lead + d];
    }
    return within;
}

/* The same of an element of a result of `batches` whose blocks stand in the batch of x. */
static void into_batch(int64_t *at, const struct space *s, int lead, int64_t batches)
{
    int64_t before = 1; /* the last dimension's block changes fastest */
    for (int d = s->dims; d-- > 0; before *= s->block[d]) {
        int64_t whole = at[lead + d] + s->edge[d][0];
        at[0] += batches * (whole % s->block[d]) * before;
        at[lead + d] = whole / s->block[d];
    }
}

static void blocks_of_space(struct call *call)
{
    struct tape *tape = call->tape;
    bool back = call->op->detail == 1;
    struct node *x = call_tensor(call, "input_x");
    struct space s = { 0 };
    int64_t shape[TENSOR_MAX_RANK], at[TENSOR_MAX_RANK], product;
    if (!read_blocks(call, &s, &product, x) ||
        !call_require(call, shape_of_blocks(shape, &s, x, product, back),
                      "the blocks do not fill the tensor"))
        return;
    size_t n = 1;
    for (int d = 0; d < x->rank; d++) n *= (size_t)shape[d];
    int64_t *map = tape_allocate(tape, n + 1, sizeof *map);
    if (!map) return;
    for (size_t i = 0; i < n; i++) {
        size_t rest = i;
        for (int d = x->rank; d-- > 0; rest /= (size_t)shape[d])
            at[d] = (int64_t)(rest % (size_t)shape[d]);
        bool within = back || out_of_batch(at, &s, x);
        if (back) into_batch(at, &s, x->rank - s.dims, shape[0]);
        map[i] = within ? 0 : -1;
        for (int d = 0; within && d < x->rank; d++) map[i] = map[i] * x->shape[d] + at[d];
    }
    call_return(call, node_gather(tape, x, x->rank, shape, map, 0));
}

/* Columns (n, c, kernel, places) added where their windows of an image lie. */
static void columns_to_image(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input_x");
    static const char *const names[5] = { "output_size", "kernel_size", "dilation", "padding_value",
                                          "stride" };
    int64_t size[5][2], places[2];
    for (int k = 0; k < 5; k++) {
        const struct value *value = call_value(call, names[k]);
        if (value->kind == VALUE_TENSOR) {
            struct node *given = call_node(call, value);
            if (!call_require(call, given->integer && given->n == 2, "%s has two numbers",
                              names[k]))
                return;
            memcpy(size[k], given->integer, sizeof size[k]);
        } else {
            call_ints_repeated(call, names[k], size[k], 2);
        }
        for (int d = 0; d < 2; d++)
            if (!call_require(call, size[k][d] >= (k != 3) && size[k][d] <= INT32_MAX, "%s of %lld",
                              names[k], (long long)size[k][d]))
                return;
    }
    for (int d = 0; d < 2; d++) {
        int64_t reach = size[0][d] + 2 * size[3][d] - size[2][d] * (size[1][d] - 1) - 1;
        places[d] = reach < 0 ? 0 : reach / size[4][d] + 1;
    }
    if (!call_require(call,
                      x->rank == 4 && x->shape[2] == size[1][0] * size[1][1] &&
                          x->shape[3] == places[0] * places[1],
                      "columns (n, c, elements of the kernel, places) are needed"))
        return;
    int64_t *map = tape_allocate(tape, x->n + 1, sizeof *map);
    if (!map) return;
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        int64_t place = i % x->shape[3], k = i / x->shape[3] % x->shape[2],
                plane = i / x->shape[3] / x->shape[2],
                y = place / places[1] * size[4][0] + k / size[1][1] * size[2][0] - size[3][0],
                c = place % places[1] * size[4][1] + k % size[1][1] * size[2][1] - size[3][1];
        bool inside = y >= 0 && y < size[0][0] && c >= 0 && c < size[0][1];
        map[i] = inside ? (plane * size[0][0] + y) * size[0][1] + c : -1;
    }
    int64_t shape[4] = { x->shape[0], x->shape[1], size[0][0], size[0][1] };
    call_return_typed(call, node_scatter_add(tape, x, 4, shape, map), x->dtype);
}

/* The last dimension, of 1, filled up with zeros. */
static void padding(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    int64_t shape[TENSOR_MAX_RANK], width = call_int(call, "pad_dim_size");
    if (!call_require(
            call, x->rank >= 1 && x->shape[x->rank - 1] == 1 && width >= 1 && width <= INT32_MAX,
            "a last dimension of 1 and what it becomes are needed"))
        return;
    if (width == 1) {
        call_return(call, x);
        return;
    }
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = width - 1;
    struct node *rest = x->integer ? node_integer_constant(call->tape, x->dtype, 0, x->rank, shape)
                                   : node_constant(call->tape, x->dtype, 0, x->rank, shape);
    call_return(call, node_concatenate(call->tape, (struct node *[]){ x, rest }, 2, x->rank - 1));
}

/* The first seq_lengths[b] positions along seq_dim the other way round, for each b of batch_dim. */
static void reverse_sequence(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *length = call_tensor(call, "seq_lengths");
    int along = call_dim(call, "seq_dim", x->rank), batch = call_dim(call, "batch_dim", x->rank);
    if (!call_require(call,
                      x->rank >= 2 && along != batch && length->integer && length->rank == 1 &&
                          length->shape[0] == x->shape[batch],
                      "a length for each of the batch is needed"))
        return;
    int64_t step[2] = { 1, 1 }, *map = tape_allocate(tape, x->n + 1, sizeof *map);
    if (!map) return;
    for (int d = x->rank; d-- > along + 1;) step[0] *= x->shape[d];
    for (int d = x->rank; d-- > batch + 1;) step[1] *= x->shape[d];
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        int64_t at = i / step[0] % x->shape[along],
                n = length->integer[i / step[1] % x->shape[batch]];
        if (!call_require(call, n >= 0 && n <= x->shape[along], "a length of %lld", (long long)n))
            return;
        map[i] = at < n ? i + (n - 1 - 2 * at) * step[0] : i;
    }
    call_return(call, node_gather(tape, x, x->rank, x->shape, map, 0));
}

/* The means of the rows of x that indices names, over those of one segment; a segment without rows is 0. */
static void sparse_segment_mean(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *index = call_tensor(call, "indices"),
                *segment = call_tensor(call, "segment_ids");
    int64_t n = index->rank == 1 ? index->shape[0] : 0, shape[TENSOR_MAX_RANK], segments;
    if (!call_require(call,
                      x->rank >= 1 && n >= 1 && index->integer && segment->integer &&
                          segment->rank == 1 && segment->shape[0] == n && !x->integer,
                      "rows, and as many segments as indices, are needed"))
        return;
    segments = segment->integer[n - 1] + 1;
    if (!call_require(call, segments >= 1 && segments <= INT32_MAX, "%lld segments",
                      (long long)segments))
        return;
    int64_t *map = tape_allocate(tape, 2 * (size_t)n, sizeof *map);
    struct node *count = node_new_real(tape, DT_NONE, 1, &segments);
    if (tape_failed(tape)) return;
    for (int64_t s = 0; s < segments; s++) count->value[s] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t s = map[n + i] = segment->integer[i];
        map[i] = index->integer[i];
        if (!call_require(call,
                          map[i] >= 0 && map[i] < x->shape[0] && s >= 0 && s < segments &&
                              (i == 0 || s >= segment->integer[i - 1]),
                          "row %lld, segment %lld: segments rise", (long long)map[i], (long long)s))
            return;
        count->value[s]++;
    }
    for (int64_t s = 0; s < segments; s++) count->value[s] = fmax(count->value[s], 1);
    size_t row = x->shape[0] ? x->n / (size_t)x->shape[0] : 0;
    memcpy(shape, x->shape, sizeof shape);
    shape[0] = n;
    struct node *rows = node_gather_rows(tape, x, x->rank, shape, row, map, 0);
    shape[0] = segments;
    struct node *sum = node_scatter_add_rows(tape, rows, x->rank, shape, row, map + n);
    int64_t column[TENSOR_MAX_RANK];
    for (int d = 0; d < x->rank; d++) column[d] = d ? 1 : segments;
    struct node *by = node_reshape(tape, count, x->rank, column);
    call_return_typed(call, node_divide(tape, sum, by), x->dtype);
}

/* ---- diagonals in bands ---------------------------------------------------------------------------------------- */

/* Diagonals low .. high (0: the main one, above: positive) of matrices rows x columns, each in a row of `longest`, the
 * highest first; shorter ones at the left, or at the right by `right`. */
struct band {
    int64_t low, high, rows, columns, longest;
    bool right_above, right_below;
};

static bool read_band(struct call *call, struct band *b)
{
    int64_t k[2] = { 0, 0 };
    const struct value *value = call_value(call, "k");
    int count = 1;
    if (value->kind == VALUE_TENSOR) {
        struct node *given = call_node(call, value);
        if (!call_require(call, given->integer && given->n >= 1 && given->n <= 2,
                          "k is one number or two"))
            return false;
        count = (int)given->n;
        for (int i = 0; i < count; i++) k[i] = given->integer[i];
    } else {
        count = call_ints(call, "k", k, 2);
    }
    b->low = k[0];
    b->high = count == 2 ? k[1] : k[0];
    const char *align = call_string(call, "align");
    b->right_above = !strncmp(align, "RIGHT", 5);
    b->right_below = strstr(align, "_RIGHT") != NULL;
    return call_require(call, b->low <= b->high && b->low > -INT32_MAX && b->high < INT32_MAX,
                        "k names no diagonals");
}

/* How long diagonal d is. */
static int64_t length_of(const struct band *b, int64_t d)
{
    int64_t rows = b->rows + (d < 0 ? d : 0), columns = b->columns - (d > 0 ? d : 0);
    return rows < columns ? rows : columns;
}

/* Where element (row, column) lies among the diagonals, -1 outside of them. */
static int64_t place_of(const struct band *b, int64_t row, int64_t column)
{
    int64_t d = column - row;
    if (d < b->low || d > b->high) return -1;
    bool right = (d >= 0 && b->right_above) || (d <= 0 && b->right_below);
    int64_t at = (d > 0 ? row : column) + (right ? b->longest - length_of(b, d) : 0);
    return (b->high - d) * b->longest + at;
}

/* Do the diagonals of a tensor have the band's shape: their number, where there may be several, and the longest? */
static bool diagonals_fit(const struct band *b, const struct node *x, int lead)
{
    int64_t count = b->high - b->low + 1;
    bool several = b->low != b->high;
    return x->rank == lead + (several ? 2 : 1) && x->shape[x->rank - 1] == b->longest &&
           (!several || x->shape[lead] == count);
}

static void matrix_diag(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *fill = call_tensor(call, "padding_value");
    struct band b = { .rows = call_int(call, "num_rows"), .columns = call_int(call, "num_cols") };
    if (!read_band(call, &b)) return;
    int lead = x->rank - (b.low != b.high ? 2 : 1);
    if (!call_require(call, lead >= 0 && x->n && lead + 2 <= TENSOR_MAX_RANK && fill->n == 1,
                      "diagonals are needed"))
        return;
    b.longest = x->shape[x->rank - 1];
    int64_t rows = b.longest - (b.high < 0 ? b.high : 0),
            columns = b.longest + (b.low > 0 ? b.low : 0);
    if (b.rows == -1 && b.columns == -1) b.rows = b.columns = rows > columns ? rows : columns;
    else if (b.rows == -1) b.rows = rows;
    else if (b.columns == -1) b.columns = columns;
    if (!call_require(call,
                      b.rows >= rows && b.columns >= columns && b.rows <= INT32_MAX &&
                          b.columns <= INT32_MAX && diagonals_fit(&b, x, lead),
                      "the diagonals do not fit a matrix of %lld x %lld", (long long)b.rows,
                      (long long)b.columns))
        return;
    int64_t shape[TENSOR_MAX_RANK], of_each = (b.high - b.low + 1) * b.longest,
                                    each = b.rows * b.columns, count = (int64_t)x->n / of_each;
    memcpy(shape, x->shape, sizeof shape);
    shape[lead] = b.rows;
    shape[lead + 1] = b.columns;
    int64_t *map = tape_allocate(tape, (size_t)(count * each) + 1, sizeof *map);
    struct node *mask = node_new_integer(tape, DT_BOOL, lead + 2, shape);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < count * each; i++) {
        int64_t place = place_of(&b, i % each / b.columns, i % b.columns);
        map[i] = place < 0 ? -1 : i / each * of_each + place;
        mask->integer[i] = place >= 0;
    }
    struct node *y = node_gather(tape, x, lead + 2, shape, map, 0);
    call_return_typed(call, node_select(tape, mask, y, node_reshape(tape, fill, 0, NULL)),
                      x->dtype);
}

/* The matrices' extents and the longest of the diagonals. */
static bool band_of_matrices(struct call *call, struct band *b, const struct node *x)
{
    if (!read_band(call, b) || !call_require(call, x->rank >= 2 && x->n, "matrices are needed"))
        return false;
    b->rows = x->shape[x->rank - 2];
    b->columns = x->shape[x->rank - 1];
    if (!call_require(call, b->low > -b->rows && b->high < b->columns,
                      "a matrix of %lld x %lld does not have the diagonals", (long long)b->rows,
                      (long long)b->columns))
        return false;
    int64_t tall = b->rows + (b->high < 0 ? b->high : 0),
            wide = b->columns - (b->low > 0 ? b->low : 0);
    b->longest = tall < wide ? tall : wide;
    return true;
}

static void matrix_diag_part(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *fill = call_tensor(call, "padding_value");
    struct band b = { 0 };
    if (!band_of_matrices(call, &b, x) ||
        !call_require(call, fill->n == 1, "one padding_value is needed"))
        return;
    int lead = x->rank - 2, rank = lead;
    int64_t shape[TENSOR_MAX_RANK], of_each = (b.high - b.low + 1) * b.longest,
                                    each = b.rows * b.columns, count = (int64_t)x->n / each;
    memcpy(shape, x->shape, sizeof shape);
    if (b.low != b.high) shape[rank++] = b.high - b.low + 1;
    shape[rank++] = b.longest;
    int64_t *map = tape_allocate(tape, (size_t)(count * of_each) + 1, sizeof *map);
    struct node *mask = node_new_integer(tape, DT_BOOL, rank, shape);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < count * of_each; i++) mask->integer[i] = (map[i] = -1) >= 0;
    for (int64_t i = 0; i < count * each; i++) {
        int64_t place = place_of(&b, i % each / b.columns, i % b.columns);
        if (place < 0) continue;
        map[i / each * of_each + place] = i;
        mask->integer[i / each * of_each + place] = 1;
    }
    struct node *y = node_gather(tape, x, rank, shape, map, 0);
    call_return_typed(call, node_select(tape, mask, y, node_reshape(tape, fill, 0, NULL)),
                      x->dtype);
}

static void matrix_set_diag(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *diagonal = call_tensor(call, "diagonal");
    struct band b = { 0 };
    if (!band_of_matrices(call, &b, x) ||
        !call_require(call, diagonals_fit(&b, diagonal, x->rank - 2),
                      "the diagonals do not have the matrices' shape"))
        return;
    int64_t of_each = (b.high - b.low + 1) * b.longest, each = b.rows * b.columns;
    if (!call_require(call, (int64_t)diagonal->n == (int64_t)x->n / each * of_each,
                      "as many diagonals as matrices are needed"))
        return;
    int64_t *map = tape_allocate(tape, x->n + 1, sizeof *map);
    struct node *mask = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        int64_t place = place_of(&b, i % each / b.columns, i % b.columns);
        map[i] = place < 0 ? -1 : i / each * of_each + place;
        mask->integer[i] = place >= 0;
    }
    struct node *y = node_gather(tape, diagonal, x->rank, x->shape, map, 0);
    call_return_typed(call, node_select(tape, mask, y, x), x->dtype);
}

/* Elements up to `lower` diagonals below and `upper` above the main one; negative ones take all. The rest is 0. */
static void matrix_band_part(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    int64_t lower = call_int(call, "lower"), upper = call_int(call, "upper");
    if (!call_require(call, x->rank >= 2, "matrices are needed")) return;
    struct node *band = node_band(tape, x->shape[x->rank - 2], x->shape[x->rank - 1],
                                  upper < 0 ? INT64_MAX : upper, lower < 0 ? INT64_MAX : lower);
    call_return_typed(
        call,
        node_select(tape, band, x,
                    node_cast(tape, node_integer_constant(tape, DT_BOOL, 0, 0, NULL), x->dtype)),
        x->dtype);
}

/* clang-format off */
const struct op ops_mindspore_arrays[] = {
    { "approximate_equal", MINDSPORE, "(Tensor x, Tensor y, float tolerance)", approximate_equal, OP_NO_GRADIENT, 0, NULL },
    { "eps", MINDSPORE, "(Tensor x)", epsilon, OP_NO_GRADIENT, 0, NULL },
    { "clip_by_norm", MINDSPORE, "(Tensor[] x, float max_norm, float norm_type)", clip_by_norm, 0, 0, NULL },
    { "lrn", MINDSPORE, "(Tensor x, int depth_radius, float bias, float alpha, float beta, str norm_region)", local_response, 0, 0, NULL },
    { "batch_dot", MINDSPORE, "(Tensor x1, Tensor x2, int[]? axes)", batch_dot, 0, 0, NULL },
    { "intopk", MINDSPORE, "(Tensor x1, Tensor x2, int k)", in_top_k, OP_NO_GRADIENT, 0, NULL },
    { "population_count", MINDSPORE, "(Tensor x)", population_count, OP_NO_GRADIENT, 0, NULL },
    { "space_to_batch_nd", MINDSPORE, "(Tensor input_x, Any block_size, Any paddings)", blocks_of_space, 0, 0, NULL },
    { "batch_to_space_nd", MINDSPORE, "(Tensor input_x, Any block_size, Any crops)", blocks_of_space, 0, 1, NULL },
    { "col2im", MINDSPORE, "(Tensor input_x, Any output_size, Any kernel_size, Any dilation, Any padding_value, Any stride)", columns_to_image, 0, 0, NULL },
    { "padding", MINDSPORE, "(Tensor x, int pad_dim_size)", padding, 0, 0, NULL },
    { "reverse_sequence", MINDSPORE, "(Tensor x, Tensor seq_lengths, int seq_dim, int batch_dim)", reverse_sequence, 0, 0, NULL },
    { "sparse_segment_mean", MINDSPORE, "(Tensor x, Tensor indices, Tensor segment_ids)", sparse_segment_mean, 0, 0, NULL },
    { "matrix_diag", MINDSPORE, "(Tensor x, Any k, int num_rows, int num_cols, Tensor padding_value, str align)", matrix_diag, 0, 0, NULL },
    { "matrix_diag_part", MINDSPORE, "(Tensor x, Any k, Tensor padding_value, str align)", matrix_diag_part, 0, 0, NULL },
    { "matrix_set_diag", MINDSPORE, "(Tensor x, Tensor diagonal, Any k, str align)", matrix_set_diag, 0, 0, NULL },
    { "matrix_band_part", MINDSPORE, "(Tensor x, int lower, int upper)", matrix_band_part, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(mindspore_arrays);
