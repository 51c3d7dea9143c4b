/* Which elements of a result come from equal numbers. */
#include "bench/opened_call.h"
#include "bench/samples.h"
#include "support/suite.h"

static struct arena arena;

static const uint64_t *inputs_of(const char *call)
{
    struct sample *sample = arena_allocate_zeroed(&arena, 1, sizeof *sample);
    struct bench *bench = opened(sample, call, &arena);
    ck_assert_int_eq(bench_model(bench).code, STATUS_OK);
    return bench_output(bench, 0)->reference.kernel_inputs;
}

/* Two rows, each of one number; broadcast operands count as often as they are read. */
START_TEST(equal_rows)
{
    static const char *const calls[] = {
        "Functional.silu(f32(128)[1.7..1.7])",
        "Torch.div(f32(2,1)[1.1 2.3], f32(64)[1.7..1.7])",
        "Torch.lerp(f32(2,1)[1.1 2.3], f32(64)[1.7..1.7], 0.3)",
    };
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        const uint64_t *inputs = inputs_of(calls[c]);
        ck_assert_msg(inputs != NULL, "%s", calls[c]);
        for (size_t i = 0; i < 128; i++) {
            ck_assert_uint_eq(inputs[i], inputs[i / 64 * 64]);
            if (c) ck_assert_uint_ne(inputs[i], inputs[(i + 64) % 128]);
        }
    }
}
END_TEST

#define EIGHT_PAIRS "0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 "

/* Equal results of different numbers may have different errors. */
START_TEST(equal_results_are_not_equal_inputs)
{
    const uint64_t *inputs =
        inputs_of("Torch.cos(f32(64)[" EIGHT_PAIRS EIGHT_PAIRS EIGHT_PAIRS
                  "0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5 0.5 -0.5])");
    ck_assert_ptr_nonnull(inputs);
    ck_assert_uint_eq(inputs[0], inputs[2]);
    ck_assert_uint_ne(inputs[0], inputs[1]);
}
END_TEST

/* Nothing is said of sums and products of matrices, of many different numbers, nor of few elements. */
START_TEST(where_nothing_is_said)
{
    ck_assert_ptr_null(inputs_of("Torch.sum(f32(64,3)[1.7..1.7], 1)"));
    ck_assert_ptr_null(inputs_of("Torch.matmul(f32(8,3)[1.7..1.7], f32(3,8)[1.7..1.7])"));
    ck_assert_ptr_null(
        inputs_of("Torch.hann_window(64)")); /* symmetric, from angles that are not */
    ck_assert_ptr_null(inputs_of("Functional.silu(f32(200)[-3..3])"));
    ck_assert_ptr_null(inputs_of("Functional.silu(f32(63)[1.7..1.7])"));
    ck_assert_ptr_null(inputs_of("Functional.silu(f32(32769)[1.7..1.7])"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("equal_inputs");
    TCase *tests = tcase_create("equal_inputs");
    tcase_add_test(tests, equal_rows);
    tcase_add_test(tests, equal_results_are_not_equal_inputs);
    tcase_add_test(tests, where_nothing_is_said);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
