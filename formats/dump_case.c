/* The entries of one call as values.
 *
 * An encoded argument is an object with a "type"; dump_objects.c says what each type becomes.
 * Objects without one are plain dicts, and what is not an object (numbers, strings, arrays,
 * null) is taken as it stands, because the parts of slices and sizes are written that way.
 */
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "formats/dump_internal.h"
#include "formats/dump_objects.h"
#include "formats/json.h"

enum { PEEK_KEYS = 32, DICT_KEYS = 4096 };

static bool parse_value(struct dump_parser *p, struct value *out);

/* ---- lists that grow -------------------------------------------------------------------- */

/* The place of the next item of a list (with its key): doubled in the arena, which keeps the
 * outgrown ones. The item counts when the caller has filled it. NULL when there is no memory. */
static struct value *next_item(struct dump_parser *p, struct value *list, size_t *room, bool keys)
{
    if (list->list.count < *room) return &list->list.items[list->list.count];
    size_t wanted = *room ? 2 * *room : 4;
    struct value *items = arena_allocate_array(p->arena, wanted, sizeof *items);
    const char **names = keys ? arena_allocate_array(p->arena, wanted, sizeof *names) : NULL;
    if (!items || (keys && !names)) {
        dump_out_of_memory(p);
        return NULL;
    }
    if (list->list.count) {
        memcpy(items, list->list.items, list->list.count * sizeof *items);
        if (keys) memcpy(names, list->list.keys, list->list.count * sizeof *names);
    }
    list->list.items = items;
    list->list.keys = names;
    *room = wanted;
    return &items[list->list.count];
}

static bool parse_list(struct dump_parser *p, struct value *out)
{
    struct value list = { .kind = VALUE_LIST };
    size_t room = 0;

    if (!json_enter_array(&p->json)) return false;
    while (json_array_next(&p->json)) {
        struct value *item = next_item(p, &list, &room, false);
        if (!item || !parse_value(p, item)) return false;
        list.list.count++;
    }
    *out = list;
    return !p->json.problem;
}

static bool parse_text(struct dump_parser *p, const char **out)
{
    struct json_slice slice;
    size_t bytes;
    const char *at = p->json.at;

    if (!json_string(&p->json, &slice)) return false;
    char *text = json_slice_decode(p->arena, &slice, &bytes);
    if (!text) return dump_out_of_memory(p);
    if (strlen(text) != bytes) return json_fail(&p->json, at, "a NUL character in a string");
    *out = text;
    return true;
}

static bool parse_dict(struct dump_parser *p, struct value *out)
{
    struct value dict = { .kind = VALUE_DICT };
    struct json_slice key;
    size_t room = 0, bytes;

    if (!json_enter_object(&p->json)) return false;
    while (json_object_next(&p->json, &key)) {
        char *name = json_slice_decode(p->arena, &key, &bytes);
        if (!name) return dump_out_of_memory(p);
        if (strlen(name) != bytes) return json_fail(&p->json, key.text, "a NUL character in a key");
        if (value_find(&dict, name)) return json_fail(&p->json, key.text, "a duplicate key");
        if (dict.list.count == DICT_KEYS)
            return json_fail(&p->json, key.text, "a dict with more than 4096 keys");
        struct value *item = next_item(p, &dict, &room, true);
        if (!item || !parse_value(p, item)) return false;
        dict.list.keys[dict.list.count++] = name;
    }
    *out = dict;
    return !p->json.problem;
}

/* ---- encoded objects -------------------------------------------------------------------- */

static bool parse_statistic(struct dump_parser *p, struct statistic *out)
{
    enum json_kind kind;
    struct json_number number;
    bool boolean;

    if (!json_peek(&p->json, &kind)) return false;
    if (kind == JSON_NUMBER) {
        if (!json_number(&p->json, &number)) return false;
        *out = (struct statistic){ STATISTIC_NUMBER, number.real };
        return true;
    }
    if (kind == JSON_BOOL) {
        if (!json_bool(&p->json, &boolean)) return false;
        *out = (struct statistic){ STATISTIC_BOOL, boolean };
        return true;
    }
    *out = (struct statistic){ STATISTIC_ABSENT, 0 };
    return json_skip(&p->json);
}

