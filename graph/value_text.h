/* Values as the result files show them: every value is a text, numbers to six decimals.
 *
 *   Single quotes are removed, None and blanks become `null`. Texts such as 12.3456789 or
 *   97.55381696% keep six decimals; numbers whose shortest form has an exponent become
 *   x.xxxxxxe-yy; other numbers are rounded to six decimals.
 */
#ifndef PROBE_GRAPH_VALUE_TEXT_H
#define PROBE_GRAPH_VALUE_TEXT_H

#include "formats/csv.h"

/* A number, appended. */
struct status value_text_append_real(struct csv_buffer *out, double value);

/* A text as Python prints a value, appended. */
struct status value_text_append(struct csv_buffer *out, const char *text, size_t length);

#endif
