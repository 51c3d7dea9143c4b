/* One evaluation in double with shortened factors each, made when a verdict asks for it. */
#include "bench/short_products.h"

#include "bench/primitives/short_factors.h"
#include "bench/what_if.h"

struct short_context {
    struct bench *bench;
    struct what_result result;
};

static struct status shorten(double **values, struct reference *r, enum short_format format)
{
    const struct short_context *context = r->shorten_context;
    struct bench *bench = context->bench;
    const struct deviation deviation = short_factors_in(format);
    const struct what_if change = { .deviation = &deviation };
    const struct shape_of_result shape = { r->rank, r->shape, dtype_is_complex(r->dtype) };

    *values = NULL;
    if (!bench_steps(bench).products) return status_ok();
    struct status st =
        bench_what_if(values, &shape, bench, context->result, &change, bench->own.arena);
    if (!st.code) return st;
    *values = NULL;
    return st.code == STATUS_NO_MEMORY ? st : status_ok();
}

struct status short_products_offer(struct reference *r, struct bench *bench, size_t i,
                                   bool gradient)
{
    if (!r->kernel_bound || dtype_info(r->dtype)->significand_bits > 24) return status_ok();
    struct short_context *context = arena_allocate(bench->own.arena, sizeof *context);
    if (!context) return status_no_memory(sizeof *context);
    *context = (struct short_context){ bench, { gradient, i } };
    r->shorten = shorten;
    r->shorten_context = context;
    return status_ok();
}
