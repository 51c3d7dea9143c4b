/* What a run prints for people: the summary from made-up outcomes, and progress with made-up times. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/progress.h"
#include "report/summary.h"
#include "support/suite.h"

#define ck_ok(expression)                                                   \
    do {                                                                    \
        struct status ck_status_ = (expression);                            \
        ck_assert_msg(ck_status_.code == STATUS_OK, "%s", ck_status_.text); \
    } while (0)

/* ---- summary ------------------------------------------------------------------------------ */

static char *printed(const struct summary *summary, bool color)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    summary_print(out, summary, color);
    fclose(out);
    return text;
}

static void prints(const struct summary *summary, bool color, const char *expected)
{
    char *text = printed(summary, color);
    ck_assert_str_eq(text, expected);
    free(text);
}

static void add_notes(struct summary *summary, struct row_note *notes, size_t count)
{
    struct case_outcome outcome = { .forward = VERDICT_ERROR, .notes = notes, .n_notes = count };
    ck_ok(summary_add(summary, &outcome));
}

/* Every verdict in both directions, and the colours of those that occur. */
START_TEST(calls_are_counted)
{
    static const enum verdict pairs[][2] = {
        { VERDICT_PASS, VERDICT_PASS },    { VERDICT_PASS, VERDICT_BLANK },
        { VERDICT_WARNING, VERDICT_PASS }, { VERDICT_PASS, VERDICT_WARNING },
        { VERDICT_SKIP, VERDICT_SKIP },    { VERDICT_PASS, VERDICT_ERROR },
    };
    struct summary summary = { 0 };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct case_outcome outcome = { .forward = pairs[i][0], .backward = pairs[i][1] };
        ck_ok(summary_add(&summary, &outcome));
    }
    ck_assert_uint_eq(summary.calls, 6);
    prints(&summary, false,
           "calls          pass  warning    error     SKIP     none\n"
           "forward           4        1        0        1        0\n"
           "backward          2        1        1        1        1\n");
    prints(&summary, true,
           "calls          pass  warning    error     SKIP     none\n"
           "forward    \033[32m       4\033[0m \033[33m       1\033[0m        0 \033[36m       "
           "1\033[0m        0\n"
           "backward   \033[32m       2\033[0m \033[33m       1\033[0m \033[31m       1\033[0m "
           "\033[36m       1\033[0m        1\n");
}
END_TEST

/* Rows of an earlier part of the run, of this program and of the peer: any other word is none. */
START_TEST(earlier_calls_are_counted_by_their_cells)
{
    static const struct {
        const char *cell;
        enum verdict verdict;
    } rows[] = {
        { "pass", VERDICT_PASS },   { "warning", VERDICT_WARNING }, { "Warning", VERDICT_WARNING },
        { "error", VERDICT_ERROR }, { "SKIP", VERDICT_SKIP },       { " ", VERDICT_BLANK },
        { "", VERDICT_BLANK },      { "Pass", VERDICT_BLANK },      { "=1+1", VERDICT_BLANK },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct summary summary = { 0 };
        const struct csv_text cell = { rows[i].cell, strlen(rows[i].cell) }, pass = { "pass", 4 };
        summary_add_earlier(&summary, cell, pass);
        summary_add_earlier(&summary, pass, cell);
        for (int direction = 0; direction < 2; direction++) {
            size_t expected = 1 + (rows[i].verdict == VERDICT_PASS);
            ck_assert_msg(summary.counts[direction][rows[i].verdict] == expected, "'%s'",
                          rows[i].cell);
        }
        ck_assert_uint_eq(summary.calls, 2);
        ck_assert_uint_eq(summary.earlier, 2);
        struct ci_counts counts = summary_ci_counts(&summary);
        ck_assert_uint_eq(counts.errors, 2 * (rows[i].verdict == VERDICT_ERROR));
        ck_assert_uint_eq(counts.warnings, 2 * (rows[i].verdict == VERDICT_WARNING));
        ck_assert_uint_eq(counts.skipped, rows[i].verdict == VERDICT_SKIP);
        ck_assert_uint_eq(counts.judged, 2);
        ck_assert_uint_eq(counts.all, 2);
    }
}
END_TEST

