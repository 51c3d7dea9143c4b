/* Quantization to floats of 8 or 4 bits with a power of two for each block (OCP Microscaling Formats, MX), and of groups of
 * rows with a scale of float32 for each block; by op-plugin's documentation (docs/zh).
 *
 * A block with the largest magnitude a has the scale 2^e, stored as the byte e + 127 of the format e8m0:
 *     scale_alg 0   e = floor(log2 a) - the largest exponent of the dtype (8 of e4m3, 15 of e5m2, 2 of e2m1, 0 of e1m2)
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

/* The byte of the scale of a block whose largest magnitude is a; 0 of one with a < 0, that lies beyond the tensor. */
static int64_t shared_byte(double a, const struct blocks *how)
{
    int exponent;
    if (a <= 0 && how->least <= 0) return 0;
    if (how->algorithm == 0) {
        (void)frexp(a, &exponent);
        exponent -= 1 + (how->four ? how->four->exponent : how->dtype == DT_F8E4M3 ? 8 : 15);
    } else {
        double scale = fmax(a, how->least) / dtype_info(how->dtype)->largest,
               part = frexp(scale, &exponent);
        if (part == 0.5) exponent--;
        if (scale < 0x1p-126) exponent = scale > 0x1p-127 ? -126 : LEAST_EXPONENT;
    }
    return (exponent > LEAST_EXPONENT ? exponent : LEAST_EXPONENT) + BIAS;
}

/* The largest magnitude of each block, and what a kernel may take it for. */
struct largest {
    double *own, *low, *high; /* negative: a block beyond the tensor */
    const struct blocks *how;
};

static bool may_be_byte(void *context, size_t i, int64_t byte)
{
    const struct largest *most = context;
    return most->own[i] >= 0 && byte >= shared_byte(most->low[i], most->how) &&
           byte <= shared_byte(most->high[i], most->how);
}

/* Positions along a dimension, and the blocks that they are in. */
struct axis {
    int dim;
    int64_t extent, inner, pairs;
    const int64_t *block_of; /* each position of the dimension */
};

static struct axis axis_of(const struct node *x, int dim, const int64_t *block_of, int64_t pairs)
{
    struct axis axis = { dim, x->shape[dim], 1, pairs, block_of };
    for (int d = dim + 1; d < x->rank; d++) axis.inner *= x->shape[d];
    return axis;
}

/* Where the byte of the block of element i is. */
static int64_t byte_place(const struct axis *axis, int64_t i)
{
    int64_t block = axis->block_of[i / axis->inner % axis->extent];
    return ((i / axis->inner / axis->extent * axis->pairs + block / 2) * axis->inner +
            i % axis->inner) *
               2 +
           block % 2;
}

static double least_magnitude(double low, double high)
{
    return low <= 0 && high >= 0 ? 0 : fmin(fabs(low), fabs(high));
}

/* The bytes of the blocks of x, as by_shared_scales reads them. */
static struct node *shared_bytes(struct call *call, struct node *x, const struct axis *axis,
                                 const struct blocks *how, const struct between *numbers,
                                 size_t bytes_at)
{
    struct tape *tape = call->tape;
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[axis->dim] = axis->pairs;
    shape[x->rank] = 2;
    struct node *bytes = node_new_integer(tape, DT_U8, x->rank + 1, shape);
    if (tape_failed(tape)) return bytes;
    struct largest most = { .how = how };
    double **parts[3] = { &most.own, &most.low, &most.high };
    for (int k = 0; k < 3; k++) {
        if (!(*parts[k] = tape_allocate(tape, bytes->n, sizeof **parts[k]))) return bytes;
        for (size_t i = 0; i < bytes->n; i++) (*parts[k])[i] = -1;
    }
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        int64_t to = byte_place(axis, i);
        double low = numbers->low[i], high = numbers->high[i];
        if (!call_require(call, isfinite(low) && isfinite(high),
                          "a block with infinite numbers has no scale"))
            return bytes;
        most.own[to] = fmax(most.own[to], fabs(numbers->own[i]));
        most.low[to] = fmax(most.low[to], least_magnitude(low, high));
        most.high[to] = fmax(most.high[to], fmax(fabs(low), fabs(high)));
    }
    for (size_t i = 0; i < bytes->n; i++)
        bytes->integer[i] = most.own[i] < 0 ? 0 : shared_byte(most.own[i], how);
    return call_settled_indices(call, bytes_at, bytes, may_be_byte, &most);
}

