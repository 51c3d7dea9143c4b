/* Products of quantized numbers in torch_npu and MindSpeed: integers of 8 and 4 bits and 8-bit floats, by the scales of
 * tensors, rows, columns and groups. By their documentation (op-plugin, docs/context and docs/zh; MindSpeed, docs/ops).
 */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/activation.h"
#include "bench/ops/hifloat8.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/npu_halves.h"
#include "bench/ops/npu_microscaling.h"
#include "bench/ops/npu_quant_products.h"
#include "bench/ops/npu_quantization.h"
#include "bench/ops/quantizing.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* A scale in int64, as trans_quant_param makes it: the float32 in its low bits. */
static struct node *scale_of_bits(struct tape *tape, struct node *scale)
{
    if (scale->dtype != DT_I64) return node_to_real(tape, scale);
    struct node *y = node_new_real(tape, DT_F32, scale->rank, scale->shape);
    for (size_t i = 0; !tape_failed(tape) && i < scale->n; i++) {
        uint32_t bits = (uint32_t)scale->integer[i];
        float single;
        memcpy(&single, &bits, sizeof single);
        y->value[i] = (double)single;
    }
    return y;
}

static bool is_eight_bit_float(const struct node *x)
{
    return x->dtype == DT_F8E4M3 || x->dtype == DT_F8E5M2;
}

/* A factor: integers, also of four bits in words, 8-bit floats, or what the argument `kind` (NULL: none) says that
 * bytes are. */
static struct node *factor(struct call *call, struct node *x, const char *kind)
{
    const struct four_bits *format = kind ? four_bits_named(call, kind) : NULL;
    if (format) return four_bits_unpacked(call, x, format);
    if (kind && hifloat8_named(call, kind)) return hifloat8_unpacked(call, x);
    if (x->dtype == DT_I32) return int4_unpacked(call, x);
    if (!call_require(call, x->integer || is_eight_bit_float(x),
                      "matrices of integers or of 8-bit floats are multiplied"))
        return tape_failure(call->tape);
    return x;
}

/* A matrix by the scales of its blocks, `down` by `across` elements each. */
static struct node *by_block_scales(struct call *call, struct node *x, struct node *scale,
                                    int64_t down, int64_t across)
{
    struct tape *tape = call->tape;
    bool fits = x->rank == 2 && scale->rank == 2 && down >= 1 && across >= 1 && !scale->integer &&
                scale->shape[0] == (x->shape[0] - 1) / down + 1 &&
                scale->shape[1] == (x->shape[1] - 1) / across + 1;
    if (!call_require(call, fits && x->n, "a scale for each block of group_sizes is needed"))
        return x;
    int64_t *map = tape_allocate(tape, x->n, sizeof *map);
    for (int64_t i = 0; map && i < (int64_t)x->n; i++)
        map[i] = i / x->shape[1] / down * scale->shape[1] + i % x->shape[1] / across;
    if (tape_failed(tape)) return x;
    return node_multiply(tape, node_to_real(tape, x),
                         node_gather(tape, scale, 2, x->shape, map, 0));
}

/* The product of matrices of integers, as reals (no partial sum that an int32 can hold is lost in 64 bits), or of 8-bit
 * floats, whose products are exact and whose sums are a kernel's own. */
static struct node *quantized_product(struct call *call, struct node *a, struct node *b)
{
    if (!call_require(call, !a->integer == !b->integer && a->rank >= 2 && b->rank >= 2,
                      "matrices of integers or of 8-bit floats are multiplied"))
        return tape_failure(call->tape);
    return compose_matmul(call->tape, node_to_real(call->tape, a), node_to_real(call->tape, b));
}

/* Rows of x by the matrix of their group e, (x w[e] + bias[e]) scale[e] with a row of biases (or none) and of scales (or
 * none) for each, the groups one after another. x (rows, k), w (groups, k, n), bias and scale (groups, n), groups from the
 * argument group_list. NULL having failed. */
