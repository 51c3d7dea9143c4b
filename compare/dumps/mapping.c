/* Mapping files become tables of names; a key of pairing is a name looked up there. */
#include "compare/dumps/mapping.h"

#include <string.h>

#include "compare/dumps/layer_mapping.h"
#include "core/dotted_name.h"
#include "core/embedded.h"
#include "core/memory.h"
#include "formats/json_tree.h"
#include "formats/yaml_tree.h"

enum { INDICES_MAX = 4096 };

/* Sections of an API entry whose arguments a record can list. */
enum { SECTION_ARGS, SECTION_OUTPUTS, SECTION_PARAMETERS, SECTION_PARAMETERS_GRAD, SECTIONS };
static const struct {
    const char *in_name;       /* of a row, behind the entry's name */
    const char *ms[2], *pt[2]; /* keys of the file: the second is another spelling */
} sections[SECTIONS] = {
    { "input", { "ms_args", NULL }, { "pt_args", NULL } },
    { "output", { "ms_outputs", "ms_output" }, { "pt_outputs", "pt_output" } },
    { "parameters", { "ms_parameters", NULL }, { "pt_parameters", NULL } },
    { "parameters_grad", { "ms_parameters_grad", NULL }, { "pt_parameters_grad", NULL } },
};

/* One API of the user's file: lists[section] pairs up. */
struct api_record {
    const char *pt_api;
    const struct yaml_node *ms[SECTIONS], *pt[SECTIONS];
};

struct mapping {
    enum mapping_kind kind;
    struct arena arena;
    struct text_table names;    /* left sides */
    const char **right;         /* by name: what it becomes; NULL for an API with a record */
    struct api_record *records; /* by name; API only */
    uint32_t room;
    struct yaml_document document;
    bool has_file;
};

/* ---- reading ---------------------------------------------------------------------------- */

static struct status add_name(uint32_t *number, struct mapping *m, const char *name)
{
    TRY(text_table_add(number, NULL, &m->names, name, strlen(name)));
    if (*number < m->room) return status_ok();
    uint32_t room = m->room ? 2 * m->room : 1024;
    const char **right = memory_resize(m->right, room * sizeof *right);
    if (right) m->right = right;
    struct api_record *records = memory_resize(m->records, room * sizeof *records);
    if (records) m->records = records;
    if (!right || !records) return status_no_memory(room * sizeof *records);
    memset(m->right + m->room, 0, (room - m->room) * sizeof *right);
    memset(m->records + m->room, 0, (room - m->room) * sizeof *records);
    m->room = room;
    return status_ok();
}

/* MindSpore names of APIs and the PyTorch names they have in dumps. */
static struct status read_built_in(struct mapping *m)
{
    const struct embedded_file *file = config_files;
    uint32_t number;
    cJSON *tree;
    const cJSON *item;

    while (file->name && strcmp(file->name, "ms_to_pt_api.json")) file++;
    if (!file->name) return status_error(STATUS_INTERNAL, "ms_to_pt_api.json is not built in");
    TRY(json_tree_parse(&tree, NULL, file->text, file->bytes));
    struct status status = status_ok();
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "ms_to_pt"))
    {
        status = add_name(&number, m, item->string);
        if (!status.code) m->right[number] = arena_copy_string(&m->arena, item->valuestring);
        if (!status.code && !m->right[number]) status = status_no_memory(0);
        if (status.code) break;
    }
    cJSON_Delete(tree);
    return status;
}

/* {text: text, ...} */
static struct status read_pairs(struct mapping *m)
{
    const struct yaml_node *root = m->document.root;
    uint32_t number;

    if (root->kind != YAML_MAPPING && !yaml_is_null(root))
        return yaml_fault(&m->document, root, "expected lines of the form name: name");
    for (size_t i = 0; root->kind == YAML_MAPPING && i < root->count; i++) {
        const struct yaml_pair *pair = &root->pairs[i];
        if (pair->value->kind != YAML_SCALAR || yaml_is_null(pair->value))
            return yaml_fault(&m->document, pair->value, "expected a name");
        TRY(add_name(&number, m, pair->key->text));
        m->right[number] = pair->value->text;
    }
    return status_ok();
}

