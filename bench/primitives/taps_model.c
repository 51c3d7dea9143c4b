/* The errors of a sum of n terms p = w x, with S_k its partial sums and Q = sum p^2 (Higham, Accuracy and Stability, ch. 3 and 4; Higham and
 * Mary, A new approach to probabilistic rounding error analysis, 2019: independent roundings add up in squares).
 *
 *   additions    at worst m (n - 1) u sum|p|, where each x is the sum of m elements already that a kernel may have added in the same
 *                row. In the mean u^2/3 sum of S_k^2 from k = 2 on, for the worst of the forward order, the reverse one and
 *                the mean over all (bench/arithmetic/sum_spread.h). With c the size of a term this is n^3/3 c^2, and (m n)^3/3 of a
 *                row of m n elements of size c / m, which is m times as much.
 *   products     u |p|; in the mean u^2/3 Q
 *   weights      of one place with error e: e |sum of slope x|, as the errors of its weights cancel where x is smooth. A sum over
 *                several places, an adjoint's, has sum of e |slope x|, in the mean the root of the sum of squares. Roundings of a
 *                weight's own times |x|.
 *   x            |w| times its errors. The sums that an adjoint adds up once more may have been made of equal numbers and err alike, so
 *                there it is their sum in the mean, too.
 */
#include "bench/primitives/taps_model.h"

#include <math.h>

#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/sum_spread.h"
#include "bench/tape/bounds.h"

/* A sum as it is walked: errors that do not come from additions are added up, or their squares. */
struct walk {
    double sum, low, magnitude, squares, first, last;
    double partial, squared; /* sum S_k, sum S_k^2 of all but the last */
    double carried;
    double beside[2]; /* sum of slope x, below and above the place */
    size_t n;
};

struct model {
    const struct tape *tape;
    const struct node *x;
    const struct taps *taps;
    size_t inner;
    bool typical, adjoint;
};

static double measure(const struct model *m, double x) { return m->typical ? x * x : fabs(x); }

static void add_to_sum(struct walk *walk, double p)
{
    if (walk->n++) {
        walk->partial += walk->sum;
        walk->squared += walk->sum * walk->sum;
    } else {
        walk->first = p;
    }
    walk->low += two_sum(&walk->sum, p);
    walk->magnitude += fabs(p);
    walk->squares += p * p;
    walk->last = p;
}

/* What the weight of tap t of output o is off by at worst. */
static double weight_error(const struct model *m, size_t o, size_t t)
{
    const struct tap_places *places = m->taps->places;
    size_t own = m->adjoint ? m->taps->origin[t] : t;
    double slope = fmax(fabs(places->slope[0][own]), fabs(places->slope[1][own]));
    double place = places->error[m->adjoint ? m->taps->index[t] : o];
    return (slope * place + places->rounding[own]) * m->tape->unit;
}

/* What tap t's weight is off by, times v. */
static void add_weight(struct walk *walk, const struct model *m, size_t t, double v)
{
    const struct tap_places *places = m->taps->places;
    double unit = m->tape->unit;
    size_t own = m->adjoint ? m->taps->origin[t] : t;
    double rounding = places->rounding[own] * (m->typical ? places->typical_rounding : 1);
    walk->carried += measure(m, rounding * unit * v);
    if (!m->adjoint) {
        for (int side = 0; side < 2; side++) walk->beside[side] += places->slope[side][own] * v;
        return;
    }
    double slope = fmax(fabs(places->slope[0][own]), fabs(places->slope[1][own]));
    double place = places->error[m->taps->index[t]] * (m->typical ? places->typical_error : 1);
    walk->carried += measure(m, slope * place * unit * v);
}

static double rounded_additions(const struct model *m, const struct walk *walk)
{
    double n = (double)walk->n, sum = walk->sum, squares = walk->squares;
    if (walk->n < 2) return 0;
    if (!m->typical) return m->taps->summed * (n - 1) * walk->magnitude;
    double forward = walk->squared - walk->first * walk->first + sum * sum;
    double reverse = n * sum * sum - 2 * sum * walk->partial + walk->squared -
                     walk->last * walk->last;
    double any = sum_spread_of_any_order(n, sum, squares) - squares / n;
    /* Outputs of weights are sums of few products, and what other dimensions add to them is no more than these. Many in a row may
     * repeat, and their roundings with them: twice what independent ones make. */
    double summed = m->taps->weight && !m->adjoint ? 1 : m->taps->summed;
    if (summed > 1) summed *= 4;
    return summed * larger(larger(forward, reverse), any) / 3;
}

static double error_of(const struct model *m, const struct walk *walk, size_t o)
{
    double unit = m->tape->unit, carried = walk->carried, own = rounded_additions(m, walk);
    if (m->taps->weight) own += m->typical ? walk->squares / 3 : walk->magnitude;
    own *= m->typical ? unit * unit : unit;
    if (m->taps->places && !m->adjoint) {
        const struct tap_places *places = m->taps->places;
        double slope = fmax(fabs(walk->beside[0]), fabs(walk->beside[1]));
        double place = places->error[o] * (m->typical ? places->typical_error : 1);
        carried += measure(m, slope * place * unit);
    }
    double error = m->typical ? sqrt(own + carried) : own + carried;
    return error + (m->taps->weight ? (double)walk->n * m->tape->tiny : 0);
}

/* Output o of a line, which starts at element `line` of x. */
static void model_output(struct node *node, const struct model *m, size_t out, size_t line,
                         size_t o)
{
    const struct taps *taps = m->taps;
    struct walk walk = { 0 };
    double of_x = 0;
    for (size_t t = taps->first[o]; t < taps->first[o + 1]; t++) {
        size_t at = line + taps->index[t] * m->inner;
        double v = m->x->value[at], w = taps->weight ? taps->weight[t] : 1;
        add_to_sum(&walk, w * v);
        /* A weight of 0 may be another. */
        double off = taps->places ? weight_error(m, o, t) : 0;
        double e = (fabs(w) + off) * node_error(m->x, at);
        of_x += m->adjoint ? e : measure(m, e);
        if (taps->places) add_weight(&walk, m, t, v);
    }
    walk.carried += m->adjoint ? measure(m, of_x) : of_x;
    node->value[out] = isfinite(walk.sum) ? walk.sum + walk.low : walk.sum;
    node->error[out] = tidy_bound(error_of(m, &walk, o) * (1 + 0x1p-20), node->value[out]);
}

void taps_model(struct tape *tape, struct node *node, const struct node *x, const struct taps *taps,
                size_t inner)
{
    const struct model m = { tape, x, taps, inner, tape_is_typical(tape), taps->origin != NULL };
    size_t outer = node->n && taps->outputs ? node->n / inner / taps->outputs : 0;
    for (size_t a = 0; a < outer; a++)
        for (size_t o = 0; o < taps->outputs; o++)
            for (size_t j = 0; j < inner; j++)
                model_output(node, &m, (a * taps->outputs + o) * inner + j,
                             a * taps->inputs * inner + j, o);
}
