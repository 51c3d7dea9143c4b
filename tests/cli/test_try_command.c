/* Calls without a dump: what is described, how it becomes a call, what is told of it. */
#include <math.h>

#include "cli/try_batch.h"
#include "cli/try_draw.h"
#include "cli/try_list.h"
#include "cli/try_value.h"
#include "formats/dump.h"
#include "support/suite.h"
#include "support/workspace.h"

/* ---- what is typed ------------------------------------------------------------------------ */

static struct value value_of(struct arena *arena, const char *text)
{
    struct value value;
    struct status status = try_value_read(&value, arena, text);
    ck_assert_msg(!status.code, "%s: %s", text, status.text);
    return value;
}

START_TEST(values_are_those_of_python)
{
    struct arena arena = { 0 };
    ck_assert_int_eq(value_of(&arena, "-3").integer, -3);
    ck_assert_int_eq(value_of(&arena, "-3").kind, VALUE_INT);
    ck_assert(value_of(&arena, "0.5").kind == VALUE_FLOAT && value_of(&arena, "0.5").real == 0.5);
    ck_assert(isinf(value_of(&arena, "-inf").real));
    ck_assert(value_of(&arena, "1e3").kind == VALUE_FLOAT);
    ck_assert(value_of(&arena, "True").boolean && !value_of(&arena, "false").boolean);
    ck_assert_int_eq(value_of(&arena, "None").kind, VALUE_NONE);
    ck_assert_str_eq(value_of(&arena, "tanh").string, "tanh");
    ck_assert_str_eq(value_of(&arena, "'3'").string, "3");
    ck_assert_str_eq(value_of(&arena, "a,b c").string, "a,b c");
    ck_assert_int_eq(value_of(&arena, "torch.float16").dtype, DT_F16);
    ck_assert_int_eq(value_of(&arena, "float16").kind, VALUE_STRING);
    struct value list = value_of(&arena, "[2, (3,'x]'), []]");
    ck_assert_uint_eq(list.list.count, 3);
    ck_assert_int_eq(list.list.items[0].integer, 2);
    ck_assert_str_eq(list.list.items[1].list.items[1].string, "x]");
    ck_assert_uint_eq(list.list.items[2].list.count, 0);
    static const char *const wrong[] = {
        "[2", "[2,", "[2 3]", "(2]", "[2]3", "[[[[[[[[[1]]]]]]]]]"
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct value value;
        ck_assert_msg(try_value_read(&value, &arena, wrong[i]).code == STATUS_BAD_ARGUMENT, "%s",
                      wrong[i]);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(lists_have_items_by_place_and_by_name)
{
    struct arena arena = { 0 };
    struct try_list list;
    const struct operands shapes = { { "4x8,weight=16x8", "scalar" }, 2 };
    ck_assert_int_eq(try_list_read_shapes(&list, &arena, &shapes).code, STATUS_OK);
    ck_assert_uint_eq(list.count, 3);
    const struct try_item *item = try_list_take(&list, "input", true);
    ck_assert(item->shape.rank == 2 && item->shape.extents[0] == 4 && item->shape.extents[1] == 8);
    ck_assert_int_eq(try_list_take(&list, "weight", true)->shape.extents[0], 16);
    ck_assert_ptr_null(try_list_take(&list, "bias", false));
    ck_assert_int_eq(try_list_take(&list, "bias", true)->shape.rank, 0);
    ck_assert_ptr_null(try_list_unused(&list));

    /* One for all, or one each. */
    const struct operands one = { { "bf16,index=i64" }, 1 }, each = { { "f32,torch.half" }, 1 };
    ck_assert_int_eq(try_list_read_dtypes(&list, &arena, &one).code, STATUS_OK);
    ck_assert_int_eq(try_list_find(&list, "input", 0)->dtype, DT_BF16);
    ck_assert_int_eq(try_list_find(&list, "other", 5)->dtype, DT_BF16);
    ck_assert_int_eq(try_list_find(&list, "index", 1)->dtype, DT_I64);
    ck_assert_int_eq(try_list_read_dtypes(&list, &arena, &each).code, STATUS_OK);
    ck_assert_int_eq(try_list_find(&list, "input", 1)->dtype, DT_F16);
    ck_assert_ptr_null(try_list_find(&list, "input", 2));

    const struct operands ranges = { { "-1:2.5,0.5,nan:1,-inf:inf" }, 1 };
    ck_assert_int_eq(try_list_read_ranges(&list, &arena, &ranges).code, STATUS_OK);
    ck_assert(list.items[0].range.low == -1 && list.items[0].range.high == 2.5);
    ck_assert(list.items[1].range.low == 0.5 && list.items[1].range.high == 0.5);
    ck_assert(isnan(list.items[2].range.low) && list.items[2].range.high == 1);
    ck_assert(isinf(list.items[3].range.low) && isinf(list.items[3].range.high));

    static const char *const bad_shapes[] = {
        "", "4x", "x4", "-4", "4,,8", "4 x8", "a", "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"
    };
    for (size_t i = 0; i < sizeof bad_shapes / sizeof *bad_shapes; i++) {
        const struct operands texts = { { bad_shapes[i] }, 1 };
        ck_assert_msg(try_list_read_shapes(&list, &arena, &texts).code == STATUS_BAD_ARGUMENT, "%s",
                      bad_shapes[i]);
    }
    static const char *const bad_ranges[] = { "", ":", "1:", "2:1", "1:2:3", "a:b" };
    for (size_t i = 0; i < sizeof bad_ranges / sizeof *bad_ranges; i++) {
        const struct operands texts = { { bad_ranges[i] }, 1 };
        ck_assert_msg(try_list_read_ranges(&list, &arena, &texts).code == STATUS_BAD_ARGUMENT, "%s",
                      bad_ranges[i]);
    }
    arena_release(&arena);
}
END_TEST

/* ---- runs ------------------------------------------------------------------------------- */

#define TRY_CALL(...) run_program(&w, "try", __VA_ARGS__, NULL)

static void tells(struct outcome o, int status, const char *const *texts)
{
    ck_assert_msg(o.status == status, "status %d: %s%s", o.status, o.out, o.err);
    for (size_t i = 0; texts[i]; i++)
        ck_assert_msg(strstr(o.out, texts[i]) || strstr(o.err, texts[i]), "'%s' is not in\n%s%s",
                      texts[i], o.out, o.err);
    outcome_free(&o);
}
#define TELLS(outcome, status, ...) \
    tells(outcome, status, (const char *const[]){ __VA_ARGS__, NULL })

START_TEST(a_call_is_judged_and_leaves_nothing)
{
    struct workspace w = workspace_make();
    setenv("TMPDIR", w.path, 1);
    TELLS(TRY_CALL("--op", "softmax", "--shape", "4x100", "--dtype", "bf16", "--arg", "dim=-1"), 0,
          "pass     Functional.softmax.0: --op softmax --shape 4x100 --dtype bf16 --arg dim=-1\n",
          "  forward.output.0     pass     worst 0.4", "  backward.output.0    pass     worst 0.4",
          "forward           1        0        0        0        0",
          "backward          1        0        0        0        0", "\n1 call in ");
    ck_assert_uint_eq(count_matches(&w, "*"), 2); /* what the test itself wrote */
    unsetenv("TMPDIR");
    workspace_remove(&w);
}
END_TEST

/* A function of exact sums: what the engine measured is what is told. */
START_TEST(tensors_find_their_arguments)
{
    struct workspace w = workspace_make();
    TELLS(TRY_CALL("--op", "linear", "--shape", "4x8,16x8,16", "--gradients", "off"), 0,
          "pass     Functional.linear.0",
          "backward          0        0        0        0        1");
    TELLS(TRY_CALL("--op", "linear", "--shape", "weight=16x8", "--shape", "input=4x8"), 0,
          "backward.output.1");
    TELLS(TRY_CALL("--op", "cat", "--shape", "2x3,4x3,1x3", "--arg", "dim=0"), 0,
          "  backward.output.2    pass     every element is equal");
    TELLS(TRY_CALL("--op", "embedding", "--shape", "4x8,100x16", "--dtype", "i64,f32"), 0,
          "pass     Functional.embedding.0");
    TELLS(TRY_CALL("--op", "Torch.gather", "--shape", "4x8,index=4x3", "--dtype", "bf16,index=i64",
                   "--arg", "dim=1"),
          0, "pass     Torch.gather.0");
    TELLS(TRY_CALL("--op", "add", "--shape", "4x8", "--arg", "other=2", "--arg", "alpha=3",
                   "--range", "1"),
          0, "every element is equal"); /* 1 + 3 * 2 */
    TELLS(TRY_CALL("--op", "matmul", "--shape", "4x8,8x4", "--dtype", "i32"), 0,
          "  forward.output.0     pass     every element is equal\n");
    TELLS(TRY_CALL("--op", "dropout", "--shape", "100"), 0,
          "pass     each element kept or dropped");
    TELLS(TRY_CALL("--op", "Tensor.view", "--shape", "4x8", "--arg", "size=[2,16]"), 0,
          "pass     Tensor.view.0");
    TELLS(TRY_CALL("--op", "matmul", "--shape", "64x64,64x64", "--dtype", "bf16", "--range", "-3:3",
                   "--distribution", "integers", "--gradients", "off"),
          0, "Torch.matmul.0");
    workspace_remove(&w);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    struct workspace w = workspace_make();
    TELLS(TRY_CALL("--op", "softmaxx", "--shape", "3"), 2,
          "there is no API 'softmaxx', the nearest is 'softmax'");
    TELLS(TRY_CALL("--op", "Torch.linalg.inw", "--shape", "3x3"), 2, "the nearest is 'linalg.inv'");
    TELLS(TRY_CALL("--op", "softmax", "--shape", "3x", "--arg", "dim=1"), 2,
          "--shape: '3x' is no shape");
    TELLS(TRY_CALL("--op", "softmax", "--shape", "3", "--dtype", "bf17", "--arg", "dim=0"), 2,
          "there is no dtype 'bf17', the nearest is 'bf16'");
    TELLS(TRY_CALL("--op", "softmax", "--shape", "3", "--arg", "dims=0"), 2,
          "it takes no argument 'dims', the nearest is 'dim'");
    TELLS(TRY_CALL("--op", "softmax", "--shape", "3,4", "--arg", "dim=0"), 2,
          "there is no tensor for '4'; extents are joined by x, 4x8");
    TELLS(TRY_CALL("--op", "softmax", "--shape", "3", "--arg", "dim=0", "--range", "inputs=0:1"), 2,
          "it has no tensor 'inputs', the nearest is 'input'");
    TELLS(TRY_CALL("--op", "linear", "--shape", "4x8"), 2,
          "it needs weight: give --shape weight=4x8");
    TELLS(TRY_CALL("--op", "linear", "--shape", "4x8,16x9"), 2, "do not multiply");
    TELLS(TRY_CALL("--op", "softmax", "--arg", "dim"), 2, "--arg: 'dim' is no NAME=VALUE");
    TELLS(TRY_CALL("--op", "add", "--shape", "99999999999x99999999999,3"), 2, "more memory");
    TELLS(TRY_CALL("--op", "add", "--shape", "1000x1000,3", "--memory", "1M"), 2, "--memory");
    TELLS(TRY_CALL("--shape", "3"), 2, "try needs --op API, or --batch FILE");
    TELLS(TRY_CALL("--op", "add", "--batch", "x"), 2, "exclude each other");
    TELLS(TRY_CALL("--op", "abs", "--shape", "3", "--junit", "j.xml"), 2, "-o DIR");
    workspace_remove(&w);
}
END_TEST

/* The exit status is that of a run, the dump that stays is one. */
START_TEST(a_kept_dump_is_one)
{
    struct workspace w = workspace_make();
    TELLS(TRY_CALL("--op", "log", "--shape", "64", "--dtype", "bf16", "--range", "0:2",
                   "--distribution", "normal", "--range", "1:2", "--fail-on", "warning", "-o",
                   "out"),
          2, "there is no tensor for '1:2'; its ends are joined by a colon");
    TELLS(TRY_CALL("--op", "log", "--shape", "64", "--dtype", "bf16", "--range", "1:2",
                   "--distribution", "normal", "--fail-on", "warning", "-o", "out"),
          1, "warning  Torch.log.0", "thousandth 0.", "worst 0.", " ulp at [", "want ", ", got ",
          "out/accuracy_checking_result_");
    const char *details = only_match(&w, "out/accuracy_checking_details_*.csv");
    TELLS(run_program(&w, "-api_info", "out/dump.json", "-o", "again", NULL), 0, "1 call in");
    assert_same_files(details, only_match(&w, "again/accuracy_checking_details_*.csv"));
    TELLS(run_program(&w, "case", "-api_info", "out/dump.json", "--name", "Torch.log.0", NULL), 0,
          "Torch.log.0.forward.output.0: warning");
    TELLS(TRY_CALL("--op", "abs", "--shape", "3", "-o", "out"), 2,
          "there is a 'out/dump.json' already");
    TELLS(TRY_CALL("--op", "log", "--shape", "64", "--range", "1:2", "--profile", "strict",
                   "--details"),
          0, "Torch.log.0.forward.output.0: pass", "error in ulp");
    workspace_remove(&w);
}
END_TEST

START_TEST(seed_and_number_decide_the_elements)
{
    struct workspace w = workspace_make();
    static const char *const extra[][2] = {
        { "--seed", "1234" }, { "--seed", "7" }, { "--number", "0" }, { "--number", "5" }
    };
    char *texts[4];
    for (size_t i = 0; i < 4; i++) {
        char directory[8];
        snprintf(directory, sizeof directory, "o%zu", i);
        TELLS(TRY_CALL("--op", "exp", "--shape", "40", "-o", directory, extra[i][0], extra[i][1]),
              0, "pass ");
        char pattern[80];
        snprintf(pattern, sizeof pattern, "%s/accuracy_checking_evidence_*", directory);
        char *text = read_file(only_match(&w, pattern), NULL);
        texts[i] = strdup(strstr(text, "\"evidence\""));
        free(text);
    }
    ck_assert_str_eq(texts[0], texts[2]);
    ck_assert_str_ne(texts[0], texts[1]);
    ck_assert_str_ne(texts[0], texts[3]);
    for (size_t i = 0; i < 4; i++) free(texts[i]);
    workspace_remove(&w);
}
END_TEST

/* ---- batches ---------------------------------------------------------------------------- */

START_TEST(a_batch_is_a_call_a_line)
{
    struct workspace w = workspace_make();
    write_text(in(&w, "calls.txt"),
               "# some calls\n"
               "--op abs --shape 4x10\n"
               "\n"
               "  probe-ut try --op gelu --shape '33' --arg \"approximate=tanh\"  # odd\r\n"
               "--op abs --shape 7 --range -inf:inf\n"
               "--op abs --shape 7 --number 9");
    TELLS(TRY_CALL("--batch", "calls.txt"), 0, "pass     Torch.abs.0: --op abs --shape 4x10\n",
          "pass     Functional.gelu.0: --op gelu --shape 33 --arg approximate=tanh\n",
          "pass     Torch.abs.1: --op abs --shape 7 --range -inf:inf --number 1\n",
          "pass     Torch.abs.9: --op abs --shape 7 --number 9\n",
          "forward           4        0        0        0        0");
    static const struct {
        const char *text, *expected;
    } wrong[] = {
        { "--op abs --shape 3\n--op absolut --shape 3", "calls.txt:2: there is no API 'absolut'" },
        { "--op abs --shape 3 --backend cpu", "calls.txt:1: unknown option '--backend'" },
        { "--shape 3", "calls.txt:1: a line has --op API" },
        { "--op abs --shape '3", "calls.txt:1: a quote that does not end" },
        { "\n--op abs --shape 3,4", "calls.txt:2: " },
        { "--op abs --shape 3 --number 2\n--op abs --shape 4 --number 2",
          "calls.txt:2: another call is Torch.abs.2 already" },
        { "# nothing\n\n", "calls.txt has no line with a call" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(in(&w, "calls.txt"), wrong[i].text);
        TELLS(TRY_CALL("--batch", "calls.txt"), 2, wrong[i].expected);
    }
    workspace_remove(&w);
}
END_TEST

/* ---- draws ------------------------------------------------------------------------------ */

static const double *drawn(struct arena *arena, const char *distribution, double low, double high,
                           size_t n)
{
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    *record = (struct tensor_record){ .dtype = DT_F64, .rank = 1, .shape = { (int64_t)n } };
    record->min = (struct statistic){ STATISTIC_NUMBER, low };
    record->max = (struct statistic){ STATISTIC_NUMBER, high };
    struct value *item = arena_allocate_zeroed(arena, 1, sizeof *item);
    *item = (struct value){ .kind = VALUE_TENSOR, .tensor = { .record = record } };
    struct api_case c = { .full_name = "Torch.abs.0" };
    c.args = (struct value){ .kind = VALUE_LIST, .list = { .items = item, .count = 1 } };
    c.kwargs = (struct value){ .kind = VALUE_DICT };
    ck_assert_int_eq(try_draw(&c, arena, distribution, 1).code, STATUS_OK);
    return item->tensor.tensor ? item->tensor.tensor->data : NULL;
}

/* Mean and spread within five standard errors, 95 % between the ends. */
START_TEST(distributions_are_what_they_are_called)
{
    enum { N = 20000 };
    struct arena arena = { 0 };
    const double *x = drawn(&arena, "normal", 2, 10, N);
    double sum = 0, squares = 0;
    size_t inside = 0;
    for (size_t i = 0; i < N; i++) {
        sum += x[i];
        squares += (x[i] - 6) * (x[i] - 6);
        inside += x[i] >= 2 && x[i] <= 10;
    }
    ck_assert_double_eq_tol(sum / N, 6, 5 * 2 / sqrt(N));
    ck_assert_double_eq_tol(sqrt(squares / N), 2, 5 * 2 / sqrt(2.0 * N));
    ck_assert_double_eq_tol((double)inside / N, 0.9545, 5 * sqrt(0.9545 * 0.0455 / N));
    size_t counts[4] = { 0 };
    x = drawn(&arena, "integers", -1.5, 2.5, N);
    for (size_t i = 0; i < N; i++) {
        ck_assert(x[i] >= -1 && x[i] <= 2 && x[i] == floor(x[i]));
        counts[(int)x[i] + 1]++;
    }
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol((double)counts[i] / N, 0.25, 5 * sqrt(0.25 * 0.75 / N));
    ck_assert_ptr_null(drawn(&arena, "uniform", 0, 1, N));
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("try_command");
    TCase *tests = tcase_create("try_command");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, values_are_those_of_python);
    tcase_add_test(tests, lists_have_items_by_place_and_by_name);
    tcase_add_test(tests, a_call_is_judged_and_leaves_nothing);
    tcase_add_test(tests, tensors_find_their_arguments);
    tcase_add_test(tests, what_does_not_fit_is_refused);
    tcase_add_test(tests, a_kept_dump_is_one);
    tcase_add_test(tests, seed_and_number_decide_the_elements);
    tcase_add_test(tests, a_batch_is_a_call_a_line);
    tcase_add_test(tests, distributions_are_what_they_are_called);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
