/* Terms of SUM_SPREAD_LINES elements are walked side by side. */
#include "bench/primitives/convolution_elements.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/exact_sums.h"
#include "bench/arithmetic/sum_spread.h"

enum { MOST_TERMS = 1 << 16, WIDTH = SUM_SPREAD_LINES };

static bool goes_by_transforms(const struct convolution *c)
{
    for (int d = 0; d < 3; d++)
        if (c->g.stride[d] != 1 || (c->g.dilation[d] != 1 && c->g.w[2 + d] > 1)) return false;
    return c->taps > 1;
}

bool convolution_looks_at_all(const struct tape *tape, const struct convolution *c)
{
    double terms = (double)c->images * (double)c->groups * (double)c->filters *
                   (double)depth_of(c) * (double)c->points;
    return tape_is_typical(tape) && !goes_by_transforms(c) && terms <= MOST_TERMS;
}

struct elements {
    const struct convolution *c;
    const double *x, *w, *y; /* the operands; NULL: what is made */
    const int64_t *map;
    /* Of an adjoint of the input: the places in the map, of a tap at a point, that have pixel p are at place[first[p]] and up to
     * first[p + 1]. */
    size_t *first, *place;
};

/* A list of terms, WIDTH apart. */
struct terms {
    double *at;
    size_t n;
};

static void add_term(struct terms *terms, double a, double b)
{
    terms->at[terms->n++ * WIDTH] = a * b;
}

static void terms_of_result(struct terms *out, const struct elements *e, size_t element)
{
    const struct convolution *c = e->c;
    size_t point = element % c->points, row = element / c->points, matrix = row / c->filters;
    size_t group = matrix % c->groups;
    const double *w = e->w + w_start(c, group) + row % c->filters * depth_of(c);
    const double *x = e->x + x_start(c, matrix / c->groups, group);
    for (size_t channel = 0; channel < c->channels; channel++, x += c->pixels)
        for (size_t tap = 0; tap < c->taps; tap++, w++) {
            int64_t pixel = e->map[tap * c->points + point];
            if (pixel >= 0) add_term(out, *w, x[pixel]);
        }
}

static void terms_of_weight(struct terms *out, const struct elements *e, size_t element)
{
    const struct convolution *c = e->c;
    size_t tap = element % c->taps, channel = element / c->taps % c->channels;
    size_t row = element / depth_of(c), group = row / c->filters;
    for (size_t image = 0; image < c->images; image++) {
        const double *y = e->y + y_start(c, image, group) + row % c->filters * c->points;
        const double *x = e->x + x_start(c, image, group) + channel * c->pixels;
        for (size_t point = 0; point < c->points; point++) {
            int64_t pixel = e->map[tap * c->points + point];
            if (pixel >= 0) add_term(out, y[point], x[pixel]);
        }
    }
}

static void terms_of_input(struct terms *out, const struct elements *e, size_t element)
{
    const struct convolution *c = e->c;
    size_t pixel = element % c->pixels, plane = element / c->pixels, matrix = plane / c->channels;
    const double *w = e->w + w_start(c, matrix % c->groups) + plane % c->channels * c->taps;
    const double *y = e->y + matrix * c->filters * c->points;
    for (size_t k = e->first[pixel]; k < e->first[pixel + 1]; k++)
        for (size_t filter = 0; filter < c->filters; filter++)
            add_term(out, w[filter * depth_of(c) + e->place[k] / c->points],
                     y[filter * c->points + e->place[k] % c->points]);
}

static void find_places(struct elements *e, struct tape *tape)
{
    const struct convolution *c = e->c;
    size_t places = c->taps * c->points;
    e->first = tape_allocate(tape, c->pixels + 2, sizeof *e->first);
    e->place = tape_allocate(tape, places, sizeof *e->place);
    if (tape_failed(tape)) return;
    memset(e->first, 0, (c->pixels + 2) * sizeof *e->first);
    for (size_t k = 0; k < places; k++)
        if (e->map[k] >= 0) e->first[e->map[k] + 2]++;
    for (size_t p = 0; p < c->pixels; p++) e->first[p + 2] += e->first[p + 1];
    for (size_t k = 0; k < places; k++)
        if (e->map[k] >= 0) e->place[e->first[e->map[k] + 1]++] = k;
}

