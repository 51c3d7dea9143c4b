/* Convolution over three spatial dimensions and its two adjoints.
 *
 * The three roles are one trilinear form sum x * w * y seen from its three arguments, so each is
 * the gradient of the others. Values and bounds: convolution_products.h.
 */
#include "bench/primitives/convolution.h"

#include <string.h>

#include "bench/arithmetic/compensated.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/convolution_products.h"
#include "bench/primitives/short_factors.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/promotion.h"
#include "core/checked.h"

/* ---- node ------------------------------------------------------------------------------------ */

static void convolution_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct convolution *c = node->parameters;
    struct node *a = node->inputs[0], *b = node->inputs[1];
    const struct convolution_geometry *g = &c->g;
    struct node *da = NULL, *db = NULL;

    switch (c->role) {
    case CONVOLVE: /* a = x, b = w */
        if (a->tracked) da = node_convolution(tape, CONVOLVE_INPUT_ADJOINT, cotangent, b, g);
        if (b->tracked) db = node_convolution(tape, CONVOLVE_WEIGHT_ADJOINT, a, cotangent, g);
        break;
    case CONVOLVE_INPUT_ADJOINT: /* a = y, b = w */
        if (a->tracked) da = node_convolution(tape, CONVOLVE, cotangent, b, g);
        if (b->tracked) db = node_convolution(tape, CONVOLVE_WEIGHT_ADJOINT, cotangent, a, g);
        break;
    case CONVOLVE_WEIGHT_ADJOINT: /* a = x, b = y */
        if (a->tracked) da = node_convolution(tape, CONVOLVE_INPUT_ADJOINT, b, cotangent, g);
        if (b->tracked) db = node_convolution(tape, CONVOLVE, a, cotangent, g);
        break;
    }
    if (da) tape_accumulate(tape, a, da);
    if (db) tape_accumulate(tape, b, db);
}

/* The products whose sum is element i: element a of the first input times element b of the second. */
typedef void term_visitor(void *context, size_t a, size_t b);

/* Element `number` of three dimensions as its indices, and back. */
static void indices_of(int64_t *index, const int64_t *extent, size_t number)
{
    for (int d = 2; d >= 0; d--) {
        index[d] = (int64_t)(number % (size_t)extent[d]);
        number /= (size_t)extent[d];
    }
}

static size_t number_of(const int64_t *index, const int64_t *extent)
{
    return (size_t)((index[0] * extent[1] + index[1]) * extent[2] + index[2]);
}

/* The pixel that output index o reads at tap index k along dimension d, or none. */
static bool meets_pixel(int64_t *i, const struct convolution_geometry *g, int d, int64_t o,
                        int64_t k)
{
    *i = o * g->stride[d] - g->padding[d] + k * g->dilation[d];
    return *i >= 0 && *i < g->x[2 + d];
}

/* The output index that reads pixel index i there, or none. */
static bool meets_point(int64_t *o, const struct convolution_geometry *g, int d, int64_t i,
                        int64_t k)
{
    int64_t first = i + g->padding[d] - k * g->dilation[d];
    *o = first / g->stride[d];
    return first >= 0 && first % g->stride[d] == 0 && *o < g->y[2 + d];
}

static void each_term_of_output(const struct convolution *c, size_t i, term_visitor *visit,
                                void *context)
{
    const struct convolution_geometry *g = &c->g;
    size_t filter = i / c->points % c->filters;
    size_t group = i / c->points / c->filters % c->groups,
           image = i / c->points / c->filters / c->groups;
    int64_t o[3], k[3], pixel[3];
    indices_of(o, g->y + 2, i % c->points);
    for (size_t channel = 0; channel < c->channels; channel++) {
        size_t x = x_start(c, image, group) + channel * c->pixels;
        size_t w = w_start(c, group) + (filter * c->channels + channel) * c->taps;
        for (k[0] = 0; k[0] < g->w[2]; k[0]++) {
            if (!meets_pixel(&pixel[0], g, 0, o[0], k[0])) continue;
            for (k[1] = 0; k[1] < g->w[3]; k[1]++) {
                if (!meets_pixel(&pixel[1], g, 1, o[1], k[1])) continue;
                for (k[2] = 0; k[2] < g->w[4]; k[2]++)
                    if (meets_pixel(&pixel[2], g, 2, o[2], k[2]))
                        visit(context, x + number_of(pixel, g->x + 2), w + number_of(k, g->w + 2));
            }
        }
    }
}

