/* Lines of terms are walked several at once. */
#include "bench/primitives/typical_products.h"

#include <math.h>

#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/sum_spread.h"
#include "core/vectorize.h"

/* How many elements are looked at: a millisecond's worth of terms. */
enum { MOST_LOOKED_AT = 4096, LEAST_LOOKED_AT = 64, TERMS_LOOKED_AT = 1 << 18 };

static size_t looks(size_t k)
{
    size_t count = TERMS_LOOKED_AT / k;
    return count > MOST_LOOKED_AT    ? MOST_LOOKED_AT
           : count < LEAST_LOOKED_AT ? LEAST_LOOKED_AT
                                     : count;
}

/* The estimate: the sum of squares of the products as if they were spread evenly. */
static inline double estimated_spread(double k, double value, double norms)
{
    double squares = norms * norms / k;
    return (sum_spread_of_any_order(k, value, squares) + squares) / 3;
}

/* Products that are looked at together: where they are, their lines, and the norms of these. */
struct look {
    size_t at[SUM_SPREAD_LINES], count;
    struct sum_spread_factors factors;
    double norms[SUM_SPREAD_LINES];
    double *term;                  /* k times SUM_SPREAD_LINES */
    double repeated, with_formula; /* the sum of imitated over formula, and of how many */
};

static void add_look(struct look *look, size_t at, const struct node *a, const struct node *b,
                     const struct matmul *p)
{
    struct sum_spread_factors *f = &look->factors;
    size_t w = look->count++, row = at / p->n;
    look->at[w] = at;
    f->x[w] = a->value + a_element(p, a, row / p->m, row % p->m, 0);
    f->y[w] = b->value + b_element(p, b, row / p->m, 0, at % p->n);
}

static void take_terms(struct look *look)
{
    double x[SUM_SPREAD_LINES], y[SUM_SPREAD_LINES];
    struct sum_spread_factors *f = &look->factors;
    for (size_t w = look->count; w < SUM_SPREAD_LINES; w++) { /* lines that are not there */
        f->x[w] = f->x[0];
        f->y[w] = f->y[0];
    }
    sum_spread_multiply(look->term, x, y, f);
    for (size_t w = 0; w < SUM_SPREAD_LINES; w++) look->norms[w] = sqrt(x[w]) * sqrt(y[w]);
}

/* What the terms of each line give, the larger of formula and imitation, over what is estimated for it. */
struct looked_at {
    double spread[SUM_SPREAD_LINES], of_estimate[SUM_SPREAD_LINES], of_formula[SUM_SPREAD_LINES];
};

VECTORIZED static void compare_looks(struct looked_at *restrict out,
                                     const struct sum_spread *restrict parts,
                                     const double *restrict value, const double *restrict norms,
                                     double k)
{
    LANES_LOOP for (size_t w = 0; w < SUM_SPREAD_LINES; w++)
    {
        bool finite = fabs(value[w]) < INFINITY;
        double formula = finite ? parts[w].formula : 0, imitated = finite ? parts[w].imitated : 0;
        double spread = larger(formula, imitated),
               estimate = estimated_spread(k, value[w], norms[w]);
        out->spread[w] = spread;
        out->of_estimate[w] = ((spread > 0) & (estimate > 0)) ? spread / estimate : 0;
        out->of_formula[w] = formula > 0 ? imitated / formula : -1;
    }
}

static void look_at_terms(struct typical_products *typical, struct look *look,
                          const struct node *node, size_t k, bool single)
{
    struct sum_spread parts[SUM_SPREAD_LINES];
    struct looked_at found;
    double value[SUM_SPREAD_LINES] = { 0 };
    sum_spread_parts_of_lines(parts, look->term, k, true, single);
    for (size_t w = 0; w < look->count; w++) value[w] = node->value[look->at[w]];
    compare_looks(&found, parts, value, look->norms, (double)k);
    for (size_t w = 0; w < look->count; w++) {
        if (typical->own) typical->own[look->at[w]] = found.spread[w];
        typical->quotient = larger(typical->quotient, found.of_estimate[w]);
        if (!(found.of_formula[w] >= 0)) continue;
        look->repeated += found.of_formula[w];
        look->with_formula++;
    }
    look->count = 0;
}

void typical_products_look(struct typical_products *typical, struct tape *tape,
                           const struct node *node, const struct node *a, const struct node *b,
                           const struct matmul *p)
{
    size_t stride = (node->n - 1) / looks(p->k) + 1;
    struct look look = {
        .term = tape_allocate(tape, p->k * SUM_SPREAD_LINES, sizeof(double)),
        .factors = { .n = p->k,
                     .step_x = p->transpose_a ? p->m : 1,
                     .step_y = p->transpose_b ? 1 : p->n },
    };
    typical->own = stride == 1 ? tape_allocate(tape, node->n, sizeof *typical->own) : NULL;
    typical->quotient = 0;
    typical->terms = (double)p->k;
    for (size_t at = 0; at < node->n && !tape_failed(tape); at += stride) {
        add_look(&look, at, a, b, p);
        if (look.count < SUM_SPREAD_LINES && at + stride < node->n) continue;
        take_terms(&look);
        look_at_terms(typical, &look, node, p->k, !tape->wide);
    }
    typical->repeated = look.with_formula > 0 ? larger(look.repeated / look.with_formula, 1) : 1;
}

/* What the roundings of a row's products make in the mean, besides `tiny`. */
VECTORIZED static void row_errors(double *restrict error, const double *restrict value,
                                  const double *restrict column, const double *restrict own,
                                  const struct typical_products *typical, double row, double unit,
                                  double tiny, size_t n)
{
    double k = typical->terms, quotient = typical->quotient, repeated = typical->repeated;
    const double *restrict looked_at = readable(own, value);
    for (size_t j = 0; j < n; j++) {
        double spread = own ? looked_at[j] * repeated
                            : estimated_spread(k, value[j], row * column[j]) * quotient;
        error[j] = unit * (fabs(spread) < INFINITY ? sqrt(spread) : 0) + tiny;
    }
}

void typical_products_row(double *error, const double *value, const double *column,
                          const struct typical_products *typical, size_t at, double row,
                          double unit, double tiny, size_t n)
{
    row_errors(error, value, column, typical->own ? typical->own + at : NULL, typical, row, unit,
               tiny, n);
}
