/* The model is two more evaluations of the call, in the arithmetics that bound a kernel's errors. */
#include "bench/kernel_model.h"

#include "bench/allowed_model.h"
#include "bench/equal_inputs.h"
#include "bench/model_errors.h"
#include "bench/model_pair.h"
#include "bench/own_bits.h"
#include "bench/shared_errors.h"
#include "bench/short_products.h"
#include "bench/staged_model.h"
#include "bench/stored_outputs.h"

/* Set the bounds of `r` from the two models' nodes of the same value; nothing when one has none. */
static struct status attach(struct reference *r, struct bench *bench,
                            struct evaluation *const *models, struct node *const *nodes,
                            const bool *taken)
{
    struct arena *arena = bench->own.arena;
    if (r->integer || !nodes[0] || !nodes[1]) return status_ok();
    TRY(model_errors(&r->kernel_bound, &models[0]->tape, nodes[0], r, NULL, taken[0], arena));
    if (!r->kernel_bound) return status_ok();
    bool exact = node_is_exact(nodes[0]) && node_is_exact(nodes[1]);
    if (exact && !nodes[0]->imaginary) {
        r->kernel_rms = r->kernel_bound;
        return status_ok();
    }
    r->kernel_draws = shared_error_count(&models[0]->tape, nodes[0]);
    r->kernel_common = errors_in_common(&models[1]->tape, nodes[1]);
    r->kernel_inputs = equal_inputs(&models[0]->tape, nodes[0]);
    r->kernel_own_bits = has_own_bits(&models[0]->tape, nodes[0]);
    for (int k = 0; k < 2; k++) TRY(models[k]->tape.status);
    return model_errors(&r->kernel_rms, &models[1]->tape, nodes[1], r, r->kernel_bound, taken[1],
                        arena);
}

struct status bench_model(struct bench *bench)
{
    size_t count = bench->own.call.results.count;
    TRY(model_pair_open(bench->models, bench, DT_NONE, NULL));
    if (bench->models[0]->call.results.count != count) return status_ok();
    for (size_t i = 0; i < count; i++) {
        if (bench->own.call.results.items[i].kind != BENCH_OUTPUT_TENSOR) continue;
        struct node *nodes[2] = { bench->models[0]->call.results.items[i].node,
                                  bench->models[1]->call.results.items[i].node };
        /* The walk back reads the errors of results. */
        static const bool taken[2] = { false, false };
        TRY(attach(&bench->outputs[i].reference, bench, bench->models, nodes, taken));
        TRY(staged_model_offer(&bench->outputs[i].reference, bench, i, false));
        TRY(allowed_model_offer(&bench->outputs[i].reference, bench, i, false));
        TRY(short_products_offer(&bench->outputs[i].reference, bench, i, false));
    }
    return status_ok();
}

struct status kernel_model_backward(struct bench *bench, const struct value *cotangents)
{
    bench->cotangents = cotangents;
    for (int k = 0; k < 2 && bench->models[k]; k++)
        TRY(evaluation_backward(bench->models[k], cotangents));
    return status_ok();
}

/* Does the call turn floats of at most 24 bits into float64, by its dtype argument? Its gradient is cast to the dtype
 * of the argument first (grad.to(self.scalar_type()) in PyTorch's derivatives.yaml) and computed in that one's arithmetic. */
static bool widens(const struct bench *bench)
{
    const struct call *call = &bench->own.call;
    bool floats = false;
    if (!bench->models[0]->tape.wide) return false;
    for (size_t i = 0; i < call->arguments.leaf_count; i++) {
        const struct tensor *tensor = call->arguments.leaves[i].value->tensor.tensor;
        if (!tensor || !dtype_is_float(tensor->dtype)) continue;
        floats = true;
        if (dtype_info(tensor->dtype)->significand_bits > 24) return false;
    }
    return floats;
}

/* The models of such a call in float32, walked back; its cotangent has been rounded once. */
static struct status open_narrow(struct bench *bench)
{
    if (bench->narrow[0]) return status_ok();
    for (int k = 0; k < 2; k++) {
        struct evaluation *model = arena_allocate_zeroed(bench->own.arena, 1, sizeof *model);
        if (!model) return status_no_memory(sizeof *model);
        model->arena = bench->own.arena;
        model->arithmetic = bench->models[k]->arithmetic;
        model->stage = DT_NONE;
        model->narrow = true;
        model->call = bench->own.call;
        TRY(evaluation_open(model));
        TRY(evaluation_forward(model));
        TRY(evaluation_backward(model, bench->cotangents));
        bench->narrow[k] = model;
    }
    return status_ok();
}

/* Has the gradient of argument i an array of errors that no other gradient has? After the walk nothing else reads it. */
static bool is_own(const struct evaluation *model, const struct node *gradient, size_t i)
{
    if (!gradient || !gradient->error) return false;
    for (size_t j = 0; j < model->call.arguments.leaf_count; j++) {
        const struct node *leaf = model->call.arguments.leaves[j].node;
        const struct node *other = j != i && leaf ? leaf->cotangent : NULL;
        if (other && other->error && other->error < gradient->error + gradient->n &&
            gradient->error < other->error + other->n)
            return false;
    }
    return true;
}

static struct status attach_gradient(struct reference *r, struct bench *bench,
                                     struct evaluation *const *models, size_t i)
{
    struct node *nodes[2] = { evaluation_gradient(models[0], i),
                              evaluation_gradient(models[1], i) };
    const bool taken[2] = { is_own(models[0], nodes[0], i), is_own(models[1], nodes[1], i) };
    return attach(r, bench, models, nodes, taken);
}

struct status kernel_model_gradient(struct reference *r, struct bench *bench, size_t i)
{
    if (!bench->models[0]) return status_ok();
    if (widens(bench)) {
        TRY(open_narrow(bench));
        return attach_gradient(r, bench, bench->narrow, i);
    }
    TRY(attach_gradient(r, bench, bench->models, i));
    TRY(staged_model_offer(r, bench, i, true));
    TRY(allowed_model_offer(r, bench, i, true));
    TRY(stored_outputs_offer(r, bench, i));
    return short_products_offer(r, bench, i, true);
}
