/* Recurrent layers of torch_npu (DynamicRNN, DynamicGRUV2): a layer in one direction whose steps return all gates. Their
 * weights are (input + state, gates width) and its two parts, with the gates in PyTorch's order, as the tests of torch_npu
 * compare them with torch._VF. What every step returns is (steps, batch, width). */
#include "bench/call/op.h"
#include "bench/ops/recurrent_layers.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

enum { MOST_OUTPUTS = 8 };

/* One plain layer: no dropout, no other direction, no packed sequence. */
static bool is_one_layer(struct call *call, const char *const *flags, int count)
{
    bool plain = call_int(call, "num_layers") == 1 && call_real(call, "dropout") == 0;
    for (int i = 0; i < count; i++) plain = plain && !call_bool(call, flags[i]);
    return call_require(call, plain,
                        "one layer in one direction, without dropout, is followed here");
}

/* A matrix of `rows` rows and `gates` times as many columns as the state has. */
static bool is_weight(const struct node *w, int64_t rows, int64_t columns)
{
    return w->rank == 2 && !w->integer && w->shape[0] == rows && w->shape[1] == columns;
}

static bool is_bias(const struct node *bias, int64_t columns)
{
    return !bias || (!bias->integer && bias->rank == 1 && bias->shape[0] == columns);
}

/* The initial state (1, batch, width) as (batch, width). */
static struct node *first_state(struct call *call, const char *name, const struct node *x)
{
    struct node *h = call_tensor(call, name);
    if (!call_require(call,
                      h->rank == 3 && h->shape[0] == 1 && h->shape[1] == x->shape[1] &&
                          !h->integer && h->shape[2] >= 1,
                      "%s is (1, batch, width)", name))
        return tape_failure(call->tape);
    return node_reshape(call->tape, h, 2, h->shape + 1);
}

/* Row t of x (steps, batch, ...) without the first dimension. */
static struct node *step_of(struct tape *tape, struct node *x, int64_t t)
{
    struct node *row = node_slice(tape, x, 0, t, 1, 1);
    return node_reshape(tape, row, row->rank - 1, row->shape + 1);
}

/* Return the outputs of all steps, step t's k-th at parts[k * steps + t]. */
static void return_steps(struct call *call, struct node **parts, int count, int64_t steps,
                         const enum dtype *dtypes)
{
    struct tape *tape = call->tape;
    for (int k = 0; k < count && !tape_failed(tape); k++) {
        struct node **own = parts + k * steps;
        int64_t shape[3] = { steps, own[0]->shape[0], own[0]->shape[1] };
        struct node *y = node_concatenate(tape, own, (int)steps, 0);
        call_return_typed(call, node_reshape(tape, y, 3, shape), dtypes[k]);
    }
}

static bool is_sequence(struct call *call, const struct node *x)
{
    return call_require(call,
                        x->rank == 3 && !x->integer && x->shape[0] >= 1 && x->shape[0] <= 4096 &&
                            x->shape[1] >= 1,
                        "a sequence (steps, batch, width) is needed");
}

/* y, h, c, the gates i, g (j), f and o and tanh c of every step. */
static void lstm(struct call *call)
{
    static const char *const flags[] = { "bidirectional", "batch_first", "flag_seq", "direction" };
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *weight = call_tensor(call, "weight"),
                *bias = call_bool(call, "has_biases") ? call_tensor(call, "bias") : NULL;
    if (!is_sequence(call, x) || !is_one_layer(call, flags, 4)) return;
    struct node *h = first_state(call, "h", x), *c = first_state(call, "c", x);
    int64_t steps = x->shape[0], inputs = x->shape[2], width = h->rank == 2 ? h->shape[1] : 0;
    if (!call_require(call,
                      is_weight(weight, inputs + width, 4 * width) && is_bias(bias, 4 * width) &&
                          c->n == h->n,
                      "the weights do not have four gates"))
        return;
    struct node *w = node_transpose(tape, weight, 0, 1),
                **parts = tape_allocate(tape, (size_t)(MOST_OUTPUTS * steps), sizeof *parts);
    for (int64_t t = 0; !tape_failed(tape) && t < steps; t++) {
        struct node *both[2] = { step_of(tape, x, t), h };
        struct node *gates = compose_linear(tape, node_concatenate(tape, both, 2, 1), w, bias);
        struct lstm_step step = lstm_step(tape, gates, width, c);
        h = step.h;
        c = step.c;
        struct node *out[MOST_OUTPUTS] = {
            h, h, c, step.gate[0], step.gate[2], step.gate[1], step.gate[3], step.tanh_c
        };
        for (int k = 0; k < MOST_OUTPUTS; k++) parts[k * steps + t] = out[k];
    }
    if (tape_failed(tape)) return;
    enum dtype dtypes[MOST_OUTPUTS];
    for (int k = 0; k < MOST_OUTPUTS; k++) dtypes[k] = x->dtype;
    return_steps(call, parts, MOST_OUTPUTS, steps, dtypes);
}

/* y, h, the gates z (update), r (reset) and n (new) and what the state contributes to n of every step. */
static void gru(struct call *call)
{
    static const char *const flags[] = { "bidirectional", "batch_first" };
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *w_input = call_tensor(call, "weight_input"),
                *w_hidden = call_tensor(call, "weight_hidden"), *b_input = NULL, *b_hidden = NULL;
    if (!is_sequence(call, x) || !is_one_layer(call, flags, 2)) return;
    if (call_bool(call, "has_biases")) {
        b_input = call_tensor(call, "bias_input");
        b_hidden = call_tensor(call, "bias_hidden");
    }
    struct node *h = first_state(call, "hx", x);
    int64_t steps = x->shape[0], width = h->rank == 2 ? h->shape[1] : 0;
    enum dtype state = h->dtype;
    if (!call_require(call,
                      is_weight(w_input, x->shape[2], 3 * width) &&
                          is_weight(w_hidden, width, 3 * width) && is_bias(b_input, 3 * width) &&
                          is_bias(b_hidden, 3 * width),
                      "the weights do not have three gates"))
        return;
    struct node *inner = node_transpose(tape, w_hidden, 0, 1),
                *inputs = compose_linear(tape, x, node_transpose(tape, w_input, 0, 1), b_input),
                **parts = tape_allocate(tape, (size_t)(MOST_OUTPUTS * steps), sizeof *parts);
    for (int64_t t = 0; !tape_failed(tape) && t < steps; t++) {
        struct gru_step step = gru_step(tape, step_of(tape, inputs, t),
                                        compose_linear(tape, h, inner, b_hidden), width, h);
        h = step.h;
        struct node *out[6] = { h, h, step.gate[1], step.gate[0], step.gate[2], step.hidden_new };
        for (int k = 0; k < 6; k++) parts[k * steps + t] = out[k];
    }
    if (tape_failed(tape)) return;
    enum dtype dtypes[6];
    for (int k = 0; k < 6; k++) dtypes[k] = state;
    return_steps(call, parts, 6, steps, dtypes);
}

/* clang-format off */
#define LAYER "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"
const struct op ops_npu_recurrent[] = {
    { "npu_lstm", NPU, "(Tensor input, Tensor weight, Tensor bias, Tensor seq_mask, Tensor h, Tensor c, " LAYER ", bool flag_seq, bool direction)", lstm, 0, 0, NULL },
    { "npu_gru", NPU, "(Tensor input, Tensor hx, Tensor weight_input, Tensor weight_hidden, Tensor bias_input, Tensor bias_hidden, Tensor seq_length, " LAYER ")", gru, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_recurrent);
