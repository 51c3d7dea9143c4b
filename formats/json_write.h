/* Strings as JSON writes them, for texts that are JSON by hand: trees of small files are cJSON's. */
#ifndef PROBE_FORMATS_JSON_WRITE_H
#define PROBE_FORMATS_JSON_WRITE_H

#include <stddef.h>

#include "core/status.h"
#include "formats/csv.h"

/* Append `length` bytes as a string in double quotes. Quotes, backslashes and control characters are
 * escaped; what is no UTF-8 becomes U+FFFD, so that every reader takes the text. */
struct status json_append_string(struct csv_buffer *out, const char *text, size_t length);

#endif
