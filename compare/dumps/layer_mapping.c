/* Section 16.4 of the comparison's rules. Scopes are texts with dots; the "trie" of a side is a table
 * of scopes, since a walk along a scope asks for its prefixes one by one.
 */
#include "compare/dumps/layer_mapping.h"

#include <stdio.h>
#include <string.h>

#include "core/dotted_name.h"
#include "core/memory.h"
#include "formats/construct.h"
#include "formats/stacks.h"

enum entry_state { SCOPE_FORWARD, SCOPE_BACKWARD, SCOPE_GRADIENTS, SCOPE_OTHER, SCOPE_STATES };

static const char top_layer[] = "TopLayer", old_top_layer[] = "Cell";

/* One scope of a side. */
struct place {
    const char *class_name; /* of the last entry there; in `texts` of the side */
    uint32_t first[SCOPE_STATES], last[SCOPE_STATES]; /* entries, chained; ROW_NONE */
};

struct layer_side {
    const struct dump_rows *dump;
    struct construct construct;
    struct stacks *stacks;
    struct text_table scopes;    /* full scopes */
    struct text_table places_by; /* scopes without their first part */
    struct text_table texts;     /* classes */
    uint32_t *scope;             /* by entry */
    uint32_t *class_of;          /* by entry, in `texts` */
    uint8_t *state;              /* by entry */
    uint32_t *next;              /* by entry: the next one of its place and state */
    uint32_t *position;          /* by entry: among those */
    struct place *places;
    struct csv_buffer text; /* scratch */
};

/* ---- parts of an entry ------------------------------------------------------------------ */

struct entry_parts {
    struct name_slice api, class_name, scope; /* the scope of a call comes from construct.json */
    enum entry_state state;
    bool is_call;
};

static enum entry_state state_of(struct name_slice word)
{
    static const char *const words[] = { "forward", "backward", "parameters_grad" };
    for (int i = 0; i < 3; i++)
        if (name_slice_is(word, words[i])) return (enum entry_state)i;
    return SCOPE_OTHER;
}

/* The name without its last three parts, and without the part before them when `api` says so. */
static struct entry_parts split_entry(struct name_slice name)
{
    struct name_slice last = name_part_from_end(name, 1), second = name_part_from_end(name, 2);

    if (name_slice_is(last, "parameters_grad"))
        return (struct entry_parts){ .api = name_part_from_end(name, 3),
                                     .class_name = second,
                                     .scope = name_without_last(name, 3),
                                     .state = SCOPE_GRADIENTS };
    if (name_slice_is(second, "parameters_grad"))
        return (struct entry_parts){ .api = name_part_from_end(name, 4),
                                     .class_name = name_part_from_end(name, 3),
                                     .scope = name_without_last(name, 3),
                                     .state = SCOPE_GRADIENTS };
    if (name_starts_with(name, "Module.") || name_starts_with(name, "Cell."))
        return (struct entry_parts){ .api = name_part_from_end(name, 4),
                                     .class_name = name_part_from_end(name, 3),
                                     .scope = name_without_last(name, 4),
                                     .state = state_of(second) };
    return (struct entry_parts){ .api = name_part_from_end(name, 3),
                                 .class_name = name_part_from_end(name, 3),
                                 .state = state_of(last),
                                 .is_call = true };
}

/* ---- the framework's function ----------------------------------------------------------- */

/* "File {path}, line {n}, in {function}, \n {source}" */
struct frame {
    struct name_slice file, function, line;
};

static bool contains(struct name_slice text, const char *word)
{
    return memmem(text.text, text.length, word, strlen(word)) != NULL;
}

static struct frame split_frame(const char *text, size_t length)
{
    struct frame frame = { .line = name_slice_of(text, length) };
    const char *file = memmem(text, length, "File ", 5), *in = memmem(text, length, ", in ", 5);
    const char *line = memmem(text, length, ", line ", 7);

