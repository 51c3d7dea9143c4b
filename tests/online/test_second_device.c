/* A second device beside the recorded results: two-way rows hold what was recorded against what the device returns,
 * three-way ones both against the reference. The device is a double that returns what it is told to; the errors
 * that are expected follow from these numbers. */
#include <check.h>
#include <string.h>

#include "online/second_device.h"
#include "runner/run_inputs.h"
#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;
static struct run_options options = RUN_OPTIONS_DEFAULTS;
static struct run_inputs inputs;
static struct checkers checkers;
static struct check_setup setup;
static struct case_outcome recorded, made;

/* ---- the device ------------------------------------------------------------------------- */

static double returned[4];
static bool fails;
static size_t calls;

static struct value of_floats(const double *elements)
{
    const int64_t shape[] = { 4 };
    return tensor_value(&arena, DT_F32, false, 1, shape, elements, 4);
}

static struct status run(struct device *device, struct device_result *out, struct arena *memory,
                         const struct api_case *c, bool want_gradients)
{
    (void)device, (void)memory, (void)c;
    ck_assert(!want_gradients);
    calls++;
    if (fails) return status_error(STATUS_DEVICE, "the device is on fire");
    out->outputs = list_value(&arena, 1, of_floats(returned));
    return status_ok();
}

static const struct device_class double_class = { .name = "double", .run = run };
static struct device device = { .class = &double_class };

/* ---- a call ----------------------------------------------------------------------------- */

static void start(void)
{
    options.threads = 1;
    options.backend = "recorded";
    options.no_diagnose = true;
    options.memory_bytes = (uint64_t)1 << 30;
    ck_assert_int_eq(run_inputs_open_online(&inputs, &options).code, 0);
    ck_assert_int_eq(checkers_open(&checkers, &options, "recorded", 1).code, 0);
    setup = checkers_setup(&checkers, &options, &inputs, NULL);
    checkers.items[0].setup = &setup;
    fails = false;
    calls = 0;
}

static void finish(void)
{
    case_outcome_release(&recorded);
    case_outcome_release(&made);
    recorded = made = (struct case_outcome){ .forward = VERDICT_BLANK };
    checkers_close(&checkers);
    run_inputs_close(&inputs);
    arena_release(&arena);
}

/* neg of 1, 2, 3, 4, which was recorded right; the second device returns this last element. */
static struct second_check check_neg(bool two_way, double last)
{
    const double x[] = { 1, 2, 3, 4 }, y[] = { -1, -2, -3, -4 };
    const struct call_place place = { .step = 0, .sequence = 7 };
    struct api_case c = make_case(&arena, "Torch", "neg", list_value(&arena, 1, of_floats(x)));
    struct second_check second = { .device = &device, .two_way = two_way, .out = &made };

    c.outputs = list_value(&arena, 1, of_floats(y));
    memcpy(returned, y, sizeof returned);
    returned[3] = last;
    ck_assert(case_check_record(&recorded, &second, &checkers.items[0], &c, NULL, &place));
    ck_assert_int_eq(recorded.fatal.code, 0);
    ck_assert_int_eq(recorded.forward, VERDICT_PASS); /* whatever the second device does */
    ck_assert_uint_eq(calls, 1);
    ck_assert(second.has_rows);
    return second;
}

/* The cell of the only row in a column of the details. */
static double cell(const struct csv_buffer *details, enum details_column column)
{
    struct csv_reader reader;
    struct csv_row row;
    double number = -1;
    bool more;
    ck_assert_int_eq(csv_open_text(&reader, "rows", details->data, details->length, NULL).code, 0);
    ck_assert_int_eq(csv_next(&reader, &row, &more).code, 0);
    ck_assert(more);
    ck_assert(csv_read_number(&number, row.cells[column]));
    ck_assert_int_eq(csv_next(&reader, &row, &more).code, 0);
    ck_assert(!more);
    csv_close(&reader);
    return number;
}

static bool has(const struct csv_buffer *text, const char *part)
{
    return text->length && memmem(text->data, text->length, part, strlen(part));
}

