/* The format is the one that Jenkins, GitLab and GitHub actions read (testsuites / testsuite /
 * testcase with failure, skipped and system-out). Counts stand before the cases, so the cases are
 * kept in memory: some 200 bytes for a passed one. */
#include "report/junit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/text_table.h"
#include "core/whole_file.h"
#include "formats/text_out.h"
#include "results/details_file.h"
#include "results/verdict_file.h"

/* One call and direction. */
struct junit_case {
    unsigned verdicts;       /* bits 1 << verdict of its rows */
    struct csv_buffer notes; /* XML text of the rows that are not a pass */
};

struct report {
    struct text_table names; /* "<call>.<direction>" */
    struct junit_case *cases;
    size_t capacity;
};

/* ---- XML text --------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at `text`; 0 when it is none, or one that XML 1.0 forbids. */
static size_t character_bytes(const unsigned char *text, size_t length)
{
    unsigned char c = text[0];
    if (c < 0x80) return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || n > length) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
    }
    if (c == 0xe0 && text[1] < 0xa0) return 0; /* overlong */
    if (c == 0xf0 && text[1] < 0x90) return 0;
    if (c == 0xf4 && text[1] > 0x8f) return 0;                     /* beyond U+10FFFF */
    if (c == 0xed && text[1] > 0x9f) return 0;                     /* surrogates */
    if (c == 0xef && text[1] == 0xbf && text[2] >= 0xbe) return 0; /* U+FFFE, U+FFFF */
    return n;
}

/* Text of messages and names, for an attribute or between tags. */
static void append_escaped(struct text_out *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t n = character_bytes((const unsigned char *)text + i, length - i);
        const char *replacement = NULL;
        if (!n) replacement = "\xef\xbf\xbd"; /* U+FFFD */
        else if (text[i] == '&') replacement = "&amp;";
        else if (text[i] == '<') replacement = "&lt;";
        else if (text[i] == '>') replacement = "&gt;";
        else if (text[i] == '"') replacement = "&quot;";
        if (replacement) text_out_string(out, replacement);
        else text_out_bytes(out, text + i, n);
        i += n ? n : 1;
    }
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

/* ---- collecting ------------------------------------------------------------------------- */

static struct status find_case(struct junit_case **out, struct report *report,
                               const struct verdict_row *row)
{
    struct row_name name;
    struct csv_text key = row->name;
    uint32_t number;

    /* "Torch.add.0.forward.output.1" belongs to "Torch.add.0.forward". */
    if (row_name_split(&name, row->name))
        key.length = name.full_name.length + strlen(name.backward ? ".backward" : ".forward");
    TRY(text_table_add(&number, NULL, &report->names, key.bytes, key.length));
    if (number >= report->capacity) {
        size_t capacity = report->capacity ? 2 * report->capacity : 1024;
        struct junit_case *cases = memory_resize(report->cases, capacity * sizeof *cases);
        if (!cases) return status_no_memory(capacity * sizeof *cases);
        memset(cases + report->capacity, 0, (capacity - report->capacity) * sizeof *cases);
        report->cases = cases;
        report->capacity = capacity;
    }
    *out = &report->cases[number];
    return status_ok();
}

static struct status collect_row(void *context, const struct verdict_row *row)
{
    struct junit_case *c = NULL;
    TRY(find_case(&c, context, row));
    c->verdicts |= 1u << row->verdict;
    if (row->verdict == VERDICT_PASS) return status_ok();
    struct csv_text message = row->message;
    while (message.length && strchr(" \r\n", message.bytes[message.length - 1])) message.length--;
    struct text_out notes = { .text = c->notes };
    append_escaped(&notes, row->name.bytes, row->name.length);
    append_format(&notes, ": %s\n", verdict_name(row->verdict));
    append_escaped(&notes, message.bytes, message.length);
    if (message.length) text_out_string(&notes, "\n");
    c->notes = notes.text;
    return notes.status;
}

static enum verdict case_verdict(const struct junit_case *c)
{
    static const enum verdict worst_first[] = { VERDICT_ERROR, VERDICT_WARNING, VERDICT_PASS };
    for (size_t i = 0; i < sizeof worst_first / sizeof *worst_first; i++) {
        if (c->verdicts & 1u << worst_first[i]) return worst_first[i];
    }
    return VERDICT_SKIP;
}

/* ---- writing ---------------------------------------------------------------------------- */

static const char *element_of(enum verdict verdict, enum failing failing)
{
    if (failing_severity(failing, verdict)) return "failure";
    return verdict == VERDICT_SKIP ? "skipped" : "system-out";
}

/* The notes of a passed call (outputs that were skipped) stay out: they are no news. */
static void append_case(struct text_out *out, const struct report *report, uint32_t number,
                        enum failing failing)
{
    const struct junit_case *c = &report->cases[number];
    enum verdict verdict = case_verdict(c);
    size_t length;
    const char *name = text_table_get(&report->names, number, &length);
    /* The class is the API: type and name, without the number of the call. */
    size_t class_length = length;
    for (int dots = 0; class_length && dots < 2;) dots += name[--class_length] == '.';

    text_out_string(out, "    <testcase classname=\"");
    append_escaped(out, name, class_length ? class_length : length);
    text_out_string(out, "\" name=\"");
    append_escaped(out, name, length);
    if (verdict == VERDICT_PASS) {
        text_out_string(out, "\"/>\n");
        return;
    }
    const char *element = element_of(verdict, failing);
    append_format(out, "\">\n      <%s", element);
    if (strcmp(element, "system-out") != 0)
        append_format(out, " message=\"%s\"", verdict_name(verdict));
    text_out_string(out, ">");
    text_out_bytes(out, c->notes.data, c->notes.length);
    append_format(out, "</%s>\n    </testcase>\n", element);
}

static void append_report(struct text_out *out, const struct report *report, const char *suite,
                          enum failing failing)
{
    size_t failures = 0, skipped = 0;

    for (uint32_t i = 0; i < report->names.count; i++) {
        const char *element = element_of(case_verdict(&report->cases[i]), failing);
        failures += strcmp(element, "failure") == 0;
        skipped += strcmp(element, "skipped") == 0;
    }
    text_out_string(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                         "  <testsuite name=\"");
    append_escaped(out, suite, strlen(suite));
    append_format(out, "\" tests=\"%u\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
                  report->names.count, failures, skipped);
    for (uint32_t i = 0; i < report->names.count; i++) append_case(out, report, i, failing);
    text_out_string(out, "  </testsuite>\n</testsuites>\n");
}

static void release_report(struct report *report)
{
    for (size_t i = 0; i < report->capacity; i++) csv_buffer_release(&report->cases[i].notes);
    memory_release(report->cases);
    text_table_release(&report->names);
}

struct status junit_write(const char *path, const char *details_path, const char *suite,
                          enum failing failing)
{
    struct report report = { .cases = NULL };
    struct text_out text = { .status.code = STATUS_OK };

    TRY(text_table_create(&report.names));
    struct status status = verdict_file_read(details_path, FILES_TRUSTED, collect_row, &report);
    if (!status.code) append_report(&text, &report, suite, failing);
    if (!status.code) status = text.status;
    if (!status.code)
        status = whole_file_write(path, text.text.data, text.text.length, READERS_GROUP);
    csv_buffer_release(&text.text);
    release_report(&report);
    return status;
}