static const struct yaml_node *either_member(const struct yaml_node *record,
                                             const char *const keys[2])
{
    const struct yaml_node *node = yaml_member(record, keys[0]);
    return node || !keys[1] ? node : yaml_member(record, keys[1]);
}

/* A list of indices or keys, each once. */
static struct status check_list(const struct yaml_document *document, const struct yaml_node *list)
{
    int64_t number;
    if (list->kind != YAML_SEQUENCE)
        return yaml_fault(document, list, "expected a list of argument numbers");
    if (list->count > INDICES_MAX) return yaml_fault(document, list, "the list is too long");
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->kind != YAML_SCALAR)
            return yaml_fault(document, list->items[i], "expected the number of an argument");
        if (yaml_integer(&number, list->items[i]) && number < 0)
            return yaml_fault(document, list->items[i], "%s is out of range", list->items[i]->text);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(list->items[i]->text, list->items[k]->text))
                return yaml_fault(document, list->items[i], "%s is there twice",
                                  list->items[i]->text);
    }
    return status_ok();
}

static struct status read_record(struct mapping *m, const struct yaml_node *node,
                                 struct warnings warnings)
{
    const struct yaml_node *ms_api = yaml_member(node, "ms_api"),
                           *pt_api = yaml_member(node, "pt_api");
    struct api_record record = { .pt_api = NULL };
    uint32_t number;

    if (!ms_api || !pt_api || ms_api->kind != YAML_SCALAR || pt_api->kind != YAML_SCALAR)
        return yaml_fault(&m->document, node, "a record has ms_api and pt_api");
    record.pt_api = pt_api->text;
    for (int i = 0; i < SECTIONS; i++) {
        record.ms[i] = either_member(node, sections[i].ms);
        record.pt[i] = either_member(node, sections[i].pt);
        if (record.ms[i]) TRY(check_list(&m->document, record.ms[i]));
        if (record.pt[i]) TRY(check_list(&m->document, record.pt[i]));
        size_t ms = record.ms[i] ? record.ms[i]->count : 0,
               pt = record.pt[i] ? record.pt[i]->count : 0;
        if (ms == pt) continue;
        warn(warnings,
             "%s, line %u: '%s' and its counterpart have different lengths; the record is "
             "skipped",
             m->document.name, node->line, sections[i].ms[0]);
        return status_ok();
    }
    TRY(add_name(&number, m, ms_api->text));
    m->records[number] = record;
    return status_ok();
}

/* One record, or a list of them. */
static struct status read_records(struct mapping *m, struct warnings warnings)
{
    const struct yaml_node *root = m->document.root;
    if (root->kind == YAML_MAPPING) return read_record(m, root, warnings);
    if (root->kind != YAML_SEQUENCE && !yaml_is_null(root))
        return yaml_fault(&m->document, root, "expected records with ms_api and pt_api");
    for (size_t i = 0; i < root->count; i++) {
        if (root->items[i]->kind != YAML_MAPPING)
            return yaml_fault(&m->document, root->items[i],
                              "expected a record with ms_api and pt_api");
        TRY(read_record(m, root->items[i], warnings));
    }
    return status_ok();
}

static struct status read_document(struct mapping *m, const char *path, struct file_policy policy)
{
    char *text;
    size_t bytes;

    TRY(file_read_path(&text, &bytes, path, policy));
    const char *name = arena_copy_string(&m->arena, file_shown(path).text);
    struct status status = name ? yaml_parse(&m->document, &m->arena, name, text, bytes)
                                : status_no_memory(0);
    memory_release(text);
    m->has_file = !status.code;
    return status;
}

