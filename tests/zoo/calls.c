#include "calls.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- random numbers: splitmix64 ----------------------------------------------------------------- */

uint64_t dump_random(struct dump *dump, uint64_t limit)
{
    uint64_t z = dump->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % limit;
}

/* An extent: small ones are as frequent as large ones. */
static int extent(struct dump *d, int least, int most)
{
    int bits = 0, span = most - least + 1;
    while (1 << bits < span) bits++;
    int limit = 1 << dump_random(d, (uint64_t)bits + 1);
    int n = least + (int)dump_random(d, (uint64_t)(limit < span ? limit : span));
    return n;
}

/* --- JSON --------------------------------------------------------------------------------------------- */

void dump_begin(struct dump *dump, const char *path, uint64_t seed)
{
    dump->out = fopen(path, "w");
    if (!dump->out) {
        perror(path);
        exit(2);
    }
    dump->state = seed;
    dump->first = 1;
    dump->index = 0;
    fputs("{\"task\":\"statistics\",\"level\":\"L1\",\"framework\":\"pytorch\","
          "\"dump_data_dir\":null,\"data\":{",
          dump->out);
}

void dump_end(struct dump *dump)
{
    fputs("}}\n", dump->out);
    if (fclose(dump->out)) {
        perror("dump");
        exit(2);
    }
}

struct range {
    double low, high;
};

/* One tensor as text. */
struct tensor {
    char text[360];
};

static const char *dtype_name(int dtype)
{
    return dtype == F32 ? "float32" : dtype == F16 ? "float16" : "bfloat16";
}

static struct tensor make(const char *dtype, int rank, const int *shape, struct range range,
                          int has_nan)
{
    struct tensor t;
    size_t used = (size_t)snprintf(t.text, sizeof t.text,
                                   "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.%s\",\"shape\":[",
                                   dtype);
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(t.text + used, sizeof t.text - used, i ? ",%d" : "%d", shape[i]);
    snprintf(t.text + used, sizeof t.text - used,
             has_nan ? "],\"Max\":NaN,\"Min\":NaN,\"Max_except_inf_nan\":%.9g,"
                       "\"Min_except_inf_nan\":%.9g,\"Mean\":NaN,\"Norm\":NaN,"
                       "\"requires_grad\":true}"
                     : "],\"Max\":%.9g,\"Min\":%.9g,\"Mean\":0.0,\"Norm\":1.0,"
                       "\"requires_grad\":true}",
             range.high, range.low);
    return t;
}

#define SHAPE(...) \
    (int)(sizeof(int[]){ __VA_ARGS__ } / sizeof(int)), (int[]) { __VA_ARGS__ }

/* Write one call. `args` is the text of its arguments; a cotangent makes a backward. */
static void entry(struct dump *d, const char *api, const struct tensor *out,
                  const struct tensor *cotangent, const char *kwargs, const char *args, ...)
{
    va_list list;
    int index = d->index++;
    fprintf(d->out, "%s\n\"%s.%d.forward\":{\"input_args\":[", d->first ? "" : ",", api, index);
    d->first = 0;
    va_start(list, args);
    vfprintf(d->out, args, list);
    va_end(list);
    fprintf(d->out, "],\"input_kwargs\":{%s},\"output\":[%s]}", kwargs, out->text);
    if (cotangent)
        fprintf(d->out, ",\n\"%s.%d.backward\":{\"input\":[%s],\"output\":[]}", api, index,
                cotangent->text);
}

/* Ranges in which activations and weights lie. */
static struct range usual(struct dump *d)
{
    static const struct range ranges[] = { { -1, 1 },     { -2, 2 }, { 0, 1 },
                                           { -0.1, 0.1 }, { -6, 6 }, { 0.5, 2 } };
    return ranges[dump_random(d, sizeof ranges / sizeof *ranges)];
}

static const struct range unit = { -1, 1 };

#define INT  "{\"type\":\"int\",\"value\":%d}"
#define PAIR "[{\"type\":\"int\",\"value\":%d},{\"type\":\"int\",\"value\":%d}]"

/* --- matrix products ----------------------------------------------------------------------------------- */

static void matmul(struct dump *d, int dtype, int backward)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 40), k = extent(d, 1, 300), n = extent(d, 1, 40);
    if (backward && dump_random(d, 2)) k = n; /* a square second operand */
    struct tensor a = make(t, SHAPE(m, k), usual(d), 0), b = make(t, SHAPE(k, n), usual(d), 0);
    struct tensor c = make(t, SHAPE(m, n), unit, 0);
    entry(d, "Torch.matmul", &c, backward ? &c : NULL, "", "%s,%s", a.text, b.text);
}

