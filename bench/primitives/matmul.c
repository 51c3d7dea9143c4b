/* Batched matrix products, certified.
 *
 * Values and the bound gamma ||a_i||_2 ||b_j||_2 for exact inputs: bench/arithmetic/panels.h; errors of the inputs
 * add ||Ea_i|| ||b_j|| + ||a_i|| ||Eb_j|| + ||Ea_i|| ||Eb_j||. What that leaves open is recomputed by dot products
 * in more precision. Input tensors stay in their dtype: a panel of them at a time is converted.
 * BENCH_NATIVE uses sgemm: the float kernel of an ordinary library.
 */
#include "bench/primitives/matmul.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/certificate.h"
#include "bench/arithmetic/compensated.h"
#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"
#include "bench/arithmetic/panels.h"
#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/sum_spread.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/deviating_product.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/short_factors.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/known_values.h"
#include "bench/tape/promotion.h"
#include "core/vectorize.h"

struct matmul {
    bool transpose_a, transpose_b;
    size_t batch, m, n, k;
    double *
        norms; /* of rows and columns, of one pair of matrices after the other, once they are known; or NULL */
};

static bool is_alike(const struct node *a, const struct node *b)
{
    const struct matmul *p = a->parameters, *q = b->parameters;
    return p->transpose_a == q->transpose_a && p->transpose_b == q->transpose_b &&
           p->batch == q->batch && p->m == q->m && p->n == q->n && p->k == q->k;
}

static size_t a_element(const struct matmul *p, const struct node *a, size_t batch, size_t row,
                        size_t l)
{
    size_t base = a->shape[0] == 1 ? 0 : batch * p->m * p->k;
    return base + (p->transpose_a ? l * p->m + row : row * p->k + l);
}

static size_t b_element(const struct matmul *p, const struct node *b, size_t batch, size_t l,
                        size_t column)
{
    size_t base = b->shape[0] == 1 ? 0 : batch * p->k * p->n;
    return base + (p->transpose_b ? column * p->k + l : l * p->n + column);
}

static struct gemm gemm_of(const struct matmul *p)
{
    return (struct gemm){ p->transpose_a, p->transpose_b, false, p->m, p->n, p->k, 0, 0 };
}

/* ---- the primitive -------------------------------------------------------------------------- */

/* Sum over a batch that was repeated. */
static struct node *fold_batch(struct tape *tape, struct node *x, int64_t batch)
{
    return x->shape[0] == batch ? x : node_sum(tape, x, 1, true);
}

static void matmul_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct matmul *p = node->parameters;
    struct node *a = node->inputs[0], *b = node->inputs[1];
    if (a->tracked) {
        struct node *da = p->transpose_a ? node_matmul(tape, b, p->transpose_b, cotangent, true)
                                         : node_matmul(tape, cotangent, false, b, !p->transpose_b);
        tape_accumulate(tape, a, fold_batch(tape, da, a->shape[0]));
    }
    if (b->tracked) {
        struct node *db = p->transpose_b ? node_matmul(tape, cotangent, true, a, p->transpose_a)
                                         : node_matmul(tape, a, !p->transpose_a, cotangent, false);
        tape_accumulate(tape, b, fold_batch(tape, db, b->shape[0]));
    }
}

static void matmul_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct matmul *p = node->parameters;
    struct node *a = node->inputs[0], *b = node->inputs[1];
    size_t column = i % p->n, row = i / p->n % p->m, batch = i / p->n / p->m;
    arb_t x, y;
    arb_init(x);
    arb_init(y);
    arb_zero(ball);
    for (size_t l = 0; l < p->k && enclosure->work <= enclosure->limit; l++) {
        enclosure_element(enclosure, x, a, a_element(p, a, batch, row, l));
        enclosure_element(enclosure, y, b, b_element(p, b, batch, l, column));
        arb_addmul(ball, x, y, enclosure->precision);
        enclosure->work++;
    }
    if (enclosure->work > enclosure->limit) arb_indeterminate(ball);
    arb_clear(x);
    arb_clear(y);
}

