/* Products with their relative error carried along. */
#include "bench/primitives/product.h"

#include <math.h>

#include "bench/primitives/blocks.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/movement.h"
#include "bench/tape/enclosure.h"

/* The error of a product of float roundings has the variance u^2 / 3 for each where they are independent. Where factors
 * repeat they are not: a tree that squares x squares its rounding, too. So in the model of typical errors the product is also formed
 * in float, and its error is at least 0.7 of the largest that any of three orders makes. */

/* A product as m 2^e with its relative error, so that no intermediate leaves the range of double.
 * In BENCH_NATIVE m alone, rounded as the kernel would and free to overflow. */
struct scaled {
    double m, relative;
    int64_t e;
};

/* Only float can be imitated; else all roundings may go one way. */
static bool is_independent(const struct tape *tape) { return tape_is_typical(tape) && !tape->wide; }

/* A factor below this is scaled before it is multiplied, with one of 1/2 to 1 it would be subnormal. */
#define SMALLEST_FACTOR 0x1p-1020

static struct scaled scaled_one(void) { return (struct scaled){ 1, 0, 0 }; }

/* p times v, which is off by at most `error`. */
static void scaled_multiply(struct scaled *p, const struct tape *tape, double v, double error)
{
    if (!tape_is_reference(tape)) {
        p->m = tape_is_single(tape) ? (float)(p->m * v) : p->m * v;
        return;
    }
    int shift = 0, own_shift = 0;
    bool is_zero = (v == 0 && error == 0) || (p->m == 0 && p->relative == 0 && isfinite(v));
    double own = error == 0 ? 0 : v != 0 ? error / fabs(v) : INFINITY;
    if (v != 0 && fabs(v) < SMALLEST_FACTOR) v = frexp(v, &own_shift);
    double m = p->m * v;
    if (is_independent(tape))
        p->relative = sqrt(p->relative * p->relative + own * own + tape->unit * tape->unit / 3);
    else p->relative += own + p->relative * own + tape->unit * (1 + p->relative + own);
    if (m != 0 && isfinite(m)) m = frexp(m, &shift);
    p->m = m;
    p->e += shift + own_shift;
    if (is_zero) p->relative = 0;
}

static struct scaled scaled_product(const struct tape *tape, const struct scaled *a,
                                    const struct scaled *b)
{
    struct scaled p = *a;
    scaled_multiply(&p, tape, b->m, b->m == 0 ? 0 : b->relative * fabs(b->m));
    if (b->m == 0 && b->relative > 0) p.relative = INFINITY;
    p.e += b->e;
    return p;
}

/* The value and, where `bound` is not NULL, its bound. */
static double scaled_value(double *bound, const struct tape *tape, const struct scaled *p)
{
    int64_t e = p->e > 5000 ? 5000 : p->e < -5000 ? -5000 : p->e;
    double y = ldexp(p->m, (int)e);
    if (bound) {
        double error = (p->m == 0 && p->relative == 0 ? 0 : p->relative * fabs(y) + tape->tiny) *
                       (1 + 0x1p-40);
        *bound = !isfinite(y) ? 0 : error >= 0 && !isinf(p->relative) ? error : INFINITY;
    }
    return y;
}

enum { LANES = 8, MOST_IMITATED = 1 << 16 };

/* Neighbours in pairs, their products in pairs, and so on: `x` is overwritten. */
static float tree_product(float *x, size_t n)
{
    for (; n > 1; n = (n + 1) / 2)
        for (size_t k = 0; k < n; k += 2) x[k / 2] = k + 1 < n ? x[k] * x[k + 1] : x[k];
    return n ? x[0] : 1;
}

static double relative_to(double got, double want)
{
    double e = fabs(got / want - 1);
    return fabs(got) > 0x1p-120 && fabs(want) > 0x1p-120 && e < 1 ? e : 0;
}

/* The least relative error to expect of a product over a line, by imitation: in sequence, in lanes and as a tree.
 * `room`: as many floats as the line is long, no more than MOST_IMITATED. */
