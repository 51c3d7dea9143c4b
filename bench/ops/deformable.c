/* Convolutions whose samples are moved by given offsets, by the documentation of torch_npu (op-plugin) and MindSpore and
 * their tests. The sample of output (y, x) and kernel element (i, j) lies at (y stride + i dilation - padding + dy,
 * x stride + j dilation - padding + dx) of the input, between whose elements it is linear, and 0 farther than 1 outside.
 * The offsets (n, 3 groups kh kw, out h, out w) hold all dx, then all dy, then what each sample is multiplied by; each
 * group of channels has its own. The samples are a tensor (n, channels, out h kh, out w kw), and the convolution is that
 * with a stride of the kernel.
 */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/stencils.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/convolution.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

struct deformation {
    struct call *call;
    struct node *offsets;
    int64_t groups;              /* with offsets of their own */
    int64_t kernel[2], out[2];   /* height, width */
    int64_t stride[2], front[2]; /* padding at the top and on the left */
    int64_t dilation[2];
    struct sampled of;
};

/* Part 0: dx, 1: dy, 2: factors, as (n groups, places): out h, kh, out w, kw. */
static struct node *part_of(const struct deformation *f, int part)
{
    struct tape *tape = f->of.tape;
    int64_t count = f->groups * f->kernel[0] * f->kernel[1];
    struct node *own = node_slice(tape, f->offsets, 1, part * count, count, 1);
    int64_t split[5] = { (int64_t)f->of.batch, f->kernel[0], f->kernel[1], f->out[0], f->out[1] };
    own = node_permute(tape, node_reshape(tape, own, 5, split), (int[]){ 0, 3, 1, 4, 2 });
    return node_reshape(tape, own, 2, (int64_t[]){ (int64_t)f->of.batch, (int64_t)f->of.points });
}

/* Where samples lie along dimension d (0: y). */
static struct node *places(const struct deformation *f, int d)
{
    struct tape *tape = f->of.tape;
    struct node *grid = node_new_real(tape, DT_NONE, 2, (int64_t[]){ 1, (int64_t)f->of.points });
    if (tape_failed(tape)) return tape_failure(tape);
    int64_t columns = f->of.shape[3];
    for (int64_t p = 0; p < (int64_t)f->of.points; p++) {
        int64_t at = d == 0 ? p / columns : p % columns;
        grid->value[p] = (double)(at / f->kernel[d] * f->stride[d] +
                                  at % f->kernel[d] * f->dilation[d] - f->front[d]);
    }
    return node_add(tape, part_of(f, 1 - d), grid);
}

static struct node *deformed_samples(const struct deformation *f, bool modulated)
{
    struct tape *tape = f->of.tape;
    struct stencil stencil = { .taps = 0 };
    double unit = dtype_ulp(f->offsets->dtype == DT_F64 ? DT_F64 : DT_F32, 1);
    for (int d = 0; d < 2; d++) {
        struct node *at = places(f, d);
        const double *place = node_values(tape, at);
        if (tape_failed(tape)) return f->offsets;
        /* One addition, of an offset and a whole number. */
        stencil_linear(&f->of, &stencil, d, at, place, 4 * unit * (double)(f->of.size[d] + 1));
    }
    struct node *y = stencil_sum(&f->of, &stencil);
    return modulated ? node_multiply(tape, y, stencil_over_channels(&f->of, part_of(f, 2))) : y;
}

/* Extents of a list argument at positions `at` and `at` + 1, each from `least` on. */
static bool read_pair(struct call *call, const char *name, int count, int at, int64_t least,
                      int64_t *out)
{
    int64_t items[4];
    if (!call_require(call, call_ints(call, name, items, 4) == count, "%s has %d entries", name,
                      count))
        return false;
    for (int d = 0; d < count; d++)
        if (!call_require(call, items[d] >= least && items[d] <= INT32_MAX, "%s of %lld", name,
                          (long long)items[d]))
            return false;
    for (int d = 0; d < 2; d++) out[d] = items[at + d];
    return true;
}

