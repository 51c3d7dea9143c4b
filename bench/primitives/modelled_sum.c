/* A line is a chain of additions that wait for each other, so lines are summed side by side, as in
 * bench/arithmetic/sum_spread.h. */
#include "bench/primitives/modelled_sum.h"

#include <math.h>

#include "bench/arithmetic/exact_sums.h"
#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/sum_spread.h"
#include "bench/arithmetic/turned_lines.h"
#include "bench/tape/bounds.h"
#include "core/vectorize.h"

/* Terms of so many lines fit into a cache of their own; fewer lines than LEAST_LINES are summed one by one. */
enum { WIDTH = SUM_SPREAD_LINES, MOST_TERMS = 1 << 13, LEAST_LINES = 4 };

/* Where the terms of lines lie: term k of a line at the line's start + offset[k], or + k * step without such a table. With it terms
 * lie `step` apart in runs of `run`. */
struct layout {
    const double *value, *error; /* of x; NULL: the bounds are of the uniform form */
    double relative, absolute;
    size_t extent, step, run;
    size_t *offset;
    bool estimates;
};

/* The lines over `dims`: extents and strides of the dimensions that are left, or of those that are summed. */
struct axes {
    int count;
    size_t extent[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], total;
};

/* One that goes on where the last one ends is part of it. */
static void add_axis(struct axes *axes, size_t extent, size_t stride)
{
    int last = axes->count - 1;
    if (last >= 0 && stride == axes->stride[last] * axes->extent[last]) {
        axes->extent[last] *= extent;
        return;
    }
    axes->extent[axes->count] = extent;
    axes->stride[axes->count++] = stride;
}

static struct axes axes_of(const struct node *x, uint32_t dims, bool summed)
{
    struct axes axes = { .total = 1 };
    size_t stride = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        size_t extent = (size_t)x->shape[d];
        if ((bool)(dims >> d & 1) == summed && extent != 1) add_axis(&axes, extent, stride);
        if ((bool)(dims >> d & 1) == summed) axes.total *= extent;
        stride *= extent;
    }
    return axes;
}

/* Where number i lies, counted in row-major order. */
static size_t place_of(const struct axes *axes, size_t i)
{
    size_t at = 0;
    for (int d = 0; d < axes->count; d++) {
        at += i % axes->extent[d] * axes->stride[d];
        i /= axes->extent[d];
    }
    return at;
}

/* The bounds of a deferred node, made in memory that the caller gives back: nothing else may read them all. */
static double *made_bounds(struct tape *tape, const struct node *x, double *value)
{
    double *error = tape_allocate(tape, x->n, sizeof *error);
    if (error) node_make_elements(tape, x, value, error);
    return error;
}

static struct layout layout_of(struct tape *tape, struct node *x, const struct axes *summed)
{
    double *stored = node_stored_values(x);
    struct layout l = { .value = stored ? stored : x->value,
                        .error = stored ? made_bounds(tape, x, stored) : x->error,
                        .relative = x->relative,
                        .absolute = x->absolute,
                        .extent = summed->total,
                        .step = summed->count ? summed->stride[0] : 1,
                        .run = summed->count ? summed->extent[0] : 1 };
    if (summed->count <= 1) return l;
    l.offset = tape_allocate(tape, l.extent, sizeof *l.offset);
    for (size_t k = 0; l.offset && k < l.extent; k++) l.offset[k] = place_of(summed, k);
    return l;
}

/* Sums as struct running has them, the plain ones, and the errors of the terms. */
struct sums {
    double sum[WIDTH], low[WIDTH], magnitude[WIDTH], plain[WIDTH], carried[WIDTH];
};

/* Add terms side by side, and their errors, where `error` is NULL those of the uniform form. */
static inline __attribute__((always_inline)) void add_terms(struct sums *restrict s,
                                                            const double *restrict term,
                                                            const double *restrict error,
                                                            const struct layout *l, size_t count,
                                                            bool typical, size_t width)
{
    const double *restrict stored = readable(error, term);
    const double relative = l->relative, absolute = l->absolute;
    struct sums sums = *s;
    for (size_t k = 0; k < count; k++, term += width, stored += width) {
        LANES_LOOP for (size_t w = 0; w < width; w++)
        {
            double size = fabs(term[w]);
            double e = error ? stored[w] : relative * size + absolute;
            e = size < INFINITY ? e : 0;
            sums.low[w] += two_sum(&sums.sum[w], term[w]);
            sums.magnitude[w] += size;
            sums.plain[w] += term[w];
            sums.carried[w] += typical ? e * e : e;
        }
    }
    *s = sums;
}

VECTORIZED static void add_side_by_side(struct sums *s, const double *term, const double *error,
                                        const struct layout *l, size_t count, bool typical)
{
    add_terms(s, term, error, l, count, typical, WIDTH);
}

/* `count` numbers of `width` lines side by side, `step` apart from those at `from` on. */
static void take_run(double *out, const double *const *from, size_t count, size_t step,
                     size_t width)
{
    if (width == WIDTH) lines_turn(out, from, count, step);
    else
        for (size_t k = 0; k < count; k++) out[k] = from[0][k * step];
}

/* Numbers first .. first + count - 1 of `width` lines of `array`, side by side. */
static void read_lines(double *out, const double *array, const struct layout *l,
                       const size_t *start, size_t first, size_t count, size_t width)
{
    const double *from[WIDTH];
    for (size_t k = 0, run; k < count; k += run) {
        size_t number = first + k, place = l->offset ? l->offset[number] : number * l->step;
        run = l->offset ? l->run - number % l->run : count;
        run = run < count - k ? run : count - k;
        for (size_t w = 0; w < width; w++) from[w] = array + start[w] + place;
        take_run(out + k * width, from, run, l->step, width);
    }
}

