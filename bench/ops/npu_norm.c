/* Normalizations of torch_npu and MindSpeed fused with what stands before and behind them, by their documentation
 * (op-plugin, docs/context; MindSpeed, docs/ops). */
#include "bench/ops/npu_norm.h"

#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/ops/indexing.h"
#include "bench/ops/normalization.h"
#include "bench/ops/npu_halves.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

struct node *rms_normalized(struct call *call, struct node *x, struct node *gamma, double epsilon,
                            struct node **rstd)
{
    struct tape *tape = call->tape;
    if (!call_require(call,
                      x->rank && gamma->rank && gamma->rank <= x->rank && !x->integer &&
                          !gamma->integer,
                      "gamma has the last dimensions of the input"))
        return x;
    for (int d = 1; d <= gamma->rank; d++)
        if (!call_require(call, gamma->shape[gamma->rank - d] == x->shape[x->rank - d],
                          "gamma has the last dimensions of the input"))
            return x;
    struct node *square =
        node_mean(tape, node_multiply(tape, x, x), last_dims(x, gamma->rank), true);
    struct node *r = node_apply(tape, "rsqrt", node_offset(tape, square, epsilon));
    if (rstd) *rstd = r;
    return node_multiply(tape, node_multiply(tape, x, r), gamma);
}

/* (x r gamma, r) with r = 1 / rms in float32. Differentiable through both outputs. */
static void rms_norm(struct call *call)
{
    struct node *x = call_tensor(call, "self"), *r = x;
    struct node *y =
        rms_normalized(call, x, call_tensor(call, "gamma"), call_real(call, "epsilon"), &r);
    call_return_typed(call, y, x->dtype);
    call_return_typed(call, r, DT_F32);
}

/* Of the sum of two: (y, r, sum). detail 1: (r, y, sum), of which the last two are written into x1 and x2. */
static void add_rms_norm(struct call *call)
{
    struct node *x1 = call_tensor(call, "x1"), *x2 = call_tensor(call, "x2");
    struct node *sum = node_add(call->tape, x1, x2), *r = sum;
    struct node *y =
        rms_normalized(call, sum, call_tensor(call, "gamma"), call_real(call, "epsilon"), &r);
    if (!call->op->detail) call_return_typed(call, y, x1->dtype);
    call_return_typed(call, r, DT_F32);
    if (call->op->detail) return;
    call_return_typed(call, sum, x1->dtype);
}

/* y sigmoid(swish_scale y) of a group normalization y, with the statistics of the groups. */
static void group_norm_swish(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mean, *rstd;
    int64_t groups = call_int(call, "num_groups"), stats[2] = { x->rank ? x->shape[0] : 1, groups };
    struct node *y = normalize_groups(call, x, groups, call_real(call, "eps"), &mean, &rstd);
    struct node *gate =
        node_apply(tape, "sigmoid", node_scale(tape, y, call_real(call, "swish_scale")));
    enum dtype saved = call_tensor(call, "weight")->dtype;
    call_return_typed(call, node_multiply(tape, y, gate), x->dtype);
    call_return_typed(call, node_reshape(tape, mean, 2, stats), saved);
    call_return_typed(call, node_reshape(tape, rstd, 2, stats), saved);
}

/* silu of a group normalization. */
static void group_norm_silu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mean, *rstd;
    int64_t groups = call_int(call, "group"), stats[2] = { x->rank ? x->shape[0] : 1, groups };
    struct node *y = normalize_groups(call, x, groups, call_real(call, "eps"), &mean, &rstd);
    call_return_typed(call, node_apply(tape, "silu", y), x->dtype);
    call_return_typed(call, node_reshape(tape, mean, 2, stats), x->dtype);
    call_return_typed(call, node_reshape(tape, rstd, 2, stats), x->dtype);
}

