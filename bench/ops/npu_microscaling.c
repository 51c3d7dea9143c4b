/* Quantization to 8-bit floats with a power of two for each block (OCP Microscaling Formats, MX), and of groups of rows with
 * a scale of float32 for each block; by op-plugin's documentation (docs/zh).
 *
 * A block with the largest magnitude a has the scale 2^e, stored as the byte e + 127 of the format e8m0:
 *     scale_alg 0   e = floor(log2 a) - the largest exponent of the dtype (8 of e4m3, 15 of e5m2)
 *     scale_alg 1   e = ceil(log2(a / the largest number of the dtype)); below 2^-126 the next power of two is taken from
 *                   half of it on
 * and no smaller than -127, where a block of zeros lies. Division by a power of two is exact, so the elements are rounded
 * once. Where a block ends beyond the tensor, what is missing counts as 0. */
#include "bench/ops/npu_microscaling.h"

#include <math.h>
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/quantizing.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"

enum { BIAS = 127, LEAST_EXPONENT = -127, BLOCK = 32 };

enum dtype float8_named(struct call *call, const char *name)
{
    static const struct {
        int64_t number;
        enum dtype dtype;
    } known[] = { { 23, DT_F8E5M2 }, { 24, DT_F8E4M3 }, { 291, DT_F8E5M2 }, { 292, DT_F8E4M3 } };
    const struct value *value = call_value(call, name);
    enum dtype dtype = DT_NONE;
    if (value->kind == VALUE_INT)
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            dtype = known[i].number == value->integer ? known[i].dtype : dtype;
    else dtype = call_dtype(call, name);
    return dtype == DT_F8E4M3 || dtype == DT_F8E5M2 ? dtype : DT_NONE;
}

struct node *by_shared_scales(struct call *call, struct node *x, struct node *scales, int dim,
                              const int64_t *first, const int64_t *start)
{
    struct tape *tape = call->tape;
    bool fits = scales->rank == x->rank + 1 && scales->shape[x->rank] == 2 &&
                (scales->dtype == DT_U8 || scales->dtype == DT_I8);
    for (int d = 0; fits && d < x->rank; d++)
        fits = d == dim ? first || scales->shape[d] == (x->shape[d] + 2 * BLOCK - 1) / (2 * BLOCK)
                        : scales->shape[d] == x->shape[d];
    if (!call_require(call, fits, "a scale in a byte for each block of 32 is needed")) return x;
    struct node *factor = node_new_real(tape, DT_F32, x->rank, x->shape);
    int64_t inner = 1, extent = x->shape[dim];
    for (int d = dim + 1; d < x->rank; d++) inner *= x->shape[d];
    for (int64_t i = 0; !tape_failed(tape) && i < (int64_t)x->n; i++) {
        int64_t at = i / inner % extent, outer = i / inner / extent,
                block = first ? 2 * first[at] + (at - start[at]) / BLOCK : at / BLOCK;
        if (!call_require(call, block / 2 < scales->shape[dim], "block %lld has no scale",
                          (long long)block))
            return x;
        int64_t from = ((outer * scales->shape[dim] + block / 2) * inner + i % inner) * 2;
        int64_t byte = scales->integer[from + block % 2] & 0xff;
        factor->value[i] = byte == 0xff ? NAN : ldexp(1, (int)byte - BIAS);
    }
    return node_multiply(tape, x, factor);
}

/* ---- scales of blocks ---------------------------------------------------------------------------------------- */

/* The byte of the scale of a block whose largest magnitude is a. */
static int64_t shared_byte(double a, enum dtype dtype, int64_t algorithm)
{
    int exponent;
    if (a == 0) return 0;
    if (algorithm == 0) {
        (void)frexp(a, &exponent);
        exponent -= 1 + (dtype == DT_F8E4M3 ? 8 : 15);
    } else {
        double scale = a / dtype_info(dtype)->largest, part = frexp(scale, &exponent);
        if (part == 0.5) exponent--;
        if (scale < 0x1p-126) exponent = scale > 0x1p-127 ? -126 : LEAST_EXPONENT;
    }
    return (exponent > LEAST_EXPONENT ? exponent : LEAST_EXPONENT) + BIAS;
}

