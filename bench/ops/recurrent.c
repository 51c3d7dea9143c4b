/* Recurrent layers and their cells: LSTM, GRU and plain ones, stacked, bidirectional, of packed sequences.
 *
 * A layer is its cell applied step by step on the tape, so a gradient is back-propagation through time. What
 * the inputs contribute to the gates is one product for all steps. A packed sequence has its rows by time, the
 * longest sequence first, so step t works on the first batch_sizes[t] rows of the state: they become fewer as
 * sequences end and, in the other direction, more as they begin. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/recurrent_dropout.h"
#include "bench/ops/recurrent_layers.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- all layers ------------------------------------------------------------------------------------ */

/* Part `k` of a stack (layers and directions, batch, width). */
static struct node *layer_of(struct tape *tape, struct node *stack, int k)
{
    if (!stack) return NULL;
    return node_reshape(tape, node_slice(tape, stack, 0, k, 1, 1), 2, stack->shape + 1);
}

static struct node *stacked(struct tape *tape, struct node **parts, int count)
{
    for (int k = 0; k < count && !tape_failed(tape); k++)
        parts[k] = node_reshape(tape, parts[k], 3,
                                (int64_t[]){ 1, parts[k]->shape[0], parts[k]->shape[1] });
    return node_concatenate(tape, parts, count, 0);
}

/* Run the layers on x (rows by time) and return output and states; `shape` is the output's but for its last
 * extent, transposed from (time, batch) where batches come first. */
static struct node *run_layers(struct call *call, struct layers *layers,
                               const struct sequence *sequence, struct node *x, struct node **h,
                               struct node **c)
{
    struct tape *tape = call->tape;
    int count, total = layers->count * layers->directions;
    struct node **params = call_tensors(call, "params", &count);
    if (!call_require(call, total > 0 && count % total == 0 && count / total >= 2,
                      "%d parameters for %d layers and directions", count, total))
        return x;
    struct cell cell;
    for (int k = 0; k < total && !tape_failed(tape); k += layers->directions) {
        if (k) x = layer_handed_on(call, layers, sequence, x, k, params, count, count / total);
        struct node *both[2] = { NULL, NULL };
        for (int d = 0; d < layers->directions; d++) {
            struct state state = { layer_of(tape, layers->h, k + d),
                                   layer_of(tape, layers->c, k + d) };
            if (!cell_read(&cell, call, params, count, count / total, k + d)) return x;
            both[d] = run_layer(tape, sequence, &cell, x, &state, d == 1);
            h[k + d] = state.h;
            c[k + d] = state.c;
        }
        x = layers->directions == 2 ? node_concatenate(tape, both, 2, 1) : both[0];
    }
    return x;
}

static void return_layers(struct call *call, struct layers *layers, const struct sequence *sequence,
                          struct node *x, bool packed, bool batch_first)
{
    struct tape *tape = call->tape;
    enum dtype dtype = x->dtype;
    int total = layers->count * layers->directions;
    struct node **h = tape_allocate(tape, 2 * (size_t)total, sizeof *h);
    if (!h) return;
    layers->batch_first = batch_first;
    struct node *y = run_layers(call, layers, sequence, x, h, h + total);
    if (tape_failed(tape)) return;
    bool by_law = layers->drops > 0 && !layers->read;
    if (by_law && !layers_return_by_law(call, layers, sequence, y, h, packed, batch_first, dtype))
        return;
    if (!by_law)
        call_return_typed(call, layers_by_time(tape, sequence, y, packed, batch_first), dtype);
    call_return_typed(call, stacked(tape, h, total), dtype);
    if (layers->c) call_return_typed(call, stacked(tape, h + total, total), dtype);
}

/* Steps of one size. */
static void recurrent(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    bool batch_first = call_bool(call, "batch_first");
    struct layers layers;
    if (!call_require(call, x->rank == 3, "a sequence of three dimensions is needed")) return;
    if (batch_first) x = node_transpose(tape, x, 0, 1);
    struct sequence sequence = { .steps = x->shape[0], .batch = x->shape[1] };
    if (!layers_read(&layers, call)) return;
    if (!call_require(call, sequence.steps >= 1 && layers.h->shape[1] == sequence.batch,
                      "the initial states are not those of %lld sequences",
                      (long long)sequence.batch))
        return;
    int64_t *sizes = tape_allocate(tape, 2 * (size_t)sequence.steps, sizeof *sizes);
    if (!sizes) return;
    for (int64_t t = 0; t < sequence.steps; t++) {
        sizes[t] = sequence.batch;
        sizes[sequence.steps + t] = t * sequence.batch;
    }
    sequence.sizes = sizes;
    sequence.starts = sizes + sequence.steps;
    x = node_reshape(tape, x, 2, (int64_t[]){ sequence.steps * sequence.batch, x->shape[2] });
    return_layers(call, &layers, &sequence, x, false, batch_first);
}