static struct node *grouped_product(struct call *call, struct node *x, struct node *w,
                                    struct node *scale, struct node *bias, bool cumulative)
{
    struct tape *tape = call->tape;
    struct groups groups;
    if (!call_require(call,
                      x->rank == 2 && w->rank == 3 && w->shape[1] == x->shape[1] &&
                          (!scale || (scale->rank == 2 && scale->shape[0] == w->shape[0] &&
                                      (scale->shape[1] == w->shape[2] || scale->shape[1] == 1))) &&
                          (!bias || (bias->rank == 2 && bias->shape[0] == w->shape[0])),
                      "rows by the matrices of their groups, with a row of scales for each, are "
                      "needed") ||
        !groups_read(call, &groups, "group_list", cumulative, x->shape[0]) ||
        !call_require(call, groups.count == w->shape[0] && groups.total == x->shape[0],
                      "the groups do not have all %lld rows", (long long)x->shape[0]))
        return NULL;
    struct node **parts = tape_allocate(tape, (size_t)groups.count + 1, sizeof *parts);
    int used = 0;
    if (scale) scale = scale_of_bits(tape, scale);
    for (int e = 0; !tape_failed(tape) && e < groups.count; e++) {
        int64_t count = groups.end[e] - groups.start[e], shape[2] = { w->shape[1], w->shape[2] };
        if (!count) continue;
        struct node *y =
            quantized_product(call, node_slice(tape, x, 0, groups.start[e], count, 1),
                              node_reshape(tape, node_slice(tape, w, 0, e, 1, 1), 2, shape));
        if (bias) y = node_add(tape, y, node_to_real(tape, node_slice(tape, bias, 0, e, 1, 1)));
        parts[used++] = scale ? node_multiply(tape, y, node_slice(tape, scale, 0, e, 1, 1)) : y;
    }
    if (!call_require(call, used >= 1, "there are no rows")) return NULL;
    return node_concatenate(tape, parts, used, 0);
}

static struct node *as_column(struct call *call, struct node *v, const struct node *y)
{
    int64_t shape[TENSOR_MAX_RANK];
    if (v->n == 1) return node_reshape(call->tape, v, 0, NULL);
    if (!call_require(call, y->rank >= 2 && v->rank == 1 && v->shape[0] == y->shape[y->rank - 2],
                      "a scale for each row is needed"))
        return v;
    for (int d = 0; d < y->rank; d++) shape[d] = 1;
    shape[y->rank - 2] = v->shape[0];
    return node_reshape(call->tape, v, y->rank, shape);
}

/* The factors of a product by the scales of their blocks, with a byte for each block of 32 positions of the inner
 * dimension (npu_microscaling.h) or with numbers for blocks of group_sizes. false: the scales are none of blocks. */
static bool scaled_by_blocks(struct call *call, struct node **a, struct node **b)
{
    struct node *scale = call_tensor(call, "scale"),
                *rows = call_optional_tensor(call, "pertoken_scale");
    int64_t sizes[3] = { 0, 0, 0 };
    (void)call_ints(call, "group_sizes", sizes, 3);
    if (rows && scale->rank == (*b)->rank + 1 && rows->rank == (*a)->rank + 1) {
        *a = by_shared_scales(call, *a, rows, (*a)->rank - 1, NULL, NULL);
        *b = by_shared_scales(call, *b, scale, (*b)->rank - 2, NULL, NULL);
        return true;
    }
    if (!rows || rows->rank != 2 || scale->rank != 2 || sizes[2] < 1) return false;
    *a = by_block_scales(call, *a, rows, sizes[0], sizes[2]);
    *b = by_block_scales(call, *b, scale, sizes[2], sizes[1]);
    return true;
}

/* (x1 x2 + integer bias) scale [per row] + bias of floats; in int8 with an offset. */
static void quant_matmul(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = factor(call, call_tensor(call, "x1"), "x1_dtype"),
                *b = factor(call, call_tensor(call, "x2"), "x2_dtype"),
                *bias = call_optional_tensor(call, "bias"),
                *rows = call_optional_tensor(call, "pertoken_scale"),
                *offset = call_optional_tensor(call, "offset");
    enum dtype dtype = call_dtype(call, "output_dtype");
    if (!call_require(call, call_is_none(call, "y_scale"), "y_scale is not followed here")) return;
    bool blocks = scaled_by_blocks(call, &a, &b);
    struct node *y = quantized_product(call, a, b);
    if (tape_failed(tape)) return;
    size_t n = y->n;
    if (bias && bias->integer) y = node_add(tape, y, node_to_real(tape, bias));
    if (!blocks) y = node_multiply(tape, y, scale_of_bits(tape, call_tensor(call, "scale")));
    if (!blocks && rows) y = node_multiply(tape, y, as_column(call, rows, y));
    if (bias && !bias->integer) y = node_add(tape, y, bias);
    if (dtype == DT_NONE) dtype = DT_I8;
    if (!call_require(call, y->n == n, "scales of a larger shape than the product")) return;
    if (dtype_is_float(dtype)) {
        call_return_typed(call, y, dtype);
        return;
    }
    struct quantizing how = { 8, DT_NONE, NULL };
    if (offset) y = node_add(tape, y, node_to_real(tape, offset));
    if (!call_require(call, y->n == n, "offsets of a larger shape than the product")) return;
    call_return_quantized_as(call, y, dtype, &how, largest_of(tape, offset));
}

