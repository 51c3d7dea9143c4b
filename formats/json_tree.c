/* cJSON, with what it does not say of a text that it refuses and what it should not accept. */
#include "formats/json_tree.h"

#include <stdbool.h>
#include <string.h>

#include "core/memory.h"

static struct json_fault fault_at(const char *text, const char *place)
{
    struct json_fault fault = { 1, 1 };
    for (; text < place; text++) {
        fault.column = *text == '\n' ? 1 : fault.column + 1;
        fault.line += *text == '\n';
    }
    return fault;
}

struct status json_tree_parse(cJSON **tree, struct json_fault *fault, const char *text,
                              size_t bytes)
{
    /* A NUL is nowhere in JSON, and the library would take it for a blank. */
    const char *nul = bytes ? memchr(text, 0, bytes) : text, *end = nul;
    size_t refusals = memory_refusals();

    *tree = nul ? NULL : cJSON_ParseWithLengthOpts(text, bytes, &end, false);
    if (!*tree && memory_refusals() != refusals) return status_no_memory(bytes);
    /* The library takes every control character for a blank. */
    while (*tree && end < text + bytes && (unsigned char)*end <= ' ') end++;
    if (*tree && end == text + bytes) return status_ok();
    if (fault) *fault = fault_at(text, end);
    cJSON_Delete(*tree);
    *tree = NULL;
    return status_error(STATUS_BAD_INPUT, "not JSON");
}