/* What blocks become: numbers of `dtype`, by scales of one of the two algorithms. */
struct blocks {
    enum dtype dtype;
    int64_t algorithm;
};

/* The bytes of the blocks of x along `dim`, as by_shared_scales reads them, from the largest magnitudes of the blocks:
 * `block_of` says for each position along dim in which block it is, of `pairs` pairs. */
static struct node *shared_bytes(struct call *call, struct node *x, int dim,
                                 const struct blocks *how, const int64_t *block_of, int64_t pairs)
{
    struct tape *tape = call->tape;
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[dim] = pairs;
    shape[x->rank] = 2;
    struct node *bytes = node_new_integer(tape, DT_U8, x->rank + 1, shape);
    const double *value = node_values(tape, x);
    if (tape_failed(tape)) return bytes;
    double *largest = tape_allocate(tape, bytes->n, sizeof *largest);
    int64_t inner = 1, extent = x->shape[dim];
    if (!largest) return bytes;
    for (size_t i = 0; i < bytes->n; i++) largest[i] = 0;
    for (int d = dim + 1; d < x->rank; d++) inner *= x->shape[d];
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        int64_t block = block_of[i / inner % extent],
                to = ((i / inner / extent * pairs + block / 2) * inner + i % inner) * 2 + block % 2;
        if (!call_require(call, isfinite(value[i]), "a block with infinite numbers has no scale"))
            return bytes;
        largest[to] = fmax(largest[to], fabs(value[i]));
    }
    for (size_t i = 0; i < bytes->n; i++)
        bytes->integer[i] = shared_byte(largest[i], how->dtype, how->algorithm);
    return bytes;
}

/* Return x by the powers of two of `bytes`, rounded to the dtype. */
static void return_scaled(struct call *call, struct node *x, struct node *bytes, int dim,
                          const struct blocks *how, const int64_t *block_of)
{
    struct tape *tape = call->tape;
    struct quantizing exact = { 0, DT_NONE, NULL };
    struct node *factor = node_new_real(tape, DT_F32, x->rank, x->shape);
    if (tape_failed(tape)) return;
    int64_t inner = 1, extent = x->shape[dim], pairs = bytes->shape[dim];
    for (int d = dim + 1; d < x->rank; d++) inner *= x->shape[d];
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        int64_t block = block_of[i / inner % extent],
                from = ((i / inner / extent * pairs + block / 2) * inner + i % inner) * 2;
        factor->value[i] = ldexp(1, BIAS - (int)bytes->integer[from + block % 2]);
    }
    call_return_quantized_as(call, node_multiply(tape, x, factor), how->dtype, &exact, 0);
}

/* In which block of `size` each position of an extent is; the blocks begin anew where a group does. NULL having failed. */
static int64_t *blocks_of(struct call *call, int64_t extent, int64_t size,
                          const struct groups *groups)
{
    int64_t *block = tape_allocate(call->tape, (size_t)extent + 1, sizeof *block);
    for (int64_t i = 0; block && !groups && i < extent; i++) block[i] = i / size;
    for (int e = 0; block && groups && e < groups->count; e++)
        for (int64_t i = groups->start[e]; i < groups->end[e]; i++)
            block[i] = 2 * (groups->start[e] / (2 * size) + e) + (i - groups->start[e]) / size;
    return block;
}

/* What the operators take alike: floats, 8-bit floats as the result, rounded to the nearest. */
static bool read_blocks(struct call *call, struct blocks *how, const struct node *x)
{
    *how = (struct blocks){ float8_named(call, "dst_type"), call_int(call, "scale_alg") };
    return call_require(call, how->dtype != DT_NONE,
                        "only 8-bit floats are followed here: how a byte holds two of four bits is "
                        "not published") &&
           call_require(call,
                        !x->integer && !x->imaginary && x->rank >= 1 && x->rank < TENSOR_MAX_RANK &&
                            (how->algorithm == 0 || how->algorithm == 1) &&
                            !strcmp(call_string(call, "round_mode"), "rint"),
                        "floats, scale_alg 0 or 1 and the rounding \"rint\" are needed");
}

/* ---- the operators -------------------------------------------------------------------------------------------- */