/* x ((weight + offset) scale) + bias; scales for each column, or for each column of each group of rows. */
static void weight_quant_matmul(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *w = call_tensor(call, "weight"),
                *scale = call_tensor(call, "antiquant_scale"),
                *offset = call_optional_tensor(call, "antiquant_offset"),
                *bias = call_optional_tensor(call, "bias");
    int64_t group = call_int(call, "antiquant_group_size");
    if (!call_require(call, call_is_none(call, "quant_scale") && call_is_none(call, "quant_offset"),
                      "a quantized result is not followed here"))
        return;
    if (w->dtype == DT_I32) w = int4_unpacked(call, w);
    if (!call_require(call,
                      w->integer && w->rank == 2 && x->rank >= 2 && !x->integer &&
                          !scale->integer && group >= 0,
                      "floats are multiplied by a matrix of integers"))
        return;
    w = node_to_real(tape, w);
    struct node **parts[2] = { &offset, &scale };
    for (int k = 0; k < 2; k++) {
        struct node *v = *parts[k];
        if (!v) continue;
        if (group > 0) {
            if (!call_require(call,
                              v->rank == 2 && v->shape[1] == w->shape[1] && v->shape[0] >= 1 &&
                                  v->n && v->shape[0] == (w->shape[0] + group - 1) / group,
                              "a scale is needed for each group of %lld rows", (long long)group))
                return;
            int64_t *map = tape_allocate(tape, (size_t)w->shape[0], sizeof *map);
            for (int64_t i = 0; map && i < w->shape[0]; i++) map[i] = i / group;
            if (tape_failed(tape)) return;
            v = node_gather_rows(tape, v, 2, w->shape, (size_t)w->shape[1], map, 0);
        } else if (v->n == 1) {
            v = node_reshape(tape, v, 0, NULL);
        }
        w = k == 0 ? node_add(tape, w, v) : node_multiply(tape, w, v);
    }
    if (!call_require(call, w->rank == 2, "the scales have more dimensions than the weight"))
        return;
    struct node *y = compose_matmul(tape, x, w);
    call_return_typed(call, bias ? node_add(tape, y, bias) : y, x->dtype);
}

/* MindSpeed's grouped product of integers: rows of x by the matrix of their group, by its scale and that of the row.
 * detail 1: group_list holds sizes rather than ends. */
static void quant_gmm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *w = call_tensor(call, "weight"),
                *scale = call_tensor(call, "scale"),
                *rows = call_optional_tensor(call, "per_token_scale"),
                *bias = call_optional_tensor(call, "bias");
    enum dtype dtype = call_dtype(call, "output_dtype");
    if (dtype == DT_NONE) dtype = DT_F16;
    if (!call_require(call, dtype_is_float(dtype) && call_is_none(call, "offset"),
                      "only results of floats are followed here") ||
        !call_require(call, !bias || bias->integer, "a bias of integers is needed"))
        return;
    struct node *y = grouped_product(call, factor(call, x, NULL), factor(call, w, NULL), scale,
                                     bias, !call->op->detail);
    if (!y) return;
    if (rows) y = node_multiply(tape, y, as_column(call, rows, y));
    y = node_activated(call, y, call_int(call, "act_type"));
    call_return_typed(call, y, dtype);
}

