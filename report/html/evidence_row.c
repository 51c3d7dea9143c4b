/* Takes a line of evidence apart with the streaming reader and writes it anew in short form. */
#include "report/html/evidence_row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "results/evidence_members.h"

enum { EVIDENCE_NAME_LONGEST = 4096 };

/* Shares that are good when they are high. All other metrics measure an error. */
static const char *const reached_metrics[] = { "cosine", "hundredth", "thousandth",
                                               "ten_thousandth" };

double evidence_used_share(const char *metric, double value, double limit, bool holds)
{
    for (size_t i = 0; i < sizeof reached_metrics / sizeof reached_metrics[0]; i++)
        if (!strcmp(metric, reached_metrics[i])) {
            value = 1 - value;
            limit = 1 - limit;
            break;
        }
    if (isnan(value)) return holds ? 0 : INFINITY;
    value = fabs(value);
    if (!(limit > 0)) return value > 0 && !holds ? INFINITY : 0;
    double share = value / limit;
    return holds ? fmin(share, 1) : fmax(share, 1);
}

/* ---- copying ---------------------------------------------------------------------------------- */

struct rewriting {
    struct csv_buffer *out;
    struct status status; /* of the first append that failed */
    bool shorten;
};

static void put(struct rewriting *to, const char *bytes, size_t length)
{
    if (!to->status.code) to->status = csv_append_bytes(to->out, bytes, length);
}

static void put_text(struct rewriting *to, const char *text) { put(to, text, strlen(text)); }

static void put_number(struct rewriting *to, const char *text, size_t length)
{
    enum { SHORT = 10 };
    char shorter[40];
    struct json_number number;
    if (!to->shorten || length <= SHORT) {
        put(to, text, length);
        return;
    }
    json_number_read(&number, text, length);
    (void)snprintf(shorter, sizeof shorter, "%.9g", number.real);
    put_text(to, strlen(shorter) < length && isfinite(number.real) ? shorter : "");
    if (strlen(shorter) >= length || !isfinite(number.real)) put(to, text, length);
}

static size_t string_length(const char *at, const char *end)
{
    const char *from = at++;
    while (at < end && *at != '"') at += *at == '\\' ? 2 : 1;
    return (size_t)(at + 1 - from);
}

/* Valid JSON from `at` to `end`, its numbers shortened. Python's bare words become strings, which
 * a browser takes. */
static void put_json(struct rewriting *to, const char *at, const char *end)
{
    while (at < end) {
        size_t length = 1;
        if (*at == '"') {
            length = string_length(at, end);
            put(to, at, length);
        } else if (strchr("-0123456789", *at)) {
            length = strspn(at, "+-.0123456789eE");
            if (at[length] == 'I') put_text(to, "\"-inf\""), length += strlen("Infinity");
            else put_number(to, at, length);
        } else if (*at == 'N' || *at == 'I') {
            put_text(to, *at == 'N' ? "\"nan\"" : "\"inf\"");
            length = *at == 'N' ? strlen("NaN") : strlen("Infinity");
        } else if (*at != ' ' && *at != '\t') {
            put(to, at, 1);
        }
        at += length;
    }
}

static bool is_first_member(const struct rewriting *to)
{
    return to->out->length && to->out->data[to->out->length - 1] == '{';
}

