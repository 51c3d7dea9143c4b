/* Dropout has no value oracle: what is kept is x / (1 - p), how much is dropped follows its law, and gradients are
 * compared with the device's own mask. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/arithmetic/independence.h"
#include "bench/call/call.h"
#include "bench/ops/properties.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/softmax.h"

struct dropout {
    const double *x; /* input, or cotangent for the gradient */
    const struct dropout *
        mask; /* gradient: the forward, whose output on the device tells what was kept; else NULL */
    const struct tensor *output; /* gradient: that output, or NULL */
    double p, scale, shift;      /* what is kept becomes scale x + shift, */
    double dropped;              /* the rest this */
    double roundings;            /* of the kernel, in ulps of the terms */
    size_t n, channel;           /* elements that share one draw */
};

enum fate { KEPT, DROPPED, EITHER, NEITHER };

/* What became of element i, read from its value. */
static enum fate fate_of(const struct dropout *dropout, size_t i, double y, enum dtype dtype)
{
    double want = dropout->scale * dropout->x[i] + dropout->shift;
    double unit = dropout->roundings *
                  (dtype_ulp(dtype, dropout->scale * dropout->x[i]) +
                   dtype_ulp(dtype, dropout->dropped) * (dropout->dropped != 0));
    if (isnan(y) && !isfinite(dropout->x[i])) return EITHER; /* 0 times infinity */
    if (fabs(want) > dtype_info(dtype)->largest) want = copysign(INFINITY, want);
    bool kept = fabs(y - want) <= unit || (isnan(want) && isnan(y)) || y == want;
    bool dropped = dropout->dropped == 0 ? y == 0 : fabs(y - dropout->dropped) <= unit;
    if (!kept && !dropped) return NEITHER;
    return (kept && dropped) || fabs(want - dropout->dropped) <= unit ? EITHER
           : kept                                                     ? KEPT
                                                                      : DROPPED;
}

/* Each element is kept or dropped, whole channels alike; the dropped ones within 6.2 sigma. Where
 * both give the same value the element tells nothing. */
static bool dropout_holds(const struct bench_property *property, const struct tensor *got,
                          char *reason, size_t bytes)
{
    const struct dropout *dropout = property->context;
    struct arena arena = { 0 };
    struct tensor dense, mask;
    double dropped = 0, told = 0;
    bool holds = false;
    double *y = arena_allocate_array(&arena, 3 * dropout->n + 1, sizeof *y), *m = NULL;
    size_t channels = 0;

    if (!y || tensor_densify(&dense, &arena, got).code) goto no_memory;
    double *choice = y + 2 * dropout->n;
    dtype_to_double(y, dense.data, dense.dtype, dropout->n);
    if (dropout->output) {
        m = arena_allocate_array(&arena, 2 * dropout->n, sizeof *m);
        if (!m || tensor_densify(&mask, &arena, dropout->output).code) goto no_memory;
        dtype_to_double(m, mask.data, mask.dtype, dropout->n);
    }
    for (size_t first = 0; first < dropout->n; first += dropout->channel) {
        enum fate state = EITHER; /* of the channel */
        for (size_t i = first; i < first + dropout->channel && i < dropout->n; i++) {
            enum fate here = fate_of(dropout, i, y[i], dense.dtype);
            if (here == NEITHER) {
                (void)snprintf(reason, bytes, "element %zu is %.9g; it must be %.9g or %.9g", i,
                               y[i], dropout->dropped,
                               dropout->scale * dropout->x[i] + dropout->shift);
                goto done;
            }
            if (here == EITHER) continue;
            enum fate before = m ? fate_of(dropout->mask, i, m[i], mask.dtype) : EITHER;
            if ((before == KEPT || before == DROPPED) && before != here) {
                (void)snprintf(reason, bytes,
                               "the gradient of element %zu does not follow the mask", i);
                goto done;
            }
            if (state != EITHER && state != here) {
                (void)snprintf(reason, bytes, "element %zu differs from its channel", i);
                goto done;
            }
            state = here;
        }
        told += state != EITHER;
        dropped += state == DROPPED;
        choice[channels++] = state == EITHER ? NAN : state == DROPPED;
    }
    holds = fabs(dropped - told * dropout->p) <=
            6.2 * sqrt(told * dropout->p * (1 - dropout->p)) + 12;
    if (!holds)
        (void)snprintf(reason, bytes, "%g of %g draws are dropped; p is %g", dropped, told,
                       dropout->p);
    else
        holds = random_choices_hold(choice, NULL, dropout->p, channels,
                                    dropout->channel > 1 ? 1 : random_row(got), reason, bytes);
    goto done;
no_memory:
    (void)snprintf(reason, bytes, "there is no memory to test the distribution");
done:
    arena_release(&arena);
    return holds;
}

