/* Reads and checks the configuration; a fault is named with its line. */
#include "compare/merge/merge_config.h"

#include <string.h>

#include "compare/merge/result_columns.h"
#include "formats/yaml_tree.h"

enum { MAX_APIS = 4096 };

struct config_reader {
    struct yaml_document document;
    struct arena *arena;
};

/* Dotted parts, none of them empty. */
static bool is_dotted_name(const char *text)
{
    size_t length = strlen(text);
    return length && text[0] != '.' && text[length - 1] != '.' && !strstr(text, "..");
}

static bool has_text(const char *const *texts, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(texts[i], text)) return true;
    return false;
}

/* A list of scalars. */
static struct status check_list(const struct config_reader *reader, const struct yaml_node *node,
                                const char *key)
{
    if (node->kind != YAML_SEQUENCE)
        return yaml_fault(&reader->document, node, "'%s' must be a list", key);
    if (node->count > MAX_APIS)
        return yaml_fault(&reader->document, node, "'%s' has more than %d items", key, MAX_APIS);
    for (size_t i = 0; i < node->count; i++)
        if (node->items[i]->kind != YAML_SCALAR || yaml_is_null(node->items[i]))
            return yaml_fault(&reader->document, node->items[i], "an item of '%s' must be a name",
                              key);
    return status_ok();
}

static struct status read_apis(struct merge_config *out, const struct config_reader *reader)
{
    const struct yaml_document *document = &reader->document;
    const struct yaml_node *list = yaml_member(document->root, "api");

    if (!list || yaml_is_null(list))
        return yaml_fault(document, document->root, "the list 'api' is missing");
    TRY(check_list(reader, list, "api"));
    if (!list->count) return yaml_fault(document, list, "the list 'api' is empty");
    const char **apis = arena_allocate_array(reader->arena, list->count, sizeof *apis);
    if (!apis) return status_no_memory(list->count * sizeof *apis);
    for (size_t i = 0; i < list->count; i++) {
        const char *api = list->items[i]->text;
        if (!is_dotted_name(api))
            return yaml_fault(document, list->items[i],
                              "'%s' is no API; one is Type.name.count.direction or the first parts "
                              "of that",
                              api);
        if (!has_text(apis, out->n_apis, api)) apis[out->n_apis++] = api;
    }
    out->apis = apis;
    return status_ok();
}

static struct status read_indices(struct merge_config *out, const struct config_reader *reader)
{
    const struct yaml_document *document = &reader->document;
    const struct yaml_node *list = yaml_member(document->root, "compare_index");

    if (!list || yaml_is_null(list)) return status_ok();
    TRY(check_list(reader, list, "compare_index"));
    const char **indices = arena_allocate_array(reader->arena, list->count, sizeof *indices);
    if (!indices) return status_no_memory(list->count * sizeof *indices);
    for (size_t i = 0; i < list->count; i++) {
        const char *index = result_index(list->items[i]->text);
        if (!index)
            return yaml_fault(document, list->items[i],
                              "'%s' is no column that can be merged, the nearest is '%s'",
                              list->items[i]->text, result_nearest_index(list->items[i]->text));
        if (!has_text(indices, out->n_indices, index)) indices[out->n_indices++] = index;
    }
    out->indices = indices;
    return status_ok();
}

struct status merge_config_parse(struct merge_config *out, struct arena *arena, const char *name,
                                 const char *text, size_t bytes)
{
    struct config_reader reader = { .arena = arena };
    struct merge_config config = { 0 };

    TRY(yaml_parse(&reader.document, arena, name, text, bytes));
    if (reader.document.root->kind != YAML_MAPPING)
        return yaml_fault(&reader.document, reader.document.root,
                          "keys 'api' and 'compare_index' are expected");
    TRY(read_apis(&config, &reader));
    TRY(read_indices(&config, &reader));
    *out = config;
    return status_ok();
}

size_t merge_config_api(const struct merge_config *config, const char *row, size_t length)
{
    size_t i = 0;
    for (; i < config->n_apis; i++) {
        size_t bytes = strlen(config->apis[i]);
        if (length > bytes && row[bytes] == '.' && !memcmp(row, config->apis[i], bytes)) break;
    }
    return i;
}