/* Layer (detail 1: rms) normalization of x0 rowscale layerscale + residual, and with prenorm this too. */
static void dropout_add_norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x0"), *residual = call_optional_tensor(call, "residual"),
                *rows = call_optional_tensor(call, "rowscale"),
                *layer = call_optional_tensor(call, "layerscale"),
                *weight = call_tensor(call, "weight"), *bias = call_optional_tensor(call, "bias");
    enum dtype dtype = x->dtype;
    int64_t column[TENSOR_MAX_RANK + 1] = { 0 };
    if (!call_require(
            call, call_real(call, "dropout_p") == 0,
            "a dropout before a normalization has no law that is followed here: record the "
            "step with dropout_p 0") ||
        !call_require(call, !call_bool(call, "return_dropout_mask"),
                      "the mask of a dropout is not followed here") ||
        !call_require(call,
                      x->rank >= 2 && weight->rank == 1 &&
                          weight->shape[0] == x->shape[x->rank - 1] &&
                          (!rows || rows->rank == x->rank - 1),
                      "the weight has the last dimension of x0, rowscale the others"))
        return;
    enum dtype before = residual                              ? residual->dtype
                        : call_bool(call, "residual_in_fp32") ? DT_F32
                                                              : dtype;
    if (rows) {
        memcpy(column, rows->shape, sizeof rows->shape);
        column[rows->rank] = 1;
        x = node_multiply(tape, x, node_reshape(tape, rows, rows->rank + 1, column));
    }
    if (layer) x = node_multiply(tape, x, layer);
    if (residual) x = node_add(tape, x, residual);
    if (!call_require(call, x->n && x->shape[x->rank - 1] == weight->shape[0],
                      "the scales and the residual do not have the shape of x0"))
        return;
    double eps = call_real(call, "epsilon");
    struct node *y;
    if (call->op->detail)
        y = scale_and_shift(tape, rms_normalized(call, x, weight, eps, NULL), NULL, bias);
    else
        y = scale_and_shift(tape, compose_normalize(tape, x, last_dims(x, 1), eps, NULL, NULL),
                            weight, bias);
    call_return_typed(call, y, dtype);
    if (call_bool(call, "prenorm")) call_return_typed(call, x, before);
}

/* Rows written into a cache at the positions of `index`, negative ones nowhere: of each batch (cache_mode Norm) or of all
 * pages. */
static struct node *with_rows(struct call *call, struct node *cache, struct node *rows,
                              const struct node *index, bool paged)
{
    struct tape *tape = call->tape;
    int64_t width = rows->shape[3], steps = rows->shape[2],
            extent = paged ? cache->shape[0] * cache->shape[1] : cache->shape[2];
    if (!call_require(call,
                      cache->rank == 4 && !cache->integer && cache->shape[3] == width &&
                          width >= 1 && cache->shape[paged ? 2 : 1] == 1 &&
                          (paged || cache->shape[0] == rows->shape[0]) && index->integer &&
                          index->n == (size_t)(rows->shape[0] * steps),
                      "a cache of rows of %lld elements, and a position for each row, are needed",
                      (long long)width))
        return cache;
    int64_t *map = tape_allocate(tape, index->n + 1, sizeof *map);
    if (!map) return cache;
    for (size_t i = 0; i < index->n; i++) {
        int64_t at = index->integer[i];
        if (!call_require(call, at < extent, "position %lld of %lld", (long long)at,
                          (long long)extent))
            return cache;
        map[i] = at < 0 ? -1 : at + (paged ? 0 : (int64_t)i / steps * extent);
    }
    return index->n ? overwritten(call, cache, rows, (size_t)width, map) : cache;
}

/* Of kv (batch, 1, steps, width): rms_norm of the first part and a rotary embedding of the rest, its pairs brought to
 * halves, both written into caches; with is_output_kv they are returned too. */
