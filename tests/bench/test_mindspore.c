/* Calls of MindSpore whose results are told apart by what a device did, and its greedy decoder. */
#include <check.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/opened_call.h"
#include "support/suite.h"

static struct value integers(struct arena *arena, enum dtype dtype, int64_t n, const int64_t *x)
{
    struct tensor *t = arena_allocate(arena, sizeof *t);
    ck_assert_int_eq(tensor_create(t, arena, dtype, 1, &n).code, 0);
    dtype_from_int64(t->data, dtype, x, (size_t)n);
    return (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = t } };
}

static void check_integers(struct bench *bench, size_t k, const int64_t *want, size_t n)
{
    const struct reference *r = &bench_output(bench, k)->reference;
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(r->integer[i] == want[i], "output %zu, element %zu: %d, not %d", k, i,
                      (int)r->integer[i], (int)want[i]);
}

/* Sorted, or as a device found them; a list that leaves one out is not taken. */
START_TEST(unique_follows_the_order_of_the_device)
{
    static const struct {
        int64_t listed[3], want[3], places[6];
    } orders[] = { { { 7, -2, 5 }, { 7, -2, 5 }, { 0, 1, 0, 2, 1, 1 } },
                   { { -2, 5, 7 }, { -2, 5, 7 }, { 2, 0, 2, 1, 0, 0 } },
                   { { 7, -2, 7 }, { -2, 5, 7 }, { 2, 0, 2, 1, 0, 0 } } };
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(&sample, "MindSpore.unique(i64(6)[7 -2 7 5 -2 -2])", &arena);
    struct value items[2] = { integers(&arena, DT_I64, 3, orders[_i].listed),
                              integers(&arena, DT_I32, 6, orders[_i].places) };
    struct value got = { .kind = VALUE_LIST, .list = { .items = items, .count = 2 } };
    check_integers(bench, 0, (int64_t[]){ -2, 5, 7 }, 3);
    ck_assert_int_eq(bench_settle(bench, &got).code, 0);
    check_integers(bench, 0, orders[_i].want, 3);
    check_integers(bench, 1, orders[_i].places, 6);
    ck_assert_int_eq(bench_output(bench, 1)->reference.dtype, DT_I32);
    arena_release(&arena);
}
END_TEST

START_TEST(unique_is_filled_up)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench =
        opened(&sample, "MindSpore.unique_with_pad(i32(6)[7 -2 7 5 -2 -2], 9)", &arena);
    check_integers(bench, 0, (int64_t[]){ -2, 5, 7, 9, 9, 9 }, 6);
    check_integers(bench, 1, (int64_t[]){ 2, 0, 2, 1, 0, 0 }, 6);
    arena_release(&arena);
}
END_TEST

/* The example of its page: two steps of two sequences, three classes. */
START_TEST(the_greedy_decoder_of_the_page)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(
        &sample,
        "MindSpore.ctc_greedy_decoder(f32(2,2,3)[0.6 0.4 0.2 0.8 0.6 0.3 0.0 0.6 0.0 0.5 0.4 0.5], "
        "i32(2)[2 2], True)",
        &arena);
    ck_assert_uint_eq(bench_output_count(bench), 4);
    check_integers(bench, 0, (int64_t[]){ 0, 0, 0, 1, 1, 0 }, 6);
    check_integers(bench, 1, (int64_t[]){ 0, 1, 0 }, 3);
    check_integers(bench, 2, (int64_t[]){ 2, 2 }, 2);
    const struct reference *r = &bench_output(bench, 3)->reference;
    ck_assert_int_eq(r->rank, 2);
    ck_assert(r->hi[0] == -((double)0.6f + (double)0.6f));
    ck_assert(r->hi[1] == -((double)0.8f + 0.5));
    arena_release(&arena);
}
END_TEST

/* Blanks part runs, and without merging every step counts. */
START_TEST(runs_are_merged_when_asked)
{
    static const char *const calls[] = {
        "MindSpore.ctc_greedy_decoder(f32(5,1,2)[1 0 1 0 0 1 1 0 1 0], i32(1)[4], True)",
        "MindSpore.ctc_greedy_decoder(f32(5,1,2)[1 0 1 0 0 1 1 0 1 0], i32(1)[5], False)"
    };
    static const int64_t count[] = { 2, 4 };
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(&sample, calls[_i], &arena);
    ck_assert_int_eq(bench_output(bench, 1)->reference.shape[0], count[_i]);
    check_integers(bench, 2, (int64_t[]){ 1, count[_i] }, 2);
    arena_release(&arena);
}
END_TEST

/* A = U S V^T, the values first. */
START_TEST(singular_values_come_first)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(&sample, "MindSpore.svd(f64(4,3), False, True)", &arena);
    const double *a = sample.c.args.list.items[0].tensor.tensor->data;
    const struct reference *s = &bench_output(bench, 0)->reference,
                           *u = &bench_output(bench, 1)->reference,
                           *v = &bench_output(bench, 2)->reference;
    ck_assert_uint_eq(bench_output_count(bench), 3);
    ck_assert_int_eq(s->rank, 1);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++) {
            double sum = 0;
            for (size_t k = 0; k < 3; k++) sum += u->hi[i * 3 + k] * s->hi[k] * v->hi[j * 3 + k];
            ck_assert(sum - a[i * 3 + j] < 1e-12 && a[i * 3 + j] - sum < 1e-12);
        }
    ck_assert_uint_eq(
        bench_output_count(opened(&sample, "MindSpore.svd(f64(4,3), False, False)", &arena)), 1);
    arena_release(&arena);
}
END_TEST