/* A member whose value is next: `, "key": value`. */
static void put_member(struct rewriting *to, struct json *json, const struct json_slice *key)
{
    const char *from = json->at;
    if (!json_skip(json)) return;
    if (!is_first_member(to)) put_text(to, ",");
    put_text(to, "\"");
    put(to, key->text, key->bytes);
    put_text(to, "\":");
    put_json(to, from, json->at);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static void read_word(char *out, struct json *json)
{
    enum json_kind kind;
    struct json_slice word;
    if (!json_peek(json, &kind)) return;
    if (kind != JSON_STRING) {
        (void)json_skip(json);
        return;
    }
    if (!json_string(json, &word) || word.escaped || word.bytes >= EVIDENCE_WORD) return;
    memcpy(out, word.text, word.bytes);
    out[word.bytes] = '\0';
}

/* A member of the limits, with its own "used". */
static void rewrite_limit(struct evidence_row *row, struct rewriting *to, struct json *json)
{
    char metric[EVIDENCE_WORD] = "";
    double value = NAN, limit = NAN;
    bool holds = false;
    struct json_slice key;
    const char *from = json->at;

    for (json_enter_object(json); json_object_next(json, &key);) {
        if (json_slice_is(&key, "metric")) read_word(metric, json);
        else if (json_slice_is(&key, "value")) value = evidence_read_number(json);
        else if (json_slice_is(&key, "limit")) limit = evidence_read_number(json);
        else if (json_slice_is(&key, "holds")) holds = evidence_read_flag(json);
        else (void)json_skip(json);
    }
    if (json->problem) return;
    double used = evidence_used_share(metric, value, limit, holds);
    if (!(row->allowance >= used)) row->allowance = used;

    char text[40];
    struct json again;
    json_open(&again, from, (size_t)(json->at - from));
    put_text(to, "{");
    for (json_enter_object(&again); json_object_next(&again, &key);) {
        if (json_slice_is(&key, "quotient")) (void)json_skip(&again);
        else put_member(to, &again, &key);
    }
    (void)snprintf(text, sizeof text, isfinite(used) ? "\"used\":%.6g}" : "\"used\":\"inf\"}",
                   used);
    if (!is_first_member(to)) put_text(to, ",");
    put_text(to, text);
}

static void rewrite_limits(struct evidence_row *row, struct rewriting *to, struct json *json)
{
    bool first = true;
    enum json_kind kind;
    put_text(to, is_first_member(to) ? "\"limits\":[" : ",\"limits\":[");
    for (json_enter_array(json); json_array_next(json); first = false) {
        if (!json_peek(json, &kind)) break;
        if (!first) put_text(to, ",");
        if (kind == JSON_OBJECT) rewrite_limit(row, to, json);
        else if (json_skip(json)) put_text(to, "{}");
    }
    put_text(to, "]");
}

/* Keys of the histogram: "0", "<= 0.5", ..., "more". */
static int histogram_bin(const struct json_slice *key)
{
    char text[40];
    if (json_slice_is(key, "0")) return 0;
    if (json_slice_is(key, "more")) return ULP_BINS - 1;
    if (key->bytes < 4 || key->bytes >= sizeof text || memcmp(key->text, "<= ", 3) != 0) return -1;
    memcpy(text, key->text + 3, key->bytes - 3);
    text[key->bytes - 3] = '\0';
    double bin = round(log2(strtod(text, NULL))) + 2;
    return bin >= 1 && bin < ULP_BINS - 1 ? (int)bin : -1;
}

static void read_histogram(struct evidence_row *row, struct json *json)
{
    struct json_slice key;
    for (json_enter_object(json); json_object_next(json, &key);) {
        int bin = histogram_bin(&key);
        double count = evidence_read_number(json);
        if (bin < 0 || !(count >= 0 && count < 1e15)) continue;
        row->histogram[bin] = (uint64_t)count;
        row->has_histogram = true;
    }
}

static double read_error(struct json *json)
{
    struct json_slice key;
    double error = NAN;
    for (json_enter_object(json); json_object_next(json, &key);) {
        if (json_slice_is(&key, "error")) error = evidence_read_number(json);
        else (void)json_skip(json);
    }
    return error;
}

/* Run `read` on the next value if it is an object, and copy it anyway. */
#define READ_AND_PUT(kind_wanted, statement)                       \
    do {                                                           \
        enum json_kind kind_;                                      \
        struct json ahead = *json;                                 \
        if (json_peek(&ahead, &kind_) && kind_ == (kind_wanted)) { \
            statement;                                             \
        }                                                          \
        put_member(to, json, key);                                 \
    } while (0)

static void rewrite_evidence_member(struct evidence_row *row, struct rewriting *to,
                                    struct json *json, const struct json_slice *key)
{
    if (json_slice_is(key, "standard")) read_word(row->standard, json);
    else if (json_slice_is(key, "reference")) read_word(row->reference, json);
    else if (json_slice_is(key, "decided by"))
        READ_AND_PUT(JSON_STRING, read_word(row->decided_by, &ahead));
    else if (json_slice_is(key, "limits")) rewrite_limits(row, to, json);
    else if (json_slice_is(key, "elements"))
        READ_AND_PUT(JSON_NUMBER, row->elements = evidence_read_number(&ahead));
    else if (json_slice_is(key, "reference bound ulp"))
        READ_AND_PUT(JSON_NUMBER, row->bound_ulp = evidence_read_number(&ahead));
    else if (json_slice_is(key, "worst ulp"))
        READ_AND_PUT(JSON_OBJECT, row->worst_ulp = read_error(&ahead));
    else if (json_slice_is(key, "ulp histogram"))
        READ_AND_PUT(JSON_OBJECT, read_histogram(row, &ahead));
    else put_member(to, json, key);
}

static void rewrite_evidence(struct evidence_row *row, struct rewriting *to, struct json *json)
{
    struct json_slice key;
    enum json_kind kind;
    if (!json_peek(json, &kind) || kind != JSON_OBJECT) {
        (void)json_skip(json);
        return;
    }
    for (json_enter_object(json); json_object_next(json, &key);)
        rewrite_evidence_member(row, to, json, &key);
}

static void rewrite_line(struct evidence_row *row, struct rewriting *to, struct json *json)
{
    struct json_slice member, *key = &member;
    char verdict[EVIDENCE_WORD] = "";

    put_text(to, "{");
    for (json_enter_object(json); json_object_next(json, key);) {
        if (json_slice_is(key, "name") || json_slice_is(key, "message") ||
            json_slice_is(key, "sentence")) {
            (void)json_skip(json);
        } else if (json_slice_is(key, "verdict")) {
            read_word(verdict, json);
            to->shorten = !strcmp(verdict, "pass");
        } else if (json_slice_is(key, "evidence")) {
            rewrite_evidence(row, to, json);
        } else if (json_slice_is(key, "error over what rounding explains")) {
            READ_AND_PUT(JSON_NUMBER, row->rounding = evidence_read_number(&ahead));
        } else {
            put_member(to, json, key);
        }
    }
    put_text(to, "}");
}

struct status evidence_row_read(struct evidence_row *out, struct csv_buffer *compact, bool *fits,
                                const char *line, size_t length)
{
    struct rewriting to = { compact, status_ok(), false };
    struct json json;
    enum json_kind kind;

    *out = (struct evidence_row){
        .allowance = NAN, .worst_ulp = NAN, .bound_ulp = NAN, .rounding = NAN, .elements = NAN
    };
    csv_buffer_clear(compact);
    json_open(&json, line, length);
    *fits = json_peek(&json, &kind) && kind == JSON_OBJECT;
    if (*fits) rewrite_line(out, &to, &json);
    *fits = *fits && json_finish(&json);
    if (!*fits) csv_buffer_clear(compact);
    return to.status;
}

bool evidence_row_is_of(const char *line, size_t length, struct csv_text name)
{
    static const char prefix[] = "{\"name\":\"";
    struct json json;
    struct json_slice slice;
    char decoded[EVIDENCE_NAME_LONGEST];
    if (length < sizeof prefix || memcmp(line, prefix, sizeof prefix - 1) != 0) return false;
    json_open(&json, line + sizeof prefix - 2, length - (sizeof prefix - 2));
    if (!json_string(&json, &slice) || slice.bytes > sizeof decoded) return false;
    size_t bytes = json_slice_decode_into(decoded, &slice);
    if (name.length == bytes + 1 && *name.bytes == '\'') name.bytes++, name.length--;
    return name.length == bytes && memcmp(name.bytes, decoded, bytes) == 0;
}
