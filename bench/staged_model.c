/* Two more evaluations of the models, with a rounding to the dtype after every primitive that computes
 * (tape/bounds.h). They cost as much as the models again, so they are made when a verdict asks for them. */
#include "bench/staged_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/model_errors.h"
#include "bench/model_pair.h"
#include "bench/staged_values.h"
#include "bench/step_name.h"

struct staged_context {
    struct bench *bench;
    size_t i;
    bool gradient;
    /* By other formulas, composed functions, stored results; after they were asked for. */
    struct staged_steps *known[2][2][2];
};

static struct status open_models(struct bench *bench, enum dtype dtype)
{
    TRY(model_pair_open(bench->staged, bench, dtype, NULL));
    bench->staged_walked = false;
    return status_ok();
}

static struct status walk_models(struct bench *bench)
{
    if (bench->staged_walked || !bench->cotangents) return status_ok();
    for (int k = 0; k < 2; k++) TRY(evaluation_backward(bench->staged[k], bench->cotangents));
    bench->staged_walked = true;
    return status_ok();
}

/* The last step: what only moves or renames the elements is passed over. */
static struct node *last_step(struct node *node)
{
    while (!node->staged && node->primitive && node->input_count == 1 &&
           node->inputs[0]->n == node->n)
        node = node->inputs[0];
    return node;
}

/* The models, walked back for a gradient. */
static struct status models_of(const struct staged_context *context, enum dtype dtype)
{
    struct bench *bench = context->bench;
    if (!bench->staged[1] || bench->staged[1]->stage != dtype) TRY(open_models(bench, dtype));
    return context->gradient ? walk_models(bench) : status_ok();
}

static struct node *node_of(const struct staged_context *context, int k)
{
    struct evaluation *model = context->bench->staged[k];
    if (context->gradient) return evaluation_gradient(model, context->i);
    return context->i < model->call.results.count ? model->call.results.items[context->i].node
                                                  : NULL;
}

/* ---- which steps ------------------------------------------------------------------------------- */

enum { MOST_STEPS = 6, STEPS_BYTES = 240, MOST_DEPTH = 200 };

struct steps {
    char *text;
    const char *names[MOST_STEPS];
    int count;
    /* By the id of a node: the steps of a recurrent layer have as many ways through them as 2 to their number. */
    bool *seen;
};

static void add_step(struct steps *steps, const char *name)
{
    for (int k = 0; k < steps->count; k++)
        if (!strcmp(steps->names[k], name)) return;
    if (steps->count == MOST_STEPS) return;
    size_t used = strlen(steps->text);
    (void)snprintf(steps->text + used, STEPS_BYTES - used, "%s%s", used ? ", " : "", name);
    steps->names[steps->count++] = name;
}

/* The staged nodes behind `node`, without the one that is the result. */
static void collect(struct steps *steps, struct node *node, const struct node *result, int depth)
{
    if (depth > MOST_DEPTH || steps->count == MOST_STEPS || steps->seen[node->id]) return;
    steps->seen[node->id] = true;
    for (int k = 0; k < node->input_count; k++) collect(steps, node->inputs[k], result, depth + 1);
    if (node->staged && (node != result || node->composite)) add_step(steps, step_name(node));
}

/* ---- bounds -------------------------------------------------------------------------------------- */

/* The last step is rounded once, which the judge of a dtype knows by itself. */
static void without_last_rounding(double *error, const struct tape *tape, const struct node *node)
{
    const struct node *last = last_step((struct node *)(uintptr_t)node);
    for (size_t i = 0; last->staged && i < node->n; i++) {
        double step = tape->stage * fabs(last->value[i]) + tape->stage_tiny;
        error[i] = tape_is_typical(tape) ? sqrt(fmax(error[i] * error[i] - step * step / 3, 0))
                                         : fmax(error[i] - step, 0);
    }
}

static struct status stage(struct reference *r)
{
    const struct staged_context *context = r->stage_context;
    struct bench *bench = context->bench;
    struct arena *arena = bench->own.arena;
    double **errors[2] = { &r->staged_bound, &r->staged_rms };

