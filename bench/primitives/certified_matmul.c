/* Values and the bound gamma ||a_i||_2 ||b_j||_2 for exact inputs: bench/arithmetic/panels.h; errors of the inputs
 * add ||Ea_i|| ||b_j|| + ||a_i|| ||Eb_j|| + ||Ea_i|| ||Eb_j||. What that leaves open is recomputed by dot products
 * in more precision. Input tensors stay in their dtype: a panel of them at a time is converted.
 * Tiles of the products go from their values to their recomputed elements one by one (certified_tiles.h). */
#include "bench/primitives/certified_matmul.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/certificate.h"
#include "bench/arithmetic/norms.h"
#include "bench/arithmetic/panels.h"
#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/tiles.h"
#include "bench/primitives/certified_tiles.h"
#include "bench/primitives/few_bits.h"
#include "bench/primitives/product_terms.h"
#include "bench/primitives/typical_products.h"
#include "bench/tape/known_values.h"
#include "core/parallel.h"

/* The dtype of an exact scalar, DT_NONE, is taken for float. */
static struct certificate certificate_for(const struct node *node)
{
    return certificate_of(node->dtype == DT_NONE ? DT_F32 : node->dtype);
}

static struct certified certified_of(const struct tape *tape, struct node *node,
                                     const struct node *a, const struct node *b,
                                     const struct matmul *p)
{
    struct certified c = {
        .p = p,
        .node = node,
        .a = { a, (size_t)a->shape[0], p->m, p->k, p->transpose_a, node_is_exact(a), p->norms,
               NULL },
        .b = { b, (size_t)b->shape[0], p->n, p->k, !p->transpose_b, node_is_exact(b),
               p->norms + (size_t)a->shape[0] * p->m, NULL },
        .tiles = tiles_of(p->batch, p->m, p->n, p->k),
        .gamma = gamma_of(panels_roundings(p->k)) * (1 + 0x1p-20),
        .spread = 1,
        .tiny = (double)p->k * tape->tiny,
        .certificate = certificate_for(node),
        .exact_products = node_is_narrow(a) && node_is_narrow(b),
        .typical = tape_is_typical(tape),
        .unit = tape->unit,
    };
    if (tape_is_model(tape)) c.gamma = dot_growth(tape, p->k) * tape->unit;
    if (c.typical) c.spread = 1 / sqrt((double)p->k);
    /* No double certifies a float64. */
    c.recomputes = !tape_is_model(tape) && dtype_info(c.certificate.dtype)->significand_bits <= 24;
    return c;
}

static bool is_finite(const struct product_operand *x, const double *values, size_t product)
{
    size_t matrix = x->matrices == 1 ? 0 : product, size = x->lines * x->length;
    if (all_finite(x->norms + matrix * x->lines, x->lines)) return true;
    return values && all_finite(values + matrix * size, size);
}

/* Which products have finite operands. Where norms are not, the elements are read. */
static void find_finite(struct tape *tape, struct certified *c, struct node *a, struct node *b)
{
    c->finite = tape_allocate(tape, c->p->batch, sizeof *c->finite);
    if (tape_failed(tape)) return;
    if (!all_finite(c->a.norms, c->a.matrices * c->a.lines) ||
        !all_finite(c->b.norms, c->b.matrices * c->b.lines)) {
        c->x = node_values(tape, a);
        c->y = node_values(tape, b);
        if (tape_failed(tape)) return;
    }
    for (size_t t = 0; t < c->p->batch; t++)
        c->finite[t] = is_finite(&c->a, c->x, t) && is_finite(&c->b, c->y, t);
}

/* Are the bounds to be made when they are read? Those of large products of exact, finite operands that recomputing
 * certifies, in evaluations that read what they have computed by blocks. */
static bool leaves_bounds(struct tape *tape, const struct certified *c)
{
    for (size_t t = 0; t < c->p->batch; t++)
        if (!c->finite[t]) return false;
    return tape->arithmetic == BENCH_REFERENCE && c->recomputes && c->a.exact && c->b.exact &&
           tape_may_defer(tape, c->node->n, 1, 0, NULL);
}