static void write_matmul(struct dump *d, int dtype) { matmul(d, dtype, 0); }
static void write_matmul_grad(struct dump *d, int dtype) { matmul(d, dtype, 1); }

static void write_bmm(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int b = extent(d, 1, 6), m = extent(d, 1, 16), k = extent(d, 1, 64), n = extent(d, 1, 16);
    struct tensor x = make(t, SHAPE(b, m, k), usual(d), 0),
                  y = make(t, SHAPE(b, k, n), usual(d), 0);
    struct tensor z = make(t, SHAPE(b, m, n), unit, 0);
    entry(d, "Torch.bmm", &z, NULL, "", "%s,%s", x.text, y.text);
}

static void linear(struct dump *d, int dtype, int backward)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 24), k = extent(d, 1, 128), n = extent(d, 1, 40);
    struct tensor x = make(t, SHAPE(m, k), usual(d), 0), w = make(t, SHAPE(n, k), usual(d), 0);
    struct tensor b = make(t, SHAPE(n), unit, 0), y = make(t, SHAPE(m, n), unit, 0);
    entry(d, "Functional.linear", &y, backward ? &y : NULL, "", "%s,%s,%s", x.text, w.text, b.text);
}

static void write_linear(struct dump *d, int dtype) { linear(d, dtype, 0); }
static void write_linear_grad(struct dump *d, int dtype) { linear(d, dtype, 1); }

static void write_addmm(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 24), k = extent(d, 1, 100), n = extent(d, 1, 24);
    struct tensor c = make(t, SHAPE(n), unit, 0), y = make(t, SHAPE(m, n), unit, 0);
    struct tensor a = make(t, SHAPE(m, k), usual(d), 0), b = make(t, SHAPE(k, n), usual(d), 0);
    entry(
        d, "Torch.addmm", &y, NULL,
        "\"beta\":{\"type\":\"float\",\"value\":0.5},\"alpha\":{\"type\":\"float\",\"value\":2.0}",
        "%s,%s,%s", c.text, a.text, b.text);
}

/* --- convolution and pooling ------------------------------------------------------------------------------ */

static void conv(struct dump *d, int dtype, int dilation, int groups)
{
    const char *t = dtype_name(dtype);
    int n = extent(d, 1, 2), per_group = extent(d, 1, 8), out_per_group = extent(d, 1, 4);
    int k = 1 + (int)dump_random(d, 3), padding = (int)dump_random(d, 3);
    int stride = 1 + (int)dump_random(d, 2);
    int h = extent(d, 6, 14), w = extent(d, 6, 14);
    if (dilation > 1 && k == 1) k = 3;
    int oh = (h + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
    int ow = (w + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
    struct tensor x = make(t, SHAPE(n, per_group * groups, h, w), usual(d), 0);
    struct tensor weight = make(t, SHAPE(out_per_group * groups, per_group, k, k), usual(d), 0);
    struct tensor bias = make(t, SHAPE(out_per_group * groups), unit, 0);
    struct tensor y = make(t, SHAPE(n, out_per_group * groups, oh, ow), unit, 0);
    entry(d, "Functional.conv2d", &y, NULL, "", "%s,%s,%s," PAIR "," PAIR "," PAIR "," INT, x.text,
          weight.text, bias.text, stride, stride, padding, padding, dilation, dilation, groups);
}

static void write_conv2d(struct dump *d, int dtype) { conv(d, dtype, 1, 1); }
static void write_conv2d_dilated(struct dump *d, int dtype) { conv(d, dtype, 2, 1); }
static void write_conv2d_grouped(struct dump *d, int dtype) { conv(d, dtype, 1, 3); }

static void pool(struct dump *d, const char *api, int dtype, struct range range)
{
    const char *t = dtype_name(dtype);
    int n = extent(d, 1, 2), c = extent(d, 1, 4), h = extent(d, 5, 14), w = extent(d, 5, 14);
    int k = 2 + (int)dump_random(d, 2), stride = 1 + (int)dump_random(d, 2), padding = 1;
    struct tensor x = make(t, SHAPE(n, c, h, w), range, 0);
    struct tensor y =
        make(t, SHAPE(n, c, (h + 2 * padding - k) / stride + 1, (w + 2 * padding - k) / stride + 1),
             unit, 0);
    entry(d, api, &y, NULL, "", "%s," INT "," INT "," INT, x.text, k, stride, padding);
}

static void write_max_pool2d(struct dump *d, int dtype)
{
    pool(d, "Functional.max_pool2d", dtype,
         dump_random(d, 2) ? (struct range){ -3, -1 } : usual(d));
}

static void write_avg_pool2d(struct dump *d, int dtype)
{
    pool(d, "Functional.avg_pool2d", dtype, usual(d));
}

/* --- rows ----------------------------------------------------------------------------------------------------- */

#define LAST_DIM "\"dim\":{\"type\":\"int\",\"value\":-1}"

static void softmax(struct dump *d, const char *api, int dtype, struct range range, int backward)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 20), n = extent(d, 2, 500);
    struct tensor x = make(t, SHAPE(m, n), range, 0), y = make(t, SHAPE(m, n), unit, 0);
    entry(d, api, &y, backward ? &y : NULL, LAST_DIM, "%s", x.text);
}

