/* JSON put together piece by piece, where there is much of it: trees of small files are cJSON's, which takes
 * longer to print the evidence of a small call than it takes to check the call. */
#ifndef PROBE_FORMATS_JSON_WRITE_H
#define PROBE_FORMATS_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/shortest.h"
#include "core/status.h"
#include "formats/csv.h"

/* Append `length` bytes as a string in double quotes. Quotes, backslashes and control characters are
 * escaped; what is no UTF-8 becomes U+FFFD, so that every reader takes the text. */
struct status json_append_string(struct csv_buffer *out, const char *text, size_t length);

/* Values one after the other; the commas between them come by themselves. Remembers its first failure,
 * and drops what comes behind it. Begin with JSON_WRITER(buffer). */
struct json_writer {
    struct csv_buffer *text;
    struct status status;
    bool comma; /* before the next value or key of the open object or list */
};
#define JSON_WRITER(buffer) ((struct json_writer){ .text = (buffer), .status.code = STATUS_OK })

/* The next value, or key of an object, of which the value comes next. Nothing in a key needs an escape. */
void json_put_key(struct json_writer *out, const char *key);
void json_put_string(struct json_writer *out, const char *text);
void json_put_bytes(struct json_writer *out, const char *text, size_t length); /* a string too */
void json_put_bool(struct json_writer *out, bool value);
void json_put_integer(struct json_writer *out, int64_t value);
void json_put_count(struct json_writer *out, uint64_t value);

/* The fewest digits that read back as the same double ("0.1", "2", "1e-05"; "nan", "inf" and "-inf" are no
 * numbers of JSON); their length. */
size_t json_number_text(char text[SHORTEST_BYTES], double value);

/* These as the next value, those that are no numbers as strings. */
void json_put_number(struct json_writer *out, double value);

/* An object '{' or list '[' as the next value, and its end '}' or ']'. */
void json_put_begin(struct json_writer *out, char bracket);
void json_put_end(struct json_writer *out, char bracket);

#endif
