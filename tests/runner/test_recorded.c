/* PyTorch's own results, as two real dumps store them, against the verdicts that msprobe gave
 * them: the same verdict wherever both judge, but for its known mistakes; and enough rows judged.
 */
#include "core/file.h"
#include "formats/csv.h"
#include "support/suite.h"
#include "support/workspace.h"

enum { ROWS_MAX = 2000, NAME_BYTES = 96, STATUS_BYTES = 16 };

struct verdict_row {
    char name[NAME_BYTES], status[STATUS_BYTES];
};

struct verdicts {
    struct verdict_row rows[ROWS_MAX];
    size_t count;
};

static void copy_cell(char *out, size_t bytes, struct csv_text cell)
{
    snprintf(out, bytes, "%.*s", (int)cell.length, cell.bytes);
}

/* Names and verdicts of a CSV file; the verdict stands in this column. */
static struct verdicts *read_verdicts(const char *path, size_t column)
{
    struct verdicts *v = calloc(1, sizeof *v);
    struct file file;
    struct csv_reader reader;
    struct csv_row row;
    bool more;
    struct status status = file_open_read(&file, path, FILES_TRUSTED);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_int_eq(csv_open_file(&reader, &file, NULL).code, 0);
    ck_assert_int_eq(csv_next(&reader, &row, &more).code, 0); /* header */
    while (!csv_next(&reader, &row, &more).code && more && v->count < ROWS_MAX) {
        copy_cell(v->rows[v->count].name, NAME_BYTES, row.cells[0]);
        copy_cell(v->rows[v->count++].status, STATUS_BYTES, row.cells[column]);
    }
    csv_close(&reader);
    ck_assert_int_eq(file_close(&file).code, 0);
    return v;
}

static const char *find_status(const struct verdicts *v, const char *name)
{
    for (size_t i = 0; i < v->count; i++)
        if (!strcmp(v->rows[i].name, name)) return v->rows[i].status;
    return "";
}

/* Is there any row of the call that a row belongs to? */
static bool has_call(const struct verdicts *v, const char *row_name)
{
    char call[NAME_BYTES];
    snprintf(call, sizeof call, "%s", row_name);
    for (int dots = 0; dots < 3; dots++) *strrchr(call, '.') = '\0';
    size_t length = strlen(call);
    for (size_t i = 0; i < v->count; i++)
        if (!strncmp(v->rows[i].name, call, length) && v->rows[i].name[length] == '.') return true;
    return false;
}

static bool is_judged(const char *status)
{
    return status[0] && strcmp(status, " ") && strcmp(status, "SKIP");
}

/* Rows that msprobe calls an error although the results are right: it compares two different
 * draws of a random function, takes equal infinities for a difference, cannot compare int16, and
 * rejects the sum of an empty tensor's gradient. */
/* clang-format off */
static const char *const mistakes[] = {
    "Tensor.masked_fill.0.forward.output.0",       "Tensor.bernoulli.0.forward.output.0",
    "Tensor.normal_.0.forward.output.0",           "Tensor.short.0.forward.output.0",
    "Functional.gumbel_softmax.0.forward.output.0", "Torch.sum.7.backward.output.0",
};
/* clang-format on */

static bool is_mistake(const char *name)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        if (!strcmp(mistakes[i], name)) return true;
    return false;
}

static const struct {
    const char *dump, *verdicts;
} models[] = {
    { "m2/L1_tensor", "m2_tensor_statuses.csv" },
    { "m5a/L1_tensor", "m5a_tensor_statuses.csv" },
};