/* Blocks along one axis (detail 0), or along the last two, one after the other (1). */
static void dynamic_mx_quant(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct blocks how;
    if (!read_blocks(call, &how, x)) return;
    int64_t size = call->op->detail ? BLOCK : call_int(call, "block_size");
    if (!call_require(
            call, size >= BLOCK && size <= 1024 && size % BLOCK == 0 && x->rank > call->op->detail,
            "blocks of 32 or a multiple of it are needed") ||
        !call_require(call, call->op->detail || call_real(call, "max_low_bound") == 0,
                      "max_low_bound is not followed here"))
        return;
    int first = call->op->detail ? x->rank - 1 : call_dim(call, "axis", x->rank);
    for (int dim = first; dim >= first - (int)call->op->detail; dim--) {
        int64_t pairs = (x->shape[dim] + 2 * size - 1) / (2 * size),
                *block_of = blocks_of(call, x->shape[dim], size, NULL);
        if (!block_of) return;
        struct node *bytes = shared_bytes(call, x, dim, &how, block_of, pairs);
        if (tape_failed(call->tape)) return;
        return_scaled(call, x, bytes, dim, &how, block_of);
        call_return(call, bytes);
    }
}

/* Blocks of 32 rows, which begin anew with each group; group e has the pairs of scales from start / 64 + e on. */
static void grouped_dynamic_mx_quant(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    struct blocks how;
    struct groups groups;
    if (!read_blocks(call, &how, x) ||
        !call_require(call, x->rank == 2 && call_int(call, "blocksize") == BLOCK,
                      "a matrix and blocks of 32 are needed") ||
        !groups_read(call, &groups, "group_index", true, x->shape[0]) ||
        !call_require(call, groups.total == x->shape[0], "the groups do not have all rows"))
        return;
    int64_t *block_of = blocks_of(call, x->shape[0], BLOCK, &groups);
    if (!block_of) return;
    struct node *bytes =
        shared_bytes(call, x, 0, &how, block_of, x->shape[0] / (2 * BLOCK) + groups.count);
    if (tape_failed(call->tape)) return;
    return_scaled(call, x, bytes, 0, &how, block_of);
    call_return(call, bytes);
}

/* Each element the largest magnitude of its block of 32 rows and 32 columns. */
static struct node *largest_of_squares(struct call *call, struct node *x)
{
    struct tape *tape = call->tape;
    int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1],
            across = (columns + BLOCK - 1) / BLOCK;
    struct node *y = node_new_real(tape, x->dtype, x->rank, x->shape);
    double *largest = tape_allocate(tape, (size_t)across + 1, sizeof *largest);
    const double *value = node_values(tape, x);
    for (int64_t top = 0; !tape_failed(tape) && x->n && top < (int64_t)x->n / columns;) {
        int64_t end = top + BLOCK, last = top - top % rows + rows;
        end = end < last ? end : last;
        for (int64_t c = 0; c < across; c++) largest[c] = 0;
        for (int64_t i = top * columns; i < end * columns; i++)
            largest[i % columns / BLOCK] = fmax(largest[i % columns / BLOCK], fabs(value[i]));
        for (int64_t i = top * columns; i < end * columns; i++)
            y->value[i] = largest[i % columns / BLOCK];
        top = end;
    }
    return y;
}

/* Blocks of 32 rows and 32 columns. Their scales are returned for the blocks of each row, and for those of each column. */
static void dynamic_block_mx_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct blocks how;
    if (!read_blocks(call, &how, x) || !call_require(call, x->rank >= 2 && how.algorithm == 0,
                                                     "matrices and scale_alg 0 are needed"))
        return;
    const double *value = node_values(tape, x);
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++)
        if (!call_require(call, isfinite(value[i]), "a block with infinite numbers has no scale"))
            return;
    struct node *largest = largest_of_squares(call, x), *bytes[2];
    for (int k = 0; k < 2; k++) {
        int dim = x->rank - 1 - k;
        int64_t pairs = (x->shape[dim] + 2 * BLOCK - 1) / (2 * BLOCK),
                *block_of = blocks_of(call, x->shape[dim], BLOCK, NULL);
        if (!block_of || tape_failed(tape)) return;
        bytes[k] = shared_bytes(call, largest, dim, &how, block_of, pairs);
        if (tape_failed(tape)) return;
        if (k == 0) return_scaled(call, x, bytes[0], dim, &how, block_of);
    }
    call_return(call, bytes[0]);
    call_return(call, bytes[1]);
}

