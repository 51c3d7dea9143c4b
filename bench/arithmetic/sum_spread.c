/* The typical error of a sum, by formula and by imitation. */
#include "bench/arithmetic/sum_spread.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/turned_lines.h"
#include "core/vectorize.h"

/* Every fourth partial sum is compared: the next three are off by three roundings more at most. */
enum { LANES = 8, BLOCK = 64, PARTS = 4, COMPARED = 4, WIDTH = SUM_SPREAD_LINES };
_Static_assert((int)WIDTH == (int)TURNED_LINES, "lines are turned as many as are walked");

/* Each line is a chain of additions that wait for each other, so `width` lines are walked side by side, 1 or WIDTH: term k of
 * line w is term[k * width + w]. Lanes are independent, so a line's result does not depend on its neighbours. The functions are compiled
 * for both widths, and for WIDTH in each register width. */
#define FOR_EACH_LINE LANES_LOOP for (size_t w = 0; w < width; w++)
#define OF_ANY_WIDTH  static inline __attribute__((always_inline))

OF_ANY_WIDTH void add_to_each(float *restrict sum, const float *restrict x, size_t width)
{
    FOR_EACH_LINE sum[w] += x[w];
}

/* The same where what is added begins anew. */
OF_ANY_WIDTH void move_to_each(float *restrict sum, float *restrict x, size_t width)
{
    FOR_EACH_LINE sum[w] += x[w];
    FOR_EACH_LINE x[w] = 0;
}

/* What one order gives counts where it is finite. */
OF_ANY_WIDTH void take_error(double *restrict worst, const float *restrict result,
                             const double *restrict exact, size_t width)
{
    FOR_EACH_LINE
    {
        double error = fabs(result[w] - exact[w]);
        error = fabs((double)result[w]) < INFINITY ? error : 0;
        worst[w] = error > worst[w] ? error : worst[w];
    }
}

/* Sums in float as kernels form them, and what their errors are measured against. */
struct imitation {
    float forward[WIDTH], reverse[WIDTH], lane[LANES][WIDTH], block[WIDTH], blocks[WIDTH],
        part[WIDTH], parts[WIDTH];
    double fused[WIDTH]; /* of products that are not rounded before they are added */
    double walk[WIDTH],  /* the sum of the terms as float, */
        exact[WIDTH],    /* and as they are, */
        apart[WIDTH];    /* and the largest error of a partial one of `forward` */
};

/* Terms `first` to `end` - 1, in which no block and no part ends. Without branches, and with copies of the sums, so that these stay
 * in registers: each addition waits for the one before it. */
OF_ANY_WIDTH void imitate_run(struct imitation *restrict sums, const double *restrict term,
                              size_t n, size_t first, size_t end, size_t width)
{
    float forward[WIDTH], reverse[WIDTH], block[WIDTH], part[WIDTH];
    double fused[WIDTH], walk[WIDTH], exact[WIDTH], apart[WIDTH];
    const double *restrict here = term + first * width, *restrict back = term + (n - first) * width;
    FOR_EACH_LINE forward[w] = sums->forward[w];
    FOR_EACH_LINE reverse[w] = sums->reverse[w];
    FOR_EACH_LINE block[w] = sums->block[w];
    FOR_EACH_LINE part[w] = sums->part[w];
    FOR_EACH_LINE fused[w] = sums->fused[w];
    FOR_EACH_LINE walk[w] = sums->walk[w];
    FOR_EACH_LINE exact[w] = sums->exact[w];
    FOR_EACH_LINE apart[w] = sums->apart[w];
    for (size_t k = first; k < end; k++, here += width) {
        float x[WIDTH], last[WIDTH];
        back -= width;
        FOR_EACH_LINE x[w] = (float)here[w];
        FOR_EACH_LINE last[w] = (float)back[w];
        add_to_each(forward, x, width);
        FOR_EACH_LINE walk[w] += x[w];
        FOR_EACH_LINE exact[w] += here[w];
        if (k % COMPARED == 0) FOR_EACH_LINE
            {
                double error = fabs(forward[w] - walk[w]);
                apart[w] = error > apart[w] ? error : apart[w];
            }
        FOR_EACH_LINE fused[w] = (float)(fused[w] + here[w]);
        add_to_each(reverse, last, width);
        add_to_each(sums->lane[k % LANES], x, width);
        add_to_each(part, x, width);
        add_to_each(block, x, width);
    }
    FOR_EACH_LINE sums->forward[w] = forward[w];
    FOR_EACH_LINE sums->reverse[w] = reverse[w];
    FOR_EACH_LINE sums->block[w] = block[w];
    FOR_EACH_LINE sums->part[w] = part[w];
    FOR_EACH_LINE sums->fused[w] = fused[w];
    FOR_EACH_LINE sums->walk[w] = walk[w];
    FOR_EACH_LINE sums->exact[w] = exact[w];
    FOR_EACH_LINE sums->apart[w] = apart[w];
}

