/* Lines are walked side by side, as in bench/arithmetic/sum_spread.h: each sum is a chain of additions, and the imitated ones
 * behind it are longer ones. */
#include "bench/primitives/softmax_model.h"

#include <stdint.h>
#include <string.h>

#include "bench/arithmetic/exact_sums.h"
#include "bench/arithmetic/sum_spread.h"
#include "core/kernel_modes.h"
#include "core/vectorize.h"

enum { WIDTH = SUM_SPREAD_LINES, MOST_TERMS = 1 << 13, LEAST_LINES = 4 };

struct exponential_model exponential_model_of(const struct tape *tape)
{
    return (struct exponential_model){ 2 * kernel_modes_ulps(tape->modes, "exp", 3.5), tape->unit,
                                       tape->stage, tape->wide ? 750 : 110, tape_is_typical(tape) };
}

double modelled_logarithm(const struct tape *tape)
{
    return 2 * kernel_modes_ulps(tape->modes, "log", 3.5);
}

double modelled_share_of_total(const struct tape *tape, double total)
{
    return tape_join(tape, total, (tape_is_typical(tape) ? 1 : 3) * tape->unit);
}

void exponential_lines_open(struct exponential_lines *lines, struct tape *tape, size_t extent,
                            size_t count)
{
    *lines = (struct exponential_lines){
        .model = exponential_model_of(tape),
        .extent = extent,
        .width = extent > MOST_TERMS || count < LEAST_LINES ? 1 : WIDTH,
        .growth = tape_sum_growth(tape, extent),
        .single = !tape->wide,
    };
    lines->term = tape_allocate(tape, extent * lines->width, sizeof *lines->term);
    lines->difference = tape_allocate(tape, extent * lines->width, sizeof *lines->difference);
    if (tape_failed(tape)) return;
    /* Lines that are not there are walked, too. */
    memset(lines->term, 0, extent * lines->width * sizeof *lines->term);
    memset(lines->difference, 0, extent * lines->width * sizeof *lines->difference);
}

bool exponential_lines_add(struct exponential_lines *lines, const double *e, const double *x,
                           size_t stride, double m)
{
    size_t width = lines->width, w = lines->count++;
    double *term = lines->term + w, *difference = lines->difference + w;
    for (size_t k = 0; k < lines->extent; k++) term[k * width] = e[k];
    for (size_t k = 0; k < lines->extent; k++) difference[k * width] = x[k * stride] - m;
    return lines->count == width;
}

/* Sums of the exponentials that are above 0, and of their errors. Typically these are independent but for a quarter, what a
 * function may be off by in the mean, and but for equal terms, whose errors are equal: those of a slot, by the bits of
 * x - m, count as one. */
enum { SLOT_BITS = 6, SLOTS = 1 << SLOT_BITS };
struct weighted_sums {
    double sum[WIDTH], error[WIDTH], slot[WIDTH][SLOTS];
};

static inline size_t slot_of(double difference)
{
    uint64_t bits;
    memcpy(&bits, &difference, sizeof bits);
    return bits * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS);
}

static inline __attribute__((always_inline)) void add_up(struct weighted_sums *restrict s,
                                                         const struct exponential_lines *lines,
                                                         size_t width)
{
    const double *restrict term = lines->term, *restrict difference = lines->difference;
    const struct exponential_model model = lines->model;
    double sum[WIDTH] = { 0 }, all[WIDTH] = { 0 }, error[WIDTH];
    if (model.typical) memset(s->slot, 0, width * sizeof *s->slot);
    for (size_t k = 0; k < lines->extent; k++, term += width, difference += width) {
        LANES_LOOP for (size_t w = 0; w < width; w++)
        {
            double e = term[w] > 0 ? term[w] : 0;
            sum[w] += e;
            error[w] = e * modelled_exponential(&model, difference[w]);
            all[w] += error[w];
        }
        for (size_t w = 0; model.typical && w < width; w++)
            s->slot[w][slot_of(difference[w])] += error[w];
    }
    LANES_LOOP for (size_t w = 0; w < width; w++) s->sum[w] = sum[w], s->error[w] = all[w];
}

static double carried_error(const struct weighted_sums *s, size_t w, bool typical)
{
    double squares = s->error[w] * s->error[w] / 16;
    if (!typical) return s->error[w];
    for (size_t k = 0; k < SLOTS; k++) squares += s->slot[w][k] * s->slot[w][k];
    return fmin(sqrt(squares), s->error[w]);
}

VECTORIZED static void add_up_lines(struct weighted_sums *s, const struct exponential_lines *lines)
{
    add_up(s, lines, WIDTH);
}

/* The typical error of the additions, over the unit. The terms are changed. */
static void spread_lines(double *spread, const struct exponential_lines *lines)
{
    if (lines->width == 1)
        *spread = sum_spread_of_inexact(lines->term, lines->extent, false, lines->single);
    else sum_spread_of_lines(spread, lines->term, lines->extent, true, false, lines->single);
}

void exponential_lines_total(double *total, struct exponential_lines *lines)
{
    const size_t width = lines->width, extent = lines->extent;
    const int bits = lines->single ? 24 : 53;
    struct weighted_sums s;
    double spread[WIDTH], own[WIDTH];
    bool exact[WIDTH], any = false;

    if (width == 1) add_up(&s, lines, 1);
    else add_up_lines(&s, lines);
    for (size_t w = 0; w < lines->count; w++) {
        exact[w] = !(s.sum[w] > 0) ||
                   (s.error[w] == 0 && sum_of_every_is_exact(lines->term + w, extent, width, bits));
        own[w] = lines->growth;
        any = any || (!exact[w] && isfinite(s.sum[w]));
    }
    if (lines->model.typical && any) {
        spread_lines(spread, lines);
        for (size_t w = 0; w < lines->count; w++)
            if (isfinite(s.sum[w])) own[w] = sqrt(spread[w]) / s.sum[w];
    }
    for (size_t w = 0; w < lines->count; w++) {
        double terms = carried_error(&s, w, lines->model.typical) / s.sum[w];
        double additions = own[w] * lines->model.unit;
        total[w] = exact[w]               ? 0
                   : lines->model.typical ? sqrt(terms * terms + additions * additions)
                                          : terms + additions;
    }
    lines->count = 0;
}
