/* Arrays of MindSpore that PyTorch has not: blocks of space and batches, columns of windows, sequences turned round, means of segments.
 * By the reference pages of mindspore.ops and their examples; reversed sequences are those of TensorFlow's op of this name, which
 * the pages repeat.
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"

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

/* clang-format off */
const struct op ops_mindspore_arrays[] = {
    { "space_to_batch_nd", MINDSPORE, "(Tensor input_x, Any block_size, Any paddings)", blocks_of_space, 0, 0, NULL },
    { "batch_to_space_nd", MINDSPORE, "(Tensor input_x, Any block_size, Any crops)", blocks_of_space, 0, 1, NULL },
    { "col2im", MINDSPORE, "(Tensor input_x, Any output_size, Any kernel_size, Any dilation, Any padding_value, Any stride)", columns_to_image, 0, 0, NULL },
    { "padding", MINDSPORE, "(Tensor x, int pad_dim_size)", padding, 0, 0, NULL },
    { "reverse_sequence", MINDSPORE, "(Tensor x, Tensor seq_lengths, int seq_dim, int batch_dim)", reverse_sequence, 0, 0, NULL },
    { "sparse_segment_mean", MINDSPORE, "(Tensor x, Tensor indices, Tensor segment_ids)", sparse_segment_mean, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(mindspore_arrays);