static size_t most_terms(const struct elements *e)
{
    const struct convolution *c = e->c;
    size_t most = 0;
    if (c->role == CONVOLVE) return depth_of(c);
    if (c->role == CONVOLVE_WEIGHT_ADJOINT) return c->images * c->points;
    for (size_t p = 0; p < c->pixels; p++)
        if (e->first[p + 1] - e->first[p] > most) most = e->first[p + 1] - e->first[p];
    return most * c->filters;
}

static double repeated_over_formula(const struct sum_spread *parts)
{
    return isfinite(parts->imitated) && parts->formula > 0 ? parts->imitated / parts->formula : 0;
}

/* Squared errors over the unit of up to WIDTH elements from `start` on; returns what is imitated of them over what
 * the formula has, all together. */
static double spread_some(double *spread, double *term, const struct elements *e, size_t start,
                          size_t count, bool single)
{
    static void (*const by_role[])(struct terms * out, const struct elements *e, size_t element) = {
        [CONVOLVE] = terms_of_result,
        [CONVOLVE_INPUT_ADJOINT] = terms_of_input,
        [CONVOLVE_WEIGHT_ADJOINT] = terms_of_weight,
    };
    struct sum_spread parts[WIDTH];
    struct terms lines[WIDTH] = { { NULL, 0 } };
    double repeated = 0;
    size_t n = 0;
    for (size_t i = 0; i < WIDTH; i++) {
        lines[i].at = term + i;
        if (i < count) by_role[e->c->role](&lines[i], e, start + i);
        if (lines[i].n > n) n = lines[i].n;
    }
    for (size_t i = 0; i < WIDTH; i++)
        for (size_t k = lines[i].n; k < n; k++) lines[i].at[k * WIDTH] = 0;
    if (n) sum_spread_parts_of_lines(parts, term, n, true, sum_imitation(single));
    for (size_t i = 0; i < count; i++) {
        bool exact = sum_of_every_is_exact(term + i, n, WIDTH, single ? 24 : 53);
        spread[i] = exact ? 0 : fmax(parts[i].formula, parts[i].imitated);
        repeated += exact ? 0 : repeated_over_formula(&parts[i]);
    }
    return repeated;
}

void convolution_element_errors(struct tape *tape, struct node *node, const struct convolution *c,
                                const struct node *x, const struct node *w, const struct node *y,
                                const int64_t *map)
{
    struct elements e = { .c = c,
                          .x = x ? x->value : NULL,
                          .w = w ? w->value : NULL,
                          .y = y ? y->value : NULL,
                          .map = map };
    double repeated = 0, *error = node->error;
    if (c->role == CONVOLVE_INPUT_ADJOINT) find_places(&e, tape);
    if (tape_failed(tape)) return;
    size_t terms = most_terms(&e), rounding = 0;
    double *term = tape_allocate(tape, (terms + 1) * WIDTH, sizeof *term);
    if (!term) return;
    for (size_t i = 0; i < node->n; i += WIDTH) {
        size_t count = node->n - i < WIDTH ? node->n - i : WIDTH;
        repeated += spread_some(error + i, term, &e, i, count, !tape->wide);
    }
    for (size_t i = 0; i < node->n; i++) rounding += error[i] > 0;
    /* What is imitated of one element may be right by luck. */
    repeated = fmax(1, rounding ? repeated / (double)rounding : 0);
    for (size_t i = 0; i < node->n; i++) {
        double bound =
            error[i] > 0 ? tape->unit * sqrt(error[i] * repeated) + (double)terms * tape->tiny : 0;
        error[i] = !isfinite(node->value[i]) ? 0 : isfinite(bound) ? bound : INFINITY;
    }
}
