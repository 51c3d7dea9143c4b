/* Two passes: the limits with the largest quotient, and what is beyond them. */
#include "standards/element_limits.h"

#include <math.h>

double element_wanted(const struct reference *want, size_t i)
{
    return want->integer ? (double)want->integer[i] : want->hi[i];
}

static double limit_of(const struct reference *want, size_t i)
{
    double hi = want->integer ? 0 : want->hi[i];
    if (want->integer || !isfinite(hi)) return 0;
    double allowed = 0.5 * dtype_ulp(dtype_component(want->dtype), hi) + reference_bound(want, i);
    return want->kernel_bound ? allowed + want->kernel_bound[i] : allowed;
}

/* |got - want| over what is allowed; infinite for a wrong kind of value. */
static double quotient_of(double got, double want, double allowed)
{
    if (got == want || (isnan(got) && isnan(want))) return 0;
    if (!isfinite(got) || !isfinite(want)) return INFINITY;
    return allowed > 0 ? fabs(got - want) / allowed : INFINITY;
}

static double largest_quotient(struct element_limits *out, const struct reference *want)
{
    double largest = 0;
    for (size_t i = 0; i < out->n; i++) {
        double q = quotient_of(out->got[i], element_wanted(want, i), out->allowed[i]);
        if (q <= largest) continue;
        largest = q;
        out->worst = i;
    }
    return largest;
}

static void note_wrong(struct element_limits *out, const struct reference *want)
{
    for (size_t i = 0; i < out->n; i++) {
        if (quotient_of(out->got[i], element_wanted(want, i), out->allowed[i]) <= 1) continue;
        if (!out->wrong++) out->first = i;
    }
}

struct status element_limits_measure(struct element_limits *out, struct arena *arena,
                                     const struct tensor *got, const struct reference *want)
{
    struct tensor dense;
    *out = (struct element_limits){ .n = want->n, .scale = 1 };
    out->allowed = arena_allocate_array(arena, out->n, sizeof *out->allowed);
    out->got = arena_allocate_array(arena, out->n, sizeof *out->got);
    if (!out->allowed || !out->got) return status_no_memory(2 * out->n * sizeof *out->got);
    TRY(tensor_densify(&dense, arena, got));
    dtype_to_double(out->got, dense.data, dense.dtype, tensor_elements(&dense));
    for (size_t i = 0; i < out->n; i++) out->allowed[i] = limit_of(want, i);
    double largest = largest_quotient(out, want);
    bool modelled = want->kernel_bound && largest > 1;
    if (!modelled && largest > 0 && isfinite(largest)) out->scale = largest / 2;
    for (size_t i = 0; i < out->n; i++) out->allowed[i] *= out->scale;
    note_wrong(out, want);
    return status_ok();
}
