/* The events of libyaml, one after the other, become nodes. Children wait on one stack
 * until their sequence or mapping ends and are then copied behind each other into the
 * arena. */
#include "formats/yaml_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "core/checked.h"
#include "core/file.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_pool.h"

struct anchor {
    const char *name;
    const struct yaml_node *node;
};

struct builder {
    yaml_parser_t parser;
    const char *name; /* of the file */
    struct arena *arena;
    struct text_pool texts;
    struct yaml_node *fresh; /* nodes that have not been given out */
    size_t n_fresh;
    const struct yaml_node **stack; /* of finished children */
    size_t stacked, stack_room;
    struct anchor anchors[YAML_MAX_ANCHORS]; /* in the order of the text; a name may come again */
    size_t n_anchors;
};

static struct status fault_at(const char *name, size_t line, size_t column, const char *problem)
{
    return status_error(STATUS_BAD_INPUT, "%s, line %zu, column %zu: %s", file_shown(name).text,
                        line, column, problem);
}

static struct status fault(const struct builder *builder, const yaml_event_t *event,
                           const char *problem)
{
    return fault_at(builder->name, event->start_mark.line + 1, event->start_mark.column + 1,
                    problem);
}

struct status yaml_fault(const struct yaml_document *document, const struct yaml_node *node,
                         const char *format, ...)
{
    char problem[400];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    return fault_at(document->name, node->line, node->column, problem);
}

/* The next event; what libyaml has against the text otherwise. */
static struct status next_event(struct builder *builder, yaml_event_t *event)
{
    yaml_parser_t *parser = &builder->parser;
    char problem[200];

    if (yaml_parser_parse(parser, event)) return status_ok();
    if (parser->error == YAML_MEMORY_ERROR) return status_no_memory(0);
    if (parser->error == YAML_READER_ERROR)
        return status_error(STATUS_BAD_INPUT, "%s, byte %zu: %s", file_shown(builder->name).text,
                            parser->problem_offset, parser->problem);
    (void)snprintf(problem, sizeof problem, "%s%s%s", parser->problem, parser->context ? " " : "",
                   parser->context ? parser->context : "");
    return fault_at(builder->name, parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                    problem);
}

static struct yaml_node *node_new(struct builder *builder, enum yaml_kind kind,
                                  const yaml_event_t *event)
{
    enum { NODES_AT_ONCE = 128 };
    if (!builder->n_fresh) {
        builder->fresh =
            arena_allocate_array(builder->arena, NODES_AT_ONCE, sizeof *builder->fresh);
        if (!builder->fresh) return NULL;
        builder->n_fresh = NODES_AT_ONCE;
    }
    struct yaml_node *node = builder->fresh++;
    builder->n_fresh--;
    *node = (struct yaml_node){ .kind = kind,
                                .line = (uint32_t)event->start_mark.line + 1,
                                .column = (uint32_t)event->start_mark.column + 1,
                                .text = "",
                                .nodes = 1 };
    return node;
}

static struct status push(struct builder *builder, const struct yaml_node *node)
{
    TRY(array_make_room(&builder->stack, &builder->stack_room, builder->stacked,
                        sizeof *builder->stack));
    builder->stack[builder->stacked++] = node;
    return status_ok();
}

/* YAML's own tags: what a text would have without them, and !!str. */
static struct status check_tag(bool *is_text, const struct builder *builder,
                               const yaml_event_t *event, const yaml_char_t *tag)
{
    static const char *const own[] = { YAML_NULL_TAG,  YAML_BOOL_TAG, YAML_INT_TAG,
                                       YAML_FLOAT_TAG, YAML_SEQ_TAG,  YAML_MAP_TAG };
    if (!tag) return status_ok();
    *is_text = !strcmp((const char *)tag, YAML_STR_TAG) || !strcmp((const char *)tag, "!");
    bool known = *is_text;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        known |= !strcmp((const char *)tag, own[i]);
    return known ? status_ok() : fault(builder, event, "tags are not supported");
}

/* Give the node its name. It counts before its end, so that an alias inside it is found
 * out. */
static struct status note_anchor(struct builder *builder, const yaml_event_t *event,
                                 const yaml_char_t *anchor, const struct yaml_node *node)
{
    if (!anchor) return status_ok();
    if (builder->n_anchors == YAML_MAX_ANCHORS) return fault(builder, event, "too many anchors");
    const char *name =
        text_pool_copy(&builder->texts, (const char *)anchor, strlen((const char *)anchor));
    if (!name) return status_no_memory(0);
    builder->anchors[builder->n_anchors++] = (struct anchor){ name, node };
    return status_ok();
}

