/* Deferred steps: what they hand out is what steps that are computed at once have, bit for bit. */
#include <arb.h>
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/call/op.h"
#include "bench/certify.h"
#include "bench/evaluation.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/slopes.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"
#include "bench/samples.h"
#include "bench/tape/enclosure.h"
#include "support/suite.h"

enum { ROWS = 48, COLUMNS = 1000, N = ROWS * COLUMNS, STEPS = 12, SEED = 7, MOST_MODELLED = 32 };

/* The steps of one composition, computed at once or deferred. */
struct composition {
    struct arena arena;
    struct tape tape;
    struct node *x, *steps[STEPS];
};

static float elements[N], numbers_alone[N];

static void compose(struct composition *c, enum bench_arithmetic arithmetic, bool defers)
{
    static const int64_t shape[2] = { ROWS, COLUMNS };
    static const int64_t flat[1] = { N };
    struct tensor tensor;
    struct tape *tape = &c->tape;
    struct node **s = c->steps;

    memset(c, 0, sizeof *c);
    tape_open(tape, &c->arena, arithmetic, false);
    if (defers) tape_defer(tape);
    tensor_wrap(&tensor, tape_is_model(tape) ? numbers_alone : elements, DT_F32, 2, shape);
    struct node *x = c->x = node_leaf(tape, &tensor, true);
    struct node *mean = node_mean(tape, x, 2, true);
    s[0] = node_subtract(tape, x, mean);
    s[1] = node_multiply(tape, s[0], s[0]);
    s[2] = node_multiply(tape, s[0], node_apply(tape, "rsqrt", node_mean(tape, s[1], 1, true)));
    s[3] = node_apply(tape, "exp", s[2]);
    s[4] = node_scale(tape, s[3], -0.25);
    s[5] = node_divide(tape, s[4], node_offset(tape, s[1], 1));
    s[6] = node_add(tape, s[5], node_broadcast(tape, mean, 2, shape));
    s[7] = node_multiply(tape, node_activation_slope(tape, SLOPE_GELU, s[6]), x);
    s[8] = node_apply2(tape, "atan2", s[7], s[2]);
    s[9] = node_reshape(tape, s[8], 1, flat);
    s[10] = node_multiply(tape, node_activation_slope(tape, SLOPE_SIGMOID, x), s[7]);
    s[11] = node_apply(tape, "abs", s[10]);
    ck_assert(!tape_failed(tape));
}

static void fill(void)
{
    struct numbers numbers = { SEED };
    for (int i = 0; i < N; i++)
        numbers_alone[i] = elements[i] = (float)(4 * numbers_uniform(&numbers) - 2);
    elements[5] = INFINITY;
    elements[2 * COLUMNS + 1] = NAN;
    elements[7 * COLUMNS] = 0;
}

static void close_both(struct composition *c)
{
    for (int k = 0; k < 2; k++) arena_release(&c[k].arena);
}

static bool same_bits(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool same = a[i] == b[i] && signbit(a[i]) == signbit(b[i]);
        if (!same && !(isnan(a[i]) && isnan(b[i]))) return false;
    }
    return true;
}

static const enum bench_arithmetic arithmetics[] = { BENCH_REFERENCE, BENCH_NATIVE,
                                                     BENCH_MODEL_WORST, BENCH_MODEL_TYPICAL };

/* The deferred steps are deferred at all. */
START_TEST(large_steps_are_deferred)
{
    struct composition c[2];
    for (int k = 0; k < 2; k++) compose(&c[k], arithmetics[_i], k);
    for (int s = 0; s < STEPS; s++) {
        if (s == 8)
            continue; /* reads a function without a form for arrays: computed at once or not */
        ck_assert(!node_is_deferred(c[0].steps[s]));
    }
    for (int s = 0; s < 5; s++) {
        if (s == 3 && tape_is_model(&c[1].tape)) continue; /* the bounds of functions are costly */
        ck_assert(node_is_deferred(c[1].steps[s]));
    }
    close_both(c);
}
END_TEST

