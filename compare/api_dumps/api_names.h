/* One name for what different frameworks call differently: the table config/api_flow_names.json. */
#ifndef PROBE_COMPARE_API_DUMPS_API_NAMES_H
#define PROBE_COMPARE_API_DUMPS_API_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/text_table.h"

struct cJSON;

struct api_names {
    struct cJSON *root;
    struct text_table known; /* "functional.bilinear": PyTorch's type in lower case and name */
    const char **unified;    /* by number in `known`: "functional_bidense" */
};

struct status api_names_load(struct api_names *out);
void api_names_release(struct api_names *names);

/* The name under which a call is matched: that of the table when `is_pytorch` and it is there,
 * otherwise "{type in lower case}_{name}". Cut to `bytes`; returns the length. */
size_t api_names_unify(char *text, size_t bytes, const struct api_names *names, bool is_pytorch,
                       const char *type, const char *name);

/* Which data of an API take part ("Functional.batch_norm": of its inputs and outputs only the first).
 * `section` is "input" or "output".
 *
 *   returns  false when the API has no such list: all of them take part as they are
 *   keep     the new number of data number `index`, -1 when it does not take part */
bool api_names_reorder(int *keep, const struct api_names *names, const char *type, const char *name,
                       const char *section, int index);

#endif