/* Packed sequences. */
static void recurrent_packed(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "data"), *sizes = call_tensor(call, "batch_sizes");
    struct layers layers;
    if (!call_require(call, x->rank == 2 && sizes->integer && sizes->rank == 1 && sizes->n >= 1,
                      "packed sequences have two dimensions and sizes for each step"))
        return;
    if (!layers_read(&layers, call)) return;
    struct sequence sequence = { .steps = sizes->shape[0], .batch = sizes->integer[0] };
    int64_t *starts = tape_allocate(tape, sizes->n, sizeof *starts), at = 0;
    for (size_t t = 0; starts && t < sizes->n; t++) {
        int64_t size = sizes->integer[t];
        if (!call_require(call,
                          size >= 1 && size <= x->shape[0] - at &&
                              (t == 0 || size <= sizes->integer[t - 1]),
                          "step %zu has %lld rows", t, (long long)size))
            return;
        starts[t] = at;
        at += size;
    }
    if (!call_require(call, at == x->shape[0] && layers.h->shape[1] == sequence.batch,
                      "the steps have %lld rows of %lld", (long long)at, (long long)x->shape[0]))
        return;
    sequence.sizes = sizes->integer;
    sequence.starts = starts;
    return_layers(call, &layers, &sequence, x, true, false);
}

/* ---- cells ------------------------------------------------------------------------------------------- */

static void recurrent_cell(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct cell cell = { .kind = (enum cell_kind)call->op->detail,
                         .w_input = call_tensor(call, "w_ih"),
                         .w_hidden = call_tensor(call, "w_hh"),
                         .b_input = call_optional_tensor(call, "b_ih"),
                         .b_hidden = call_optional_tensor(call, "b_hh") };
    int count, gates = gates_of(cell.kind);
    struct node **hx = call_tensors(call, "hx", &count);
    bool lstm = cell.kind == CELL_LSTM, one = x->rank == 1;
    if (!call_require(call, hx && count == (lstm ? 2 : 1), "%d states", count)) return;
    struct state state = { hx[0], lstm ? hx[1] : NULL };
    if (!call_require(call,
                      (x->rank == 1 || x->rank == 2) && state.h->rank == x->rank &&
                          cell.w_hidden->rank == 2 && cell.w_hidden->shape[0] % gates == 0 &&
                          cell.w_input->rank == 2 &&
                          cell.w_input->shape[0] == cell.w_hidden->shape[0] &&
                          cell_has_biases(&cell, cell.w_hidden->shape[0]),
                      "input, state and weights do not fit each other"))
        return;
    cell.width = cell.w_hidden->shape[0] / gates;
    if (one) { /* a batch of one */
        x = node_reshape(tape, x, 2, (int64_t[]){ 1, x->shape[0] });
        state.h = node_reshape(tape, state.h, 2, (int64_t[]){ 1, state.h->shape[0] });
        if (lstm) state.c = node_reshape(tape, state.c, 2, (int64_t[]){ 1, state.c->shape[0] });
    }
    state = cell_step(tape, &cell, cell_inputs(tape, &cell, x), state);
    struct node *const parts[3] = { x, state.h, cell.w_input };
    enum dtype dtype = cell.kind == CELL_RELU ? call_result_type(call, parts, 3)
                                              : call_float_type(call, parts, 3);
    for (int k = 0; k < (lstm ? 2 : 1); k++) {
        struct node *y = k ? state.c : state.h;
        if (one && !tape_failed(tape)) y = node_reshape(tape, y, 1, y->shape + 1);
        call_return_typed(call, y, dtype);
    }
}

