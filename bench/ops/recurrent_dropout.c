/* What is read of the device's choices, and what must hold where they are not. */
#include "bench/ops/recurrent_dropout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/ops/properties.h"
#include "bench/ops/recurrent_masks.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"

/* ---- the device's choices ---------------------------------------------------------------------------- */

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
        if (!cell_read(&cell, call, params, count, each, layers->directions + d) ||
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

struct node *layer_handed_on(struct call *call, struct layers *layers,
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

/* ---- where they are not known ------------------------------------------------------------------------ */

static double largest_magnitude(struct tape *tape, struct node *x)
{
    double most = 0;
    const double *value = node_values(tape, x);
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++)
        most = isnan(value[i]) ? INFINITY : fmax(most, fabs(value[i]));
    return most;
}

/* Can gates be sums that overflow, or of infinities or NaN, so that states are NaN? A gate sums, for each of its inputs, a weight times
 * an input, a state, or a result of the layer before, up to 1 / (1 - p) where the activation is up to 1, and two biases: no more than
 * twice as many terms as the largest parameter has elements. Where nothing bounds a state it grows with every step and layer. */
static bool may_be_nan(struct call *call, const struct layers *layers, double steps, bool bounded,
                       struct node *x)
{
    struct tape *tape = call->tape;
    double weight = 0, terms = 0, input = fmax(1 / (1 - layers->drops), largest_magnitude(tape, x));
    int count;
    struct node **params = call_tensors(call, "params", &count);
    for (int k = 0; params && k < count; k++) {
        weight = fmax(weight, largest_magnitude(tape, params[k]));
        terms = fmax(terms, 2 * (double)params[k]->n);
    }
    input = fmax(input, largest_magnitude(tape, layers->h));
    if (layers->c) input = fmax(input, largest_magnitude(tape, layers->c));
    double gate = terms * weight, most = gate * input;
    if (!bounded) most *= pow(fmax(1, gate / (1 - layers->drops)), steps * layers->count);
    return !(most < dtype_info(x->dtype)->largest);
}

/* Final states of layers that dropout reaches depend on choices which no output tells: the device's are taken for right as
 * far as they lie within the bounds of the activations. State k of `total` in the output `at`. */
static struct node *device_state(struct call *call, struct node *own, size_t at, int k, int total,
                                 double most, bool any_nan)
{
    struct tape *tape = call->tape;
    struct node *all = call_device_numbers(call, at, (size_t)total * own->n);
    if (!all || all->integer) return own;
    struct node *y = node_new_real(tape, own->dtype, own->rank, own->shape);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++) {
        double x = all->value[(size_t)k * own->n + i];
        y->value[i] = !isnan(x) ? fmin(fmax(x, -most), most) : any_nan ? NAN : 0;
    }
    return y;
}

/* What must hold of outputs that dropout reaches. */
struct last_steps {
    const struct tensor *states; /* the device's, or NULL */
    int64_t steps, batch, width; /* width of one direction */
    int directions, total;
    bool batch_first;
    bool any_nan; /* anything may be NaN */
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
                if (y[at] == want || (isnan(y[at]) && isnan(want))) continue;
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
        if (!(y[i] >= last->least && y[i] <= last->most) && !(last->any_nan && isnan(y[i]))) {
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

/* Does a layer have a projection behind its activation? */
static bool is_projected(struct call *call)
{
    int count;
    (void)call_tensors(call, "params", &count);
    int total = (int)call_int(call, "num_layers") * (call_bool(call, "bidirectional") ? 2 : 1);
    return total && count / total > (call_bool(call, "has_biases") ? 4 : 2);
}

bool layers_return_by_law(struct call *call, const struct layers *layers,
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
    bool any_nan = may_be_nan(call, layers, (double)sequence->steps, isfinite(bound),
                              call_tensor(call, packed ? "data" : "input"));
    y = node_with_dtype(tape, layers_by_time(tape, sequence, y, packed, batch_first), dtype);
    if (tape_failed(tape)) return false;
    *last = (struct last_steps){ packed ? NULL : call_device_output(call, 1),
                                 sequence->steps,
                                 sequence->batch,
                                 width,
                                 layers->directions,
                                 total,
                                 batch_first,
                                 any_nan,
                                 kind == CELL_RELU ? 0 : -bound,
                                 bound,
                                 layers->wrong };
    *property = (struct bench_property){ "within the activations, the last step the final state; "
                                         "layers that dropout reaches are not "
                                         "compared",
                                         last_steps_hold, last };
    for (int k = layers->directions; tape_is_reference(tape) && k < total; k++) {
        h[k] = device_state(call, h[k], 1, k, total, bound, any_nan);
        if (layers->c)
            h[total + k] = device_state(call, h[total + k], 2, k, total, INFINITY, any_nan);
    }
    call_return_random(call, tape_is_reference(tape) ? NULL : y, dtype, y->rank, y->shape,
                       property);
    if (tape_is_reference(tape)) call->results.gradient_property = no_gradient;
    return !tape_failed(tape);
}