static void write_softmax(struct dump *d, int dtype)
{
    softmax(d, "Functional.softmax", dtype, (struct range){ -8, 8 }, 0);
}

static void write_softmax_grad(struct dump *d, int dtype)
{
    softmax(d, "Functional.softmax", dtype, (struct range){ -4, 4 }, 1);
}

static void write_softmax_large(struct dump *d, int dtype)
{
    softmax(d, "Functional.softmax", dtype, (struct range){ 60, 120 }, 0);
}

static void write_log_softmax_large(struct dump *d, int dtype)
{
    softmax(d, "Functional.log_softmax", dtype, (struct range){ -60, 60 }, 0);
}

static void layer_norm(struct dump *d, int dtype, struct range range, int backward)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 16), n = extent(d, 4, 200);
    struct tensor x = make(t, SHAPE(m, n), range, 0), y = make(t, SHAPE(m, n), unit, 0);
    struct tensor w = make(t, SHAPE(n), (struct range){ 0.5, 1.5 }, 0),
                  b = make(t, SHAPE(n), unit, 0);
    entry(d, "Functional.layer_norm", &y, backward ? &y : NULL, "", "%s,[" INT "],%s,%s", x.text, n,
          w.text, b.text);
}

static void write_layer_norm(struct dump *d, int dtype) { layer_norm(d, dtype, usual(d), 0); }
static void write_layer_norm_grad(struct dump *d, int dtype) { layer_norm(d, dtype, usual(d), 1); }

static void write_layer_norm_small(struct dump *d, int dtype)
{
    layer_norm(d, dtype, (struct range){ -0.05, 0.05 }, 0);
}

static void write_layer_norm_offset(struct dump *d, int dtype)
{
    layer_norm(d, dtype, (struct range){ 50, 52 }, 0);
}

static void write_batch_norm(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int n = extent(d, 1, 3), c = extent(d, 2, 8), h = extent(d, 1, 8), w = extent(d, 1, 8);
    struct tensor x = make(t, SHAPE(n, c, h, w), usual(d), 0),
                  y = make(t, SHAPE(n, c, h, w), unit, 0);
    struct tensor mean = make(t, SHAPE(c), unit, 0);
    struct tensor var = make(t, SHAPE(c), (struct range){ 1e-4, 0.01 }, 0);
    struct tensor weight = make(t, SHAPE(c), (struct range){ 0.5, 1.5 }, 0);
    entry(d, "Functional.batch_norm", &y, NULL, "", "%s,%s,%s,%s,%s", x.text, mean.text, var.text,
          weight.text, mean.text);
}

static void reduction(struct dump *d, const char *api, int dtype, struct range range, int least,
                      int has_nan)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 12), n = extent(d, least, 600);
    struct tensor x = make(t, SHAPE(m, n), range, has_nan), y = make(t, SHAPE(m), unit, 0);
    entry(d, api, &y, NULL, "", "%s," INT, x.text, -1);
}

static void write_sum(struct dump *d, int dtype)
{
    reduction(d, "Torch.sum", dtype, (struct range){ -1, 2 }, 1, 0);
}

static void write_mean(struct dump *d, int dtype)
{
    reduction(d, "Torch.mean", dtype, usual(d), 1, 0);
}
static void write_var(struct dump *d, int dtype)
{
    reduction(d, "Torch.var", dtype, usual(d), 2, 0);
}

