/* A small JSON file whose errors name file, line and key.
 *
 * cJSON keeps no positions, so a fault is located when it is reported: the text is walked in
 * step with the tree until the node at fault is reached. Manifests and configurations are
 * small; nothing is stored for the good case.
 */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_JSON_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/file.h"
#include "core/status.h"

/* A changed copy of a part of the tree. Faults in the copy are located in the original. */
struct json_copy {
    cJSON *copy;
    const cJSON *original;
    struct json_copy *next;
};

struct json_file {
    char *path; /* as the user typed it */
    char *text;
    size_t bytes;
    cJSON *root;
    struct json_copy *copies; /* owned */
};

/* Read (by the rules of core/file.h) and parse. STATUS_BAD_INPUT with file and line when it is not JSON. */
struct status json_file_open(struct json_file *out, const char *path, struct file_policy policy);

/* The same from text in memory, for tests; `name` stands for the file in messages. */
struct status json_file_parse(struct json_file *out, const char *name, const char *text,
                              size_t bytes);

void json_file_close(struct json_file *file);

/* "kernels.json:41: kernels[3].call.arguments[2].data: <sentence>". `node` is a value of the
 * file. */
struct status json_fault(const struct json_file *file, const cJSON *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The line of a value, from 1. */
int json_line(const struct json_file *file, const cJSON *node);

/* Copy a part of the tree, replacing "{key}" in every string value by the string that `words` has
 * under that key. Owned by the file.
 *
 *   errors  STATUS_BAD_INPUT: "{key}" without such a word
 */
struct status json_copy_with(const cJSON **out, struct json_file *file, const cJSON *original,
                             const cJSON *words);

/* A key that an object may have. */
struct json_key {
    const char *name;
    int types; /* cJSON_String | cJSON_Array | ... of the value */
    bool required;
};

/* Does the object have the required keys, no others, each once and of the right type? Keys that
 * start with "$" or "_" are comments. The table ends with a NULL name. */
struct status json_check_keys(const struct json_file *file, const cJSON *object,
                              const struct json_key *keys);

/* The value of a key, or NULL. Unlike cJSON's own, the spelling must match in case. */
const cJSON *json_get(const cJSON *object, const char *key);

/* The string value of a key, or `otherwise`. The type has been checked. */
const char *json_get_string(const cJSON *object, const char *key, const char *otherwise);

#endif