/* The terms of `width` lines side by side, and their sums. */
static void add_up(struct sums *s, double *term, const struct layout *l, const size_t *start,
                   bool typical, size_t width)
{
    enum { BLOCK = 64 };
    double errors[BLOCK * WIDTH];
    const double *error = l->error ? errors : NULL;
    *s = (struct sums){ 0 };
    for (size_t k = 0, count; k < l->extent; k += count, term += count * width) {
        count = l->extent - k < BLOCK ? l->extent - k : BLOCK;
        read_lines(term, l->value, l, start, k, count, width);
        if (error) read_lines(errors, l->error, l, start, k, count, width);
        if (width == WIDTH) add_side_by_side(s, term, error, l, count, typical);
        else add_terms(s, term, error, l, count, typical, 1);
    }
}

/* The same of lines that lie side by side in memory, too, where they are read. */
VECTORIZED static void add_up_adjacent(struct sums *restrict s, double *restrict term,
                                       const struct layout *l, size_t start, bool typical)
{
    const double *value = l->value, *error = l->error, *stored = readable(error, value);
    const double relative = l->relative, absolute = l->absolute;
    struct sums sums = { 0 };
    for (size_t k = 0; k < l->extent; k++, term += WIDTH) {
        size_t at = start + (l->offset ? l->offset[k] : k * l->step);
        LANES_LOOP for (size_t w = 0; w < WIDTH; w++)
        {
            double x = value[at + w], size = fabs(x);
            double e = error ? stored[at + w] : relative * size + absolute;
            e = size < INFINITY ? e : 0;
            term[w] = x;
            sums.low[w] += two_sum(&sums.sum[w], x);
            sums.magnitude[w] += size;
            sums.plain[w] += x;
            sums.carried[w] += typical ? e * e : e;
        }
    }
    *s = sums;
}

static bool are_adjacent(const size_t *start)
{
    for (size_t w = 1; w < WIDTH; w++)
        if (start[w] != start[0] + w) return false;
    return true;
}

/* The typical error of the additions, over the unit, of those lines that `need` it; `inexact` ones differ. The terms may be
 * changed. */
static void spread_lines(double *spread, double *term, const struct layout *l, const bool *need,
                         const bool *inexact, size_t count, bool single)
{
    double of_inexact[WIDTH];
    bool any[2] = { false, false };
    for (size_t w = 0; w < count; w++) any[inexact[w]] |= need[w];
    if (any[false]) sum_spread_of_lines(spread, term, l->extent, false, false, single);
    if (any[true]) sum_spread_of_lines(of_inexact, term, l->extent, true, false, single);
    for (size_t w = 0; w < count; w++)
        if (need[w] && inexact[w]) spread[w] = of_inexact[w];
}

static void spread_line(double *spread, double *term, const struct layout *l, const bool *need,
                        const bool *inexact, bool single)
{
    if (*need)
        *spread = *inexact ? sum_spread_of_inexact(term, l->extent, false, single)
                           : sum_spread(term, l->extent, false, single);
}

/* `count` lines, `width` of which are summed: 1, or WIDTH. */
static void model_lines(const struct tape *tape, double *out, double *bound, double *term,
                        const struct layout *l, const size_t *start, size_t count, size_t width)
{
    struct sums s;
    bool typical = tape_is_typical(tape), need[WIDTH], inexact[WIDTH];
    double own[WIDTH], spread[WIDTH], growth = tape_sum_growth(tape, l->extent);

    if (width == WIDTH && are_adjacent(start)) add_up_adjacent(&s, term, l, start[0], typical);
    else add_up(&s, term, l, start, typical, width);
    for (size_t w = 0; w < count; w++) {
        out[w] = isfinite(s.sum[w] + s.low[w]) ? s.sum[w] + s.low[w] : s.plain[w];
        own[w] = growth * s.magnitude[w];
        inexact[w] = s.carried[w] > 0;
        bool exact = !l->estimates && s.carried[w] == 0 &&
                     sum_of_every_is_exact(term + w, l->extent, width, tape->wide ? 53 : 24);
        if (exact) own[w] = 0;
        need[w] = typical && !exact && !l->estimates && isfinite(out[w]);
    }
    if (width == 1) spread_line(spread, term, l, need, inexact, !tape->wide);
    else spread_lines(spread, term, l, need, inexact, count, !tape->wide);
    for (size_t w = 0; w < count; w++) {
        if (need[w]) own[w] = sqrt(spread[w]);
        bound[w] = own[w] * tape->unit + (typical ? sqrt(s.carried[w]) : s.carried[w]);
        bound[w] = tidy_bound(bound[w], out[w]);
    }
}

void model_sums(struct tape *tape, struct node *node, struct node *x, uint32_t dims, bool estimates)
{
    const struct axes left = axes_of(x, dims, false), summed = axes_of(x, dims, true);
    if (!node_stored_values(x)) (void)node_values(tape, x);
    if (!node_need_errors(tape, node) || !node->n) return;
    struct arena_mark before = arena_mark(tape->arena);
    struct layout l = layout_of(tape, x, &summed);
    l.estimates = estimates;
    size_t most = l.extent > MOST_TERMS || node->n < LEAST_LINES ? 1 : WIDTH;
    double *term = tape_allocate(tape, l.extent * most, sizeof *term);
    if (tape_failed(tape)) return;
    for (size_t line = 0, count; line < node->n; line += count) {
        size_t start[WIDTH];
        count = node->n - line < most ? node->n - line : most;
        for (size_t w = 0; w < most; w++) start[w] = place_of(&left, line + (w < count ? w : 0));
        model_lines(tape, node->value + line, node->error + line, term, &l, start, count, most);
    }
    arena_rewind(tape->arena, before);
}
