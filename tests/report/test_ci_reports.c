/* JUnit reports, baselines, and the exit statuses that go with them. The XML is checked by the
 * counts in its head, by its elements, and by xmllint where that is installed. */
#include <check.h>

#include "core/file.h"
#include "core/memory.h"
#include "report/baseline.h"
#include "report/ci_reports.h"
#include "report/junit.h"
#include "support/suite.h"
#include "support/workspace.h"

#define ck_ok(expression)                                                   \
    do {                                                                    \
        struct status ck_status_ = (expression);                            \
        ck_assert_msg(ck_status_.code == STATUS_OK, "%s", ck_status_.text); \
    } while (0)

static const char rows[] = "API Name,Status,Message\r\n"
                           "Torch.add.0.forward.output.0,pass,fine\r\n"
                           "Torch.add.0.forward.output.1,SKIP,none\r\n"
                           "Torch.add.0.backward.output.0,error,\"a < b & \"\"c\"\"\n\x01\xff\"\r\n"
                           "Torch.linalg.inv.3.forward.output.0,Warning,w\r\n"
                           "Torch.to.0.forward.output.0,SKIP,\"API to, SKIP.\"\r\n"
                           "odd,error,\r\n"
                           "Torch.add.0.backward.output.1,error,again\r\n";

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

/* Against the shape that JUnit reports have, where xmllint is installed. */
static void validate(const char *xml)
{
    char command[1200];
    snprintf(command, sizeof command,
             "if command -v xmllint >/dev/null; then xmllint --noout --schema "
             "'" PROBE_SOURCE_DIR "/tests/report/junit.xsd' '%s' 2>&1; fi",
             xml);
    ck_assert_int_eq(system(command), 0);
}

static char *report_of(const struct workspace *w, const char *text, enum failing failing)
{
    char details[512], xml[512];
    snprintf(details, sizeof details, "%s", in(w, "details.csv"));
    snprintf(xml, sizeof xml, "%s", in(w, "report.xml"));
    write_text(details, text);
    const struct junit_suite suite = { .details_path = details, .name = "suite & more" };
    ck_ok(junit_write(xml, &suite, 1, failing));
    validate(xml);
    ck_assert_uint_eq(count_matches(w, "*.part"), 0);
    return read_file(xml, NULL);
}

START_TEST(junit_of_a_run)
{
    struct workspace w = workspace_make();
    char *xml = report_of(&w, rows, FAILING_ERRORS);
    ck_assert_ptr_nonnull(strstr(xml, "<testsuite name=\"suite &amp; more\" tests=\"5\" "
                                      "failures=\"2\" errors=\"0\" skipped=\"1\">\n"));
    ck_assert_ptr_nonnull(
        strstr(xml, "<testcase classname=\"Torch.add\" name=\"Torch.add.0.forward\"/>\n"));
    ck_assert_ptr_nonnull(
        strstr(xml, "<testcase classname=\"Torch.add\" name=\"Torch.add.0.backward\">\n"
                    "      <failure type=\"error\" message=\"a &lt; b &amp; &quot;c&quot;\">"
                    "Torch.add.0.backward.output.0: error\n"
                    "a &lt; b &amp; &quot;c&quot;\n\xef\xbf\xbd\xef\xbf\xbd\n"
                    "Torch.add.0.backward.output.1: error\nagain\n</failure>\n"));
    ck_assert_ptr_nonnull(strstr(xml, "<testcase classname=\"Torch.linalg.inv\" "
                                      "name=\"Torch.linalg.inv.3.forward\">\n      <system-out>"));
    ck_assert_ptr_nonnull(strstr(
        xml, "<skipped type=\"SKIP\" message=\"API to, SKIP.\">Torch.to.0.forward.output.0: SKIP\n"
             "API to, SKIP.\n</skipped>"));
    ck_assert_ptr_nonnull(strstr(xml, "<testcase classname=\"odd\" name=\"odd\">"));
    ck_assert_uint_eq(count_of(xml, "<testcase "), 5);
    free(xml);

    /* a warning fails when asked; the older report is replaced */
    xml = report_of(&w, rows, FAILING_WARNINGS);
    ck_assert_ptr_nonnull(strstr(xml, "failures=\"3\""));
    ck_assert_ptr_nonnull(
        strstr(xml, "<failure type=\"warning\" message=\"w\">Torch.linalg.inv.3"));
    free(xml);
    workspace_remove(&w);
}
END_TEST

