/* Batched matrix products. The reference: bench/primitives/certified_matmul.h. BENCH_NATIVE uses sgemm, in tiles that
 * idle threads take: the float kernel of an ordinary library.
 */
#include "bench/primitives/matmul.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/compensated.h"
#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"
#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/tiles.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/certified_matmul.h"
#include "bench/primitives/certified_tiles.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/deviating_product.h"
#include "bench/primitives/product_terms.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/short_factors.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/promotion.h"

static struct gemm gemm_of(const struct matmul *p)
{
    return (struct gemm){ p->transpose_a, p->transpose_b, false, p->m, p->n, p->k, 0, 0, 0 };
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

/* A product of float operands, in tiles. */
struct single_work {
    const struct matmul *p;
    const struct node *a, *b;
    const float *x, *y;
    float *z;
    struct tiles tiles;
};

static struct status single_part(void *context, size_t number, void *scratch)
{
    const struct single_work *w = context;
    const struct matmul *p = w->p;
    (void)scratch;
    for (size_t i = 0; i < tiles_in(&w->tiles, number); i++) {
        const struct tile t = tile_at(&w->tiles, number, i);
        struct gemm gemm = gemm_of(p);
        gemm.m = t.rows;
        gemm.n = t.columns;
        gemm.step_a = p->transpose_a ? p->m : p->k;
        gemm.step_b = p->transpose_b ? p->k : p->n;
        gemm.step_z = p->n;
        gemm_float(w->z + (t.product * p->m + t.first_row) * p->n + t.first_column, &gemm,
                   w->x + a_element(p, w->a, t.product, t.first_row, 0),
                   w->y + b_element(p, w->b, t.product, 0, t.first_column));
    }
    return status_ok();
}

/* The result stays in float. */
static void single_product(struct tape *tape, struct node *node, struct node *a, struct node *b,
                           const struct matmul *p)
{
    float *z = tape_allocate(tape, node->n, sizeof *z);
    const float *x = single_values(tape, a), *y = single_values(tape, b);
    if (tape_failed(tape)) return;
    struct single_work work = { p, a, b, x, y, z, tiles_of(p->batch, p->m, p->n, p->k) };
    tape_parallel(tape, &(struct parallel){
                            .parts = work.tiles.parts, .part = single_part, .context = &work });
    node->single = z;
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
        if (!finite) matmul_repair(z, p->n, x + at_a, y + at_b, p, 0, p->m, 0, p->n);
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

static double largest_of(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = x[i] > most ? x[i] : most;
    return most;
}

/* In a model: sums of terms may overflow on the way that do not in the end, and then they may be anything. None does whose lines
 * have norms with a product below the largest number: that bounds the sum of the magnitudes (Cauchy, Schwarz). */
static void open_where_sums_overflow(struct tape *tape, struct node *node, const struct node *a,
                                     const struct node *b, const struct matmul *p)
{
    const double largest = tape->wide ? 0x1p1023 : 0x1.fffffep127;
    size_t matrices[2] = { (size_t)a->shape[0], (size_t)b->shape[0] };
    if (tape_failed(tape) || !p->norms) return;
    const double *rows = p->norms, *columns = p->norms + matrices[0] * p->m;
    double most = largest_of(rows, matrices[0] * p->m) * largest_of(columns, matrices[1] * p->n);
    if (most <= largest) return;
    (void)node_values(tape, node);
    double *error = tape_allocate(tape, node->n, sizeof *error);
    for (size_t i = 0; i < node->n && !tape_failed(tape); i++) {
        size_t line = i / p->n, batch = line / p->m;
        double row = rows[matrices[0] == 1 ? line % p->m : line];
        double column = columns[(matrices[1] == 1 ? 0 : batch * p->n) + i % p->n];
        error[i] = row * column <= largest ? node_error(node, i) : INFINITY;
    }
    if (!tape_failed(tape)) node->error = error;
}

static void evaluate(struct tape *tape, struct node *node, struct node *a, struct node *b,
                     struct matmul *p)
{
    if (tape_is_model(tape) && p->k && node->n) {
        matmul_certify(tape, node, a, b, p);
        open_where_sums_overflow(tape, node, a, b, p);
        return;
    }
    if (tape_is_single(tape) && p->k && node->n) {
        single_product(tape, node, a, b, p);
        return;
    }
    node->value = tape_allocate(tape, node->n, sizeof *node->value);
    if (!node->value) return;
    if (!p->k || !node->n) {
        memset(node->value, 0, node->n * sizeof *node->value);
        return;
    }
    if (!tape_is_reference(tape)) double_product(tape, node, a, b, p);
    else if (!single_dot(tape, node, a, b, p)) matmul_certify(tape, node, a, b, p);
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