static void each_term_of_input(const struct convolution *c, size_t i, term_visitor *visit,
                               void *context)
{
    const struct convolution_geometry *g = &c->g;
    size_t channel = i / c->pixels % c->channels;
    size_t group = i / c->pixels / c->channels % c->groups;
    size_t image = i / c->pixels / c->channels / c->groups;
    size_t y = y_start(c, image, group), w = w_start(c, group) + channel * c->taps;
    int64_t pixel[3], k[3], o[3];
    indices_of(pixel, g->x + 2, i % c->pixels);
    for (k[0] = 0; k[0] < g->w[2]; k[0]++) {
        if (!meets_point(&o[0], g, 0, pixel[0], k[0])) continue;
        for (k[1] = 0; k[1] < g->w[3]; k[1]++) {
            if (!meets_point(&o[1], g, 1, pixel[1], k[1])) continue;
            for (k[2] = 0; k[2] < g->w[4]; k[2]++) {
                if (!meets_point(&o[2], g, 2, pixel[2], k[2])) continue;
                size_t point = number_of(o, g->y + 2), tap = number_of(k, g->w + 2);
                for (size_t filter = 0; filter < c->filters; filter++)
                    visit(context, y + filter * c->points + point,
                          w + filter * c->channels * c->taps + tap);
            }
        }
    }
}

static void each_term_of_weight(const struct convolution *c, size_t i, term_visitor *visit,
                                void *context)
{
    const struct convolution_geometry *g = &c->g;
    size_t channel = i / c->taps % c->channels, filter = i / c->taps / c->channels % c->filters;
    size_t group = i / c->taps / c->channels / c->filters;
    int64_t k[3], o[3], pixel[3];
    indices_of(k, g->w + 2, i % c->taps);
    for (size_t image = 0; image < c->images; image++) {
        size_t x = x_start(c, image, group) + channel * c->pixels;
        size_t y = y_start(c, image, group) + filter * c->points;
        for (o[0] = 0; o[0] < g->y[2]; o[0]++) {
            if (!meets_pixel(&pixel[0], g, 0, o[0], k[0])) continue;
            for (o[1] = 0; o[1] < g->y[3]; o[1]++) {
                if (!meets_pixel(&pixel[1], g, 1, o[1], k[1])) continue;
                for (o[2] = 0; o[2] < g->y[4]; o[2]++)
                    if (meets_pixel(&pixel[2], g, 2, o[2], k[2]))
                        visit(context, x + number_of(pixel, g->x + 2), y + number_of(o, g->y + 2));
            }
        }
    }
}

static void each_term(const struct convolution *c, size_t i, term_visitor *visit, void *context)
{
    static void (*const by_role[])(const struct convolution *c, size_t i, term_visitor *visit,
                                   void *context) = {
        [CONVOLVE] = each_term_of_output,
        [CONVOLVE_INPUT_ADJOINT] = each_term_of_input,
        [CONVOLVE_WEIGHT_ADJOINT] = each_term_of_weight,
    };
    by_role[c->role](c, i, visit, context);
}

struct enclosed_sum {
    struct enclosure *enclosure;
    struct node *node;
    arb_ptr sum;
};

static void add_enclosed_term(void *context, size_t i, size_t j)
{
    struct enclosed_sum *s = context;
    arb_t a, b;
    arb_init(a);
    arb_init(b);
    enclosure_element(s->enclosure, a, s->node->inputs[0], i);
    enclosure_element(s->enclosure, b, s->node->inputs[1], j);
    arb_addmul(s->sum, a, b, s->enclosure->precision);
    s->enclosure->work++;
    arb_clear(a);
    arb_clear(b);
}

static void convolution_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                                size_t i)
{
    struct enclosed_sum sum = { enclosure, node, ball };
    arb_zero(ball);
    each_term(node->parameters, i, add_enclosed_term, &sum);
}

struct running_product {
    const struct node *a, *b;
    struct running sum;
};

/* Of an input tensor, as it is stored. */
static double element_of(const struct node *x, size_t i)
{
    return x->value ? x->value[i] : node_value_at(x, i);
}

static void add_term(void *context, size_t i, size_t j)
{
    struct running_product *r = context;
    running_add_product(&r->sum, element_of(r->a, i), element_of(r->b, j));
}

