/* Weights of interpolation.
 *
 * Output o looks at the source position r (o + 1/2) - 1/2, or r o with aligned corners,
 * where r is the ratio of the extents. Weights are values of a kernel at distances from
 * there: the hat function, or Keys' cubic convolution with a = -3/4 (a = -1/2 with
 * antialiasing, as PyTorch has it), stretched by r and normalised when antialiasing a
 * reduction. One function computes them in balls; the doubles are its midpoints at 106
 * bits.
 */
#include "bench/primitives/resample.h"

#include <math.h>
#include <string.h>

/* Taps of output o: inputs at index[], of which those outside were moved to the border. */
struct window {
    int64_t first; /* before moving */
    size_t count;
};

struct resample_context {
    struct resample r;
    struct window *windows; /* one per output */
    size_t *owner;          /* output of each tap */
    const size_t *starts;   /* first tap of each output */
};

static bool is_antialiased(const struct resample *r)
{
    return r->kind == RESAMPLE_LINEAR_ANTIALIAS || r->kind == RESAMPLE_CUBIC_ANTIALIAS;
}

static void ratio(arb_t out, const struct resample *r, slong precision)
{
    if (r->align_corners) {
        arb_set_si(out, r->out > 1 ? (slong)(r->in - 1) : 0);
        if (r->out > 1) arb_div_si(out, out, (slong)(r->out - 1), precision);
    } else if (r->scale > 0) {
        arb_set_d(out, r->scale);
        arb_inv(out, out, precision);
    } else {
        arb_set_si(out, (slong)r->in);
        arb_div_si(out, out, (slong)r->out, precision);
    }
}

/* Position of output o among the inputs, and `beside` more. Antialiasing counts it from the border of input 0
 * (half an input further), and ignores align_corners there, as PyTorch does. */
static void position(arb_t out, const struct resample *r, int64_t o, double beside, slong precision)
{
    ratio(out, r, precision);
    bool halves = !r->align_corners || is_antialiased(r);
    arb_mul_si(out, out, halves ? 2 * (slong)o + 1 : 2 * (slong)o, precision);
    if (halves && !is_antialiased(r)) arb_sub_si(out, out, 1, precision);
    arb_mul_2exp_si(out, out, -1);
    if (beside != 0) {
        arb_t more;
        arb_init(more);
        arb_set_d(more, beside);
        arb_add(out, out, more, precision);
        arb_clear(more);
    }
    if (r->kind == RESAMPLE_LINEAR) arb_nonnegative_part(out, out);
}

/* The kernel at |x|, for x of one sign of distances within one piece: 0 for the inner piece
 * of [0, 1], 1 for [1, 2], 2 beyond. Balls that straddle a knot take the inner piece, which
 * continues the other with a continuous slope. */
static void kernel(arb_t y, const struct resample *r, const arb_t distance, slong precision)
{
    arb_t x, t;
    arb_init(x);
    arb_init(t);
    arb_abs(x, distance);
    double at = arf_get_d(arb_midref(x), ARF_RND_NEAR);
    bool linear = r->kind == RESAMPLE_LINEAR || r->kind == RESAMPLE_LINEAR_ANTIALIAS;
    double a = r->kind == RESAMPLE_CUBIC ? -0.75 : -0.5;

    if (linear) {
        arb_sub_si(y, x, 1, precision);
        arb_neg(y, y);
        if (at >= 1) arb_zero(y);
    } else if (at <= 1) { /* ((a + 2) x - (a + 3)) x^2 + 1 */
        arb_set_d(y, a + 2);
        arb_mul(y, y, x, precision);
        arb_set_d(t, a + 3);
        arb_sub(y, y, t, precision);
        arb_mul(y, y, x, precision);
        arb_mul(y, y, x, precision);
        arb_add_si(y, y, 1, precision);
    } else if (at < 2) { /* a (((x - 5) x + 8) x - 4) */
        arb_sub_si(y, x, 5, precision);
        arb_mul(y, y, x, precision);
        arb_add_si(y, y, 8, precision);
        arb_mul(y, y, x, precision);
        arb_sub_si(y, y, 4, precision);
        arb_set_d(t, a);
        arb_mul(y, y, t, precision);
    } else {
        arb_zero(y);
    }
    arb_clear(x);
    arb_clear(t);
}

