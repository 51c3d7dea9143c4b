/* Every value against balls: for each sample, each node of the tape of its forward and backward.
 *
 * The value of a node carries a bound on its error; the same element recomputed in
 * ball arithmetic encloses the exact value. Both proofs are independent, so the two must meet:
 * |value - midpoint| <= bound + radius, and a value that is not finite must have a ball that is
 * not either (or lies beyond the range of double). Then the outputs and gradients as references:
 * recomputed to 2^-20 ulp they must still meet the first enclosure.
 *
 * `bench-refinement NAME` runs the samples whose API contains NAME.
 */
#include <arb.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/evaluation.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/binary_functions.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/unary_functions.h"
#include "bench/samples.h"
#include "bench/tape/enclosure.h"
#include "support/suite.h"

static const char *filter;

enum { PRECISION = 192, MOST_ELEMENTS = 48, WORK = 60000, PAIR_WORK = 20000, MOST_COMPLAINTS = 60 };

struct tally {
    size_t samples, nodes, elements, vague, references, wrong, failed, pairs, close;
};

/* How far beyond its bound a value is, in units of the bound; 0 within; NaN when the ball says nothing. */
static double excess(const arb_t ball, double value, double bound)
{
    arb_t distance;
    arf_t slack;
    double result;

    if (isinf(bound)) return 0; /* nothing is claimed */
    if (!arb_is_finite(ball)) return NAN;
    if (!isfinite(value)) { /* fine where the exact value is beyond double */
        arb_init(distance);
        arb_abs(distance, ball);
        arb_set_d(distance, 0);
        result = arf_cmpabs_2exp_si(arb_midref(ball), 1023) >= 0 ? 0 : INFINITY;
        arb_clear(distance);
        return result;
    }
    arb_init(distance);
    arf_init(slack);
    arb_set_d(distance, value);
    arb_sub(distance, ball, distance, 320);
    arb_abs(distance, distance);
    arb_get_lbound_arf(slack, distance, 53);
    result = arf_get_d(slack, ARF_RND_FLOOR);
    result = result <= bound ? 0 : bound > 0 ? result / bound : INFINITY;
    arb_clear(distance);
    arf_clear(slack);
    return result;
}

static void complain(struct tally *tally, const struct sample *sample, const char *what, size_t i,
                     double value, double bound, const arb_t ball)
{
    if (tally->wrong++ >= MOST_COMPLAINTS) return;
    char *text = arb_get_str(ball, 25, ARB_STR_MORE);
    fprintf(stderr, "%-44s %s[%zu] = %.17g +- %.3g, exact %s\n", sample->place, what, i, value,
            bound, text);
    flint_free(text);
}

/* The primitive, or the function that a pointwise one applies. */
static const char *node_name(const struct node *node)
{
    const char *name = node->primitive->name;
    if (!strcmp(name, "a function")) return ((const struct unary_function *)node->parameters)->name;
    if (!strcmp(name, "a function of two"))
        return ((const struct binary_function *)node->parameters)->name;
    return name;
}

/* The element as a pair, if it has one: hi + lo within its bound, and bounds that say something. */
static void check_pair(struct tally *tally, const struct sample *sample, struct node *node,
                       size_t i, const arb_t ball)
{
    struct enclosure enclosure = { .limit = PAIR_WORK };
    struct pair pair;
    arb_t rest;
    if (!arb_is_finite(ball) || !enclosure_pair(&enclosure, &pair, node, i)) return;
    arb_init(rest);
    arb_set_d(rest, pair.hi);
    arb_sub(rest, ball, rest, 2 * PRECISION);
    tally->pairs++;
    tally->close += pair.error <= 0x1p-80 * fabs(pair.hi);
    bool normal = pair.hi + pair.lo == pair.hi;
    if (!normal || excess(rest, pair.lo, pair.error) > 0)
        complain(tally, sample, node_name(node), i, pair.hi, pair.error, ball);
    arb_clear(rest);
}

/* Some elements of a node: the first ones, and others spread over it. */
static void check_node(struct tally *tally, struct enclosure *enclosure,
                       const struct sample *sample, struct node *node)
{
    arb_t ball;
    size_t count = node->n < MOST_ELEMENTS ? node->n : MOST_ELEMENTS;
    arb_init(ball);
    tally->nodes++;
    for (size_t k = 0; k < count && enclosure->work < enclosure->limit; k++) {
        size_t i = node->n <= MOST_ELEMENTS || k < count / 2 ? k : k * (node->n / MOST_ELEMENTS);
        /* A value that is not finite is a statement that balls take over: nothing to compare. */
        if (!isfinite(node->value[i])) continue;
        enclosure_element(enclosure, ball, node, i);
        double beyond = excess(ball, node->value[i], node_error(node, i));
        tally->elements++;
        tally->vague += isnan(beyond);
        if (beyond > 0) {
            complain(tally, sample, node_name(node), i, node->value[i], node_error(node, i), ball);
            break;
        }
        check_pair(tally, sample, node, i, ball);
    }
    arb_clear(ball);
}

