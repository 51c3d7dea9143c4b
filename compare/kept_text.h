/* Texts that are kept in one growing buffer, by their places in it. */
#ifndef PROBE_COMPARE_KEPT_TEXT_H
#define PROBE_COMPARE_KEPT_TEXT_H

#include <stdbool.h>
#include <string.h>

#include "formats/csv.h"

struct kept_text {
    size_t begin, length;
};

static inline struct status kept_text_add(struct kept_text *out, struct csv_buffer *buffer,
                                          struct csv_text text)
{
    *out = (struct kept_text){ buffer->length, text.length };
    return csv_append_bytes(buffer, text.bytes, text.length);
}

/* Valid until the buffer grows. */
static inline struct csv_text kept_text_at(const struct csv_buffer *buffer, struct kept_text kept)
{
    if (!kept.length) return (struct csv_text){ "", 0 };
    return (struct csv_text){ buffer->data + kept.begin, kept.length };
}

static inline bool csv_texts_equal(struct csv_text a, struct csv_text b)
{
    return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

#endif