static void kv_rmsnorm_rope_cache(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *kv = call_tensor(call, "kv"), *gamma = call_tensor(call, "gamma"),
                *index = call_tensor(call, "index"), *keys = call_tensor(call, "k_cache"),
                *latent = call_tensor(call, "ckv_cache");
    const char *mode = call_string(call, "cache_mode");
    bool paged = !strcmp(mode, "PA") || !strcmp(mode, "PA_BNSD");
    if (!call_require(call, call_is_none(call, "k_rope_scale") && call_is_none(call, "c_kv_scale"),
                      "quantized caches are not followed here") ||
        !call_require(call, paged || !strcmp(mode, "Norm"),
                      "cache_mode \"%s\" is not followed here", mode) ||
        !call_require(call,
                      kv->rank == 4 && kv->shape[1] == 1 && !kv->integer && gamma->rank == 1 &&
                          gamma->shape[0] >= 1 && gamma->shape[0] < kv->shape[3],
                      "kv is (batch, 1, steps, width), gamma as long as what is normalized"))
        return;
    int64_t norm = gamma->shape[0], rope = kv->shape[3] - norm;
    struct node *y = rms_normalized(call, node_slice(tape, kv, 3, 0, norm, 1), gamma,
                                    call_real(call, "epsilon"), NULL);
    struct node *split = pairs_to_halves(call, node_slice(tape, kv, 3, norm, rope, 1));
    struct node *k =
        rotated(call, split, call_tensor(call, "cos"), call_tensor(call, "sin"), false);
    if (!call_require(call, k->rank == 4 && y->rank == 4, "cosines of more dimensions than kv"))
        return;
    call_return_typed(call, with_rows(call, keys, k, index, paged), keys->dtype);
    call_return_typed(call, with_rows(call, latent, y, index, paged), latent->dtype);
    if (!call_bool(call, "is_output_kv")) {
        call_return_none(call);
        call_return_none(call);
        return;
    }
    call_return_typed(call, k, kv->dtype);
    call_return_typed(call, y, kv->dtype);
}

/* Queries, keys and values of latent attention from tokens (batch, steps, width): c = rms_norm(x W_dq), its product with
 * W_uq_qr in heads, of which the first part times W_uk of the head and the rest turned are the query; and x W_dkv_kr, of
 * which the first part normalized and the rest turned go into the caches. */
struct prolog {
    /* Tokens, W_dq, W_uq_qr, W_uk, W_dkv_kr, sines, cosines, the two caches. */
    struct node *in[9];
    struct node *x, *cosine, *sine; /* tokens and angles as rows */
    int64_t batch, steps, heads, plain, latent, turned;
    bool merged; /* batch and steps are one dimension */
};

/* Is the call unquantized, and do its tensors fit each other? */
static bool read_prolog(struct call *call, struct prolog *p)
{
    struct tape *tape = call->tape;
    static const char *const names[] = { "token_x",   "weight_dq",     "weight_uq_qr",
                                         "weight_uk", "weight_dkv_kr", "rope_sin",
                                         "rope_cos",  "kv_cache",      "kr_cache" };
    static const char *const quantized[] = { "dequant_scale_x",       "dequant_scale_w_dq",
                                             "dequant_scale_w_uq_qr", "dequant_scale_w_dkv_kr",
                                             "quant_scale_ckv",       "quant_scale_ckr",
                                             "smooth_scales_cq" };
    struct node **in = p->in;
    for (int k = 0; k < 7; k++)
        if (!call_require(call, call_is_none(call, quantized[k]),
                          "'%s' of a quantized prolog is not followed here", quantized[k]))
            return false;
    for (int k = 0; k < 9; k++) {
        in[k] = call_tensor(call, names[k]);
        if (!call_require(call, !in[k]->integer && in[k]->n, "%s holds floats", names[k]))
            return false;
    }
    struct node *x = in[0], *uk = in[3], *gamma = call_tensor(call, "rmsnorm_gamma_ckv");
    p->merged = x->rank == 2;
    int rank = p->merged && call->op->detail == 2 ? 2 : 3;
    if (!call_require(call,
                      x->rank == rank && in[1]->rank == 2 && in[2]->rank == 2 && uk->rank == 3 &&
                          in[4]->rank == 2 && in[5]->rank == rank && in[6]->rank == rank &&
                          in[7]->rank == 4 && in[8]->rank == 4 && gamma->rank == 1 &&
                          gamma->shape[0] == uk->shape[2],
                      "tokens are (batch, steps, width), weight_uk (heads, width of a head, latent "
                      "width), caches of four dimensions"))
        return false;
    p->batch = p->merged ? 1 : x->shape[0];
    p->steps = x->shape[rank - 2];
    p->heads = uk->shape[0];
    p->plain = uk->shape[1];
    p->latent = uk->shape[2];
    p->turned = in[8]->shape[3];
    int64_t width = x->shape[rank - 1], rows = p->batch * p->steps;
    if (!call_require(
            call,
            in[1]->shape[0] == width && in[2]->shape[0] == in[1]->shape[1] &&
                in[2]->shape[1] == p->heads * (p->plain + p->turned) && in[4]->shape[0] == width &&
                in[4]->shape[1] == p->latent + p->turned && in[5]->shape[rank - 1] == p->turned &&
                in[6]->shape[rank - 1] == p->turned && in[5]->n == (size_t)(rows * p->turned) &&
                in[6]->n == in[5]->n && p->turned % 2 == 0,
            "the weights do not fit each other"))
        return false;
    int64_t angle[3] = { rows, 1, p->turned };
    p->x = node_reshape(tape, x, 2, (int64_t[]){ rows, width });
    p->cosine = node_reshape(tape, in[6], 3, angle);
    p->sine = node_reshape(tape, in[5], 3, angle);
    return !tape_failed(tape);
}