/* ---- tests ------------------------------------------------------------------------------ */

/* Two-way: |(-4) - (-5)| = 1, and the relative differences are 0, 0, 0, 1/5. */
START_TEST(recorded_results_are_held_against_the_device)
{
    (void)check_neg(true, -5);
    ck_assert_double_eq(cell(&made.details, COLUMN_MAX_ABS_ERROR), 1);
    ck_assert_int_eq(made.forward, VERDICT_ERROR);
    ck_assert(has(&made.result, "Torch.neg.0,error"));
}
END_TEST

START_TEST(equal_results_pass)
{
    (void)check_neg(true, -4);
    ck_assert_double_eq(cell(&made.details, COLUMN_MAX_ABS_ERROR), 0);
    ck_assert_int_eq(made.forward, VERDICT_PASS);
}
END_TEST

/* Three-way: the device's error against the reference is 1, that of what was recorded is 0, and so the call passes. */
START_TEST(both_are_held_against_the_reference)
{
    struct second_device *second;
    struct second_rows rows = { .kind = SECOND_NONE };
    const struct row_layout *layout = profile_rules(inputs.profile)->layout;
    const struct second_check check = check_neg(false, -5);

    ck_assert_double_eq(cell(&made.details, COLUMN_MAX_ABS_ERROR), 1);
    ck_assert_double_eq(cell(&recorded.details, COLUMN_MAX_ABS_ERROR), 0);
    ck_assert_int_eq(second_open(&second, &options, "cpu", layout, 14).code, 0);
    ck_assert_int_eq(second_check_end(&rows, second, &check, &recorded).code, 0);
    ck_assert_int_eq(rows.kind, SECOND_THREE_WAY);
    ck_assert(has(&rows.result, "Torch.neg.0,pass"));
    ck_assert(has(&rows.details, "Torch.neg.0.forward.output.0"));
    second_rows_clear(&rows);
    ck_assert_int_eq(rows.kind, SECOND_NONE);
    second_rows_release(&rows);
    second_close(second);
}
END_TEST

/* What the device cannot do is a SKIP row of its own, and nothing to the call. */
START_TEST(a_device_that_fails_has_a_row)
{
    fails = true;
    (void)check_neg(_i == 1, -4);
    ck_assert_int_eq(made.forward, VERDICT_SKIP);
    ck_assert(has(&made.result, "on fire"));
}
END_TEST

/* Which way a call goes is what the lists of msprobe say. */
START_TEST(the_lists_choose_the_way)
{
    static const struct {
        const char *type, *api;
        bool two_way;
    } apis[] = { { "Torch", "abs", true },
                 { "Torch", "mul", true },
                 { "Functional", "linear", false },
                 { "Torch", "no_such_api", false } };
    const struct row_layout *layout = profile_rules(inputs.profile)->layout;
    struct second_device *second;

    ck_assert_int_eq(second_open(&second, &options, "cpu", layout, 14).code, 0);
    ck_assert_uint_ge(second_count(second), 1);
    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++) {
        struct api_case c = make_case(&arena, apis[i].type, apis[i].api, list_value(&arena, 0));
        ck_assert_msg(second_check_begin(second, 0, &c).two_way == apis[i].two_way, "%s",
                      apis[i].api);
    }
    second_close(second);
    ck_assert_int_eq(second_open(&second, &options, "recorded", layout, 14).code,
                     STATUS_BAD_ARGUMENT);
    ck_assert_int_eq(second_open(&second, &options, "nothing", layout, 14).code,
                     STATUS_BAD_ARGUMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("second device");
    TCase *cases = tcase_create("all");

    tcase_add_checked_fixture(cases, start, finish);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, recorded_results_are_held_against_the_device);
    tcase_add_test(cases, equal_results_pass);
    tcase_add_test(cases, both_are_held_against_the_reference);
    tcase_add_loop_test(cases, a_device_that_fails_has_a_row, 0, 2);
    tcase_add_test(cases, the_lists_choose_the_way);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