/* A compensated dot product (Dot2 of Ogita, Rump and Oishi) of exact operands. */
static bool matmul_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    const struct matmul *p = node->parameters;
    const struct node *a = node->inputs[0], *b = node->inputs[1];
    if (!node_is_exact(a) || !node_is_exact(b)) return false;
    size_t column = i % p->n, row = i / p->n % p->m, batch = i / p->n / p->m;
    struct running sum = { 0 };
    for (size_t l = 0; l < p->k; l++) {
        double x, y;
        running_add_product(&sum, *node_block(a, a_element(p, a, batch, row, l), 1, &x),
                            *node_block(b, b_element(p, b, batch, l, column), 1, &y));
    }
    enclosure->work += p->k / 128;
    return running_pair(out, &sum, true);
}

static const struct primitive matmul_primitive = { "a matrix product", matmul_backward,
                                                   matmul_enclose, matmul_pair };

/* ---- values --------------------------------------------------------------------------------- */

static const float *single_values(struct tape *tape, struct node *x)
{
    if (x->single) return x->single;
    if (x->source && x->dtype == DT_F32) return x->single = x->source->data;
    float *single = tape_allocate(tape, x->n, sizeof *single);
    if (!single) return NULL;
    if (!x->value && x->source) dtype_to_float(single, x->source->data, x->dtype, x->n);
    else
        for (size_t i = 0; i < x->n; i++) single[i] = (float)x->value[i];
    return x->single = single;
}

/* The result stays in float, in the room of the doubles that are not made of it. */
static void single_product(struct tape *tape, struct node *node, struct node *a, struct node *b,
                           const struct matmul *p)
{
    const float *x = single_values(tape, a), *y = single_values(tape, b);
    float *z = (float *)(void *)node->value;
    struct gemm gemm = gemm_of(p);
    if (tape_failed(tape)) return;
    for (size_t t = 0; t < p->batch; t++)
        gemm_float(z + t * p->m * p->n, &gemm, x + a_element(p, a, t, 0, 0),
                   y + b_element(p, b, t, 0, 0));
    node->single = z;
    node->value = NULL;
}

/* BLAS may skip or reorder non-finite terms; products with any of them are done by definition. */
static void repair_nonfinite(double *z, const double *x, const double *y, const struct matmul *p)
{
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (size_t l = 0; l < p->k; l++)
                sum += x[p->transpose_a ? l * p->m + i : i * p->k + l] *
                       y[p->transpose_b ? j * p->k + l : l * p->n + j];
            if (!isfinite(sum)) z[i * p->n + j] = sum;
        }
}

/* As a device computes in double. */
static void double_product(struct tape *tape, struct node *node, struct node *a, struct node *b,
                           const struct matmul *p)
{
    const double *x = node_values(tape, a), *y = node_values(tape, b);
    if (tape_failed(tape)) return;
    bool finite = all_finite(x, a->n) && all_finite(y, b->n);
    struct gemm gemm = gemm_of(p);
    for (size_t t = 0; t < p->batch; t++) {
        size_t at_a = a_element(p, a, t, 0, 0), at_b = b_element(p, b, t, 0, 0);
        double *z = node->value + t * p->m * p->n;
        deviating_gemm(tape, z, &gemm, x + at_a, y + at_b);
        if (!finite) repair_nonfinite(z, x + at_a, y + at_b, p);
    }
}

/* By definition, wrapping around in the dtype of the result. */
static struct node *integer_product(struct tape *tape, struct node *a, struct node *b,
                                    const struct matmul *p)
{
    int64_t shape[3] = { (int64_t)p->batch, (int64_t)p->m, (int64_t)p->n };
    struct node *node = node_new_integer(tape, DT_I64, 3, shape);
    for (size_t t = 0; !tape_failed(tape) && t < p->batch; t++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++) {
                uint64_t sum = 0;
                for (size_t l = 0; l < p->k; l++)
                    sum += (uint64_t)a->integer[a_element(p, a, t, i, l)] *
                           (uint64_t)b->integer[b_element(p, b, t, l, j)];
                node->integer[(t * p->m + i) * p->n + j] = (int64_t)sum;
            }
    return node_to_integer(tape, node, dtype_promote(a->dtype, b->dtype));
}

/* ---- typical errors ---------------------------------------------------------------------------- */

/* sum_spread of the products of element (i, j): exactly where it was looked at, elsewhere by an estimate
 * that knows the element's value and the norms of its lines, times the worst that was seen. Imitated sums of one
 * element may be right by luck, so what they say of all elements together counts for each. */
struct typical {
    double *own; /* of all elements, or NULL: there are too many */
    double quotient, repeated;
};

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