/* Weight of input `first + k` for output o before normalising, as if o were `beside` its place. */
static void raw_weight(arb_t y, const struct resample_context *c, int64_t o, size_t k,
                       double beside, slong precision)
{
    const struct resample *r = &c->r;
    arb_t at, stretch;
    arb_init(at);
    arb_init(stretch);
    position(at, r, o, beside, precision);
    arb_sub_si(at, at, (slong)(c->windows[o].first + (int64_t)k), precision);
    if (is_antialiased(r)) {
        arb_set_d(stretch, 0.5); /* centres of inputs */
        arb_sub(at, at, stretch, precision);
        ratio(stretch, r, precision);
        if (arf_cmp_si(arb_midref(stretch), 1) > 0) arb_div(at, at, stretch, precision);
    }
    kernel(y, r, at, precision);
    arb_clear(at);
    arb_clear(stretch);
}

static void weight_beside(arb_t y, const struct resample_context *c, size_t t, double beside,
                          slong precision)
{
    int64_t o = (int64_t)c->owner[t];
    size_t k = t - c->starts[o];

    /* The hat's support ends between two inputs: the other weight is what is left of 1. */
    raw_weight(y, c, o, k, beside, precision);
    if (!is_antialiased(&c->r)) return;
    arb_t total, term;
    arb_init(total);
    arb_init(term);
    for (size_t i = 0; i < c->windows[o].count; i++) {
        raw_weight(term, c, o, i, beside, precision);
        arb_add(total, total, term, precision);
    }
    if (!arb_contains_zero(total)) arb_div(y, y, total, precision);
    arb_clear(total);
    arb_clear(term);
}

static void exact_weight(arb_t y, const void *context, size_t t, slong precision)
{
    weight_beside(y, context, t, 0, precision);
}

/* In a model: a position that rounding may take to the other side of an input has the inputs of both sides, that beyond with
 * a weight of 0. */
static void look_beyond(struct window *w, const struct tape *tape, double center)
{
    double slack = 16 * tape->unit * (1 + fabs(center)), fraction = center - floor(center);
    if (fraction < slack) {
        w->first--;
        w->count++;
    }
    if (1 - fraction < slack) w->count++;
}

/* Which inputs output o looks at. */
static struct window window_of(const struct tape *tape, const struct resample *r, int64_t o)
{
    struct window w;
    arb_t at, size;
    arb_init(at);
    arb_init(size);
    position(at, r, o, 0, 128);
    double center = arf_get_d(arb_midref(at), ARF_RND_NEAR);
    if (is_antialiased(r)) {
        ratio(size, r, 128);
        double scale = arf_get_d(arb_midref(size), ARF_RND_NEAR);
        double support = (r->kind == RESAMPLE_LINEAR_ANTIALIAS ? 1 : 2) * (scale > 1 ? scale : 1);
        double from = trunc(center - support + 0.5), to = trunc(center + support + 0.5);
        w.first = from > 0 ? (int64_t)from : 0;
        int64_t end = to < (double)r->in ? (int64_t)to : r->in;
        w.count = end > w.first ? (size_t)(end - w.first) : 0;
    } else {
        w.first = (int64_t)floor(center) - (r->kind == RESAMPLE_CUBIC);
        if (r->kind == RESAMPLE_LINEAR && w.first > r->in - 1) w.first = r->in - 1;
        w.count = r->kind == RESAMPLE_CUBIC ? 4 : 2;
        if (tape_is_model(tape)) look_beyond(&w, tape, center);
    }
    arb_clear(at);
    arb_clear(size);
    return w;
}

static size_t inside(int64_t i, int64_t n) { return (size_t)(i < 0 ? 0 : i >= n ? n - 1 : i); }

/* The weight's change to one side, over how far that is. */
static double slope_of(const struct resample_context *c, size_t t, double beside)
{
    arb_t there, here;
    arb_init(there);
    arb_init(here);
    weight_beside(there, c, t, beside, 106);
    weight_beside(here, c, t, 0, 106);
    arb_sub(there, there, here, 106);
    double slope = arf_get_d(arb_midref(there), ARF_RND_NEAR) / beside;
    arb_clear(there);
    arb_clear(here);
    return slope;
}

