/* Calls that have no value are refused, with the sentence that says why: tests/data/refusals.txt, in the
 * notation of bench/samples.h with the sentence as the remark. The reference, the native arithmetic and the
 * error models share the checks, so each of them must give the same sentence.
 *
 * `bench-refusals NAME` takes the calls of one name.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "bench/samples.h"
#include "support/suite.h"

static const char *filter;

static const struct {
    const char *name;
    enum bench_arithmetic arithmetic;
} arithmetics[] = {
    { "reference", BENCH_REFERENCE },
    { "native", BENCH_NATIVE },
    { "worst case", BENCH_MODEL_WORST },
    { "typical", BENCH_MODEL_TYPICAL },
};

static bool is_refused(const struct sample *sample, const char *place)
{
    bool right = true;
    for (size_t k = 0; k < sizeof arithmetics / sizeof *arithmetics; k++) {
        struct arena arena = { 0 };
        struct bench *bench;
        struct status st = bench_open(&bench, &sample->c, &arena, arithmetics[k].arithmetic);
        if (st.code != STATUS_SKIP || strcmp(st.text, sample->remark) != 0) {
            fprintf(stderr, "%s (%s): %s\n", place, arithmetics[k].name,
                    st.code == STATUS_OK ? "accepted" : st.text);
            right = false;
        }
        arena_release(&arena);
    }
    return right;
}

START_TEST(calls_without_a_value_are_refused)
{
    FILE *file = fopen(PROBE_TEST_DATA "/refusals.txt", "r");
    struct arena arena = { 0 };
    char line[1024];
    size_t calls = 0, wrong = 0;

    ck_assert_ptr_nonnull(file);
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        struct sample sample;
        char place[64];
        if (*line == '#' || *line == '\n' || (filter && !strstr(line, filter))) continue;
        snprintf(place, sizeof place, "refusals.txt:%d", number);
        const char *problem = sample_parse(&sample, line, &arena);
        ck_assert_msg(!problem, "%s: %s", place, problem);
        ck_assert_msg(*sample.remark, "%s: no sentence", place);
        wrong += !is_refused(&sample, place);
        calls++;
        arena_reset(&arena);
    }
    fclose(file);
    arena_release(&arena);
    printf("%zu calls refused\n", calls - wrong);
    ck_assert_uint_gt(calls, 0);
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* Values without a gradient: the forward runs, the backward says why it does not. */
static const struct {
    const char *call, *reason;
} one_way[] = {
    { "Torch.igamma(f32(2)[1 2], f32(2)[0.5 1])", "igamma has no gradient for its first argument" },
    { "Torch.rand(3)", "Torch.rand.0 has no gradient" },
};

START_TEST(gradients_that_are_not_computed_are_refused)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench;
    struct bench_output *gradients;
    struct value cotangents;
    struct numbers numbers = { 5 };
    size_t count;

    ck_assert(!sample_parse(&sample, one_way[_i].call, &arena));
    struct status st = bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s", st.text);
    sample_cotangents(&cotangents, bench, &arena, &numbers);
    st = bench_backward(&gradients, &count, bench, &cotangents);
    ck_assert_int_eq(st.code, STATUS_SKIP);
    ck_assert_str_eq(st.text, one_way[_i].reason);
    arena_release(&arena);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("refusals");
    TCase *tests = tcase_create("refusals");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, calls_without_a_value_are_refused);
    tcase_add_loop_test(tests, gradients_that_are_not_computed_are_refused, 0,
                        sizeof one_way / sizeof *one_way);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
