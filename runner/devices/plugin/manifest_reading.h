/* What the files have in common that read a manifest. Only they include this. */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_MANIFEST_READING_H
#define PROBE_RUNNER_DEVICES_PLUGIN_MANIFEST_READING_H

#include "runner/devices/plugin/plugin_manifest.h"

enum {
    TEXT = cJSON_String,
    LIST = cJSON_Array,
    OBJECT = cJSON_Object,
    NUMBER = cJSON_Number,
    FLAG = cJSON_True | cJSON_False
};

/* Zeroed room in the manifest's arena, or a failure. */
#define ROOM(pointer, count)                                                      \
    do {                                                                          \
        (pointer) = arena_allocate_zeroed(&m->arena, (count), sizeof *(pointer)); \
        if (!(pointer)) return status_no_memory((count) * sizeof *(pointer));     \
    } while (0)

/* The children of a list or object that is there. */
#define EACH(item, parent) for ((item) = (parent)->child; (item); (item) = (item)->next)

/* Is it an integer that a double holds exactly, and all its neighbours? */
bool manifest_is_whole(double x);

/* The expression of a key; *out stays as it is when the key is missing. */
struct status manifest_read_optional(const char **out, struct manifest *m, const cJSON *object,
                                     const char *key);

/* The calls of a list that may be missing. */
struct status manifest_read_steps(struct manifest_steps *out, struct manifest *m,
                                  const cJSON *list);

/* The lets, the steps and the results of a forward or backward function. The keys of `node` have been checked;
 * `outputs` is that of the results. */
struct status manifest_read_function(struct manifest_function *f, struct manifest *m,
                                     const cJSON *node, const char *outputs);

#endif
