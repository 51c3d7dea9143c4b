/* Texts that are kept in one growing buffer, by their places in it. */
#ifndef PROBE_COMPARE_KEPT_TEXT_H
#define PROBE_COMPARE_KEPT_TEXT_H

#include <stdbool.h>
#include <string.h>

#include "core/memory.h"
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

/* Room for one more of `used` items; `items` is the address of the pointer to them. */
static inline struct status room_for_one(void *items, size_t *capacity, size_t used, size_t bytes)
{
    if (used < *capacity) return status_ok();
    size_t larger = *capacity ? 2 * *capacity : 16;
    void *block;
    memcpy(&block, items, sizeof block);
    block = memory_resize(block, larger * bytes);
    if (!block) return status_no_memory(larger * bytes);
    memcpy(items, &block, sizeof block);
    *capacity = larger;
    return status_ok();
}

#endif