/* Blocks at any place, values and bounds, and then the whole of it. */
START_TEST(elements_are_those_of_a_step_computed_at_once)
{
    enum { LONGEST = 1500 };
    struct composition c[2];
    double value[LONGEST], bound[LONGEST], expected[LONGEST];
    struct numbers numbers = { SEED };
    for (int k = 0; k < 2; k++) compose(&c[k], arithmetics[_i], k);
    for (int s = 0; s < STEPS; s++) {
        struct node *whole = c[0].steps[s], *deferred = c[1].steps[s];
        const double *all = node_values(&c[0].tape, whole);
        for (int round = 0; round < 40; round++) {
            size_t start = numbers_next(&numbers) % N,
                   most = N - start < LONGEST ? N - start : LONGEST;
            size_t count = 1 + numbers_next(&numbers) % most;
            ck_assert(same_bits(node_block(deferred, start, count, value), all + start, count));
            const double *error;
            ck_assert(same_bits(node_bounded_block(&error, deferred, start, count, value, bound),
                                all + start, count));
            for (size_t i = 0; i < count; i++) expected[i] = node_error(whole, start + i);
            ck_assert(same_bits(error, expected, count));
        }
    }
    for (int s = STEPS - 1; s >= 0; s--) {
        struct node *whole = c[0].steps[s], *deferred = c[1].steps[s];
        ck_assert(same_bits(node_values(&c[1].tape, deferred), whole->value, N));
        for (size_t i = 0; i < N; i++) {
            double want = node_error(whole, i), got = node_error(deferred, i);
            ck_assert(want == got);
        }
        ck_assert(!isinf(deferred->relative) && !node_is_deferred(deferred));
    }
    close_both(c);
}
END_TEST

/* Sums of lines in memory order and across it: the same values, and bounds that differ by the roundings of adding
 * up errors alone. */
START_TEST(sums_by_blocks_are_sums)
{
    struct composition c[2];
    for (int k = 0; k < 2; k++) compose(&c[k], arithmetics[_i], k);
    static const uint32_t dims[] = { 1, 2, 3 };
    for (int s = 0; s < STEPS; s++) {
        if (s == 9) continue; /* has one dimension */
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
            struct node *sums[2];
            for (int k = 0; k < 2; k++)
                sums[k] = node_sum(&c[k].tape, c[k].steps[s], dims[d], true);
            ck_assert(same_bits(sums[0]->value, sums[1]->value, sums[0]->n));
            for (size_t i = 0; i < sums[0]->n && arithmetics[_i] != BENCH_NATIVE; i++) {
                double want = node_error(sums[0], i), got = node_error(sums[1], i);
                ck_assert(want == got || fabs(got - want) <= 1e-10 * want);
            }
        }
    }
    close_both(c);
}
END_TEST

/* Gradients, whose steps are deferred in both: through steps that are and that are not. */
START_TEST(gradients_are_the_same)
{
    struct composition c[2];
    const double *gradient[2];
    for (int k = 0; k < 2; k++) {
        compose(&c[k], arithmetics[_i], k);
        tape_accumulate(&c[k].tape, c[k].steps[6],
                        node_constant(&c[k].tape, DT_F32, 0.5, 2, c[k].x->shape));
        tape_backward(&c[k].tape);
        ck_assert(!tape_failed(&c[k].tape));
        gradient[k] = node_values(&c[k].tape, c[k].x->cotangent);
    }
    ck_assert(same_bits(gradient[0], gradient[1], N));
    close_both(c);
}
END_TEST

/* Elements start .. start + count - 1 of both nodes are the same, and their bounds. */
static void check_block(const struct node *whole, const struct node *deferred, size_t start,
                        size_t count)
{
    static double value[N], bound[N];
    const double *error;
    ck_assert(same_bits(node_block(deferred, start, count, value), whole->value + start, count));
    ck_assert(same_bits(node_bounded_block(&error, deferred, start, count, value, bound),
                        whole->value + start, count));
    for (size_t i = 0; i < count; i++) ck_assert(error[i] == node_error(whole, start + i));
}

