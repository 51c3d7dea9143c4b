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

/* The node of output i, or of the gradient of tensor argument i; NULL when it has none. */
static struct node *node_of(struct evaluation *model, size_t i, bool gradient)
{
    return gradient ? evaluation_gradient(model, i) : model->call.results.items[i].node;
}

/* Has the gradient of argument i an array of errors that no other gradient has, or will be made of? After the walk nothing else
 * reads it. */
static bool is_own(const struct evaluation *model, const struct node *gradient, size_t i)
{
    if (!gradient || !gradient->error) return false;
    for (size_t j = 0; j < model->call.arguments.leaf_count; j++) {
        const struct node *leaf = model->call.arguments.leaves[j].node;
        const struct node *other = j != i && leaf ? leaf->cotangent : NULL;
        if (other && node_is_deferred(other)) return false;
        if (other && other->error && other->error < gradient->error + gradient->n &&
            gradient->error < other->error + other->n)
            return false;
    }
    return true;
}

/* The errors of a node in one of the models. The walk back reads those of results, so their arrays are not taken. */
static struct status errors_of(double **errors, struct evaluation *model, size_t i, bool gradient,
                               const struct reference *r, const double *most)
{
    struct node *node = node_of(model, i, gradient);
    *errors = NULL;
    if (!node) return status_ok();
    bool taken = gradient && is_own(model, node, i);
    return model_errors(errors, &model->tape, node, r, most, taken, model->arena);
}

static bool all_zero(const double *x, size_t n)
{
    size_t i = 0;
    while (i < n && x[i] == 0) i++;
    return i == n;
}

/* The typical model, which most calls need for few of their results or none: evaluated, and walked back for a gradient. */
static struct status typical_ready(struct bench *bench, struct evaluation *const *models,
                                   bool gradient)
{
    if (models != bench->models) return status_ok();
    if (!bench->models[MODEL_TYPICAL])
        TRY(model_open(bench->models, MODEL_TYPICAL, bench, DT_NONE, NULL));
    if (!gradient || bench->typical_walked) return status_ok();
    bench->typical_walked = true;
    return evaluation_backward(bench->models[MODEL_TYPICAL], bench->cotangents);
}

/* Set the bounds of `r`, output i or the gradient of tensor argument i. Where no kernel errs, it does not in the mean. */
static struct status attach(struct reference *r, struct bench *bench,
                            struct evaluation *const *models, size_t i, bool gradient)
{
    if (r->integer) return status_ok();
    TRY(errors_of(&r->kernel_bound, models[MODEL_WORST], i, gradient, r, NULL));
    if (!r->kernel_bound) return status_ok();
    if (all_zero(r->kernel_bound, r->n)) {
        r->kernel_rms = r->kernel_bound;
        return status_ok();
    }
    TRY(typical_ready(bench, models, gradient));
    struct tape *tape = &models[MODEL_WORST]->tape, *typical = &models[MODEL_TYPICAL]->tape;
    struct node *node = node_of(models[MODEL_WORST], i, gradient),
                *other = node_of(models[MODEL_TYPICAL], i, gradient);
    if (!other) {
        r->kernel_bound = NULL;
        return status_ok();
    }
    r->kernel_draws = shared_error_count(tape, node);
    r->kernel_common = errors_in_common(typical, other);
    r->kernel_inputs = equal_inputs(tape, node);
    r->kernel_own_bits = has_own_bits(tape, node);
    TRY(tape->status);
    TRY(typical->status);
    return errors_of(&r->kernel_rms, models[MODEL_TYPICAL], i, gradient, r, r->kernel_bound);
}

struct status bench_model(struct bench *bench)
{
    size_t count = bench->own.call.results.count;
    bench->models[MODEL_TYPICAL] = NULL;
    bench->typical_walked = false;
    TRY(model_open(bench->models, MODEL_WORST, bench, DT_NONE, NULL));
    if (bench->models[MODEL_WORST]->call.results.count != count) return status_ok();
    for (size_t i = 0; i < count; i++) {
        if (bench->own.call.results.items[i].kind != BENCH_OUTPUT_TENSOR) continue;
        TRY(attach(&bench->outputs[i].reference, bench, bench->models, i, false));
        TRY(staged_model_offer(&bench->outputs[i].reference, bench, i, false));
        TRY(allowed_model_offer(&bench->outputs[i].reference, bench, i, false));
        TRY(short_products_offer(&bench->outputs[i].reference, bench, i, false));
    }
    return status_ok();
}

struct status kernel_model_backward(struct bench *bench, const struct value *cotangents)
{
    bench->cotangents = cotangents;
    if (!bench->models[MODEL_WORST]) return status_ok();
    return evaluation_backward(bench->models[MODEL_WORST], cotangents);
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
        struct evaluation *model[2] = { NULL, NULL };
        TRY(model_open_narrow(model, k, bench));
        TRY(evaluation_backward(model[k], bench->cotangents));
        bench->narrow[k] = model[k];
    }
    return status_ok();
}

struct status kernel_model_gradient(struct reference *r, struct bench *bench, size_t i)
{
    if (!bench->models[0]) return status_ok();
    if (widens(bench)) {
        TRY(open_narrow(bench));
        return attach(r, bench, bench->narrow, i, true);
    }
    TRY(attach(r, bench, bench->models, i, true));
    TRY(staged_model_offer(r, bench, i, true));
    TRY(allowed_model_offer(r, bench, i, true));
    TRY(stored_outputs_offer(r, bench, i));
    return short_products_offer(r, bench, i, true);
}