/* Products that are looked at together: where they are, and the norms of their lines. */
struct look {
    size_t at[SUM_SPREAD_LINES], count;
    double norms[SUM_SPREAD_LINES];
    double *term;                  /* k times SUM_SPREAD_LINES */
    double repeated, with_formula; /* the sum of imitated over formula, and of how many */
};

static void take_terms(struct look *look, size_t at, const struct node *a, const struct node *b,
                       const struct matmul *p)
{
    size_t size = p->m * p->n, w = look->count++;
    const double *x = a->value + a_element(p, a, at / size, at % size / p->n, 0);
    const double *y = b->value + b_element(p, b, at / size, 0, at % p->n);
    size_t step_x = p->transpose_a ? p->m : 1, step_y = p->transpose_b ? 1 : p->n;
    double norm_x = 0, norm_y = 0;
    for (size_t l = 0; l < p->k; l++) {
        double u = x[l * step_x], v = y[l * step_y];
        look->term[l * SUM_SPREAD_LINES + w] = u * v;
        norm_x += u * u;
        norm_y += v * v;
    }
    look->at[w] = at;
    look->norms[w] = sqrt(norm_x) * sqrt(norm_y);
}

static void look_at_terms(struct typical *typical, struct look *look, const struct node *node,
                          size_t k, bool single)
{
    struct sum_spread parts[SUM_SPREAD_LINES];
    sum_spread_parts_of_lines(parts, look->term, k, true, single);
    for (size_t w = 0; w < look->count; w++) {
        double value = node->value[look->at[w]];
        if (!isfinite(value)) parts[w] = (struct sum_spread){ 0, 0 };
        double spread = fmax(parts[w].formula, parts[w].imitated);
        if (parts[w].formula > 0) {
            look->repeated += parts[w].imitated / parts[w].formula;
            look->with_formula++;
        }
        double estimate = estimated_spread((double)k, value, look->norms[w]);
        if (typical->own) typical->own[look->at[w]] = spread;
        if (spread > 0 && estimate > 0)
            typical->quotient = fmax(typical->quotient, spread / estimate);
    }
    look->count = 0;
}

static void look_at_products(struct typical *typical, struct tape *tape, const struct node *node,
                             const struct node *a, const struct node *b, const struct matmul *p)
{
    size_t stride = (node->n - 1) / looks(p->k) + 1;
    struct look look = { .term = tape_allocate(tape, p->k * SUM_SPREAD_LINES, sizeof(double)) };
    /* Lines that are not filled are walked, too. */
    if (look.term) memset(look.term, 0, p->k * SUM_SPREAD_LINES * sizeof *look.term);
    typical->own = stride == 1 ? tape_allocate(tape, node->n, sizeof *typical->own) : NULL;
    typical->quotient = 0;
    for (size_t at = 0; at < node->n && !tape_failed(tape); at += stride) {
        take_terms(&look, at, a, b, p);
        if (look.count == SUM_SPREAD_LINES || at + stride >= node->n)
            look_at_terms(typical, &look, node, p->k, !tape->wide);
    }
    typical->repeated = look.with_formula > 0 ? fmax(look.repeated / look.with_formula, 1) : 1;
}

/* ---- bounds --------------------------------------------------------------------------------- */

/* What the bound of C_ij is made of: gamma |a_i| |b_j|, and from the operands' errors
 * spread (|Ea_i| |b_j| + (|a_i| + |Ea_i|) |Eb_j|). */
struct norm_bounds {
    double gamma, spread, tiny;
    bool exact_a, exact_b;
    double *norms; /* of rows and columns, of one pair of matrices after the other */
    double *row, *column, *row_error, *column_error; /* of one pair */
    double *scratch;
    bool typical; /* the model of the root mean square: not gamma, but */
    struct typical products;
    double unit;
};

static struct norm_bounds bounds_open(struct tape *tape, const struct node *a, const struct node *b,
                                      const struct matmul *p)
{
    struct norm_bounds s = { .gamma = gamma_of(panels_roundings(p->k)) * (1 + 0x1p-20),
                             .spread = 1,
                             .tiny = (double)p->k * tape->tiny,
                             .exact_a = node_is_exact(a),
                             .exact_b = node_is_exact(b) };
    if (tape_is_model(tape)) s.gamma = dot_growth(tape, p->k) * tape->unit;
    s.unit = tape->unit;
    s.typical = tape_is_typical(tape);
    if (s.typical) s.spread = 1 / sqrt((double)p->k);
    s.norms = p->norms;
    s.row_error = tape_allocate(tape, p->m + p->n, sizeof *s.row_error);
    if (!s.exact_a || !s.exact_b)
        s.scratch = tape_allocate(tape, p->k * (p->m > p->n ? p->m : p->n), sizeof *s.scratch);
    if (tape_failed(tape)) return s;
    s.column_error = s.row_error + p->m;
    return s;
}

