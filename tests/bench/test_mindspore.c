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

int main(void)
{
    Suite *suite = suite_create("MindSpore");
    TCase *tests = tcase_create("ops");
    tcase_add_loop_test(tests, unique_follows_the_order_of_the_device, 0, 3);
    tcase_add_test(tests, unique_is_filled_up);
    tcase_add_test(tests, the_greedy_decoder_of_the_page);
    tcase_add_loop_test(tests, runs_are_merged_when_asked, 0, 2);
    tcase_add_test(tests, singular_values_come_first);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