/* silu(a) b of the halves of each group's product of integers by both scales, then int8 by a scale of each row. */
static void grouped_swiglu_quant(struct call *call)
{
    struct tape *tape = call->tape;
    int weights, scales;
    struct node *x = call_tensor(call, "x"), *rows = call_tensor(call, "x_scale"),
                **w = call_tensors(call, "weight", &weights),
                **scale = call_tensors(call, "weight_scale", &scales), *a, *b;
    if (!call_require(call,
                      weights == 1 && scales == 1 && call_int(call, "quant_mode") == 0 &&
                          call_is_none(call, "smooth_scale"),
                      "one tensor of weights, one of scales and no smoothing are followed here") ||
        !call_require(call, x->dtype == DT_I8 && w[0]->dtype == DT_I8 && !scale[0]->integer,
                      "int8 and scales of floats are needed"))
        return;
    struct node *y =
        grouped_product(call, x, w[0], scale[0], NULL, call_int(call, "group_list_type") == 0);
    if (!y) return;
    y = node_multiply(tape, y, as_column(call, rows, x));
    if (!halves(call, y, 1, &a, &b)) return;
    y = node_multiply(tape, node_apply(tape, "silu", a), b);
    call_return_typed(call, return_dynamic(call, y, DT_I8, 32), DT_F32);
}

/* gelu((x1 x2 + integer bias) by both scales + bias of floats). */
static void quant_matmul_gelu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "x1"), *b = call_tensor(call, "x2"),
                *bias = call_optional_tensor(call, "bias"),
                *columns = call_tensor(call, "x2_scale");
    const char *approximate = call_string(call, "approximate");
    bool by_tanh = !strcmp(approximate, "gelu_tanh");
    if (!call_require(call, by_tanh || !strcmp(approximate, "gelu_erf"),
                      "approximate is 'gelu_erf' or 'gelu_tanh'"))
        return;
    struct node *y = quantized_product(call, factor(call, a, NULL), factor(call, b, NULL));
    if (tape_failed(tape)) return;
    size_t n = y->n;
    enum dtype dtype = columns->dtype == DT_BF16 || (bias && bias->dtype == DT_BF16) ? DT_BF16
                                                                                     : DT_F16;
    if (bias && bias->integer) y = node_add(tape, y, node_to_real(tape, bias));
    y = node_multiply(tape, node_multiply(tape, y, columns),
                      as_column(call, call_tensor(call, "x1_scale"), y));
    if (bias && !bias->integer) y = node_add(tape, y, bias);
    if (!call_require(call, y->n == n, "scales of a larger shape than the product")) return;
    call_return_typed(call, gelu_of(tape, y, by_tanh), dtype);
}

/* The sum over batches of x1 x2 by the scales of rows and of columns. */
static void quant_matmul_reduce_sum(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "x1"), *b = call_tensor(call, "x2"),
                *rows = call_optional_tensor(call, "x1_scale"),
                *columns = call_optional_tensor(call, "x2_scale");
    struct node *y = quantized_product(call, factor(call, a, NULL), factor(call, b, NULL));
    if (!call_require(call,
                      y->rank == 3 && rows && columns && rows->rank == 2 &&
                          rows->shape[0] == y->shape[0] && rows->shape[1] == y->shape[1] &&
                          columns->rank == 1 && columns->shape[0] == y->shape[2],
                      "batches of matrices, with scales of their rows and columns, are needed"))
        return;
    int64_t column[3] = { y->shape[0], y->shape[1], 1 };
    y = node_multiply(tape, node_multiply(tape, y, columns), node_reshape(tape, rows, 3, column));
    call_return_typed(call, node_sum(tape, y, 1, false), DT_BF16);
}

/* Rows of integers by the matrix of their group, by both scales and the weight of each, added at row_index; and rows of a
 * shared input from an offset on. */
