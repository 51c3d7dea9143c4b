/* A changed call is an evaluation of its own: the case is copied with its new tensors, bound, and run on a
 * tape that works in double without bounds. */
#include "bench/what_if.h"

#include <math.h>
#include <string.h>

#include "bench/binding.h"
#include "bench/call/op.h"
#include "bench/evaluation.h"
#include "bench/step_name.h"
#include "bench/step_traits.h"
#include "core/checked.h"

const struct schema *bench_schema(const struct bench *bench)
{
    return bench->own.call.arguments.schema;
}

const char *bench_api(const struct bench *bench)
{
    const struct call *call = &bench->own.call;
    return strchr(call->op->name, '|') ? call->api_case->api : call->op->name;
}

const struct value *bench_bound(const struct bench *bench, int parameter)
{
    return &bench->own.call.arguments.bound[parameter];
}

size_t bench_tensor_count(const struct bench *bench)
{
    return bench->own.call.arguments.leaf_count;
}

const struct value *bench_tensor(const struct bench *bench, size_t i)
{
    return bench->own.call.arguments.leaves[i].value;
}

const struct value *bench_cotangents(const struct bench *bench) { return bench->cotangents; }

/* Products have more terms than elements: of (m, k) and (k, n) the root of mk kn mn. BLAS adds several at a time. */
enum { TERMS_PER_STEP = 8 };

static double node_work(const struct node *node)
{
    double work = (double)node->n, product = (double)node->n;
    for (int i = 0; i < node->input_count; i++) {
        work += (double)node->inputs[i]->n;
        product *= (double)node->inputs[i]->n;
    }
    return step_traits(node) & STEP_PRODUCT ? fmax(work, sqrt(product) / TERMS_PER_STEP) : work;
}

double bench_work(const struct bench *bench)
{
    double work = 0;
    for (const struct node *node = bench->own.tape.newest; node; node = node->older)
        work += node_work(node);
    return work;
}

struct bench_steps bench_steps(const struct bench *bench)
{
    struct bench_steps steps = { false, false, false };
    size_t rounding = 0;
    for (const struct node *node = bench->own.tape.newest; node; node = node->older) {
        if (!node->primitive || node->input_count < 1) continue;
        bool product = step_traits(node) & STEP_PRODUCT;
        bool folds = node->n < node->inputs[0]->n;
        steps.products |= product;
        steps.sums |= product || folds || step_traits(node) & STEP_SUM;
        rounding += product || folds || node->relative != 0 || node->error;
    }
    steps.several = rounding > 1;
    return steps;
}

/* ---- the changed case -------------------------------------------------------------------------- */

struct copying {
    struct arena *arena;
    const struct tensor *const *tensors;
    size_t at; /* tensors met so far */
    bool no_memory;
};

/* A value with its tensors replaced; what has none is shared. */
static struct value copy_value(struct copying *copy, const struct value *value)
{
    struct value out = *value;
    if (value->kind == VALUE_TENSOR) {
        const struct tensor *other = copy->tensors[copy->at++];
        if (!other || !value->tensor.tensor) return out;
        struct tensor *own = arena_allocate(copy->arena, sizeof *own);
        if (own) *own = *other;
        copy->no_memory |= !own;
        out.tensor.tensor = own;
        return out;
    }
    if (!value_is_sequence(value) || !value_count_tensors(value)) return out;
    out.list.items = arena_allocate_array(copy->arena, value->list.count, sizeof *out.list.items);
    if (!out.list.items) {
        copy->no_memory = true;
        return *value;
    }
    for (size_t i = 0; i < value->list.count; i++)
        out.list.items[i] = copy_value(copy, &value->list.items[i]);
    return out;
}

/* Give the tensor of a record to a value that has the same record. */
static bool give_tensor(struct value *giver, void *context)
{
    struct value *taker = context;
    if (giver->tensor.record != taker->tensor.record) return true;
    taker->tensor.tensor = giver->tensor.tensor;
    return false;
}

static bool take_tensor(struct value *taker, void *context)
{
    const struct api_case *giver = context;
    struct value args = giver->args, kwargs = giver->kwargs;
    (void)(value_each_tensor(&args, give_tensor, taker) &&
           value_each_tensor(&kwargs, give_tensor, taker));
    return true;
}

/* Arguments are numbered as the recorded call has them; the translated one gets the changed tensors. */
static struct status change_recorded(struct api_case *out, struct copying *copy)
{
    size_t count = value_count_tensors(&out->args) + value_count_tensors(&out->kwargs);
    struct api_case *recorded = arena_allocate(copy->arena, sizeof *recorded);
    const struct tensor **same = arena_allocate_zeroed(copy->arena, count, sizeof *same);
    if (!recorded || !same) return status_no_memory(0);
    struct copying shared = { copy->arena, same, 0, false };
    *recorded = *out->recorded;
    recorded->args = copy_value(copy, &out->recorded->args);
    recorded->kwargs = copy_value(copy, &out->recorded->kwargs);
    out->recorded = recorded;
    out->args = copy_value(&shared, &out->args);
    out->kwargs = copy_value(&shared, &out->kwargs);
    if (copy->no_memory || shared.no_memory) return status_no_memory(0);
    (void)value_each_tensor(&out->args, take_tensor, recorded);
    (void)value_each_tensor(&out->kwargs, take_tensor, recorded);
    return status_ok();
}

static struct status changed_case(struct api_case *out, const struct api_case *c,
                                  const struct what_if *change, struct arena *arena)
{
    struct copying copy = { arena, change->inputs, 0, false };
    *out = *c;
    if (change->api) out->api = change->api;
    if (!change->inputs) return status_ok();
    if (out->recorded) return change_recorded(out, &copy);
    out->args = copy_value(&copy, &c->args);
    out->kwargs = copy_value(&copy, &c->kwargs);
    return copy.no_memory ? status_no_memory(0) : status_ok();
}