static void write_amax_negative(struct dump *d, int dtype)
{
    reduction(d, "Torch.amax", dtype, (struct range){ -3, -1 }, 1, 0);
}

static void write_amax_nan(struct dump *d, int dtype)
{
    reduction(d, "Torch.amax", dtype, usual(d), 3, 1);
}

static void write_cumsum(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 6), n = extent(d, 1, 300);
    struct tensor x = make(t, SHAPE(m, n), (struct range){ -1, 2 }, 0),
                  y = make(t, SHAPE(m, n), unit, 0);
    entry(d, "Torch.cumsum", &y, NULL, "", "%s," INT, x.text, -1);
}

/* --- elementwise ------------------------------------------------------------------------------------------------- */

static void write_add(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 2, 20), n = extent(d, 2, 60);
    struct tensor a = make(t, SHAPE(m, n), usual(d), 0), b = make(t, SHAPE(n), usual(d), 0);
    entry(d, "Torch.add", &a, NULL, "", "%s,%s", a.text, b.text);
}

static void write_add_subnormal(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 20), n = extent(d, 1, 60);
    struct tensor a = make(t, SHAPE(m, n), (struct range){ -1e-39, 1e-39 }, 0);
    entry(d, "Torch.add", &a, NULL, "", "%s,%s", a.text, a.text);
}

static void binary(struct dump *d, const char *api, int dtype, struct range ra, struct range rb,
                   int has_nan)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 20), n = extent(d, 3, 60);
    struct tensor a = make(t, SHAPE(m, n), ra, has_nan), b = make(t, SHAPE(m, n), rb, 0);
    struct tensor y = make(t, SHAPE(m, n), unit, 0);
    entry(d, api, &y, NULL, "", "%s,%s", a.text, b.text);
}

static void write_mul(struct dump *d, int dtype)
{
    binary(d, "Torch.mul", dtype, usual(d), usual(d), 0);
}

static void write_mul_large(struct dump *d, int dtype)
{
    binary(d, "Torch.mul", dtype, (struct range){ -1000, 1000 }, (struct range){ -1000, 1000 }, 0);
}

static void write_div(struct dump *d, int dtype)
{
    binary(d, "Torch.div", dtype, usual(d), (struct range){ 0.5, 4 }, 0);
}

/* Quotients that overflow to an infinity whose sign is the divisor's. */
static void write_div_subnormal(struct dump *d, int dtype)
{
    binary(d, "Torch.div", dtype, (struct range){ 1, 2 }, (struct range){ -1e-44, -2e-45 }, 0);
}

static void write_maximum_nan(struct dump *d, int dtype)
{
    binary(d, "Torch.maximum", dtype, usual(d), usual(d), 1);
}

static void write_pow(struct dump *d, int dtype)
{
    binary(d, "Torch.pow", dtype, (struct range){ 0.1, 20 }, (struct range){ -12, 12 }, 0);
}

static void unary(struct dump *d, const char *api, int dtype, struct range range, int has_nan,
                  int backward)
{
    const char *t = dtype_name(dtype);
    int n = extent(d, 3, 2000);
    struct tensor x = make(t, SHAPE(n), range, has_nan), y = make(t, SHAPE(n), unit, 0);
    entry(d, api, &y, backward ? &y : NULL, "", "%s", x.text);
}

#define UNARY(NAME, API, LOW, HIGH, HAS_NAN, BACKWARD)                        \
    static void write_##NAME(struct dump *d, int dtype)                       \
    {                                                                         \
        unary(d, API, dtype, (struct range){ LOW, HIGH }, HAS_NAN, BACKWARD); \
    }

UNARY(neg, "Torch.neg", -3, 3, 0, 0)
UNARY(relu_nan, "Functional.relu", -2, 2, 1, 0)
UNARY(relu_grad, "Functional.relu", -2, 2, 0, 1)
UNARY(leaky_relu, "Functional.leaky_relu", -4, 4, 0, 0)
UNARY(sigmoid, "Torch.sigmoid", -20, 20, 0, 0)
UNARY(tanh, "Torch.tanh", -5, 5, 0, 0)
UNARY(gelu, "Functional.gelu", -5, 5, 0, 0)
UNARY(gelu_grad, "Functional.gelu", -4, 4, 0, 1)
UNARY(silu, "Functional.silu", -8, 8, 0, 0)
UNARY(exp, "Torch.exp", -10, 10, 0, 0)
UNARY(rsqrt, "Torch.rsqrt", 0.01, 100, 0, 0)
UNARY(sqrt, "Torch.sqrt", 0, 1000, 0, 0)
UNARY(floor, "Torch.floor", -20, 20, 0, 0)

