/* The model is two more evaluations of the call, in the arithmetics that bound a kernel's errors. */
#include "bench/kernel_model.h"

#include <math.h>

static const enum bench_arithmetic model_arithmetics[2] = { BENCH_MODEL_WORST,
                                                            BENCH_MODEL_TYPICAL };

/* A model that cannot be had is left out; memory that is short asks for another attempt. */
static struct status failure_of_model(const struct tape *tape)
{
    return tape->status.code == STATUS_NO_MEMORY ? tape->status : status_ok();
}

/* The modelled error of each component of a result, before its last rounding when that is to the
 * type the kernel computes in. Where nothing is known (a step within reach, say) any value will
 * do. NULL for shapes that differ because of data-dependent choices. */
static struct status modelled_errors(double **errors, struct tape *tape, struct node *node,
                                     const struct reference *r, struct arena *arena)
{
    const struct dtype_info *info = dtype_info(r->dtype);
    size_t parts = dtype_is_complex(r->dtype) ? 2 : 1;
    bool computed_in_it = info->significand_bits == (tape->wide ? 53 : 24);

    *errors = NULL;
    if (tape_failed(tape)) return failure_of_model(tape);
    if (node->integer || node->n * parts != r->n) return status_ok();
    double *out = arena_allocate_array(arena, r->n, sizeof *out);
    if (!out) return status_no_memory(r->n * sizeof *out);
    for (size_t part = 0; part < parts; part++) {
        struct node *x = part ? node->imaginary : node;
        const double *value = x ? node_values(tape, x) : NULL;
        if (x && tape_failed(tape)) return failure_of_model(tape);
        for (size_t i = 0; i < node->n; i++) {
            double e = x ? node_error(x, i) : 0;
            double last = x ? tape->unit * fabs(value[i]) : 0;
            if (e > 0 && computed_in_it)
                e = tape_is_typical(tape) ? sqrt(fmax(e * e - last * last / 3, 0))
                                          : fmax(e - last, 0);
            out[i * parts + part] = e <= info->largest ? e : info->largest;
        }
    }
    *errors = out;
    return status_ok();
}

/* Set the bounds of `r` from the two models' nodes of the same value; nothing when one has none. */
static struct status attach(struct reference *r, struct bench *bench, struct node *const *nodes)
{
    struct arena *arena = bench->own.arena;
    if (r->integer || !nodes[0] || !nodes[1]) return status_ok();
    TRY(modelled_errors(&r->kernel_bound, &bench->models[0]->tape, nodes[0], r, arena));
    if (!r->kernel_bound) return status_ok();
    TRY(modelled_errors(&r->kernel_rms, &bench->models[1]->tape, nodes[1], r, arena));
    for (size_t i = 0; r->kernel_rms && i < r->n; i++)
        if (r->kernel_rms[i] > r->kernel_bound[i]) r->kernel_rms[i] = r->kernel_bound[i];
    return status_ok();
}

struct status bench_model(struct bench *bench)
{
    size_t count = bench->own.call.results.count;
    for (int k = 0; k < 2; k++) {
        struct evaluation *model = arena_allocate_zeroed(bench->own.arena, 1, sizeof *model);
        if (!model) return status_no_memory(0);
        model->arena = bench->own.arena;
        model->arithmetic = model_arithmetics[k];
        model->call = bench->own.call;
        TRY(evaluation_open(model));
        TRY(evaluation_forward(model));
        bench->models[k] = model;
    }
    if (bench->models[0]->call.results.count != count) return status_ok();
    for (size_t i = 0; i < count; i++) {
        if (bench->own.call.results.items[i].kind != BENCH_OUTPUT_TENSOR) continue;
        struct node *nodes[2] = { bench->models[0]->call.results.items[i].node,
                                  bench->models[1]->call.results.items[i].node };
        TRY(attach(&bench->outputs[i].reference, bench, nodes));
    }
    return status_ok();
}

struct status kernel_model_backward(struct bench *bench, const struct value *cotangents)
{
    for (int k = 0; k < 2 && bench->models[k]; k++)
        TRY(evaluation_backward(bench->models[k], cotangents));
    return status_ok();
}

struct status kernel_model_gradient(struct reference *r, struct bench *bench, size_t i)
{
    if (!bench->models[0]) return status_ok();
    struct node *nodes[2] = { evaluation_gradient(bench->models[0], i),
                              evaluation_gradient(bench->models[1], i) };
    return attach(r, bench, nodes);
}
