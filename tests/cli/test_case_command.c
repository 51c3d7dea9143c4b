/* One call again: what it saves, and the exit statuses that git bisect and pipelines go by. */
#include "formats/tensor_file.h"
#include "support/dumps.h"
#include "support/suite.h"

/* A product of bfloat16 matrices, which is a warning under doc, and a call that no catalogue has. */
static struct workspace two_calls(void)
{
    static const char matrix[] =
        "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.bfloat16\",\"shape\":[40,40],"
        "\"Max\":2,\"Min\":-2,\"Mean\":0,\"Norm\":1,\"requires_grad\":false}";
    struct workspace w = workspace_make();
    struct dump_text d;
    char body[800];
    snprintf(body, sizeof body, "\"input_args\":[%s,%s],\"input_kwargs\":{},\"output\":[]", matrix,
             matrix);
    dump_begin(&d);
    dump_entry(&d, "Torch.matmul.0.forward", body);
    dump_entry(&d, "Torch.no_such_api.0.forward", body);
    dump_write(&d, in(&w, "dump.json"));
    return w;
}

static int status_of(struct outcome o)
{
    outcome_free(&o);
    return o.status;
}

START_TEST(tensors_of_a_failing_call_are_saved)
{
    struct workspace w = two_calls();
    struct outcome o = run_program(&w, "case", "-api_info", "dump.json", "--name", "Torch.matmul.0",
                                   "--save_error_data", "--json", NULL);
    ck_assert_msg(o.status == 0 && strstr(o.err, "are in ./ut_error_data"), "%s", o.err);
    ck_assert_int_eq(o.out[0], '{'); /* the standard output stays JSON */
    outcome_free(&o);
    struct arena arena = { 0 };
    struct tensor tensor;
    size_t bytes;
    const char *path = only_match(&w, "ut_error_data*/Torch.matmul.0.forward.output.device.0.pt");
    char *text = read_file(path, &bytes);
    ck_assert_int_eq(tensor_file_parse(&tensor, &arena, text, bytes, path).code, STATUS_OK);
    ck_assert(tensor.dtype == DT_BF16 && tensor.shape[0] == 40);
    free(text);
    ck_assert_uint_eq(count_matches(&w, "ut_error_data*/*"), 4);
    arena_release(&arena);
    workspace_remove(&w);
}
END_TEST

START_TEST(of_a_pass_nothing_is_saved)
{
    struct workspace w = two_calls();
    ck_assert_int_eq(
        status_of(run_program(&w, "case", "-api_info", "dump.json", "--name", "Torch.matmul.0",
                              "--profile", "strict", "--save_error_data", NULL)),
        0);
    ck_assert_uint_eq(count_matches(&w, "ut_error_data*"), 0);
    workspace_remove(&w);
}
END_TEST

START_TEST(verdicts_set_the_exit_status)
{
    static const struct {
        const char *name, *fail_on;
        int status;
    } cases[] = {
        { "Torch.matmul.0", "error", 0 },
        { "Torch.matmul.0", "warning", 1 },
        { "Torch.matmul.0.forward.output.0", "skip", 1 },
        { "Torch.no_such_api.0", "error", 5 },
    };
    struct workspace w = two_calls();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(status_of(run_program(&w, "case", "-api_info", "dump.json", "--name",
                                            cases[i].name, "--fail-on", cases[i].fail_on, NULL)) ==
                          cases[i].status,
                      "%s, %s", cases[i].name, cases[i].fail_on);
    workspace_remove(&w);
}
END_TEST

/* An API that is called once is the name of that call; of one that is called more often one is to be
 * named. */
START_TEST(names_of_apis)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 7, 4); /* add, mul, sub, div, add, mul, sub */
#define CASE(name) run_program(&w, "case", "-api_info", "dump.json", "--name", name, NULL)
    static const char *const one[] = { "div", "Torch.div", "*.div.*", "div|Torch.div.3.backward" };
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        struct outcome o = CASE(one[i]);
        ck_assert_msg(o.status == 0 && strstr(o.out, "Torch.div.3.forward.output.0: pass"), "%s%s",
                      o.out, o.err);
        outcome_free(&o);
    }
    struct outcome o = CASE("sub");
    ck_assert_msg(o.status == 2 &&
                      strstr(o.err, "'sub' is 2 calls of dump.json; name one: Torch.sub.2, "
                                    "Torch.sub.6\n"),
                  "%s", o.err);
    outcome_free(&o);
    o = CASE("*");
    ck_assert_msg(o.status == 2 && strstr(o.err, "'*' is 7 calls") &&
                      strstr(o.err, "Torch.div.3, ..."),
                  "%s", o.err);
    outcome_free(&o);
    o = CASE("Torch.sup.2|");
    ck_assert_msg(o.status == 2 && strstr(o.err, "the nearest is 'Torch.sub.2'"), "%s", o.err);
    outcome_free(&o);
#undef CASE
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("case_command");
    TCase *tests = tcase_create("case_command");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, tensors_of_a_failing_call_are_saved);
    tcase_add_test(tests, of_a_pass_nothing_is_saved);
    tcase_add_test(tests, verdicts_set_the_exit_status);
    tcase_add_test(tests, names_of_apis);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
