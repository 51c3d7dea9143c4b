/* Gated activations and rotary embeddings of torch_npu and MindSpeed, by their documentation (op-plugin, docs/context;
 * MindSpeed, docs/ops). */
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/activation.h"
#include "bench/ops/foreach.h"
#include "bench/ops/npu_halves.h"
#include "bench/ops/operands.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- gates ---------------------------------------------------------------------------------------- */

static void swiglu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *a, *b;
    if (tape_failed(tape) || !halves(call, x, call_dim(call, "dim", x->rank), &a, &b)) return;
    call_return_typed(call, node_multiply(tape, node_apply(tape, "silu", a), b), x->dtype);
}

static void swiglu_backward(struct call *call)
{
    call_return_gradients(call, swiglu, (const char *const[]){ "self", NULL });
}

/* (a gelu(b), gelu(b)) of the halves a and b, exchanged with activate_left; approximate 1: by tanh. */
static void geglu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *a, *b;
    int64_t approximate = call_int(call, "approximate");
    if (tape_failed(tape) ||
        !call_require(call, approximate == 0 || approximate == 1, "approximate is 0 or 1") ||
        !halves(call, x, call_dim(call, "dim", x->rank), &a, &b))
        return;
    bool left = call_bool(call, "activate_left");
    struct node *gelu = gelu_of(tape, left ? a : b, approximate == 1);
    call_return_typed(call, node_multiply(tape, left ? b : a, gelu), x->dtype);
    call_return_typed(call, gelu, x->dtype);
}

/* gelu(a) b of the halves of the last dimension. */
static void gelu_mul(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *a, *b;
    const char *approximate = call_string(call, "approximate");
    bool by_tanh = !strcmp(approximate, "tanh");
    if (!call_require(call, x->rank && (by_tanh || !strcmp(approximate, "none")),
                      "approximate is 'none' or 'tanh'") ||
        !halves(call, x, x->rank - 1, &a, &b))
        return;
    call_return_typed(call, node_multiply(tape, gelu_of(tape, a, by_tanh), b), x->dtype);
}

static struct node *capped(struct tape *tape, struct node *x, double limit, bool above)
{
    struct node *most = node_scalar(tape, limit);
    return node_select(tape, node_compare(tape, above ? COMPARE_LE : COMPARE_GE, x, most), x, most);
}

/* a sigmoid(alpha a) (b + bias), a no more than limit and |b| neither; a and b alternate or are halves. The dimensions
 * from dim on are one, those before it too: of these, rows past the sum of group_index are 0. */
static void clipped_swiglu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *a, *b, *groups;
    double limit = call_real(call, "limit");
    if (!call_require(call, x->rank && !x->integer, "a tensor of floats is needed")) return;
    int dim = call_dim(call, "dim", x->rank);
    int64_t rows = 1, width = 1, shape[TENSOR_MAX_RANK];
    for (int d = 0; d < x->rank; d++) *(d < dim ? &rows : &width) *= x->shape[d];
    if (!call_require(call, x->shape[dim] % 2 == 0 && limit > 0, "dimension %d has odd extent",
                      dim))
        return;
    memcpy(shape, x->shape, sizeof shape);
    shape[dim] /= 2;
    enum dtype dtype = x->dtype;
    if (call_bool(call, "interleaved")) {
        int64_t pairs[3] = { rows, width / 2, 2 };
        struct node *split = node_reshape(tape, x, 3, pairs);
        a = node_squeeze(tape, node_slice(tape, split, 2, 0, 1, 1), 4);
        b = node_squeeze(tape, node_slice(tape, split, 2, 1, 1, 1), 4);
    } else {
        int64_t flat[2] = { rows, width };
        if (!halves(call, node_reshape(tape, x, 2, flat), 1, &a, &b)) return;
    }
    a = capped(tape, a, limit, true);
    b = capped(tape, capped(tape, b, limit, true), -limit, false);
    struct node *gate = node_apply(tape, "sigmoid", node_scale(tape, a, call_real(call, "alpha")));
    struct node *y = node_multiply(tape, node_multiply(tape, a, gate),
                                   node_offset(tape, b, call_real(call, "bias")));
    if ((groups = call_optional_tensor(call, "group_index"))) {
        int64_t total = 0, column[2] = { rows, 1 };
        if (!call_require(call, groups->integer, "group_index counts rows")) return;
        for (size_t i = 0; i < groups->n; i++)
            if (groups->integer[i] > 0 && groups->integer[i] < INT32_MAX)
                total += groups->integer[i];
        struct node *live = node_new_integer(tape, DT_BOOL, 2, column);
        for (int64_t i = 0; !tape_failed(tape) && i < rows; i++) live->integer[i] = i < total;
        y = node_select(tape, live, y, node_scalar(tape, 0));
    }
    call_return_typed(call, node_reshape(tape, y, x->rank, shape), dtype);
}

