/* Steps of cells and the layers made of them. */
#include "bench/ops/recurrent_layers.h"

#include <math.h>
#include <string.h>

#include "bench/ops/integers.h"
#include "bench/ops/recurrent_errors.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

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

/* Of the reference: y, the positive part of sum, which is off by what the sum is where that may have either sign: after many steps balls are
 * too much work to tell, and then the choice is not sure. */
static struct node *with_either_sign(struct tape *tape, struct node *y, struct node *sum)
{
    if (!tape_is_reference(tape) || tape_failed(tape) || node_is_exact(sum)) return y;
    const double *value = node_values(tape, sum);
    struct node *out = node_alias(tape, y, y->dtype);
    double *error = tape_allocate(tape, y->n, sizeof *error);
    if (tape_failed(tape)) return y;
    for (size_t i = 0; i < y->n; i++) {
        double of_sum = node_error(sum, i);
        error[i] = fabs(value[i]) <= of_sum ? of_sum : node_error(y, i);
    }
    out->error = error;
    return out;
}

/* Rounding decides whether a sum next to 0 passes. */
static struct node *positive_part(struct tape *tape, struct node *sum)
{
    struct node *zero = node_scalar(tape, 0);
    sum = node_model_choice(tape, sum, sum, zero);
    struct node *y = node_select(tape, node_compare(tape, COMPARE_LE, sum, zero), zero, sum);
    return node_model_choice(tape, with_either_sign(tape, y, sum), sum, zero);
}

/* x w^T + b, of integers as such: they wrap around in the dtype of the weights, at every step. */
static struct node *affine(struct tape *tape, struct node *x, struct node *w, struct node *b)
{
    if (!w->integer || !b) return compose_linear(tape, x, w, b);
    return node_add_as(tape, w->dtype, compose_linear(tape, x, w, NULL), b);
}

static struct node *positive_integers(struct tape *tape, struct node *sum)
{
    struct node *zero = node_integer_constant(tape, sum->dtype, 0, 0, NULL);
    return node_select(tape, node_compare(tape, COMPARE_GT, sum, zero), sum, zero);
}

struct node *cell_inputs(struct tape *tape, const struct cell *cell, struct node *x)
{
    return affine(tape, x, cell->w_input, cell->b_input);
}

struct state cell_step(struct tape *tape, const struct cell *cell, struct node *inputs,
                       struct state state)
{
    struct node *hidden = affine(tape, state.h, cell->w_hidden, cell->b_hidden);
    struct state next = { NULL, NULL };
    if (cell->kind == CELL_GRU) {
        next.h = gru_step(tape, inputs, hidden, cell->width, state.h).h;
    } else if (cell->kind == CELL_LSTM) {
        struct lstm_step y = lstm_step(tape, node_add(tape, inputs, hidden), cell->width, state.c);
        next = (struct state){ y.h, y.c };
    } else {
        bool integers = cell->w_hidden->integer;
        struct node *sum = integers ? node_add_as(tape, cell->w_hidden->dtype, inputs, hidden)
                                    : node_add(tape, inputs, hidden);
        next.h = cell->kind == CELL_TANH ? activated(tape, "tanh", sum)
                 : integers              ? positive_integers(tape, sum)
                                         : positive_part(tape, sum);
    }
    if (cell->w_projection) next.h = compose_linear(tape, next.h, cell->w_projection, NULL);
    return next;
}

/* ---- a layer in one direction -------------------------------------------------------------------- */

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

struct node *run_layer(struct tape *tape, const struct sequence *sequence, const struct cell *cell,
                       struct node *x, struct state *state, bool backward)
{
    struct node **outputs = tape_allocate(tape, (size_t)sequence->steps, sizeof *outputs);
    struct node *inputs = cell_inputs(tape, cell, x);
    struct state initial = *state, ended = { NULL, NULL };
    struct step_errors *errors = step_errors_open(tape, cell, initial.h->shape[0]);
    if (tape_failed(tape)) return x;
    int64_t have = sequence->sizes[backward ? sequence->steps - 1 : 0];
    struct state now = { rows(tape, initial.h, 0, have), rows(tape, initial.c, 0, have) };
    for (int64_t k = 0; k < sequence->steps && !tape_failed(tape); k++) {
        int64_t t = backward ? sequence->steps - 1 - k : k, size = sequence->sizes[t];
        now = with_rows(tape, now, have, size, initial, &ended);
        have = size;
        struct node *own = rows(tape, inputs, sequence->starts[t], size);
        struct state exact = { errors ? node_detach(tape, now.h) : NULL, NULL };
        now = cell_step(tape, cell, own, now);
        if (errors) now.h = step_errors_grown(errors, now.h, cell_step(tape, cell, own, exact).h);
        outputs[t] = now.h;
    }
    if (tape_failed(tape)) return x;
    *state = ended.h ? (struct state){ joined(tape, now.h, ended.h), joined(tape, now.c, ended.c) }
                     : now;
    return node_concatenate(tape, outputs, (int)sequence->steps, 0);
}

struct node *layers_by_time(struct tape *tape, const struct sequence *sequence, struct node *y,
                            bool packed, bool batch_first)
{
    if (packed) return y;
    y = node_reshape(tape, y, 3, (int64_t[]){ sequence->steps, sequence->batch, y->shape[1] });
    return batch_first ? node_transpose(tape, y, 0, 1) : y;
}

/* ---- arguments -------------------------------------------------------------------------------------- */

bool cell_has_biases(const struct cell *cell, int64_t count)
{
    const struct node *biases[2] = { cell->b_input, cell->b_hidden };
    for (int k = 0; k < 2; k++)
        if (biases[k] && biases[k]->n != 1 &&
            ((int64_t)biases[k]->n != count || biases[k]->shape[biases[k]->rank - 1] != count))
            return false;
    return true;
}

bool cell_read(struct cell *cell, struct call *call, struct node **params, int count, int each,
               int k)
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
                            cell_has_biases(cell, cell->width * gates),
                        "the weights do not have %d gates", gates);
}

bool layers_read(struct layers *layers, struct call *call)
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