/* A step whose elements are put in another order, run by run: parts of runs, whole ones, their sums and gradients. */
START_TEST(steps_in_another_order_are_the_same)
{
    enum { INNER = 250, DIMS = 4 };
    static const int64_t shape[DIMS] = { 6, 8, ROWS * COLUMNS / 48 / INNER, INNER };
    static const int order[DIMS] = { 1, 2, 0, 3 };
    struct composition c[2];
    for (int k = 0; k < 2; k++) compose(&c[k], arithmetics[_i], k);
    for (int s = 0; s < 8; s++) {
        struct node *moved[2], *sums[2];
        for (int k = 0; k < 2; k++)
            moved[k] = node_permute(&c[k].tape,
                                    node_reshape(&c[k].tape, c[k].steps[s], DIMS, shape), order);
        ck_assert(!node_is_deferred(moved[0]) && node_is_deferred(moved[1]));
        struct numbers numbers = { SEED };
        for (int round = 0; round < 40; round++) {
            size_t start = numbers_next(&numbers) % N;
            check_block(moved[0], moved[1], start, 1 + numbers_next(&numbers) % (N - start));
        }
        for (int k = 0; k < 2; k++) sums[k] = node_sum(&c[k].tape, moved[k], 12, true);
        ck_assert(same_bits(sums[0]->value, sums[1]->value, sums[0]->n));
        ck_assert(same_bits(node_values(&c[1].tape, moved[1]), moved[0]->value, N));
    }
    close_both(c);
}
END_TEST

/* Gradients through such a step. */
START_TEST(gradients_in_another_order_are_the_same)
{
    static const int64_t shape[3] = { 6, 8, COLUMNS };
    static const int order[3] = { 1, 0, 2 };
    struct composition c[2];
    const double *gradient[2];
    for (int k = 0; k < 2; k++) {
        compose(&c[k], arithmetics[_i], k);
        struct tape *tape = &c[k].tape;
        struct node *moved = node_permute(tape, node_reshape(tape, c[k].steps[2], 3, shape), order);
        struct node *squares = node_multiply(tape, moved, moved);
        tape_accumulate(tape, squares, node_constant(tape, DT_F32, 0.5, 3, squares->shape));
        tape_backward(tape);
        ck_assert(!tape_failed(tape));
        gradient[k] = node_values(tape, c[k].x->cotangent);
    }
    ck_assert(same_bits(gradient[0], gradient[1], N));
    close_both(c);
}
END_TEST

/* Single elements are not worth looking up one by one. */
START_TEST(short_runs_are_copied)
{
    static const int order[2] = { 1, 0 };
    struct composition c[2];
    for (int k = 0; k < 2; k++) {
        compose(&c[k], BENCH_REFERENCE, k);
        struct node *turned = node_permute(&c[k].tape, c[k].steps[3], order);
        ck_assert(!node_is_deferred(turned));
        for (size_t i = 0; i < N; i++) {
            double want = c[k].steps[3]->value[i % ROWS * COLUMNS + i / ROWS];
            ck_assert(turned->value[i] == want || isnan(want));
        }
    }
    close_both(c);
}
END_TEST

/* Refinement of an element whose inputs are nowhere as a whole. */
START_TEST(balls_are_the_same)
{
    struct composition c[2];
    for (int k = 0; k < 2; k++) compose(&c[k], BENCH_REFERENCE, k);
    for (int s = 0; s < STEPS; s++)
        for (size_t i = 3; i < N; i += N / 7) {
            arb_t ball[2];
            for (int k = 0; k < 2; k++) {
                struct enclosure *enclosure = enclosure_open(128, 1 << 22);
                ck_assert_ptr_nonnull(enclosure);
                arb_init(ball[k]);
                enclosure_element(enclosure, ball[k], c[k].steps[s], i);
                enclosure_close(enclosure);
            }
            ck_assert(arb_equal(ball[0], ball[1]) || !arb_is_finite(ball[0]));
            arb_clear(ball[0]);
            arb_clear(ball[1]);
        }
    close_both(c);
}
END_TEST