static void grouped_finalize_routing(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *w = call_tensor(call, "w"),
                *scale = call_optional_tensor(call, "scale"),
                *rows = call_optional_tensor(call, "pertoken_scale"),
                *shared = call_optional_tensor(call, "shared_input"),
                *weight = call_optional_tensor(call, "logit"),
                *index = call_optional_tensor(call, "row_index");
    int64_t batch = call_is_none(call, "output_bs") ? 0 : call_int(call, "output_bs"),
            offset = call_is_none(call, "shared_input_offset")
                         ? 0
                         : call_int(call, "shared_input_offset");
    if (!call_require(call, call_is_none(call, "bias") && w->dtype == DT_I8,
                      "a bias or weights of four bits are not followed here") ||
        !call_require(call,
                      x->integer && x->rank == 2 && w->rank == 3 && scale && rows && weight &&
                          index && weight->n == (size_t)x->shape[0] &&
                          index->n == (size_t)x->shape[0] && index->integer && batch >= 1 &&
                          batch <= INT32_MAX && w->shape[2] >= 1,
                      "rows of integers with their scales, weights and places are needed") ||
        !call_require(call,
                      !shared ||
                          (shared->rank == 2 && shared->shape[1] == w->shape[2] && offset >= 0 &&
                           offset <= batch && shared->shape[0] <= batch - offset),
                      "the shared input does not fit"))
        return;
    struct node *y =
        grouped_product(call, x, w, scale, NULL, call_int(call, "group_list_type") == 0);
    if (!y) return;
    int64_t column[2] = { x->shape[0], 1 }, result[2] = { batch, w->shape[2] };
    y = node_multiply(tape, y, as_column(call, rows, x));
    y = node_multiply(tape, y, node_reshape(tape, weight, 2, column));
    int64_t *map = tape_allocate(tape, index->n, sizeof *map);
    for (size_t i = 0; map && i < index->n; i++) {
        map[i] = index->integer[i];
        if (!call_require(call, map[i] >= 0 && map[i] < batch, "row %lld of %lld",
                          (long long)map[i], (long long)batch))
            return;
    }
    if (tape_failed(tape)) return;
    y = node_scatter_add_rows(tape, y, 2, result, (size_t)result[1], map);
    if (shared) {
        int64_t strides[2] = { result[1], 1 };
        double by =
            call_is_none(call, "shared_input_weight") ? 1 : call_real(call, "shared_input_weight");
        y = node_add(tape, y,
                     node_place(tape, node_scale(tape, shared, by), NULL, 2, result, strides,
                                offset * result[1]));
    }
    call_return_typed(call, y, DT_F32);
}

/* ---- 8-bit floats by shared powers of two ---------------------------------------------------------------------------- */

/* x1 (m, batch, k) by x2 (batch, k, n), or (batch, n, k) with perm_x2 [0, 2, 1], as (m, batch, n): by a scale of each row m
 * and each column n, or with a byte for each block of 32 positions of k (npu_microscaling.h). */
static void transposed_quantized(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "x1"), *b = call_tensor(call, "x2"),
                *rows = call_optional_tensor(call, "x1_scale"),
                *columns = call_optional_tensor(call, "x2_scale");
    static const int64_t swapped[3] = { 1, 0, 2 }, straight[3] = { 0, 1, 2 },
                         turned[3] = { 0, 2, 1 };
    int64_t perm[3][3];
    enum dtype dtype = call_dtype(call, "dtype");
    bool turns = call_ints(call, "perm_x2", perm[1], 3) == 3 &&
                 !memcmp(perm[1], turned, sizeof turned);
    if (!call_require(call, dtype == DT_F16 || dtype == DT_BF16,
                      "dtype is torch.float16 or torch.bfloat16") ||
        !call_require(call,
                      call_is_none(call, "bias") && call_int(call, "batch_split_factor") == 1 &&
                          call_ints(call, "perm_x1", perm[0], 3) == 3 &&
                          !memcmp(perm[0], swapped, sizeof swapped) &&
                          (turns || !memcmp(perm[1], straight, sizeof straight)) &&
                          call_ints(call, "perm_y", perm[2], 3) == 3 &&
                          !memcmp(perm[2], swapped, sizeof swapped),
                      "perm_x1 and perm_y are [1, 0, 2], perm_x2 [0, 1, 2] or [0, 2, 1], without a "
                      "bias") ||
        !call_require(call,
                      is_eight_bit_float(a) && is_eight_bit_float(b) && a->rank == 3 &&
                          b->rank == 3 && a->shape[1] == b->shape[0] &&
                          a->shape[2] == b->shape[turns ? 2 : 1] && rows && columns &&
                          rows->rank == columns->rank,
                      "batches of 8-bit floats and two scales are needed"))
        return;
    int64_t m = a->shape[0], n = b->shape[turns ? 1 : 2], row[3] = { 1, m, 1 };
    bool shared = rows->rank == 4;
    if (shared) {
        a = by_shared_scales(call, a, rows, 2, NULL, NULL);
        b = by_shared_scales(call, b, columns, turns ? 2 : 1, NULL, NULL);
    } else if (!call_require(call, rows->n == (size_t)m && columns->n == (size_t)n,
                             "a scale for each row and for each column is needed")) {
        return;
    }
    struct node *y = compose_matmul(tape, node_transpose(tape, a, 0, 1),
                                    turns ? node_transpose(tape, b, 1, 2) : b);
    if (tape_failed(tape)) return;
    if (!shared) {
        y = node_multiply(tape, y, node_reshape(tape, scale_of_bits(tape, columns), 1, &n));
        y = node_multiply(tape, y, node_reshape(tape, scale_of_bits(tape, rows), 3, row));
    }
    call_return_typed(call, node_transpose(tape, y, 0, 1), dtype);
}