OF_ANY_WIDTH void imitate(struct imitation *restrict sums, const double *restrict term, size_t n,
                          size_t width)
{
    const size_t in_part = (n + PARTS - 1) / PARTS;
    memset(sums, 0, sizeof *sums);
    for (size_t k = 0, end, block = BLOCK, part = in_part; k < n; k = end) {
        end = block < part ? block : part;
        end = end < n ? end : n;
        imitate_run(sums, term, n, k, end, width);
        if (end == block) {
            move_to_each(sums->blocks, sums->block, width);
            block += BLOCK;
        }
        if (end == part) {
            move_to_each(sums->parts, sums->part, width);
            part += in_part;
        }
    }
    move_to_each(sums->blocks, sums->block, width);
    move_to_each(sums->parts, sums->part, width);
}

OF_ANY_WIDTH void take_errors(double *restrict worst, const struct imitation *sums,
                              const float *lanes, const double *want, size_t width)
{
    take_error(worst, sums->forward, want, width);
    take_error(worst, sums->reverse, want, width);
    take_error(worst, lanes, want, width);
    take_error(worst, sums->blocks, want, width);
    take_error(worst, sums->parts, want, width);
}

/* The largest error of the imitations. Equal products are rounded alike, so that what they are off by before they are added grows with their
 * number, and may add to what the sum rounds or take from it. */
OF_ANY_WIDTH void imitated_errors(double *worst, const double *term, size_t n, bool products,
                                  size_t width)
{
    struct imitation sums;
    float lanes[WIDTH] = { 0 }, fused[WIDTH];
    imitate(&sums, term, n, width);
    for (int k = 0; k < LANES; k++) add_to_each(lanes, sums.lane[k], width);
    FOR_EACH_LINE worst[w] = sums.apart[w] < INFINITY ? sums.apart[w] : 0;
    FOR_EACH_LINE fused[w] = (float)sums.fused[w];
    take_error(worst, fused, sums.walk, width);
    take_errors(worst, &sums, lanes, sums.walk, width);
    if (products) take_errors(worst, &sums, lanes, sums.exact, width);
}

/* sum S_k^2 of a kernel with eight lanes, or four, each a walk of its own. Data of alternating signs are
 * kind to the other orders and not to these. Lanes j and j + 4 of eight are lane j of four; they are walked together, for their
 * sums to stay in registers. */