    frame.file = name_slice_of(text, 0);
    frame.function = name_slice_of(text, 0);
    if (file && line && line > file + 5)
        frame.file = name_slice_of(file + 5, (size_t)(line - file - 5));
    if (in) {
        const char *comma = memchr(in + 5, ',', length - (size_t)(in + 5 - text));
        frame.function = name_slice_of(in + 5, (size_t)((comma ? comma : text + length) - in - 5));
    }
    return frame;
}

static bool ends_framework(const struct layer_side *side, const struct frame *frame)
{
    if (side->dump->framework == FRAMEWORK_MINDSPORE) return contains(frame->line, "construct");
    return contains(frame->line, "in forward,") || contains(frame->line, "in backward,");
}

static bool is_framework_file(struct name_slice file)
{
    return contains(file, "site-packages/torch") || contains(file, "package/torch") ||
           contains(file, "site-packages/mindspore") || contains(file, "package/mindspore");
}

/* Walk the frames behind the last one of a template; of the leading ones inside the framework the last
 * names the function. `found` points into `text`, which holds it. */
static struct status find_function(bool *found, struct csv_buffer *function,
                                   struct layer_side *side, const char *entry, size_t length)
{
    struct json json, from;
    struct json_slice slice;
    size_t index = 0, start = 0;
    struct csv_buffer text = { 0 };
    struct status status = status_ok();

    *found = false;
    if (!stacks_find(&json, side->stacks, entry, length)) return status_ok();
    from = json;
    for (bool more = json_enter_array(&json); more && json_array_next(&json); index++) {
        if (!json_string(&json, &slice)) break;
        if (memmem(slice.text, slice.bytes, "Template", 8)) start = index + 1;
    }
    index = 0;
    for (bool more = json_enter_array(&from); more && json_array_next(&from) && !status.code;
         index++) {
        if (!json_string(&from, &slice)) break;
        if (index < start) continue;
        csv_buffer_clear(&text);
        status = csv_append_bytes(&text, slice.text, slice.bytes);
        if (status.code) break;
        if (slice.escaped) text.length = json_slice_decode_into(text.data, &slice);
        struct frame frame = split_frame(text.data, text.length);
        if (ends_framework(side, &frame) || !is_framework_file(frame.file)) break;
        *found = !contains(frame.file, "msprobe") && !contains(frame.file, "MindSpeed") &&
                 !contains(frame.function, "construct") && !contains(frame.function, "__call__") &&
                 frame.function.length;
        csv_buffer_clear(function);
        status = csv_append_bytes(function, frame.function.text, frame.function.length);
    }
    csv_buffer_release(&text);
    return status;
}

/* ---- scopes ----------------------------------------------------------------------------- */

static struct status append_part(struct csv_buffer *out, const char *text, size_t length)
{
    if (out->length) TRY(csv_append_bytes(out, ".", 1));
    return csv_append_bytes(out, text, length);
}

/* The modules around a call. */
static struct status append_parent_scope(struct csv_buffer *out, const struct layer_side *side,
                                         struct name_slice entry)
{
    uint32_t parent = TEXT_NONE;
    uint32_t child = text_table_find(&side->construct.names, entry.text, entry.length);

    if (child != TEXT_NONE && construct_parent(&side->construct, child, &parent) &&
        parent != TEXT_NONE) {
        size_t length;
        const char *name = text_table_get(&side->construct.names, parent, &length);
        struct name_slice scope = name_without_last(name_slice_of(name, length), 3);
        if (scope.length) return append_part(out, scope.text, scope.length);
    }
    return append_part(out, top_layer, sizeof top_layer - 1);
}

static struct status make_scope(struct csv_buffer *out, struct layer_side *side,
                                struct name_slice entry, const struct entry_parts *parts)
{
    struct csv_buffer function = { 0 };
    bool found = false;
    struct status status = status_ok();

