/* JSON texts as trees of the JSON library (cJSON), for the small texts whose order and repetitions
 * do not matter: configurations, manifests, messages. Dumps are read by formats/json.h.
 *
 * The library's parser only says that it failed; this says why, and where. */
#ifndef PROBE_FORMATS_JSON_TREE_H
#define PROBE_FORMATS_JSON_TREE_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "core/status.h"

/* Line and column, from 1, of the first byte that is no JSON or the one behind it; of the last byte
 * of a text that ends too early. */
struct json_fault {
    size_t line, column;
};

/* The one value of a text of `bytes` bytes, to be freed with cJSON_Delete. Blanks may stand around
 * it, and nothing else: no second value, no NUL.
 *
 *   fault   set when the text is no JSON; may be NULL
 *   errors  STATUS_BAD_INPUT "not JSON", which callers word for their kind of text;
 *           STATUS_NO_MEMORY. *tree is NULL then. */
struct status json_tree_parse(cJSON **tree, struct json_fault *fault, const char *text,
                              size_t bytes);

#endif