OF_ANY_WIDTH void spreads_of_lanes(double *spread, const double *restrict term, size_t n,
                                   size_t width)
{
    enum { FEWER = LANES / 2 };
    double of_lane[LANES][WIDTH], of_longer[FEWER][WIDTH];
    for (size_t j = 0; j < FEWER; j++) {
        double walk[WIDTH] = { 0 }, squares[WIDTH] = { 0 }, other[WIDTH] = { 0 },
               other_squares[WIDTH] = { 0 }, longer[WIDTH] = { 0 }, longer_squares[WIDTH] = { 0 };
        for (size_t k = 0; k + LANES <= n; k += LANES) {
            const double *restrict x = term + (k + j) * width, *restrict y = x + FEWER * width;
            FOR_EACH_LINE
            {
                walk[w] += x[w];
                squares[w] += walk[w] * walk[w];
                other[w] += y[w];
                other_squares[w] += other[w] * other[w];
                double between = longer[w] + x[w];
                longer[w] = between + y[w];
                longer_squares[w] += between * between + longer[w] * longer[w];
            }
        }
        FOR_EACH_LINE of_lane[j][w] = squares[w];
        FOR_EACH_LINE of_lane[j + FEWER][w] = other_squares[w];
        FOR_EACH_LINE of_longer[j][w] = longer_squares[w];
    }
    FOR_EACH_LINE
    {
        double total = 0, longer_total = 0;
        for (size_t j = 0; j < LANES; j++) total += of_lane[j][w];
        for (size_t j = 0; j < FEWER; j++) longer_total += of_longer[j][w];
        spread[w] = larger(total, longer_total);
    }
}

/* A kernel whose order is none of these may be off by as much again; on random data more would widen. */
static const double IMITATED_SHARE = 0.7;

static inline double square_of_imitated(double error, double units)
{
    double imitated = IMITATED_SHARE * error * units;
    return imitated * imitated;
}

/* What additions in double lose, which a double holds (Knuth, The Art of Computer Programming, vol. 2, section 4.2.2, theorem B). */
OF_ANY_WIDTH void add_with_loss(double *restrict sum, double *restrict lost,
                                const double *restrict x, size_t width)
{
    FOR_EACH_LINE
    {
        double before = sum[w], after = before + x[w], part = after - before;
        lost[w] += (before - (after - part)) + (x[w] - part);
        sum[w] = after;
    }
}

OF_ANY_WIDTH void take_loss(double *restrict worst, const double *restrict lost, size_t width)
{
    FOR_EACH_LINE
    {
        double size = fabs(lost[w]);
        worst[w] = size > worst[w] && size < INFINITY ? size : worst[w];
    }
}

/* The largest error of sums formed in double, and of partial sums of the first: in sequence, from the end and in lanes. Numbers of few
 * bits err alike: squares end in 0, 1 or 4 of 8, and what is rounded off them is less than half of the last bit more often than not. */
OF_ANY_WIDTH void wide_errors(double *restrict worst, const double *restrict term, size_t n,
                              size_t width)
{
    double sum[2 + LANES][WIDTH] = { { 0 } }, lost[2 + LANES][WIDTH] = { { 0 } };
    FOR_EACH_LINE worst[w] = 0;
    for (size_t k = 0; k < n; k++) {
        add_with_loss(sum[0], lost[0], term + k * width, width);
        take_loss(worst, lost[0], width);
        add_with_loss(sum[1], lost[1], term + (n - 1 - k) * width, width);
        add_with_loss(sum[2 + k % LANES], lost[2 + k % LANES], term + k * width, width);
    }
    take_loss(worst, lost[1], width);
    for (size_t j = 1; j < LANES; j++) {
        FOR_EACH_LINE lost[2][w] += lost[2 + j][w];
        add_with_loss(sum[2], lost[2], sum[2 + j], width);
    }
    take_loss(worst, lost[2], width);
}

/* What the formula needs of a line: the sums of S_k, S_k^2 and x^2, and of S_k^2 in lanes and turns. */
struct walked {
    double walk[WIDTH], first[WIDTH], second[WIDTH], squares[WIDTH], lanes[WIDTH], turns[WIDTH];
};