/* The query's two parts are returned. c comes times `scale`. */
static struct node *return_query(struct call *call, const struct prolog *p, double scale)
{
    struct tape *tape = call->tape;
    struct node *c = rms_normalized(call, compose_matmul(tape, p->x, p->in[1]),
                                    call_tensor(call, "rmsnorm_gamma_cq"),
                                    call_real(call, "rmsnorm_epsilon_cq"), NULL);
    if (scale != 1) c = node_scale(tape, c, scale);
    int64_t split[3] = { p->batch * p->steps, p->heads, p->plain + p->turned };
    struct node *q = node_reshape(tape, compose_matmul(tape, c, p->in[2]), 3, split);
    struct node *first = node_transpose(tape, node_slice(tape, q, 2, 0, p->plain, 1), 0, 1);
    first = node_transpose(tape, compose_matmul(tape, first, p->in[3]), 0, 1);
    struct node *rest =
        rotated(call, pairs_to_halves(call, node_slice(tape, q, 2, p->plain, p->turned, 1)),
                p->cosine, p->sine, false);
    int64_t out[4] = { p->batch, p->steps, p->heads, p->latent };
    if (tape_failed(tape)) return c;
    call_return_typed(call, node_reshape(tape, first, 4 - p->merged, out + p->merged),
                      p->in[0]->dtype);
    out[3] = p->turned;
    call_return_typed(call, node_reshape(tape, rest, 4 - p->merged, out + p->merged),
                      p->in[0]->dtype);
    return c;
}

static void mla_prolog(struct call *call)
{
    struct tape *tape = call->tape;
    struct prolog p;
    if (!read_prolog(call, &p)) return;
    struct node *index = call_tensor(call, "cache_index"), *kv = compose_matmul(tape, p.x, p.in[4]);
    int64_t rows[4] = { p.batch, 1, p.steps, p.latent },
            keys[4] = { p.batch, 1, p.steps, p.turned },
            lone[3] = { p.batch * p.steps, 1, p.turned };
    struct node *y = rms_normalized(call, node_slice(tape, kv, 1, 0, p.latent, 1),
                                    call_tensor(call, "rmsnorm_gamma_ckv"),
                                    call_real(call, "rmsnorm_epsilon_ckv"), NULL);
    struct node *turned = node_slice(tape, kv, 1, p.latent, p.turned, 1);
    turned = rotated(call, pairs_to_halves(call, node_reshape(tape, turned, 3, lone)), p.cosine,
                     p.sine, false);
    (void)return_query(call, &p, 1);
    if (tape_failed(tape)) return;
    call_return_typed(call, with_rows(call, p.in[7], node_reshape(tape, y, 4, rows), index, true),
                      p.in[7]->dtype);
    call_return_typed(call,
                      with_rows(call, p.in[8], node_reshape(tape, turned, 4, keys), index, true),
                      p.in[8]->dtype);
    if (call->op->detail) call_return_none(call);
}

