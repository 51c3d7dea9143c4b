/* The grammar, twice: as functions that a caller walks with, and as one loop (json_skip) for text
 * that is only validated. Both stand on the same scans of tokens. Indentation and strings are
 * read eight bytes at a time as a word, without vector instructions: dumps are half white space
 * and short keys, and 8 bytes is about the length of both.
 */
#include "formats/json.h"
#include "formats/json_words.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- problems --------------------------------------------------------------------------- */

bool json_fail(struct json *json, const char *at, const char *problem)
{
    if (!json->problem) {
        json->problem = problem;
        json->problem_at = at;
        json->expected = false;
    }
    return false;
}

bool json_fail_expected(struct json *json, const char *at, const char *what)
{
    if (!json->problem) {
        json_fail(json, at, what);
        json->expected = true;
    }
    return false;
}

void json_describe_problem(char *text, size_t bytes, const struct json *json)
{
    const char *at = json->problem_at;
    char found[32];

    if (!json->expected) {
        (void)snprintf(text, bytes, "%s", json->problem);
        return;
    }
    if (at == json->end) (void)snprintf(found, sizeof found, "the end of the file");
    else if (*at >= 0x20 && *at < 0x7f) (void)snprintf(found, sizeof found, "'%c'", *at);
    else (void)snprintf(found, sizeof found, "byte 0x%02x", (unsigned)(unsigned char)*at);
    (void)snprintf(text, bytes, "expected %s, found %s", json->problem, found);
}

struct status json_status(const struct json *json, const char *name, enum status_code code)
{
    struct json_place place;
    char problem[320];

    if (!json->problem) return status_ok();
    json_describe_problem(problem, sizeof problem, json);
    json_locate(&place, json->start, json->problem_at);
    return status_error(code, "%s: line %llu, column %llu, at %s: %s", name,
                        (unsigned long long)place.line, (unsigned long long)place.column,
                        place.path, problem);
}

/* ---- tokens ----------------------------------------------------------------------------- */

/* The next byte that is not white space, or `end`. Indentation is a newline and a run of
 * spaces, so spaces go eight at a time. */
static inline const char *skip_space(const char *at, const char *end)
{
    for (;;) {
        if (at == end || (unsigned char)*at > ' ') return at;
        if (*at != ' ' && *at != '\n' && *at != '\r' && *at != '\t') return at;
        at++;
        while (end - at >= 8) {
            uint64_t other = load8(at) ^ ones * ' ';
            if (other) {
                at += __builtin_ctzll(other) / 8;
                break;
            }
            at += 8;
        }
    }
}

/* Length of the UTF-8 sequence at `at`, or 0 when it is not one (overlong, surrogate, beyond
 * U+10FFFF, cut off). `at` is a byte >= 0x80. */