/* One after the other, of products also in two lanes, which take turns. */
OF_ANY_WIDTH void walk_terms(struct walked *restrict out, const double *restrict term, size_t n,
                             bool products, size_t width)
{
    double walk[WIDTH] = { 0 }, first[WIDTH] = { 0 }, second[WIDTH] = { 0 }, squares[WIDTH] = { 0 },
           turns[WIDTH] = { 0 }, even[WIDTH] = { 0 }, odd[WIDTH] = { 0 };
    for (size_t k = 0; k < n; k++) {
        const double *restrict x = term + k * width;
        FOR_EACH_LINE
        {
            walk[w] += x[w];
            first[w] += walk[w];
            second[w] += walk[w] * walk[w];
            squares[w] += x[w] * x[w];
        }
        if (!products) continue;
        FOR_EACH_LINE
        {
            double next = even[w] + x[w];
            even[w] = odd[w];
            odd[w] = next;
            turns[w] += next * next;
        }
    }
    FOR_EACH_LINE out->walk[w] = walk[w];
    FOR_EACH_LINE out->first[w] = first[w];
    FOR_EACH_LINE out->second[w] = second[w];
    FOR_EACH_LINE out->squares[w] = squares[w];
    FOR_EACH_LINE out->turns[w] = turns[w];
}

OF_ANY_WIDTH void formulas(double *restrict formula, const struct walked *restrict s, size_t n,
                           bool products, size_t width)
{
    const double size = (double)n;
    FOR_EACH_LINE
    {
        /* S_k from the front are walk[k]; those from the back are S - walk[k - 1]. */
        double walk = s->walk[w], squares = s->squares[w];
        double before = s->first[w] - walk, before_second = s->second[w] - walk * walk;
        double reverse = size * walk * walk - 2 * walk * before + before_second;
        double any = sum_spread_of_any_order(size, walk, squares);
        formula[w] =
            larger(larger(larger(s->second[w], reverse), any), larger(s->lanes[w], s->turns[w])) /
            3;
    }
    if (!products) return;
    FOR_EACH_LINE formula[w] += s->squares[w] / 3;
}

/* A function of its own: part of the one below it is no loop that compilers make vectors of. */
VECTORIZED static void formulas_of_lines(double *formula, const struct walked *s, size_t n,
                                         bool products)
{
    formulas(formula, s, n, products, WIDTH);
}

OF_ANY_WIDTH void parts_of(struct sum_spread *parts, const double *restrict term, size_t n,
                           bool products, enum sum_imitation imitation, size_t width)
{
    struct walked walked;
    double formula[WIDTH], errors[WIDTH];
    for (size_t w = 0; w < width; w++) parts[w] = (struct sum_spread){ 0, 0 };
    if (n < 2 && !products) return;
    walk_terms(&walked, term, n, products, width);
    spreads_of_lanes(walked.lanes, term, n, width);
    if (width == 1) formulas(formula, &walked, n, products, 1);
    else formulas_of_lines(formula, &walked, n, products);
    for (size_t w = 0; w < width; w++) parts[w].formula = formula[w];
    if (imitation == SUM_NOT_IMITATED) return;
    if (imitation == SUM_IN_FLOAT) imitated_errors(errors, term, n, products, width);
    else wide_errors(errors, term, n, width);
    const double units = imitation == SUM_IN_FLOAT ? 0x1p24 : 0x1p53;
    FOR_EACH_LINE errors[w] = square_of_imitated(errors[w], units);
    for (size_t w = 0; w < width; w++) parts[w].imitated = errors[w];
}

VECTORIZED void sum_spread_parts_of_lines(struct sum_spread *parts, const double *term, size_t n,
                                          bool products, enum sum_imitation imitation)
{
    parts_of(parts, term, n, products, imitation, WIDTH);
}

double sum_spread(const double *term, size_t n, bool products, bool single)
{
    struct sum_spread parts;
    parts_of(&parts, term, n, products, sum_imitation(single), 1);
    return larger(parts.formula, parts.imitated);
}

enum { MOST_VALUES = 8 };

/* Which different terms other than 0 there are; how many, or 0 where there are more than a few. */
static size_t values_of_few(double *value, const double *term, size_t n, size_t width)
{
    size_t values = 0;
    for (size_t k = 0; k < n; k++) {
        double x = term[k * width];
        size_t j = 0;
        if (x == 0) continue;
        while (j < values && value[j] != x) j++;
        if (j == MOST_VALUES) return 0;
        if (j == values) value[values++] = x;
    }
    return values;
}