static bool convolution_pair(struct enclosure *enclosure, struct pair *out, struct node *node,
                             size_t i)
{
    const struct convolution *c = node->parameters;
    const struct node *a = node->inputs[0], *b = node->inputs[1];
    if (!node_is_exact(a) || !node_is_exact(b)) return false;
    if ((!a->value && !a->source) || (!b->value && !b->source)) return false;
    struct running_product r = { .a = a, .b = b };
    each_term(c, i, add_term, &r);
    enclosure->work += r.sum.terms / 64;
    return running_pair(out, &r.sum, true);
}

static const struct primitive convolution_primitive = { "a convolution", convolution_backward,
                                                        convolution_enclose, convolution_pair };

static bool shape_is(const struct node *node, const int64_t *shape)
{
    return node->rank == 5 && !memcmp(node->shape, shape, 5 * sizeof *shape);
}

static struct node *complex_convolution(struct tape *tape, enum convolution_role role,
                                        struct node *a, struct node *b,
                                        const struct convolution_geometry *geometry)
{
    struct node *parts[2][2] = { { node_real_part(tape, a), node_imaginary_part(tape, a) },
                                 { node_real_part(tape, b), node_imaginary_part(tape, b) } };
    struct node *y[2][2];
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            y[i][k] = node_convolution(tape, role, parts[0][i], parts[1][k], geometry);
    struct node *im = node_add(tape, y[0][1], y[1][0]);
    if (tape_is_model(tape)) { /* or of three convolutions: (a + b) (c + d) - a c - b d */
        struct node *sums[2] = { node_add(tape, parts[0][0], parts[0][1]),
                                 node_add(tape, parts[1][0], parts[1][1]) };
        struct node *whole = node_convolution(tape, role, sums[0], sums[1], geometry);
        im = node_model_either(tape, im,
                               node_subtract(tape, node_subtract(tape, whole, y[0][0]), y[1][1]));
    }
    return node_complex(tape, node_subtract(tape, y[0][0], y[1][1]), im);
}

/* The sizes of a convolution; NULL after a failure. */
static struct convolution *convolution_of(struct tape *tape, enum convolution_role role,
                                          const struct convolution_geometry *geometry)
{
    struct convolution *c = tape_allocate(tape, 1, sizeof *c);
    if (!c) return NULL;
    *c = (struct convolution){ .role = role,
                               .g = *geometry,
                               .images = (size_t)geometry->x[0],
                               .groups = (size_t)geometry->groups,
                               .channels = (size_t)(geometry->x[1] / geometry->groups),
                               .filters = (size_t)(geometry->y[1] / geometry->groups) };
    if (shape_elements(&c->taps, 3, geometry->w + 2) &&
        shape_elements(&c->points, 3, geometry->y + 2) &&
        shape_elements(&c->pixels, 3, geometry->x + 2))
        return c;
    tape_fail(tape, STATUS_SKIP, "a result shape is negative or too large");
    return NULL;
}

struct node *node_convolution(struct tape *tape, enum convolution_role role, struct node *a,
                              struct node *b, const struct convolution_geometry *geometry)
{
    const int64_t *shapes[3][3] = { /* a, b, result by role */
                                    { geometry->x, geometry->w, geometry->y },
                                    { geometry->y, geometry->w, geometry->x },
                                    { geometry->x, geometry->y, geometry->w }
    };

    if (tape_failed(tape)) return tape_failure(tape);
    if (a->imaginary || b->imaginary) return complex_convolution(tape, role, a, b, geometry);
    a = node_to_real(tape, a);
    b = node_to_real(tape, b);
    if (!shape_is(a, shapes[role][0]) || !shape_is(b, shapes[role][1]) || geometry->groups < 1 ||
        geometry->x[1] % geometry->groups || geometry->y[1] % geometry->groups) {
        tape_fail(tape, STATUS_SKIP, "the shapes of a convolution do not fit");
        return tape_failure(tape);
    }
    struct convolution *c = convolution_of(tape, role, geometry);
    if (!c) return a;
    a = node_factor(tape, a);
    b = node_factor(tape, b);
    struct node *inputs[2] = { a, b };
    for (int i = 0; i < 2; i++)
        if (node_is_deferred(inputs[i])) (void)node_values(tape, inputs[i]);
    struct node *node = node_step(tape, &convolution_primitive, dtype_promote(a->dtype, b->dtype),
                                  5, shapes[role][2], 2, inputs, c);
    if (!tape_failed(tape)) convolution_evaluate(tape, node, c);
    model_stages(tape, node);
    return node;
}
