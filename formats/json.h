/* A pull parser for JSON as Python writes it.
 *
 * The text lies in memory; the caller walks through it value by value, so nothing is ever built
 * that the caller did not ask for. Accepted is RFC 8259 plus Python's bare NaN, Infinity and
 * -Infinity. Refused, each with its place: anything else that is not JSON, bytes that are not
 * UTF-8, raw control characters in strings, nesting deeper than JSON_MAX_DEPTH, and text after
 * the value.
 *
 * Functions return false once something is wrong and from then on; json_status then makes the
 * sentence for the user. This keeps the status struct (half a kilobyte) out of the inner loops:
 * json_skip, the validating scan, runs at memory-like speed on the indented text of dumps,
 * whose typical value is 350 bytes of text per tensor.
 */
#ifndef PROBE_FORMATS_JSON_H
#define PROBE_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"

/* 400 levels of nested arguments, as the peer allows, and 20 for what is around them. */
enum { JSON_MAX_DEPTH = 420 };

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A string as it stands between its quotes, validated but not decoded. */
struct json_slice {
    const char *text;
    size_t bytes;
    bool escaped; /* has backslashes */
};

struct json_number {
    double real;     /* correctly rounded; NaN and infinities for the bare words */
    int64_t integer; /* the exact value when `is_int64` */
    bool is_integer; /* written without fraction and exponent */
    bool is_int64;   /* is_integer and within int64 */
};

struct json {
    const char *start, *at, *end;
    int depth;
    bool first;          /* nothing of the innermost container has been read */
    const char *problem; /* NULL while all is well; what is wrong, or what was expected */
    bool expected;       /* `problem` says what was expected at `problem_at` */
    const char *problem_at;
};

void json_open(struct json *json, const char *text, size_t bytes);

/* The kind of the value that comes next; skips white space before it. */
bool json_peek(struct json *json, enum json_kind *kind);

/* Read a value of that kind. The text of a slice stays where it is. */
bool json_null(struct json *json);
bool json_bool(struct json *json, bool *value);
bool json_number(struct json *json, struct json_number *value);
bool json_string(struct json *json, struct json_slice *value);

/* Containers:
 *     json_enter_array(json); while (json_array_next(json)) { read one value }
 *     json_enter_object(json); while (json_object_next(json, &key)) { read one value }
 *     if (json->problem) ...
 * The next functions return false at the end of the container too; after true, `at` is where the
 * value begins. */
bool json_enter_array(struct json *json);
bool json_array_next(struct json *json);
bool json_enter_object(struct json *json);
bool json_object_next(struct json *json, struct json_slice *key);

/* Validate and pass over the next value, whatever it is. */
bool json_skip(struct json *json);

/* Is there nothing but white space left? A problem otherwise. */
bool json_finish(struct json *json);

/* Note a problem of the caller's: `problem` (a string that outlives the parser) at `at`. The
 * first problem stays. Returns false. */
bool json_fail(struct json *json, const char *at, const char *problem);
bool json_fail_expected(struct json *json, const char *at, const char *what);

/* Does the decoded string equal `text`? */
bool json_slice_is(const struct json_slice *slice, const char *text);

/* The decoded string as UTF-8 with a NUL behind it; *bytes (or NULL) is its length without the
 * NUL, which differs from strlen when the text has \u0000. A lone surrogate, which UTF-8 cannot
 * hold, becomes U+FFFD. NULL when there is no memory. */
char *json_slice_decode(struct arena *arena, const struct json_slice *slice, size_t *bytes);

/* The same into a buffer of at least slice->bytes bytes, without the NUL; returns the length. */
size_t json_slice_decode_into(char *buffer, const struct json_slice *slice);

/* Read the number (or NaN, Infinity, -Infinity) that begins at `at`, correctly rounded: its end,
 * or NULL, with `out` undefined, when none does. */
const char *json_number_take(struct json_number *out, const char *at, const char *end);

/* The value of a number's text, which must be valid. */
void json_number_read(struct json_number *out, const char *text, size_t bytes);

/* Where a byte of a text is. Lines and columns count from 1, columns in characters. */
struct json_place {
    uint64_t line, column, byte;
    char path[200]; /* data["Torch.add.0.forward"].input_args[0].shape; cut in the middle */
};
void json_locate(struct json_place *out, const char *text, const char *at);

/* The problem as a status: "<name>: line 3, column 7, at data.x: expected a value, found '}'".
 * `code` is usually STATUS_BAD_INPUT. STATUS_OK when there is no problem. The line is found by
 * reading the text from its start, so this is for a problem that ends the reading. */
struct status json_status(const struct json *json, const char *name, enum status_code code);

/* "expected a value, found '}'": the problem alone. */
void json_describe_problem(char *text, size_t bytes, const struct json *json);

#endif