static bool parse_shape(struct dump_parser *p, struct dump_fields *fields)
{
    struct tensor_record *record = &fields->record;
    struct json_number extent;
    enum json_kind kind;
    size_t elements;
    const char *start = p->json.at;

    if (json_peek(&p->json, &kind) && kind == JSON_NULL) return json_null(&p->json);
    record->rank = 0;
    if (!json_enter_array(&p->json)) return false;
    while (json_array_next(&p->json)) {
        const char *at = p->json.at;
        if (!json_number(&p->json, &extent)) return false;
        if (!extent.is_int64) return json_fail(&p->json, at, "an extent that is not an integer");
        if (extent.integer < 0) return json_fail(&p->json, at, "a negative extent");
        if (record->rank == TENSOR_MAX_RANK)
            return json_fail(&p->json, at, "a tensor with more than 16 dimensions");
        record->shape[record->rank++] = extent.integer;
    }
    if (p->json.problem) return false;
    /* 16 bytes is the widest element. */
    if (!shape_elements(&elements, record->rank, record->shape) || elements > PTRDIFF_MAX / 16)
        return json_fail(&p->json, start, "a shape with too many elements for any memory");
    fields->has_shape = true;
    return true;
}

static bool parse_optional_text(struct dump_parser *p, const char **out)
{
    enum json_kind kind;
    if (!json_peek(&p->json, &kind)) return false;
    if (kind == JSON_STRING) return parse_text(p, out);
    *out = NULL;
    return json_skip(&p->json);
}

static bool parse_flag(struct dump_parser *p, bool *out)
{
    enum json_kind kind;
    if (!json_peek(&p->json, &kind)) return false;
    return kind == JSON_BOOL ? json_bool(&p->json, out) : json_skip(&p->json);
}

enum field {
    FIELD_TYPE,
    FIELD_DTYPE,
    FIELD_SHAPE,
    FIELD_MAX,
    FIELD_MIN,
    FIELD_MEAN,
    FIELD_NORM,
    FIELD_REQUIRES_GRAD,
    FIELD_VALUE,
    FIELD_DATA_NAME,
    FIELD_DATAPATH,
    FIELD_MD5,
    FIELD_FORMAT,
    FIELD_MAX_FINITE,
    FIELD_MIN_FINITE,
    FIELD_GROUP_RANKS,
    FIELD_GROUP_ID,
    FIELD_COUNT
};

/* In the order in which dumpers write them, with their lengths. */
static const struct {
    const char *name;
    size_t bytes;
} field_names[FIELD_COUNT] = {
#define FIELD(id, text) [id] = { text, sizeof text - 1 }
    FIELD(FIELD_TYPE, "type"),
    FIELD(FIELD_DTYPE, "dtype"),
    FIELD(FIELD_SHAPE, "shape"),
    FIELD(FIELD_MAX, "Max"),
    FIELD(FIELD_MIN, "Min"),
    FIELD(FIELD_MEAN, "Mean"),
    FIELD(FIELD_NORM, "Norm"),
    FIELD(FIELD_REQUIRES_GRAD, "requires_grad"),
    FIELD(FIELD_VALUE, "value"),
    FIELD(FIELD_DATA_NAME, "data_name"),
    FIELD(FIELD_DATAPATH, "datapath"),
    FIELD(FIELD_MD5, "md5"),
    FIELD(FIELD_FORMAT, "format"),
    FIELD(FIELD_MAX_FINITE, "Max_except_inf_nan"),
    FIELD(FIELD_MIN_FINITE, "Min_except_inf_nan"),
    FIELD(FIELD_GROUP_RANKS, "group_ranks"),
    FIELD(FIELD_GROUP_ID, "group_id"),
#undef FIELD
};

/* The field of a key, or -1. Dumpers write one order, so the search starts at `next`, behind the
 * field that was found last. */
static int find_field(const struct json_slice *key, int next)
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        int field = (next + i) % FIELD_COUNT;
        if (key->escaped ? json_slice_is(key, field_names[field].name)
                         : key->bytes == field_names[field].bytes &&
                               !memcmp(key->text, field_names[field].name, key->bytes))
            return field;
    }
    return -1;
}

static bool parse_field(struct dump_parser *p, struct dump_fields *fields, enum field field)
{
    struct tensor_record *record = &fields->record;

    switch (field) {
    case FIELD_DTYPE: return parse_optional_text(p, &record->dtype_name);
    case FIELD_SHAPE: return parse_shape(p, fields);
    case FIELD_MAX: return parse_statistic(p, &record->max);
    case FIELD_MIN: return parse_statistic(p, &record->min);
    case FIELD_MEAN: return parse_statistic(p, &record->mean);
    case FIELD_NORM: return parse_statistic(p, &record->norm);
    case FIELD_MAX_FINITE: return parse_statistic(p, &record->max_finite);
    case FIELD_MIN_FINITE: return parse_statistic(p, &record->min_finite);
    case FIELD_GROUP_RANKS: return parse_value(p, &fields->group_ranks);
    case FIELD_GROUP_ID: return parse_optional_text(p, &fields->group_id);
    case FIELD_REQUIRES_GRAD: return parse_flag(p, &record->requires_grad);
    case FIELD_VALUE: return parse_value(p, &fields->value);
    case FIELD_DATA_NAME: return parse_optional_text(p, &fields->data_name);
    case FIELD_DATAPATH: return parse_optional_text(p, &fields->datapath);
    case FIELD_MD5: return parse_optional_text(p, &record->md5);
    case FIELD_FORMAT: return parse_optional_text(p, &fields->format);
    default: return json_skip(&p->json);
    }
}