    r->stage = NULL; /* once */
    struct status st = models_of(context, r->stage_dtype);
    if (st.code) return st.code == STATUS_NO_MEMORY ? st : status_ok(); /* none to be had */
    struct node *nodes[2] = { node_of(context, 0), node_of(context, 1) };
    if (!nodes[0] || !nodes[1] || nodes[0]->integer) return status_ok();
    if ((nodes[0]->imaginary != NULL) != dtype_is_complex(r->dtype)) return status_ok();
    const size_t ids = bench->staged[0]->tape.node_count; /* inputs may be newer than a result */
    struct steps steps = { .text = arena_allocate_zeroed(arena, STEPS_BYTES, 1),
                           .seen = arena_allocate_zeroed(arena, ids, sizeof(bool)) };
    if (!steps.text || !steps.seen) return status_no_memory(STEPS_BYTES + ids);
    /* The last step of a wider result is rounded to the short dtype, too. */
    collect(&steps, nodes[0], r->stage_dtype == r->dtype ? last_step(nodes[0]) : NULL, 0);
    if (nodes[0]->imaginary) collect(&steps, nodes[0]->imaginary, NULL, 0);
    if (!steps.count) return status_ok();
    for (int k = 0; k < 2; k++) {
        struct tape *tape = &bench->staged[k]->tape;
        TRY(model_errors(errors[k], tape, nodes[k], r, NULL, false, arena));
        if (!*errors[k]) {
            r->staged_bound = NULL;
            return status_ok();
        }
        if (r->stage_dtype == r->dtype) without_last_rounding(*errors[k], tape, nodes[k]);
    }
    r->staged_steps = steps.text;
    return status_ok();
}

/* ---- one such kernel ----------------------------------------------------------------------------- */

static struct status find_steps(struct staged_steps **steps, struct staged_context *context,
                                const struct staged_choice *choice)
{
    struct arena *arena = context->bench->own.arena;
    const struct what_result result = { context->gradient, context->i };
    struct staged_steps **known =
        &context->known[choice->other_formulas][choice->composed_functions][choice->stored];
    *steps = *known;
    if (*known) return status_ok();
    *steps = arena_allocate(arena, sizeof **steps);
    if (!*steps) return status_no_memory(sizeof **steps);
    struct arena_mark mark = arena_mark(arena);
    struct status st = staged_steps_find(*steps, context->bench, result, choice, arena);
    arena_rewind(arena, mark);
    if (!st.code) *known = *steps;
    return st;
}

static struct status compute(struct reference *r, bool *can, const struct staged_choice *choice,
                             staged_look *look, void *look_context)
{
    struct staged_context *context = r->stage_context;
    struct arena *arena = context->bench->own.arena;
    const struct what_result result = { context->gradient, context->i };
    struct staged_steps *steps;
    double *values;

    *can = false;
    struct status st = find_steps(&steps, context, choice);
    if (st.code) return st.code == STATUS_NO_MEMORY ? st : status_ok();
    bool wide = r->stage_dtype != r->dtype && steps->count < STAGED_STEPS; /* its last step, too */
    r->staged_step_count = (int)(steps->count + wide);
    r->staged_gradient = context->gradient;
    struct arena_mark mark = arena_mark(arena);
    st = staged_values(&values, context->bench, result, r, steps, choice, arena);
    if (!st.code) {
        *can = true;
        look(look_context, values);
    }
    arena_rewind(arena, mark);
    return st.code == STATUS_NO_MEMORY ? st : status_ok();
}

static bool is_short(enum dtype dtype)
{
    return dtype_is_float(dtype) && dtype_info(dtype)->significand_bits < 24;
}

/* The dtype that a result is rounded to between steps: its own, or, of a wide one, that of the first short tensor among the call's
 * arguments and results. DT_NONE: kernels compute in all of them. */
static enum dtype stage_dtype_of(const struct bench *bench, enum dtype own)
{
    const struct call *call = &bench->own.call;
    if (is_short(own)) return own;
    for (size_t i = 0; i < bench_output_count(bench); i++)
        if (is_short(bench->outputs[i].reference.dtype)) return bench->outputs[i].reference.dtype;
    for (size_t i = 0; i < call->arguments.leaf_count; i++) {
        const struct tensor *tensor = call->arguments.leaves[i].value->tensor.tensor;
        if (tensor && is_short(tensor->dtype)) return tensor->dtype;
    }
    return DT_NONE;
}

struct status staged_model_offer(struct reference *r, struct bench *bench, size_t i, bool gradient)
{
    if (!r->kernel_bound) return status_ok();
    r->stage_dtype = stage_dtype_of(bench, r->dtype);
    if (r->stage_dtype == DT_NONE) return status_ok();
    struct staged_context *context = arena_allocate(bench->own.arena, sizeof *context);
    if (!context) return status_no_memory(sizeof *context);
    *context = (struct staged_context){ .bench = bench, .i = i, .gradient = gradient };
    r->stage = stage;
    r->compute_staged = compute;
    r->stage_context = context;
    return status_ok();
}
