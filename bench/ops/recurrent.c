/* Recurrent layers and their cells: LSTM, GRU and plain ones, stacked, bidirectional, of packed sequences.
 *
 * A layer is its cell applied step by step on the tape, so a gradient is back-propagation through time. What
 * the inputs contribute to the gates is one product for all steps. A packed sequence has its rows by time, the
 * longest sequence first, so step t works on the first batch_sizes[t] rows of the state: they become fewer as
 * sequences end and, in the other direction, more as they begin. */
#include "bench/ops/recurrent.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/cell_kind.h"
#include "bench/ops/properties.h"
#include "bench/ops/recurrent_masks.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

struct cell {
    enum cell_kind kind;
    int64_t width; /* of a gate */
    struct node *w_input, *w_hidden, *b_input, *b_hidden,
        *w_projection; /* the last three or NULL */
};

struct state {
    struct node *h, *c; /* c of an LSTM, else NULL */
};

/* ---- one step ------------------------------------------------------------------------------------ */

static struct node *gate(struct tape *tape, struct node *gates, int64_t width, int k)
{
    return node_slice(tape, gates, 1, k * width, width, 1);
}

static struct node *activated(struct tape *tape, const char *name, struct node *x)
{
    return node_function(tape, name, x);
}

struct lstm_step lstm_step(struct tape *tape, struct node *gates, int64_t width, struct node *c)
{
    static const char *const functions[4] = { "sigmoid", "sigmoid", "tanh", "sigmoid" };
    struct lstm_step y;
    for (int k = 0; k < 4; k++)
        y.gate[k] = activated(tape, functions[k], gate(tape, gates, width, k));
    y.c = node_add(tape, node_multiply(tape, y.gate[1], c),
                   node_multiply(tape, y.gate[0], y.gate[2]));
    y.tanh_c = activated(tape, "tanh", y.c);
    y.h = node_multiply(tape, y.gate[3], y.tanh_c);
    return y;
}

struct gru_step gru_step(struct tape *tape, struct node *inputs, struct node *hidden, int64_t width,
                         struct node *h)
{
    struct gru_step y;
    for (int k = 0; k < 2; k++)
        y.gate[k] =
            activated(tape, "sigmoid",
                      node_add(tape, gate(tape, inputs, width, k), gate(tape, hidden, width, k)));
    y.hidden_new = gate(tape, hidden, width, 2);
    struct node *n = y.gate[2] = activated(
        tape, "tanh",
        node_add(tape, gate(tape, inputs, width, 2), node_multiply(tape, y.gate[0], y.hidden_new)));
    y.h = node_add(tape, n, node_multiply(tape, y.gate[1], node_subtract(tape, h, n)));
    if (!tape_is_model(tape)) return y;
    /* Kernels also form (1 - z) n + z h. */
    y.h = node_model_error(tape, node_model_error(tape, y.h, n, 3),
                           node_broadcast(tape, h, y.h->rank, y.h->shape), 3);
    return y;
}

/* Rounding decides whether a sum next to 0 passes. */
static struct node *positive_part(struct tape *tape, struct node *sum)
{
    struct node *zero = node_scalar(tape, 0);
    sum = node_model_choice(tape, sum, sum, zero);
    struct node *y = node_select(tape, node_compare(tape, COMPARE_LE, sum, zero), zero, sum);
    return node_model_choice(tape, y, sum, zero);
}

/* `inputs` is what x contributes to the gates. */
static struct state step(struct tape *tape, const struct cell *cell, struct node *inputs,
                         struct state state)
{
    struct node *hidden = compose_linear(tape, state.h, cell->w_hidden, cell->b_hidden);
    struct state next = { NULL, NULL };
    if (cell->kind == CELL_GRU) {
        next.h = gru_step(tape, inputs, hidden, cell->width, state.h).h;
    } else if (cell->kind == CELL_LSTM) {
        struct lstm_step y = lstm_step(tape, node_add(tape, inputs, hidden), cell->width, state.c);
        next = (struct state){ y.h, y.c };
    } else {
        struct node *sum = node_add(tape, inputs, hidden);
        next.h = cell->kind == CELL_TANH ? activated(tape, "tanh", sum) : positive_part(tape, sum);
    }
    if (cell->w_projection) next.h = compose_linear(tape, next.h, cell->w_projection, NULL);
    return next;
}