/* The fields of an object that has been entered; those in the set `seen` have been read. */
static bool parse_fields(struct dump_parser *p, struct dump_fields *fields, unsigned seen)
{
    struct json_slice key;
    int next = seen ? FIELD_TYPE + 1 : 0;

    while (json_object_next(&p->json, &key)) {
        int field = find_field(&key, next);
        if (field < 0) {
            if (!json_skip(&p->json)) return false;
            continue;
        }
        next = field + 1;
        if (seen >> field & 1) return json_fail(&p->json, key.text, "a duplicate key");
        seen |= 1u << field;
        if (!parse_field(p, fields, (enum field)field)) return false;
    }
    return !p->json.problem;
}

/* Look ahead for a "type" with a string, without touching the parser. Only fields before the
 * first nested object are looked at (dumpers write the type first), which keeps the whole
 * reading linear whatever the nesting. `type` may also be "class_type" (P2POp). */
static bool find_type(const struct dump_parser *p, struct json_slice *type, bool *is_empty)
{
    struct json ahead = p->json;
    struct json_slice key;
    enum json_kind kind;
    int keys = 0;

    *is_empty = true;
    if (!json_enter_object(&ahead)) return false;
    while (keys++ < PEEK_KEYS && json_object_next(&ahead, &key)) {
        *is_empty = false;
        if (!json_peek(&ahead, &kind) || kind == JSON_OBJECT) return false;
        if (kind == JSON_STRING &&
            (json_slice_is(&key, "type") || json_slice_is(&key, "class_type")))
            return json_string(&ahead, type);
        if (kind == JSON_ARRAY) {
            /* An array of scalars, such as a shape, may be passed over. */
            json_enter_array(&ahead);
            while (json_array_next(&ahead)) {
                if (!json_peek(&ahead, &kind) || kind >= JSON_ARRAY) return false;
                json_skip(&ahead);
            }
        } else {
            json_skip(&ahead);
        }
    }
    return false;
}

/* Enter an object whose first key is "type" with a string, as dumpers write it, and read that.
 * Otherwise nothing is read. */
static bool enter_typed(struct dump_parser *p, struct json_slice *type)
{
    const struct json before = p->json;
    struct json_slice key;
    enum json_kind kind;

    if (json_enter_object(&p->json) && json_object_next(&p->json, &key) &&
        find_field(&key, FIELD_TYPE) == FIELD_TYPE && json_peek(&p->json, &kind) &&
        kind == JSON_STRING && json_string(&p->json, type))
        return true;
    p->json = before;
    return false;
}

static bool parse_object(struct dump_parser *p, struct value *out)
{
    const char *at = p->json.at;
    struct json_slice type;
    bool is_empty = false;

    bool entered = enter_typed(p, &type);
    if (entered || find_type(p, &type, &is_empty)) {
        struct dump_fields fields = { .value = { .kind = VALUE_NONE },
                                      .group_ranks = { .kind = VALUE_NONE } };
        if (!entered) json_enter_object(&p->json);
        return parse_fields(p, &fields, entered ? 1u << FIELD_TYPE : 0) &&
               dump_object_make(p, out, &fields, &type, at);
    }
    if (!parse_dict(p, out)) return false;
    /* The dumper writes {} for what it cannot encode, a positional torch.dtype for one. */
    if (is_empty)
        *out = (struct value){ .kind = VALUE_UNSUPPORTED,
                               .string = "an object that the dumper could not record" };
    return true;
}

static bool parse_number(struct dump_parser *p, struct value *out)
{
    struct json_number number;
    const char *at = p->json.at;

    if (!json_number(&p->json, &number)) return false;
    if (number.is_integer && !number.is_int64)
        return json_fail(&p->json, at, "an integer beyond 64 bits");
    if (number.is_integer) *out = (struct value){ .kind = VALUE_INT, .integer = number.integer };
    else *out = (struct value){ .kind = VALUE_FLOAT, .real = number.real };
    return true;
}