static struct status read_mapping(struct mapping *m, const char *path, struct file_policy policy,
                                  struct warnings warnings)
{
    TRY(text_table_create(&m->names));
    if (path) TRY(read_document(m, path, policy));
    switch (m->kind) {
    case MAPPING_API:
        TRY(read_built_in(m));
        return m->has_file ? read_records(m, warnings) : status_ok();
    case MAPPING_LAYER: return m->has_file ? layer_mapping_check(&m->document) : status_ok();
    default: return m->has_file ? read_pairs(m) : status_ok();
    }
}

struct status mapping_open(struct mapping **out, enum mapping_kind kind, const char *path,
                           struct file_policy policy, struct warnings warnings)
{
    struct mapping *m = memory_allocate_zeroed(1, sizeof *m);

    *out = NULL;
    if (!m) return status_no_memory(sizeof *m);
    m->kind = kind;
    struct status status = read_mapping(m, path, policy, warnings);
    if (status.code) mapping_close(m);
    else *out = m;
    return status;
}

void mapping_close(struct mapping *mapping)
{
    if (!mapping) return;
    if (mapping->names.slots) text_table_release(&mapping->names);
    memory_release(mapping->right);
    memory_release(mapping->records);
    arena_release(&mapping->arena);
    memory_release(mapping);
}

enum mapping_kind mapping_kind(const struct mapping *mapping) { return mapping->kind; }

/* ---- keys ------------------------------------------------------------------------------- */

struct mapping_use {
    const struct mapping *mapping;
    const struct dump_pair *dumps;
    struct text_table npu_apis, bench_apis; /* "Mint.add": what occurs, for the user's records */
    uint32_t *bench_entry;                  /* layer mapping: by NPU entry */
    bool *asked;                            /* by name of the mapping: a row has it */
};

static const char *right_of(const struct mapping *m, const char *name, size_t length,
                            uint32_t *number)
{
    *number = text_table_find(&m->names, name, length);
    return *number == TEXT_NONE ? NULL : m->right[*number];
}

/* "Mint.add.0.forward" -> "Mint.add"; empty for what is no call. */
static struct name_slice api_of(struct name_slice entry)
{
    if (name_direction(entry) == DIRECTION_NONE || name_is_number(name_part_from_end(entry, 1)))
        return name_slice_of(entry.text, 0);
    return name_without_last(entry, 2);
}

static struct status append_slice(struct csv_buffer *out, struct name_slice slice)
{
    return csv_append_bytes(out, slice.text, slice.length);
}

static struct status append_string(struct csv_buffer *out, const char *text)
{
    return csv_append_bytes(out, text, strlen(text));
}

/* The built-in rule: prefixes of mint, then the table. */
static struct status append_api(struct csv_buffer *out, const struct mapping *m,
                                struct name_slice api)
{
    static const char *const prefixes[][2] = { { "Mint.", "Torch." },
                                               { "MintFunctional.", "Functional." } };
    uint32_t number;

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i][0]);
        if (!name_starts_with(api, prefixes[i][0])) continue;
        TRY(append_string(out, prefixes[i][1]));
        return csv_append_bytes(out, api.text + length, api.length - length);
    }
    const char *right = right_of(m, api.text, api.length, &number);
    return right ? append_string(out, right) : append_slice(out, api);
}

/* The record of the user for an API that occurs on both sides. */
static const struct api_record *find_record(const struct mapping_use *use, struct name_slice api)
{
    uint32_t number = text_table_find(&use->mapping->names, api.text, api.length);
    if (number == TEXT_NONE || !use->mapping->records[number].pt_api) return NULL;
    const struct api_record *record = &use->mapping->records[number];
    const char *pt = record->pt_api;
    if (text_table_find(&use->bench_apis, pt, strlen(pt)) == TEXT_NONE) return NULL;
    use->asked[number] = true;
    return record;
}

