/* One definition for gradients and for the sums of their law. */
#include "bench/ops/attention_gradient.h"

#include <math.h>
#include <string.h>

#include "bench/ops/attention_layout.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

void list_dropped_sums(struct node **out[DROPPED_SUMS], struct dropped_sums *sums)
{
    struct node **const list[DROPPED_SUMS] = { &sums->mean, &sums->squares, &sums->size,
                                               &sums->largest };
    memcpy(out, list, sizeof list);
}

bool attention_follows_law(const struct tape *tape, double drops)
{
    return drops > 0 && tape_is_reference(tape);
}

static struct node *turned(struct tape *tape, struct node *x)
{
    return node_transpose(tape, x, 2, 3);
}

static struct node *magnitude(struct tape *tape, struct node *x)
{
    return node_apply(tape, "abs", x);
}

/* A product with coefficients that are dropped, less one that is not: `kept` times x, whose magnitudes are `kept_size`. */
static struct dropped_sums product(struct tape *tape, double drops, struct node *coefficients,
                                   struct node *kept, struct node *kept_size, struct node *x)
{
    if (!attention_follows_law(tape, drops)) {
        if (kept) coefficients = node_subtract(tape, coefficients, kept);
        return (struct dropped_sums){ .mean = compose_matmul(tape, coefficients, x) };
    }
    struct dropped_sums sums = dropped_product(tape, coefficients, x);
    if (!kept) return sums;
    sums.mean = node_subtract(tape, sums.mean, compose_matmul(tape, kept, x));
    sums.size = node_add(tape, sums.size, compose_matmul(tape, kept_size, magnitude(tape, x)));
    return sums;
}

/* What is dropped of P (dO V^T - D), element by element. */
static struct dropped_sums each_score(struct tape *tape, double drops, struct node *coefficients,
                                      struct node *kept, struct node *kept_size)
{
    struct dropped_sums sums = { .mean = node_subtract(tape, coefficients, kept) };
    if (!attention_follows_law(tape, drops)) return sums;
    sums.squares = node_multiply(tape, coefficients, coefficients);
    sums.largest = magnitude(tape, coefficients);
    sums.size = node_add(tape, sums.largest, kept_size);
    return sums;
}

struct attention_gradients attention_gradients(struct call *call, const struct attention_parts *d)
{
    struct tape *tape = call->tape;
    struct attention_gradients g = { 0 };
    struct node *along = compose_matmul(tape, d->cotangent, turned(tape, d->v)),
                *products = node_multiply(tape, d->cotangent, d->result),
                *within = g.within = node_sum(tape, products, 1u << 3, true);
    struct node *dropped, *drawn = d->p, *kept = NULL, *kept_size = NULL;
    if (d->drops == 0) {
        dropped = node_multiply(tape, d->p, node_subtract(tape, along, within));
        g.of[OF_SCORES].mean = dropped;
    } else {
        if (attention_follows_law(tape, d->drops)) {
            struct node *far = node_sum(tape, magnitude(tape, products), 1u << 3, true);
            kept_size = node_multiply(tape, d->p, far);
        } else {
            drawn = dropped_weights(call, d->p, d->drops, *d->drawn);
            *d->drawn += d->p->n;
        }
        dropped = node_multiply(tape, drawn, along);
        kept = node_multiply(tape, d->p, within);
        g.of[OF_SCORES] = each_score(tape, d->drops, dropped, kept, kept_size);
    }
    g.of[OF_QUERY] = product(tape, d->drops, dropped, kept, kept_size, d->k);
    g.of[OF_KEY] = product(tape, d->drops, turned(tape, dropped), kept ? turned(tape, kept) : NULL,
                           kept_size ? turned(tape, kept_size) : NULL, d->q);
    g.of[OF_VALUE] = product(tape, d->drops, turned(tape, drawn), NULL, NULL, d->cotangent);
    for (int i = OF_QUERY; i <= OF_KEY; i++) {
        struct node **list[DROPPED_SUMS];
        list_dropped_sums(list, &g.of[i]);
        for (int s = 0; s < DROPPED_SUMS && *list[s]; s++)
            *list[s] = node_scale(tape, *list[s],
                                  s == 1   ? d->scale * d->scale
                                  : s >= 2 ? fabs(d->scale)
                                           : d->scale);
    }
    return g;
}

struct dropped_sums sums_to_shape(struct tape *tape, struct dropped_sums sums, int rank,
                                  const int64_t *shape, double scale)
{
    struct node **list[DROPPED_SUMS];
    list_dropped_sums(list, &sums);
    for (int s = 0; s < DROPPED_SUMS && *list[s] && !tape_failed(tape); s++) {
        struct node *x = *list[s];
        x = s == 3 ? node_broadcast(tape, node_extremum(tape, x, 15, false, 1), rank, shape)
                   : node_sum_to_shape(tape, x, rank, shape);
        *list[s] = node_scale(tape, x, s == 0 ? scale : s == 1 ? scale * scale : fabs(scale));
    }
    return sums;
}

struct dropped_sums sums_of_channels(struct tape *tape, struct dropped_sums sums, int64_t from,
                                     int64_t width)
{
    struct node **list[DROPPED_SUMS];
    list_dropped_sums(list, &sums);
    for (int s = 0; s < DROPPED_SUMS && *list[s] && !tape_failed(tape); s++)
        *list[s] = node_slice(tape, *list[s], 3, from, width, 1);
    return sums;
}

void call_return_attention_gradient(struct call *call, const struct dropped_attention *law,
                                    struct dropped_sums sums, const char *layout, enum dtype dtype)
{
    struct tape *tape = call->tape;
    struct node *y = layout ? from_bnsd(tape, sums.mean, layout) : sums.mean;
    struct dropped_attention own = *law;
    if (tape_failed(tape)) return;
    if (law->p == 0) {
        call_return_typed(call, y, dtype);
        return;
    }
    own.dtype = dtype;
    own.layout = layout;
    own.arrange = layout ? from_bnsd : NULL;
    const struct bench_property *property = NULL;
    if (tape_is_reference(tape)) property = dropped_property(tape, &own, &sums);
    else y = node_with_dtype(tape, y, dtype);
    if (tape_failed(tape)) return;
    call_return_random(call, tape_is_reference(tape) ? NULL : y, dtype, y->rank, y->shape,
                       property);
}