/* Lines of which two of the first terms are equal, or one is 0: others have more different terms than a few. */
VECTORIZED static void lines_that_may_repeat(unsigned char *restrict may,
                                             const double *restrict term)
{
    double equal[WIDTH] = { 0 };
    for (size_t k = 0; k <= MOST_VALUES; k++)
        for (size_t j = 0; j < k; j++) LANES_LOOP for (size_t w = 0; w < WIDTH; w++)
            {
                double x = term[k * WIDTH + w];
                equal[w] = x == term[j * WIDTH + w] || x == 0 ? 1 : equal[w];
            }
    for (size_t w = 0; w < WIDTH; w++) may[w] = equal[w] > 0;
}

void sum_spread_repeats(bool repeats[SUM_SPREAD_LINES], const double *term, size_t n)
{
    unsigned char may[WIDTH] = { 0 };
    double value[MOST_VALUES];
    if (n > MOST_VALUES) lines_that_may_repeat(may, term);
    for (size_t w = 0; w < WIDTH; w++) {
        size_t values = may[w] ? values_of_few(value, term + w, n, WIDTH) : 0, others = 0;
        for (size_t k = 0; values && k < n; k++) others += term[k * WIDTH + w] != 0;
        repeats[w] = others > 2 * values;
    }
}

/* Terms that have errors of their own and repeat: while a sum stays between two powers of 2, a term that comes N times is
 * rounded alike N times, by what nobody knows, u 2^e / sqrt 3 in the root mean square. So N^2 of these count, where
 * independent roundings have N. 0 where there are more than a few different terms. */
static double spread_of_repeated(const double *term, size_t n, size_t width)
{
    enum { BINADES = 32 };
    double value[MOST_VALUES], walk = 0, total = 0;
    size_t values = values_of_few(value, term, n, width);
    if (!values) return 0;
    double times[BINADES][MOST_VALUES] = { { 0 } };
    int exponent[BINADES] = { 0 };
    for (size_t k = 0; k < n; k++) {
        double x = term[k * width];
        size_t j = 0;
        if (x == 0) continue;
        while (j < values && value[j] != x) j++; /* not a number is no value */
        walk += x;
        if (walk == 0 || !isfinite(walk)) continue;
        int e = ilogb(walk), slot = e & (BINADES - 1);
        exponent[slot] = e;
        times[slot][j]++;
    }
    for (int slot = 0; slot < BINADES; slot++)
        for (size_t j = 0; j < values; j++) {
            double size = ldexp(times[slot][j], exponent[slot]);
            total += size * size;
        }
    return total / 3;
}

/* The spreads are those of the terms as they are; terms are changed twice, and imitated again. */
OF_ANY_WIDTH void imitate_copies(double *restrict spread, double *restrict term, size_t n,
                                 bool products, size_t width)
{
    enum { COPIES = 2 };
    for (int copy = 0; n > 1 && copy < COPIES; copy++) {
        double errors[WIDTH];
        for (size_t k = 0; k < n * width; k++)
            term[k] *= 1 + 0x1.4p-22; /* five units of float's roundoff */
        imitated_errors(errors, term, n, products, width);
        FOR_EACH_LINE spread[w] = larger(spread[w], square_of_imitated(errors[w], 0x1p24));
    }
}

double sum_spread_of_inexact(double *term, size_t n, bool products, bool single)
{
    double spread = larger(sum_spread(term, n, products, single), spread_of_repeated(term, n, 1));
    if (single) imitate_copies(&spread, term, n, products, 1);
    return spread;
}

VECTORIZED static void imitate_copies_of_lines(double *spread, double *term, size_t n,
                                               bool products)
{
    imitate_copies(spread, term, n, products, WIDTH);
}

void sum_spread_of_lines(double *spread, double *term, size_t n, bool inexact, bool products,
                         bool single)
{
    struct sum_spread parts[WIDTH];
    sum_spread_parts_of_lines(parts, term, n, products, sum_imitation(single));
    for (size_t w = 0; w < WIDTH; w++) {
        spread[w] = larger(parts[w].formula, parts[w].imitated);
        if (inexact) spread[w] = larger(spread[w], spread_of_repeated(term + w, n, WIDTH));
    }
    if (inexact && single) imitate_copies_of_lines(spread, term, n, products);
}