static struct bound_marks *marks_open(struct tape *tape, const struct certified *c)
{
    struct bound_marks *marks = tape_allocate(tape, 1, sizeof *marks);
    size_t rows = c->p->batch * c->p->m, words = (c->p->n - 1) / 64 + 1;
    if (!marks) return NULL;
    *marks = (struct bound_marks){
        .m = c->p->m,
        .n = c->p->n,
        .words = words,
        .rows = c->a.norms,
        .columns = c->b.norms,
        .row_step = c->a.matrices == 1 ? 0 : c->p->m,
        .column_step = c->b.matrices == 1 ? 0 : c->p->n,
        .gamma = c->gamma,
        .tiny = c->tiny * 2,
        .certificate = c->certificate,
        .values = c->node->value,
        .recomputed = tape_allocate(tape, rows * words, sizeof *marks->recomputed),
    };
    if (!marks->recomputed) return NULL;
    memset(marks->recomputed, 0, rows * words * sizeof *marks->recomputed);
    return marks;
}

/* The values are there, the bounds are left. */
static void leave_bounds(struct tape *tape, struct certified *c)
{
    c->marks = marks_open(tape, c);
    if (!c->marks) return;
    certified_tiles_do(tape, c, true, true);
    c->node->value = NULL;
    node_evaluate(tape, c->node,
                  (struct deferral){ .elements = bound_marks_elements,
                                     .context = c->marks,
                                     .cost = 1,
                                     .bounded = true,
                                     .values = c->marks->values },
                  true);
}

static void take_bounds(struct tape *tape, struct certified *c, struct node *a, struct node *b,
                        bool known)
{
    if (!node_need_errors(tape, c->node)) return;
    if (!known || !c->typical) certified_tiles_do(tape, c, !known, !c->typical);
    if (!c->typical || tape_failed(tape)) return;
    typical_products_look(&c->products, tape, c->node, a, b, c->p);
    certified_tiles_do(tape, c, false, true);
}

/* In a model: do the factors have so few bits that no kernel rounds? In a mode it may leave bits out. */
static bool is_exact_product(const struct tape *tape, const struct node *a, const struct node *b,
                             size_t k)
{
    return !tape->modes && few_bits_product(a, b, k, tape->wide ? 53 : 24);
}

static bool is_alike(const struct node *a, const struct node *b)
{
    const struct matmul *p = a->parameters, *q = b->parameters;
    return p->transpose_a == q->transpose_a && p->transpose_b == q->transpose_b &&
           p->batch == q->batch && p->m == q->m && p->n == q->n && p->k == q->k;
}

/* The values and norms of a product that the reference or the other model has made. */
static bool take_known(struct tape *tape, struct node *node, struct matmul *p)
{
    const struct node *known = known_values_find(tape, node, is_alike);
    if (!known) return false;
    node->value = known_values_of(known);
    p->norms = ((const struct matmul *)known->parameters)->norms;
    return true;
}

static bool make_room(struct tape *tape, struct node *node, const struct node *a,
                      const struct node *b, struct matmul *p)
{
    size_t lines = (size_t)a->shape[0] * p->m + (size_t)b->shape[0] * p->n;
    if (!node->value) node->value = tape_allocate(tape, node->n, sizeof *node->value);
    p->norms = tape_allocate(tape, lines, sizeof *p->norms);
    return !tape_failed(tape);
}

void matmul_certify(struct tape *tape, struct node *node, struct node *a, struct node *b,
                    struct matmul *p)
{
    if (!node_is_exact(a) || !node_is_exact(b))
        (void)node_values(tape, a), (void)node_values(tape, b);
    bool known = tape_is_model(tape) && take_known(tape, node, p);
    if (!known && !make_room(tape, node, a, b, p)) return;
    struct certified c = certified_of(tape, node, a, b, p);
    operand_take_norms(tape, &c.a, known);
    operand_take_norms(tape, &c.b, known);
    if (!tape_failed(tape) && !known) find_finite(tape, &c, a, b);
    if (tape_failed(tape)) return;
    if (tape_is_model(tape) && is_exact_product(tape, a, b, p->k)) {
        if (!known) certified_tiles_do(tape, &c, true, false);
    } else if (!known && leaves_bounds(tape, &c)) leave_bounds(tape, &c);
    else take_bounds(tape, &c, a, b, known);
    known_values_enter(tape, node);
}
