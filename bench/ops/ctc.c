/* The CTC loss: arguments, and the reduction by target lengths. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/loss_reduction.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/ctc.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
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

/* ---- MindSpore's greedy decoder --------------------------------------------------------------------------- */

/* The likeliest class of each step of each sequence, the first of equal ones. */
static int64_t *likeliest(struct call *call, struct node *x)
{
    const double *value = node_values(call->tape, x);
    int64_t steps = x->shape[0], batch = x->shape[1], classes = x->shape[2];
    int64_t *best = tape_allocate(call->tape, (size_t)(steps * batch) + 1, sizeof *best);
    for (int64_t i = 0; !tape_failed(call->tape) && i < steps * batch; i++) {
        const double *row = value + i * classes;
        best[i] = 0;
        for (int64_t c = 1; c < classes; c++)
            if (row[c] > row[best[i]]) best[i] = c;
    }
    return best;
}

/* Of each step the likeliest class; the last class is blank, and with merge_repeated a class counts once for a run of steps.
 * Places (sequence, position) and classes of what is left, the shape of a table that holds them, and for each sequence minus
 * the sum of the numbers of its likeliest classes. Which of classes that are as likely counts is the first. */
static void greedy_decoder(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "inputs"), *lengths = call_tensor(call, "sequence_length");
    bool merges = call_bool(call, "merge_repeated");
    if (!call_require(call,
                      x->rank == 3 && x->n && !x->integer && lengths->integer &&
                          lengths->n == (size_t)x->shape[1],
                      "(steps, batch, classes) and a length for each sequence are needed"))
        return;
    int64_t steps = x->shape[0], batch = x->shape[1], blank = x->shape[2] - 1, longest = 0, n = 0;
    for (int64_t b = 0; b < batch; b++)
        if (!call_require(call, lengths->integer[b] >= 0 && lengths->integer[b] <= steps,
                          "a sequence of %lld steps of %lld", (long long)lengths->integer[b],
                          (long long)steps))
            return;
    int64_t *places = tape_allocate(tape, 3 * (size_t)(steps * batch) + 1, sizeof *places),
            *map = tape_allocate(tape, (size_t)(steps * batch) + 1, sizeof *map);
    if (tape_failed(tape)) return;
    const int64_t *best = likeliest(call, x);
    if (tape_failed(tape)) return;
    for (int64_t b = 0; b < batch; b++) {
        int64_t before = -1, at = 0;
        for (int64_t t = 0; t < steps; t++) {
            int64_t c = best[t * batch + b];
            map[b * steps + t] = t < lengths->integer[b] ? (t * batch + b) * (blank + 1) + c : -1;
            if (t >= lengths->integer[b]) continue;
            if (c != blank && !(merges && c == before)) {
                int64_t *place = places + 3 * n++;
                place[0] = b;
                place[1] = at++;
                place[2] = c;
            }
            before = c;
        }
        longest = at > longest ? at : longest;
    }
    struct node *where = node_new_integer(tape, DT_I64, 2, (int64_t[]){ n, 2 }),
                *what = node_new_integer(tape, DT_I64, 1, &n),
                *table = node_new_integer(tape, DT_I64, 1, (int64_t[]){ 2 });
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < n; i++) {
        where->integer[2 * i] = places[3 * i];
        where->integer[2 * i + 1] = places[3 * i + 1];
        what->integer[i] = places[3 * i + 2];
    }
    table->integer[0] = batch;
    table->integer[1] = longest;
    call_return(call, where);
    call_return(call, what);
    call_return(call, table);
    struct node *chosen = node_gather(tape, x, 2, (int64_t[]){ batch, steps }, map, 0);
    call_return_typed(call, node_scale(tape, node_sum(tape, chosen, 2, true), -1), x->dtype);
}

/* clang-format off */
#define ARGUMENTS "(Tensor log_probs, Tensor targets, Any input_lengths, Any target_lengths, int blank=0"
const struct op ops_ctc[] = {
    { "ctc_loss", FUNCTIONAL, ARGUMENTS ", str reduction='mean', bool zero_infinity=False)", ctc_loss, 0, 0, NULL },
    { "ctc_loss", TORCH, ARGUMENTS ", int reduction=0, bool zero_infinity=False)", ctc_loss, 0, 0, NULL },
    { "ctc_greedy_decoder", MINDSPORE, "(Tensor inputs, Tensor sequence_length, bool merge_repeated)", greedy_decoder, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(ctc);