/* self + x1 x2 of 8-bit floats, with a byte for each block of 32 positions of the inner dimension of both. */
static void add_quantized(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *self = call_tensor(call, "self"), *a = call_tensor(call, "x1"),
                *b = call_tensor(call, "x2"), *rows = call_optional_tensor(call, "x1_scale"),
                *columns = call_tensor(call, "x2_scale");
    if (!call_require(call,
                      is_eight_bit_float(a) && is_eight_bit_float(b) && a->rank == 2 &&
                          b->rank == 2 && a->shape[1] == b->shape[0] && rows && !self->integer &&
                          self->rank == 2 && self->shape[0] == a->shape[0] &&
                          self->shape[1] == b->shape[1],
                      "matrices of 8-bit floats and what they are added to are needed"))
        return;
    struct node *y = compose_matmul(tape, by_shared_scales(call, a, rows, 1, NULL, NULL),
                                    by_shared_scales(call, b, columns, 0, NULL, NULL));
    call_return_typed(call, node_add(tape, self, y), DT_F32);
}

/* Both factors of products in groups of the inner dimension by the bytes of their blocks; those of group e begin at the
 * pair start / 64 + e. a (m, inner) by rows, b (inner, n) by columns. false having failed. */
static bool scaled_in_groups(struct call *call, const struct groups *groups, struct node **a,
                             struct node *rows, struct node **b, struct node *columns)
{
    struct tape *tape = call->tape;
    int64_t inner = (*b)->shape[0],
            *first = tape_allocate(tape, 2 * (size_t)inner + 1, sizeof *first),
            *start = first + inner;
    if (tape_failed(tape)) return false;
    for (int e = 0; e < groups->count; e++)
        for (int64_t i = groups->start[e]; i < groups->end[e]; i++) {
            first[i] = groups->start[e] / 64 + e;
            start[i] = groups->start[e];
        }
    for (int64_t i = groups->total; i < inner; i++) first[i] = 0, start[i] = i;
    *a = by_shared_scales(call, *a, rows, 1, first, start);
    *b = by_shared_scales(call, *b, columns, 0, first, start);
    return !tape_failed(tape);
}

/* The same for groups of the inner dimension: self[e] + x1[:, group e] x2[group e, :]. */
static void add_grouped_quantized(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *self = call_tensor(call, "self"), *a = call_tensor(call, "x1"),
                *b = call_tensor(call, "x2"), *rows = call_optional_tensor(call, "x1_scale"),
                *columns = call_tensor(call, "x2_scale");
    struct groups groups;
    if (!call_require(call,
                      is_eight_bit_float(a) && is_eight_bit_float(b) && a->rank == 2 &&
                          b->rank == 2 && a->shape[1] == b->shape[0] && rows && !self->integer &&
                          self->rank == 3 && self->shape[1] == a->shape[0] &&
                          self->shape[2] == b->shape[1],
                      "matrices of 8-bit floats and what they are added to are needed") ||
        !groups_read(call, &groups, "group_list", call_int(call, "group_list_type") == 0,
                     b->shape[0]) ||
        !call_require(call, groups.count == self->shape[0], "%d groups for %lld matrices",
                      groups.count, (long long)self->shape[0]))
        return;
    int64_t shape[3] = { 1, self->shape[1], self->shape[2] };
    struct node **parts = tape_allocate(tape, (size_t)groups.count, sizeof *parts);
    if (tape_failed(tape) || !scaled_in_groups(call, &groups, &a, rows, &b, columns)) return;
    for (int e = 0; !tape_failed(tape) && e < groups.count; e++) {
        int64_t at = groups.start[e], count = groups.end[e] - at;
        parts[e] = node_slice(tape, self, 0, e, 1, 1);
        if (!count) continue;
        struct node *y = compose_matmul(tape, node_slice(tape, a, 1, at, count, 1),
                                        node_slice(tape, b, 0, at, count, 1));
        parts[e] = node_add(tape, parts[e], node_reshape(tape, y, 3, shape));
    }
    if (tape_failed(tape)) return;
    call_return_typed(call, node_concatenate(tape, parts, groups.count, 0), DT_F32);
}

/* ---- quantized grouped products --------------------------------------------------------------------------------------- */

