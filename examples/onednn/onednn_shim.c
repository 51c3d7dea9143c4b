/* A thin C layer over oneDNN, one function for each kind of primitive.
 *
 * oneDNN wants descriptors, primitives and memories around every call, with structures by value,
 * which a manifest cannot express; so this file builds them. Everything is dense and row-major,
 * data types are 0 for float32 and 1 for bfloat16, and every function returns oneDNN's status (0 is
 * success).
 */
#include <oneapi/dnnl/dnnl.h>
#include <stdint.h>
#include <stdlib.h>

struct context {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

dnnl_status_t shim_open(struct context **out)
{
    struct context *c = calloc(1, sizeof *c);
    if (!c) return dnnl_out_of_memory;
    dnnl_status_t status = dnnl_engine_create(&c->engine, dnnl_cpu, 0);
    if (!status) status = dnnl_stream_create(&c->stream, c->engine, dnnl_stream_default_flags);
    *out = c;
    return status;
}

int shim_close(struct context *c)
{
    dnnl_stream_destroy(c->stream);
    dnnl_engine_destroy(c->engine);
    free(c);
    return 0;
}

const char *shim_error(int status)
{
    static const char *const names[] = { "success",       "out of memory", "invalid arguments",
                                         "unimplemented", "iterator ends", "runtime error",
                                         "not required" };
    return status >= 0 && status < 7 ? names[status] : "unknown";
}

static dnnl_data_type_t type_of(int dtype) { return dtype ? dnnl_bf16 : dnnl_f32; }

/* A dense row-major descriptor. */
static dnnl_status_t describe(dnnl_memory_desc_t *out, int dtype, int rank, const int64_t *shape)
{
    dnnl_dims_t dims, strides;
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        dims[i] = shape[i];
        strides[i] = step;
        step *= shape[i];
    }
    return dnnl_memory_desc_init_by_strides(out, rank, dims, type_of(dtype), strides);
}

struct operand {
    int argument; /* DNNL_ARG_... */
    const dnnl_memory_desc_t *desc;
    const void *data; /* NULL: left out */
};

enum { OPERANDS_MAX = 8 };

/* Make the primitive of an operation, run it on the operands, release everything. */
static dnnl_status_t run(struct context *c, const_dnnl_op_desc_t operation,
                         const struct operand *operands, int count)
{
    dnnl_primitive_desc_t description = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t arguments[OPERANDS_MAX];
    int used = 0;
    dnnl_status_t status =
        dnnl_primitive_desc_create(&description, operation, NULL, c->engine, NULL);
    if (!status) status = dnnl_primitive_create(&primitive, description);
    for (int i = 0; !status && i < count; i++) {
        if (!operands[i].data) continue;
        /* Inputs are const for us; oneDNN has one type for all. */
        void *data = (void *)(uintptr_t)operands[i].data;
        arguments[used].arg = operands[i].argument;
        status = dnnl_memory_create(&arguments[used].memory, operands[i].desc, c->engine, data);
        if (!status) used++;
    }
    if (!status) status = dnnl_primitive_execute(primitive, c->stream, used, arguments);
    if (!status) status = dnnl_stream_wait(c->stream);
    while (used > 0) dnnl_memory_destroy(arguments[--used].memory);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(description);
    return status;
}