static const char evidence_lines[] =
    "{\"name\":\"Torch.add.0.forward.output.0\",\"verdict\":\"pass\",\"evidence\":{}}\n"
    "{\"name\":\"Torch.add.0.backward.output.0\",\"verdict\":\"error\",\"sentence\":\"cosine 0.5, "
    "limit 0.99, worst at [1,2]\",\"called from\":\"a.py:7 in f: x < y\",\"repeat\":\"probe-ut "
    "case "
    "--name Torch.add.0\",\"message\":\"long\"}\n"
    "{\"name\":\"Torch.linalg.inv.3.forward.output.0\",\"verdict\":\"warning\",\"sentence\":7}\n"
    "{\"name\":\"odd\",\"verdict\":\"error\",\"sentence\":\"torn";

/* What the evidence and the run file say is in the report: the sentence as the message, the line of source and
 * the command beside it, the time of a call with its forward, the run's name, date and host. */
START_TEST(junit_with_evidence)
{
    struct workspace w = workspace_make();
    struct run_record record = { 0 };
    struct call_seconds seconds = { 0 };
    write_text(in(&w, "details.csv"), rows);
    write_text(in(&w, "evidence.jsonl"), evidence_lines);
    ck_ok(run_record_create(&record));
    ck_ok(run_record_add_text(&record, "backend", "torch:npu"));
    ck_ok(run_record_add_about(&record, "dump", "/data/llama/step0/rank3/dump.json"));
    ck_ok(run_record_add_about(&record, "date", "2026-11-22T14:18:05+0100"));
    ck_ok(run_record_add_about(&record, "host", "node7"));
    ck_ok(run_record_add_about(&record, "device", "PyTorch 2.4 & npu"));
    ck_ok(call_seconds_add(&seconds, "Torch.add.0", 0.25));
    ck_ok(call_seconds_add(&seconds, "Torch.to.0", 1.5));
    const struct junit_suite suite = { .details_path = in(&w, "details.csv"),
                                       .evidence_path = in(&w, "evidence.jsonl"),
                                       .record = &record,
                                       .seconds = &seconds };
    ck_ok(junit_write(in(&w, "report.xml"), &suite, 1, FAILING_ERRORS));
    validate(in(&w, "report.xml"));
    char *xml = read_file(in(&w, "report.xml"), NULL);
    static const char *const parts[] = {
        "<testsuite name=\"run_ut llama/step0/rank3 torch:npu\" tests=\"5\" failures=\"2\" "
        "errors=\"0\" skipped=\"1\" time=\"1.750000\" timestamp=\"2026-11-22T14:18:05\" "
        "hostname=\"node7\">\n",
        "<property name=\"dump\" value=\"/data/llama/step0/rank3/dump.json\"/>\n",
        "<property name=\"device\" value=\"PyTorch 2.4 &amp; npu\"/>\n",
        "name=\"Torch.add.0.forward\" time=\"0.250000\"/>\n",
        "name=\"Torch.add.0.backward\" time=\"0.000000\">\n      <failure type=\"error\" "
        "message=\"cosine 0.5, limit 0.99, worst at [1,2]\">Torch.add.0.backward.output.0: error\n"
        "  cosine 0.5, limit 0.99, worst at [1,2]\n  called from a.py:7 in f: x &lt; y\n"
        "  again: probe-ut case --name Torch.add.0\na &lt; b",
        "name=\"Torch.linalg.inv.3.forward\">\n      <system-out>",
        "name=\"Torch.to.0.forward\" time=\"1.500000\">\n      <skipped",
        "<failure type=\"error\" message=\"error\">odd: error\n</failure>",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(xml, parts[i]) != NULL, "'%s' in\n%s", parts[i], xml);
    free(xml);
    run_record_release(&record);
    call_seconds_release(&seconds);
    workspace_remove(&w);
}
END_TEST