static double imitated_product(float *room, const struct node *x, const struct lines *l,
                               size_t line)
{
    static const double share = 0.7;
    float forward = 1, lane[LANES], lanes = 1;
    double exact = 1;
    for (int j = 0; j < LANES; j++) lane[j] = 1;
    for (size_t k = 0; k < l->extent; k++) {
        float v = (float)x->value[line_element(l, line, k)];
        forward *= v;
        lane[k % LANES] *= v;
        exact *= v;
        room[k] = v;
    }
    for (int j = 0; j < LANES; j++) lanes *= lane[j];
    double worst = fmax(relative_to(forward, exact), relative_to(lanes, exact));
    return share * fmax(worst, relative_to(tree_product(room, l->extent), exact));
}

static float *room_to_imitate(struct tape *tape, const struct lines *l)
{
    return is_independent(tape) && l->extent <= MOST_IMITATED
               ? tape_allocate(tape, l->extent + 1, sizeof(float))
               : NULL;
}

static void product_evaluate(struct tape *tape, struct node *node, const struct node *x,
                             const struct lines *l)
{
    bool certify = node_need_errors(tape, node);
    float *room = room_to_imitate(tape, l);
    for (size_t i = 0; i < node->n && !tape_failed(tape); i++) {
        struct scaled p = scaled_one();
        for (size_t k = 0; k < l->extent; k++) {
            size_t at = line_element(l, i, k);
            scaled_multiply(&p, tape, x->value[at], certify ? node_error(x, at) : 0);
        }
        if (room) p.relative = fmax(p.relative, imitated_product(room, x, l, i));
        node->value[i] = scaled_value(certify ? &node->error[i] : NULL, tape, &p);
    }
}

static void enclose_product(struct enclosure *enclosure, void *ball, struct node *x,
                            const struct lines *l, size_t out, size_t except)
{
    arb_t factor;
    arb_init(factor);
    arb_one(ball);
    for (size_t k = 0; k < l->extent; k++) {
        if (k == except) continue;
        enclosure_element(enclosure, factor, x, line_element(l, out, k));
        arb_mul(ball, ball, factor, enclosure->precision);
    }
    arb_clear(factor);
}

static void product_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    enclose_product(enclosure, ball, node->inputs[0], node->parameters, i, SIZE_MAX);
}

/* The product of the others at every position: the gradient of a product, right at zeros. */
static void others_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct lines *l = node->parameters;
    enclose_product(enclosure, ball, node->inputs[0], l, line_of(l, i), line_position(l, i));
}

static const struct primitive others_primitive = { "products of others", NULL, others_enclose,
                                                   NULL };

static void product_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct lines *l = node->parameters;
    struct node *x = node->inputs[0];
    struct node *others = node_new(tape, &others_primitive, x->dtype, x->rank, x->shape, 1, &x, l);
    bool certify = node_need_errors(tape, others);
    struct scaled *prefix = tape_allocate(tape, l->extent + 1, sizeof *prefix);
    float *room = room_to_imitate(tape, l);

    /* Every element gets the product before it times the product behind it. */
    for (size_t out = 0; out < node->n && !tape_failed(tape); out++) {
        struct scaled suffix = scaled_one();
        double imitated = room ? imitated_product(room, x, l, out) : 0;
        prefix[0] = scaled_one();
        for (size_t k = 0; k < l->extent; k++) {
            size_t at = line_element(l, out, k);
            prefix[k + 1] = prefix[k];
            scaled_multiply(&prefix[k + 1], tape, x->value[at], certify ? node_error(x, at) : 0);
        }
        for (size_t k = l->extent; k-- > 0;) {
            size_t at = line_element(l, out, k);
            struct scaled p = scaled_product(tape, &prefix[k], &suffix);
            /* Kernels divide the whole product by the element. */
            if (room) p.relative = fmax(p.relative, imitated) + 2 * tape->unit;
            others->value[at] = scaled_value(certify ? &others->error[at] : NULL, tape, &p);
            scaled_multiply(&suffix, tape, x->value[at], certify ? node_error(x, at) : 0);
        }
    }
    tape_accumulate(
        tape, x, node_multiply(tape, others, node_broadcast(tape, cotangent, x->rank, x->shape)));
}

static const struct primitive product_primitive = { "product", product_backward, product_enclose,
                                                    NULL };

static uint64_t wrapping_product(uint64_t a, uint64_t b) { return a * b; }

static const struct reduction product = {
    &product_primitive, product_evaluate, 1, wrapping_product, false, NULL
};

struct node *node_product(struct tape *tape, struct node *x, uint32_t dims, bool keepdim)
{
    return node_reduce(tape, &product, x, dims, keepdim);
}