/* Norms of the bounds of a matrix stored at `start`, as line_norms. */
static void error_norms(double *norm, double *scratch, const struct node *x, size_t start,
                        size_t lines, size_t length, bool down)
{
    for (size_t i = 0; i < lines * length; i++) scratch[i] = node_error(x, start + i);
    line_norms(norm, scratch, lines, length, down);
}

/* The norms of the errors of the t-th matrices; those of a repeated one stay. */
static void error_norms_of_batch(struct norm_bounds *s, const struct node *a, const struct node *b,
                                 const struct matmul *p, size_t t)
{
    if (!s->exact_a && (t == 0 || a->shape[0] != 1))
        error_norms(s->row_error, s->scratch, a, a_element(p, a, t, 0, 0), p->m, p->k,
                    p->transpose_a);
    if (!s->exact_b && (t == 0 || b->shape[0] != 1))
        error_norms(s->column_error, s->scratch, b, b_element(p, b, t, 0, 0), p->n, p->k,
                    !p->transpose_b);
}

/* Bounds of a row of products of exact operands: factor * |b_j|, 0 for values that are not finite.
 * Returns how many are not certified at first sight. */
VECTORIZED static size_t exact_row_bounds(double *restrict error, const double *restrict value,
                                          const double *restrict column, double factor, double tiny,
                                          const struct certificate *certificate, size_t n)
{
    double relative = certificate->relative, least = certificate->least;
    size_t open = 0;
    for (size_t j = 0; j < n; j++) {
        double magnitude = fabs(value[j]), bound = factor * column[j] * (1 + 0x1p-50) + tiny;
        bound = magnitude < INFINITY ? (bound >= 0 ? bound : INFINITY) : 0;
        open += (bound > relative * magnitude) & (bound > least);
        error[j] = bound;
    }
    return open;
}

/* What the roundings of a row's products make in the mean, besides `tiny`. */
VECTORIZED static void typical_row_errors(double *restrict error, const double *restrict value,
                                          const double *restrict column, const double *restrict own,
                                          const struct typical *typical, double row, double k,
                                          double unit, double tiny, size_t n)
{
    double quotient = typical->quotient, repeated = typical->repeated;
    for (size_t j = 0; j < n; j++) {
        double spread = own ? own[j] * repeated
                            : estimated_spread(k, value[j], row * column[j]) * quotient;
        error[j] = unit * (fabs(spread) < INFINITY ? sqrt(spread) : 0) + tiny;
    }
}

/* The errors of the operands added to a row's, and tidied. `e` are 0 for exact ones. */
VECTORIZED static void carry_row_errors(double *restrict error, const double *restrict value,
                                        const double *restrict column,
                                        const double *restrict column_error, double row,
                                        double row_error, double spread, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double bound = error[j], magnitude = fabs(value[j]);
        if (row_error > 0) bound += spread * row_error * column[j];
        if (column_error) bound += spread * (row + row_error) * column_error[j];
        bound *= 1 + 0x1p-40;
        error[j] = magnitude < INFINITY ? (bound >= 0 ? bound : INFINITY) : 0;
    }
}

/* Bounds of the row that starts at element `at`, row i of its matrix, when an operand is inexact or in
 * the model of typical errors. */
static void carried_row_bounds(double *error, const double *value, const struct norm_bounds *s,
                               const struct matmul *p, size_t at)
{
    size_t i = at / p->n % p->m;
    const struct typical *products = &s->products;
    if (s->typical)
        typical_row_errors(error, value, s->column, products->own ? products->own + at : NULL,
                           products, s->row[i], (double)p->k, s->unit, s->tiny, p->n);
    else
        for (size_t j = 0; j < p->n; j++) error[j] = s->gamma * s->row[i] * s->column[j] + s->tiny;
    carry_row_errors(error, value, s->column, s->exact_b ? NULL : s->column_error, s->row[i],
                     s->exact_a ? 0 : s->row_error[i], s->spread, p->n);
}

