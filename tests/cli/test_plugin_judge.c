/* plugin check --judge: kernels that run are right, wrong, or of nothing that can be judged. The kernels
 * are functions of the C library. */
#include "support/suite.h"
#include "support/workspace.h"

/* A manifest whose kernels call `function`, one float after the other, as `api`. */
struct kernel {
    const char *api, *function;
};

static void write_manifest(const char *path, const struct kernel *kernels, size_t count)
{
    char text[4000] = "{\"plugin\":1,\"libraries\":{\"m\":\"libm.so.6\"},\"kernels\":[";
    for (size_t i = 0; i < count; i++)
        sprintf(text + strlen(text),
                "%s{\"apis\":[\"%s\"],\"parameters\":[\"x\"],\"when\":\"dtype(x) == 'float32'\","
                "\"outputs\":[{\"name\":\"y\",\"shape\":\"shape(x)\",\"dtype\":\"'float32'\"}],"
                "\"steps\":[{\"call\":\"%s\",\"loop\":\"y\","
                "\"arguments\":[{\"element\":\"x\",\"type\":\"f32\"}],"
                "\"returns\":{\"type\":\"f32\",\"element\":\"y\"}}]}",
                i ? "," : "", kernels[i].api, kernels[i].function);
    strcat(text, "]}");
    write_text(path, text);
}

static void tells(struct outcome o, int status, const char *text)
{
    ck_assert_msg(o.status == status, "status %d: %s%s", o.status, o.out, o.err);
    ck_assert_msg(strstr(o.out, text) != NULL, "'%s' is not in\n%s", text, o.out);
    outcome_free(&o);
}

#define CHECK_PLUGIN(...) run_program(&w, "plugin", "check", "a.json", __VA_ARGS__, NULL)

START_TEST(right_kernels_pass)
{
    static const struct kernel kernels[] = { { "Torch.sin", "sinf" }, { "*.exp", "expf" } };
    struct workspace w = workspace_make();
    write_manifest(in(&w, "a.json"), kernels, 2);
    setenv("TMPDIR", w.path, 1);
    tells(CHECK_PLUGIN("--judge", "--profile", "strict"), 0, "pass     Torch.exp.1\n");
    ck_assert_uint_eq(count_matches(&w, "probe-ut-*"), 0);
    unsetenv("TMPDIR");
    workspace_remove(&w);
}
END_TEST

START_TEST(wrong_kernels_fail)
{
    static const struct kernel kernels[] = { { "Torch.sin", "cosf" }, { "Torch.exp", "expf" } };
    struct workspace w = workspace_make();
    write_manifest(in(&w, "a.json"), kernels, 2);
    struct outcome o = CHECK_PLUGIN("--case_timeout", "60");
    ck_assert_msg(o.status == 0, "%s", o.err); /* they run */
    outcome_free(&o);
    tells(CHECK_PLUGIN("--judge"), 1, "error    Torch.sin.0\n  forward.output.0     error    ");
    tells(CHECK_PLUGIN("--judge", "--in_process"), 1, "pass     Torch.exp.1\n");
    workspace_remove(&w);
}
END_TEST

/* Nothing to judge: the status of a run without a verdict. */
START_TEST(kernels_of_no_judged_api)
{
    static const struct kernel kernels[] = { { "Torch.empty_like", "sinf" } };
    struct workspace w = workspace_make();
    write_manifest(in(&w, "a.json"), kernels, 1);
    tells(CHECK_PLUGIN("--judge"), 5, "no verdict");
    workspace_remove(&w);
}
END_TEST

/* One of two: what is green is judged. */
START_TEST(a_kernel_that_nothing_judges_is_not_green)
{
    static const struct kernel kernels[] = { { "Torch.sin", "sinf" },
                                             { "Torch.empty_like", "sinf" } };
    struct workspace w = workspace_make();
    write_manifest(in(&w, "a.json"), kernels, 2);
    tells(CHECK_PLUGIN("--judge"), 1, "SKIP     Torch.empty_like.1\n");
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin_judge");
    TCase *tests = tcase_create("plugin_judge");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, right_kernels_pass);
    tcase_add_test(tests, wrong_kernels_fail);
    tcase_add_test(tests, kernels_of_no_judged_api);
    tcase_add_test(tests, a_kernel_that_nothing_judges_is_not_green);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