/* An element is recomputed where the node has it if nothing else has been computed of that, or will be. */
START_TEST(last_steps_are_recomputed_in_place)
{
    enum { ELEMENT = 10 * COLUMNS + 100 }; /* of numbers alone */
    static const int64_t flat[1] = { N };
    static const struct {
        bool newest, is_last, in_place;
        int others; /* nodes with the arrays of the newest one */
        enum dtype dtype;
    } cases[] = { { true, true, true, 0, DT_F32 },
                  { true, true, true, 1, DT_F32 },
                  { true, true, false, 0, DT_F64 }, /* as hi + lo */
                  { true, false, false, 0, DT_F32 },
                  { false, true, false, 0, DT_F32 } };
    struct composition c;
    compose(&c, BENCH_REFERENCE, false);
    struct node *newest = node_apply(&c.tape, "exp", c.steps[1]);
    if (cases[_i].others) newest = node_reshape(&c.tape, newest, 1, flat);
    struct node *node = cases[_i].newest ? newest : c.steps[1];
    const double *values = node_values(&c.tape, node);
    double value = values[ELEMENT], bound = node_error(node, ELEMENT);
    struct reference r;
    ck_assert_ptr_nonnull(node->error);
    ck_assert(
        !reference_over(&r, &c.tape, node, cases[_i].dtype, &c.arena, cases[_i].is_last).code);
    ck_assert(!r.refine(&r, 1, &(size_t){ ELEMENT }, 0x1p-60).code);
    ck_assert_int_eq(r.hi == values, cases[_i].in_place);
    ck_assert_int_eq(r.error == node->error, cases[_i].in_place);
    ck_assert(reference_bound(&r, ELEMENT) < bound);
    ck_assert(fabs(r.hi[ELEMENT] - value) <= bound);
    ck_assert(cases[_i].in_place ||
              (node->value[ELEMENT] == value && node->error[ELEMENT] == bound));
    arena_release(&c.arena);
}
END_TEST

/* In a model what overflows has other bounds, and what is infinite: such steps are not deferred. */
START_TEST(steps_that_overflow_are_not_deferred)
{
    static const struct {
        double factor;
        bool deferred;
    } cases[] = { { 0x1p100, true }, { 0x1p127, false }, { INFINITY, false } };
    static const int64_t shape[1] = { N };
    struct arena arena = { 0 };
    struct tape tape;
    struct tensor tensor;
    tape_open(&tape, &arena, BENCH_MODEL_WORST, false);
    tape_defer(&tape);
    tensor_wrap(&tensor, numbers_alone, DT_F32, 1, shape);
    struct node *x = node_leaf(&tape, &tensor, false),
                *factor = node_offset(&tape, node_scale(&tape, x, 0), 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct node *y = node_multiply(&tape, node_multiply(&tape, x, x),
                                       node_scale(&tape, factor, cases[k].factor));
        ck_assert(node_is_deferred(y) == cases[k].deferred);
    }
    arena_release(&arena);
}
END_TEST

/* What a kernel may be off by, and what is expected of it, of all results and gradients of a call. */
struct modelled {
    double *bound[MOST_MODELLED], *rms[MOST_MODELLED];
    size_t n[MOST_MODELLED], count;
};

static void take_model(struct modelled *out, const struct reference *r, struct arena *arena)
{
    if (!r->kernel_bound || out->count == MOST_MODELLED) return;
    double **arrays[2] = { &out->bound[out->count], &out->rms[out->count] };
    const double *from[2] = { r->kernel_bound, r->kernel_rms };
    for (int k = 0; k < 2; k++) {
        *arrays[k] = arena_allocate_array(arena, r->n, sizeof **arrays[k]);
        ck_assert_ptr_nonnull(*arrays[k]);
        memcpy(*arrays[k], from[k], r->n * sizeof **arrays[k]);
    }
    out->n[out->count++] = r->n;
}