/* Errors before warnings, then what has no numbers, then the farthest from its limit on either side,
 * then the earlier row; ten at most. What a name holds cannot rule the terminal. */
START_TEST(worst_rows_come_first)
{
    /* clang-format off */
    struct row_note notes[] = {
        { VERDICT_WARNING, CAUSE_NONE, (char *)"warning without numbers", NULL, "", 0, 0 },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"at its limit", NULL, "ulp", 4, 4 },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"ten times over", NULL, "ulp", 40, 4 },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"ten times over, later", NULL, "ulp", -40, 4 },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"a hundredth of what is asked for", NULL, "cosine", 0.01, 1 },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"over a limit of 0", NULL, "mismatched", 1, 0 },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"no\nnum\x1b" "bers\x7f", NULL, "", 0, 0 },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"not a number", NULL, "ulp", NAN, 4 },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"infinite", NULL, "ulp", -INFINITY, 4 },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"no limit", NULL, "ulp", 0, NAN },
        { VERDICT_ERROR, CAUSE_NONE, (char *)"twice over", NULL, "ulp", 8, 4 },
        { VERDICT_WARNING, CAUSE_NONE, (char *)"one row too many", NULL, "ulp", 1e9, 1 },
    };
    /* clang-format on */
    struct summary summary = { 0 };
    add_notes(&summary, notes, sizeof notes / sizeof *notes);
    ck_assert_uint_eq(summary.rows, 12);
    char *text = printed(&summary, false);
    ck_assert_str_eq(strstr(text, "\nworst"),
                     "\nworst rows\n"
                     "  error    no num bers \n"
                     "  error    not a number: ulp nan, limit 4\n"
                     "  error    infinite: ulp -inf, limit 4\n"
                     "  error    over a limit of 0: mismatched 1, limit 0\n"
                     "  error    a hundredth of what is asked for: cosine 0.01, limit 1\n"
                     "  error    ten times over: ulp 40, limit 4\n"
                     "  error    ten times over, later: ulp -40, limit 4\n"
                     "  error    twice over: ulp 8, limit 4\n"
                     "  error    at its limit: ulp 4, limit 4\n"
                     "  error    no limit: ulp 0, limit nan\n");
    free(text);
    summary_release(&summary);
}
END_TEST

/* Reasons by count, then by text; twelve are shown, 256 told apart. */
START_TEST(reasons_are_counted)
{
    enum { KINDS = SUMMARY_REASONS + 3 };
    struct summary summary = { .earlier = 1 };
    char text[32];
    struct row_note note = { .verdict = VERDICT_SKIP, .message = text };
    for (int kind = 0; kind < KINDS; kind++) {
        snprintf(text, sizeof text, "reason\t%03d", kind);
        for (int k = 0; k < (kind == 200 ? 3 : kind == 100 || kind == 50 ? 2 : 1); k++)
            add_notes(&summary, &note, 1);
    }
    char *shown = printed(&summary, false);
    ck_assert_str_eq(strstr(shown, "\nskipped"), "\nskipped rows (of this part of the run)\n"
                                                 "       3  reason 200\n"
                                                 "       2  reason 050\n"
                                                 "       2  reason 100\n"
                                                 "       1  reason 000\n"
                                                 "       1  reason 001\n"
                                                 "       1  reason 002\n"
                                                 "       1  reason 003\n"
                                                 "       1  reason 004\n"
                                                 "       1  reason 005\n"
                                                 "       1  reason 006\n"
                                                 "       1  reason 007\n"
                                                 "       1  reason 008\n"
                                                 "     247  for other reasons\n");
    free(shown);
    summary_release(&summary);
}
END_TEST

