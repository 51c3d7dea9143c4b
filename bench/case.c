/* A case opened, settled and differentiated: the parts of bench.h that use the others (binding.c,
 * evaluation.c, certify.c, kernel_model.c). native.c, catalogue.c and working_memory.c have the rest. */
#include "bench/bench.h"

#include <string.h>

#include "bench/binding.h"
#include "bench/certify.h"
#include "bench/evaluation.h"
#include "bench/kernel_model.h"
#include "core/checked.h"

static struct status describe_output(struct bench_output *output, struct evaluation *own,
                                     const struct result *result)
{
    output->kind = result->kind;
    output->value = result->value;
    output->property = result->property;
    if (result->kind == BENCH_OUTPUT_TENSOR)
        return reference_over(&output->reference, &own->tape, result->node, result->dtype,
                              own->arena, false);
    if (result->kind == BENCH_OUTPUT_RANDOM) {
        output->reference.dtype = result->dtype;
        output->reference.rank = result->rank;
        memcpy(output->reference.shape, result->shape, sizeof result->shape);
    }
    return status_ok();
}

/* Run forward and describe the results; a native evaluation has no references. */
static struct status evaluate(struct bench *bench)
{
    struct evaluation *own = &bench->own;
    TRY(evaluation_forward(own));
    size_t count = own->call.results.count;
    bench->outputs = arena_allocate_zeroed(own->arena, count, sizeof *bench->outputs);
    if (!bench->outputs) return status_no_memory(0);
    for (size_t i = 0; own->arithmetic == BENCH_REFERENCE && i < count; i++)
        TRY(describe_output(&bench->outputs[i], own, &own->call.results.items[i]));
    return status_ok();
}

struct status bench_open(struct bench **out, const struct api_case *c, struct arena *arena,
                         enum bench_arithmetic arithmetic)
{
    struct bench *bench = arena_allocate_zeroed(arena, 1, sizeof *bench);
    if (!bench) return status_no_memory(0);
    bench->own.arena = arena;
    bench->own.arithmetic = arithmetic;
    TRY(call_bind(&bench->own.call, c, arena));
    TRY(evaluation_open(&bench->own));
    TRY(evaluate(bench));
    *out = bench;
    return status_ok();
}

struct call *bench_call(struct bench *bench) { return &bench->own.call; }

size_t bench_output_count(const struct bench *bench) { return bench->own.call.results.count; }

struct bench_output *bench_output(struct bench *bench, size_t i) { return &bench->outputs[i]; }

void bench_forget_outputs(struct bench *bench)
{
    for (size_t i = 0; !bench->models[0] && i < bench->own.call.results.count; i++)
        if (bench->outputs[i].kind == BENCH_OUTPUT_TENSOR)
            reference_forget(&bench->outputs[i].reference);
}

struct status bench_settle(struct bench *bench, const struct value *got)
{
    bench->own.call.device_answer.outputs = got;
    bench->own.call.device_answer.is_derived = false;
    if (!bench->own.call.device_answer.consulted)
        return status_ok(); /* a gradient property asks later */
    TRY(evaluate(bench));
    return bench->models[0] ? bench_model(bench) : status_ok();
}

/* The gradients of a random op: a property of each leaf's. */
static struct status random_gradient(struct bench_output *out, struct bench *bench,
                                     const struct value *cotangents)
{
    struct tape *tape = &bench->own.tape;
    struct call *call = &bench->own.call;
    const struct value *value = cotangents->list.count ? cotangents->list.items : NULL;
    const struct result *result = &call->results.items[0];
    size_t n;
    if (!value || value->kind != VALUE_TENSOR || !value->tensor.tensor)
        return status_error(STATUS_SKIP, "there is no cotangent for any output");
    if (!call->arguments.leaf_count || !call->arguments.leaves[0].node)
        return status_error(STATUS_SKIP, "no tensor argument takes part in the call");
    struct node *seed = node_leaf(tape, value->tensor.tensor, false);
    TRY(tape->status);
    if (!shape_elements(&n, result->rank, result->shape) || seed->n != n)
        return status_error(STATUS_SKIP, "the recorded gradient does not have the output's shape");
    for (size_t i = 0; i < call->arguments.leaf_count; i++) {
        const struct node *leaf = call->arguments.leaves[i].node;
        if (!leaf || !leaf->tracked) continue;
        out[i].property = call->results.gradient_property(call, seed, i);
        TRY(tape->status);
        if (!out[i].property) continue;
        out[i].kind = BENCH_OUTPUT_RANDOM;
        out[i].reference.dtype = call->arguments.leaves[i].value->tensor.tensor->dtype;
        out[i].reference.rank = leaf->rank;
        memcpy(out[i].reference.shape, leaf->shape, sizeof out[i].reference.shape);
    }
    return tape->status;
}

struct status bench_backward(struct bench_output **gradients, size_t *count, struct bench *bench,
                             const struct value *cotangents)
{
    struct evaluation *own = &bench->own;
    struct call *call = &own->call;
    struct bench_output *out =
        arena_allocate_zeroed(own->arena, call->arguments.leaf_count, sizeof *out);
    if (!out) return status_no_memory(0);
    *gradients = out;
    *count = call->arguments.leaf_count;
    if (call->results.gradient_property) return random_gradient(out, bench, cotangents);
    own->tape.is_modelled = bench->models[0];
    TRY(evaluation_backward(own, cotangents));
    for (size_t i = 0; i < call->arguments.leaf_count; i++) {
        struct node *gradient = evaluation_gradient(own, i);
        TRY(own->tape.status);
        if (!gradient) continue;
        out[i].kind = BENCH_OUTPUT_TENSOR;
        TRY(reference_over(&out[i].reference, &own->tape, gradient,
                           call->arguments.leaves[i].value->tensor.tensor->dtype, own->arena,
                           true));
    }
    /* The models take the values that references keep. */
    TRY(kernel_model_backward(bench, cotangents));
    for (size_t i = 0; i < call->arguments.leaf_count; i++)
        if (out[i].kind == BENCH_OUTPUT_TENSOR)
            TRY(kernel_model_gradient(&out[i].reference, bench, i));
    return status_ok();
}