/* With steps deferred from `least` elements on. */
static void model_call(struct modelled *out, struct sample *sample, size_t least,
                       struct arena *arena)
{
    struct bench *bench;
    struct bench_output *gradients;
    size_t before = tape_least_modelled, count;
    *out = (struct modelled){ .count = 0 };
    tape_least_modelled = least;
    if (!bench_open(&bench, &sample->c, arena, BENCH_REFERENCE).code && !bench_model(bench).code) {
        for (size_t k = 0; k < bench_output_count(bench); k++)
            if (bench_output(bench, k)->kind == BENCH_OUTPUT_TENSOR)
                take_model(out, &bench_output(bench, k)->reference, arena);
        bool tracks = sample->golden || !(bench_call(bench)->op->flags & OP_NO_GRADIENT);
        if (!sample->golden && tracks) {
            struct numbers numbers = { SEED };
            sample_cotangents(&sample->c.cotangents, bench, arena, &numbers);
            sample->c.has_backward = true;
        }
        if (sample->c.has_backward &&
            !bench_backward(&gradients, &count, bench, &sample->c.cotangents).code)
            for (size_t k = 0; k < count; k++)
                if (gradients[k].kind == BENCH_OUTPUT_TENSOR)
                    take_model(out, &gradients[k].reference, arena);
    }
    tape_least_modelled = before;
}

static void compare_models(void *context, struct sample *sample, struct arena *arena)
{
    size_t *compared = context;
    struct modelled at_once, deferred;
    model_call(&at_once, sample, SIZE_MAX, arena);
    model_call(&deferred, sample, 2, arena);
    ck_assert_msg(at_once.count == deferred.count, "%s", sample->place);
    for (size_t k = 0; k < at_once.count; k++) {
        ck_assert_msg(at_once.n[k] == deferred.n[k] &&
                          same_bits(at_once.bound[k], deferred.bound[k], at_once.n[k]) &&
                          same_bits(at_once.rms[k], deferred.rms[k], at_once.n[k]),
                      "%s: errors of tensor %zu depend on when they are made", sample->place, k);
        *compared += 1;
    }
}

/* Of every call there is, whatever reads its steps. */
START_TEST(models_are_the_same)
{
    size_t compared = 0;
    samples_each(NULL, compare_models, &compared);
    printf("%zu tensors\n", compared);
    ck_assert_uint_gt(compared, 1000);
}
END_TEST

/* Rows that are added to rows of a larger tensor: some get none, some several. */
START_TEST(scattered_rows_are_the_same)
{
    enum { ROW = 1000, SOURCES = 12 };
    static const int64_t shape[2] = { ROWS, ROW }, sources[2] = { SOURCES, ROW };
    static const int64_t map[SOURCES] = { 3, 7, 3, 40, -1, 3, 7, ROWS - 1, 0, 20, 21, 3 };
    static double value[2][N], error[2][N];
    struct node *node[2];
    struct composition c[2];
    for (int k = 0; k < 2; k++) {
        struct tensor tensor;
        compose(&c[k], arithmetics[_i], k);
        tensor_wrap(&tensor, elements + ROW, DT_F32, 2, sources);
        struct node *x = node_leaf(&c[k].tape, &tensor, true);
        node[k] =
            node_scatter_add_rows(&c[k].tape, node_apply(&c[k].tape, "exp", x), 2, shape, ROW, map);
        ck_assert(!tape_failed(&c[k].tape));
        ck_assert_int_eq(node_is_deferred(node[k]), k);
        for (size_t start = 0, count = 7; start < N; start += count, count = count % 1500 + 77) {
            if (count > N - start) count = N - start;
            const double *bounds = error[k] + start, *made;
            made = node_bounded_block(&bounds, node[k], start, count, value[k] + start,
                                      error[k] + start);
            if (made != value[k] + start) memcpy(value[k] + start, made, count * sizeof *made);
            if (bounds != error[k] + start) memcpy(error[k] + start, bounds, count * sizeof *made);
        }
    }
    ck_assert(value[0][3 * ROW + 1] > value[0][40 * ROW + 1] && value[0][ROW] == 0);
    ck_assert(same_bits(value[0], value[1], N));
    ck_assert(same_bits(error[0], error[1], N));
    close_both(c);
}
END_TEST

/* References whose elements are made for them: the values of the steps, or better ones, with bounds that hold for these, and
 * that are small enough where the reference says so. Where all are there is no array of bounds. */