static struct status changed_cotangents(struct value *out, const struct value *cotangents,
                                        const struct what_if *change, struct arena *arena)
{
    struct copying copy = { arena, change->cotangents, 0, false };
    *out = change->cotangents ? copy_value(&copy, cotangents) : *cotangents;
    return copy.no_memory ? status_no_memory(0) : status_ok();
}

/* ---- evaluation ---------------------------------------------------------------------------------- */

/* Where element i of the result lies in a larger one. */
static size_t place_in(const struct node *node, const struct shape_of_result *shape, size_t i)
{
    size_t at = 0, stride = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        at += i % (size_t)shape->extent[d] * stride;
        i /= (size_t)shape->extent[d];
        stride *= (size_t)node->shape[d];
    }
    return at;
}

static bool holds(const struct node *node, const struct shape_of_result *shape)
{
    bool fits = node->rank == shape->rank && dtype_is_complex(node->dtype) == shape->is_complex;
    for (int d = 0; fits && d < node->rank; d++) fits = node->shape[d] >= shape->extent[d];
    return fits;
}

static struct status read_node(double **values, const struct shape_of_result *shape,
                               struct tape *tape, struct node *node, struct arena *arena)
{
    size_t n;
    if (!holds(node, shape) || !shape_elements(&n, shape->rank, shape->extent))
        return status_error(STATUS_SKIP, "the result has another shape");
    double *out = arena_allocate_array(arena, n, shape->is_complex ? 2 * sizeof *out : sizeof *out);
    if (!out) return status_no_memory(n * sizeof *out);
    const double *re = node_values(tape, node);
    const double *im = node->imaginary ? node_values(tape, node->imaginary) : NULL;
    TRY(tape->status);
    for (size_t i = 0; i < n; i++) {
        size_t at = n == node->n ? i : place_in(node, shape, i);
        if (!shape->is_complex) out[i] = re[at];
        else out[2 * i] = re[at], out[2 * i + 1] = im ? im[at] : 0;
    }
    *values = out;
    return status_ok();
}

static struct status evaluate(struct node **node, struct evaluation *evaluation,
                              const struct bench *bench, struct what_result result,
                              const struct what_if *change)
{
    struct call *call = &evaluation->call;
    TRY(evaluation_open(evaluation));
    TRY(evaluation_forward(evaluation));
    if (!result.backward) {
        bool has = result.index < call->results.count && call->results.items[result.index].node;
        *node = has ? call->results.items[result.index].node : NULL;
        return status_ok();
    }
    struct value cotangents;
    TRY(changed_cotangents(&cotangents, bench->cotangents, change, evaluation->arena));
    evaluation->tape.from_outputs = change->from_outputs;
    TRY(evaluation_backward(evaluation, &cotangents));
    *node = result.index < call->arguments.leaf_count
                ? evaluation_gradient(evaluation, result.index)
                : NULL;
    return evaluation->tape.status;
}

/* Bind and evaluate the changed call; *node is the result, or NULL when there is no such. */
static struct status run(struct evaluation **out, struct node **node, const struct bench *bench,
                         struct what_result result, const struct what_if *change,
                         struct arena *arena)
{
    struct evaluation *evaluation = arena_allocate_zeroed(arena, 1, sizeof *evaluation);
    struct api_case *c = arena_allocate(arena, sizeof *c);
    *node = NULL;
    *out = evaluation;
    if (!evaluation || !c) return status_no_memory(sizeof *evaluation);
    if (result.backward && !bench->cotangents)
        return status_error(STATUS_SKIP, "there is no cotangent for any output");
    TRY(changed_case(c, bench->own.call.api_case, change, arena));
    evaluation->arena = arena;
    evaluation->arithmetic = BENCH_NATIVE;
    evaluation->in_double = true;
    evaluation->deviation = change->deviation;
    TRY(call_bind(&evaluation->call, c, arena));
    for (int i = 0; i < change->argument_count; i++)
        evaluation->call.arguments.bound[change->arguments[i].parameter] =
            change->arguments[i].value;
    evaluation->call.device_answer.outputs = bench->own.call.device_answer.outputs;
    return evaluate(node, evaluation, bench, result, change);
}

struct status bench_what_steps(struct what_step *out, size_t *count, size_t most,
                               const struct bench *bench, struct what_result result,
                               const struct what_if *change, struct arena *arena)
{
    struct evaluation *evaluation;
    struct node *node;
    *count = 0;
    TRY(run(&evaluation, &node, bench, result, change, arena));
    const struct node *last = tape_step_of(node);
    for (struct node *step = evaluation->tape.newest; step; step = step->older) {
        if (!step->primitive || tape_step_of(step) != step || *count == most) continue;
        size_t largest = 0;
        for (int i = 0; i < step->input_count; i++)
            if (step->inputs[i]->n > largest) largest = step->inputs[i]->n;
        out[(*count)++] = (struct what_step){ .node = step->id,
                                              .name = step_name(step),
                                              .n = step->n,
                                              .terms = step->n ? largest / step->n : 0,
                                              .inputs = step->input_count,
                                              .inner = step->inner,
                                              .last = step == last };
    }
    return status_ok();
}

struct status bench_what_if(double **values, const struct shape_of_result *shape,
                            const struct bench *bench, struct what_result result,
                            const struct what_if *change, struct arena *arena)
{
    struct evaluation *evaluation;
    struct node *node;
    TRY(run(&evaluation, &node, bench, result, change, arena));
    if (!node) return status_error(STATUS_SKIP, "there is no such result");
    return read_node(values, shape, &evaluation->tape, node, arena);
}
