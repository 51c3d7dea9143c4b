/* Lines of terms are walked several at once. */
#include "bench/primitives/typical_products.h"

#include <math.h>
#include <stdint.h>

#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/sum_spread.h"
#include "core/vectorize.h"

/* As many elements are all looked at, half a millisecond's worth of terms; of more a quarter of that many, evenly spread, or as many where terms
 * repeat, as each element errs its own way. */
enum { ALL_LOOKED_AT = 2048, LEAST_LOOKED_AT = 64, TERMS_LOOKED_AT = 1 << 17, SAMPLED = 4 };

static size_t at_least(size_t count, size_t least) { return count > least ? count : least; }

/* From one element that is looked at to the next. */
static size_t stride_of_looks(size_t n, size_t k, size_t sampled)
{
    size_t most = TERMS_LOOKED_AT / k < ALL_LOOKED_AT ? TERMS_LOOKED_AT / k : ALL_LOOKED_AT;
    if (n <= at_least(most, LEAST_LOOKED_AT)) return 1;
    return (n - 1) / at_least(most / sampled, LEAST_LOOKED_AT) + 1;
}

/* Of a quarter of the lots of lines the sums are imitated, at places that no period of rows or columns meets alone: by
 * Fibonacci hashing; and of lots whose terms repeat. */
static bool is_imitated(size_t lot) { return (uint32_t)(lot * UINT32_C(0x9e3779b9)) >> 30 == 0; }

/* The estimate: the sum of squares of the products as if they were spread evenly. */
static inline double estimated_spread(double k, double value, double norms)
{
    double squares = norms * norms / k;
    return (sum_spread_of_any_order(k, value, squares) + squares) / 3;
}

/* Lines of an operand, terms `step` apart. Those of an input tensor of floats that is not converted as a whole are converted one
 * by one, into `room` for SUM_SPREAD_LINES of them. */
struct look_lines {
    const struct node *node;
    size_t step;
    double *room;
};

/* Products that are looked at together: where they are, and their lines. */
struct look {
    size_t at[SUM_SPREAD_LINES], count;
    size_t lots;  /* that have been looked at */
    bool repeats; /* the terms of one of them */
    struct look_lines a, b;
    struct sum_spread_factors factors;
    double squares_x[SUM_SPREAD_LINES], squares_y[SUM_SPREAD_LINES]; /* of the norms */
    double *term;                                                    /* k times SUM_SPREAD_LINES */
    double repeated, with_formula; /* the sum of imitated over formula, and of how many */
};

/* Of a few lines to be looked at. */
static bool is_read_by_lines(const struct node *node)
{
    return !node->value && node->source && node->dtype == DT_F32;
}

static struct look_lines lines_open(struct tape *tape, const struct node *node, size_t k,
                                    size_t step)
{
    double *room = node->value ? NULL : tape_allocate(tape, k * SUM_SPREAD_LINES, sizeof *room);
    return (struct look_lines){ node, step, room };
}

VECTORIZED static void read_floats(double *restrict out, const float *restrict x, size_t step,
                                   size_t n)
{
    if (step == 1)
        for (size_t i = 0; i < n; i++) out[i] = x[i];
    else
        for (size_t i = 0; i < n; i++) out[i] = x[i * step];
}

/* The line from element `start` on, as line w. */
static const double *line_at(const struct look_lines *lines, size_t start, size_t w, size_t k)
{
    if (!lines->room) return lines->node->value + start;
    double *line = lines->room + w * k;
    read_floats(line, (const float *)lines->node->source->data + start, lines->step, k);
    return line;
}

/* Where an element is. */
struct place {
    size_t at, batch, row, column;
};

/* `stride` elements further; divisions only where that is another row. */
static void move_on(struct place *place, size_t stride, const struct matmul *p)
{
    place->at += stride;
    place->column += stride;
    if (place->column < p->n) return;
    place->row += place->column / p->n;
    place->column %= p->n;
    place->batch += place->row / p->m;
    place->row %= p->m;
}

static void add_look(struct look *look, const struct place *place, const struct matmul *p)
{
    struct sum_spread_factors *f = &look->factors;
    size_t w = look->count++;
    bool same_row = w && place->column >= place->at - look->at[w - 1];
    look->at[w] = place->at;
    f->x[w] = same_row ? f->x[w - 1]
                       : line_at(&look->a, a_element(p, look->a.node, place->batch, place->row, 0),
                                 w, p->k);
    f->y[w] =
        line_at(&look->b, b_element(p, look->b.node, place->batch, 0, place->column), w, p->k);
}

