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

/* Not inlined: gcc 12 takes what the stream holds of `text` for a pointer that dangles. */
__attribute__((noinline)) static char *printed(const struct summary *summary, bool color)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    summary_print(out, summary, NULL, color);
    fclose(out);
    return text;
}

static void prints(const struct summary *summary, bool color, const char *expected)
{
    char *text = printed(summary, color);
    ck_assert_str_eq(text, expected);
    free(text);
}

static void add_note(struct summary *summary, const char *call, struct row_note note)
{
    char row[200];
    snprintf(row, sizeof row, "%s.forward.output.0", call);
    note.name = row;
    struct case_outcome outcome = { .forward = note.verdict, .notes = &note, .n_notes = 1 };
    ck_ok(summary_add(summary, &outcome, call, 0));
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
        ck_ok(summary_add(&summary, &outcome, "Torch.add.0", 0));
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
    summary_release(&summary);
}
END_TEST

/* Calls and their rows that are added one by one say what outcomes say that hold them: 300 calls of 30 APIs, whose rows
 * fail as they come, with equal ones among them. */
START_TEST(calls_without_their_rows)
{
    struct summary whole = { 0 }, parts = { 0 };
    for (unsigned i = 0; i < 300; i++) {
        char call[40], row[80], sentence[40];
        snprintf(call, sizeof call, "Torch.op%u.%u", i % 30, i);
        snprintf(row, sizeof row, "%s.forward.output.0", call);
        snprintf(sentence, sizeof sentence, "because of %u", i);
        enum verdict verdict = i % 7 == 0 ? VERDICT_ERROR : VERDICT_WARNING;
        struct row_note note = {
            .verdict = verdict, .name = row, .sentence = sentence, .excess = i * 37 % 11
        };
        struct case_outcome outcome = { .forward = verdict, .notes = &note, .n_notes = 1 };
        ck_ok(summary_add(&whole, &outcome, call, 0));

        bool is_worst;
        ck_ok(summary_count_failing(&is_worst, &parts, &note, call));
        if (is_worst) ck_ok(summary_add_note(&parts, &note, call));
        ck_ok(summary_add_call(&parts, verdict, VERDICT_BLANK, call));
    }
    char *text = printed(&whole, false);
    prints(&parts, false, text);
    ck_assert_ptr_nonnull(strstr(text, "failing: 300 rows of 30 APIs"));
    free(text);
    summary_release(&whole);
    summary_release(&parts);
}
END_TEST

/* The number of a call is no part of its API; other ends are. */
START_TEST(calls_are_told_by_api)
{
    static const char *const calls[] = { "Torch.add.12", "Torch.mul", "Torch.div.x1",
                                         "Torch.log1",   "17",        "Torch.exp." };
    static const char *const apis[] = { " Torch.add: ",  " Torch.mul: ", " Torch.div.x1: ",
                                        " Torch.log1: ", " 17: ",        " Torch.exp.: " };
    struct summary summary = { 0 };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        add_note(&summary, calls[i], (struct row_note){ .verdict = VERDICT_ERROR, .sentence = "" });
    char *text = printed(&summary, false);
    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++)
        ck_assert_msg(strstr(text, apis[i]) != NULL, "%s in %s", apis[i], text);
    free(text);
    summary_release(&summary);
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
        ck_assert_uint_eq(summary.unread, 2);
        struct ci_counts counts = summary_ci_counts(&summary);
        ck_assert_uint_eq(counts.errors, 2 * (rows[i].verdict == VERDICT_ERROR));
        ck_assert_uint_eq(counts.warnings, 2 * (rows[i].verdict == VERDICT_WARNING));
        ck_assert_uint_eq(counts.skipped, rows[i].verdict == VERDICT_SKIP);
        ck_assert_uint_eq(counts.judged, 2);
        ck_assert_uint_eq(counts.all, 2);
    }
}
END_TEST

/* By API: errors before warnings, then the farthest beyond what is allowed, of equals the one met first;
 * each by its worst row, ten at most. What a text holds cannot rule the terminal. */