/* Messages of any bytes make valid XML: every byte, and UTF-8 that is broken in every way. */
START_TEST(junit_of_any_bytes)
{
    /* clang-format off */
    static const char *const texts[] = {
        "\xe8\xaf\xaf", "\xf0\x9f\x98\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xef\xbf\xbe", "\xef\xbf\xbf",
        "\xe8\xaf", "\xe8", "\x80", "\xc3(", "]]>", "\x7f",
    };
    /* clang-format on */
    struct workspace w = workspace_make();
    char text[4096] = "API Name,Status,Message\n";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "a%zu,error,%s\n", i, texts[i]);
    for (int c = 1; c < 256; c++) {
        if (c == '\n' || c == '\r' || c == '"' || c == ',') continue;
        snprintf(text + strlen(text), sizeof text - strlen(text), "b%d,error,%c\n", c, c);
    }
    char *xml = report_of(&w, text, FAILING_ERRORS);
    ck_assert_uint_eq(count_of(xml, "<failure"), sizeof texts / sizeof *texts + 251);
    ck_assert_ptr_nonnull(strstr(xml, "a0: error\n\xe8\xaf\xaf\n"));
    ck_assert_ptr_nonnull(strstr(xml, "a1: error\n\xf0\x9f\x98\x80\n"));
    ck_assert_ptr_nonnull(strstr(xml, "a2: error\n\xef\xbf\xbd\xef\xbf\xbd\n"));
    ck_assert_ptr_nonnull(strstr(xml, "a13: error\n\xef\xbf\xbd(\n"));
    free(xml);
    workspace_remove(&w);
}
END_TEST

/* Characters at both ends of what each first byte may lead stay as they are. */
START_TEST(junit_of_every_length_of_character)
{
    /* clang-format off */
    static const char *const texts[] = {
        "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xe0\xbf\xbf", "\xe1\x80\x80", "\xed\x80\x80", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xef\xbc\xa0", "\xef\xbf\xbd", "\xf0\x90\x80\x80", "\xf3\xbf\xbf\xbd", "\xf4\x80\x80\x80",
        "\xf4\x8f\xbf\xbd", "\x20", "\x7e",
    };
    /* clang-format on */
    enum { N = sizeof texts / sizeof *texts };
    struct workspace w = workspace_make();
    char text[2048] = "API Name,Status,Message\n", expected[64];
    for (size_t i = 0; i < N; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "a%zu,error,.%s.\n", i, texts[i]);
    char *xml = report_of(&w, text, FAILING_ERRORS);
    ck_assert_uint_eq(count_of(xml, "<failure"), N);
    ck_assert_uint_eq(count_of(xml, ".\xef\xbf\xbd."), 2); /* the one that was there, twice */
    for (size_t i = 0; i < N; i++) {
        snprintf(expected, sizeof expected, "a%zu: error\n.%s.\n", i, texts[i]);
        ck_assert_msg(strstr(xml, expected) != NULL, "character %zu", i);
    }
    free(xml);
    workspace_remove(&w);
}
END_TEST

/* ---- baselines -------------------------------------------------------------------------- */

static const char before[] = "API Name,Status\n"
                             "still,error\n"
                             "fixed,error\n"
                             "softer,error\n"
                             "skipped,error\n"
                             "gone,error\n"
                             "worse,pass\n"
                             "warned,warning\n"
                             "fine,pass\n";
static const char now[] = "API Name,比对结果\n"
                          "fine,pass\n"
                          "still,error\n"
                          "fixed,pass\n"
                          "softer,Warning\n"
                          "skipped,SKIP\n"
                          "worse,error\n"
                          "warned,warning\n"
                          "appeared,error\n";

static struct baseline baseline_of(const struct workspace *w, enum failing failing)
{
    struct baseline baseline = { 0 };
    write_text(in(w, "old.csv"), before);
    write_text(in(w, "new.csv"), now);
    ck_ok(baseline_compare(&baseline, NULL, in(w, "old.csv"), in(w, "new.csv"), failing,
                           FILES_TRUSTED));
    return baseline;
}

