/* A JSON text with faults that name their line.
 *
 * cJSON keeps no positions. It does keep the order of the text, so the number of values before
 * an item in document order finds the item's place again.
 */
#ifndef PROBE_FORMATS_CONFIG_JSON_H
#define PROBE_FORMATS_CONFIG_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

struct json_source {
    const char *name; /* for messages */
    const char *text;
    cJSON *root;
};

/* Parse `bytes` bytes of text, which must stay. STATUS_BAD_INPUT with line and column when it is
 * not JSON. Free root with cJSON_Delete. */
struct status json_source_parse(struct json_source *out, const char *name, const char *text,
                                size_t bytes);

/* Line of an item, from 1. */
size_t json_source_line(const struct json_source *source, const cJSON *item);

/* "<name>, line <n>: <sentence>" as STATUS_BAD_INPUT. */
struct status json_source_fault(const struct json_source *source, const cJSON *item,
                                const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Is every key of `object` among `keys` (ended by NULL), each at most once? The fault names the
 * key, its line and the nearest of them. */
struct status json_source_check_keys(const struct json_source *source, const cJSON *object,
                                     const char *const *keys);

#endif