/* (groups, 1) or (groups, n) from a vector of groups. */
static struct node *scale_of_groups(struct call *call, struct node *scale)
{
    int64_t column[2] = { scale->n ? scale->shape[0] : 0, 1 };
    return scale->rank == 1 ? node_reshape(call->tape, scale, 2, column) : scale;
}

/* Groups of the inner dimension: for each x[:, group e] w[group e, :] by its scales, (groups, m, n). NULL having failed. */
static struct node *products_of_inner_groups(struct call *call, struct node *x, struct node *w,
                                             struct node *scale, struct node *rows, bool cumulative)
{
    struct tape *tape = call->tape;
    struct groups groups;
    if (!call_require(call, x->rank == 2 && w->rank == 2 && x->shape[1] == w->shape[0],
                      "groups of the inner dimension (2) take two matrices") ||
        !groups_read(call, &groups, "group_list", cumulative, w->shape[0]))
        return NULL;
    bool shared = scale->rank == 3;
    int64_t shape[3] = { 1, x->shape[0], w->shape[1] };
    struct node **parts = tape_allocate(tape, (size_t)groups.count + 1, sizeof *parts);
    if (shared && !call_require(call, rows != NULL, "per_token_scale is needed")) return NULL;
    if (tape_failed(tape) || (shared && !scaled_in_groups(call, &groups, &x, rows, &w, scale)))
        return NULL;
    if (!shared && !call_require(call,
                                 scale->rank <= 2 && scale->n && scale->shape[0] == groups.count &&
                                     (!rows || rows->n == (size_t)groups.count),
                                 "a scale for each group is needed"))
        return NULL;
    if (!shared) scale = scale_of_groups(call, scale_of_bits(tape, scale));
    const int64_t group_count = groups.count;
    for (int e = 0; !tape_failed(tape) && e < groups.count; e++) {
        int64_t at = groups.start[e], count = groups.end[e] - at;
        parts[e] = node_constant(tape, DT_F32, 0, 3, shape);
        if (!count) continue;
        struct node *y = quantized_product(call, node_slice(tape, x, 1, at, count, 1),
                                           node_slice(tape, w, 0, at, count, 1));
        if (!shared) y = node_multiply(tape, y, node_slice(tape, scale, 0, e, 1, 1));
        if (!shared && rows) {
            struct node *all = node_reshape(tape, rows, 1, &group_count);
            struct node *own = node_slice(tape, all, 0, e, 1, 1);
            y = node_multiply(tape, y, node_reshape(tape, own, 0, NULL));
        }
        parts[e] = node_reshape(tape, y, 3, shape);
    }
    return tape_failed(tape) ? NULL : node_concatenate(tape, parts, groups.count, 0);
}

void return_grouped_quantized(struct call *call, enum dtype dtype)
{
    struct tape *tape = call->tape;
    int xs, ws, scales, tokens = 0, biases = 0;
    struct node **x = call_tensors(call, "x", &xs), **w = call_tensors(call, "weight", &ws),
                **scale = call_tensors(call, "scale", &scales), **rows = NULL, **bias = NULL;
    int64_t by = call_is_none(call, "group_type") ? -1 : call_int(call, "group_type"),
            act = call_is_none(call, "act_type") ? 0 : call_int(call, "act_type");
    bool cumulative = call_is_none(call, "group_list_type") ||
                      call_int(call, "group_list_type") == 0;
    if (!call_is_none(call, "per_token_scale"))
        rows = call_tensors(call, "per_token_scale", &tokens);
    if (!call_is_none(call, "bias")) bias = call_tensors(call, "bias", &biases);
    if (!call_require(call,
                      xs == 1 && ws == 1 && scales == 1 && tokens <= 1 && biases <= 1 &&
                          (by == 0 || by == 2) && dtype_is_float(dtype),
                      "one quantized x and weight in groups of rows (0) or of the inner dimension "
                      "(2) with a result of floats are followed here"))
        return;
    struct node *a = factor(call, x[0], "x_dtype"), *b = factor(call, w[0], "weight_dtype"),
                *row = tokens ? rows[0] : NULL, *y;
    if (tape_failed(tape)) return;
    if (by == 2) {
        if (!call_require(call, !biases, "groups of the inner dimension have no bias")) return;
        y = products_of_inner_groups(call, a, b, scale[0], row, cumulative);
        if (y) call_return_typed(call, y, dtype);
        return;
    }
    bool shared = scale[0]->rank == 4;
    if (shared) {
        if (!call_require(call, row && b->rank == 3, "per_token_scale is needed")) return;
        a = by_shared_scales(call, a, row, 1, NULL, NULL);
        b = by_shared_scales(call, b, scale[0], 1, NULL, NULL);
    }
    y = grouped_product(call, a, b, shared ? NULL : scale_of_groups(call, scale[0]),
                        biases ? bias[0] : NULL, cumulative);
    if (y && !shared && row) y = node_multiply(tape, y, as_column(call, row, y));
    if (y) call_return_typed(call, node_activated(call, y, act), dtype);
}