START_TEST(made_references_hold_their_bounds)
{
    static const enum dtype dtypes[] = { DT_F32, DT_F16, DT_BF16 };
    const enum dtype dtype = dtypes[_i];
    struct composition c[2];
    size_t made = 0;
    for (int k = 0; k < 2; k++) compose(&c[k], BENCH_REFERENCE, k);
    for (int s = 0; s < STEPS; s++) {
        struct node *at_once = c[0].steps[s], *deferred = c[1].steps[s];
        struct reference r;
        if (!deferred->deferral || !node_is_unread(deferred) || !deferred->deferral->bounded)
            continue;
        const double *value = node_values(&c[0].tape, at_once);
        ck_assert(!reference_over(&r, &c[1].tape, deferred, dtype, &c[1].arena, false).code);
        made++;
        for (size_t i = 0; i < N; i++) {
            double own = node_error(at_once, i), bound = reference_bound(&r, i);
            if (!isfinite(value[i])) continue;
            ck_assert(fabs(r.hi[i] - value[i]) <= own);
            ck_assert(r.hi[i] != value[i] || bound >= own * (1 - 0x1p-40) || r.recomputed);
            if (r.state == REFERENCE_CERTIFIED && fabs(r.hi[i]) < dtype_info(dtype)->largest)
                ck_assert(bound <= 0x1p-9 * dtype_ulp(dtype, r.hi[i]));
        }
        ck_assert(!r.error && r.state != REFERENCE_BOUNDED);
    }
    ck_assert_uint_gt(made, 2);
    close_both(c);
}
END_TEST

/* Elements that cancel to nothing, exp(x) - exp(1/2) where x = 1/2: a few are recomputed and the bounds become one; some are more than
 * the budget has balls for, and with many none is begun: then elements have bounds of their own, those that do not cancel small ones. */
START_TEST(made_references_with_open_elements)
{
    static const size_t counts[] = { 20, 3000, 9000 };
    const size_t count = counts[_i];
    struct composition c;
    struct reference r;
    size_t open = 0;
    for (size_t k = 0; k < count; k++) elements[11 * COLUMNS + k] = 0.5F;
    compose(&c, BENCH_REFERENCE, true);
    struct node *half = node_apply(&c.tape, "exp", node_scalar(&c.tape, 0.5));
    struct node *node = node_subtract(&c.tape, node_apply(&c.tape, "exp", c.x), half);
    ck_assert(node_is_unread(node));
    ck_assert(!reference_over(&r, &c.tape, node, DT_F32, &c.arena, false).code);
    for (size_t i = 0; i < N; i++) {
        if (!isfinite(r.hi[i])) continue;
        double exact = exp(elements[i]) - exp(0.5), bound = reference_bound(&r, i);
        ck_assert(fabs(r.hi[i] - exact) <= bound + 0x1p-50 * exp(elements[i]));
        bool is_open = bound > 0x1p-9 * dtype_ulp(DT_F32, r.hi[i]);
        ck_assert(!is_open || elements[i] == 0.5F);
        ck_assert(!r.error || bound < 0x1p-40 * exp(elements[i]));
        open += is_open;
    }
    ck_assert_int_eq(r.error != NULL, _i > 0);
    ck_assert_int_eq(r.state, _i ? REFERENCE_BOUNDED : REFERENCE_CERTIFIED);
    ck_assert_uint_eq(r.recomputed, _i < 2 ? count : 0);
    ck_assert(_i ? open > count / 2 : !open);
    fill();
    arena_release(&c.arena);
}
END_TEST