static const struct bench_property *dropout_property(struct tape *tape, struct dropout d)
{
    struct dropout *context = tape_allocate(tape, 1, sizeof *context);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    if (tape_failed(tape)) return NULL;
    *context = d;
    *property = (struct bench_property){
        "each element kept or dropped; dropped ones within 6.2 sigma (1e-9)", dropout_holds, context
    };
    return property;
}

/* The gradient is 0 or scale times the cotangent, by the mask that the device's output shows. */
static const struct bench_property *dropout_gradient(struct call *call, struct node *cotangent,
                                                     size_t leaf)
{
    if (leaf != 0) return NULL;
    const struct dropout *forward = call->results.items[0].property->context;
    struct dropout d = *forward;
    d.x = node_values(call->tape, cotangent);
    d.mask = forward;
    d.output = call_device_output(call, 0);
    d.shift = d.dropped = 0;
    return dropout_property(call->tape, d);
}

/* The value that alpha_dropout gives what it drops before it scales: minus selu's scale times alpha. */
static const double selu_limit = -1.7580993408473766;

/* dropout; detail: bit 1 whole channels are dropped, bit 0 alpha_dropout. */
static void dropout(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    double p = call_real(call, "p");
    if (tape_failed(tape)) return;
    bool training = call_bool(call, call->op->text);
    if (!training || p == 0 || x->n == 0) {
        call_return(call, node_scale(tape, x, 1));
        return;
    }
    bool alpha = call->op->detail & 1;
    if (p == 1) {
        call_return_typed(call,
                          node_select(tape, node_integer_constant(tape, DT_BOOL, 0, 0, NULL), x,
                                      node_scalar(tape, 0)),
                          x->dtype);
        return;
    }
    size_t channel = 1;
    if (call->op->detail & 2) /* whole channels: everything behind batch and channel */
        for (int d = 2; d < x->rank; d++) channel *= (size_t)x->shape[d];
    struct dropout d = { .x = node_values(tape, x),
                         .p = p,
                         .scale = 1 / (1 - p),
                         .roundings = 2,
                         .n = x->n,
                         .channel = channel };
    if (alpha) { /* keeps mean and variance of selu's outputs */
        d.scale = 1 / sqrt((selu_limit * selu_limit * p + 1) * (1 - p));
        d.shift = -d.scale * selu_limit * p;
        d.dropped = d.scale * selu_limit + d.shift;
        d.roundings = 4;
    }
    struct node *y = NULL;
    if (!tape_is_reference(tape)) {
        struct node *mask = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
        for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++)
            mask->integer[i] = random_uniform(call, i / channel) >= p;
        y = node_select(tape, mask, node_offset(tape, node_scale(tape, x, d.scale), d.shift),
                        node_scalar(tape, d.dropped));
    }
    call_return_random(call, y, x->dtype, x->rank, x->shape, dropout_property(tape, d));
    call->results.gradient_property = dropout_gradient;
}

/* ---- aten's dropout, which returns its mask ----------------------------------------------------------- */

/* The mask that the device drew, or one of our own for the native arithmetic; NULL: not known. */
static struct node *drawn_mask(struct call *call, const struct node *x, double keep)
{
    struct tape *tape = call->tape;
    struct node *mask = NULL;
    if (tape_is_reference(tape)) {
        mask = call_device_numbers(call, 1, x->n);
        return mask && mask->integer ? node_reshape(tape, mask, x->rank, x->shape) : NULL;
    }
    mask = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++)
        mask->integer[i] = random_uniform(call, i) < keep;
    return mask;
}

/* The output by the mask where that is known, else by the law of dropout; then the mask. detail 1:
 * _fused_dropout, whose p is the chance to be kept and whose mask is a byte. */