    csv_buffer_clear(out);
    if (!parts->is_call) status = append_part(out, parts->scope.text, parts->scope.length);
    else {
        status = append_parent_scope(out, side, entry);
        bool has_function = !name_starts_with(entry, "Primitive.") &&
                            !name_starts_with(entry, "Jit.");
        if (!status.code && has_function)
            status = find_function(&found, &function, side, entry.text, entry.length);
        if (!status.code && found) status = append_part(out, function.data, function.length);
    }
    csv_buffer_release(&function);
    return status.code ? status : append_part(out, parts->api.text, parts->api.length);
}

static struct status scope_entry(struct layer_side *side, uint32_t entry)
{
    size_t length;
    const char *name = dump_entry_name(side->dump, entry, &length);
    struct entry_parts parts = split_entry(name_slice_of(name, length));
    char twin[NAME_BUFFER];

    side->state[entry] = (uint8_t)parts.state;
    TRY(text_table_add(&side->class_of[entry], NULL, &side->texts, parts.class_name.text,
                       parts.class_name.length));
    struct name_slice source = name_slice_of(name, length);
    /* A backward call has no stack of its own: the forward call says where it belongs. */
    size_t twin_length = parts.state == SCOPE_BACKWARD ? name_turn(twin, source, DIRECTION_FORWARD)
                                                       : 0;
    if (twin_length && text_table_find(&side->dump->names, twin, twin_length) != TEXT_NONE) {
        source = name_slice_of(twin, twin_length);
        parts = split_entry(source);
    }
    TRY(make_scope(&side->text, side, source, &parts));
    return text_table_add(&side->scope[entry], NULL, &side->scopes, side->text.data,
                          side->text.length);
}

/* ---- numbers of layers ------------------------------------------------------------------ */

/* Pipeline stages of one framework count their layers globally, those of the other locally: below
 * every ParallelTransformer layers count from the smallest number. */
struct renumbering {
    struct text_table roots; /* scopes of ParallelTransformer */
    unsigned *smallest;      /* by root */
};

/* Where "<root>.layers.<number>" ends its root in a scope, and the number. */
static bool find_layer(uint32_t *root, struct name_slice *number, const struct renumbering *r,
                       const char *scope, size_t length)
{
    static const char word[] = ".layers.";
    const char *at = scope, *end = scope + length;
    while ((at = memmem(at, (size_t)(end - at), word, sizeof word - 1))) {
        *root = text_table_find(&r->roots, scope, (size_t)(at - scope));
        at += sizeof word - 1;
        if (*root == TEXT_NONE) continue;
        const char *dot = memchr(at, '.', (size_t)(end - at));
        *number = name_slice_of(at, (size_t)((dot ? dot : end) - at));
        return true;
    }
    return false;
}

static struct status renumber_scopes(struct layer_side *side, const struct renumbering *r)
{
    uint32_t root;
    struct name_slice number;
    unsigned value;
    char digits[16];

    for (uint32_t i = 0; i < side->dump->n_entries; i++) {
        size_t length;
        const char *scope = text_table_get(&side->scopes, side->scope[i], &length);
        if (!find_layer(&root, &number, r, scope, length) || !name_read_number(number, &value))
            continue;
        int n = snprintf(digits, sizeof digits, "%u", value - r->smallest[root]);
        csv_buffer_clear(&side->text);
        const char *behind = number.text + number.length;
        TRY(csv_append_bytes(&side->text, scope, (size_t)(number.text - scope)));
        TRY(csv_append_bytes(&side->text, digits, (size_t)n));
        TRY(csv_append_bytes(&side->text, behind, length - (size_t)(behind - scope)));
        TRY(text_table_add(&side->scope[i], NULL, &side->scopes, side->text.data,
                           side->text.length));
    }
    return status_ok();
}

static struct status find_smallest(struct renumbering *r, const struct layer_side *side)
{
    struct name_slice number;
    uint32_t root;
    unsigned value;