/* The third version writes into the caches and returns the query, with what its second product is of. */
static void mla_prolog_v3(struct call *call)
{
    static const char *const modes[] = { "weight_quant_mode", "kv_cache_quant_mode",
                                         "query_quant_mode", "ckvkr_repo_mode",
                                         "quant_scale_repo_mode" };
    struct prolog p;
    bool norm = call_bool(call, "query_norm_flag");
    double scale = call_real(call, "qc_qr_scale");
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++)
        if (!call_require(call, call_int(call, modes[k]) == 0,
                          "'%s' of a quantized prolog is not followed here", modes[k]))
            return;
    if (!call_require(call, !norm || scale == 1, "whether query_norm is scaled is not published") ||
        !read_prolog(call, &p))
        return;
    struct node *c = return_query(call, &p, scale);
    if (tape_failed(call->tape)) return;
    call_return_none(call);
    int64_t shape[3] = { p.batch, p.steps, c->shape[1] };
    if (norm)
        call_return_typed(call, node_reshape(call->tape, c, 3 - p.merged, shape + p.merged),
                          p.in[0]->dtype);
    else call_return_none(call);
    call_return_none(call);
}

/* Rows and columns of softmax(x) + eps in turn divided by their sums + eps: columns first, num_iters times in all. */
static void mhc_sinkhorn(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    int64_t rounds = call_int(call, "num_iters");
    double eps = call_real(call, "eps");
    if (!call_require(call, x->rank >= 2 && !x->integer && x->n && rounds >= 1 && rounds <= 100,
                      "matrices, and 1 to 100 iterations, are needed"))
        return;
    enum dtype dtype = x->dtype;
    uint32_t columns = 1u << (x->rank - 2), rows = 1u << (x->rank - 1);
    x = node_offset(tape, node_softmax(tape, x, x->rank - 1), eps);
    for (int64_t i = 0; i < rounds; i++) {
        if (i) x = node_divide(tape, x, node_offset(tape, node_sum(tape, x, rows, true), eps));
        x = node_divide(tape, x, node_offset(tape, node_sum(tape, x, columns, true), eps));
    }
    call_return_typed(call, x, dtype);
    call_return_none(call);
    call_return_none(call);
}

/* (x - mean) / (std + 1e-5) of x (batch, channels, length), mean and unbiased deviation over the first seq_len[i] positions of
 * each channel, or (normalize_type 1) of all channels of batch i. */
static void normalize_batch(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *lengths = call_tensor(call, "seq_len");
    int64_t kind = call_int(call, "normalize_type");
    if (!call_require(call,
                      x->rank == 3 && !x->integer && lengths->integer && lengths->rank == 1 &&
                          lengths->shape[0] == x->shape[0] && x->n && (kind == 0 || kind == 1),
                      "a batch of sequences, with their lengths, is needed"))
        return;
    int64_t each = kind ? x->shape[1] : 1, column[3] = { x->shape[0], 1, 1 };
    struct node *seen = node_new_integer(tape, DT_BOOL, 3, x->shape),
                *count = node_new_real(tape, DT_F32, 3, column),
                *fewer = node_new_real(tape, DT_F32, 3, column);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < x->shape[0]; i++) {
        int64_t length = lengths->integer[i];
        if (!call_require(call, length >= 1 && length <= x->shape[2] && length * each >= 2,
                          "length %lld of %lld", (long long)length, (long long)x->shape[2]))
            return;
        count->value[i] = (double)(length * each);
        fewer->value[i] = (double)(length * each - 1);
        for (int64_t k = 0; k < x->shape[1] * x->shape[2]; k++)
            seen->integer[i * x->shape[1] * x->shape[2] + k] = k % x->shape[2] < length;
    }
    uint32_t dims = kind ? 6 : 4;
    struct node *zero = node_scalar(tape, 0);
    struct node *sum = node_sum(tape, node_select(tape, seen, x, zero), dims, true);
    struct node *centred = node_subtract(tape, x, node_divide(tape, sum, count));
    struct node *inside = node_select(tape, seen, centred, zero);
    struct node *squares = node_sum(tape, node_multiply(tape, inside, inside), dims, true);
    struct node *deviation = node_apply(tape, "sqrt", node_divide(tape, squares, fewer));
    call_return_typed(call, node_divide(tape, centred, node_offset(tape, deviation, 1e-5)),
                      x->dtype);
}