START_TEST(baseline_kinds)
{
    struct workspace w = workspace_make();
    struct baseline b = baseline_of(&w, FAILING_ERRORS);
    ck_assert_uint_eq(b.counts[BASELINE_NEW], 2);
    ck_assert_str_eq(b.names[BASELINE_NEW][0], "worse");
    ck_assert_str_eq(b.names[BASELINE_NEW][1], "appeared");
    ck_assert_uint_eq(b.counts[BASELINE_STILL], 1);
    ck_assert_str_eq(b.names[BASELINE_STILL][0], "still");
    ck_assert_uint_eq(b.counts[BASELINE_FIXED], 2);
    ck_assert_str_eq(b.names[BASELINE_FIXED][0], "fixed");
    ck_assert_str_eq(b.names[BASELINE_FIXED][1], "softer");
    ck_assert_uint_eq(b.counts[BASELINE_GONE], 2);
    ck_assert_str_eq(b.names[BASELINE_GONE][0], "skipped");
    ck_assert_str_eq(b.names[BASELINE_GONE][1], "gone");
    baseline_release(&b);

    b = baseline_of(&w, FAILING_WARNINGS);
    ck_assert_uint_eq(b.counts[BASELINE_STILL], 3); /* still, softer, warned */
    ck_assert_uint_eq(b.counts[BASELINE_FIXED], 1);
    ck_assert_uint_eq(b.counts[BASELINE_NEW], 2);
    baseline_release(&b);
    workspace_remove(&w);
}
END_TEST

START_TEST(long_baselines_are_cut)
{
    struct workspace w = workspace_make();
    char text[4096] = "API Name,Status\n";
    write_text(in(&w, "old.csv"), text);
    for (int i = 0; i < 50; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "row%d,error\n", i);
    write_text(in(&w, "new.csv"), text);
    struct baseline b = { 0 };
    ck_ok(baseline_compare(&b, NULL, in(&w, "old.csv"), in(&w, "new.csv"), FAILING_ERRORS,
                           FILES_TRUSTED));
    ck_assert_uint_eq(b.counts[BASELINE_NEW], 50);
    FILE *out = fopen(in(&w, "out.txt"), "w");
    baseline_print(out, &b);
    fclose(out);
    char *printed = read_file(in(&w, "out.txt"), NULL);
    ck_assert_ptr_nonnull(strstr(printed, "    row19\n    and 30 more\n"));
    ck_assert_ptr_null(strstr(printed, "row20"));
    free(printed);
    baseline_release(&b);
    workspace_remove(&w);
}
END_TEST

/* What got worse is no known failure. */
START_TEST(warnings_that_became_errors)
{
    static const struct {
        const char *old, *new;
        enum failing failing;
        enum baseline_change change; /* BASELINE_CHANGES: none to speak of */
    } cases[] = {
        { "warning", "error", FAILING_WARNINGS, BASELINE_WORSE },
        { "error", "warning", FAILING_WARNINGS, BASELINE_STILL },
        { "warning", "error", FAILING_ERRORS, BASELINE_NEW },
        { "pass", "SKIP", FAILING_SKIPS, BASELINE_NEW },
        { "pass", "SKIP", FAILING_WARNINGS, BASELINE_CHANGES },
        { "SKIP", "error", FAILING_SKIPS, BASELINE_WORSE },
        { "SKIP", "SKIP", FAILING_SKIPS, BASELINE_STILL },
        { "SKIP", "pass", FAILING_SKIPS, BASELINE_FIXED },
    };
    struct workspace w = workspace_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char old[64], new[64];
        struct baseline b = { 0 };
        snprintf(old, sizeof old, "API Name,Status\nrow,%s\n", cases[i].old);
        snprintf(new, sizeof new, "API Name,Status\nrow,%s\n", cases[i].new);
        write_text(in(&w, "old.csv"), old);
        write_text(in(&w, "new.csv"), new);
        ck_ok(baseline_compare(&b, NULL, in(&w, "old.csv"), in(&w, "new.csv"), cases[i].failing,
                               FILES_TRUSTED));
        for (enum baseline_change change = 0; change < BASELINE_CHANGES; change++)
            ck_assert_msg(b.counts[change] == (change == cases[i].change), "case %zu, change %d", i,
                          (int)change);
        baseline_release(&b);
    }
    workspace_remove(&w);
}
END_TEST

