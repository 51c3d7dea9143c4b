/* Budgets: the margin by its definition, files that are written and read again, faults of files by line, ratcheting, and
 * rows held to them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standards/budget.h"
#include "support/suite.h"
#include "support/workspace.h"

static const struct file_policy trusted = { .trusted = true };
static const struct budget_key matmul = { "Torch.matmul", "torch.float32", "2d up to 256", "cpu",
                                          false };

static struct budget *created(void)
{
    struct budget *budget = NULL;
    ck_assert_int_eq(budget_create(&budget).code, 0);
    return budget;
}

/* `rows` rows of which the largest uses this part of model_rms. */
static void add_rows(struct budget *budget, const struct budget_key *key, int rows, double rms)
{
    for (int i = 0; i < rows; i++) {
        const double used[BUDGET_METRICS] = {
            [BUDGET_WORST] = 0.01, [BUDGET_RMS] = rms * (i + 1) / rows,
            [BUDGET_BIAS] = -1,    [BUDGET_LARGEST] = 0.2,
            [BUDGET_FLIPS] = -1,   [BUDGET_NATS] = -1
        };
        ck_assert_int_eq(budget_add_row(budget, key, used, true).code, 0);
    }
}

static char *text_of(const struct budget *budget)
{
    struct csv_buffer out = { 0 };
    ck_assert_int_eq(budget_write(&out, budget).code, 0);
    char *text = strndup(out.data, out.length);
    csv_buffer_release(&out);
    return text;
}

/* The chance that the next exceeds m times the largest of n of an exponential law: the product of k / (k + m). */
static double chance_beyond(int n, double m)
{
    double chance = 1;
    for (int k = 1; k <= n; k++) chance *= k / (k + m);
    return chance;
}

/* That chance is 10^-8 for what is written, up to the last digit; a sixteenth of a limit at least, and never more than the
 * limit. */
