/* The elements of each kind vote for their result (Boyer and Moore 1991), and are compared with it. */
#include "standards/unequal_results.h"

#include <math.h>
#include <string.h>

#include "standards/metrics/metrics.h"

enum { KINDS = 256 }; /* at most; results of more kinds are not looked at */

struct kind {
    uint64_t inputs;
    double usual;
    size_t votes, elements;
};

unsigned left_over_by(int rank, const int64_t *shape, size_t i)
{
    enum { WIDTHS = 6 };
    size_t run = 1;
    unsigned widths = 0;
    for (int d = rank; d-- > 0;) {
        run *= (size_t)shape[d];
        for (int k = 0; k < WIDTHS && (size_t)2 << k <= run; k++)
            if (i % run >= run >> (k + 1) << (k + 1)) widths |= 1u << k;
    }
    return widths;
}

/* The kind of these inputs; NULL when the table is full. */
static struct kind *kind_of(struct kind *kinds, uint64_t inputs)
{
    size_t slot = (size_t)(inputs * UINT64_C(0x9e3779b97f4a7c15) >> 56) % KINDS;
    for (size_t tried = 0; tried < KINDS; tried++, slot = (slot + 1) % KINDS) {
        struct kind *kind = &kinds[slot];
        if (!kind->elements) kind->inputs = inputs;
        if (kind->inputs == inputs) return kind;
    }
    return NULL;
}

static void vote(struct kind *kind, double got)
{
    bool same = kind->usual == got || (isnan(kind->usual) && isnan(got));
    if (!kind->votes) kind->usual = got;
    kind->votes += same || !kind->votes ? 1 : (size_t)-1;
    kind->elements++;
}

static double units_between(enum dtype dtype, double a, double b)
{
    if (a == b || (isnan(a) && isnan(b))) return 0;
    double units = fabs(a - b) / dtype_ulp(dtype, isfinite(a) ? a : b);
    return isnan(units) ? INFINITY : units;
}

struct status unequal_results_find(struct unequal_results *out, struct arena *arena,
                                   const struct tensor *got, const struct reference *want)
{
    enum dtype dtype = metrics_component_dtype(got->dtype);
    const uint64_t *inputs = want->kernel_inputs;
    *out = (struct unequal_results){ 0 };
    if (!inputs) return status_ok();
    struct arena_mark before = arena_mark(arena);
    double *value = arena_allocate_array(arena, want->n, sizeof *value);
    struct kind *kinds = arena_allocate_zeroed(arena, KINDS, sizeof *kinds), *kind;
    if (!value || !kinds) return status_no_memory(want->n * sizeof *value);
    dtype_to_double(value, got->data, dtype, want->n);
    for (size_t i = 0; i < want->n; i++) {
        if (left_over_by(want->rank, want->shape, i)) continue;
        if (!(kind = kind_of(kinds, inputs[i]))) break;
        vote(kind, value[i]);
    }
    for (size_t i = 0; i < want->n; i++) {
        if (left_over_by(want->rank, want->shape, i)) continue;
        if (!(kind = kind_of(kinds, inputs[i]))) break;
        double units = units_between(dtype, value[i], kind->usual);
        out->count += units > 1;
        if (!(units > out->units)) continue;
        out->units = units;
        out->index = i;
        out->usual = kind->usual;
    }
    arena_rewind(arena, before);
    return status_ok();
}
