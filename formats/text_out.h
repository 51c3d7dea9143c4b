/* A text in the making that remembers its first failure: what is appended behind it is dropped, and
 * whoever uses the text looks at the status once. */
#ifndef PROBE_FORMATS_TEXT_OUT_H
#define PROBE_FORMATS_TEXT_OUT_H

#include <stddef.h>

#include "formats/csv.h"

/* Empty: all zeros. Release `text` with csv_buffer_release. */
struct text_out {
    struct csv_buffer text;
    struct status status;
};

void text_out_bytes(struct text_out *out, const char *bytes, size_t length);
void text_out_string(struct text_out *out, const char *string);

/* A word as a POSIX shell takes it: as it is, or between single quotes. */
void text_out_shell_word(struct text_out *out, const char *word);

#endif