/* ---- a layer in one direction -------------------------------------------------------------------- */

/* Rows by time, `sizes[t]` of step t, from row `starts[t]`. */
struct sequence {
    int64_t steps, batch;
    const int64_t *sizes, *starts;
};

static struct node *rows(struct tape *tape, struct node *x, int64_t start, int64_t count)
{
    return x ? node_slice(tape, x, 0, start, count, 1) : NULL;
}

static struct node *joined(struct tape *tape, struct node *a, struct node *b)
{
    return a ? node_concatenate(tape, (struct node *[]){ a, b }, 2, 0) : NULL;
}

/* The state of more rows or fewer: those that begin come from `initial`, those that end go to `ended`, which
 * grows at its front. */
static struct state with_rows(struct tape *tape, struct state state, int64_t have, int64_t want,
                              struct state initial, struct state *ended)
{
    if (want > have)
        return (struct state){ joined(tape, state.h, rows(tape, initial.h, have, want - have)),
                               joined(tape, state.c, rows(tape, initial.c, have, want - have)) };
    if (want == have) return state;
    struct state over = { rows(tape, state.h, want, have - want),
                          rows(tape, state.c, want, have - want) };
    *ended = ended->h
                 ? (struct state){ joined(tape, over.h, ended->h), joined(tape, over.c, ended->c) }
                 : over;
    return (struct state){ rows(tape, state.h, 0, want), rows(tape, state.c, 0, want) };
}

/* The outputs of all steps by time; *state becomes that after each sequence's last step. */
static struct node *run_layer(struct tape *tape, const struct sequence *sequence,
                              const struct cell *cell, struct node *x, struct state *state,
                              bool backward)
{
    struct node **outputs = tape_allocate(tape, (size_t)sequence->steps, sizeof *outputs);
    struct node *inputs = compose_linear(tape, x, cell->w_input, cell->b_input);
    struct state initial = *state, ended = { NULL, NULL };
    if (tape_failed(tape)) return x;
    int64_t have = sequence->sizes[backward ? sequence->steps - 1 : 0];
    struct state now = { rows(tape, initial.h, 0, have), rows(tape, initial.c, 0, have) };
    for (int64_t k = 0; k < sequence->steps && !tape_failed(tape); k++) {
        int64_t t = backward ? sequence->steps - 1 - k : k, size = sequence->sizes[t];
        now = with_rows(tape, now, have, size, initial, &ended);
        have = size;
        now = step(tape, cell, rows(tape, inputs, sequence->starts[t], size), now);
        outputs[t] = now.h;
    }
    if (tape_failed(tape)) return x;
    *state = ended.h ? (struct state){ joined(tape, now.h, ended.h), joined(tape, now.c, ended.c) }
                     : now;
    return node_concatenate(tape, outputs, (int)sequence->steps, 0);
}

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

/* A number for each row of the weights, one for all, or none. */
static bool are_biases(const struct cell *cell, int64_t count)
{
    const struct node *biases[2] = { cell->b_input, cell->b_hidden };
    for (int k = 0; k < 2; k++)
        if (biases[k] && biases[k]->n != 1 &&
            ((int64_t)biases[k]->n != count || biases[k]->shape[biases[k]->rank - 1] != count))
            return false;
    return true;
}

/* The cell of the k-th layer and direction from the flat list of parameters. */
static bool read_cell(struct cell *cell, struct call *call, struct node **params, int count,
                      int each, int k)
{
    bool biased = call_bool(call, "has_biases");
    int plain = biased ? 4 : 2; /* and one more for a projection */
    *cell = (struct cell){ .kind = (enum cell_kind)call->op->detail };
    if (!call_require(call, (each == plain || each == plain + 1) && (k + 1) * each <= count,
                      "%d parameters are not those of a layer %s biases", each,
                      biased ? "with" : "without"))
        return false;
    struct node **own = params + (ptrdiff_t)k * each;
    cell->w_input = own[0];
    cell->w_hidden = own[1];
    if (biased) {
        cell->b_input = own[2];
        cell->b_hidden = own[3];
    }
    if (each > plain) cell->w_projection = own[plain];
    int gates = gates_of(cell->kind);
    cell->width = cell->w_input->rank == 2 ? cell->w_input->shape[0] / gates : 0;
    return call_require(call,
                        cell->width > 0 && cell->w_input->shape[0] == cell->width * gates &&
                            cell->w_hidden->rank == 2 &&
                            cell->w_hidden->shape[0] == cell->width * gates &&
                            are_biases(cell, cell->width * gates),
                        "the weights do not have %d gates", gates);
}