/* --- movement and indices ------------------------------------------------------------------------------------------ */

static void write_transpose(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 6, 40), n = extent(d, 6, 40);
    struct tensor x = make(t, SHAPE(m, n), usual(d), 0), y = make(t, SHAPE(n, m), unit, 0);
    entry(d, "Torch.transpose", &y, NULL, "", "%s," INT "," INT, x.text, 0, 1);
}

static void write_cat(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 60), n = extent(d, 1, 60);
    struct tensor a = make(t, SHAPE(m), usual(d), 0), b = make(t, SHAPE(n), usual(d), 0);
    struct tensor y = make(t, SHAPE(m + n), unit, 0);
    entry(d, "Torch.cat", &y, NULL, "", "[%s,%s]", a.text, b.text);
}

/* A mask, as a dump records one: Max is any, Min is all. */
static void mask_text(char *text, size_t bytes, int rank, const int *shape)
{
    size_t used = (size_t)snprintf(text, bytes,
                                   "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.bool\","
                                   "\"shape\":[");
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, bytes - used, i ? ",%d" : "%d", shape[i]);
    snprintf(text + used, bytes - used,
             "],\"Max\":true,\"Min\":false,\"Mean\":null,\"Norm\":null,\"requires_grad\":false}");
}

static void write_where(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    char mask[300];
    int n = extent(d, 2, 300);
    mask_text(mask, sizeof mask, SHAPE(n));
    struct tensor a = make(t, SHAPE(n), usual(d), 0), b = make(t, SHAPE(n), usual(d), 0);
    entry(d, "Torch.where", &a, NULL, "", "%s,%s,%s", mask, a.text, b.text);
}

static void write_masked_fill(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    char mask[300];
    int m = extent(d, 2, 20), n = extent(d, 3, 40);
    mask_text(mask, sizeof mask, SHAPE(n));
    struct tensor x = make(t, SHAPE(m, n), usual(d), 0);
    entry(d, "Tensor.masked_fill", &x, NULL, "", "%s,%s,{\"type\":\"float\",\"value\":-1000.0}",
          x.text, mask);
}

static void embedding(struct dump *d, int dtype, int backward)
{
    const char *t = dtype_name(dtype);
    int rows = extent(d, 2, 30), width = extent(d, 1, 24), n = extent(d, 2, 60);
    struct tensor indices = make("int64", SHAPE(n), (struct range){ 0, rows - 1 }, 0);
    struct tensor w = make(t, SHAPE(rows, width), usual(d), 0),
                  y = make(t, SHAPE(n, width), unit, 0);
    entry(d, "Functional.embedding", &y, backward ? &y : NULL, "", "%s,%s", indices.text, w.text);
}

static void write_embedding(struct dump *d, int dtype) { embedding(d, dtype, 0); }
static void write_embedding_grad(struct dump *d, int dtype) { embedding(d, dtype, 1); }

/* --- losses ----------------------------------------------------------------------------------------------------------- */

/* The ignored class is one of those that occur. */
static void write_cross_entropy(struct dump *d, int dtype)
{
    int rows = extent(d, 8, 40), classes = extent(d, 2, 12);
    struct tensor x = make(dtype_name(dtype), SHAPE(rows, classes), (struct range){ -4, 4 }, 0);
    struct tensor target = make("int64", SHAPE(rows), (struct range){ 0, classes - 1 }, 0);
    struct tensor y = make(dtype_name(dtype), 0, NULL, unit, 0);
    entry(d, "Functional.cross_entropy", &y, NULL,
          "\"ignore_index\":{\"type\":\"int\",\"value\":0}", "%s,%s", x.text, target.text);
}

static void mse(struct dump *d, int dtype, int backward)
{
    const char *t = dtype_name(dtype);
    int n = extent(d, 2, 400);
    struct tensor x = make(t, SHAPE(n), usual(d), 0), target = make(t, SHAPE(n), usual(d), 0);
    struct tensor y = make(t, 0, NULL, (struct range){ 0.5, 1 }, 0);
    entry(d, "Functional.mse_loss", &y, backward ? &y : NULL, "", "%s,%s", x.text, target.text);
}

static void write_mse_loss(struct dump *d, int dtype) { mse(d, dtype, 0); }
static void write_mse_loss_grad(struct dump *d, int dtype) { mse(d, dtype, 1); }