/* ---- rotary embeddings ------------------------------------------------------------------------------ */

static void rotary_mul(struct call *call)
{
    struct node *x = call_tensor(call, "self");
    bool pairs = !strcmp(call_string(call, "rotary_mode"), "interleave");
    call_return_typed(
        call, rotated(call, x, call_tensor(call, "r1"), call_tensor(call, "r2"), pairs), x->dtype);
}

/* mode: 0 halves, 1 neighbouring pairs. */
static void rotary_position_embedding(struct call *call)
{
    struct node *x = call_tensor(call, "self");
    int64_t mode = call_int(call, "mode");
    if (!call_require(call, mode == 0 || mode == 1, "the mode %lld is not known", (long long)mode))
        return;
    call_return_typed(call,
                      rotated(call, x, call_tensor(call, "r1"), call_tensor(call, "r2"), mode == 1),
                      x->dtype);
}

/* Query and key by the same cosines and sines. */
static void apply_rotary_pos_emb(struct call *call)
{
    struct node *cosine = call_tensor(call, "cos"), *sine = call_tensor(call, "sin");
    static const char *const names[2] = { "query", "key" };
    const char *mode = call_string(call, "rotary_mode");
    bool pairs = !strcmp(mode, "interleave");
    if (!call_require(call, pairs || !strcmp(mode, "half"), "rotary_mode \"%s\" is not known",
                      mode))
        return;
    for (int k = 0; k < 2; k++) {
        struct node *x = call_tensor(call, names[k]);
        call_return_typed(call, rotated(call, x, cosine, sine, pairs), x->dtype);
    }
}

/* Neighbouring pairs brought to halves, then turned as halves; they stay so. */
static void interleave_rope(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    struct node *split = pairs_to_halves(call, x);
    call_return_typed(
        call, rotated(call, split, call_tensor(call, "cos"), call_tensor(call, "sin"), false),
        x->dtype);
}

/* Rows of the cache (cosines, then sines) at the positions, (tokens, 1, half). With mrope_section the positions have
 * a row for time, height and width each, which give their section of the half. */
static struct node *cached_half(struct call *call, struct node *cache, struct node *positions,
                                const int64_t *section, int sections, bool sine)
{
    struct tape *tape = call->tape;
    int64_t half = cache->shape[1] / 2, tokens = positions->shape[positions->rank - 1],
            shape[3] = { tokens, 1, half };
    int64_t *map = tape_allocate(tape, (size_t)(tokens * half), sizeof *map);
    for (int64_t i = 0; map && i < tokens * half; i++) {
        int64_t k = i % half, row = 0, end = 0;
        while (row < sections - 1 && k >= (end += section[row])) row++;
        int64_t at = positions->integer[row * tokens + i / half];
        if (!call_require(call, at >= 0 && at < cache->shape[0], "position %lld of %lld",
                          (long long)at, (long long)cache->shape[0]))
            return cache;
        map[i] = at * cache->shape[1] + (sine ? half : 0) + k;
    }
    return tape_failed(tape) ? cache : node_gather(tape, cache, 3, shape, map, 0);
}