    r->smallest = memory_allocate((r->roots.count + (size_t)1) * sizeof *r->smallest);
    if (!r->smallest) return status_no_memory(r->roots.count);
    memset(r->smallest, 0xff, r->roots.count * sizeof *r->smallest);
    for (uint32_t i = 0; i < side->dump->n_entries; i++) {
        size_t length;
        const char *scope = text_table_get(&side->scopes, side->scope[i], &length);
        if (find_layer(&root, &number, r, scope, length) && name_read_number(number, &value) &&
            value < r->smallest[root])
            r->smallest[root] = value;
    }
    return status_ok();
}

static struct status renumber(struct layer_side *side)
{
    struct renumbering r = { .smallest = NULL };
    uint32_t ignored;

    TRY(text_table_create(&r.roots));
    struct status status = status_ok();
    for (uint32_t i = 0; i < side->dump->n_entries && !status.code; i++) {
        size_t length;
        const char *scope = text_table_get(&side->scopes, side->scope[i], &length);
        if (!strcmp(text_table_get(&side->texts, side->class_of[i], NULL), "ParallelTransformer"))
            status = text_table_add(&ignored, NULL, &r.roots, scope, length);
    }
    if (!status.code && r.roots.count) status = find_smallest(&r, side);
    if (!status.code && r.roots.count) status = renumber_scopes(side, &r);
    memory_release(r.smallest);
    text_table_release(&r.roots);
    return status;
}

/* ---- places ----------------------------------------------------------------------------- */

/* A scope without its first part. */
static struct name_slice place_name(const struct layer_side *side, uint32_t entry)
{
    size_t length;
    const char *scope = text_table_get(&side->scopes, side->scope[entry], &length);
    const char *dot = memchr(scope, '.', length);
    size_t first = dot ? (size_t)(dot - scope) + 1 : length;
    return name_slice_of(scope + first, length - first);
}

static struct status collect_places(struct layer_side *side)
{
    uint32_t n = side->dump->n_entries, number;

    side->places = memory_allocate(((size_t)n + 1) * sizeof *side->places);
    if (!side->places) return status_no_memory(n * sizeof *side->places);
    memset(side->places, 0xff, n * sizeof *side->places);
    for (uint32_t i = 0; i < n; i++) {
        struct name_slice name = place_name(side, i);
        enum entry_state state = side->state[i];
        TRY(text_table_add(&number, NULL, &side->places_by, name.text, name.length));
        struct place *place = &side->places[number];
        place->class_name = text_table_get(&side->texts, side->class_of[i], NULL);
        side->next[i] = ROW_NONE;
        side->position[i] = 0;
        if (place->last[state] == ROW_NONE) place->first[state] = i;
        else {
            side->next[place->last[state]] = i;
            side->position[i] = side->position[place->last[state]] + 1;
        }
        place->last[state] = i;
    }
    return status_ok();
}

/* ---- a side ----------------------------------------------------------------------------- */

static struct status beside(char **out, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    size_t before = slash ? (size_t)(slash - path + 1) : 0, bytes = before + strlen(name) + 1;
    *out = memory_allocate(bytes);
    if (!*out) return status_no_memory(bytes);
    (void)snprintf(*out, bytes, "%.*s%s", (int)before, path, name);
    return status_ok();
}

static struct status read_side(struct layer_side *side, const char *path, struct file_policy policy)
{
    char *construct = NULL, *stack = NULL;
    uint32_t n = side->dump->n_entries;
    size_t bytes = ((size_t)n + 1) * sizeof(uint32_t);

    struct status status = beside(&construct, path, "construct.json");
    if (!status.code) status = beside(&stack, path, "stack.json");
    if (!status.code) status = construct_read(&side->construct, construct, policy);
    if (!status.code) status = stacks_open(&side->stacks, stack, policy);
    memory_release(construct);
    memory_release(stack);
    TRY(status);
    TRY(text_table_create(&side->scopes));
    TRY(text_table_create(&side->places_by));
    TRY(text_table_create(&side->texts));
    side->scope = memory_allocate(bytes);
    side->class_of = memory_allocate(bytes);
    side->next = memory_allocate(bytes);
    side->position = memory_allocate(bytes);
    side->state = memory_allocate((size_t)n + 1);
    if (!side->scope || !side->class_of || !side->next || !side->position || !side->state)
        return status_no_memory(bytes);
    for (uint32_t i = 0; i < n; i++) TRY(scope_entry(side, i));
    TRY(renumber(side));
    return collect_places(side);
}