/* How sure the references are: shares of all values, over all calls. */
START_TEST(references_are_summed)
{
    static const struct reference_use uses[] = { { 600, 600, 0, 0 }, { 400, 100, 50, 2 } };
    struct summary summary = { 0 };
    for (int i = 0; i < 2; i++) {
        const struct case_outcome outcome = { .references = uses[i] };
        ck_ok(summary_add(&summary, &outcome));
    }
    for (int part = 0; part < 2; part++) {
        char expected[300];
        summary.earlier = (size_t)part;
        snprintf(expected, sizeof expected,
                 "\nreferences%s: 1000 values, 70 %% in tensors certified to 2^-10 ulp, 5 %% "
                 "recomputed in higher "
                 "precision\n  2 outputs had more than a thousandth recomputed\n",
                 part ? " (of this part of the run)" : "");
        char *text = printed(&summary, false);
        ck_assert_str_eq(strstr(text, "\nreferences"), expected);
        free(text);
    }
}
END_TEST

/* ---- progress ----------------------------------------------------------------------------- */

struct stage {
    double now_s;
    size_t done, failing; /* so far */
    const char *shown;
};

static void shows(const struct stage *stages, size_t count, bool terminal, bool enabled,
                  size_t total, size_t earlier, const char *at_end)
{
    struct progress progress;
    char *text;
    size_t length, before = 0;
    FILE *out = open_memstream(&text, &length);
    progress_start(&progress, out, enabled, total, earlier, 1, 100);
    ck_assert(!progress.terminal);
    progress.terminal = terminal;
    for (size_t i = 0; i < count; i++) {
        while (progress.done < stages[i].done)
            progress_count(&progress, progress.failing < stages[i].failing);
        progress_show(&progress, stages[i].now_s);
        fflush(out);
        ck_assert_str_eq(text + before, stages[i].shown);
        before = length;
    }
    progress_end(&progress);
    fflush(out);
    ck_assert_str_eq(text + before, at_end);
    before = length;
    progress_end(&progress); /* the line is gone already */
    fflush(out);
    ck_assert_uint_eq(length, before);
    fclose(out);
    free(text);
}

/* A line that is drawn again at most five times a second. Its rate is of this part of the run. */
START_TEST(progress_on_a_terminal)
{
    static const struct stage stages[] = {
        { 100, 200, 1, "\r\033[K200/1000  failing 1" },
        { 100.1, 210, 1, "" },
        { 101, 210, 1, "\r\033[K210/1000  failing 1  10 calls/s  79 s left" },
        { 102, 211, 2, "\r\033[K211/1000  failing 2  5.5 calls/s  2 min left" },
        { 102.1, 900, 3, "" },
        { 110, 1000, 3, "\r\033[K1000/1000  failing 3  80 calls/s  0 s left" },
    };
    shows(stages, sizeof stages / sizeof *stages, true, true, 1000, 200, "\r\033[K");
}
END_TEST

/* A line for each tenth that is new since the last one. */
START_TEST(progress_in_a_log)
{
    static const struct stage stages[] = {
        { 100, 27, 1, "" },
        { 101, 29, 1, "" },
        { 102, 30, 2, "probe-ut: 30 % (30 of 100 calls), 2 failing\n" },
        { 103, 39, 2, "" },
        { 104, 67, 2, "probe-ut: 60 % (67 of 100 calls), 2 failing\n" },
        { 104, 100, 3, "probe-ut: 100 % (100 of 100 calls), 3 failing\n" },
    };
    shows(stages, sizeof stages / sizeof *stages, false, true, 100, 27, "");
}
END_TEST

START_TEST(no_progress_when_not_wanted_or_nothing_to_do)
{
    static const struct stage stages[] = { { 100, 0, 1, "" }, { 109, 0, 1, "" } };
    shows(stages, 2, _i == 1, false, 100, 0, "");
    shows(stages, 2, _i == 1, true, 0, 0, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("summary");
    TCase *tests = tcase_create("summary");
    tcase_add_test(tests, calls_are_counted);
    tcase_add_test(tests, earlier_calls_are_counted_by_their_cells);
    tcase_add_test(tests, worst_rows_come_first);
    tcase_add_test(tests, reasons_are_counted);
    tcase_add_test(tests, references_are_summed);
    tcase_add_test(tests, progress_on_a_terminal);
    tcase_add_test(tests, progress_in_a_log);
    tcase_add_loop_test(tests, no_progress_when_not_wanted_or_nothing_to_do, 0, 2);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