/* y = conv(x, w) + b; x is N C H W, w is O C/groups KH KW. */
dnnl_status_t shim_conv2d(struct context *c, int dtype, const int64_t *x_shape, const void *x,
                          const int64_t *w_shape, const void *w, const void *b,
                          const int64_t *y_shape, void *y, const int64_t *stride,
                          const int64_t *padding, const int64_t *dilation, int64_t groups)
{
    dnnl_memory_desc_t src, weights, bias, dst;
    dnnl_convolution_desc_t operation;
    dnnl_dims_t step = { stride[0], stride[1] }, edge = { padding[0], padding[1] };
    dnnl_dims_t gap = { dilation[0] - 1, dilation[1] - 1 }; /* oneDNN counts from 0 */
    int64_t grouped[5] = { groups, w_shape[0] / groups, w_shape[1], w_shape[2], w_shape[3] };
    dnnl_status_t status = describe(&src, dtype, 4, x_shape);
    if (!status)
        status = groups == 1 ? describe(&weights, dtype, 4, w_shape)
                             : describe(&weights, dtype, 5, grouped);
    if (!status) status = describe(&bias, dtype, 1, w_shape);
    if (!status) status = describe(&dst, dtype, 4, y_shape);
    if (!status)
        status = dnnl_dilated_convolution_forward_desc_init(
            &operation, dnnl_forward_inference, dnnl_convolution_direct, &src, &weights,
            b ? &bias : NULL, &dst, step, gap, edge, edge);
    struct operand operands[] = { { DNNL_ARG_SRC, &src, x },
                                  { DNNL_ARG_WEIGHTS, &weights, w },
                                  { DNNL_ARG_BIAS, &bias, b },
                                  { DNNL_ARG_DST, &dst, y } };
    return status ? status : run(c, &operation, operands, 4);
}

dnnl_status_t shim_matmul(struct context *c, int dtype, int rank, const int64_t *a_shape,
                          const void *a, const int64_t *b_shape, const void *b,
                          const int64_t *y_shape, void *y)
{
    dnnl_memory_desc_t src, weights, dst;
    dnnl_matmul_desc_t operation;
    dnnl_status_t status = describe(&src, dtype, rank, a_shape);
    if (!status) status = describe(&weights, dtype, rank, b_shape);
    if (!status) status = describe(&dst, dtype, rank, y_shape);
    if (!status) status = dnnl_matmul_desc_init(&operation, &src, &weights, NULL, &dst);
    struct operand operands[] = { { DNNL_ARG_SRC, &src, a },
                                  { DNNL_ARG_WEIGHTS, &weights, b },
                                  { DNNL_ARG_DST, &dst, y } };
    return status ? status : run(c, &operation, operands, 3);
}

dnnl_status_t shim_softmax(struct context *c, int dtype, int rank, const int64_t *shape,
                           const void *x, void *y, int axis, int logarithm)
{
    dnnl_memory_desc_t data;
    dnnl_softmax_desc_t operation;
    dnnl_status_t status = describe(&data, dtype, rank, shape);
    if (!status && logarithm)
        status = dnnl_logsoftmax_forward_desc_init(&operation, dnnl_forward_inference, &data, axis);
    else if (!status)
        status = dnnl_softmax_forward_desc_init(&operation, dnnl_forward_inference, &data, axis);
    struct operand operands[] = { { DNNL_ARG_SRC, &data, x }, { DNNL_ARG_DST, &data, y } };
    return status ? status : run(c, &operation, operands, 2);
}

/* Over the last dimension; scale and shift have its extent and may be NULL together. */
dnnl_status_t shim_layer_norm(struct context *c, int rank, const int64_t *shape, const float *x,
                              const float *scale, const float *shift, float *y, float eps)
{
    dnnl_memory_desc_t data, parameter;
    dnnl_layer_normalization_desc_t operation;
    unsigned flags = scale ? dnnl_use_scale | dnnl_use_shift : dnnl_normalization_flags_none;
    dnnl_status_t status = describe(&data, 0, rank, shape);
    if (!status) status = describe(&parameter, 0, 1, shape + rank - 1);
    if (!status)
        status = dnnl_layer_normalization_forward_desc_init(&operation, dnnl_forward_inference,
                                                            &data, NULL, eps, flags);
    struct operand operands[] = { { DNNL_ARG_SRC, &data, x },
                                  { DNNL_ARG_SCALE, &parameter, scale },
                                  { DNNL_ARG_SHIFT, &parameter, shift },
                                  { DNNL_ARG_DST, &data, y } };
    return status ? status : run(c, &operation, operands, 4);
}

/* Dimension 1 holds the channels. With mean and variance these are used, else the batch's own,
 * which go to scratch memory of twice the channels. */
