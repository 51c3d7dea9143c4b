/* Blocks and planes: unfold and fold (im2col and its adjoint), pixel and channel shuffles.
 */
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"
#include "core/checked.h"

/* Sliding blocks of a (batch, channels, height, width) problem. */
struct blocks {
    int64_t batch, channels, in[2], kernel[2], dilation[2], padding[2], stride[2], out[2];
};

static bool read_blocks(struct blocks *blocks, struct call *call)
{
    call_ints_repeated(call, "kernel_size", blocks->kernel, 2);
    call_ints_repeated(call, "dilation", blocks->dilation, 2);
    call_ints_repeated(call, "padding", blocks->padding, 2);
    call_ints_repeated(call, "stride", blocks->stride, 2);
    for (int k = 0; k < 2; k++) {
        if (!call_require(call,
                          blocks->kernel[k] >= 1 && blocks->dilation[k] >= 1 &&
                              blocks->stride[k] >= 1 && blocks->padding[k] >= 0 &&
                              blocks->kernel[k] <= INT32_MAX && blocks->dilation[k] <= INT32_MAX &&
                              blocks->padding[k] <= INT32_MAX && blocks->in[k] >= 0 &&
                              blocks->in[k] <= INT32_MAX,
                          "kernel, dilation, padding or stride is out of range"))
            return false;
        int64_t span = blocks->in[k] + 2 * blocks->padding[k] -
                       blocks->dilation[k] * (blocks->kernel[k] - 1) - 1;
        blocks->out[k] = span < 0 ? 0 : span / blocks->stride[k] + 1;
        if (blocks->out[k] < 1) call_fail(call, "the blocks are larger than the input");
    }
    return !tape_failed(call->tape);
}

/* For element (n, c, ky, kx, oy, ox) of the blocks its place in (n, c, y, x), -1 in the
 * padding. */
static int64_t *block_map(struct tape *tape, const struct blocks *blocks)
{
    const int64_t shape[] = { blocks->batch,     blocks->channels, blocks->kernel[0],
                              blocks->kernel[1], blocks->out[0],   blocks->out[1] };
    size_t planes = (size_t)(blocks->batch * blocks->channels), at = 0, n;
    if (!shape_elements(&n, 6, shape)) {
        tape_fail(tape, STATUS_SKIP, "the blocks are too many");
        return NULL;
    }
    int64_t *map = tape_allocate(tape, n, sizeof *map);
    if (!map) return NULL;
    for (size_t plane = 0; plane < planes; plane++)
        for (int64_t ky = 0; ky < blocks->kernel[0]; ky++)
            for (int64_t kx = 0; kx < blocks->kernel[1]; kx++)
                for (int64_t oy = 0; oy < blocks->out[0]; oy++)
                    for (int64_t ox = 0; ox < blocks->out[1]; ox++) {
                        int64_t y = oy * blocks->stride[0] - blocks->padding[0] +
                                    ky * blocks->dilation[0];
                        int64_t x = ox * blocks->stride[1] - blocks->padding[1] +
                                    kx * blocks->dilation[1];
                        bool inside = y >= 0 && y < blocks->in[0] && x >= 0 && x < blocks->in[1];
                        map[at++] =
                            inside ? ((int64_t)plane * blocks->in[0] + y) * blocks->in[1] + x : -1;
                    }
    return map;
}

/* (N, C, H, W) -> (N, C kh kw, blocks); an unbatched argument stays so. */
static void unfold(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct blocks blocks;

    if (!call_require(call, x->rank == 3 || x->rank == 4,
                      "unfold takes 3 or 4 dimensions, the argument has %d", x->rank))
        return;
    const int64_t *shape = x->shape + x->rank - 3;
    blocks = (struct blocks){ .batch = x->rank == 4 ? x->shape[0] : 1,
                              .channels = shape[0],
                              .in = { shape[1], shape[2] } };
    if (!read_blocks(&blocks, call)) return;
    int64_t *map = block_map(tape, &blocks);
    if (!map) return;
    int64_t result[3] = { blocks.batch, blocks.channels * blocks.kernel[0] * blocks.kernel[1],
                          blocks.out[0] * blocks.out[1] };
    int batched = x->rank == 4;
    call_return(call, node_gather(tape, x, 2 + batched, result + !batched, map, 0));
}