/* Results that stay keep their elements, and what lay between them is free again. One that is an input stays there. */
START_TEST(results_alone_are_kept)
{
    enum { BYTES = 3 << 19, RESULTS = 3 };
    struct arena arena = { 0 };
    arena_reserve(&arena, (size_t)64 << 20);
    static const int64_t shape[1] = { BYTES / 4 };
    struct value items[2][3], lists[2];
    struct tensor tensors[RESULTS], input;
    ck_assert(!tensor_create(&input, &arena, DT_F32, 1, shape).code);
    struct arena_mark mark = arena_mark(&arena);
    const void *start = arena_allocate(&arena, 1);
    for (int k = 0; k < RESULTS; k++) {
        ck_assert_ptr_nonnull(arena_allocate(&arena, BYTES + 1000 * (size_t)k));
        ck_assert(!tensor_create(&tensors[k], &arena, DT_F32, 1, shape).code);
        for (size_t i = 0; i < BYTES / 4; i++)
            ((float *)tensors[k].data)[i] = (float)(k * 1000 + (int)(i % 997));
    }
    /* In another order than that of memory, with a gap. */
    items[0][0] = (struct value){ .kind = VALUE_TENSOR };
    items[0][0].tensor.tensor = &tensors[2];
    items[0][1] = (struct value){ .kind = VALUE_TENSOR };
    items[0][1].tensor.tensor = &tensors[0];
    items[1][0] = (struct value){ .kind = VALUE_NONE };
    items[1][1] = (struct value){ .kind = VALUE_TENSOR };
    items[1][1].tensor.tensor = &tensors[1];
    items[1][2] = (struct value){ .kind = VALUE_TENSOR };
    items[1][2].tensor.tensor = &input;
    for (int k = 0; k < 2; k++) {
        lists[k] = (struct value){ .kind = VALUE_LIST };
        lists[k].list.keys = NULL;
        lists[k].list.count = 2 + (size_t)k;
        lists[k].list.items = items[k];
    }
    struct value given[1] = { { .kind = VALUE_TENSOR } };
    given[0].tensor.tensor = &input;
    struct api_case c = { .cotangents = { .kind = VALUE_LIST } };
    c.cotangents.list.count = 1;
    c.cotangents.list.items = given;
    ck_assert(!bench_native_keep(&lists[0], &lists[1], &arena, mark, start, &c).code);
    ck_assert_ptr_eq(lists[1].list.items[2].tensor.tensor->data, input.data);
    ck_assert_uint_lt(arena.used_bytes, (RESULTS + 1) * (size_t)BYTES + 10000);
    static const int order[2][2] = { { 2, 0 }, { -1, 1 } };
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++) {
            const struct value *item = &lists[k].list.items[i];
            ck_assert_int_eq(item->kind, order[k][i] < 0 ? VALUE_NONE : VALUE_TENSOR);
            for (size_t e = 0; order[k][i] >= 0 && e < BYTES / 4; e++)
                ck_assert(((const float *)item->tensor.tensor->data)[e] ==
                          (float)(order[k][i] * 1000 + (int)(e % 997)));
        }
    arena_release(&arena);
}
END_TEST

int main(void)
{
    fill();
    Suite *suite = suite_create("deferred steps");
    TCase *tests = tcase_create("elements");
    tcase_set_timeout(tests, 120);
    int kinds = sizeof arithmetics / sizeof *arithmetics;
    tcase_add_loop_test(tests, large_steps_are_deferred, 0, kinds);
    tcase_add_loop_test(tests, elements_are_those_of_a_step_computed_at_once, 0, kinds);
    tcase_add_loop_test(tests, sums_by_blocks_are_sums, 0, kinds);
    tcase_add_loop_test(tests, gradients_are_the_same, 0, kinds);
    tcase_add_loop_test(tests, steps_in_another_order_are_the_same, 0, kinds);
    tcase_add_loop_test(tests, gradients_in_another_order_are_the_same, 0, kinds);
    tcase_add_test(tests, steps_that_overflow_are_not_deferred);
    tcase_add_test(tests, models_are_the_same);
    tcase_add_test(tests, short_runs_are_copied);
    tcase_add_test(tests, balls_are_the_same);
    tcase_add_loop_test(tests, last_steps_are_recomputed_in_place, 0, 5);
    tcase_add_loop_test(tests, scattered_rows_are_the_same, 0, 2);
    tcase_add_loop_test(tests, made_references_hold_their_bounds, 0, 3);
    tcase_add_loop_test(tests, made_references_with_open_elements, 0, 3);
    tcase_add_test(tests, results_alone_are_kept);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