/* The result's extents, from those of the input, and the shapes that follow. */
static bool plan(struct deformation *f, struct node *x)
{
    struct call *call = f->call;
    int64_t padding[4];
    if (!read_pair(call, "kernel_size", 2, 0, 1, f->kernel) ||
        !read_pair(call, "stride", 4, 2, 1, f->stride) ||
        !read_pair(call, "dilation", 4, 2, 1, f->dilation) ||
        !read_pair(call, "padding", 4, 0, 0, padding) ||
        !read_pair(call, "padding", 4, 2, 0, padding + 2))
        return false;
    f->groups = call_int(call, "deformable_groups");
    if (!call_require(
            call,
            x->rank == 4 && f->offsets->rank == 4 && !x->integer && !f->offsets->integer && x->n &&
                f->groups >= 1 && x->shape[1] % f->groups == 0,
            "an input (n, c, h, w), its channels divided into the groups, and offsets are "
            "needed"))
        return false;
    int64_t each = x->shape[0] * f->groups;
    f->of = (struct sampled){ call->tape, x, .dims = 2, .batch = (size_t)each, .rank = 4 };
    f->of.channels = (size_t)(x->shape[1] / f->groups);
    f->of.shape[0] = each;
    f->of.shape[1] = x->shape[1] / f->groups;
    f->of.points = 1;
    for (int d = 0; d < 2; d++) {
        int64_t whole = x->shape[2 + d] + padding[2 * d] + padding[2 * d + 1],
                reach = f->dilation[d] * (f->kernel[d] - 1) + 1;
        f->front[d] = padding[2 * d];
        f->out[d] = whole < reach ? 0 : (whole - reach) / f->stride[d] + 1;
        f->of.size[d] = x->shape[2 + d];
        if (!call_require(call, f->offsets->shape[2 + d] == f->out[d] && f->out[d],
                          "the offsets are not of the result's places"))
            return false;
        f->of.shape[2 + d] = f->out[d] * f->kernel[d];
        f->of.points *= (size_t)f->of.shape[2 + d];
    }
    f->of.x = node_reshape(call->tape, x, 4,
                           (int64_t[]){ each, x->shape[1] / f->groups, x->shape[2], x->shape[3] });
    return call_require(call,
                        f->offsets->shape[0] == x->shape[0] &&
                            f->offsets->shape[1] == 3 * f->groups * f->kernel[0] * f->kernel[1],
                        "three offsets for each element of the kernel and each group are needed");
}

/* The convolution of samples with the kernel's stride. */
static struct node *convolved(struct call *call, const struct deformation *f, struct node *samples,
                              struct node *w, struct node *bias)
{
    struct tape *tape = call->tape;
    int64_t groups = call_int(call, "groups");
    if (!call_require(call,
                      w->rank == 4 && w->shape[2] == f->kernel[0] && w->shape[3] == f->kernel[1] &&
                          groups >= 1 && groups <= INT32_MAX && w->shape[0] % groups == 0 &&
                          samples->shape[1] == groups * w->shape[1] &&
                          (!bias || (bias->rank == 1 && bias->shape[0] == w->shape[0])),
                      "weight and bias do not fit the input"))
        return samples;
    struct convolution_geometry geometry = {
        .stride = { 1, f->kernel[0], f->kernel[1] },
        .dilation = { 1, 1, 1 },
        .groups = groups,
        .x = { samples->shape[0], samples->shape[1], 1, samples->shape[2], samples->shape[3] },
        .w = { w->shape[0], w->shape[1], 1, w->shape[2], w->shape[3] },
        .y = { samples->shape[0], w->shape[0], 1, f->out[0], f->out[1] }
    };
    struct node *y = node_convolution(tape, CONVOLVE, node_reshape(tape, samples, 5, geometry.x),
                                      node_reshape(tape, w, 5, geometry.w), &geometry);
    y = node_reshape(tape, y, 4,
                     (int64_t[]){ samples->shape[0], w->shape[0], f->out[0], f->out[1] });
    return bias ? node_add(tape, y, node_reshape(tape, bias, 4, (int64_t[]){ 1, -1, 1, 1 })) : y;
}

/* detail 1: the samples are returned too. Neither operator has been published without factors. */
static void deformable_convolution(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight");
    struct deformation f = { call, .offsets = call_tensor(call, "offset") };
    if (!call_require(call, call_bool(call, "modulated"),
                      "samples that nothing is multiplied by are not published") ||
        !plan(&f, x))
        return;
    struct node *samples = deformed_samples(&f, true);
    samples = node_reshape(call->tape, samples, 4,
                           (int64_t[]){ x->shape[0], x->shape[1], f.of.shape[2], f.of.shape[3] });
    struct node *y = convolved(call, &f, samples, w, call_optional_tensor(call, "bias"));
    call_return_typed(call, y, x->dtype);
    if (call->op->detail) call_return_typed(call, samples, x->dtype);
}

/* clang-format off */
#define DEFORMED "(Tensor input, Tensor weight, Tensor offset, Tensor? bias, int[2] kernel_size, int[] stride, int[] padding, int[] dilation=[1,1,1,1], int groups=1, int deformable_groups=1, bool modulated=True)"
const struct op ops_deformable[] = {
    { "npu_deformable_conv2d", NPU, DEFORMED, deformable_convolution, OP_ONE_NODE, 1, NULL },
    { "deformable_conv2d", MINDSPORE, DEFORMED, deformable_convolution, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(deformable);