/* Return x by the powers of two of `bytes`, rounded to the dtype. */
static void return_scaled(struct call *call, struct node *x, const struct node *bytes,
                          const struct axis *axis, const struct blocks *how,
                          const struct between *numbers)
{
    struct tape *tape = call->tape;
    struct quantizing exact = { 0, DT_NONE, NULL };
    struct node *factor = node_new_real(tape, DT_F32, x->rank, x->shape);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < (int64_t)x->n; i++)
        factor->value[i] = ldexp(1, BIAS - (int)bytes->integer[byte_place(axis, i)]);
    if (!how->four) {
        call_return_quantized_as(call, node_multiply(tape, x, factor), how->dtype, &exact, 0);
        return;
    }
    double *scaled[3];
    const double *given[3] = { numbers->own, numbers->low, numbers->high };
    for (int k = 0; k < 3; k++) {
        if (!(scaled[k] = tape_allocate(tape, x->n, sizeof *scaled[k]))) return;
        for (size_t i = 0; i < x->n; i++) scaled[k][i] = given[k][i] * factor->value[i];
    }
    struct between by_scales = { scaled[0], scaled[1], scaled[2] };
    call_return_four_bits(call, x, &by_scales, how->four, how->rounding);
}

bool between_roundings(struct call *call, struct between *numbers, struct node *x, double roundings,
                       enum dtype stored, struct node *magnitude)
{
    struct tape *tape = call->tape;
    const double *value = node_values(tape, x),
                 *size = magnitude ? node_values(tape, magnitude) : value;
    if (!call_require(call, !magnitude || magnitude->n == x->n, "numbers of different shapes"))
        return false;
    *numbers = (struct between){ value, value, value };
    if (roundings == 0) return true;
    double slack = roundings * 0x1p-24 +
                   (stored == DT_F16 || stored == DT_BF16 ? dtype_ulp(stored, 1) / 2 : 0);
    double *low = tape_allocate(tape, x->n, sizeof *low),
           *high = tape_allocate(tape, x->n, sizeof *high);
    if (tape_failed(tape)) return false;
    for (size_t i = 0; i < x->n; i++) {
        double room = size[i] == 0 ? 0 : slack * fabs(size[i]) + roundings * 0x1p-149;
        low[i] = value[i] - room;
        high[i] = value[i] + room;
    }
    numbers->low = low;
    numbers->high = high;
    return true;
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

bool blocks_read(struct call *call, struct blocks *how)
{
    *how = (struct blocks){ float8_named(call, "dst_type"), four_bits_named(call, "dst_type"),
                            four_bits_rounding_named(call_string(call, "round_mode")),
                            call_int(call, "scale_alg"), 0 };
    return call_require(call, how->dtype != DT_NONE || how->four,
                        "the numbers 23, 24 and 291, 292 (8-bit floats), 296 and 297 (of four "
                        "bits) of dst_type are known") &&
           call_require(call,
                        how->four ? how->algorithm == 0 && how->rounding != FOUR_BITS_UNKNOWN
                                  : (how->algorithm == 0 || how->algorithm == 1) &&
                                        how->rounding == FOUR_BITS_RINT,
                        "scale_alg 0 (of 8-bit floats 1, too) and of floats of four bits the "
                        "roundings \"rint\", \"round\" and \"floor\" are followed here");
}

/* The same of an operator that takes floats as they are. */
static bool read_blocks(struct call *call, struct blocks *how, struct node *x,
                        struct between *numbers)
{
    return blocks_read(call, how) &&
           call_require(call, call_real(call, "dst_type_max") == 0,
                        "dst_type_max is not followed here") &&
           call_require(call,
                        !x->integer && !x->imaginary && x->rank >= 1 && x->rank < TENSOR_MAX_RANK,
                        "floats are needed") &&
           between_roundings(call, numbers, x, 0, DT_NONE, NULL);
}

struct node *return_in_blocks(struct call *call, struct node *x, int dim, const struct blocks *how,
                              const struct between *numbers, size_t bytes_at)
{
    struct axis axis = axis_of(x, dim, blocks_of(call, x->shape[dim], BLOCK, NULL),
                               (x->shape[dim] + 2 * BLOCK - 1) / (2 * BLOCK));
    if (!axis.block_of) return x;
    struct node *bytes = shared_bytes(call, x, &axis, how, numbers, bytes_at);
    if (!tape_failed(call->tape)) return_scaled(call, x, bytes, &axis, how, numbers);
    return bytes;
}

/* ---- the operators -------------------------------------------------------------------------------------------- */

/* Blocks along one axis (detail 0), or along the last two, one after the other (1). */
static void dynamic_mx_quant(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct blocks how;
    struct between numbers;
    if (!read_blocks(call, &how, x, &numbers)) return;
    int64_t size = call->op->detail ? BLOCK : call_int(call, "block_size");
    if (!call->op->detail) how.least = call_real(call, "max_low_bound");
    if (!call_require(
            call, size >= BLOCK && size <= 1024 && size % BLOCK == 0 && x->rank > call->op->detail,
            "blocks of 32 or a multiple of it are needed") ||
        !call_require(call, how.least == 0 || (how.least > 0 && how.algorithm == 1),
                      "max_low_bound belongs to scale_alg 1"))
        return;
    int first = call->op->detail ? x->rank - 1 : call_dim(call, "axis", x->rank);
    for (int dim = first; dim >= first - (int)call->op->detail; dim--) {
        struct axis axis = axis_of(x, dim, blocks_of(call, x->shape[dim], size, NULL),
                                   (x->shape[dim] + 2 * size - 1) / (2 * size));
        if (!axis.block_of) return;
        struct node *bytes = shared_bytes(call, x, &axis, &how, &numbers, call->results.count + 1);
        if (tape_failed(call->tape)) return;
        return_scaled(call, x, bytes, &axis, &how, &numbers);
        call_return(call, bytes);
    }
}

/* Blocks of 32 rows, which begin anew with each group; group e has the pairs of scales from start / 64 + e on. */
static void grouped_dynamic_mx_quant(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    struct blocks how;
    struct between numbers;
    struct groups groups;
    if (!read_blocks(call, &how, x, &numbers) ||
        !call_require(call, x->rank == 2 && call_int(call, "blocksize") == BLOCK,
                      "a matrix and blocks of 32 are needed") ||
        !groups_read(call, &groups, "group_index", true, x->shape[0]) ||
        !call_require(call, groups.total == x->shape[0], "the groups do not have all rows"))
        return;
    struct axis axis = axis_of(x, 0, blocks_of(call, x->shape[0], BLOCK, &groups),
                               x->shape[0] / (2 * BLOCK) + groups.count);
    if (!axis.block_of) return;
    struct node *bytes = shared_bytes(call, x, &axis, &how, &numbers, 1);
    if (tape_failed(call->tape)) return;
    return_scaled(call, x, bytes, &axis, &how, &numbers);
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
    struct between numbers, most;
    if (!read_blocks(call, &how, x, &numbers) ||
        !call_require(call, x->rank >= 2 && how.algorithm == 0,
                      "matrices and scale_alg 0 are needed"))
        return;
    for (size_t i = 0; i < x->n; i++)
        if (!call_require(call, isfinite(numbers.own[i]),
                          "a block with infinite numbers has no scale"))
            return;
    struct node *largest = largest_of_squares(call, x), *bytes[2];
    if (!between_roundings(call, &most, largest, 0, DT_NONE, NULL)) return;
    for (int k = 0; k < 2; k++) {
        int dim = x->rank - 1 - k;
        struct axis axis = axis_of(x, dim, blocks_of(call, x->shape[dim], BLOCK, NULL),
                                   (x->shape[dim] + 2 * BLOCK - 1) / (2 * BLOCK));
        if (!axis.block_of) return;
        bytes[k] = shared_bytes(call, largest, &axis, &how, &most, 1 + (size_t)k);
        if (tape_failed(tape)) return;
        if (k == 0) return_scaled(call, x, bytes[0], &axis, &how, &numbers);
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
