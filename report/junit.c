/* Counts stand before the cases, so the cases are kept in memory: some 200 bytes for a passed one. A call has
 * one time, which stands with its forward: its backward ran along. */
#include "report/junit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/new_file.h"
#include "report/junit_cases.h"
#include "report/xml_text.h"

enum element { ELEMENT_NONE, ELEMENT_FAILURE, ELEMENT_SKIPPED, ELEMENT_OUTPUT };

/* A pass says nothing: outputs of it that were skipped are no news. */
static enum element element_of(const struct junit_case *c, enum failing failing)
{
    if (c->verdict == VERDICT_PASS) return ELEMENT_NONE;
    if (failing_severity(failing, c->verdict)) return ELEMENT_FAILURE;
    return c->verdict == VERDICT_WARNING ? ELEMENT_OUTPUT : ELEMENT_SKIPPED;
}

static void append_format(struct text_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append_format(struct text_out *out, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_out_string(out, text);
}

static void append_attribute(struct text_out *out, const char *name, const char *text,
                             size_t length)
{
    append_format(out, " %s=\"", name);
    xml_text_append(out, text, length);
    text_out_string(out, "\"");
}

/* ---- cases ------------------------------------------------------------------------------ */

struct report {
    const struct junit_suite *suite;
    const struct run_record *record; /* of the suite, or NULL */
    enum failing failing;
    struct junit_cases cases;
};

/* NaN when it is unknown. */
static double seconds_of(const struct report *report, uint32_t number)
{
    const struct junit_case *c = &report->cases.items[number];
    const char *name = text_table_get(&report->cases.names, number, NULL);
    if (!report->suite->seconds || !c->call_length) return NAN;
    double seconds = call_seconds_of(report->suite->seconds, name, c->call_length);
    return c->backward && !isnan(seconds) ? 0 : seconds;
}

/* The class is the API: type and name, without the number of the call. */
static size_t class_length(const char *name, const struct junit_case *c, size_t length)
{
    size_t class = c->call_length;
    while (class && name[class - 1] != '.') class --;
    return class > 1 ? class - 1 : length;
}

static void append_content(struct text_out *out, const struct junit_case *c, enum element element)
{
    static const char *const names[] = { [ELEMENT_FAILURE] = "failure",
                                         [ELEMENT_SKIPPED] = "skipped",
                                         [ELEMENT_OUTPUT] = "system-out" };
    append_format(out, ">\n      <%s", names[element]);
    if (element != ELEMENT_OUTPUT) {
        append_format(out, " type=\"%s\"", verdict_name(c->verdict));
        append_attribute(out, "message", c->sentence ? c->sentence : "",
                         c->sentence ? strlen(c->sentence) : 0);
    }
    text_out_string(out, ">");
    text_out_bytes(out, c->notes.data, c->notes.length);
    append_format(out, "</%s>\n    </testcase>\n", names[element]);
}

static void append_case(struct text_out *out, const struct report *report, uint32_t number)
{
    const struct junit_case *c = &report->cases.items[number];
    enum element element = element_of(c, report->failing);
    double seconds = seconds_of(report, number);
    size_t length;
    const char *name = text_table_get(&report->cases.names, number, &length);

    text_out_string(out, "    <testcase");
    append_attribute(out, "classname", name, class_length(name, c, length));
    append_attribute(out, "name", name, length);
    if (!isnan(seconds)) append_format(out, " time=\"%.6f\"", seconds);
    if (element == ELEMENT_NONE) text_out_string(out, "/>\n");
    else append_content(out, c, element);
}

/* ---- the suite -------------------------------------------------------------------------- */

/* "run_ut m2/step0/rank0 torch:npu": the last folders above the dump, and the backend. */
static void append_run_name(struct text_out *out, const struct run_record *record)
{
    const char *dump = run_record_about(record, "dump"),
               *backend = run_record_text(record, "backend");
    const char *slash = dump ? strrchr(dump, '/') : NULL, *from = slash;
    for (int folders = 0; slash && from > dump && folders < 3; folders += *from == '/') from--;
    if (slash && *from == '/') from++;
    text_out_string(out, "run_ut");
    if (slash && slash > from) {
        text_out_string(out, " ");
        xml_text_append(out, from, (size_t)(slash - from));
    }
    if (!backend) return;
    text_out_string(out, " ");
    xml_text_append(out, backend, strlen(backend));
}

static void append_property(struct text_out *out, const char *name, const char *value)
{
    if (!value) return;
    text_out_string(out, "      <property");
    append_attribute(out, "name", name, strlen(name));
    append_attribute(out, "value", value, strlen(value));
    text_out_string(out, "/>\n");
}

/* What was run, where and how. */
static void append_properties(struct text_out *out, const struct run_record *record)
{
    static const char *const of_record[] = { "version", "backend", "profile" };
    static const char *const about[] = { "dump", "command", "device" };
    text_out_string(out, "    <properties>\n");
    for (size_t i = 0; i < sizeof of_record / sizeof *of_record; i++)
        append_property(out, of_record[i], run_record_text(record, of_record[i]));
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        append_property(out, about[i], run_record_about(record, about[i]));
    text_out_string(out, "    </properties>\n");
}

/* The date is "2026-11-22T14:18:05+0100"; JUnit's has no zone. */
static void append_origin(struct text_out *out, const struct run_record *record)
{
    enum { DATE_AND_TIME = 19 };
    const char *date = run_record_about(record, "date"), *host = run_record_about(record, "host");
    if (date && strlen(date) >= DATE_AND_TIME)
        append_attribute(out, "timestamp", date, DATE_AND_TIME);
    if (host) append_attribute(out, "hostname", host, strlen(host));
}

static void append_counts(struct text_out *out, const struct report *report)
{
    size_t counts[ELEMENT_OUTPUT + 1] = { 0 };
    double all = 0;
    for (uint32_t i = 0; i < report->cases.names.count; i++) {
        double seconds = seconds_of(report, i);
        counts[element_of(&report->cases.items[i], report->failing)]++;
        if (!isnan(seconds)) all += seconds;
    }
    append_format(out, " tests=\"%u\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\"",
                  report->cases.names.count, counts[ELEMENT_FAILURE], counts[ELEMENT_SKIPPED]);
    if (report->suite->seconds) append_format(out, " time=\"%.6f\"", all);
}

static void append_suite(struct text_out *out, const struct report *report)
{
    text_out_string(out, "  <testsuite name=\"");
    if (report->record) append_run_name(out, report->record);
    else xml_text_append(out, report->suite->name, strlen(report->suite->name));
    text_out_string(out, "\"");
    append_counts(out, report);
    if (report->record) append_origin(out, report->record);
    text_out_string(out, ">\n");
    if (report->record) append_properties(out, report->record);
    for (uint32_t i = 0; i < report->cases.names.count; i++) append_case(out, report, i);
    text_out_string(out, "  </testsuite>\n");
}

static struct status write_text(const struct file *file, const char *text)
{
    return file_write_all(file, text, strlen(text));
}

static struct status write_report(const struct file *file, const struct report *report)
{
    struct text_out text = { .status.code = STATUS_OK };
    append_suite(&text, report);
    if (!text.status.code) text.status = file_write_all(file, text.text.data, text.text.length);
    csv_buffer_release(&text.text);
    return text.status;
}

static struct status write_suite(const struct file *file, const struct junit_suite *suite,
                                 enum failing failing)
{
    struct run_record read = { .object = NULL };
    struct report report = { .suite = suite, .record = suite->record, .failing = failing };
    if (suite->record_path) TRY(run_record_read(&read, suite->record_path, FILES_TRUSTED));
    if (read.object) report.record = &read;
    struct status status =
        junit_cases_read(&report.cases, suite->details_path, suite->evidence_path);
    if (!status.code) status = write_report(file, &report);
    junit_cases_release(&report.cases);
    run_record_release(&read);
    return status;
}

struct status junit_write(const char *path, const struct junit_suite *suites, size_t count,
                          enum failing failing)
{
    struct new_file out;
    TRY(new_file_create(&out, path));
    struct status status =
        write_text(&out.file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (size_t i = 0; i < count && !status.code; i++)
        status = write_suite(&out.file, &suites[i], failing);
    if (!status.code) status = write_text(&out.file, "</testsuites>\n");
    return new_file_end(&out, status);
}
