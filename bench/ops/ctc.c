/* The CTC loss: arguments, and the reduction by target lengths. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/loss_reduction.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/ctc.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"

/* `count` integers from a tensor or a list. */
static const int64_t *integers(struct call *call, const char *name, int64_t count)
{
    const struct value *value = call_value(call, name);
    int64_t *out = tape_allocate(call->tape, (size_t)count, sizeof *out);
    if (!out) return NULL;
    if (value->kind == VALUE_TENSOR || value->kind == VALUE_INT) {
        struct node *node = node_cast(call->tape, call_node(call, value), DT_I64);
        if (tape_failed(call->tape)) return NULL;
        if ((int64_t)node->n != count)
            call_fail(call, "%s has %zu entries, not %lld", name, node->n, (long long)count);
        else memcpy(out, node->integer, (size_t)count * sizeof *out);
    } else if (value_is_sequence(value) && (int64_t)value->list.count == count) {
        for (int64_t i = 0; i < count; i++)
            out[i] = value->list.items[i].kind == VALUE_INT ? value->list.items[i].integer : 0;
    } else {
        call_fail(call, "%s must have %lld entries", name, (long long)count);
    }
    return out;
}

/* Find every sample's target: rows of a matrix, or pieces of one sequence. */
static void find_targets(struct call *call, struct ctc_samples *samples, const struct node *targets)
{
    int64_t at = 0, stride = targets->rank == 2 ? targets->shape[1] : 0;
    samples->target = tape_allocate(call->tape, (size_t)samples->batch, sizeof *samples->target);
    if (tape_failed(call->tape)) return;
    for (int64_t n = 0; n < samples->batch; n++) {
        int64_t length = samples->target_length[n], first = stride ? n * stride : at;
        bool fits = length >= 0 && (!stride || length <= stride) &&
                    length <= (int64_t)targets->n - first;
        fits = fits && samples->input_length[n] >= 0 && samples->input_length[n] <= samples->steps;
        for (int64_t k = 0; k < length && fits; k++)
            fits = targets->integer[first + k] >= 0 &&
                   targets->integer[first + k] < samples->classes;
        if (!call_require(call, fits, "lengths or classes of sample %lld do not fit", (long long)n))
            return;
        samples->target[n] = targets->integer + first;
        at += length;
    }
}

static void ctc_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_to_real(tape, call_tensor(call, "log_probs"));
    struct node *targets = node_cast(tape, call_tensor(call, "targets"), DT_I64);
    struct ctc_samples *samples = tape_allocate(tape, 1, sizeof *samples);
    bool single = x->rank == 2;
    if (!call_require(call, x->rank == 3 || single, "log_probs must have two or three dimensions"))
        return;
    *samples = (struct ctc_samples){ .steps = x->shape[0],
                                     .batch = single ? 1 : x->shape[1],
                                     .classes = x->shape[x->rank - 1],
                                     .blank = call_int(call, "blank"),
                                     .zero_infinity = call_bool(call, "zero_infinity") };
    if (!call_require(call, samples->blank >= 0 && samples->blank < samples->classes,
                      "the blank is not one of the classes"))
        return;
    samples->input_length = integers(call, "input_lengths", samples->batch);
    samples->target_length = integers(call, "target_lengths", samples->batch);
    if (tape_failed(tape)) return;
    find_targets(call, samples, targets);
    if (tape_failed(tape)) return;
    int64_t shape[3] = { samples->steps, samples->batch, samples->classes };
    struct node *loss = node_ctc(tape, node_reshape(tape, x, 3, shape), samples);
    if (samples->zero_infinity)
        loss = node_select(tape, node_compare(tape, COMPARE_EQ, loss, node_scalar(tape, INFINITY)),
                           node_scalar(tape, 0), loss);
    enum loss_reduction reduction = loss_reduction(call);
    if (reduction == LOSS_MEAN) {
        struct node *length = node_new_real(tape, DT_NONE, 1, &samples->batch);
        for (int64_t n = 0; n < samples->batch && !tape_failed(tape); n++)
            length->value[n] =
                (double)(samples->target_length[n] > 1 ? samples->target_length[n] : 1);
        loss = node_divide(tape, loss, length);
    }
    loss = loss_reduced(call, loss);
    if (single && reduction == LOSS_NONE) loss = node_reshape(tape, loss, 0, NULL);
    call_return_typed(call, loss, x->dtype);
}

/* clang-format off */
#define ARGUMENTS "(Tensor log_probs, Tensor targets, Any input_lengths, Any target_lengths, int blank=0"
const struct op ops_ctc[] = {
    { "ctc_loss", FUNCTIONAL, ARGUMENTS ", str reduction='mean', bool zero_infinity=False)", ctc_loss, 0, 0, NULL },
    { "ctc_loss", TORCH, ARGUMENTS ", int reduction=0, bool zero_infinity=False)", ctc_loss, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(ctc);
