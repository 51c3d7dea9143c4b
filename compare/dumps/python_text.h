/* Values as Python prints them: the texts of the comparison's cells are those of Python's str()
 * (`True`, `None`, `1e-05`, `[1, 2]`, `{'a': 1}`), and checksums are taken over them.
 */
#ifndef PROBE_COMPARE_DUMPS_PYTHON_TEXT_H
#define PROBE_COMPARE_DUMPS_PYTHON_TEXT_H

#include <stddef.h>

#include "core/status.h"
#include "formats/csv.h"
#include "formats/json.h"

/* str() of the JSON value that comes next, appended: a string as it is, inside of containers in
 * quotes. json->problem is set where the text is no JSON; what was appended then means nothing.
 * Duplicate keys of an object stay (Python keeps the last). */
struct status python_append_value(struct csv_buffer *out, struct json *json);

/* repr() of a string of UTF-8: in single quotes, or in double ones when it holds single ones and no
 * double ones; backslashes, line ends and characters without a picture as escapes. */
struct status python_append_quoted(struct csv_buffer *out, const char *text, size_t length);

#endif
