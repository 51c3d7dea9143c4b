/* Which results have last bits that are those of a rounding. */
#include "bench/opened_call.h"
#include "bench/samples.h"
#include "support/suite.h"

static struct arena arena;

static bool own_bits(const char *call)
{
    struct sample *sample = arena_allocate_zeroed(&arena, 1, sizeof *sample);
    struct bench *bench = opened(sample, call, &arena);
    ck_assert_int_eq(bench_model(bench).code, STATUS_OK);
    return bench_output(bench, 0)->reference.kernel_own_bits;
}

START_TEST(last_steps)
{
    static const struct {
        const char *call;
        bool own;
    } calls[] = {
        { "Torch.tanh(f32(8)[0.1..0.9])", true },
        { "Functional.softmax(f32(2,4)[0.1..0.9], 1)", true },
        { "Functional.normalize(f32(2,4)[0.1..0.9])", true },
        { "Torch.cumsum(f32(8)[0.1..0.9], 0)", false },
        { "Torch.addcmul(f32(8)[0.1..0.9], f32(8)[0.2..0.7], f32(8)[0.3..0.8])", false },
        { "Torch.matmul(f32(2,4)[0.1..0.9], f32(4,2)[0.1..0.9])", false },
        /* times a number that is no power of two, and one that is */
        { "Torch.mean(f32(2,3)[0.1..0.9], 1)", true },
        { "Torch.mean(f32(2,4)[0.1..0.9], 1)", false },
    };
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
        ck_assert_msg(own_bits(calls[c].call) == calls[c].own, "%s", calls[c].call);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("own_bits");
    TCase *tests = tcase_create("own_bits");
    tcase_add_test(tests, last_steps);
    suite_add_tcase(suite, tests);
    int failed = suite_run(suite);
    arena_release(&arena);
    return failed;
}
