/* References whose own bound could decide a verdict.
 *
 * A metric computed from a reference is off by what the bounds of its elements allow, so a count
 * or a maximum is certain unless an element's interval contains a threshold. Those elements, and
 * the worst ones, are recomputed to 2^-10 ulp before anything is printed. Elements that cannot
 * change a verdict keep the bound they have; the evidence says how wide it is.
 */
#include "standards/judge_refine.h"

#include <math.h>

/* Most elements that one output may have recomputed. */
enum { MOST_REFINED = 4096 };

static bool straddles(double value, double limit, double slack)
{
    return fabs(value - limit) <= slack;
}

/* Can the bound on element i change which side of a threshold it is on? */
static bool decides(const struct reference *want, const struct metrics_parameters *p, size_t i,
                    double got, double abs_limit, enum dtype dtype)
{
    double bound = reference_bound(want, i), magnitude = fabs(want->hi[i]);
    double error = want->lo ? (got - want->hi[i]) - want->lo[i] : got - want->hi[i];
    double abs_error = fabs(error), base = magnitude + p->bench_epsilon;

    if (!(bound > 0) || !isfinite(error)) return false;
    for (int k = 0; k < 3; k++)
        if (straddles(abs_error, p->within[k] * base, bound * (1 + p->within[k]))) return true;
    return straddles(abs_error, p->relative_tolerance * base,
                     bound * (1 + p->relative_tolerance)) ||
           straddles(abs_error, p->small_value_atol, bound) ||
           straddles(abs_error, abs_limit, bound) || straddles(magnitude, p->small_value, bound) ||
           straddles(abs_error, p->ulp_limit * dtype_ulp(dtype, want->hi[i]), bound);
}

static void add_worst(size_t *list, size_t *count, const struct worst_element *worst)
{
    if (worst->index != SIZE_MAX) list[(*count)++] = worst->index;
}

struct status row_refine(struct row *row, struct reference *want, const struct tensor *got,
                         const struct metrics_parameters *parameters, bool *refined)
{
    const struct metrics *metrics = &row->out->metrics;
    double abs_limit = row_limit(row, LIMIT_MAX_ABS_ERROR);
    size_t count = 0, bytes = dtype_info(row->device)->bytes, *list;

    *refined = false;
    if (want->state != REFERENCE_BOUNDED || !want->refine) return status_ok();
    list = arena_allocate_array(row->arena, MOST_REFINED + 3, sizeof *list);
    if (!list) return status_no_memory((MOST_REFINED + 3) * sizeof *list);
    add_worst(list, &count, &metrics->worst_abs);
    add_worst(list, &count, &metrics->worst_relative);
    add_worst(list, &count, &metrics->worst_ulp);
    for (size_t i = 0; i < want->n && count < MOST_REFINED; i++) {
        double value;
        dtype_to_double(&value, (const char *)got->data + i * bytes, row->device, 1);
        if (decides(want, parameters, i, value, abs_limit, row->device)) list[count++] = i;
    }
    *refined = count > 0;
    return count ? want->refine(want, count, list, 0x1p-10) : status_ok();
}