START_TEST(margins)
{
    static const struct {
        int rows;
        double used;
    } cases[] = { { 5, 0.007 }, { 10, 0.04 }, { 100, 0.1 }, { 1000, 0.3 }, { 9998, 0.3 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct budget *budget = created();
        add_rows(budget, &matmul, cases[i].rows, cases[i].used);
        budget_settle(budget);
        const struct budget_entry *entry = budget_find(budget, &matmul);
        double most = entry->most[BUDGET_RMS];
        ck_assert_double_eq(entry->samples, cases[i].rows);
        ck_assert_double_le(chance_beyond(cases[i].rows, most / cases[i].used), 1.0001e-8);
        ck_assert_double_gt(chance_beyond(cases[i].rows, (most - 0.0011) / cases[i].used), 1e-8);
        ck_assert_double_lt(entry->most[BUDGET_BIAS], 0);
        budget_release(budget);
    }
}
END_TEST

START_TEST(ends_of_margins)
{
    static const struct {
        int rows;
        double used, most;
    } cases[] = { { 1, 0.001, 1 }, { 2, 0.2, 1 }, { 5, 0.02, 1 }, { 20000, 0.0001, 0.063 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct budget *budget = created();
        add_rows(budget, &matmul, cases[i].rows, cases[i].used);
        budget_settle(budget);
        ck_assert_double_eq_tol(budget_find(budget, &matmul)->most[BUDGET_RMS], cases[i].most,
                                1e-12);
        budget_release(budget);
    }
}
END_TEST

/* Rows that use nothing of a limit, or do not compare with it, do not say how large the first use will be: they count for no
 * margin, and without others the limit stays. */
START_TEST(rows_without_use_are_no_samples)
{
    struct budget *budget = created(), *more = created();
    const double none[BUDGET_METRICS] = { 0, 0, -1, -1, -1, -1 };
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(budget_add_row(budget, &matmul, none, true).code, 0);
    budget_settle(budget);
    const struct budget_entry *entry = budget_find(budget, &matmul);
    ck_assert_double_eq(entry->samples, 1000);
    ck_assert_double_eq(entry->most[BUDGET_WORST], 1);
    ck_assert_double_eq(entry->most[BUDGET_RMS], 1);
    add_rows(budget, &matmul, 10, 0.02);
    budget_settle(budget);
    ck_assert_double_eq(entry->unused[BUDGET_RMS], 1000);
    ck_assert_double_eq(entry->unused[BUDGET_LARGEST], 1000);
    ck_assert_double_eq_tol(entry->most[BUDGET_RMS], 0.465, 1e-12); /* as of ten rows */
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(budget_add_row(more, &matmul, none, true).code, 0);
    size_t tightened, unknown;
    ck_assert_int_eq(budget_tighten(&tightened, &unknown, budget, more).code, 0);
    ck_assert_uint_eq(tightened, 0);
    ck_assert_double_eq(entry->unused[BUDGET_RMS], 2000);
    char *text = text_of(budget);
    ck_assert_ptr_nonnull(strstr(text, "\"samples\": 2010, \"unused\": { \"model_worst\": 2000, "
                                       "\"model_rms\": 2000, \"model_largest\": 2000 }, \"used\""));
    struct workspace w = workspace_make();
    struct budget *again = NULL;
    write_text(in(&w, "b.json"), text);
    struct status status = budget_read(&again, in(&w, "b.json"), trusted, NULL);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_double_eq(budget_find(again, &matmul)->unused[BUDGET_RMS], 2000);
    free(text);
    budget_release(again);
    budget_release(budget);
    budget_release(more);
    workspace_remove(&w);
}
END_TEST

START_TEST(classes_of_shapes)
{
    static const struct {
        const char *text, *shapes;
    } cases[] = {
        { "(2;2)", "2d up to 4" },
        { "(2, 3, 100)", "3d up to 1024" },
        { "()", "0d up to 1" },
        { " [5] ", "1d up to 16" },
        { "(0,)", "1d up to 1" },
        { "(4096;4096)", "2d up to 16777216" },
        { " ", NULL },
        { "2,2", NULL },
        { "(2;2", NULL },
        { "(9999999999;9999999999)", NULL },
    };
    char shapes[BUDGET_SHAPES_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_shape = budget_shapes(shapes, cases[i].text);
        ck_assert_msg(is_shape == (cases[i].shapes != NULL), "%s", cases[i].text);
        if (is_shape) ck_assert_str_eq(shapes, cases[i].shapes);
    }
}
END_TEST

/* Sorted, one entry a line, the same whatever the order of learning; read again it is the same. */
START_TEST(files)
{
    struct workspace w = workspace_make();
    const struct budget_key gradient = { "Torch.matmul", "torch.float32", "2d up to 256", "cpu",
                                         true };
    const struct budget_key add = { "Tensor.add", "torch.bfloat16", "1d up to 4", "torch:npu",
                                    false };
    const struct budget_key *orders[2][3] = { { &matmul, &gradient, &add },
                                              { &add, &matmul, &gradient } };
    char *texts[2];
    for (int k = 0; k < 2; k++) {
        struct budget *budget = created();
        for (int i = 0; i < 3; i++) add_rows(budget, orders[k][i], 10, 0.1);
        budget_settle(budget);
        texts[k] = text_of(budget);
        budget_release(budget);
    }
    ck_assert_str_eq(texts[0], texts[1]);
    ck_assert_str_eq(
        texts[0],
        "{ \"budgets\": [\n"
        "  { \"api\": \"Tensor.add\", \"direction\": \"forward\", \"dtype\": \"torch.bfloat16\", "
        "\"shapes\": \"1d up to 4\", "
        "\"device\": \"torch:npu\", \"samples\": 10, \"used\": { \"model_worst\": 0.01, "
        "\"model_rms\": 0.1, "
        "\"model_largest\": 0.2 }, \"budget\": { \"model_worst\": 0.233, \"model_rms\": 1, "
        "\"model_largest\": 1 } },\n"
        "  { \"api\": \"Torch.matmul\", \"direction\": \"backward\", \"dtype\": \"torch.float32\", "
        "\"shapes\": \"2d up to 256\", "
        "\"device\": \"cpu\", \"samples\": 10, \"used\": { \"model_worst\": 0.01, \"model_rms\": "
        "0.1, \"model_largest\": 0.2 }, "
        "\"budget\": { \"model_worst\": 0.233, \"model_rms\": 1, \"model_largest\": 1 } "
        "},\n"
        "  { \"api\": \"Torch.matmul\", \"direction\": \"forward\", \"dtype\": \"torch.float32\", "
        "\"shapes\": \"2d up to 256\", "
        "\"device\": \"cpu\", \"samples\": 10, \"used\": { \"model_worst\": 0.01, \"model_rms\": "
        "0.1, \"model_largest\": 0.2 }, "
        "\"budget\": { \"model_worst\": 0.233, \"model_rms\": 1, \"model_largest\": 1 } }\n"
        "] }\n");
    struct budget *again = NULL;
    write_text(in(&w, "b.json"), texts[0]);
    struct status status = budget_read(&again, in(&w, "b.json"), trusted, NULL);
    ck_assert_msg(!status.code, "%s", status.text);
    char *text = text_of(again);
    ck_assert_str_eq(text, texts[0]);
    free(text);
    budget_release(again);
    for (int k = 0; k < 2; k++) free(texts[k]);
    workspace_remove(&w);
}
END_TEST

static bool knows_matmul(const char **nearest, struct arena *arena, const char *name)
{
    (void)arena;
    *nearest = "matmul";
    return !strcmp(name, "matmul");
}

#define ENTRY(api, direction, dtype, samples, used, budget)                                \
    "{ \"api\": \"" api "\", \"direction\": \"" direction "\", \"dtype\": \"" dtype        \
    "\", \"shapes\": \"s\", \"device\": \"d\", \"samples\": " samples ", \"used\": {" used \
    "}, \"budget\": {" budget "} }"
#define FILE_OF(entries) "{ \"budgets\": [\n" entries "\n] }"

START_TEST(faults_of_files)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        { "[]", "expected an object" },
        { "{}", "budgets" },
        { "{ \"budgets\": 1 }", "budgets" },
        { "{ \"budgets\": [], \"limit\": 1 }", "limit" },
        { FILE_OF("1"), ":2: budgets[0]: expected an object" },
        { FILE_OF("{ \"api\": \"Torch.matmul\" }"), "direction" },
        { FILE_OF(ENTRY("Torch.matmull", "forward", "torch.float32", "1", "", "")),
          "the nearest is 'Torch.matmul'" },
        { FILE_OF(ENTRY("matmul", "forward", "torch.float32", "1", "", "")), "no group" },
        { FILE_OF(ENTRY("Torch.matmul", "sideways", "torch.float32", "1", "", "")),
          "forward or backward" },
        { FILE_OF(ENTRY("Torch.matmul", "forward", "torch.float23", "1", "", "")), "no dtype" },
        { FILE_OF(ENTRY("Torch.matmul", "forward", "torch.float32", "0", "", "")), "1 at least" },
        { FILE_OF(ENTRY("Torch.matmul", "forward", "torch.float32",
                        "4, \"unused\": {\"model_rms\": 5}", "", "")),
          "unused.model_rms: expected a number of rows, not more than the samples" },
        { FILE_OF(ENTRY("Torch.matmul", "forward", "torch.float32", "1", "\"model_rmz\": 0", "")),
          "model_rms" },
        { FILE_OF(
              ENTRY("Torch.matmul", "forward", "torch.float32", "1", "", "\"model_rms\": 1.01")),
          "from 0 to 1" },
        { FILE_OF(ENTRY("Torch.matmul", "forward", "torch.float32", "1", "", "\"model_rms\": -1")),
          "from 0 to 1" },
        { FILE_OF(
              ENTRY("Torch.matmul", "forward", "torch.float32", "1", "", "\"model_rms\": \"1\"")),
          "from 0 to 1" },
        { FILE_OF(ENTRY("Torch.matmul", "forward", "torch.float32", "1", "",
                        "") ",\n" ENTRY("Torch.matmul", "forward", "torch.float32", "2", "", "")),
          ":3: budgets[1]: this entry is there twice" },
    };
    struct workspace w = workspace_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct budget *budget = NULL;
        write_text(in(&w, "b.json"), cases[i].text);
        struct status status = budget_read(&budget, in(&w, "b.json"), trusted, knows_matmul);
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        ck_assert_msg(strstr(status.text, cases[i].reason) != NULL, "case %zu: %s", i, status.text);
        ck_assert_ptr_null(budget);
    }
    workspace_remove(&w);
}
END_TEST