struct layers {
    int count, directions;
    double drops;       /* the chance of an output between two layers to be dropped, below 1 */
    bool cut;           /* all of them are dropped */
    struct node *h, *c; /* initial: (count * directions, batch, width) */
    bool batch_first;
    bool read;   /* the device's choices are known, */
    char *wrong; /* and are no draws: why; NULL: nothing is wrong */
};

/* ---- dropout between layers ------------------------------------------------------------------------ */

/* The device's output as rows by time. */
static const double *output_by_time(struct call *call, const struct layers *layers,
                                    const struct sequence *sequence, size_t rows, int64_t width)
{
    struct node *y = call_device_numbers(call, 0, rows * (size_t)width);
    if (!y || y->integer) return NULL;
    if (!layers->batch_first) return y->value;
    y = node_reshape(call->tape, y, 3, (int64_t[]){ sequence->batch, sequence->steps, width });
    return node_values(call->tape, node_transpose(call->tape, y, 0, 1));
}

/* Layer k in direction d; false when a state that it needs is not known. */
static bool open_direction(struct masked_direction *out, struct call *call,
                           const struct layers *layers, const struct cell *cell, int k, int d)
{
    struct tape *tape = call->tape;
    int64_t outputs = layers->h->shape[2], batch = layers->h->shape[1];
    struct node *const nodes[] = { cell->w_input, cell->w_hidden, cell->w_projection,
                                   cell->b_input, cell->b_hidden, layers->h,
                                   layers->c };
    const double *value[7] = { NULL };
    for (size_t i = 0; i < 7; i++)
        if (nodes[i]) value[i] = node_values(tape, nodes[i]);
    if (tape_failed(tape)) return false;
    *out = (struct masked_direction){
        .width = cell->width,
        .outputs = outputs,
        .inputs = cell->w_input->shape[1],
        .w_input = value[0],
        .w_hidden = value[1],
        .w_projection = value[2],
        .b_input = value[3],
        .b_hidden = value[4],
        .b_inputs = cell->b_input ? cell->b_input->n : 0,
        .b_hiddens = cell->b_hidden ? cell->b_hidden->n : 0,
        .h = value[5] + (k + d) * batch * outputs,
    };
    if (!layers->c) return true;
    struct node *last =
        call_device_numbers(call, 2, (size_t)(2 * layers->directions * batch * cell->width));
    if (!last || last->integer || layers->c->shape[2] != cell->width) return false;
    out->c = value[6] + (k + d) * batch * cell->width;
    out->last_c = last->value + (k + d) * batch * cell->width;
    return true;
}

/* Are the choices draws? Those that are open do not tell. */
static bool are_draws(struct call *call, struct layers *layers, const unsigned char *choices,
                      const struct node *x)
{
    double told = 0, dropped = 0, p = layers->drops,
           *draw = tape_allocate(call->tape, x->n, sizeof *draw);
    char reason[128];
    if (!draw) return false;
    for (size_t i = 0; i < x->n; i++) {
        draw[i] = choices[i] == OPEN ? NAN : choices[i] == DROPPED;
        told += choices[i] != OPEN;
        dropped += choices[i] == DROPPED;
    }
    layers->wrong = tape_allocate(call->tape, 256, 1);
    if (!layers->wrong) return false;
    if (fabs(dropped - told * p) > 6.2 * sqrt(told * p * (1 - p)) + 12)
        (void)snprintf(layers->wrong, 256,
                       "%g of %g elements between the layers are dropped; p is %g", dropped, told,
                       p);
    else if (!random_choices_hold(draw, NULL, p, x->n, (size_t)x->shape[1], reason, sizeof reason))
        (void)snprintf(layers->wrong, 256, "what is dropped between the layers: %s", reason);
    else layers->wrong = NULL;
    return !layers->wrong;
}