struct status layer_side_open(struct layer_side **out, const struct dump_rows *dump,
                              const char *path, struct file_policy policy)
{
    struct layer_side *side = memory_allocate_zeroed(1, sizeof *side);

    *out = NULL;
    if (!side) return status_no_memory(sizeof *side);
    side->dump = dump;
    struct status status = read_side(side, path, policy);
    if (status.code) layer_side_close(side);
    else *out = side;
    return status;
}

void layer_side_close(struct layer_side *side)
{
    if (!side) return;
    construct_close(&side->construct);
    stacks_close(side->stacks);
    if (side->scopes.slots) text_table_release(&side->scopes);
    if (side->places_by.slots) text_table_release(&side->places_by);
    if (side->texts.slots) text_table_release(&side->texts);
    memory_release(side->scope);
    memory_release(side->class_of);
    memory_release(side->next);
    memory_release(side->position);
    memory_release(side->state);
    memory_release(side->places);
    csv_buffer_release(&side->text);
    memory_release(side);
}

const char *layer_side_scope(const struct layer_side *side, uint32_t entry)
{
    return text_table_get(&side->scopes, side->scope[entry], NULL);
}

/* ---- translation ------------------------------------------------------------------------ */

/* The rules of the class at a scope: that of its entries, or its own name; the top has two names. */
static const struct yaml_node *rules_at(const struct yaml_document *rules,
                                        const struct layer_side *side, const char *scope,
                                        size_t length)
{
    char own[NAME_BUFFER];
    if (!rules) return NULL;
    if (!length) {
        const struct yaml_node *top = yaml_member(rules->root, top_layer);
        return top ? top : yaml_member(rules->root, old_top_layer);
    }
    uint32_t place = text_table_find(&side->places_by, scope, length);
    if (place != TEXT_NONE) return yaml_member(rules->root, side->places[place].class_name);
    struct name_slice last = name_part_from_end(name_slice_of(scope, length), 1);
    if (last.length >= sizeof own) return NULL;
    memcpy(own, last.text, last.length);
    own[last.length] = '\0';
    return yaml_member(rules->root, own);
}

/* The longest rule whose parts are those that come next. */
static const struct yaml_pair *best_rule(const struct yaml_node *rules, const char *rest,
                                         size_t length)
{
    const struct yaml_pair *best = NULL;
    for (size_t i = 0; rules && rules->kind == YAML_MAPPING && i < rules->count; i++) {
        const struct yaml_node *key = rules->pairs[i].key;
        bool fits = key->length && key->length <= length && !memcmp(key->text, rest, key->length) &&
                    (key->length == length || rest[key->length] == '.');
        if (fits && (!best || key->length > best->key->length)) best = &rules->pairs[i];
    }
    return best;
}

/* What a rule's right side means: text from "(" on is a remark. */
static struct status append_right(struct csv_buffer *out, const struct yaml_node *value)
{
    size_t length = strcspn(value->text, "(");
    while (length && value->text[length - 1] == ' ') length--;
    return length ? append_part(out, value->text, length) : status_ok();
}

static struct status translate(struct csv_buffer *out, const struct yaml_document *rules,
                               const struct layer_side *side, struct name_slice scope)
{
    csv_buffer_clear(out);
    for (size_t at = 0; at < scope.length;) {
        const char *rest = scope.text + at;
        size_t left = scope.length - at;
        const struct yaml_node *of_class = rules_at(rules, side, scope.text, at ? at - 1 : 0);
        const struct yaml_pair *rule = best_rule(of_class, rest, left);
        const char *dot = memchr(rest, '.', left);
        size_t step = rule ? rule->key->length : dot ? (size_t)(dot - rest) : left;
        TRY(rule ? append_right(out, rule->value) : append_part(out, rest, step));
        at += step + 1;
    }
    return status_ok();
}