START_TEST(failing_apis_come_worst_first)
{
    static const struct {
        const char *call;
        enum verdict verdict;
        double excess;
        const char *sentence;
    } rows[] = {
        { "Torch.warned.0", VERDICT_WARNING, INFINITY, "says nothing" },
        { "Torch.mixed.0", VERDICT_WARNING, 1e9, "a warning" },
        { "Torch.mixed.1", VERDICT_ERROR, 2, "an error" },
        { "Torch.mixed.2", VERDICT_ERROR, 1.5, "a smaller one" },
        { "Torch.linalg.inv.3", VERDICT_ERROR, 10, "ten times over" },
        { "Torch.linalg.inv.4", VERDICT_ERROR, 10, "later" },
        { "Torch.crash.7", VERDICT_ERROR, INFINITY, "the kernel\nended by\x1b signal 11" },
        { "odd\tname", VERDICT_ERROR, 1, "at its limit" },
    };
    struct summary summary = { .earlier = 1, .unread = 1 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_note(&summary, rows[i].call,
                 (struct row_note){ .verdict = rows[i].verdict,
                                    .sentence = (char *)rows[i].sentence,
                                    .excess = rows[i].excess });
    add_note(&summary, "Torch.linalg.inv.5",
             (struct row_note){ .verdict = VERDICT_SKIP,
                                .cause = CAUSE_NOTHING_TO_JUDGE,
                                .sentence = (char *)"None" });
    char *text = printed(&summary, false);
    ck_assert_str_eq(strstr(text, "\nfailing"),
                     "\nfailing (of this part of the run): 8 rows of 5 APIs\n"
                     "  error    Torch.crash: 1 of 1 call\n"
                     "             Torch.crash.7.forward.output.0: the kernel ended by  signal 11\n"
                     "  error    Torch.linalg.inv: 2 of 3 calls\n"
                     "             Torch.linalg.inv.3.forward.output.0: ten times over\n"
                     "  error    Torch.mixed: 3 of 3 calls\n"
                     "             Torch.mixed.1.forward.output.0: an error\n"
                     "  error    odd name: 1 of 1 call\n"
                     "             odd name.forward.output.0: at its limit\n"
                     "  warning  Torch.warned: 1 of 1 call\n"
                     "             Torch.warned.0.forward.output.0: says nothing\n"
                     "\nskipped rows (of this part of the run)\n"
                     "       1  None [Torch.linalg.inv.5.forward.output.0]\n");
    free(text);
    size_t length;
    FILE *out = open_memstream(&text, &length);
    summary_print(out, &summary, "probe-ut case --name ", false);
    fclose(out);
    ck_assert_ptr_nonnull(
        strstr(text, "  the worst again: probe-ut case --name Torch.crash.7.forward.output.0\n"));
    free(text);
    summary_release(&summary);
}
END_TEST

START_TEST(many_apis_are_cut)
{
    struct summary summary = { 0 };
    char call[32];
    for (int i = 0; i < 25; i++) {
        snprintf(call, sizeof call, "Torch.api%c.0", 'a' + i);
        add_note(
            &summary, call,
            (struct row_note){ .verdict = VERDICT_ERROR, .sentence = (char *)"s", .excess = i });
    }
    char *text = printed(&summary, false);
    ck_assert_ptr_nonnull(strstr(text, "\nfailing: 25 rows of 25 APIs\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n  and 15 more APIs\n"));
    size_t before = 0;
    for (int i = 24; i > 14; i--) {
        snprintf(call, sizeof call, " Torch.api%c: ", 'a' + i);
        ck_assert_msg(strstr(text, call) != NULL, "%s is not there", call);
        size_t here = (size_t)(strstr(text, call) - text);
        ck_assert_msg(here > before, "%s is not in its place", call);
        before = here;
    }
    free(text);
    summary_release(&summary);
}
END_TEST

/* Reasons by kind, whatever call, API and sizes they name; by count, twelve are shown, 256 told apart. */
START_TEST(reasons_are_counted)
{
    struct summary summary = { 0 };
    static const struct {
        const char *call, *sentence;
        enum row_cause cause;
    } rows[] = {
        { "Torch.a.0", "Torch.a.0 needs 1024 bytes", CAUSE_NO_INPUTS },
        { "Torch.linalg.b.12", "Torch.linalg.b.12 needs 7 bytes", CAUSE_NO_INPUTS },
        { "Torch.c.0", "API c in black list", CAUSE_LISTS },
        { "Torch.d.0", "API d in black list", CAUSE_LISTS },
        { "Torch.e.0", "e has no kernel", CAUSE_DEVICE_DECLINED },
        { "Torch.f.0", "f has no kernel", CAUSE_DEVICE_DECLINED },
        { "Torch.g.0", "g has no kernel", CAUSE_DEVICE_DECLINED },
        { "Torch.g.1", "g has no kernel", CAUSE_NO_REFERENCE },
        { "Torch.h.0", "The device failed in the forward.", CAUSE_DEVICE_FAILED },
        { "Torch.i.0", "Torch.i.0 input.1: no directory 'x'", CAUSE_NO_INPUTS },
        { "Torch.i.1", "Torch.i.1 kwargs.out: no directory 'x'", CAUSE_NO_INPUTS },
        { "Torch.j.0", "Torch.j.0 cotangent.0.2: no directory 'x'", CAUSE_NO_INPUTS },
        { "Torch.j.1", "Torch.j.1 cannot say", CAUSE_NO_INPUTS },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_note(&summary, rows[i].call,
                 (struct row_note){ .verdict = VERDICT_SKIP,
                                    .cause = rows[i].cause,
                                    .sentence = (char *)rows[i].sentence });
    char *shown = printed(&summary, false);
    ck_assert_str_eq(
        strstr(shown, "\nskipped"),
        "\nskipped rows\n"
        "       3  Torch.i.0 input.1: no directory 'x' [Torch.i.0.forward.output.0, ...]\n"
        "       3  e has no kernel [Torch.e.0.forward.output.0, ...]\n"
        "       2  left out by the white and black list [Torch.c.0.forward.output.0, ...]\n"
        "       2  Torch.a.0 needs 1024 bytes [Torch.a.0.forward.output.0, ...]\n"
        "       1  Torch.j.1 cannot say [Torch.j.1.forward.output.0]\n"
        "       1  g has no kernel [Torch.g.1.forward.output.0]\n");
    free(shown);
    summary_release(&summary);

    for (int kind = 0; kind < SUMMARY_REASONS + 3; kind++) {
        char text[8] = { (char)('a' + kind % 26), (char)('a' + kind / 26), '\0' };
        add_note(&summary, "Torch.z.0",
                 (struct row_note){
                     .verdict = VERDICT_SKIP, .cause = CAUSE_NO_INPUTS, .sentence = text });
    }
    shown = printed(&summary, false);
    ck_assert_ptr_nonnull(strstr(shown, "     247  for other reasons\n"));
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
        ck_ok(summary_add(&summary, &outcome, "Torch.add.0", 0));
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
    summary_release(&summary);
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

/* What is waited for, with the time once it is long; a line that is longer than a terminal is cut. */
START_TEST(progress_names_the_call)
{
    char *text, name[300];
    size_t length;
    struct progress progress;
    FILE *out = open_memstream(&text, &length);
    progress_start(&progress, out, true, 10, 0, 0, 100);
    progress.terminal = true;
    progress_wait_for(&progress, "Torch.matmul.3", 100);
    progress_show(&progress, 100);
    progress_wait_for(&progress, "Torch.matmul.3", 101);
    progress_show(&progress, 112);
    progress_wait_for(&progress, "Torch.add.4", 112);
    progress_show(&progress, 113);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    progress_wait_for(&progress, name, 113);
    progress_show(&progress, 114);
    fclose(out);
    static const char expected[] =
        "\r\033[K0/10  failing 0  Torch.matmul.3"
        "\r\033[K0/10  failing 0  Torch.matmul.3 for 12 s"
        "\r\033[K0/10  failing 0  Torch.add.4\r\033[K0/10  failing 0  xxx";
    ck_assert_msg(!strncmp(text, expected, sizeof expected - 1), "%s", text);
    ck_assert_uint_eq(strlen(strrchr(text, '\r')), strlen("\r\033[K") + 100);
    free(text);
}
END_TEST

/* A line for each tenth that is new since the last one, two seconds apart. */
START_TEST(progress_in_a_log)
{
    static const struct stage stages[] = {
        { 100, 27, 1, "" },
        { 101, 31, 1, "" },
        { 102, 32, 2, "probe-ut: 30 % (32 of 100 calls), 2 failing\n" },
        { 103, 39, 2, "" },
        { 104, 67, 2, "probe-ut: 60 % (67 of 100 calls), 2 failing\n" },
        { 104, 90, 3, "" },
        { 106, 100, 3, "probe-ut: 100 % (100 of 100 calls), 3 failing\n" },
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
    tcase_add_test(tests, calls_are_told_by_api);
    tcase_add_test(tests, earlier_calls_are_counted_by_their_cells);
    tcase_add_test(tests, failing_apis_come_worst_first);
    tcase_add_test(tests, many_apis_are_cut);
    tcase_add_test(tests, reasons_are_counted);
    tcase_add_test(tests, references_are_summed);
    tcase_add_test(tests, calls_without_their_rows);
    tcase_add_test(tests, progress_on_a_terminal);
    tcase_add_test(tests, progress_names_the_call);
    tcase_add_test(tests, progress_in_a_log);
    tcase_add_loop_test(tests, no_progress_when_not_wanted_or_nothing_to_do, 0, 2);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