/* Rows in groups, whose blocks begin anew with each: the largest magnitude of a block over the top of the dtype, at most
 * 1 / min_scale, is its scale, of float32; group e has the rows of scales from start / rows of a block + e on. */
static void grouped_dynamic_block_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = float8_named(call, "dst_type");
    int64_t down = call_int(call, "row_block_size"), across = call_int(call, "col_block_size");
    struct quantizing how = { 8, x->dtype, NULL };
    struct groups groups;
    if (!call_require(call, dtype != DT_NONE && call_real(call, "min_scale") == 0,
                      "8-bit floats and no least scale are followed here") ||
        !call_require(call,
                      (x->rank == 2 || x->rank == 3) && x->n && !x->integer && down >= 1 &&
                          down <= 4096 && across >= 1 && across <= 4096 &&
                          call_int(call, "group_list_type") == 0,
                      "matrices of floats, blocks and the ends of groups are needed") ||
        !groups_read(call, &groups, "group_list", true, x->shape[x->rank - 2]) ||
        !call_require(call, groups.total == x->shape[x->rank - 2],
                      "the groups do not have all rows"))
        return;
    int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1], shape[3];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 2] = rows / down + groups.count;
    shape[x->rank - 1] = (columns + across - 1) / across;
    struct node *largest = node_new_real(tape, DT_F32, x->rank, shape);
    int64_t *row_of = tape_allocate(tape, (size_t)rows, sizeof *row_of),
            *map = tape_allocate(tape, x->n, sizeof *map);
    const double *value = node_values(tape, x);
    if (tape_failed(tape)) return;
    for (int e = 0; e < groups.count; e++)
        for (int64_t i = groups.start[e]; i < groups.end[e]; i++)
            row_of[i] = groups.start[e] / down + e + (i - groups.start[e]) / down;
    for (size_t i = 0; i < largest->n; i++) largest->value[i] = 0;
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        int64_t r = i / columns;
        map[i] = (r / rows * shape[x->rank - 2] + row_of[r % rows]) * shape[x->rank - 1] +
                 i % columns / across;
        if (!call_require(call, isfinite(value[i]), "a block with infinite numbers has no scale"))
            return;
        largest->value[map[i]] = fmax(largest->value[map[i]], fabs(value[i]));
    }
    struct node *scale = node_divide(tape, largest, node_scalar(tape, dtype_info(dtype)->largest));
    struct node *own = node_gather(tape, scale, x->rank, x->shape, map, 0);
    struct node *never = node_compare(tape, COMPARE_EQ, own, node_scalar(tape, 0));
    call_return_quantized_as(
        call, node_select(tape, never, node_scalar(tape, 0), node_divide(tape, x, own)), dtype,
        &how, 0);
    call_return_typed(call, scale, DT_F32);
}

/* clang-format off */
#define MX "str round_mode='rint', Any dst_type=296, "
const struct op ops_npu_microscaling[] = {
    { "npu_dynamic_mx_quant", NPU, "(Tensor input, *, int axis=-1, " MX "int block_size=32, int scale_alg=0, float dst_type_max=0.0, float max_low_bound=0.0)", dynamic_mx_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_dynamic_mx_quant_with_dual_axis", NPU, "(Tensor input, *, " MX "int scale_alg=0, float dst_type_max=0.0)", dynamic_mx_quant, OP_NO_GRADIENT, 1, NULL },
    { "npu_grouped_dynamic_mx_quant", NPU, "(Tensor x, Any group_index, *, str round_mode='rint', Any dst_type=23, int blocksize=32, int scale_alg=0, float dst_type_max=0.0)", grouped_dynamic_mx_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_dynamic_block_mx_quant", NPU, "(Tensor input, *, " MX "int scale_alg=0, float dst_type_max=0.0)", dynamic_block_mx_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_grouped_dynamic_block_quant", NPU, "(Tensor input, Any group_list, *, float min_scale=0.0, str round_mode='rint', Any dst_type=291, int row_block_size=1, int col_block_size=128, int group_list_type=0, float dst_type_max=0.0)", grouped_dynamic_block_quant, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_microscaling);