/* More rows make a budget smaller; a larger use does not make it larger; rows beyond it teach nothing. */
START_TEST(budgets_are_ratcheted)
{
    struct budget *budget = created(), *rows = created(), *beyond = created();
    size_t tightened, unknown;
    add_rows(budget, &matmul, 10, 0.1);
    budget_settle(budget);
    const struct budget_entry *entry = budget_find(budget, &matmul);
    add_rows(rows, &matmul, 90, 0.11);
    const struct budget_key other = { "Torch.mm", "torch.float32", "2d up to 256", "cpu", false };
    add_rows(rows, &other, 1, 0.1);
    ck_assert_int_eq(budget_tighten(&tightened, &unknown, budget, rows).code, 0);
    ck_assert_uint_eq(tightened, 1);
    ck_assert_uint_eq(unknown, 1);
    ck_assert_double_eq(entry->samples, 100);
    ck_assert_double_eq(entry->used[BUDGET_RMS], 0.11);
    ck_assert_double_eq_tol(entry->most[BUDGET_RMS], 0.552, 1e-12); /* 0.11 * 5.0136 */
    ck_assert_uint_eq(budget_count(budget), 1);
    add_rows(beyond, &matmul, 1000, 0.6);
    ck_assert_int_eq(budget_tighten(&tightened, &unknown, budget, beyond).code, 0);
    ck_assert_uint_eq(tightened, 0);
    ck_assert_double_eq(entry->samples, 100);
    ck_assert_double_eq(entry->used[BUDGET_RMS], 0.11);
    budget_release(budget);
    budget_release(rows);
    budget_release(beyond);
}
END_TEST

