/* References whose own bound could decide a verdict.
 *
 * A metric computed from a reference is off by what the bounds of its elements allow, so a count
 * or a maximum is certain unless an element's interval contains a threshold. Those elements, and
 * the worst ones, are recomputed to 2^-10 ulp before anything is printed. Elements that cannot
 * change a verdict keep the bound they have; the evidence says how wide it is.
 */
#include "standards/judge_refine.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/parallel.h"
#include "core/vectorize.h"

/* Most elements that one output may have recomputed. */
enum { MOST_REFINED = 4096 };

/* ---- an element -------------------------------------------------------------------------- */

/* What an element of the output is compared with. */
struct limits {
    const struct metrics_parameters *parameters;
    double abs_limit;
    enum dtype dtype; /* of the device's components */
};

static bool straddles(double value, double limit, double slack)
{
    return fabs(value - limit) <= slack;
}

/* Can the bound on element i change which side of a threshold it is on? */
static bool decides(const struct reference *want, const struct limits *limits, size_t i, double got)
{
    const struct metrics_parameters *p = limits->parameters;
    double bound = reference_bound(want, i), magnitude = fabs(want->hi[i]);
    double error = want->lo ? (got - want->hi[i]) - want->lo[i] : got - want->hi[i];
    double abs_error = fabs(error), base = magnitude + p->bench_epsilon;

    if (isinf(bound)) return true; /* whatever was returned, NaN too */
    if (!(bound > 0) || !isfinite(error)) return false;
    for (int k = 0; k < 3; k++)
        if (straddles(abs_error, p->within[k] * base, bound * (1 + p->within[k]))) return true;
    return straddles(abs_error, p->relative_tolerance * base,
                     bound * (1 + p->relative_tolerance)) ||
           straddles(abs_error, p->small_value_atol, bound) ||
           straddles(abs_error, limits->abs_limit, bound) ||
           straddles(magnitude, p->small_value, bound) ||
           straddles(abs_error, p->ulp_limit * dtype_ulp(limits->dtype, want->hi[i]), bound);
}

/* ---- blocks ------------------------------------------------------------------------------- */

enum { BLOCK = 512 };

/* Elements of a block: their errors and bounds, and their references. */
struct block {
    size_t start, count;
    double got[BLOCK], error[BLOCK], bound[BLOCK];
};

static void take_block(struct block *b, const struct reference *want, const struct tensor *got,
                       enum dtype dtype, size_t start)
{
    const char *elements = (const char *)got->data + start * dtype_info(dtype)->bytes;
    const double *hi = want->hi + start, *lo = want->lo ? want->lo + start : NULL;
    b->start = start;
    b->count = want->n - start < BLOCK ? want->n - start : BLOCK;
    dtype_to_double(b->got, elements, dtype, b->count);
    for (size_t i = 0; i < b->count; i++) b->error[i] = b->got[i] - hi[i];
    for (size_t i = 0; lo && i < b->count; i++) b->error[i] -= lo[i];
    for (size_t i = 0; i < b->count; i++) b->bound[i] = reference_bound(want, start + i);
}

/* How many elements `decides` may take, free of branches: all that it takes, as this is the same but for elements of
 * which the reference is not finite, and those have no bound. */
VECTORIZED static size_t count_deciding(const struct block *b, const double *restrict hi,
                                        const struct limits *limits)
{
    const struct metrics_parameters *p = limits->parameters;
    const struct dtype_info *info = dtype_info(limits->dtype);
    const uint64_t least = (uint64_t)(info->exponent_min + 1023);
    double unit = ldexp(p->ulp_limit, 1 - info->significand_bits),
           tolerance = p->relative_tolerance;
    double w0 = p->within[0], w1 = p->within[1], w2 = p->within[2], atol = p->small_value_atol;
    double abs_limit = limits->abs_limit, small = p->small_value, epsilon = p->bench_epsilon;
    uint64_t deciding = 0;
    for (size_t i = 0; i < b->count; i++) {
        double error = fabs(b->error[i]), bound = b->bound[i], magnitude = fabs(hi[i]), power;
        double base = magnitude + epsilon;
        uint64_t exponent;
        memcpy(&exponent, &magnitude, sizeof exponent);
        exponent >>= 52;
        exponent = (exponent < least ? least : exponent) << 52;
        memcpy(&power, &exponent, sizeof power);
        unsigned any = fabs(error - w0 * base) <= bound * (1 + w0);
        any |= fabs(error - w1 * base) <= bound * (1 + w1);
        any |= fabs(error - w2 * base) <= bound * (1 + w2);
        any |= fabs(error - tolerance * base) <= bound * (1 + tolerance);
        any |= fabs(error - atol) <= bound;
        any |= fabs(error - abs_limit) <= bound;
        any |= fabs(magnitude - small) <= bound;
        any |= fabs(error - unit * power) <= bound;
        any &= (bound > 0) & (error < INFINITY);
        deciding += any | (bound == INFINITY);
    }
    return deciding;
}

/* ---- an output ----------------------------------------------------------------------------- */

/* The scan of an output, in parts that idle threads take; `marked` has a byte for each block. */
struct scan {
    const struct reference *want;
    const struct tensor *got;
    const struct limits *limits;
    unsigned char *marked;
};

static void mark_blocks(void *context, size_t start, size_t count)
{
    const struct scan *scan = context;
    struct block block;
    for (size_t at = start; at < start + count; at += BLOCK) {
        take_block(&block, scan->want, scan->got, scan->limits->dtype, at);
        scan->marked[at / BLOCK] = count_deciding(&block, scan->want->hi + at, scan->limits) > 0;
    }
}

static void add_block(size_t *list, size_t *count, const struct scan *scan, size_t start)
{
    struct block block;
    take_block(&block, scan->want, scan->got, scan->limits->dtype, start);
    for (size_t i = 0; i < block.count && *count < MOST_REFINED; i++)
        if (decides(scan->want, scan->limits, start + i, block.got[i]))
            list[(*count)++] = start + i;
}

static void add_worst(size_t *list, size_t *count, const struct worst_element *worst)
{
    if (worst->index != SIZE_MAX) list[(*count)++] = worst->index;
}

struct status row_refine(struct row *row, struct reference *want, const struct tensor *got,
                         const struct metrics_parameters *parameters, bool *refined)
{
    const struct metrics *metrics = &row->out->metrics;
    const struct limits limits = { parameters, row_limit(row, LIMIT_MAX_ABS_ERROR), row->device };
    size_t count = 0, blocks = want->n / BLOCK + 1, *list;

    *refined = false;
    if (want->state != REFERENCE_BOUNDED || !want->refine) return status_ok();
    list = arena_allocate_array(row->arena, MOST_REFINED + 3, sizeof *list);
    struct scan scan = { want, got, &limits, arena_allocate(row->arena, blocks) };
    if (!list || !scan.marked) return status_no_memory((MOST_REFINED + 3) * sizeof *list);
    add_worst(list, &count, &metrics->worst_abs);
    add_worst(list, &count, &metrics->worst_relative);
    add_worst(list, &count, &metrics->worst_ulp);
    parallel_elements(row->request->c->help, want->n, mark_blocks, &scan);
    for (size_t at = 0; at < want->n && count < MOST_REFINED; at += BLOCK)
        if (scan.marked[at / BLOCK]) add_block(list, &count, &scan, at);
    *refined = count > 0;
    return count ? want->refine(want, count, list, 0x1p-10) : status_ok();
}