static void take_terms(struct look *look)
{
    struct sum_spread_factors *f = &look->factors;
    for (size_t w = look->count; w < SUM_SPREAD_LINES; w++) { /* lines that are not there */
        f->x[w] = f->x[0];
        f->y[w] = f->y[0];
    }
    sum_spread_multiply(look->term, look->squares_x, look->squares_y, f);
}

/* What the terms of each line give, the larger of formula and imitation, over what is estimated for it. */
struct looked_at {
    double spread[SUM_SPREAD_LINES], of_estimate[SUM_SPREAD_LINES], of_formula[SUM_SPREAD_LINES];
};

VECTORIZED static void compare_looks(struct looked_at *restrict out,
                                     const struct sum_spread *restrict parts,
                                     const double *restrict value, const struct look *restrict look,
                                     double k, bool imitates)
{
    const double least = imitates ? 0 : INFINITY;
    LANES_LOOP for (size_t w = 0; w < SUM_SPREAD_LINES; w++)
    {
        double formula = parts[w].formula, imitated = parts[w].imitated;
        bool finite = fabs(value[w]) < INFINITY;
        formula = finite ? formula : 0;
        imitated = finite ? imitated : 0;
        double spread = larger(formula, imitated),
               norms = sqrt(look->squares_x[w]) * sqrt(look->squares_y[w]),
               estimate = estimated_spread(k, value[w], norms);
        out->spread[w] = spread;
        double of_estimate = spread / estimate, of_formula = imitated / formula;
        out->of_estimate[w] = ((spread > 0) & (estimate > 0)) ? of_estimate : 0;
        out->of_formula[w] = formula > least ? of_formula : -1;
    }
}

static void look_at_terms(struct typical_products *typical, struct look *look,
                          const struct node *node, size_t k, bool single)
{
    struct sum_spread parts[SUM_SPREAD_LINES];
    struct looked_at found;
    double value[SUM_SPREAD_LINES] = { 0 };
    bool imitates = is_imitated(look->lots++), repeats[SUM_SPREAD_LINES];
    sum_spread_repeats(repeats, look->term, k);
    for (size_t w = 0; w < look->count; w++) look->repeats |= repeats[w];
    imitates |= look->repeats;
    sum_spread_parts_of_lines(parts, look->term, k, true,
                              imitates ? sum_imitation(single) : SUM_NOT_IMITATED);
    for (size_t w = 0; w < look->count; w++) value[w] = node->value[look->at[w]];
    compare_looks(&found, parts, value, look, (double)k, imitates);
    for (size_t w = 0; w < look->count; w++) {
        if (typical->own) typical->own[look->at[w]] = found.spread[w];
        typical->quotient = larger(typical->quotient, found.of_estimate[w]);
        if (!(found.of_formula[w] >= 0)) continue;
        look->repeated += found.of_formula[w];
        look->with_formula++;
    }
    look->count = 0;
}

static void look_at_elements(struct typical_products *typical, struct look *look, struct tape *tape,
                             const struct node *node, const struct matmul *p, size_t stride)
{
    for (struct place at = { 0 }; at.at < node->n && !tape_failed(tape); move_on(&at, stride, p)) {
        add_look(look, &at, p);
        if (look->count < SUM_SPREAD_LINES && at.at + stride < node->n) continue;
        take_terms(look);
        look_at_terms(typical, look, node, p->k, !tape->wide);
    }
}

void typical_products_look(struct typical_products *typical, struct tape *tape,
                           const struct node *node, struct node *a, struct node *b,
                           const struct matmul *p)
{
    size_t stride = stride_of_looks(node->n, p->k, SAMPLED),
           all = stride_of_looks(node->n, p->k, 1);
    bool few = stride > 1;
    typical->own = few ? NULL : tape_allocate(tape, node->n, sizeof *typical->own);
    if (!few || !is_read_by_lines(a)) (void)node_values(tape, a);
    if (!few || !is_read_by_lines(b)) (void)node_values(tape, b);
    struct arena_mark before = arena_mark(tape->arena);
    struct look look = {
        .term = tape_allocate(tape, p->k * SUM_SPREAD_LINES, sizeof(double)),
        .a = lines_open(tape, a, p->k, p->transpose_a ? p->m : 1),
        .b = lines_open(tape, b, p->k, p->transpose_b ? 1 : p->n),
    };
    look.factors = (struct sum_spread_factors){ .n = p->k,
                                                .step_x = look.a.room ? 1 : look.a.step,
                                                .step_y = look.b.room ? 1 : look.b.step };
    typical->quotient = 0;
    typical->terms = (double)p->k;
    look_at_elements(typical, &look, tape, node, p, stride);
    if (look.repeats && all < stride) look_at_elements(typical, &look, tape, node, p, all);
    arena_rewind(tape->arena, before);
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