/* The choices of the device between both layers, by rows of x; NULL where its outputs do not tell them. */
static const unsigned char *read_choices(struct call *call, struct layers *layers,
                                         const struct sequence *sequence, struct node *x,
                                         struct node **params, int count, int each)
{
    struct tape *tape = call->tape;
    struct masked_layer layer = { .kind = (enum cell_kind)call->op->detail,
                                  .p = layers->drops,
                                  .unit = ldexp(1, -dtype_info(x->dtype)->significand_bits),
                                  .directions = layers->directions,
                                  .steps = sequence->steps,
                                  .batch = sequence->batch,
                                  .sizes = sequence->sizes,
                                  .starts = sequence->starts };
    size_t rows = (size_t)x->shape[0];
    if (layers->count != 2) return NULL;
    layer.y =
        output_by_time(call, layers, sequence, rows, layers->directions * layers->h->shape[2]);
    layer.x = node_values(tape, x);
    if (!layer.y || tape_failed(tape)) return NULL;
    for (int d = 0; d < layers->directions; d++) {
        struct cell cell;
        if (!read_cell(&cell, call, params, count, each, layers->directions + d) ||
            !open_direction(&layer.direction[d], call, layers, &cell, layers->directions, d) ||
            layer.direction[d].inputs != x->shape[1])
            return NULL;
    }
    unsigned char *choices = tape_allocate(tape, x->n, 1);
    return choices && recurrent_choices(choices, &layer) ? choices : NULL;
}

/* x as those choices leave it. What is open is half of it, off by as much in a device. */
static struct node *chosen(struct tape *tape, struct node *x, double p,
                           const unsigned char *choices)
{
    struct node *kept = node_new_integer(tape, DT_BOOL, x->rank, x->shape),
                *open = node_new_integer(tape, DT_BOOL, x->rank, x->shape),
                *half = node_constant(tape, x->dtype, 0.5, x->rank, x->shape);
    bool any = false;
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++) {
        kept->integer[i] = choices[i] == KEPT;
        open->integer[i] = choices[i] == OPEN;
        any = any || choices[i] == OPEN;
    }
    if (tape_failed(tape)) return x;
    struct node *scaled = node_scale(tape, x, 1 / (1 - p));
    struct node *y = node_select(tape, kept, scaled, node_scalar(tape, 0));
    if (!any) return y;
    if (tape_is_model(tape)) half->relative = 1;
    return node_select(tape, open, node_multiply(tape, scaled, half), y);
}

/* What a layer hands to the next one. The reference drops what the device did; where that is not known it drops nothing, and is
 * used for the first layer alone. */
static struct node *handed_on(struct call *call, struct layers *layers,
                              const struct sequence *sequence, struct node *x, int k,
                              struct node **params, int count, int each)
{
    struct tape *tape = call->tape;
    if (layers->cut) return node_scale(tape, x, 0);
    if (layers->drops == 0) return x;
    if (tape_is_reference(tape)) {
        struct device_answer *answer = &call->device_answer;
        if (!answer->is_derived)
            answer->derived = read_choices(call, layers, sequence, x, params, count, each);
        answer->is_derived = answer->outputs != NULL;
        const unsigned char *choices = answer->derived;
        layers->read = choices && are_draws(call, layers, choices, x);
        return layers->read ? chosen(tape, x, layers->drops, choices) : x;
    }
    struct node *mask = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++)
        mask->integer[i] = random_uniform(call, (size_t)k * x->n + i) >= layers->drops;
    return node_select(tape, mask, node_scale(tape, x, 1 / (1 - layers->drops)),
                       node_scalar(tape, 0));
}

/* Final states of layers that dropout reaches depend on choices which no output tells: the device's are taken for right as
 * far as they lie within the bounds of the activations. State k of `total` in the output `at`. */
static struct node *device_state(struct call *call, struct node *own, size_t at, int k, int total,
                                 double most)
{
    struct tape *tape = call->tape;
    struct node *all = call_device_numbers(call, at, (size_t)total * own->n);
    if (!all || all->integer) return own;
    struct node *y = node_new_real(tape, own->dtype, own->rank, own->shape);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++) {
        double x = all->value[(size_t)k * own->n + i];
        y->value[i] = isnan(x) ? 0 : fmin(fmax(x, -most), most);
    }
    return y;
}

/* What must hold of outputs that dropout reaches. */
struct last_steps {
    const struct tensor *states; /* the device's, or NULL */
    int64_t steps, batch, width; /* width of one direction */
    int directions, total;
    bool batch_first;
    double least, most;
    const char *wrong; /* what is known to be wrong, or NULL */
};