/* ".input.0" of the NPU becomes ".input.1" by the lists of a record; others are abandoned. */
static struct status append_listed(struct csv_buffer *out, bool *abandoned,
                                   const struct api_record *record, struct name_slice suffix)
{
    *abandoned = true;
    if (suffix.length < 2) return status_ok();
    struct name_slice rest = name_slice_of(suffix.text + 1, suffix.length - 1);
    struct name_slice section = name_part(rest, 0);
    size_t behind = section.length + 1;

    for (int i = 0; i < SECTIONS; i++) {
        if (!name_slice_is(section, sections[i].in_name) || !record->ms[i] || rest.length <= behind)
            continue;
        struct name_slice index = name_slice_of(rest.text + behind, rest.length - behind);
        for (size_t k = 0; k < record->ms[i]->count; k++) {
            if (!name_slice_is(index, record->ms[i]->items[k]->text)) continue;
            *abandoned = false;
            TRY(append_string(out, "."));
            TRY(append_slice(out, section));
            TRY(append_string(out, "."));
            return append_string(out, record->pt[i]->items[k]->text);
        }
    }
    return status_ok();
}

static struct status api_key(struct csv_buffer *out, bool *abandoned, const struct dump_rows *dump,
                             uint32_t row, void *context)
{
    const struct mapping_use *use = context;
    const struct dump_row *r = &dump->rows[row];
    size_t length, suffix_length;
    const char *name = dump_entry_name(dump, r->entry, &length);
    struct name_slice entry = name_slice_of(name, length), api = api_of(entry);

    if (!api.length || r->own_name) return dump_row_append_name(out, dump, r);
    const char *suffix = text_table_get(&dump->texts, r->suffix, &suffix_length);
    struct name_slice call = name_slice_of(name + api.length, length - api.length);
    const struct api_record *record = find_record(use, api);
    if (record) {
        TRY(append_string(out, record->pt_api));
        TRY(append_slice(out, call));
        return append_listed(out, abandoned, record, name_slice_of(suffix, suffix_length));
    }
    TRY(append_api(out, use->mapping, api));
    TRY(append_slice(out, call));
    return csv_append_bytes(out, suffix, suffix_length);
}

/* Where ".forward.", ".backward." or parameters_grad begins in a row's name; its length without. */
static size_t direction_place(const char *name, size_t length)
{
    static const char *const words[] = { ".forward.", ".backward.", ".parameters_grad" };
    size_t place = length;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *found = memmem(name, place, words[i], strlen(words[i]));
        if (found) place = (size_t)(found - name);
    }
    return place;
}

static struct status cell_key(struct csv_buffer *out, bool *abandoned, const struct dump_rows *dump,
                              uint32_t row, void *context)
{
    const struct mapping_use *use = context;
    struct csv_buffer name = { 0 };
    uint32_t number;

    struct status status = dump_row_append_name(&name, dump, &dump->rows[row]);
    size_t place = status.code ? 0 : direction_place(name.data, name.length);
    *abandoned = place == name.length;
    if (!status.code && !*abandoned) {
        const char *dot = memchr(name.data, '.', place);
        size_t first = dot ? (size_t)(dot - name.data) : 0;
        bool is_cell = first == 4 && !memcmp(name.data, "Cell", 4);
        status = is_cell ? append_string(out, "Module") : csv_append_bytes(out, name.data, first);
        const char *path = name.data + first + (first ? 1 : 0);
        size_t path_length = place - (size_t)(path - name.data);
        const char *right = right_of(use->mapping, path, path_length, &number);
        if (right) use->asked[number] = true;
        if (!status.code && first) status = append_string(out, ".");
        if (!status.code)
            status = right ? append_string(out, right) : csv_append_bytes(out, path, path_length);
        if (!status.code) status = csv_append_bytes(out, name.data + place, name.length - place);
    }
    csv_buffer_release(&name);
    return status;
}

static struct status data_key(struct csv_buffer *out, bool *abandoned, const struct dump_rows *dump,
                              uint32_t row, void *context)
{
    const struct mapping_use *use = context;
    size_t before = out->length;
    uint32_t number;

    (void)abandoned;
    TRY(dump_row_append_name(out, dump, &dump->rows[row]));
    const char *right = right_of(use->mapping, out->data + before, out->length - before, &number);
    if (!right) return status_ok();
    use->asked[number] = true;
    out->length = before;
    return append_string(out, right);
}