/* aten's fused step of an LSTM on accelerators: h, c and the gates, which its gradient needs. */
static void fused_lstm_cell(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *gates =
        node_add(tape, call_tensor(call, "input_gates"), call_tensor(call, "hidden_gates"));
    struct node *c = call_tensor(call, "cx");
    static const char *const names[] = { "input_bias", "hidden_bias" };
    for (int k = 0; k < 2; k++)
        if (!call_is_none(call, names[k]))
            gates = node_add(tape, gates, call_tensor(call, names[k]));
    if (!call_require(call, gates->rank == 2 && c->rank == 2 && gates->shape[1] == 4 * c->shape[1],
                      "four gates for each element of the state are needed"))
        return;
    struct lstm_step step = lstm_step(tape, gates, c->shape[1], c);
    call_return_typed(call, step.h, c->dtype);
    call_return_typed(call, step.c, c->dtype);
    call_return_typed(call, node_concatenate(tape, step.gate, 4, 1), c->dtype);
}

/* Its gradient: of the gates before their activations, of the state and of the biases, from the states before and after and
 * the activated gates that the forward kept. */
static void fused_lstm_cell_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *dh = call_optional_tensor(call, "grad_hy"),
                *dc = call_optional_tensor(call, "grad_cy"), *before = call_tensor(call, "cx"),
                *after = call_tensor(call, "cy"), *kept = call_tensor(call, "workspace"),
                *one = node_scalar(tape, 1), *g[4], *d[4];
    if (!call_require(call,
                      (dh || dc) && before->rank == 2 && kept->rank == 2 && after->n == before->n &&
                          kept->shape[0] == before->shape[0] &&
                          kept->shape[1] == 4 * before->shape[1],
                      "the states and four gates for each of their elements are needed"))
        return;
    int64_t width = before->shape[1];
    struct node *saturated = node_apply(tape, "tanh", after), *along = dc;
    for (int k = 0; k < 4; k++) g[k] = node_slice(tape, kept, 1, k * width, width, 1);
    if (dh) {
        struct node *slope = node_subtract(tape, one, node_multiply(tape, saturated, saturated));
        struct node *own = node_multiply(tape, node_multiply(tape, dh, g[3]), slope);
        along = dc ? node_add(tape, own, dc) : own;
    }
    d[0] = node_multiply(tape, along, g[2]);
    d[1] = node_multiply(tape, along, before);
    d[2] = node_multiply(tape, along, g[0]);
    d[3] = dh ? node_multiply(tape, dh, saturated) : node_scale(tape, saturated, 0);
    for (int k = 0; k < 4; k++) {
        struct node *slope = k == 2 ? node_subtract(tape, one, node_multiply(tape, g[k], g[k]))
                                    : node_multiply(tape, g[k], node_subtract(tape, one, g[k]));
        d[k] = node_multiply(tape, d[k], slope);
    }
    struct node *gates = node_concatenate(tape, d, 4, 1);
    call_return_typed(call, gates, kept->dtype);
    call_return_typed(call, node_multiply(tape, along, g[1]), before->dtype);
    if (call_bool(call, "has_bias"))
        call_return_typed(call, node_sum(tape, gates, 1, false), kept->dtype);
    else call_return_none(call);
}

/* clang-format off */
#define LAYERS "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
#define RECURRENT(name, hx, kind) \
    { name, TORCH | TORCH_VF, "(Tensor input, Tensor" hx " hx, Tensor[] params, " LAYERS ", bool batch_first)", recurrent, OP_ONE_NODE, kind, NULL }, \
    { name, TORCH | TORCH_VF, "(Tensor data, Tensor batch_sizes, Tensor" hx " hx, Tensor[] params, " LAYERS ")", recurrent_packed, OP_ONE_NODE, kind, NULL }
#define CELL(name, hx, kind) \
    { name, TORCH | TORCH_VF, "(Tensor input, Tensor" hx " hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)", recurrent_cell, 0, kind, NULL }
const struct op ops_recurrent[] = {
    RECURRENT("lstm", "[]", CELL_LSTM),
    RECURRENT("gru", "", CELL_GRU),
    RECURRENT("rnn_tanh", "", CELL_TANH),
    RECURRENT("rnn_relu", "", CELL_RELU),
    CELL("lstm_cell", "[]", CELL_LSTM),
    CELL("gru_cell", "", CELL_GRU),
    CELL("rnn_tanh_cell", "", CELL_TANH),
    CELL("rnn_relu_cell", "", CELL_RELU),
    { "_thnn_fused_lstm_cell", ATEN, "(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, Tensor? hidden_bias=None)", fused_lstm_cell, OP_ONE_NODE, 0, NULL },
    { "_thnn_fused_lstm_cell_backward_impl", ATEN, "(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor cy, Tensor workspace, bool has_bias)", fused_lstm_cell_backward, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(recurrent);