/* All nodes of the tape, oldest first, so that the first complaint is the cause. */
static void check_tape(struct tally *tally, const struct sample *sample, struct tape *tape)
{
    size_t count = 0;
    for (struct node *node = tape->newest; node; node = node->older) count++;
    struct node **nodes = malloc((count + 1) * sizeof *nodes);
    size_t at = count;
    for (struct node *node = tape->newest; node; node = node->older) nodes[--at] = node;
    struct enclosure *enclosure = enclosure_open(PRECISION, WORK);
    size_t wrong = tally->wrong;
    for (at = 0; at < count && tally->wrong == wrong; at++) {
        struct node *node = nodes[at];
        if (node->primitive && node->value && !node->integer)
            check_node(tally, enclosure, sample, node);
    }
    enclosure_close(enclosure);
    free(nodes);
}

/* Refine all components; old and new enclosures must share a point. */
static void check_reference(struct tally *tally, const struct sample *sample, const char *what,
                            struct reference *r, struct arena *arena)
{
    if (r->integer || !r->refine || !r->n) return;
    tally->references++;
    size_t n = r->n < 4 * MOST_ELEMENTS ? r->n : 4 * MOST_ELEMENTS;
    double *hi = arena_allocate_array(arena, n, sizeof *hi),
           *bound = arena_allocate_array(arena, n, sizeof *hi);
    size_t *all = arena_allocate_array(arena, n, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i] = i;
        hi[i] = r->hi[i];
        bound[i] = reference_bound(r, i) + (r->lo ? fabs(r->lo[i]) : 0);
    }
    if (!r->error) { /* refinement writes to an array */
        double *error = arena_allocate_array(arena, r->n, sizeof *error);
        for (size_t i = 0; i < r->n; i++) error[i] = reference_bound(r, i);
        r->error = error;
    }
    if (r->refine(r, n, all, 0x1p-20).code) return;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(hi[i])) continue;
        double moved = fabs(r->hi[i] - hi[i]);
        if (moved <=
            (bound[i] + reference_bound(r, i) + (r->lo ? fabs(r->lo[i]) : 0)) * (1 + 0x1p-40))
            continue;
        if (tally->wrong++ < MOST_COMPLAINTS)
            fprintf(stderr, "%-44s %s[%zu] = %.17g +- %.3g, refined %.17g +- %.3g\n", sample->place,
                    what, i, hi[i], bound[i], r->hi[i], reference_bound(r, i));
        return;
    }
}

static void check_sample(void *context, struct sample *sample, struct arena *arena)
{
    struct tally *tally = context;
    struct bench *bench;
    struct bench_output *gradients = NULL;
    size_t count = 0;
    char what[64];

    struct status st = bench_open(&bench, &sample->c, arena, BENCH_REFERENCE);
    if (st.code) {
        tally->failed++;
        return; /* the goldens' and the catalogue's tests complain */
    }
    tally->samples++;
    const struct op *op = bench_call(bench)->op;
    if (!sample->golden && !(op->flags & (OP_NO_GRADIENT | OP_RANDOM))) {
        struct numbers numbers = { 1 };
        sample_cotangents(&sample->c.cotangents, bench, arena, &numbers);
        sample->c.has_backward = true;
    }
    if (sample->c.has_backward &&
        bench_backward(&gradients, &count, bench, &sample->c.cotangents).code)
        count = 0;
    check_tape(tally, sample, bench_call(bench)->tape);
    for (size_t k = 0; k < bench_output_count(bench); k++) {
        if (bench_output(bench, k)->kind != BENCH_OUTPUT_TENSOR) continue;
        snprintf(what, sizeof what, "output %zu", k);
        check_reference(tally, sample, what, &bench_output(bench, k)->reference, arena);
    }
    for (size_t k = 0; k < count; k++) {
        if (gradients[k].kind != BENCH_OUTPUT_TENSOR) continue;
        snprintf(what, sizeof what, "gradient %zu", k);
        check_reference(tally, sample, what, &gradients[k].reference, arena);
    }
}

START_TEST(values_lie_within_their_bounds_of_balls)
{
    struct tally tally = { 0 };
    samples_each(filter, check_sample, &tally);
    flint_cleanup();
    printf("%zu samples (%zu could not run): %zu elements of %zu nodes against balls, %zu "
           "undecided; %zu pairs, "
           "%zu within 2^-80; %zu references refined; %zu wrong\n",
           tally.samples, tally.failed, tally.elements, tally.nodes, tally.vague, tally.pairs,
           tally.close, tally.references, tally.wrong);
    ck_assert_uint_gt(tally.samples, 0);
    if (!filter) ck_assert_uint_gt(tally.close * 5, tally.pairs * 4);
    ck_assert_uint_eq(tally.wrong, 0);
    /* What neither proof decides must stay rare. */
    ck_assert_uint_le(tally.vague * 100, tally.elements);
}
END_TEST