static struct status read_alias(const struct yaml_node **out, const struct builder *builder,
                                const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    for (size_t i = builder->n_anchors; i-- > 0;) {
        const struct anchor *anchor = &builder->anchors[i];
        if (strcmp(anchor->name, name)) continue;
        if (!anchor->node->height)
            return fault(builder, event, "an alias inside of what it stands for");
        *out = anchor->node;
        return status_ok();
    }
    return fault(builder, event, "an alias without an anchor before it");
}

static struct status read_scalar(const struct yaml_node **out, struct builder *builder,
                                 const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    bool is_text = false;

    TRY(check_tag(&is_text, builder, event, event->data.scalar.tag));
    if (length && memchr(text, 0, length)) return fault(builder, event, "a text with a NUL in it");
    struct yaml_node *node = node_new(builder, YAML_SCALAR, event);
    if (!node) return status_no_memory(0);
    node->text = text_pool_copy(&builder->texts, text, length);
    if (!node->text) return status_no_memory(length);
    node->length = length;
    node->quoted = is_text || event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->height = 1;
    TRY(note_anchor(builder, event, event->data.scalar.anchor, node));
    *out = node;
    return status_ok();
}

static int compare_keys(const struct yaml_node *a, const struct yaml_node *b)
{
    return strcmp(a->text, b->text);
}

/* By key, equal ones in the order of the file. */
static int by_key(const void *a, const void *b)
{
    const struct yaml_pair *x = *(const struct yaml_pair *const *)a;
    const struct yaml_pair *y = *(const struct yaml_pair *const *)b;
    int order = compare_keys(x->key, y->key);
    return order ? order : (x > y) - (x < y);
}

static struct status check_key(const struct builder *builder, const struct yaml_node *key)
{
    if (key->kind != YAML_SCALAR)
        return fault_at(builder->name, key->line, key->column, "a key must be a plain name");
    if (!key->quoted && !strcmp(key->text, "<<"))
        return fault_at(builder->name, key->line, key->column, "merge keys are not supported");
    return status_ok();
}

/* Turn the children on the stack, from `first` on, into the pairs of a mapping. */
static struct status take_pairs(struct yaml_node *node, struct builder *builder, size_t first)
{
    size_t count = (builder->stacked - first) / 2;
    struct yaml_pair *pairs = arena_allocate_array(builder->arena, count, sizeof *pairs);
    const struct yaml_pair **order = arena_allocate_array(builder->arena, count, sizeof *order);
    char problem[200];

    if (!pairs || !order) return status_no_memory(count * sizeof *pairs);
    for (size_t i = 0; i < count; i++) {
        const struct yaml_node *const *child = &builder->stack[first + 2 * i];
        TRY(check_key(builder, child[0]));
        pairs[i] = (struct yaml_pair){ child[0], child[1] };
        order[i] = &pairs[i];
    }
    qsort(order, count, sizeof *order, by_key);
    for (size_t i = 1; i < count; i++) {
        const struct yaml_node *before = order[i - 1]->key, *key = order[i]->key;
        if (compare_keys(before, key) != 0) continue;
        (void)snprintf(problem, sizeof problem, "the key '%.100s' has been there in line %u",
                       key->text, before->line);
        return fault_at(builder->name, key->line, key->column, problem);
    }
    node->count = count;
    node->pairs = pairs;
    node->by_key = order;
    return status_ok();
}

static struct status take_items(struct yaml_node *node, struct builder *builder, size_t first)
{
    size_t count = builder->stacked - first;
    const struct yaml_node **items = arena_allocate_array(builder->arena, count, sizeof *items);
    if (!items) return status_no_memory(count * sizeof *items);
    if (count) memcpy(items, builder->stack + first, count * sizeof *items);
    node->count = count;
    node->items = items;
    return status_ok();
}

static struct status read_node(const struct yaml_node **out, struct builder *builder,
                               const yaml_event_t *event, int depth);

/* The children up to the end of their container, onto the stack; the node learns how many
 * nodes a walk meets. */
static struct status read_children(struct yaml_node *node, struct builder *builder, int depth)
{
    for (;;) {
        const struct yaml_node *child = NULL;
        yaml_event_t event;
        TRY(next_event(builder, &event));
        bool is_end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        struct status status = is_end ? status_ok() : read_node(&child, builder, &event, depth + 1);
        if (!status.code && child) {
            node->nodes += child->nodes;
            if (node->nodes > YAML_MAX_NODES)
                status =
                    fault(builder, &event, "more than 4194304 values, those of aliases counted");
            else if ((uint32_t)depth + 1 + child->height > YAML_MAX_DEPTH)
                status = fault(builder, &event, "more than 64 levels");
        }
        yaml_event_delete(&event);
        if (status.code || is_end) return status;
        TRY(push(builder, child));
    }
}