/* A row just within its budget stays what it is; just past it, it is an error that names the budget. */
START_TEST(rows_are_held_to_budgets)
{
    struct arena arena = { 0 };
    struct budget *budget = created();
    add_rows(budget, &matmul, 10, 0.02); /* budget 0.465 */
    budget_settle(budget);
    static const struct {
        double rms;
        enum verdict before, after;
    } cases[] = {
        { 3 * 0.465, VERDICT_PASS, VERDICT_PASS },
        { 3 * 0.466, VERDICT_PASS, VERDICT_ERROR },
        { 3 * 0.466, VERDICT_WARNING, VERDICT_ERROR },
        { 3 * 0.466, VERDICT_SKIP, VERDICT_SKIP },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct judged judged = { .verdict = cases[i].before, .limit_count = 1 };
        for (int column = 0; column < COLUMN_COUNT; column++) judged.cells[column] = "";
        judged.limits[0] = (struct judged_limit){ "model_rms", cases[i].rms, 3, true };
        ck_assert_int_eq(budget_judge(&judged, &arena, budget, &matmul).code, 0);
        ck_assert_msg(judged.verdict == cases[i].after, "case %zu", i);
        bool exceeds = cases[i].before != cases[i].after;
        ck_assert_int_eq(strstr(judged.cells[COLUMN_MESSAGE],
                                "the budget of Torch.matmul, torch.float32") != NULL,
                         exceeds);
        ck_assert_uint_eq(judged.limit_count, exceeds ? 2 : 1);
        if (exceeds) ck_assert_str_eq(judged.cells[COLUMN_STATUS], "error");
    }
    const struct budget_key other = { "Torch.mm", "torch.float32", "2d up to 256", "cpu", false };
    struct judged judged = { .verdict = VERDICT_PASS, .limit_count = 1 };
    judged.limits[0] = (struct judged_limit){ "model_rms", 2.9, 3, true };
    ck_assert_int_eq(budget_judge(&judged, &arena, budget, &other).code, 0);
    ck_assert_int_eq(judged.verdict, VERDICT_PASS); /* it has none */
    budget_release(budget);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("budget");
    TCase *tcase = tcase_create("budget");
    tcase_add_test(tcase, margins);
    tcase_add_test(tcase, ends_of_margins);
    tcase_add_test(tcase, rows_without_use_are_no_samples);
    tcase_add_test(tcase, classes_of_shapes);
    tcase_add_test(tcase, files);
    tcase_add_test(tcase, faults_of_files);
    tcase_add_test(tcase, budgets_are_ratcheted);
    tcase_add_test(tcase, rows_are_held_to_budgets);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