static bool parse_value(struct dump_parser *p, struct value *out)
{
    enum json_kind kind;

    if (!json_peek(&p->json, &kind)) return false;
    switch (kind) {
    case JSON_NULL: *out = (struct value){ .kind = VALUE_NONE }; return json_null(&p->json);
    case JSON_BOOL: out->kind = VALUE_BOOL; return json_bool(&p->json, &out->boolean);
    case JSON_NUMBER: return parse_number(p, out);
    case JSON_STRING: out->kind = VALUE_STRING; return parse_text(p, &out->string);
    case JSON_ARRAY: return parse_list(p, out);
    default: return parse_object(p, out);
    }
}

/* ---- entries ---------------------------------------------------------------------------- */

/* A list of arguments: an array; null is none; a lone object counts as a list of one. */
static bool parse_arguments(struct dump_parser *p, struct value *out)
{
    enum json_kind kind;

    if (!json_peek(&p->json, &kind)) return false;
    if (kind == JSON_ARRAY) return parse_list(p, out);
    *out = (struct value){ .kind = VALUE_LIST };
    if (kind == JSON_NULL) return json_null(&p->json);
    if (kind != JSON_OBJECT) return json_fail_expected(&p->json, p->json.at, "an array");
    out->list.items = arena_allocate(p->arena, sizeof *out->list.items);
    if (!out->list.items) return dump_out_of_memory(p);
    out->list.count = 1;
    return parse_object(p, &out->list.items[0]);
}

static bool parse_kwargs(struct dump_parser *p, struct value *out)
{
    enum json_kind kind;

    if (!json_peek(&p->json, &kind)) return false;
    if (kind != JSON_NULL) return parse_dict(p, out);
    *out = (struct value){ .kind = VALUE_DICT };
    return json_null(&p->json);
}

/* Which part of a case a key of an entry fills; two spellings each for the backward. */
static bool parse_member(struct dump_parser *p, struct api_case *c, const struct json_slice *key,
                         bool backward, unsigned *seen)
{
    const struct {
        bool backward;
        const char *key;
        struct value *out;
        /* clang-format off */
    } members[] = {
        { false, "input_args", &c->args },      { false, "input_kwargs", &c->kwargs },
        { false, "output", &c->outputs },       { true, "input", &c->cotangents },
        { true, "output", &c->gradients },      { true, "grad_output", &c->cotangents },
        { true, "grad_input", &c->gradients },
    };
    /* clang-format on */

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (members[i].backward != backward || !json_slice_is(key, members[i].key)) continue;
        unsigned bit = members[i].out == &c->args         ? 1u
                       : members[i].out == &c->kwargs     ? 2u
                       : members[i].out == &c->outputs    ? 4u
                       : members[i].out == &c->cotangents ? 8u
                                                          : 16u;
        if (*seen & bit) return json_fail(&p->json, key->text, "a duplicate key");
        *seen |= bit;
        return bit == 2 ? parse_kwargs(p, &c->kwargs) : parse_arguments(p, members[i].out);
    }
    return json_skip(&p->json);
}

static struct status entry_problem(const struct dump_parser *p, const char *full_name,
                                   struct dump_span span, bool backward)
{
    struct json_place place;
    char problem[160];

    if (p->no_memory) return status_no_memory(0);
    json_describe_problem(problem, sizeof problem, &p->json);
    json_locate(&place, p->json.start, p->json.problem_at);
    return status_error(STATUS_SKIP, "%s.%s: at %s (byte %llu of the dump): %s",
                        file_shown(full_name).text, backward ? "backward" : "forward", place.path,
                        (unsigned long long)(span.offset + place.byte), problem);
}

struct status dump_parse_entry(struct api_case *out, struct arena *arena, const char *text,
                               struct dump_span span, bool backward)
{
    struct dump_parser p = { .arena = arena };
    struct json_slice key;
    unsigned seen = 0;

    json_open(&p.json, text, (size_t)span.bytes);
    if (json_enter_object(&p.json))
        while (json_object_next(&p.json, &key))
            if (!parse_member(&p, out, &key, backward, &seen)) break;
    json_finish(&p.json);
    return p.json.problem ? entry_problem(&p, out->full_name, span, backward) : status_ok();
}

struct status dump_read_entry(struct api_case *out, struct arena *arena, const char *text,
                              size_t bytes)
{
    struct dump_span span = { .bytes = bytes };

    out->args = out->outputs = (struct value){ .kind = VALUE_LIST };
    out->kwargs = (struct value){ .kind = VALUE_DICT };
    return dump_parse_entry(out, arena, text, span, false);
}