/* Element (step, batch, feature) of the outputs. */
static size_t place_of(const struct last_steps *last, int64_t t, int64_t b, int64_t f)
{
    int64_t row = last->batch_first ? b * last->steps + t : t * last->batch + b;
    return (size_t)(row * last->directions * last->width + f);
}

static bool last_steps_are_states(const struct last_steps *last, const double *y, const double *h,
                                  char *reason, size_t bytes)
{
    for (int d = 0; d < last->directions; d++)
        for (int64_t b = 0; b < last->batch; b++)
            for (int64_t f = 0; f < last->width; f++) {
                size_t at = place_of(last, d ? 0 : last->steps - 1, b, d * last->width + f);
                int64_t state = last->total - last->directions + d;
                double want = h[(state * last->batch + b) * last->width + f];
                if (y[at] == want) continue;
                (void)snprintf(reason, bytes,
                               "element %zu, of the last step, is %.9g; the final state is %.9g",
                               at, y[at], want);
                return false;
            }
    return true;
}

static bool last_steps_hold(const struct bench_property *property, const struct tensor *got,
                            char *reason, size_t bytes)
{
    const struct last_steps *last = property->context;
    struct arena arena = { 0 };
    struct tensor dense, states;
    size_t n = tensor_elements(got), m = last->states ? tensor_elements(last->states) : 0;
    double *y = arena_allocate_array(&arena, n + m + 1, sizeof *y);
    bool holds = false;
    if (!y || tensor_densify(&dense, &arena, got).code ||
        (m && tensor_densify(&states, &arena, last->states).code)) {
        (void)snprintf(reason, bytes, "there is no memory to test the outputs");
        goto done;
    }
    if (last->wrong) {
        (void)snprintf(reason, bytes, "%s", last->wrong);
        goto done;
    }
    dtype_to_double(y, dense.data, dense.dtype, n);
    if (m) dtype_to_double(y + n, states.data, states.dtype, m);
    for (size_t i = 0; i < n; i++)
        if (!(y[i] >= last->least && y[i] <= last->most)) {
            (void)snprintf(reason, bytes,
                           "element %zu is %.9g, outside of what the activations give", i, y[i]);
            goto done;
        }
    holds = m != (size_t)(last->total * last->batch * last->width) ||
            last_steps_are_states(last, y, y + n, reason, bytes);
done:
    arena_release(&arena);
    return holds;
}

static const struct bench_property *no_gradient(struct call *call, struct node *cotangent,
                                                size_t leaf)
{
    (void)cotangent;
    (void)leaf;
    (void)call_require(
        call, false,
        "gradients through a dropout between layers depend on choices that the outputs do not tell "
        "(they do for two layers in float32 or float64 that are not of relu, unless they are "
        "large): record "
        "the step with dropout 0");
    return NULL;
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
        if (k) x = handed_on(call, layers, sequence, x, k, params, count, count / total);
        struct node *both[2] = { NULL, NULL };
        for (int d = 0; d < layers->directions; d++) {
            struct state state = { layer_of(tape, layers->h, k + d),
                                   layer_of(tape, layers->c, k + d) };
            if (!read_cell(&cell, call, params, count, count / total, k + d)) return x;
            both[d] = run_layer(tape, sequence, &cell, x, &state, d == 1);
            h[k + d] = state.h;
            c[k + d] = state.c;
        }
        x = layers->directions == 2 ? node_concatenate(tape, both, 2, 1) : both[0];
    }
    return x;
}

static double largest_magnitude(struct tape *tape, struct node *x)
{
    double most = 0;
    const double *value = node_values(tape, x);
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++) most = fmax(most, fabs(value[i]));
    return most;
}

/* Does a layer have a projection behind its activation? */
static bool is_projected(struct call *call)
{
    int count;
    (void)call_tensors(call, "params", &count);
    int total = (int)call_int(call, "num_layers") * (call_bool(call, "bidirectional") ? 2 : 1);
    return total && count / total > (call_bool(call, "has_biases") ? 4 : 2);
}