/* clang-format off */
#define PROLOG_SCALES "Tensor? dequant_scale_x=None, Tensor? dequant_scale_w_dq=None, Tensor? dequant_scale_w_uq_qr=None, Tensor? dequant_scale_w_dkv_kr=None, Tensor? quant_scale_ckv=None, Tensor? quant_scale_ckr=None, Tensor? smooth_scales_cq=None, "
#define MLA_PROLOG "(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor weight_dkv_kr, Tensor rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor cache_index, Tensor kv_cache, Tensor kr_cache, *, " PROLOG_SCALES "float rmsnorm_epsilon_cq=1e-05, float rmsnorm_epsilon_ckv=1e-05, str cache_mode='PA_BSND')"
#define DROPOUT_NORM "(Tensor x0, Tensor? residual, Tensor weight, Tensor? bias, float dropout_p, float epsilon, Tensor? rowscale=None, Tensor? layerscale=None, bool prenorm=False, bool residual_in_fp32=False, bool return_dropout_mask=False)"
const struct op ops_npu_norm[] = {
    { "npu_rms_norm", NPU, "(Tensor self, Tensor gamma, float epsilon=1e-05)", rms_norm, OP_ONE_NODE, 0, NULL },
    { "npu_add_rms_norm", NPU, "(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06)", add_rms_norm, OP_ONE_NODE, 0, NULL },
    { "npu_add_rms_norm_v2", NPU, "(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06)", add_rms_norm, OP_NO_GRADIENT, 1, NULL },
    { "npu_group_norm_silu", NPU, "(Tensor input, Tensor? weight, Tensor? bias, int group, float eps=1e-05)", group_norm_silu, 0, 0, NULL },
    { "npu_group_norm_swish", NPU, "(Tensor input, int num_groups, Tensor weight, Tensor bias, float? eps=1e-05, float? swish_scale=1.0)", group_norm_swish, OP_ONE_NODE, 0, NULL },
    { "npu_kv_rmsnorm_rope_cache", NPU, "(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, Tensor k_cache, Tensor ckv_cache, *, Tensor? k_rope_scale=None, Tensor? c_kv_scale=None, Tensor? k_rope_offset=None, Tensor? c_kv_offset=None, float epsilon=1e-05, str cache_mode='Norm', bool is_output_kv=False)", kv_rmsnorm_rope_cache, OP_NO_GRADIENT, 0, NULL },
    { "npu_mla_prolog", NPU, MLA_PROLOG, mla_prolog, OP_NO_GRADIENT, 0, NULL },
    { "npu_mla_prolog_v2", NPU, MLA_PROLOG, mla_prolog, OP_NO_GRADIENT, 1, NULL },
    { "npu_mla_prolog_v3", NPU, "(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor weight_dkv_kr, Tensor rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor kv_cache, Tensor kr_cache, *, Tensor? cache_index=None, " PROLOG_SCALES "float rmsnorm_epsilon_cq=1e-05, float rmsnorm_epsilon_ckv=1e-05, str cache_mode='PA_BSND', bool query_norm_flag=False, int weight_quant_mode=0, int kv_cache_quant_mode=0, int query_quant_mode=0, int ckvkr_repo_mode=0, int quant_scale_repo_mode=0, int tile_size=128, float qc_qr_scale=1.0, float kc_scale=1.0, ...)", mla_prolog_v3, OP_NO_GRADIENT, 2, NULL },
    { "npu_mhc_sinkhorn", NPU, "(Tensor x, *, float eps=1e-06, int num_iters=20, int out_flag=0)", mhc_sinkhorn, OP_ONE_NODE, 0, NULL },
    { "dropout_add_layer_norm.npu_dropout_add_layer_norm", MINDSPEED, DROPOUT_NORM, dropout_add_norm, OP_ONE_NODE, 0, NULL },
    { "dropout_add_layer_norm.npu_dropout_add_rms_norm", MINDSPEED, DROPOUT_NORM, dropout_add_norm, OP_ONE_NODE, 1, NULL },
    { "npu_normalize_batch", NPU, "(Tensor self, Tensor seq_len, int normalize_type=0)", normalize_batch, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_norm);
