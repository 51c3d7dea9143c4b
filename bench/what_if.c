/* A changed call is an evaluation of its own: the case is copied with its new tensors, bound, and run on a
 * tape that works in double without bounds. */
#include "bench/what_if.h"

#include <math.h>
#include <string.h>

#include "bench/binding.h"
#include "bench/evaluation.h"

const struct schema *bench_schema(const struct bench *bench)
{
    return bench->own.call.arguments.schema;
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

/* Products have more terms than elements: of (m, k) and (k, n) the root of mk kn mn. */
static double node_work(const struct node *node)
{
    double work = (double)node->n, product = (double)node->n;
    for (int i = 0; i < node->input_count; i++) {
        work += (double)node->inputs[i]->n;
        product *= (double)node->inputs[i]->n;
    }
    bool multiplies = node->primitive && (!strcmp(node->primitive->name, "a matrix product") ||
                                          !strcmp(node->primitive->name, "a convolution"));
    return multiplies ? fmax(work, sqrt(product)) : work;
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
        const char *name = node->primitive->name;
        bool product = !strcmp(name, "a matrix product") || !strcmp(name, "a convolution");
        bool folds = node->n < node->inputs[0]->n;
        steps.products |= product;
        steps.sums |= product || folds || strstr(name, "sum") || strstr(name, "softmax");
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

static struct status changed_case(struct api_case *out, const struct api_case *c,
                                  const struct what_if *change, struct arena *arena)
{
    struct copying copy = { arena, change->inputs, 0, false };
    *out = *c;
    if (!change->inputs) return status_ok();
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

static struct status read_node(double **values, size_t n, struct tape *tape, struct node *node,
                               struct arena *arena)
{
    bool complex = node->imaginary || dtype_is_complex(node->dtype);
    if (node->n * (complex ? 2 : 1) != n)
        return status_error(STATUS_SKIP, "the result has another size");
    double *out = arena_allocate_array(arena, n, sizeof *out);
    if (!out) return status_no_memory(n * sizeof *out);
    const double *re = node_values(tape, node);
    const double *im = node->imaginary ? node_values(tape, node->imaginary) : NULL;
    TRY(tape->status);
    for (size_t i = 0; i < node->n; i++) {
        if (!complex) out[i] = re[i];
        else out[2 * i] = re[i], out[2 * i + 1] = im ? im[i] : 0;
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
    TRY(evaluation_backward(evaluation, &cotangents));
    *node = result.index < call->arguments.leaf_count
                ? evaluation_gradient(evaluation, result.index)
                : NULL;
    return evaluation->tape.status;
}

struct status bench_what_if(double **values, size_t n, const struct bench *bench,
                            struct what_result result, const struct what_if *change,
                            struct arena *arena)
{
    struct evaluation *evaluation = arena_allocate_zeroed(arena, 1, sizeof *evaluation);
    struct api_case *c = arena_allocate(arena, sizeof *c);
    struct node *node = NULL;
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
    TRY(evaluate(&node, evaluation, bench, result, change));
    if (!node) return status_error(STATUS_SKIP, "there is no such result");
    return read_node(values, n, &evaluation->tape, node, arena);
}