static struct value floats(struct arena *arena, int rank, const int64_t *shape, const float *x)
{
    struct tensor *t = arena_allocate(arena, sizeof *t);
    ck_assert_int_eq(tensor_create(t, arena, DT_F32, rank, shape).code, 0);
    memcpy(t->data, x, tensor_elements(t) * sizeof *x);
    return (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = t } };
}

/* The example of the page of ops.log_uniform_candidate_sampler: ten draws were made for five candidates, which the counts alone tell. A count
 * that no number of draws explains is seen. */
START_TEST(counts_of_candidates_tell_the_draws)
{
    struct arena arena = { 0 };
    struct sample sample;
    float of_true[6] = { 0.92312991F, 0.49336370F, 0.99248987F,
                         0.65806371F, 0.73553443F, 0.73553443F },
          of_drawn[5] = { 0.73553443F, 0.82625800F, 0.99248987F, 0.65806371F, 0.92312991F };
    struct bench *bench = opened(
        &sample, "MindSpore.log_uniform_candidate_sampler(i64(3,2)[1 7 0 4 3 3], 2, 5, True, 5)",
        &arena);
    if (_i) of_true[3] += 0.001F;
    struct value items[3] = { integers(&arena, DT_I64, 5, (int64_t[]){ 3, 2, 0, 4, 1 }),
                              floats(&arena, 2, (int64_t[]){ 3, 2 }, of_true),
                              floats(&arena, 1, (int64_t[]){ 5 }, of_drawn) };
    struct value got = { .kind = VALUE_LIST, .list = { .items = items, .count = 3 } };
    ck_assert_int_eq(bench_settle(bench, &got).code, 0);
    ck_assert_uint_eq(bench_output_count(bench), 3);
    double worst = 0;
    for (size_t i = 0; i < 6; i++)
        worst = fmax(worst, fabs(bench_output(bench, 1)->reference.hi[i] - of_true[i]));
    for (size_t i = 0; i < 5; i++)
        worst = fmax(worst, fabs(bench_output(bench, 2)->reference.hi[i] - of_drawn[i]));
    if (_i) ck_assert_double_gt(worst, 4e-4);
    else ck_assert_double_lt(worst, 1.2e-7);
    arena_release(&arena);
}
END_TEST

/* Counts of many draws by their definition in long double, to the float that tells how many there were: few of those whose counts are all but 1
 * can be told apart. */
START_TEST(counts_of_many_draws)
{
    static const int64_t tries[] = { 40, 41, 57, 600, 12345 };
    struct arena arena = { 0 };
    struct sample sample;
    float count[3];
    int64_t listed[40];
    struct bench *bench = opened(
        &sample, "MindSpore.uniform_candidate_sampler(i32(1,3)[1 7 99], 3, 40, True, 1000, True)",
        &arena);
    for (int64_t i = 0; i < 40; i++) listed[i] = 10 + 2 * i;
    long double want = tries[_i] == 40 ? 40 / 1000.0L
                                       : 1 - powl(1 - 1 / 1000.0L, (long double)tries[_i]);
    for (int k = 0; k < 3; k++) count[k] = (float)want;
    struct value items[2] = { integers(&arena, DT_I32, 40, listed),
                              floats(&arena, 2, (int64_t[]){ 1, 3 }, count) };
    struct value got = { .kind = VALUE_LIST, .list = { .items = items, .count = 2 } };
    ck_assert_int_eq(bench_settle(bench, &got).code, 0);
    double room = tries[_i] > 1000 ? 0x1p-24 : 1e-15;
    for (size_t k = 1; k <= 2; k++) {
        const struct reference *r = &bench_output(bench, k)->reference;
        for (size_t i = 0; i < r->n; i++)
            ck_assert_double_le(fabs(r->hi[i] - (double)want), reference_bound(r, i) + room);
    }
    arena_release(&arena);
}
END_TEST

/* Of a box that ends behind the last pixel, but before the edge of the image, the device decides; of others it does not. */
START_TEST(boxes_at_the_edge_are_the_devices)
{
    static const struct {
        bool got[3], want[3];
    } rows[] = { { { true, false, false }, { true, false, false } },
                 { { true, true, false }, { true, true, false } },
                 { { true, true, true }, { true, true, false } },
                 { { false, true, false }, { true, true, false } } };
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(
        &sample, "MindSpore.check_valid(f32(3,4)[0 0 17 15 0 0 17.5 3 0 0 18.5 3], f32(3)[8 9 2])",
        &arena);
    int64_t given[3], want[3];
    for (int i = 0; i < 3; i++) {
        given[i] = rows[_i].got[i];
        want[i] = rows[_i].want[i];
    }
    struct value item = integers(&arena, DT_BOOL, 3, given),
                 got = { .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    ck_assert_int_eq(bench_settle(bench, &got).code, 0);
    check_integers(bench, 0, want, 3);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("MindSpore");
    TCase *tests = tcase_create("ops");
    tcase_add_loop_test(tests, unique_follows_the_order_of_the_device, 0, 3);
    tcase_add_test(tests, unique_is_filled_up);
    tcase_add_test(tests, the_greedy_decoder_of_the_page);
    tcase_add_loop_test(tests, runs_are_merged_when_asked, 0, 2);
    tcase_add_test(tests, singular_values_come_first);
    tcase_add_loop_test(tests, counts_of_candidates_tell_the_draws, 0, 2);
    tcase_add_loop_test(tests, counts_of_many_draws, 0, 5);
    tcase_add_loop_test(tests, boxes_at_the_edge_are_the_devices, 0, 4);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