/* clang-format off */
#define QUANT_GMM "(Tensor x, Tensor weight, Tensor scale, *, Tensor? offset=None, Tensor? per_token_scale=None, Tensor? bias=None, Any group_list=None, ScalarType? output_dtype=None, int act_type=0)"
const struct op ops_npu_quant_products[] = {
    { "npu_quant_matmul", NPU, "(Tensor x1, Tensor x2, Tensor scale, *, Tensor? offset=None, Tensor? pertoken_scale=None, Tensor? bias=None, ScalarType? output_dtype=None, Any x1_dtype=None, Any x2_dtype=None, Any pertoken_scale_dtype=None, Any scale_dtype=None, int[]? group_sizes=None, Tensor? y_scale=None)", quant_matmul, OP_NO_GRADIENT, 0, NULL },
    { "npu_weight_quant_batchmatmul", NPU, "(Tensor x, Tensor weight, Tensor antiquant_scale, Tensor? antiquant_offset=None, Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? bias=None, int antiquant_group_size=0, int inner_precise=0)", weight_quant_matmul, OP_NO_GRADIENT, 0, NULL },
    { "npu_grouped_matmul_swiglu_quant_v2", NPU, "(Tensor x, Tensor[] weight, Tensor[] weight_scale, Tensor x_scale, Tensor group_list, *, Tensor? smooth_scale=None, int quant_mode=0, int group_list_type=0, ...)", grouped_swiglu_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_quant_matmul_gelu", NPU, "(Tensor x1, Tensor x2, Tensor x1_scale, Tensor x2_scale, *, Tensor? bias=None, str approximate='gelu_erf')", quant_matmul_gelu, OP_NO_GRADIENT, 0, NULL },
    { "npu_quant_matmul_reduce_sum", NPU, "(Tensor x1, Tensor x2, *, Tensor? x1_scale=None, Tensor? x2_scale=None, ...)", quant_matmul_reduce_sum, OP_NO_GRADIENT, 0, NULL },
    { "npu_grouped_matmul_finalize_routing", NPU, "(Tensor x, Tensor w, Tensor group_list, *, Tensor? scale=None, Tensor? bias=None, Tensor? pertoken_scale=None, Tensor? shared_input=None, Tensor? logit=None, Tensor? row_index=None, ScalarType? dtype=None, float? shared_input_weight=1.0, int? shared_input_offset=0, int? output_bs=0, int? group_list_type=1, ...)", grouped_finalize_routing, OP_NO_GRADIENT, 0, NULL },
    { "quant_gmm.npu_quant_gmm", MINDSPEED, QUANT_GMM, quant_gmm, OP_NO_GRADIENT, 0, NULL },
    { "quant_gmm.npu_quant_gmm_v2", MINDSPEED, QUANT_GMM, quant_gmm, OP_NO_GRADIENT, 1, NULL },
    { "npu_transpose_quant_batchmatmul", NPU, "(Tensor x1, Tensor x2, Any dtype, *, Tensor? bias=None, Tensor? x1_scale=None, Tensor? x2_scale=None, Any group_sizes=None, int[]? perm_x1=None, int[]? perm_x2=None, int[]? perm_y=None, int batch_split_factor=1, ...)", transposed_quantized, OP_NO_GRADIENT, 0, NULL },
    { "npu_add_quant_matmul", NPU, "(Tensor self, Tensor x1, Tensor x2, Tensor x2_scale, *, Tensor? x1_scale=None, Any group_sizes=None, ...)", add_quantized, OP_NO_GRADIENT, 0, NULL },
    { "npu_add_quant_gmm", NPU, "(Tensor self, Tensor x1, Tensor x2, Tensor x2_scale, Any group_list, *, Tensor? x1_scale=None, int group_list_type=0, Any group_sizes=None, ...)", add_grouped_quantized, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_quant_products);