/* Products of `n` terms that lie side by side; one_x: all lines have the factors *x, `step_x` apart, as the first. Factors of y are
 * `step_y` apart. Squares are added. */
OF_ANY_WIDTH void multiply_terms(double *restrict term, double *restrict squares_x,
                                 double *restrict squares_y, const double *restrict x,
                                 size_t step_x, const double *restrict y, size_t step_y, size_t n,
                                 bool one_x)
{
    double of_x[WIDTH], of_y[WIDTH], of_one = squares_x[0];
    memcpy(of_x, squares_x, sizeof of_x);
    memcpy(of_y, squares_y, sizeof of_y);
    for (size_t k = 0; k < n; k++, x += step_x, y += step_y, term += WIDTH) {
        const double one = *x;
        if (one_x) of_one += one * one;
        LANES_LOOP
        for (size_t w = 0; w < WIDTH; w++) term[w] = (one_x ? one : x[w]) * y[w];
        LANES_LOOP
        for (size_t w = 0; w < WIDTH; w++) of_y[w] += y[w] * y[w];
        if (one_x) continue;
        LANES_LOOP
        for (size_t w = 0; w < WIDTH; w++) of_x[w] += x[w] * x[w];
    }
    for (size_t w = 0; w < WIDTH; w++) squares_x[w] = one_x ? of_one : of_x[w];
    memcpy(squares_y, of_y, sizeof of_y);
}

VECTORIZED static void multiply_one(double *term, double *squares_x, double *squares_y,
                                    const double *x, size_t step_x, const double *y, size_t step_y,
                                    size_t n)
{
    multiply_terms(term, squares_x, squares_y, x, step_x, y, step_y, n, true);
}

VECTORIZED static void multiply_each(double *term, double *squares_x, double *squares_y,
                                     const double *x, size_t step_x, const double *y, size_t step_y,
                                     size_t n)
{
    multiply_terms(term, squares_x, squares_y, x, step_x, y, step_y, n, false);
}

/* Terms k .. k + count - 1 of lines: where they lie side by side, or turned into `room`. */
static const double *side_by_side(size_t *apart, double *room, const double *const *line,
                                  size_t step, size_t k, size_t count, bool adjacent)
{
    const double *from[WIDTH];
    *apart = adjacent ? step : WIDTH;
    if (adjacent) return line[0] + k * step;
    for (size_t w = 0; w < WIDTH; w++) from[w] = line[w] + k * step;
    lines_turn(room, from, count, step);
    return room;
}

void sum_spread_multiply(double *term, double *squares_x, double *squares_y,
                         const struct sum_spread_factors *f)
{

    double x[BLOCK * WIDTH], y[BLOCK * WIDTH];
    bool one_x = true, adjacent_x = true, adjacent_y = true;
    for (size_t w = 1; w < WIDTH; w++) {
        one_x = one_x && f->x[w] == f->x[0];
        adjacent_x = adjacent_x && f->x[w] == f->x[0] + w;
        adjacent_y = adjacent_y && f->y[w] == f->y[0] + w;
    }
    memset(squares_x, 0, WIDTH * sizeof *squares_x);
    memset(squares_y, 0, WIDTH * sizeof *squares_y);
    for (size_t k = 0; k < f->n; k += BLOCK) {
        size_t count = f->n - k < BLOCK ? f->n - k : BLOCK, step_x, step_y;
        const double *first =
            side_by_side(&step_x, x, f->x, f->step_x, k, count, one_x || adjacent_x);
        const double *second = side_by_side(&step_y, y, f->y, f->step_y, k, count, adjacent_y);
        (one_x ? multiply_one : multiply_each)(term + k * WIDTH, squares_x, squares_y, first,
                                               step_x, second, step_y, count);
    }
}