struct status layer_mapping_check(const struct yaml_document *rules)
{
    const struct yaml_node *root = rules->root;
    if (root->kind != YAML_MAPPING && !yaml_is_null(root))
        return yaml_fault(rules, root, "expected classes with their sub-paths");
    for (size_t i = 0; root->kind == YAML_MAPPING && i < root->count; i++) {
        const struct yaml_node *of_class = root->pairs[i].value;
        if (of_class->kind != YAML_MAPPING && !yaml_is_null(of_class))
            return yaml_fault(rules, of_class, "expected lines of the form sub-path: sub-path");
        for (size_t k = 0; of_class->kind == YAML_MAPPING && k < of_class->count; k++)
            if (of_class->pairs[k].value->kind != YAML_SCALAR)
                return yaml_fault(rules, of_class->pairs[k].value, "expected a sub-path");
    }
    return status_ok();
}

/* The k-th entry of a place and state on the other side. The entries of a place are asked for in order,
 * so its cursor moves on by itself. */
static uint32_t entry_at(const struct layer_side *side, uint32_t place, enum entry_state state,
                         uint32_t k, uint32_t *cursor)
{
    uint32_t entry = *cursor;
    if (entry == ROW_NONE || side->position[entry] > k) entry = side->places[place].first[state];
    while (entry != ROW_NONE && side->position[entry] < k) entry = side->next[entry];
    if (entry != ROW_NONE) *cursor = entry;
    return entry;
}

static struct status match_entries(uint32_t *bench_entry, const struct yaml_document *rules,
                                   const struct layer_side *npu, struct layer_side *bench)
{
    size_t bytes = ((size_t)bench->places_by.count * SCOPE_STATES + 1) * sizeof(uint32_t);
    uint32_t *cursors = memory_allocate(bytes);
    struct csv_buffer scope = { 0 };
    struct status status = cursors ? status_ok() : status_no_memory(bytes);

    if (cursors) memset(cursors, 0xff, bytes);
    for (uint32_t i = 0; i < npu->dump->n_entries && !status.code; i++) {
        bench_entry[i] = ROW_NONE;
        status = translate(&scope, rules, npu, place_name(npu, i));
        if (status.code) break;
        uint32_t place =
            text_table_find(&bench->places_by, scope.data ? scope.data : "", scope.length);
        if (place != TEXT_NONE)
            bench_entry[i] = entry_at(bench, place, npu->state[i], npu->position[i],
                                      &cursors[place * SCOPE_STATES + npu->state[i]]);
    }
    memory_release(cursors);
    csv_buffer_release(&scope);
    return status;
}

struct status layer_mapping_match(uint32_t **bench_entry, const struct yaml_document *rules,
                                  const struct dump_pair *dumps, const char *npu_path,
                                  const char *bench_path, struct file_policy policy)
{
    struct layer_side *npu = NULL, *bench = NULL;
    size_t bytes = ((size_t)dumps->npu->n_entries + 1) * sizeof **bench_entry;

    *bench_entry = memory_allocate(bytes);
    struct status status = *bench_entry ? status_ok() : status_no_memory(bytes);
    if (!status.code) status = layer_side_open(&npu, dumps->npu, npu_path, policy);
    if (!status.code) status = layer_side_open(&bench, dumps->bench, bench_path, policy);
    if (!status.code) status = match_entries(*bench_entry, rules, npu, bench);
    layer_side_close(npu);
    layer_side_close(bench);
    if (status.code) {
        memory_release(*bench_entry);
        *bench_entry = NULL;
    }
    return status;
}
