/* The reference and its two models once more, with the device's values as the results, exact, before the walk back.
 * Primitives whose formula has their own result read it there; what a formula takes from the arguments is as before. */
#include "bench/stored_outputs.h"

#include <math.h>

#include "bench/model_errors.h"

struct stored_context {
    struct bench *bench;
    size_t i;
};

enum { REFERENCE, WORST, TYPICAL, EVALUATIONS };
static const enum bench_arithmetic arithmetics[EVALUATIONS] = {
    [REFERENCE] = BENCH_REFERENCE, [WORST] = BENCH_MODEL_WORST, [TYPICAL] = BENCH_MODEL_TYPICAL
};

/* The device's result k; false when it is not known. */
static bool device_result(struct tensor *out, const struct bench *bench, size_t k,
                          const struct node *node)
{
    const struct value *outputs = bench->own.call.device_answer.outputs;
    if (!outputs || k >= outputs->list.count) return false;
    const struct value *value = &outputs->list.items[k];
    if (value->kind != VALUE_TENSOR || !value->tensor.tensor || dtype_is_complex(node->dtype) ||
        node->integer || !dtype_is_float(value->tensor.tensor->dtype))
        return false;
    return !tensor_densify(out, bench->own.arena, value->tensor.tensor).code &&
           tensor_elements(out) == node->n;
}

/* Put the elements of a tensor in place of those of a node that has been computed, and of all that share them. */
static bool store(struct tape *tape, struct node *node, const struct tensor *tensor)
{
    (void)node_values(tape, node);
    if (tape_failed(tape) || !node->primitive || node->imaginary) return false;
    double *value = node->value;
    for (struct node *sharing = node; sharing->primitive && sharing->value == value;
         sharing = sharing->inputs[0]) {
        sharing->error = NULL;
        sharing->relative = sharing->absolute = 0;
        if (sharing->input_count < 1) break;
        if (!sharing->inputs[0]->primitive && sharing->inputs[0]->value == value)
            return false; /* an argument itself */
    }
    dtype_to_double(value, tensor->data, tensor->dtype, node->n);
    return true;
}

static struct status evaluate(struct evaluation **out, bool *can, struct bench *bench, int k)
{
    struct evaluation *e = arena_allocate_zeroed(bench->own.arena, 1, sizeof *e);
    if (!e) return status_no_memory(sizeof *e);
    e->arena = bench->own.arena;
    e->arithmetic = arithmetics[k];
    e->stage = DT_NONE;
    e->call = bench->own.call;
    TRY(evaluation_open(e));
    TRY(evaluation_forward(e));
    *can = false;
    for (size_t r = 0; r < e->call.results.count; r++) {
        struct tensor stored;
        struct node *node = e->call.results.items[r].node;
        if (e->call.results.items[r].kind == BENCH_OUTPUT_TENSOR && node &&
            device_result(&stored, bench, r, node))
            *can |= store(&e->tape, node, &stored);
    }
    *out = e;
    if (!*can) return status_ok();
    e->tape.from_outputs = true;
    return evaluation_backward(e, bench->cotangents);
}

static struct status from_outputs(struct reference *out, bool *can, struct reference *r)
{
    const struct stored_context *context = r->from_outputs_context;
    struct bench *bench = context->bench;
    struct evaluation *evaluations[EVALUATIONS];
    struct node *nodes[EVALUATIONS];

    *can = false;
    r->from_outputs = NULL; /* once */
    for (int k = 0; k < EVALUATIONS; k++) {
        bool has = false;
        struct status st = evaluate(&evaluations[k], &has, bench, k);
        if (st.code == STATUS_NO_MEMORY) return st;
        nodes[k] = st.code || !has ? NULL : evaluation_gradient(evaluations[k], context->i);
        if (!nodes[k] || nodes[k]->integer || nodes[k]->imaginary || nodes[k]->n != r->n)
            return status_ok();
    }
    *out = *r;
    out->hi = (double *)(uintptr_t)node_values(&evaluations[REFERENCE]->tape, nodes[REFERENCE]);
    out->lo = NULL;
    out->error = nodes[REFERENCE]->error;
    out->relative = nodes[REFERENCE]->relative;
    out->absolute = nodes[REFERENCE]->absolute;
    out->refine = NULL;
    out->stage = NULL;
    double **errors[EVALUATIONS] = { NULL, &out->kernel_bound, &out->kernel_rms };
    for (int k = WORST; k < EVALUATIONS; k++) {
        TRY(model_errors(errors[k], &evaluations[k]->tape, nodes[k], out,
                         k > WORST ? out->kernel_bound : NULL, false, bench->own.arena));
        if (!*errors[k]) return status_ok();
    }
    *can = evaluations[REFERENCE]->tape.status.code == STATUS_OK;
    return status_ok();
}

struct status stored_outputs_offer(struct reference *r, struct bench *bench, size_t i)
{
    if (!r->kernel_bound || dtype_info(r->dtype)->significand_bits >= 24 ||
        dtype_is_complex(r->dtype))
        return status_ok();
    struct stored_context *context = arena_allocate(bench->own.arena, sizeof *context);
    if (!context) return status_no_memory(sizeof *context);
    *context = (struct stored_context){ bench, i };
    r->from_outputs = from_outputs;
    r->from_outputs_context = context;
    return status_ok();
}