static struct status layer_key(struct csv_buffer *out, bool *abandoned,
                               const struct dump_rows *dump, uint32_t row, void *context)
{
    const struct mapping_use *use = context;
    const struct dump_row *r = &dump->rows[row];
    uint32_t bench = use->bench_entry[r->entry];
    size_t length;

    *abandoned = bench == ROW_NONE;
    if (*abandoned) return status_ok();
    if (!r->own_name) {
        const char *name = dump_entry_name(use->dumps->bench, bench, &length);
        TRY(csv_append_bytes(out, name, length));
    }
    const char *suffix = text_table_get(&dump->texts, r->suffix, &length);
    return csv_append_bytes(out, suffix, length);
}

/* ---- use -------------------------------------------------------------------------------- */

static struct status list_apis(struct text_table *out, const struct dump_rows *dump)
{
    uint32_t number;
    TRY(text_table_create(out));
    for (uint32_t i = 0; i < dump->n_entries; i++) {
        size_t length;
        const char *name = dump_entry_name(dump, i, &length);
        struct name_slice api = api_of(name_slice_of(name, length));
        if (api.length) TRY(text_table_add(&number, NULL, out, api.text, api.length));
    }
    return status_ok();
}

static struct status prepare(struct mapping_use *use, const char *npu_path, const char *bench_path,
                             struct file_policy policy)
{
    const struct mapping *m = use->mapping;
    if (m->kind == MAPPING_API) {
        TRY(list_apis(&use->npu_apis, use->dumps->npu));
        return list_apis(&use->bench_apis, use->dumps->bench);
    }
    if (m->kind != MAPPING_LAYER) return status_ok();
    return layer_mapping_match(&use->bench_entry, m->has_file ? &m->document : NULL, use->dumps,
                               npu_path, bench_path, policy);
}

struct status mapping_apply(struct mapping_use **out, struct pairing_rule *rule,
                            const struct mapping *mapping, const struct dump_pair *dumps,
                            const char *npu_path, const char *bench_path, struct file_policy policy)
{
    static row_key *const keys[] = { [MAPPING_API] = api_key,
                                     [MAPPING_CELL] = cell_key,
                                     [MAPPING_DATA] = data_key,
                                     [MAPPING_LAYER] = layer_key };
    struct mapping_use *use = memory_allocate_zeroed(1, sizeof *use);

    *out = use;
    if (!use) return status_no_memory(sizeof *use);
    use->mapping = mapping;
    use->dumps = dumps;
    use->asked = memory_allocate_zeroed((size_t)mapping->names.count + 1, sizeof *use->asked);
    if (!use->asked) return status_no_memory(mapping->names.count * sizeof *use->asked);
    rule->npu_key = keys[mapping->kind];
    rule->context = use;
    rule->any_shape = mapping->kind == MAPPING_DATA || mapping->kind == MAPPING_LAYER;
    rule->shared_bench = mapping->kind == MAPPING_DATA;
    return prepare(use, npu_path, bench_path, policy);
}

void mapping_use_close(struct mapping_use *use)
{
    if (!use) return;
    if (use->npu_apis.slots) text_table_release(&use->npu_apis);
    if (use->bench_apis.slots) text_table_release(&use->bench_apis);
    memory_release(use->bench_entry);
    memory_release(use->asked);
    memory_release(use);
}

uint32_t mapping_use_count_idle(const struct mapping_use *use, const char **first)
{
    const struct mapping *m = use->mapping;
    uint32_t idle = 0;

    *first = NULL;
    if (m->kind == MAPPING_LAYER) return 0;
    for (uint32_t i = 0; i < m->names.count; i++) {
        bool is_users = m->kind != MAPPING_API || m->records[i].pt_api;
        if (use->asked[i] || !is_users) continue;
        if (!idle++) *first = text_table_get(&m->names, i, NULL);
    }
    return idle;
}
