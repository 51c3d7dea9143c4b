/* A mode that shortens the factors of products has one result, apart from how sums are rounded: that of the shortened
 * factors. So the reference moves there, by an evaluation in double whose products shorten their factors, and the
 * bounds stay those of a float32 kernel, but for what is open about the shortening (primitives/short_factors.h): an
 * allowance that hides nothing else. The other modes widen the bounds. */
#include "bench/allowed_model.h"

#include <math.h>
#include <string.h>

#include "bench/model_errors.h"
#include "bench/model_pair.h"
#include "bench/primitives/binary_functions.h"
#include "bench/primitives/short_factors.h"
#include "bench/primitives/unary_functions.h"
#include "bench/what_if.h"
#include "core/nearest_name.h"

struct allowed_context {
    struct bench *bench;
    size_t i;
    bool gradient;
};

static bool same_modes(const struct kernel_modes *a, const struct kernel_modes *b)
{
    char x[KERNEL_MODES_BYTES], y[KERNEL_MODES_BYTES];
    kernel_modes_text(x, a);
    kernel_modes_text(y, b);
    return !strcmp(x, y);
}

static struct status open_models(struct bench *bench, const struct kernel_modes *modes)
{
    if (bench->allowed[1] && same_modes(&bench->allowed_modes, modes)) return status_ok();
    bench->allowed_modes = *modes;
    bench->allowed[1] = NULL;
    bench->allowed_walked = false;
    return model_pair_open(bench->allowed, bench, DT_NONE, &bench->allowed_modes);
}

static struct status walk_models(struct bench *bench)
{
    if (bench->allowed_walked || !bench->cotangents) return status_ok();
    for (int k = 0; k < 2; k++) TRY(evaluation_backward(bench->allowed[k], bench->cotangents));
    bench->allowed_walked = true;
    return status_ok();
}

static struct node *node_of(const struct allowed_context *context, int k)
{
    struct evaluation *model = context->bench->allowed[k];
    if (context->gradient) return evaluation_gradient(model, context->i);
    return context->i < model->call.results.count ? model->call.results.items[context->i].node
                                                  : NULL;
}

/* The bounds of kernels in these modes; *can stays false where there are none. */
static struct status bound_errors(struct reference *out, bool *can,
                                  const struct allowed_context *context,
                                  const struct kernel_modes *modes)
{
    struct bench *bench = context->bench;
    struct arena *arena = bench->own.arena;
    double **errors[2] = { &out->kernel_bound, &out->kernel_rms };

    struct status st = open_models(bench, modes);
    if (!st.code && context->gradient) st = walk_models(bench);
    if (st.code) return st.code == STATUS_NO_MEMORY ? st : status_ok();
    for (int k = 0; k < 2; k++) {
        struct node *node = node_of(context, k);
        if (!node || node->integer) return status_ok();
        TRY(model_errors(errors[k], &bench->allowed[k]->tape, node, out,
                         k ? out->kernel_bound : NULL, false, arena));
        if (!*errors[k]) return status_ok();
    }
    *can = true;
    return status_ok();
}

/* The values with shortened factors in place of the exact ones. */
static struct status move_values(struct reference *out, bool *can,
                                 const struct allowed_context *context,
                                 const struct deviation *deviation)
{
    const struct what_result result = { context->gradient, context->i };
    const struct what_if change = { .deviation = deviation };
    const struct shape_of_result shape = { out->rank, out->shape, dtype_is_complex(out->dtype) };
    double *moved;

    struct status st =
        bench_what_if(&moved, &shape, context->bench, result, &change, context->bench->own.arena);
    *can = !st.code;
    if (st.code) return st.code == STATUS_NO_MEMORY ? st : status_ok();
    out->hi = moved;
    out->lo = NULL;
    return status_ok();
}

static struct status allow(struct reference *out, bool *can, struct reference *reference,
                           const struct kernel_modes *modes, bool cut_off)
{
    const struct allowed_context *context = reference->allow_context;
    struct deviation deviation;
    bool shortens = short_factors_of(&deviation, modes, cut_off);

    *can = false;
    *out = *reference;
    out->refine = NULL;
    out->stage = NULL;
    TRY(bound_errors(out, can, context, modes));
    bool moves = *can && shortens && !context->bench->allowed[0]->tape.wide;
    return moves ? move_values(out, can, context, &deviation) : status_ok();
}

struct status allowed_model_offer(struct reference *r, struct bench *bench, size_t i, bool gradient)
{
    if (!r->kernel_bound) return status_ok();
    struct allowed_context *context = arena_allocate(bench->own.arena, sizeof *context);
    if (!context) return status_no_memory(sizeof *context);
    *context = (struct allowed_context){ bench, i, gradient };
    r->allow = allow;
    r->allow_context = context;
    return status_ok();
}

/* ---- names ----------------------------------------------------------------------------------- */

struct status bench_check_functions(const struct kernel_modes *modes)
{
    enum { MOST_FUNCTIONS = 256 };
    const char *names[MOST_FUNCTIONS];
    size_t unary_count, binary_count, count = 0;
    const struct unary_function *unary = unary_functions(&unary_count);
    const struct binary_function *binary = binary_functions(&binary_count);
    for (size_t i = 0; i < unary_count && count < MOST_FUNCTIONS; i++)
        if (unary[i].ulps != 0) names[count++] = unary[i].name;
    for (size_t i = 0; i < binary_count && count < MOST_FUNCTIONS; i++)
        names[count++] = binary[i].name;
    for (size_t k = 0; k < modes->function_count; k++) {
        const char *name = modes->functions[k].name, *nearest = nearest_name(name, names, count);
        if (!nearest || strcmp(nearest, name) != 0)
            return status_error(STATUS_BAD_ARGUMENT,
                                "fast-math knows no function '%s'; the nearest is '%s'", name,
                                nearest ? nearest : "");
    }
    return status_ok();
}