START_TEST(verdicts_of_recorded_results)
{
    struct workspace w = workspace_make();
    char dump[512], peer_path[512];
    snprintf(dump, sizeof dump, "%s/dumps/%s/dump.json", PROBE_TEST_DATA, models[_i].dump);
    snprintf(peer_path, sizeof peer_path, "%s/run_ut/%s", PROBE_TEST_DATA, models[_i].verdicts);
    struct outcome o = run_program(&w, "-api_info", dump, "--backend", "recorded", "-o", "out",
                                   "--trust-files", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    struct verdicts *ours =
        read_verdicts(only_match(&w, "out/accuracy_checking_details_*.csv"), 21);
    struct verdicts *peer = read_verdicts(peer_path, 1);

    size_t judged[2] = { 0, 0 }, covered[2] = { 0, 0 };
    for (size_t i = 0; i < peer->count; i++) {
        const struct verdict_row *row = &peer->rows[i];
        const char *status = find_status(ours, row->name);
        int backward = strstr(row->name, ".backward.") != NULL;
        /* The bundled m5a has some of the calls only. */
        if (!is_judged(row->status) || !has_call(ours, row->name)) continue;
        judged[backward]++;
        if (!is_judged(status)) continue;
        covered[backward]++;
        if (is_mistake(row->name))
            ck_assert_msg(!strcmp(status, "pass"), "%s: %s", row->name, status);
        else
            ck_assert_msg(!strcasecmp(status, row->status), "%s: %s, msprobe says %s", row->name,
                          status, row->status);
    }
    printf("%s: %zu of %zu forward and %zu of %zu backward rows of msprobe judged\n",
           models[_i].dump, covered[0], judged[0], covered[1], judged[1]);
    ck_assert_uint_ge(100 * covered[0], 99 * judged[0]);
    /* Half of the decoder's backward rows belong to linear and matmul, which PyTorch runs as
     * several nodes: their recorded gradients are not the call's own. */
    ck_assert_uint_ge(100 * covered[1], (_i ? 80 : 55) * judged[1]);
    free(ours);
    free(peer);
    workspace_remove(&w);
}
END_TEST

/* Mixed precision: products whose float32 arguments autocast has cast, and whose gradients it has widened. With the
 * arguments as they were recorded nearly all of these right rows would be errors. */
START_TEST(calls_under_autocast_are_right)
{
    static const char *const profiles[] = { "strict", "doc" };
    struct workspace w = workspace_make();
    struct outcome o = run_program(&w, "-api_info", PROBE_TEST_DATA "/autocast/dump.json",
                                   "--backend", "recorded", "--profile", profiles[_i], "-o", "out",
                                   "--trust-files", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    struct verdicts *rows =
        read_verdicts(only_match(&w, "out/accuracy_checking_details_*.csv"), 21);
    ck_assert_uint_eq(rows->count, 4 + 3 + 3 + 2 + 3);
    for (size_t i = 0; i < rows->count; i++) {
        const char *status = rows->rows[i].status;
        /* The documents call every bfloat16 result whose last rounding shows a warning. */
        bool right = !strcmp(status, "pass") || (_i == 1 && !strcmp(status, "warning"));
        ck_assert_msg(right, "%s: %s", rows->rows[i].name, status);
    }
    free(rows);
    workspace_remove(&w);
}
END_TEST

/* A dump that was copied without its tensors: one line says so before the run, and where they were looked
 * for. */
START_TEST(tensors_that_are_missing_are_told_first)
{
    struct workspace w = workspace_make();
    char *text = read_file(PROBE_TEST_DATA "/dumps/m2/L1_tensor/dump.json", NULL);
    write_text(in(&w, "dump.json"), text);
    free(text);
    struct outcome o = run_program(&w, "-api_info", "dump.json", NULL);
    ck_assert_msg(!strncmp(o.err,
                           "warning: dump.json: its tensors are neither in "
                           "'dump_tensor_data' nor in 'dumps/m2/",
                           65),
                  "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorded");
    TCase *tests = tcase_create("recorded");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, verdicts_of_recorded_results, 0, 2);
    tcase_add_loop_test(tests, calls_under_autocast_are_right, 0, 2);
    tcase_add_test(tests, tensors_that_are_missing_are_told_first);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