bool node_is_narrow(const struct node *x)
{
    return x->source && dtype_info(x->dtype)->significand_bits <= 24;
}

void matmul_recompute(struct tape *tape, double **scratch, const struct dot_matrix *c)
{
    struct dots dots;
    if (!dots_open(c)) return;
    if (!*scratch) *scratch = tape_allocate(tape, dots_scratch(c), sizeof **scratch);
    if (!*scratch) return;
    dots_prepare(&dots, *scratch, c);
    dots_recompute(&dots, 0, c->a.lines);
}

/* Elements from `at` on as they are stored: converted, or of an input tensor. */
static struct factor factor_of(const struct node *x, size_t at, size_t lines, size_t length,
                               bool down)
{
    struct factor f = { x->value, DT_F64, lines, down ? 1 : length, down ? lines : 1 };
    if (!x->value) {
        f.x = x->source->data;
        f.dtype = x->source->dtype;
    }
    f.x = (const char *)f.x + at * dtype_info(f.dtype)->bytes;
    return f;
}

/* The dtype of an exact scalar, DT_NONE, is taken for float. */
static struct certificate certificate_for(const struct node *node)
{
    return certificate_of(node->dtype == DT_NONE ? DT_F32 : node->dtype);
}

/* The product of one pair of matrices and what becomes of it. */
struct certified {
    struct panels panels;
    struct dot_matrix dots;
    struct norm_bounds bounds;
    struct certificate certificate;
    bool finite;
};

/* Rows that are bounded and recomputed together, while they are in a cache. */
enum { ROWS_AT_ONCE = 64 };

/* Bounds of rows from `first` on of the matrix at element `at`. Returns how many elements of a product of exact
 * operands are not certified at first sight. */
static size_t bound_rows(const struct certified *c, const struct matmul *p, const struct node *node,
                         size_t at, size_t first, size_t end)
{
    const struct norm_bounds *s = &c->bounds;
    size_t open = 0;
    for (size_t i = first; i < end; i++) {
        size_t row = at + i * p->n;
        if (s->exact_a && s->exact_b && !s->typical)
            open += exact_row_bounds(node->error + row, node->value + row, s->column,
                                     s->gamma * s->row[i] * (1 + 0x1p-40), s->tiny * 2,
                                     &c->certificate, p->n);
        else carried_row_bounds(node->error + row, node->value + row, s, p, row);
    }
    return open;
}

/* Bounds of the t-th product, and dot products in more precision of what they leave open. */
static void certify_product(struct tape *tape, struct certified *c, const struct matmul *p,
                            const struct node *node, const struct node *a, const struct node *b,
                            size_t t)
{
    if (tape_failed(tape)) return;
    struct arena_mark before = arena_mark(tape->arena);
    struct dots dots = { 0 };
    /* No double certifies a float64. */
    bool recomputes = c->finite && !tape_is_model(tape) &&
                      dtype_info(c->certificate.dtype)->significand_bits <= 24;
    error_norms_of_batch(&c->bounds, a, b, p, t);
    for (size_t i = 0; i < p->m; i += ROWS_AT_ONCE) {
        size_t end = p->m - i < ROWS_AT_ONCE ? p->m : i + ROWS_AT_ONCE;
        if (!bound_rows(c, p, node, t * p->m * p->n, i, end) || !recomputes) continue;
        if (!dots.c) {
            double *scratch = tape_allocate(tape, dots_scratch(&c->dots), sizeof *scratch);
            if (!scratch) return;
            dots_prepare(&dots, scratch, &c->dots);
        }
        dots_recompute(&dots, i, end);
    }
    arena_rewind(tape->arena, before);
}

/* The t-th product by panels, or, with factors that are not finite, by definition. */
static void multiply(struct tape *tape, struct certified *c, double *scratch, struct node *a,
                     struct node *b, const struct matmul *p, size_t t)
{
    panels_multiply(scratch, &c->panels);
    c->finite = all_finite(c->bounds.row, p->m) && all_finite(c->bounds.column, p->n);
    if (c->finite) return;
    const double *x = node_values(tape, a), *y = node_values(tape, b);
    if (tape_failed(tape)) return;
    x += a_element(p, a, t, 0, 0);
    y += b_element(p, b, t, 0, 0);
    c->finite = all_finite(x, p->m * p->k) && all_finite(y, p->k * p->n);
    if (!c->finite) repair_nonfinite(c->panels.value, x, y, p);
}