/* Roundings of a weight by itself. Of the hat, 1 - d with d that is exact: one, of the result. Of Keys' polynomials see bench/ops/grid.c: 32 units
 * from a distance of 1 on, where they are not above 0, and 6 within; as many of those that are normalised, of a sum of about the stretch. */
static double rounding_of(const struct resample *r, double weight)
{
    double stretch = fmax(1, (double)r->in / (double)r->out);
    if (r->kind == RESAMPLE_LINEAR) return fabs(weight);
    if (r->kind == RESAMPLE_CUBIC) return weight < 0x1p-20 ? 32 : 6;
    return 32 / stretch;
}

/* A place is made of a ratio, times o, less a half: three roundings, each below one of the number behind the last tap. */
static struct tap_places *places_of(struct tape *tape, const struct resample_context *c,
                                    const struct taps *taps)
{
    static const double aside = 0x1p-20;
    size_t total = taps->first[taps->outputs];
    struct tap_places *places = tape_allocate(tape, 1, sizeof *places);
    double *error = tape_allocate(tape, taps->outputs, sizeof *error);
    double *below = tape_allocate(tape, total, sizeof *below);
    double *above = tape_allocate(tape, total, sizeof *above);
    double *rounding = tape_allocate(tape, total, sizeof *rounding);
    if (tape_failed(tape)) return NULL;
    for (size_t o = 0; o < taps->outputs; o++) {
        error[o] = 0;
        for (size_t t = taps->first[o]; t < taps->first[o + 1]; t++) {
            error[o] = 4 * (2 + (double)taps->index[t]);
            below[t] = slope_of(c, t, -aside);
            above[t] = slope_of(c, t, aside);
            rounding[t] = rounding_of(&c->r, taps->weight[t]);
        }
    }
    *places = (struct tap_places){ error, { below, above }, rounding, 0.2, 0.2 };
    if (c->r.kind == RESAMPLE_LINEAR) places->typical_rounding = 0.6;
    return places;
}

struct taps *resample_taps(struct tape *tape, const struct resample *resample)
{
    size_t outputs = (size_t)resample->out, total = 0;
    struct resample_context *c = tape_allocate(tape, 1, sizeof *c);
    struct window *windows = tape_allocate(tape, outputs, sizeof *windows);
    size_t *first = tape_allocate(tape, outputs + 1, sizeof *first);
    struct taps *taps = tape_allocate(tape, 1, sizeof *taps);
    if (!c || !windows || !first || !taps) return NULL;
    for (size_t o = 0; o < outputs; o++) {
        windows[o] = window_of(tape, resample, (int64_t)o);
        first[o] = total;
        total += windows[o].count;
    }
    first[outputs] = total;
    size_t *index = tape_allocate(tape, total, sizeof *index);
    size_t *owner = tape_allocate(tape, total, sizeof *owner);
    double *weight = tape_allocate(tape, total, sizeof *weight);
    if (!index || !owner || !weight) return NULL;
    *c = (struct resample_context){ *resample, windows, owner, first };
    arb_t ball;
    arb_init(ball);
    for (size_t o = 0; o < outputs; o++)
        for (size_t t = first[o]; t < first[o + 1]; t++) {
            index[t] = inside(windows[o].first + (int64_t)(t - first[o]), resample->in);
            owner[t] = o;
            exact_weight(ball, c, t, 106);
            weight[t] = arf_get_d(arb_midref(ball), ARF_RND_NEAR);
        }
    arb_clear(ball);
    /* Weights are below 2 in magnitude, their balls' radii below 2^-80. */
    *taps = (struct taps){ .inputs = (size_t)resample->in,
                           .outputs = outputs,
                           .first = first,
                           .index = index,
                           .weight = weight,
                           .weight_error = 0x1p-52,
                           .exact = exact_weight,
                           .context = c,
                           .summed = 1,
                           .summed_by_adjoint = 1 };
    if (tape_is_model(tape)) taps->places = places_of(tape, c, taps);
    return tape_failed(tape) ? NULL : taps;
}
