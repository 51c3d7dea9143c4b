/* A text in the making that remembers its first failure: what is appended behind it is dropped, and
 * whoever uses the text looks at the status once. */
#ifndef PROBE_RESULTS_TEXT_OUT_H
#define PROBE_RESULTS_TEXT_OUT_H

#include <string.h>

#include "formats/csv.h"

/* Empty: all zeros. Release `text` with csv_buffer_release. */
struct text_out {
    struct csv_buffer text;
    struct status status;
};

static inline void text_out_bytes(struct text_out *out, const char *bytes, size_t length)
{
    if (!out->status.code) out->status = csv_append_bytes(&out->text, bytes, length);
}

static inline void text_out_string(struct text_out *out, const char *string)
{
    text_out_bytes(out, string, strlen(string));
}

#endif
