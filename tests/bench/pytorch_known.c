#include "bench/pytorch_known.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kinds {
    bool complex, integers;
};

static bool note_kind(struct value *tensor, void *context)
{
    struct kinds *kinds = context;
    if (!tensor->tensor.tensor) return true;
    enum dtype dtype = tensor->tensor.tensor->dtype;
    kinds->complex |= dtype_is_complex(dtype);
    kinds->integers |= dtype_is_integral(dtype);
    return true;
}

/* `where`: of which calls a line speaks; "" is all. */
static bool is_there(const char *where, const struct kinds *kinds, bool backward)
{
    return !*where || (!strcmp(where, "complex") && kinds->complex) ||
           (!strcmp(where, "integers") && kinds->integers) ||
           (!strcmp(where, "gradient") && backward);
}

bool pytorch_is_known_wrong(struct api_case *c, bool backward)
{
    struct kinds kinds = { 0 };
    char line[512], api[256], pattern[128], precision[32];
    bool known = false;

    (void)value_each_tensor(&c->args, note_kind, &kinds);
    (void)value_each_tensor(&c->kwargs, note_kind, &kinds);
    snprintf(api, sizeof api, "%s.%s", c->type, c->api);
    FILE *file = fopen(PROBE_TEST_DATA "/../long/pytorch_known.txt", "r");
    if (!file) {
        perror("pytorch_known.txt");
        exit(1);
    }
    while (!known && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%127s %31s", pattern, precision) != 2 || *pattern == '#') continue;
        char *colon = strchr(precision, ':');
        if (colon) *colon++ = '\0';
        known = strcmp(precision, "float32") != 0 && !fnmatch(pattern, api, 0) &&
                is_there(colon ? colon : "", &kinds, backward);
    }
    fclose(file);
    return known;
}
