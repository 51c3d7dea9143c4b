/* Expressions of manifests of any text, over names of all kinds: what checks well may still have no
 * value, and what has one checks well. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runner/devices/plugin/plugin_expression.h"

static float elements[6] = { 1, -2, 3.5f, 0, 1e30f, 7 };
static struct tensor tensors[] = {
    { DT_F32, 2, { 2, 3 }, { 3, 1 }, elements },
    { DT_F32, 0, { 0 }, { 0 }, elements },
    { DT_F32, 2, { 0, 4 }, { 4, 1 }, elements },
};
static struct expression_value items[] = {
    { EXPRESSION_INT, { .integer = 2 } },
    { EXPRESSION_INT, { .integer = -1 } },
    { EXPRESSION_TENSOR, { .tensor = &tensors[0] } },
};

static bool find(struct expression_value *out, void *context, const char *name)
{
    static const struct {
        const char *name;
        struct expression_value value;
    } names[] = {
        { "x", { EXPRESSION_TENSOR, { .tensor = &tensors[0] } } },
        { "scalar", { EXPRESSION_TENSOR, { .tensor = &tensors[1] } } },
        { "empty", { EXPRESSION_TENSOR, { .tensor = &tensors[2] } } },
        { "list", { EXPRESSION_LIST, { .list = { items, 3 } } } },
        { "i", { EXPRESSION_INT, { .integer = INT64_MAX } } },
        { "j", { EXPRESSION_INT, { .integer = INT64_MIN } } },
        { "f", { EXPRESSION_FLOAT, { .real = 2.5 } } },
        { "s", { EXPRESSION_STRING, { .string = "float32" } } },
        { "n", { EXPRESSION_NONE, { .integer = 0 } } },
    };
    (void)context;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (strcmp(name, names[k].name)) continue;
        *out = names[k].value;
        return true;
    }
    return false;
}

/* Everything that a value points to can be read. */
static size_t weigh(const struct expression_value *value)
{
    size_t sum = 1;
    assert(value->kind >= EXPRESSION_NONE && value->kind <= EXPRESSION_TENSOR);
    if (value->kind == EXPRESSION_STRING) sum += strlen(value->string);
    if (value->kind == EXPRESSION_TENSOR) assert(value->tensor->rank >= 0);
    for (size_t i = 0; value->kind == EXPRESSION_LIST && i < value->list.count; i++)
        sum += weigh(&value->list.items[i]);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { .limit_bytes = 16 << 20 };
    struct expression_scope scope = { .arena = &arena, .find = find };
    struct expression_value value;
    int64_t integer, shape[TENSOR_MAX_RANK];
    bool boolean;
    int rank = 0;
    const char *string;
    const struct tensor *tensor;
    char *text = malloc(size + 1);

    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    struct status checked = expression_check(text);
    struct status status = expression_evaluate(&value, &scope, text);
    assert(!status.code || status.text[0]);
    assert(status.code || !checked.code);
    if (!status.code) assert(weigh(&value) > 0);
    (void)expression_as_bool(&boolean, &scope, text);
    (void)expression_as_int(&integer, &scope, text);
    if (!expression_as_shape(shape, &rank, &scope, text).code)
        assert(rank >= 0 && rank <= TENSOR_MAX_RANK);
    (void)expression_as_string(&string, &scope, text);
    (void)expression_as_tensor(&tensor, &scope, text);
    free(text);
    arena_release(&arena);
    return 0;
}