static void dropout_with_mask(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_to_real(tape, call_tensor(call, "input"));
    double p = call_real(call, "p"), keep = call->op->detail ? p : 1 - p;
    enum dtype mask_dtype = call->op->detail ? DT_U8 : DT_BOOL;
    bool training = call->op->detail || call_is_none(call, "train") || call_bool(call, "train");
    if (tape_failed(tape)) return;
    if (!training || keep == 1) {
        call_return(call, x);
        call_return(call, node_integer_constant(tape, mask_dtype, 1, x->rank, x->shape));
        return;
    }
    struct node *mask = drawn_mask(call, x, keep);
    struct node *kept = keep == 0 ? x : node_divide(tape, x, node_scalar(tape, keep));
    struct node *probability = node_constant(tape, DT_NONE, keep, x->rank, x->shape);
    const struct bench_property *property =
        random_chances(tape, node_values(tape, probability), x->n);
    struct dropout law = { .x = node_values(tape, x),
                           .p = 1 - keep,
                           .scale = keep == 0 ? 0 : 1 / keep,
                           .roundings = 2,
                           .n = x->n,
                           .channel = 1 };
    if (tape_failed(tape)) return;
    struct node *y = mask ? node_select(tape, mask, kept, node_scalar(tape, 0)) : NULL;
    if (mask && tape_is_reference(tape)) {
        call_return_typed(call, y, x->dtype);
    } else {
        call_return_random(call, y, x->dtype, x->rank, x->shape, dropout_property(tape, law));
        call->results.gradient_property = dropout_gradient;
    }
    call_return_random(call, mask, mask_dtype, x->rank, x->shape, property);
}

/* c mask scale */
static void dropout_by_mask_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *c = call_tensor(call, "grad_output");
    struct node *kept = node_multiply(tape, c, node_to_real(tape, call_tensor(call, "mask")));
    call_return_typed(call, node_multiply(tape, kept, node_scalar(tape, call_real(call, "scale"))),
                      c->dtype);
}

/* ---- torch_npu's dropout of a softmax ------------------------------------------------------------------ */

/* What is kept of a softmax, as its result shows: 1, 0 or NaN where that is 0 itself. */
struct kept {
    const double *kept;
    double p; /* of being dropped */
    size_t n, row;
};

/* The mask itself has an order of its own; what it did to the result follows the law. */
static bool kept_holds(const struct bench_property *property, const struct tensor *got,
                       char *reason, size_t bytes)
{
    const struct kept *k = property->context;
    struct arena arena = { 0 };
    double *x = arena_allocate_array(&arena, k->n + 1, sizeof *x), dropped = 0, told = 0;
    bool holds = x != NULL;
    (void)got;
    if (!x) (void)snprintf(reason, bytes, "there is no memory to test the distribution");
    for (size_t i = 0; x && i < k->n; i++) {
        x[i] = 1 - k->kept[i];
        told += !isnan(x[i]);
        dropped += x[i] == 1;
    }
    if (holds && fabs(dropped - told * k->p) > 6.2 * sqrt(told * k->p * (1 - k->p)) + 12) {
        (void)snprintf(reason, bytes, "%g of %g draws are dropped; p is %g", dropped, told, k->p);
        holds = false;
    }
    holds = holds && random_choices_hold(x, NULL, k->p, k->n, k->row, reason, bytes);
    arena_release(&arena);
    return holds;
}

/* What the device kept of `softmax`, from its result; a node of 1 and 0 is made of it. NULL: not known. */
static struct node *mask_of_result(struct call *call, struct node *softmax, double *kept)
{
    struct tape *tape = call->tape;
    struct node *mask = NULL, *result = NULL;
    if (tape_is_reference(tape)) {
        result = call_device_numbers(call, 2, softmax->n);
        if (!result || result->integer) return NULL;
    }
    mask = node_new_integer(tape, DT_BOOL, softmax->rank, softmax->shape);
    for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++) {
        mask->integer[i] = result ? result->value[i] != 0
                                  : random_uniform(call, i) >= call_real(call, "prob");
        /* The least numbers of float16, which it may be computed in, vanish. */
        kept[i] = softmax->value[i] < 0x1p-23 ? NAN : (double)mask->integer[i];
    }
    return mask;
}