/* (tokens, heads * width): the first columns of each head turned, as many as the cache has. */
static void rope_with_cache(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *positions = call_tensor(call, "positions"),
                *cache = call_tensor(call, "cos_sin_cache");
    static const char *const names[2] = { "query", "key" };
    int64_t width = call_int(call, "head_size"), section[3] = { 0 };
    bool is_neox = call->op->text ? call_bool(call, "is_neox_style")
                                  : strcmp(call_string(call, "rotary_mode"), "interleave") != 0;
    int sections = call->op->text ? 0 : call_ints(call, "mrope_section", section, 3);
    if (sections && !section[0] && !section[1] && !section[2]) sections = 0;
    if (!call_returns_lists(call) ||
        !call_require(call,
                      cache->rank == 2 && cache->shape[1] % 2 == 0 && cache->shape[1] >= 2 &&
                          cache->shape[1] <= width && positions->integer &&
                          positions->rank == (sections ? 2 : 1),
                      "positions and a cache of at most %lld columns are needed",
                      (long long)width) ||
        !call_require(call,
                      !sections || (sections == 3 && positions->shape[0] == 3 && section[0] >= 0 &&
                                    section[1] >= 0 && section[2] >= 0 &&
                                    section[0] <= cache->shape[1] && section[1] <= cache->shape[1]),
                      "mrope_section has three parts, and positions a row for each"))
        return;
    struct node *cosine = cached_half(call, cache, positions, section, sections, false),
                *sine = cached_half(call, cache, positions, section, sections, true);
    for (int k = 0; k < 2; k++) {
        struct node *x = call_tensor(call, names[k]);
        if (!call_require(call,
                          x->rank == 2 && x->shape[1] % width == 0 &&
                              x->shape[0] == positions->shape[positions->rank - 1],
                          "%s is (tokens, heads * %lld)", names[k], (long long)width))
            return;
        int64_t shape[3] = { x->shape[0], x->shape[1] / width, width };
        struct node *split = node_reshape(tape, x, 3, shape);
        struct node *turned = node_slice(tape, split, 2, 0, cache->shape[1], 1);
        struct node *parts[2] = { rotated(call, turned, doubled(tape, cosine, !is_neox),
                                          doubled(tape, sine, !is_neox), !is_neox),
                                  node_slice(tape, split, 2, cache->shape[1],
                                             width - cache->shape[1], 1) };
        struct node *y = width > cache->shape[1] ? node_concatenate(tape, parts, 2, 2) : parts[0];
        call_return_typed(call, node_reshape(tape, y, 2, x->shape), x->dtype);
    }
}

/* clang-format off */
const struct op ops_npu_gated[] = {
    { "npu_swiglu", NPU, "(Tensor self, int dim=-1)", swiglu, OP_ONE_NODE, 0, NULL },
    { "npu_swiglu_backward", NPU | ATEN, "(Tensor grad_output, Tensor self, int dim=-1)", swiglu_backward, OP_NO_GRADIENT, 0, NULL },
    { "npu_geglu", NPU, "(Tensor self, int dim=-1, int approximate=1, bool activate_left=False)", geglu, OP_ONE_NODE, 0, NULL },
    { "npu_gelu_mul", NPU, "(Tensor input, *, str approximate='none')", gelu_mul, OP_ONE_NODE, 0, NULL },
    { "npu_clipped_swiglu", NPU, "(Tensor x, *, Tensor? group_index=None, int dim=-1, float alpha=1.702, float limit=7.0, float bias=1.0, bool interleaved=True)", clipped_swiglu, OP_ONE_NODE, 0, NULL },
    { "npu_rotary_mul", NPU, "(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half')", rotary_mul, OP_ONE_NODE, 0, NULL },
    { "rotary_position_embedding", MINDSPORE, "(Tensor self, Tensor r1, Tensor r2, int mode)", rotary_position_embedding, 0, 0, NULL },
    { "npu_rotary_position_embedding.npu_rotary_position_embedding", MINDSPEED, "(Tensor self, Tensor r1, Tensor r2, int mode=0)", rotary_position_embedding, OP_ONE_NODE, 0, NULL },
    { "npu_apply_rotary_pos_emb", NPU, "(Tensor query, Tensor key, Tensor cos, Tensor sin, str layout='BSH', str rotary_mode='half')", apply_rotary_pos_emb, OP_NO_GRADIENT, 0, NULL },
    { "npu_interleave_rope", NPU, "(Tensor x, Tensor cos, Tensor sin)", interleave_rope, OP_NO_GRADIENT, 0, NULL },
    { "npu_mrope", NPU, "(Tensor positions, Tensor query, Tensor key, Tensor cos_sin_cache, int head_size, *, int[]? mrope_section=None, str? rotary_mode='half')", rope_with_cache, OP_NO_GRADIENT, 0, NULL },
    { "_npu_rotary_embedding", NPU, "(Tensor positions, Tensor query, Tensor key, int head_size, Tensor cos_sin_cache, bool is_neox_style)", rope_with_cache, OP_NO_GRADIENT, 0, "is_neox_style" },
};
/* clang-format on */
OP_TABLE_END(npu_gated);