static size_t utf8_sequence(const char *at, const char *end)
{
    const unsigned char *s = (const unsigned char *)at;
    size_t left = (size_t)(end - at);
    size_t length = s[0] >= 0xc2 && s[0] <= 0xdf   ? 2
                    : s[0] >= 0xe0 && s[0] <= 0xef ? 3
                    : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                   : 0;

    if (!length || length > left) return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
    if (s[0] == 0xed && s[1] > 0x9f) return 0;
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
    return length;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Pass over the escape at `at` (a backslash): its end, or NULL with a problem noted. */
static const char *scan_escape(struct json *json, const char *at)
{
    const char *end = json->end;

    if (end - at < 2) {
        json_fail_expected(json, end, "an escape character");
        return NULL;
    }
    if (at[1] != 'u') {
        if (at[1] && strchr("\"\\/bfnrt", at[1])) return at + 2;
        json_fail_expected(json, at + 1, "an escape character (one of \"\\/bfnrtu)");
        return NULL;
    }
    for (int i = 2; i < 6; i++) {
        if (at + i == end || hex_digit(at[i]) < 0) {
            json_fail_expected(json, at + i, "four hexadecimal digits");
            return NULL;
        }
    }
    return at + 6;
}

/* Pass over a string whose opening quote is behind us: the closing quote, or NULL. */
static inline const char *scan_string(struct json *json, const char *at, bool *escaped)
{
    const char *end = json->end;

    *escaped = false;
    for (;;) {
        while (end - at >= 8) {
            uint64_t word = load8(at);
            uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
            int plain = count_unflagged(((quote - ones) & ~quote) | ((slash - ones) & ~slash) |
                                        ((word - ones * 0x20) & ~word) | word);
            at += plain;
            if (plain < 8) break;
        }
        if (at == end) {
            json_fail_expected(json, at, "the closing quote of a string");
            return NULL;
        }
        unsigned char c = (unsigned char)*at;
        if (c == '"') return at;
        if (c == '\\') {
            *escaped = true;
            if (!(at = scan_escape(json, at))) return NULL;
        } else if (c < 0x20) {
            json_fail(json, at, "a control character in a string");
            return NULL;
        } else if (c >= 0x80) {
            size_t length = utf8_sequence(at, end);
            if (!length) {
                json_fail(json, at, "bytes that are not UTF-8");
                return NULL;
            }
            at += length;
        } else {
            at++;
        }
    }
}

static inline bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static inline const char *skip_digits(const char *at, const char *end)
{
    while (end - at >= 8) {
        int digits = count_digits(load8(at));
        at += digits;
        if (digits < 8) return at;
    }
    while (is_digit(at, end)) at++;
    return at;
}

static bool starts_with(const char *at, const char *end, const char *word, size_t length)
{
    return (size_t)(end - at) >= length && !memcmp(at, word, length);
}

/* Pass over a number, NaN or infinity: its end, or NULL. */
static inline const char *scan_number(struct json *json, const char *at)
{
    const char *end = json->end;

    if (*at == 'N') {
        if (starts_with(at, end, "NaN", 3)) return at + 3;
        json_fail_expected(json, at, "a value");
        return NULL;
    }
    if (*at == '-') at++;
    if (at < end && *at == 'I') {
        if (starts_with(at, end, "Infinity", 8)) return at + 8;
        json_fail_expected(json, at, "a value");
        return NULL;
    }
    if (!is_digit(at, end)) {
        json_fail_expected(json, at, "a digit");
        return NULL;
    }
    if (*at == '0') {
        at++;
        if (is_digit(at, end)) {
            json_fail(json, at, "a number with a leading zero");
            return NULL;
        }
    } else {
        at = skip_digits(at, end);
    }
    if (at < end && *at == '.') {
        at++;
        if (!is_digit(at, end)) {
            json_fail_expected(json, at, "a digit after the decimal point");
            return NULL;
        }
        at = skip_digits(at, end);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        if (!is_digit(at, end)) {
            json_fail_expected(json, at, "a digit of the exponent");
            return NULL;
        }
        at = skip_digits(at, end);
    }
    return at;
}

/* Pass over null, true, false, a number or a string; a container is not accepted. */
static inline const char *scan_scalar(struct json *json, const char *at)
{
    bool escaped;
    const char *end = json->end;

    if (at == end) {
        json_fail_expected(json, at, "a value");
        return NULL;
    }
    switch (*at) {
    case '"': at = scan_string(json, at + 1, &escaped); return at ? at + 1 : NULL;
    case 'n':
        if (starts_with(at, end, "null", 4)) return at + 4;
        break;
    case 't':
        if (starts_with(at, end, "true", 4)) return at + 4;
        break;
    case 'f':
        if (starts_with(at, end, "false", 5)) return at + 5;
        break;
    case '-':
    case 'N':
    case 'I':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': return scan_number(json, at);
    default: break;
    }
    json_fail_expected(json, at, "a value");
    return NULL;
}

/* ---- walking ---------------------------------------------------------------------------- */

void json_open(struct json *json, const char *text, size_t bytes)
{
    *json = (struct json){ .start = text, .at = text, .end = text + bytes };
}

/* The kind of a value by its first byte, plus one; 0 for bytes that begin none. */
static const unsigned char kinds[256] = {
    ['n'] = JSON_NULL + 1,   ['t'] = JSON_BOOL + 1,   ['f'] = JSON_BOOL + 1,
    ['"'] = JSON_STRING + 1, ['['] = JSON_ARRAY + 1,  ['{'] = JSON_OBJECT + 1,
    ['-'] = JSON_NUMBER + 1, ['N'] = JSON_NUMBER + 1, ['I'] = JSON_NUMBER + 1,
    ['0'] = JSON_NUMBER + 1, ['1'] = JSON_NUMBER + 1, ['2'] = JSON_NUMBER + 1,
    ['3'] = JSON_NUMBER + 1, ['4'] = JSON_NUMBER + 1, ['5'] = JSON_NUMBER + 1,
    ['6'] = JSON_NUMBER + 1, ['7'] = JSON_NUMBER + 1, ['8'] = JSON_NUMBER + 1,
    ['9'] = JSON_NUMBER + 1,
};

bool json_peek(struct json *json, enum json_kind *kind)
{
    if (json->problem) return false;
    const char *at = skip_space(json->at, json->end);
    json->at = at;
    int found = at < json->end ? kinds[(unsigned char)*at] : 0;
    if (!found) return json_fail_expected(json, at, "a value");
    *kind = (enum json_kind)(found - 1);
    return true;
}

static inline bool require(struct json *json, enum json_kind wanted, const char *what)
{
    enum json_kind kind;
    /* Usually the caller has looked already. */
    if (!json->problem && json->at < json->end &&
        kinds[(unsigned char)*json->at] == (unsigned char)wanted + 1)
        return true;
    if (!json_peek(json, &kind)) return false;
    return kind == wanted || json_fail_expected(json, json->at, what);
}

bool json_null(struct json *json)
{
    if (!require(json, JSON_NULL, "null")) return false;
    const char *end = scan_scalar(json, json->at);
    if (end) json->at = end;
    return end != NULL;
}

bool json_bool(struct json *json, bool *value)
{
    if (!require(json, JSON_BOOL, "true or false")) return false;
    const char *end = scan_scalar(json, json->at);
    if (!end) return false;
    *value = *json->at == 't';
    json->at = end;
    return true;
}

bool json_number(struct json *json, struct json_number *value)
{
    if (!require(json, JSON_NUMBER, "a number")) return false;
    const char *end = json_number_take(value, json->at, json->end);
    if (!end) {
        (void)scan_number(json, json->at); /* which says what is wrong with it */
        return false;
    }
    json->at = end;
    return true;
}

bool json_string(struct json *json, struct json_slice *value)
{
    bool escaped;
    if (!require(json, JSON_STRING, "a string")) return false;
    const char *quote = scan_string(json, json->at + 1, &escaped);
    if (!quote) return false;
    *value = (struct json_slice){ json->at + 1, (size_t)(quote - json->at - 1), escaped };
    json->at = quote + 1;
    return true;
}

static bool enter(struct json *json)
{
    if (json->depth == JSON_MAX_DEPTH)
        return json_fail(json, json->at, "nesting deeper than 420 levels");
    json->depth++;
    json->at++;
    json->first = true;
    return true;
}

static bool leave(struct json *json)
{
    json->depth--;
    json->at++;
    json->first = false;
    return false;
}

bool json_enter_array(struct json *json) { return require(json, JSON_ARRAY, "'['") && enter(json); }

bool json_enter_object(struct json *json)
{
    return require(json, JSON_OBJECT, "'{'") && enter(json);
}

bool json_array_next(struct json *json)
{
    if (json->problem) return false;
    json->at = skip_space(json->at, json->end);
    if (json->at < json->end && *json->at == ']') return leave(json);
    if (!json->first) {
        if (json->at == json->end || *json->at != ',')
            return json_fail_expected(json, json->at, "',' or ']'");
        json->at++;
    }
    json->at = skip_space(json->at, json->end);
    json->first = false;
    return true;
}

bool json_object_next(struct json *json, struct json_slice *key)
{
    if (json->problem) return false;
    json->at = skip_space(json->at, json->end);
    if (json->at < json->end && *json->at == '}') return leave(json);
    if (!json->first) {
        if (json->at == json->end || *json->at != ',')
            return json_fail_expected(json, json->at, "',' or '}'");
        json->at = skip_space(json->at + 1, json->end);
        if (json->at == json->end || *json->at != '"')
            return json_fail_expected(json, json->at, "a key in quotes");
    } else if (json->at == json->end || *json->at != '"') {
        return json_fail_expected(json, json->at, "a key in quotes or '}'");
    }
    bool escaped;
    const char *quote = scan_string(json, json->at + 1, &escaped);
    if (!quote) return false;
    *key = (struct json_slice){ json->at + 1, (size_t)(quote - json->at - 1), escaped };
    json->at = skip_space(quote + 1, json->end);
    if (json->at == json->end || *json->at != ':') return json_fail_expected(json, json->at, "':'");
    json->at = skip_space(json->at + 1, json->end);
    json->first = false;
    return true;
}

bool json_finish(struct json *json)
{
    if (json->problem) return false;
    json->at = skip_space(json->at, json->end);
    return json->at == json->end || json_fail_expected(json, json->at, "the end of the file");
}

/* The scan for which speed matters: one loop, the kinds of the open containers in a bit set.
 * It accepts exactly what the functions above accept. */
bool json_skip(struct json *json)
{
    uint64_t is_object[(JSON_MAX_DEPTH + 63) / 64] = { 0 };
    const int outside = json->depth;
    int depth = outside;
    const char *at = json->at, *end = json->end;
    bool escaped;

    if (json->problem) return false;
value:
    at = skip_space(at, end);
    if (at < end && (*at == '{' || *at == '[')) {
        if (depth == JSON_MAX_DEPTH) return json_fail(json, at, "nesting deeper than 420 levels");
        bool object = *at == '{';
        if (object) is_object[depth / 64] |= UINT64_C(1) << depth % 64;
        else is_object[depth / 64] &= ~(UINT64_C(1) << depth % 64);
        depth++;
        at = skip_space(at + 1, end);
        if (at < end && *at == (object ? '}' : ']')) goto close;
        if (!object) goto value;
        if (at == end || *at != '"') return json_fail_expected(json, at, "a key in quotes or '}'");
        goto key;
    }
    if (!(at = scan_scalar(json, at))) return false;

after:
    if (depth == outside) {
        json->at = at;
        return true;
    }
    at = skip_space(at, end);
    if (is_object[(depth - 1) / 64] >> (depth - 1) % 64 & 1) {
        if (at == end) return json_fail_expected(json, at, "',' or '}'");
        if (*at == '}') goto close;
        if (*at != ',') return json_fail_expected(json, at, "',' or '}'");
        at = skip_space(at + 1, end);
        if (at == end || *at != '"') return json_fail_expected(json, at, "a key in quotes");
        goto key;
    }
    if (at == end) return json_fail_expected(json, at, "',' or ']'");
    if (*at == ']') goto close;
    if (*at != ',') return json_fail_expected(json, at, "',' or ']'");
    at++;
    goto value;

close:
    at++;
    depth--;
    goto after;

key:
    if (!(at = scan_string(json, at + 1, &escaped))) return false;
    at = skip_space(at + 1, end);
    if (at == end || *at != ':') return json_fail_expected(json, at, "':'");
    at++;
    goto value;
}

/* ---- strings ---------------------------------------------------------------------------- */

/* The code point of the escape at `at` (a backslash; valid); *next is what follows. A pair of
 * surrogates is one code point, a lone one is U+FFFD. */
static uint32_t unescape(const char *at, const char *end, const char **next)
{
    static const char letters[] = "bfnrt", values[] = "\b\f\n\r\t";

    if (at[1] != 'u') {
        const char *letter = strchr(letters, at[1]);
        *next = at + 2;
        return (uint32_t)(unsigned char)(letter ? values[letter - letters] : at[1]);
    }
    uint32_t code = 0;
    for (int i = 2; i < 6; i++) code = code << 4 | (uint32_t)hex_digit(at[i]);
    *next = at + 6;
    if (code < 0xd800 || code > 0xdfff) return code;
    if (code > 0xdbff || end - at < 12 || at[6] != '\\' || at[7] != 'u') return 0xfffd;
    uint32_t low = 0;
    for (int i = 8; i < 12; i++) low = low << 4 | (uint32_t)hex_digit(at[i]);
    if (low < 0xdc00 || low > 0xdfff) return 0xfffd;
    *next = at + 12;
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

static size_t utf8_encode(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

size_t json_slice_decode_into(char *buffer, const struct json_slice *slice)
{
    const char *at = slice->text, *end = at + slice->bytes;
    char *out = buffer;

    if (!slice->escaped) {
        memcpy(buffer, at, slice->bytes);
        return slice->bytes;
    }
    while (at < end) {
        if (*at == '\\') out += utf8_encode(out, unescape(at, end, &at));
        else *out++ = *at++;
    }
    return (size_t)(out - buffer);
}

char *json_slice_decode(struct arena *arena, const struct json_slice *slice, size_t *bytes)
{
    /* No escape is shorter than what it stands for. */
    char *text = arena_allocate(arena, slice->bytes + 1);
    if (!text) return NULL;
    size_t length = json_slice_decode_into(text, slice);
    text[length] = '\0';
    if (bytes) *bytes = length;
    return text;
}

bool json_slice_is(const struct json_slice *slice, const char *text)
{
    size_t length = strlen(text);

    if (!slice->escaped) return slice->bytes == length && !memcmp(slice->text, text, length);
    const char *at = slice->text, *end = at + slice->bytes;
    while (at < end) {
        char one[4];
        size_t bytes = 1;
        if (*at == '\\') bytes = utf8_encode(one, unescape(at, end, &at));
        else one[0] = *at++;
        if (bytes > length || memcmp(one, text, bytes)) return false;
        text += bytes;
        length -= bytes;
    }
    return !length;
}