/* softmax(x1 + alpha self) along dim, and dropout of it: mask, softmax, result. */
static void dropout_with_add_softmax(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *added = call_tensor(call, "x1");
    double p = call_real(call, "prob");
    if (!call_require(call, !x->integer && !added->integer && x->n && p >= 0 && p < 1,
                      "floats and a probability below 1 are needed"))
        return;
    struct node *z = node_add(tape, added, node_scale(tape, x, call_real(call, "alpha")));
    struct node *softmax = node_softmax(tape, z, call_dim(call, "dim", z->rank));
    const struct tensor *bits = call_device_output(call, 0);
    int64_t bytes = ((int64_t)softmax->n + 127) / 128 * 128,
            last = z->rank ? z->shape[z->rank - 1] : 1;
    double *kept = tape_allocate(tape, softmax->n, sizeof *kept);
    struct kept *law = tape_allocate(tape, 1, sizeof *law);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    const double *likely = node_values(tape, softmax);
    if (tape_failed(tape)) return;
    struct node *mask = mask_of_result(call, softmax, kept), *drawn = NULL;
    if (!mask)
        for (size_t i = 0; i < softmax->n; i++) kept[i] = NAN;
    *law = (struct kept){ kept, p, softmax->n, (size_t)last };
    *property =
        (struct bench_property){ "what is dropped, independent draws within 6.2 sigma (1e-9)",
                                 kept_holds, law };
    if (!tape_is_reference(tape)) drawn = node_integer_constant(tape, DT_U8, 0, 1, &bytes);
    call_return_random(call, drawn, DT_U8, bits ? bits->rank : 1, bits ? bits->shape : &bytes,
                       property);
    call_return_typed(call, softmax, added->dtype);
    struct node *scaled = node_divide(tape, softmax, node_scalar(tape, 1 - p));
    if (mask) {
        call_return_typed(call, node_select(tape, mask, scaled, node_scalar(tape, 0)), x->dtype);
        return;
    }
    struct dropout d = {
        .x = likely, .p = p, .scale = 1 / (1 - p), .roundings = 2, .n = softmax->n, .channel = 1
    };
    call_return_random(call, NULL, x->dtype, softmax->rank, softmax->shape,
                       dropout_property(tape, d));
}

/* clang-format off */
#define DROPOUT(names, groups, arguments, lead, flag) \
    { names, groups, arguments, dropout, OP_RANDOM | OP_ONE_NODE, lead, flag }
const struct op ops_dropout[] = {
    DROPOUT("dropout", FUNCTIONAL, "(Tensor input, float p=0.5, bool training=True, bool inplace=False)", 0, "training"),
    DROPOUT("dropout", TORCH, "(Tensor input, float p, bool train)", 0, "train"),
    /* The mask that it returns too has bits in an order of its own: it is not judged. */
    DROPOUT("_npu_dropout", NPU, "(Tensor input, float p, *, bool train=True)", 0, "train"),
    DROPOUT("dropout1d|dropout2d|dropout3d", FUNCTIONAL, "(Tensor input, float p=0.5, bool training=True, bool inplace=False)", 2, "training"),
    DROPOUT("feature_dropout", TORCH, "(Tensor input, float p, bool train)", 2, "train"),
    DROPOUT("alpha_dropout", FUNCTIONAL, "(Tensor input, float p=0.5, bool training=False, bool inplace=False)", 1, "training"),
    DROPOUT("feature_alpha_dropout", FUNCTIONAL, "(Tensor input, float p=0.5, bool training=False, bool inplace=False)", 3, "training"),
    DROPOUT("alpha_dropout", TORCH, "(Tensor input, float p, bool train)", 1, "train"),
    DROPOUT("feature_alpha_dropout", TORCH, "(Tensor input, float p, bool train)", 3, "train"),
    { "npu_dropout_with_add_softmax", NPU, "(Tensor self, Tensor x1, Scalar alpha, float prob, int dim)", dropout_with_add_softmax, OP_RANDOM | OP_ONE_NODE, 0, NULL },
    { "native_dropout", ATEN, "(Tensor input, float p, bool? train)", dropout_with_mask, OP_RANDOM | OP_ONE_NODE, 0, NULL },
    { "_fused_dropout", ATEN, "(Tensor input, float p, Generator? generator=None)", dropout_with_mask, OP_RANDOM | OP_ONE_NODE, 1, NULL },
    { "native_dropout_backward", ATEN, "(Tensor grad_output, Tensor mask, float scale)", dropout_by_mask_backward, OP_ONE_NODE, 0, NULL },
    { "_masked_scale", ATEN, "(Tensor grad_output, Tensor mask, float scale)", dropout_by_mask_backward, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(dropout);