dnnl_status_t shim_batch_norm(struct context *c, int rank, const int64_t *shape, const float *x,
                              const float *mean, const float *variance, const float *scale,
                              const float *shift, float *y, float *scratch, float eps)
{
    dnnl_memory_desc_t data, parameter;
    dnnl_batch_normalization_desc_t operation;
    unsigned flags = (mean ? dnnl_use_global_stats : 0u) |
                     (scale ? dnnl_use_scale | dnnl_use_shift : 0u);
    dnnl_status_t status = describe(&data, 0, rank, shape);
    if (!status) status = describe(&parameter, 0, 1, shape + 1);
    if (!status)
        status = dnnl_batch_normalization_forward_desc_init(
            &operation, mean ? dnnl_forward_inference : dnnl_forward_training, &data, eps, flags);
    /* clang-format off */
    struct operand operands[] = {
        { DNNL_ARG_SRC, &data, x },
        { DNNL_ARG_MEAN, &parameter, mean ? mean : scratch },
        { DNNL_ARG_VARIANCE, &parameter, mean ? variance : scratch + shape[1] },
        { DNNL_ARG_SCALE, &parameter, scale },
        { DNNL_ARG_SHIFT, &parameter, shift },
        { DNNL_ARG_DST, &data, y }
    };
    /* clang-format on */
    return status ? status : run(c, &operation, operands, 6);
}

dnnl_status_t shim_eltwise(struct context *c, int dtype, int64_t n, const void *x, void *y,
                           int algorithm, float alpha, float beta)
{
    dnnl_memory_desc_t data;
    dnnl_eltwise_desc_t operation;
    dnnl_status_t status = describe(&data, dtype, 1, &n);
    if (!status)
        status = dnnl_eltwise_forward_desc_init(&operation, dnnl_forward_inference,
                                                (dnnl_alg_kind_t)algorithm, &data, alpha, beta);
    struct operand operands[] = { { DNNL_ARG_SRC, &data, x }, { DNNL_ARG_DST, &data, y } };
    return status ? status : run(c, &operation, operands, 2);
}

/* Names of eltwise algorithms; 0 when there is none such. */
int shim_eltwise_algorithm(const char *name)
{
    static const struct {
        const char *name;
        dnnl_alg_kind_t kind;
        /* clang-format off */
    } table[] = {
        { "relu", dnnl_eltwise_relu },         { "gelu", dnnl_eltwise_gelu_erf },
        { "gelu_tanh", dnnl_eltwise_gelu_tanh }, { "silu", dnnl_eltwise_swish },
        { "elu", dnnl_eltwise_elu },           { "sigmoid", dnnl_eltwise_logistic },
        { "tanh", dnnl_eltwise_tanh },         { "softplus", dnnl_eltwise_soft_relu },
        { "mish", dnnl_eltwise_mish },         { "hardswish", dnnl_eltwise_hardswish },
        { "exp", dnnl_eltwise_exp },           { "sqrt", dnnl_eltwise_sqrt },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *a = name, *b = table[i].name;
        while (*a && *a == *b) a++, b++;
        if (*a == *b) return (int)table[i].kind;
    }
    return 0;
}

dnnl_status_t shim_pool2d(struct context *c, int dtype, const int64_t *x_shape, const void *x,
                          const int64_t *y_shape, void *y, const int64_t *kernel,
                          const int64_t *stride, const int64_t *padding, int average)
{
    dnnl_memory_desc_t src, dst;
    dnnl_pooling_desc_t operation;
    dnnl_dims_t size = { kernel[0], kernel[1] }, step = { stride[0], stride[1] };
    dnnl_dims_t edge = { padding[0], padding[1] };
    dnnl_status_t status = describe(&src, dtype, 4, x_shape);
    if (!status) status = describe(&dst, dtype, 4, y_shape);
    if (!status)
        status = dnnl_pooling_forward_desc_init(&operation, dnnl_forward_inference,
                                                average ? dnnl_pooling_avg_include_padding
                                                        : dnnl_pooling_max,
                                                &src, &dst, step, size, edge, edge);
    struct operand operands[] = { { DNNL_ARG_SRC, &src, x }, { DNNL_ARG_DST, &dst, y } };
    return status ? status : run(c, &operation, operands, 2);
}