/* The test of a test: a value moved by three bounds, and a bound made too small, are found out. */
START_TEST(broken_values_are_found)
{
    static const char line[] = "Torch.exp(f32(8))";
    struct sample sample;
    struct arena arena = { 0 };
    struct bench *bench;
    struct tally tally = { 0 };
    ck_assert_ptr_null(sample_parse(&sample, line, &arena));
    snprintf(sample.place, sizeof sample.place, "broken on purpose");
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    struct tape *tape = bench_call(bench)->tape;
    struct node *node = tape->newest;
    while (!node->primitive || strcmp(node_name(node), "exp") != 0) node = node->older;
    check_tape(&tally, &sample, tape);
    ck_assert_uint_eq(tally.wrong, 0);
    tally.wrong = MOST_COMPLAINTS; /* quietly */
    node->value[5] += 3 * node_error(node, 5);
    check_tape(&tally, &sample, tape);
    ck_assert_uint_eq(tally.wrong, MOST_COMPLAINTS + 1);
    node->value[5] -= 3 * node_error(node, 5);
    node->relative /= 64;
    node->absolute = 0;
    check_tape(&tally, &sample, tape);
    ck_assert_uint_eq(tally.wrong, MOST_COMPLAINTS + 2);
    arena_release(&arena);
}
END_TEST

/* Every element of a layer_norm asks for the sums of its line: as pairs they are computed once, so that the work for
 * all n elements grows with n, and each pair is what it is without a memo. */
START_TEST(shared_sums_are_computed_once)
{
    enum { EXTENT = 512, STEPS = 24 };
    struct sample sample;
    struct arena arena = { 0 };
    struct bench *bench;
    ck_assert_ptr_null(sample_parse(&sample, "Functional.layer_norm(f32(512), [512])", &arena));
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    struct node *node = bench_call(bench)->results.items[0].node;
    struct enclosure *shared = enclosure_open(PRECISION, SIZE_MAX);
    struct enclosure alone = { .limit = SIZE_MAX };
    ck_assert_uint_eq(node->n, EXTENT);
    for (size_t i = 0; i < EXTENT; i++) {
        struct pair a, b;
        ck_assert(enclosure_pair(shared, &a, node, i));
        if (i % 64) continue;
        ck_assert(enclosure_pair(&alone, &b, node, i));
        ck_assert(a.hi == b.hi && a.lo == b.lo && a.error == b.error);
    }
    ck_assert_uint_le(shared->work, STEPS * EXTENT);
    enclosure_close(shared);
    arena_release(&arena);
}
END_TEST

/* A step whose elements count how often their balls are asked for. */
static size_t asked;

static void counted_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    asked++;
    enclosure_element(enclosure, ball, node->inputs[0], i);
}

static const struct primitive counted = { "counted", NULL, counted_enclose, NULL };

/* A sum of more terms than may be evaluated is not begun, neither by itself nor for what is made of it. */
START_TEST(sums_beyond_the_limit_are_not_begun)
{
    enum { EXTENT = 2000 };
    static const int64_t shape[1] = { EXTENT };
    struct arena arena = { 0 };
    struct tape tape;
    tape_open(&tape, &arena, BENCH_REFERENCE, false);
    struct node *x = node_new_real(&tape, DT_F32, 1, shape);
    for (size_t i = 0; i < EXTENT; i++) x->value[i] = 1 + (double)i / 7;
    struct node *terms = node_new(&tape, &counted, DT_F32, 1, shape, 1, &x, NULL);
    memcpy(terms->value, x->value, EXTENT * sizeof *x->value);
    terms->relative = 0x1p-50; /* or pairs take its values */
    struct node *sum = node_sum(&tape, terms, 1, true);
    struct node *mean = node_scale(&tape, node_scale(&tape, sum, 1.0 / EXTENT), 0.1);
    for (int fits = 0; fits < 2; fits++) {
        const size_t limit = fits ? EXTENT + 8 : EXTENT - 1;
        struct enclosure *enclosure = enclosure_open(PRECISION, limit);
        double hi = mean->value[0], error = 1;
        const struct enclosure_target target = { &hi, NULL, &error, 1, 0, false };
        arb_t ball;
        arb_init(ball);
        asked = 0;
        enclosure_element(enclosure, ball, mean, 0);
        ck_assert_int_eq(arb_is_finite(ball), fits);
        ck_assert_uint_eq(asked, fits ? EXTENT : 0);
        arb_clear(ball);
        enclosure_close(enclosure);
        asked = 0;
        enclosure_refine(&target, mean, 1, &(size_t){ 0 }, DT_F32, 0x1p-40, limit);
        ck_assert_int_eq(error < 1, fits);
        ck_assert_uint_eq(asked, fits ? EXTENT : 0);
    }
    arena_release(&arena);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("refinement");
    TCase *tests = tcase_create("refinement");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, values_lie_within_their_bounds_of_balls);
    tcase_add_test(tests, broken_values_are_found);
    tcase_add_test(tests, shared_sums_are_computed_once);
    tcase_add_test(tests, sums_beyond_the_limit_are_not_begun);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