/* --- fused operators of the NPU -------------------------------------------------------------------------- */

static void rms_norm(struct dump *d, int dtype, struct range range)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 16), n = extent(d, 4, 200);
    struct tensor x = make(t, SHAPE(m, n), range, 0),
                  gamma = make(t, SHAPE(n), (struct range){ 0.5, 1.5 }, 0);
    entry(d, "NPU.npu_rms_norm", &x, NULL, "", "%s,%s,{\"type\":\"float\",\"value\":1e-06}", x.text,
          gamma.text);
}

static void write_rms_norm(struct dump *d, int dtype)
{
    rms_norm(d, dtype, (struct range){ 0, 2 });
}

static void write_rms_norm_small(struct dump *d, int dtype)
{
    rms_norm(d, dtype, (struct range){ -0.05, 0.05 });
}

static void write_swiglu(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int m = extent(d, 1, 16), n = extent(d, 2, 100);
    struct tensor x = make(t, SHAPE(m, 2 * n), (struct range){ -4, 4 }, 0),
                  y = make(t, SHAPE(m, n), unit, 0);
    entry(d, "NPU.npu_swiglu", &y, NULL, "", "%s", x.text);
}

static void write_rotary(struct dump *d, int dtype)
{
    const char *t = dtype_name(dtype);
    int b = extent(d, 1, 2), heads = extent(d, 1, 4), s = extent(d, 2, 12),
        n = 2 * extent(d, 2, 16);
    struct tensor x = make(t, SHAPE(b, heads, s, n), usual(d), 0),
                  r = make(t, SHAPE(1, 1, s, n), unit, 0);
    entry(d, "NPU.npu_rotary_mul", &x, NULL, "", "%s,%s,%s", x.text, r.text, r.text);
}

/* --- the table ----------------------------------------------------------------------------------------------------------- */

#define KIND(NAME, DTYPES)          \
    {                               \
#NAME, DTYPES, write_##NAME \
    }

/* clang-format off */
const struct call_kind call_kinds[] = {
    KIND(matmul, ALL),         KIND(matmul_grad, ALL),       KIND(bmm, ALL),
    KIND(linear, ALL),         KIND(linear_grad, ALL),       KIND(addmm, ALL),
    KIND(conv2d, ALL),         KIND(conv2d_dilated, ALL),    KIND(conv2d_grouped, ALL),
    KIND(max_pool2d, ALL),     KIND(avg_pool2d, ALL),        KIND(softmax, ALL),
    KIND(softmax_grad, ALL),   KIND(softmax_large, ALL),     KIND(log_softmax_large, ALL),
    KIND(layer_norm, ALL),     KIND(layer_norm_grad, ALL),   KIND(layer_norm_small, ALL),
    KIND(layer_norm_offset, ALL), KIND(batch_norm, F32),     KIND(sum, ALL),
    KIND(mean, ALL),           KIND(var, F32),               KIND(amax_negative, ALL),
    KIND(amax_nan, ALL),       KIND(cumsum, ALL),            KIND(add, ALL),
    KIND(add_subnormal, F32),  KIND(mul, ALL),               KIND(mul_large, F16),
    KIND(div, ALL),            KIND(div_subnormal, F32),   KIND(maximum_nan, ALL),       KIND(pow, F32),
    KIND(neg, ALL),            KIND(relu_nan, ALL),          KIND(relu_grad, ALL),
    KIND(leaky_relu, ALL),     KIND(sigmoid, ALL),           KIND(tanh, ALL),
    KIND(gelu, ALL),           KIND(gelu_grad, ALL),         KIND(silu, ALL),
    KIND(exp, ALL),            KIND(rsqrt, ALL),             KIND(sqrt, ALL),
    KIND(floor, ALL),          KIND(transpose, ALL),         KIND(cat, ALL),
    KIND(where, ALL),          KIND(masked_fill, ALL),       KIND(embedding, ALL),
    KIND(embedding_grad, ALL), KIND(cross_entropy, F32),     KIND(mse_loss, ALL),
    KIND(mse_loss_grad, ALL),  KIND(rms_norm, ALL),          KIND(rms_norm_small, ALL),
    KIND(swiglu, ALL),         KIND(rotary, ALL),            { NULL, 0, NULL },
};
/* clang-format on */

const struct call_kind *call_find(const char *name)
{
    for (const struct call_kind *k = call_kinds; k->name; k++)
        if (!strcmp(k->name, name)) return k;
    return NULL;
}