/* The t-th product, its norms where they are for all of them. */
static void take_product(struct certified *c, const struct node *node, const struct node *a,
                         const struct node *b, const struct matmul *p, size_t t)
{
    double *value = node->value + t * p->m * p->n, *error = node->error + t * p->m * p->n;
    double *row = c->bounds.norms + t * (p->m + p->n), *column = row + p->m;
    struct factor x = factor_of(a, a_element(p, a, t, 0, 0), p->m, p->k, p->transpose_a),
                  y = factor_of(b, b_element(p, b, t, 0, 0), p->n, p->k, !p->transpose_b);
    c->panels = (struct panels){ value, x, y, p->k, row, column };
    c->dots = (struct dot_matrix){
        value, error, x, y, p->k, node->dtype, node_is_narrow(a) && node_is_narrow(b)
    };
    c->bounds.row = row;
    c->bounds.column = column;
}

/* The values and norms of a product that the reference or the other model has made. */
static bool take_known(struct tape *tape, struct node *node, struct matmul *p)
{
    const struct node *known = known_values_find(tape, node, is_alike);
    if (!known) return false;
    node->value = known->value;
    p->norms = ((const struct matmul *)known->parameters)->norms;
    return true;
}

static bool make_room(struct tape *tape, struct node *node, struct matmul *p)
{
    if (!node->value) node->value = tape_allocate(tape, node->n, sizeof *node->value);
    p->norms = tape_allocate(tape, p->batch * (p->m + p->n), sizeof *p->norms);
    return !tape_failed(tape);
}

/* In the reference and in models: values and bounds. In models the values may be known. */
static void certified_product(struct tape *tape, struct node *node, struct node *a, struct node *b,
                              struct matmul *p)
{
    struct certified c = { .certificate = certificate_for(node) };
    double *scratch = NULL;
    if (!node_is_exact(a) || !node_is_exact(b) || tape_is_typical(tape))
        (void)node_values(tape, a), (void)node_values(tape, b);
    bool known = tape_is_model(tape) && take_known(tape, node, p);
    if (!known && !make_room(tape, node, p)) return;
    if (!node_need_errors(tape, node)) return;
    bool unread = !a->value || !b->value;
    struct arena_mark before = arena_mark(tape->arena);
    c.bounds = bounds_open(tape, a, b, p);
    for (size_t t = 0; t < p->batch && !tape_failed(tape); t++) {
        take_product(&c, node, a, b, p, t);
        if (!known && !scratch)
            scratch = tape_allocate(tape, panels_scratch(&c.panels), sizeof *scratch);
        if (scratch) multiply(tape, &c, scratch, a, b, p, t);
        if (!c.bounds.typical) certify_product(tape, &c, p, node, a, b, t);
    }
    if (c.bounds.typical) look_at_products(&c.bounds.products, tape, node, a, b, p);
    for (size_t t = 0; c.bounds.typical && t < p->batch; t++) {
        take_product(&c, node, a, b, p, t);
        certify_product(tape, &c, p, node, a, b, t);
    }
    /* What had to be read stays. */
    if (unread == (!a->value || !b->value)) arena_rewind(tape->arena, before);
    known_values_enter(tape, node);
}

/* The terms of one dot product from the dtype of the tensors. */
static void add_products(struct compensated *total, const struct node *a, const struct node *b,
                         size_t k, bool exact_products)
{
    enum { BLOCK = 64 * COMPENSATED_LANES };
    double x[BLOCK], y[BLOCK];
    if (!a->value && !b->value && a->source->dtype == DT_F32 && b->source->dtype == DT_F32) {
        compensated_add_float_products(total, a->source->data, b->source->data, k);
        return;
    }
    for (size_t l = 0; l < k; l += BLOCK) {
        size_t count = k - l < BLOCK ? k - l : BLOCK;
        compensated_add_products(total, node_block(a, l, count, x), node_block(b, l, count, y),
                                 count, exact_products);
    }
}

