/* JSON that people write (manifests, thresholds, tables of this program), with faults that name
 * file, line and key.
 *
 * cJSON keeps no positions, so a fault is located when it is reported: the text is walked in
 * step with the tree until the node at fault is reached. Such files are small; nothing is stored
 * for the good case.
 */
#ifndef PROBE_FORMATS_CONFIG_JSON_H
#define PROBE_FORMATS_CONFIG_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/file.h"
#include "core/status.h"

/* A changed copy of a part of the tree. Faults in the copy are located in the original. */
struct config_json_copy {
    cJSON *copy;
    const cJSON *original;
    struct config_json_copy *next;
};

struct config_json {
    char *name; /* of the file, as the user typed it */
    char *text;
    size_t bytes;
    cJSON *root;
    struct config_json_copy *copies; /* owned */
};

/* Read (by the rules of core/file.h) and parse. STATUS_BAD_INPUT with file, line
 * and column when it is not JSON. */
struct status config_json_open(struct config_json *out, const char *path,
                               struct file_policy policy);

/* The same from text in memory, which is copied; `name` stands for the file in messages. */
struct status config_json_parse(struct config_json *out, const char *name, const char *text,
                                size_t bytes);

void config_json_close(struct config_json *file);

/* "kernels.json:41: kernels[3].call.arguments[2].data: <sentence>" as STATUS_BAD_INPUT. `node` is a
 * value of the file; the line of a member is that of its key. */
struct status config_json_fault(const struct config_json *file, const cJSON *node,
                                const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The line of a value, from 1. */
int config_json_line(const struct config_json *file, const cJSON *node);

/* Copy a part of the tree, replacing "{key}" in every string value by the string that `words` has
 * under that key. Owned by the file.
 *
 *   errors  STATUS_BAD_INPUT: "{key}" without such a word
 */
struct status config_json_copy_with(const cJSON **out, struct config_json *file,
                                    const cJSON *original, const cJSON *words);

/* Most keys of one table. */
enum { CONFIG_JSON_KEYS = 64 };

/* A key that an object may have. */
struct config_json_key {
    const char *name;
    int types; /* cJSON_String | cJSON_Array | ... of the value */
    bool required;
};

/* Does the object have the required keys, no others, each once and of the right type? Keys that
 * start with "$" or "_" are comments. The table ends with a NULL name. */
struct status config_json_check_keys(const struct config_json *file, const cJSON *object,
                                     const struct config_json_key *keys);

/* The same for keys of any type, of which none is required. */
struct status config_json_check_names(const struct config_json *file, const cJSON *object,
                                      const char *const *names);

/* The value of a key, or NULL. Unlike cJSON's own, the spelling must match in case. */
const cJSON *config_json_get(const cJSON *object, const char *key);

/* The string value of a key, or `otherwise`. The type has been checked. */
const char *config_json_get_string(const cJSON *object, const char *key, const char *otherwise);

#endif