/* How high a container is shows when its children are there. */
static uint32_t height_of(const struct builder *builder, size_t first)
{
    uint32_t height = 0;
    for (size_t i = first; i < builder->stacked; i++)
        if (builder->stack[i]->height > height) height = builder->stack[i]->height;
    return height + 1;
}

static struct status read_container(const struct yaml_node **out, struct builder *builder,
                                    const yaml_event_t *event, int depth)
{
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT, is_text = false;
    const yaml_char_t *anchor = is_mapping ? event->data.mapping_start.anchor
                                           : event->data.sequence_start.anchor;
    size_t first = builder->stacked;

    if (depth >= YAML_MAX_DEPTH) return fault(builder, event, "more than 64 levels");
    TRY(check_tag(&is_text, builder, event,
                  is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag));
    struct yaml_node *node = node_new(builder, is_mapping ? YAML_MAPPING : YAML_SEQUENCE, event);
    if (!node) return status_no_memory(0);
    TRY(note_anchor(builder, event, anchor, node));
    TRY(read_children(node, builder, depth));
    TRY(is_mapping ? take_pairs(node, builder, first) : take_items(node, builder, first));
    node->height = height_of(builder, first);
    builder->stacked = first;
    *out = node;
    return status_ok();
}

/* The node that begins with `event`, inside of `depth` containers. */
static struct status read_node(const struct yaml_node **out, struct builder *builder,
                               const yaml_event_t *event, int depth)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: return read_scalar(out, builder, event);
    case YAML_ALIAS_EVENT: return read_alias(out, builder, event);
    default: return read_container(out, builder, event, depth);
    }
}

/* What the stream consists of: its start, then nothing, or a document with one node; its
 * end. */
static struct status read_stream(const struct yaml_node **root, struct builder *builder)
{
    yaml_event_type_t type = YAML_NO_EVENT;
    bool had_document = false;

    while (type != YAML_STREAM_END_EVENT) {
        yaml_event_t event;
        TRY(next_event(builder, &event));
        type = event.type;
        struct status status = status_ok();
        if (type == YAML_DOCUMENT_START_EVENT) {
            if (had_document) status = fault(builder, &event, "a second document");
            had_document = true;
        } else if (type != YAML_STREAM_START_EVENT && type != YAML_STREAM_END_EVENT &&
                   type != YAML_DOCUMENT_END_EVENT) {
            status = read_node(root, builder, &event, 0);
        }
        yaml_event_delete(&event);
        if (status.code) return status;
    }
    return status_ok();
}

struct status yaml_parse(struct yaml_document *out, struct arena *arena, const char *name,
                         const char *text, size_t bytes)
{
    static const struct yaml_node nothing = {
        .kind = YAML_SCALAR, .line = 1, .column = 1, .text = "", .height = 1, .nodes = 1
    };
    const struct yaml_node *root = &nothing;

    if (bytes > YAML_MAX_BYTES)
        return status_error(STATUS_BAD_INPUT, "'%s' is larger than 64 MiB", file_shown(name).text);
    struct builder *builder = memory_allocate_zeroed(1, sizeof *builder);
    if (!builder) return status_no_memory(sizeof *builder);
    builder->name = name;
    builder->arena = builder->texts.arena = arena;
    struct status status = status_no_memory(0);
    if (yaml_parser_initialize(&builder->parser)) {
        yaml_parser_set_encoding(&builder->parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&builder->parser, (const unsigned char *)text, bytes);
        status = read_stream(&root, builder);
        yaml_parser_delete(&builder->parser);
    }
    memory_release(builder->stack);
    memory_release(builder);
    if (!status.code) *out = (struct yaml_document){ name, root };
    return status;
}

const struct yaml_node *yaml_member(const struct yaml_node *node, const char *key)
{
    size_t low = 0, high = node->kind == YAML_MAPPING ? node->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(key, node->by_key[middle]->key->text);
        if (!order) return node->by_key[middle]->value;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

bool yaml_is_null(const struct yaml_node *node)
{
    static const char *const words[] = { "", "~", "null", "Null", "NULL" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (node->kind == YAML_SCALAR && !node->quoted && !strcmp(node->text, words[i]))
            return true;
    return false;
}

bool yaml_integer(int64_t *value, const struct yaml_node *node)
{
    if (node->kind != YAML_SCALAR || node->quoted) return false;
    const char *digits = node->text + (*node->text == '-' || *node->text == '+');
    if (!*digits || strspn(digits, "0123456789") != strlen(digits)) return false;
    errno = 0;
    long long number = strtoll(node->text, NULL, 10);
    if (errno) return false;
    *value = number;
    return true;
}