/* hx: a tensor, or of an LSTM a list of two. */
static bool read_layers(struct layers *layers, struct call *call)
{
    int count;
    *layers = (struct layers){ .count = (int)call_int(call, "num_layers"),
                               .directions = call_bool(call, "bidirectional") ? 2 : 1 };
    if (call_bool(call, "train") && layers->count > 1) layers->drops = call_real(call, "dropout");
    if (!call_require(call, layers->drops >= 0 && layers->drops <= 1, "dropout %g between layers",
                      layers->drops))
        return false;
    layers->cut = layers->drops == 1;
    if (layers->cut) layers->drops = 0;
    struct node **hx = call_tensors(call, "hx", &count);
    bool lstm = call->op->detail == CELL_LSTM;
    if (!call_require(call, hx && count == (lstm ? 2 : 1), "%d initial states", count))
        return false;
    layers->h = hx[0];
    layers->c = lstm ? hx[1] : NULL;
    return call_require(
        call,
        layers->count >= 1 && layers->count <= 1000 && layers->h->rank == 3 &&
            layers->h->shape[0] == (int64_t)layers->count * layers->directions &&
            (!lstm || (layers->c->rank == 3 && layers->c->shape[1] == layers->h->shape[1])),
        "the initial states are not those of %d layers", layers->count);
}

/* Rows by time as the call returns them. */
static struct node *by_time(struct tape *tape, const struct sequence *sequence, struct node *y,
                            bool packed, bool batch_first)
{
    if (packed) return y;
    y = node_reshape(tape, y, 3, (int64_t[]){ sequence->steps, sequence->batch, y->shape[1] });
    return batch_first ? node_transpose(tape, y, 0, 1) : y;
}

/* The outputs behind a dropout by what must hold of them, and the device's states of the layers that it reaches in h. */
static bool return_outputs(struct call *call, const struct layers *layers,
                           const struct sequence *sequence, struct node *y, struct node **h,
                           bool packed, bool batch_first, enum dtype dtype)
{
    struct tape *tape = call->tape;
    int kind = (int)call->op->detail, total = layers->count * layers->directions;
    struct last_steps *last = tape_allocate(tape, 1, sizeof *last);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    double bound = kind == CELL_RELU ? INFINITY
                                     : 1; /* of an output; initial states may be larger */
    if (kind == CELL_GRU) bound = fmax(1, largest_magnitude(tape, layers->h));
    int64_t width = h[0]->shape[1];
    if (y->shape[1] != width * layers->directions) return false;
    if (h[0]->shape[1] != layers->h->shape[2] || is_projected(call)) bound = INFINITY;
    y = node_with_dtype(tape, by_time(tape, sequence, y, packed, batch_first), dtype);
    if (tape_failed(tape)) return false;
    *last = (struct last_steps){ packed ? NULL : call_device_output(call, 1),
                                 sequence->steps,
                                 sequence->batch,
                                 width,
                                 layers->directions,
                                 total,
                                 batch_first,
                                 kind == CELL_RELU ? 0 : -bound,
                                 bound,
                                 layers->wrong };
    *property = (struct bench_property){ "within the activations, the last step the final state; "
                                         "layers that dropout reaches are not "
                                         "compared",
                                         last_steps_hold, last };
    for (int k = layers->directions; tape_is_reference(tape) && k < total; k++) {
        h[k] = device_state(call, h[k], 1, k, total, bound);
        if (layers->c) h[total + k] = device_state(call, h[total + k], 2, k, total, INFINITY);
    }
    call_return_random(call, tape_is_reference(tape) ? NULL : y, dtype, y->rank, y->shape,
                       property);
    if (tape_is_reference(tape)) call->results.gradient_property = no_gradient;
    return !tape_failed(tape);
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
    if (by_law && !return_outputs(call, layers, sequence, y, h, packed, batch_first, dtype)) return;
    if (!by_law) call_return_typed(call, by_time(tape, sequence, y, packed, batch_first), dtype);
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
    if (!read_layers(&layers, call)) return;
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
    if (!read_layers(&layers, call)) return;
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
                          are_biases(&cell, cell.w_hidden->shape[0]),
                      "input, state and weights do not fit each other"))
        return;
    cell.width = cell.w_hidden->shape[0] / gates;
    if (one) { /* a batch of one */
        x = node_reshape(tape, x, 2, (int64_t[]){ 1, x->shape[0] });
        state.h = node_reshape(tape, state.h, 2, (int64_t[]){ 1, state.h->shape[0] });
        if (lstm) state.c = node_reshape(tape, state.c, 2, (int64_t[]){ 1, state.c->shape[0] });
    }
    state = step(tape, &cell, compose_linear(tape, x, cell.w_input, cell.b_input), state);
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
    for (int k = 0; k < 4; k++) g[k] = gate(tape, kept, width, k);
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