static void fold(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct blocks blocks;

    if (!call_require(call, x->rank == 2 || x->rank == 3,
                      "fold takes 2 or 3 dimensions, the argument has %d", x->rank))
        return;
    blocks = (struct blocks){ .batch = x->rank == 3 ? x->shape[0] : 1 };
    call_ints_repeated(call, "output_size", blocks.in, 2);
    if (!read_blocks(&blocks, call)) return;
    int64_t rows = x->shape[x->rank - 2], area = blocks.kernel[0] * blocks.kernel[1];
    if (!call_require(call,
                      rows % area == 0 && x->shape[x->rank - 1] == blocks.out[0] * blocks.out[1],
                      "the argument does not hold the blocks of this output"))
        return;
    blocks.channels = rows / area;
    int64_t *map = block_map(tape, &blocks);
    if (!map) return;
    int64_t result[4] = { blocks.batch, blocks.channels, blocks.in[0], blocks.in[1] };
    int batched = x->rank == 3;
    call_return(call, node_scatter_add(tape, x, 3 + batched, result + !batched, map));
}

/* ---- shuffles ----------------------------------------------------------------------- */

/* Reshape the trailing dimensions of x to `split`, permute them by `order`, and reshape to
 * `merged`; `lead` dimensions in front stay. */
static struct node *shuffled(struct tape *tape, struct node *x, int lead, int parts,
                             const int64_t *split, const int *order, int rank,
                             const int64_t *merged)
{
    int64_t shape[TENSOR_MAX_RANK];
    int all[TENSOR_MAX_RANK];
    memcpy(shape, x->shape, (size_t)lead * sizeof *shape);
    memcpy(shape + lead, split, (size_t)parts * sizeof *shape);
    for (int d = 0; d < lead + parts; d++) all[d] = d < lead ? d : lead + order[d - lead];
    struct node *y = node_permute(tape, node_reshape(tape, x, lead + parts, shape), all);
    memcpy(shape + lead, merged, (size_t)rank * sizeof *shape);
    return node_reshape(tape, y, lead + rank, shape);
}

/* (C r r, H, W) <-> (C, H r, W r); detail 1 is the way back. */
static void pixel_shuffle(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t r = call_int(call, call->op->text);
    if (!call_require(call, x->rank >= 3 && x->rank <= 12 && r >= 1 && r <= INT32_MAX,
                      "a factor of %lld for %d dimensions", (long long)r, x->rank))
        return;
    int lead = x->rank - 3;
    int64_t c = x->shape[lead], h = x->shape[lead + 1], w = x->shape[lead + 2];
    bool divides = call->op->detail ? h % r == 0 && w % r == 0 : c % (r * r) == 0;
    if (!call_require(call, divides, "the extents are not multiples of the factor %lld",
                      (long long)r))
        return;
    if (call->op->detail)
        x = shuffled(tape, x, lead, 5, (int64_t[]){ c, h / r, r, w / r, r },
                     (int[]){ 0, 2, 4, 1, 3 }, 3, (int64_t[]){ c * r * r, h / r, w / r });
    else
        x = shuffled(tape, x, lead, 5, (int64_t[]){ c / (r * r), r, r, h, w },
                     (int[]){ 0, 3, 1, 4, 2 }, 3, (int64_t[]){ c / (r * r), h * r, w * r });
    call_return(call, x);
}

static void channel_shuffle(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t groups = call_int(call, "groups");
    if (!call_require(call, x->rank >= 3 && groups >= 1 && x->shape[1] % groups == 0,
                      "%lld groups do not divide the channels", (long long)groups))
        return;
    int64_t inner = 1, channels = x->shape[1];
    for (int d = 2; d < x->rank; d++) inner *= x->shape[d];
    struct node *y = shuffled(call->tape, x, 1, 3, (int64_t[]){ groups, channels / groups, inner },
                              (int[]){ 1, 0, 2 }, 2, (int64_t[]){ channels, inner });
    call_return(call, node_reshape(call->tape, y, x->rank, x->shape));
}

/* clang-format off */
const struct op ops_fold[] = {
    { "unfold", FUNCTIONAL, "(Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1)", unfold, OP_ONE_NODE, 0, NULL },
    { "im2col", ATEN, "(Tensor input, int[] kernel_size, int[] dilation, int[] padding, int[] stride)", unfold, OP_ONE_NODE, 0, NULL },
    { "fold", FUNCTIONAL, "(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1)", fold, OP_ONE_NODE, 0, NULL },
    { "col2im", ATEN, "(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1)", fold, OP_ONE_NODE, 0, NULL },
    { "pixel_shuffle", FUNCTIONAL | TORCH | ATEN, "(Tensor input, int upscale_factor)", pixel_shuffle, OP_ONE_NODE, 0, "upscale_factor" },
    { "pixel_unshuffle", FUNCTIONAL | TORCH | ATEN, "(Tensor input, int downscale_factor)", pixel_shuffle, OP_ONE_NODE, 1, "downscale_factor" },
    { "channel_shuffle|native_channel_shuffle", FUNCTIONAL | TORCH | ATEN, "(Tensor input, int groups)", channel_shuffle, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(fold);
