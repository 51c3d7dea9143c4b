/* The command that repeats a call, which goes through a shell. */
#include <check.h>
#include <stdlib.h>

#include "core/memory.h"
#include "runner/repeat_command.h"

/* Options that are the default ones are left out; a shell takes every word as it was. */
START_TEST(the_command_that_repeats)
{
    static const struct {
        struct run_options options;
        const char *command;
        /* clang-format off */
    } rows[] = {
        { { .api_info = "dump.json", .seed = 1234, .diagnose_budget_s = 2 }, "probe-ut case -api_info dump.json --name " },
        { { .api_info = "my dump.json", .backend = "worker:python3 w.py", .profile = "v2", .thresholds = "it's.json", .allow = "tf32,ftz", .budget = "b.json", .inputs = "hard",
            .config_path = "", .seed = -7, .diagnose_budget_s = 3 },
          "probe-ut case -api_info 'my dump.json' --backend 'worker:python3 w.py' --profile v2 --thresholds "
          "'it'\\''s.json' --allow tf32,ftz --budget b.json --config_path '' --inputs hard --seed -7 --diagnose-budget 3 --name " },
        { { .api_info = "$(x)/a;b`c`\\d", .backend = "plugin:/k+1/@%=,.json", .seed = 0, .diagnose_budget_s = 2, .no_diagnose = true },
          "probe-ut case -api_info '$(x)/a;b`c`\\d' --backend plugin:/k+1/@%=,.json --seed 0 --diagnose-budget 0 --name " },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *command = NULL;
        ck_assert_int_eq(repeat_command_make(&command, &rows[i].options).code, 0);
        ck_assert_str_eq(command, rows[i].command);
        memory_release(command);
    }
}
END_TEST

/* Kernels of plugins and PyTorch have reproducers, other backends and other frameworks none. */
START_TEST(the_command_that_reproduces)
{
    static const struct {
        const char *backend, *framework, *command;
    } rows[] = {
        { "plugin:k.json", NULL,
          "probe-ut repro -api_info d.json --backend plugin:k.json --name " },
        { "torch", NULL, "probe-ut repro -api_info d.json --backend torch --name " },
        { "torch:npu:1", "pytorch",
          "probe-ut repro -api_info d.json --backend torch:npu:1 --name " },
        { "recorded", NULL, "probe-ut repro -api_info d.json --backend recorded --name " },
        { "recorded", "mindspore", NULL },
        { "cpu", NULL, NULL },
        { "worker:python3 w.py", NULL, NULL },
        { NULL, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct run_options options = { .api_info = "d.json",
                                             .backend = rows[i].backend,
                                             .framework = rows[i].framework,
                                             .seed = 1234 };
        char *command = NULL;
        ck_assert_int_eq(reproduce_command_make(&command, &options).code, 0);
        if (rows[i].command) ck_assert_str_eq(command, rows[i].command);
        else ck_assert_ptr_null(command);
        memory_release(command);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repeat command");
    TCase *tests = tcase_create("command");
    tcase_add_test(tests, the_command_that_repeats);
    tcase_add_test(tests, the_command_that_reproduces);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
