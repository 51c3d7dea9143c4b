#include "bench/pytorch_known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the tensors of a call are. */
struct kinds {
    const struct tensor *first;
    bool complex, integers, empty, broadcast;
};

static bool note_kind(struct value *value, void *context)
{
    struct kinds *kinds = context;
    const struct tensor *tensor = value->tensor.tensor;
    if (!tensor) return true;
    kinds->complex |= dtype_is_complex(tensor->dtype);
    kinds->integers |= dtype_is_integral(tensor->dtype);
    kinds->empty |= !tensor_elements(tensor);
    if (!kinds->first) kinds->first = tensor;
    kinds->broadcast |=
        tensor->rank != kinds->first->rank ||
        memcmp(tensor->shape, kinds->first->shape, (size_t)tensor->rank * sizeof *tensor->shape);
    return true;
}

/* Has the call what a line asks for? "" is nothing. Cases that only pytorch_verdicts.py tells apart are none here. */
static bool is_case(const char *name, const struct kinds *kinds)
{
    const struct {
        const char *name;
        bool holds;
    } cases[] = {
        { "", true },
        { "complex", kinds->complex },
        { "integers", kinds->integers },
        { "empty", kinds->empty },
        { "broadcast", kinds->broadcast },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(name, cases[i].name)) return cases[i].holds;
    return false;
}

/* Cut off at the first `separator`; what is behind it, or "". */
static const char *cut(char *text, char separator)
{
    char *at = strchr(text, separator);
    if (!at) return "";
    *at = '\0';
    return at + 1;
}

/* Is `api`, or what of it is behind the kind, one of the names joined by |? Cuts `names`. */
static bool is_among(char *names, const char *api)
{
    const char *bare = strchr(api, '.') + 1;
    for (char *rest, *name = strtok_r(names, "|", &rest); name; name = strtok_r(NULL, "|", &rest))
        if (!strcmp(name, api) || !strcmp(name, bare)) return true;
    return false;
}

bool pytorch_is_known_wrong(struct api_case *c, bool backward)
{
    struct kinds kinds = { 0 };
    const char *side = backward ? "backward." : "forward.";
    char line[1024], api[256], names[512], precision[64];
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
        if (sscanf(line, "%511s %63s", names, precision) != 2 || *names == '#') continue;
        const char *of = cut(precision, ','), *place = cut(precision, ':');
        known = (!strcmp(precision, "float64") || !strcmp(precision, "both")) &&
                is_case(of, &kinds) && (!*place || !strncmp(place, side, strlen(side))) &&
                is_among(names, api);
    }
    fclose(file);
    return known;
}