/* One dot product of exact vectors: compensated at once, at the speed of memory. */
static bool single_dot(struct tape *tape, struct node *node, const struct node *a,
                       const struct node *b, const struct matmul *p)
{
    struct compensated total = { 0 };
    if (node->n != 1 || !node_is_exact(a) || !node_is_exact(b) || !node_need_errors(tape, node))
        return false;
    bool exact_products = node_is_narrow(a) && node_is_narrow(b);
    add_products(&total, a, b, p->k, exact_products);
    if (!compensated_total(node->value, node->error, &total)) return false;
    if (!exact_products)
        *node->error += (UNIT_ROUNDOFF * fabs(*node->value) + (double)p->k * 0x1p-1073) *
                        (1 + 0x1p-40);
    return true;
}

/* ---- the node ------------------------------------------------------------------------------- */

static struct node *complex_matmul(struct tape *tape, struct node *a, bool transpose_a,
                                   struct node *b, bool transpose_b)
{
    struct node *ar = node_real_part(tape, a), *ai = node_imaginary_part(tape, a);
    struct node *br = node_real_part(tape, b), *bi = node_imaginary_part(tape, b);
    struct node *rr = node_matmul(tape, ar, transpose_a, br, transpose_b);
    struct node *ii = node_matmul(tape, ai, transpose_a, bi, transpose_b);
    struct node *ri = node_matmul(tape, ar, transpose_a, bi, transpose_b);
    struct node *ir = node_matmul(tape, ai, transpose_a, br, transpose_b);
    return node_complex(tape, node_subtract(tape, rr, ii), node_add(tape, ri, ir));
}

/* The sizes of a product; NULL after a failure. */
static struct matmul *matmul_of(struct tape *tape, const struct node *a, bool transpose_a,
                                const struct node *b, bool transpose_b)
{
    struct matmul *p = tape_allocate(tape, 1, sizeof *p);
    if (!p) return NULL;
    *p = (struct matmul){ transpose_a,
                          transpose_b,
                          (size_t)(a->shape[0] == 1 ? b->shape[0] : a->shape[0]),
                          (size_t)a->shape[transpose_a ? 2 : 1],
                          (size_t)b->shape[transpose_b ? 1 : 2],
                          (size_t)a->shape[transpose_a ? 1 : 2],
                          NULL };
    if (p->k != (size_t)b->shape[transpose_b ? 2 : 1] ||
        (a->shape[0] != 1 && b->shape[0] != 1 && a->shape[0] != b->shape[0])) {
        tape_fail(tape, STATUS_SKIP, "matrices of %zux%zu and %lldx%zu do not multiply", p->m, p->k,
                  (long long)b->shape[transpose_b ? 2 : 1], p->n);
        return NULL;
    }
    return p;
}

static void evaluate(struct tape *tape, struct node *node, struct node *a, struct node *b,
                     struct matmul *p)
{
    if (tape_is_model(tape) && p->k && node->n) {
        certified_product(tape, node, a, b, p);
        return;
    }
    node->value = tape_allocate(tape, node->n, sizeof *node->value);
    if (!node->value) return;
    if (!p->k || !node->n) {
        memset(node->value, 0, node->n * sizeof *node->value);
        return;
    }
    if (tape_is_single(tape)) {
        single_product(tape, node, a, b, p);
        return;
    }
    if (!tape_is_reference(tape)) double_product(tape, node, a, b, p);
    else if (!single_dot(tape, node, a, b, p)) certified_product(tape, node, a, b, p);
}

struct node *node_matmul(struct tape *tape, struct node *a, bool transpose_a, struct node *b,
                         bool transpose_b)
{
    if (tape_failed(tape)) return tape_failure(tape);
    if (a->imaginary || b->imaginary) return complex_matmul(tape, a, transpose_a, b, transpose_b);
    bool integral = a->integer && b->integer;
    if (!integral) {
        a = node_to_real(tape, a);
        b = node_to_real(tape, b);
    }
    struct matmul *p = matmul_of(tape, a, transpose_a, b, transpose_b);
    if (!p) return a;
    if (integral) return integer_product(tape, a, b, p);
    int64_t shape[3] = { (int64_t)p->batch, (int64_t)p->m, (int64_t)p->n };
    a = node_factor(tape, a);
    b = node_factor(tape, b);
    struct node *inputs[2] = { a, b };
    for (int i = 0; i < 2; i++)
        if (node_is_deferred(inputs[i])) (void)node_values(tape, inputs[i]);
    struct node *node = node_step(tape, &matmul_primitive, dtype_promote(a->dtype, b->dtype), 3,
                                  shape, 2, inputs, p);
    if (!tape_failed(tape)) evaluate(tape, node, a, b, p);
    model_stages(tape, node);
    return node;
}