START_TEST(exit_statuses)
{
    static const struct {
        const char *fail_on, *min_judged;
        struct ci_counts counts;
        int status;
    } cases[] = {
        { NULL, NULL, { .errors = 3, .judged = 3, .all = 3 }, 0 },
        { "error", NULL, { .errors = 3, .judged = 3, .all = 3 }, 1 },
        { "error", NULL, { .warnings = 3, .skipped = 1, .judged = 3, .all = 4 }, 0 },
        { "warning", NULL, { .warnings = 1, .judged = 3, .all = 3 }, 1 },
        { "warning", NULL, { .skipped = 1, .judged = 3, .all = 4 }, 0 },
        { "skip", NULL, { .skipped = 1, .judged = 3, .all = 4 }, 1 },
        { "skip", NULL, { .judged = 3, .all = 3 }, 0 },
        { NULL, NULL, { .skipped = 4, .all = 4 }, 5 },
        { "skip", "1", { .skipped = 4, .all = 4 }, 5 },
        { NULL, NULL, { .all = 0 }, 5 },
        { NULL, "75%", { .skipped = 1, .judged = 3, .all = 4 }, 0 },
        { NULL, "75.1%", { .skipped = 1, .judged = 3, .all = 4 }, 1 },
        { NULL, "3", { .skipped = 1, .judged = 3, .all = 4 }, 0 },
        { NULL, "4", { .skipped = 1, .judged = 3, .all = 4 }, 1 },
        { NULL, "0%", { .skipped = 3, .judged = 1, .all = 4 }, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ci_options options = { .fail_on = cases[i].fail_on,
                                            .min_judged = cases[i].min_judged };
        int status = -1;
        ck_ok(ci_check(&options));
        const struct ci_subject subject = { .details_path = "unread", .suite = "suite" };
        ck_ok(ci_report(&status, &options, &subject, 1, &cases[i].counts));
        ck_assert_msg(status == cases[i].status, "case %zu: status %d", i, status);
    }
    static const char *const wrong[] = { "", "x", "-1", "101%", "3.5", "5 %", "1e3", "%", "nan%" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct ci_options options = { .min_judged = wrong[i] };
        ck_assert_msg(ci_check(&options).code == STATUS_BAD_ARGUMENT, "'%s'", wrong[i]);
    }
}
END_TEST

/* ---- commands --------------------------------------------------------------------------- */

#define INPUTS PROBE_TEST_DATA "/three_way/inputs/"

static struct outcome compare(const struct workspace *w, const char *npu, const char *option,
                              const char *value)
{
    return run_program(w, "api_precision_compare", "-npu", npu, "-gpu", INPUTS "m1_dev_b.csv", "-o",
                       "out", "--junit", "report.xml", "--trust-files", option, value, NULL);
}

/* A comparison against its own result has no new failure, though it has failures; against one
 * without failures all are new. */
START_TEST(comparison_with_a_baseline)
{
    struct workspace w = workspace_make();
    struct outcome o = compare(&w, INPUTS "m1_dev_a.csv", "--fail-on", "error");
    ck_assert_int_eq(o.status, 1);
    outcome_free(&o);
    char *xml = read_file(in(&w, "report.xml"), NULL);
    ck_assert_ptr_nonnull(strstr(xml, "<testsuite name=\"api_precision_compare " INPUTS
                                      "m1_dev_a.csv against " INPUTS "m1_dev_b.csv\""));
    ck_assert_uint_gt(count_of(xml, "<failure"), 10);
    free(xml);

    ck_assert_int_eq(rename(only_match(&w, "out/*details*"), in(&w, "old.csv")), 0);
    o = compare(&w, INPUTS "m1_dev_a.csv", "--baseline", "old.csv");
    ck_assert_msg(o.status == 0, "%d %s", o.status, o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "new failures                   0\n"));
    outcome_free(&o);

    o = compare(&w, INPUTS "m1_dev_b.csv", "--baseline", "old.csv");
    ck_assert_ptr_null(strstr(o.out, "fixed                          0\n"));
    outcome_free(&o);

    write_text(in(&w, "old.csv"), "API Name,Status\n");
    o = compare(&w, INPUTS "m1_dev_a.csv", "--baseline", "old.csv");
    ck_assert_int_eq(o.status, 1);
    outcome_free(&o);

    o = compare(&w, INPUTS "m1_dev_a.csv", "--baseline", "none.csv");
    ck_assert_int_eq(o.status, 3);
    outcome_free(&o);
    write_text(in(&w, "old.csv"), "name,verdict\n");
    o = compare(&w, INPUTS "m1_dev_a.csv", "--baseline", "old.csv");
    ck_assert_int_eq(o.status, 3);
    ck_assert_ptr_nonnull(strstr(o.err, "old.csv is no details file"));
    outcome_free(&o);
    write_text(in(&w, "old.csv"), "");
    o = compare(&w, INPUTS "m1_dev_a.csv", "--baseline", "old.csv");
    ck_assert_int_eq(o.status, 3);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

START_TEST(run_with_reports)
{
    struct workspace w = workspace_make();
    const char *dump = PROBE_TEST_DATA "/dumps/m5x/L1_statistics/dump.json";
    struct outcome o = run_program(&w, "run_ut", "-api_info", dump, "-o", "out", "--trust-files",
                                   "--junit", "report.xml", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    char *xml = read_file(in(&w, "report.xml"), NULL);
    ck_assert_ptr_nonnull(strstr(xml, "<testsuite name=\"run_ut dumps/m5x/L1_statistics cpu\""));
    ck_assert_ptr_nonnull(
        strstr(xml, "name=\"Functional.multi_head_attention_forward.0.forward\" time=\""));
    validate(in(&w, "report.xml"));
    free(xml);

    /* A place that takes no report is found before the run. */
    o = run_program(&w, "run_ut", "-api_info", dump, "-o", "never", "--trust-files", "--junit",
                    "report.xml/report.xml", NULL);
    ck_assert_msg(o.status == 3, "%d %s", o.status, o.err);
    ck_assert_ptr_nonnull(strstr(o.err, "report.xml"));
    ck_assert_uint_eq(count_matches(&w, "never"), 0);
    outcome_free(&o);
    o = run_program(&w, "run_ut", "-api_info", dump, "-o", "never", "--trust-files", "--junit",
                    "out", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "'out' is a directory"));
    ck_assert_uint_eq(count_matches(&w, "never"), 0);
    outcome_free(&o);

    /* So is a baseline that is no details file. */
    write_text(in(&w, "old.csv"), "name,verdict\n");
    o = run_program(&w, "run_ut", "-api_info", dump, "-o", "never", "--trust-files", "--baseline",
                    "old.csv", NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_ptr_nonnull(strstr(o.err, "old.csv is no details file"));
    ck_assert_uint_eq(count_matches(&w, "never"), 0);
    outcome_free(&o);

    write_text(in(&w, "old.csv"), "API Name,Status\nTorch.other.0.forward.output.0,error\n");
    o = run_program(&w, "run_ut", "-api_info", dump, "-o", "out", "--trust-files", "--baseline",
                    "old.csv", NULL);
    ck_assert_ptr_nonnull(strstr(o.out, "since the baseline"));
    ck_assert_ptr_nonnull(strstr(o.out, "    Torch.other.0.forward.output.0\n"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* A run that judged nothing is no success. */
START_TEST(runs_that_judge_nothing)
{
    struct workspace w = workspace_make();
    const char *dump = PROBE_TEST_DATA "/dumps/m5x/L1_statistics/dump.json";
    write_text(in(&w, "none.json"), "{\"run_ut\": {\"white_list\": [\"hardswish\"]}}");
    struct outcome o = run_program(&w, "run_ut", "-api_info", dump, "-o", "out", "--trust-files",
                                   "-config", "none.json", NULL);
    ck_assert_msg(o.status == 5, "%d %s", o.status, o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "no verdict"));
    outcome_free(&o);
    write_text(in(&w, "some.json"), "{\"run_ut\": {\"black_list\": [\"linear\"]}}");
    dump = PROBE_TEST_DATA "/dumps/m1/L1_statistics/dump.json";
    static const struct {
        const char *option, *value;
        int status;
    } asked[] = { { "--fail-on", "skip", 1 },
                  { "--fail-on", "error", 0 },
                  { "--min-judged", "100%", 1 },
                  { "--min-judged", "1", 0 },
                  { "--min-judged", "most", 2 } };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        o = run_program(&w, "run_ut", "-api_info", dump, "-o", "out", "--trust-files", "-config",
                        "some.json", asked[i].option, asked[i].value, NULL);
        ck_assert_msg(o.status == asked[i].status, "%s %s: %d %s", asked[i].option, asked[i].value,
                      o.status, o.err);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

/* ---- failing resources ------------------------------------------------------------------ */

static size_t operations_left;
static enum file_operation failing_operation;

static int fail_file(enum file_operation operation, const char *path)
{
    (void)path;
    return operation == failing_operation && operations_left-- == 0 ? EIO : 0;
}

static int fail_allocation(size_t bytes)
{
    (void)bytes;
    return operations_left-- == 0;
}

static struct status report_here(const struct workspace *w)
{
    struct ci_options options = { .junit = in(w, "report.xml"),
                                  .has_baseline = true,
                                  .file_policy = FILES_TRUSTED };
    const struct ci_counts counts = { .errors = 1, .judged = 1, .all = 1 };
    int exit_status;
    const struct ci_subject subject = { .details_path = in(w, "details.csv"),
                                        .evidence_path = in(w, "evidence.jsonl"),
                                        .suite = "suite",
                                        .baseline = in(w, "old.csv") };
    return ci_report(&exit_status, &options, &subject, 1, &counts);
}

START_TEST(failing_resources)
{
    static const enum file_operation operations[] = { FILE_OPEN, FILE_READ, FILE_CREATE, FILE_WRITE,
                                                      FILE_RENAME };
    struct workspace w = workspace_make();
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
    write_text(in(&w, "details.csv"), rows);
    write_text(in(&w, "old.csv"), before);
    write_text(in(&w, "evidence.jsonl"), evidence_lines);
    for (size_t i = 0; i < 5; i++) {
        size_t failures = 0;
        failing_operation = operations[i];
        for (size_t n = 0; n < 10; n++) {
            operations_left = n;
            file_fault = fail_file;
            struct status status = report_here(&w);
            file_fault = NULL;
            if (!status.code) continue;
            failures++;
            ck_assert_int_eq(status.code, STATUS_IO);
            ck_assert_uint_eq(count_matches(&w, "*.part"), 0);
        }
        ck_assert_uint_gt(failures, 0);
    }
    for (size_t n = 0;; n++) {
        operations_left = n;
        memory_fault = fail_allocation;
        struct status status = report_here(&w);
        memory_fault = NULL;
        ck_assert_uint_eq(count_matches(&w, "*.part"), 0);
        if (!status.code) break;
        ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
    }
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ci_reports");
    TCase *tests = tcase_create("ci_reports");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, junit_of_a_run);
    tcase_add_test(tests, junit_with_evidence);
    tcase_add_test(tests, junit_of_any_bytes);
    tcase_add_test(tests, junit_of_every_length_of_character);
    tcase_add_test(tests, baseline_kinds);
    tcase_add_test(tests, long_baselines_are_cut);
    tcase_add_test(tests, comparison_with_a_baseline);
    tcase_add_test(tests, run_with_reports);
    tcase_add_test(tests, runs_that_judge_nothing);
    tcase_add_test(tests, exit_statuses);
    tcase_add_test(tests, warnings_that_became_errors);
    tcase_add_test(tests, failing_resources);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
