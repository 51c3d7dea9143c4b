/* The model is two more evaluations of the call, in the arithmetics that bound a kernel's errors. */
#include "bench/kernel_model.h"

#include "bench/allowed_model.h"
#include "bench/model_errors.h"
#include "bench/model_pair.h"
#include "bench/short_products.h"
#include "bench/staged_model.h"
#include "bench/stored_outputs.h"

/* Set the bounds of `r` from the two models' nodes of the same value; nothing when one has none. */
static struct status attach(struct reference *r, struct bench *bench, struct node *const *nodes)
{
    struct arena *arena = bench->own.arena;
    if (r->integer || !nodes[0] || !nodes[1]) return status_ok();
    TRY(model_errors(&r->kernel_bound, &bench->models[0]->tape, nodes[0], r, arena));
    if (!r->kernel_bound) return status_ok();
    TRY(model_errors(&r->kernel_rms, &bench->models[1]->tape, nodes[1], r, arena));
    for (size_t i = 0; r->kernel_rms && i < r->n; i++)
        if (r->kernel_rms[i] > r->kernel_bound[i]) r->kernel_rms[i] = r->kernel_bound[i];
    return status_ok();
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
        TRY(attach(&bench->outputs[i].reference, bench, nodes));
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

struct status kernel_model_gradient(struct reference *r, struct bench *bench, size_t i)
{
    if (!bench->models[0]) return status_ok();
    struct node *nodes[2] = { evaluation_gradient(bench->models[0], i),
                              evaluation_gradient(bench->models[1], i) };
    TRY(attach(r, bench, nodes));
    TRY(staged_model_offer(r, bench, i, true));
    TRY(allowed_model_offer(r, bench, i, true));
    TRY(stored_outputs_offer(r, bench, i));
    return short_products_offer(r, bench, i, true);
}
