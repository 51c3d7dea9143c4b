/* The fields of a record, and the names that tell of a call that wrote into its arguments. */
#include "online/record.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "formats/call_name.h"
#include "formats/torch_file.h"
#include "formats/torch_values.h"

enum {
    FIELDS = 6, /* of ApiData: name, args, kwargs, result, step, rank */
    FIELD_NAME = 0,
    FIELD_ARGS,
    FIELD_KWARGS,
    FIELD_RESULT,
    FIELD_STEP,
    FIELD_RANK,
    NAME_BYTES = 512,
    PICKLE_BYTES_MOST = 16 << 20, /* of the pickle in an archive: some million small values */
};

/* ---- the name --------------------------------------------------------------------------- */

/* The signs that begin a formula, as ASCII and in full width. */
static bool begins_formula(const char *text)
{
    static const char *const signs[] = { "+", "-", "=", "%", "@", "＋", "－", "＝", "％", "＠" };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!strncmp(text, signs[i], strlen(signs[i]))) return true;
    return false;
}

static bool has_formula(const char *name)
{
    if (begins_formula(name)) return true;
    for (const char *at = strchr(name, ';'); at; at = strchr(at + 1, ';'))
        if (begins_formula(at + 1)) return true;
    return false;
}

struct status record_set_name(struct api_case *call, struct arena *arena, const char *name,
                              size_t length)
{
    if (!length || length > NAME_BYTES)
        return status_error(STATUS_BAD_INPUT, "its name has %zu bytes, and 1 to %d are allowed",
                            length, NAME_BYTES);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return status_error(STATUS_BAD_INPUT, "its name has a control character");
    char *copy = arena_copy_bytes(arena, name, length);
    if (!copy) return status_no_memory(length);
    if (has_formula(copy))
        return status_error(STATUS_BAD_INPUT, "its name '%s' has a sign that begins a formula",
                            copy);
    call->full_name = copy;
    return call_name_split(call, arena);
}

/* ---- calls that write into their arguments ------------------------------------------------ */

/* add_, but not __add__ and not _foo_bar; of an overload of Aten the name is the first part. */
static bool has_in_place_name(const char *api)
{
    static const char *const dunders[] = {
        "__setitem__", "__delitem__",  "__iadd__",      "__isub__",   "__imul__", "__imatmul__",
        "__idiv__",    "__itruediv__", "__ifloordiv__", "__imod__",   "__ipow__", "__iand__",
        "__ior__",     "__ixor__",     "__ilshift__",   "__irshift__"
    };
    for (size_t i = 0; i < sizeof dunders / sizeof *dunders; i++)
        if (!strcmp(api, dunders[i])) return true;
    for (const char *part = api; part; part = strchr(part, '.') ? strchr(part, '.') + 1 : NULL) {
        size_t length = strcspn(part, ".");
        if (length > 1 && part[length - 1] == '_' && part[length - 2] != '_') return true;
    }
    return false;
}

/* Where `inplace` stands among the parameters of the schema; -1 when it is none of them. */
static int inplace_position(const struct api_case *call)
{
    struct bench_entry entry;
    int position = 0, depth = 0;
    if (!bench_find_entry(&entry, call->type, call->api) || !entry.schema) return -1;
    const char *at = strstr(entry.schema, "bool inplace");
    for (const char *p = entry.schema; at && p < at; p++) {
        depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
        position += *p == ',' && depth == 1;
    }
    return at ? position : -1;
}

static bool is_true(const struct value *value)
{
    return value && value->kind == VALUE_BOOL && value->boolean;
}

static bool asks_for_inplace(const struct api_case *call)
{
    if (is_true(value_find(&call->kwargs, "inplace"))) return true;
    int position = inplace_position(call);
    return position >= 0 && (size_t)position < call->args.list.count &&
           is_true(&call->args.list.items[position]);
}

struct status record_writes_arguments(const struct api_case *call)
{
    const struct value *out = value_find(&call->kwargs, "out");
    const char *how = has_in_place_name(call->api)     ? "its name says so"
                      : out && out->kind != VALUE_NONE ? "it has out="
                      : asks_for_inplace(call)         ? "it has inplace=True"
                                                       : NULL;
    if (!how) return status_ok();
    return status_error(STATUS_SKIP,
                        "This call writes into its arguments (%s), and the client recorded them "
                        "after the call: what it read is lost. SKIP.",
                        how);
}

/* ---- the fields --------------------------------------------------------------------------- */

/* What a call returns as a list of outputs: a tuple is several, anything else is one. */
static struct status read_result(struct value *out, struct torch_values *values,
                                 const struct pickle_value *result)
{
    struct value value;
    TRY(torch_value(&value, values, result));
    *out = value;
    if (result->kind == PICKLE_TUPLE) return status_ok();
    struct value *one = arena_allocate(values->objects->arena, sizeof *one);
    if (!one) return status_no_memory(sizeof *one);
    *one = value;
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.items = one;
    out->list.count = 1;
    return status_ok();
}

static struct status read_arguments(struct record *record, struct torch_values *values,
                                    const struct pickle_value *fields)
{
    if (fields[FIELD_ARGS].kind != PICKLE_TUPLE && fields[FIELD_ARGS].kind != PICKLE_LIST)
        return torch_objects_bad(values->objects, "its args are no tuple");
    if (fields[FIELD_KWARGS].kind != PICKLE_DICT)
        return torch_objects_bad(values->objects, "its kwargs are no dict");
    TRY(torch_value(&record->call.args, values, &fields[FIELD_ARGS]));
    TRY(torch_value(&record->call.kwargs, values, &fields[FIELD_KWARGS]));
    return read_result(&record->call.outputs, values, &fields[FIELD_RESULT]);
}

/* Name, step and rank: without them a record is none. */
static struct status read_header(struct record *record, const struct torch_objects *objects,
                                 const struct pickle_value *fields)
{
    const struct pickle_value *name = &fields[FIELD_NAME], *step = &fields[FIELD_STEP],
                              *rank = &fields[FIELD_RANK];
    if (name->kind != PICKLE_TEXT) return torch_objects_bad(objects, "its name is no text");
    if (step->kind != PICKLE_INT || step->integer < 0)
        return torch_objects_bad(objects, "its step is no number from 0 on");
    if (rank->kind != PICKLE_NONE && (rank->kind != PICKLE_INT || rank->integer < 0))
        return torch_objects_bad(objects, "its rank is neither None nor a number from 0 on");
    struct status status =
        record_set_name(&record->call, objects->arena, name->text.bytes, name->text.count);
    if (status.code == STATUS_BAD_INPUT) return torch_objects_bad(objects, status.text);
    TRY(status);
    record->step = step->integer;
    record->has_rank = rank->kind == PICKLE_INT;
    record->rank = record->has_rank ? rank->integer : 0;
    return status_ok();
}

/* From here on the call is known, and whatever is wrong with it is the reason of its row. */
static struct status read_call(struct record *record, struct torch_objects *objects,
                               const struct pickle_value *fields)
{
    struct torch_values values = { .objects = objects };
    struct status status = read_arguments(record, &values, fields);
    if (status.code == STATUS_BAD_INPUT || objects->arena->limit_met) status.code = STATUS_SKIP;
    else if (status.code) return status;
    else status = values.unsupported;
    record->unusable = status;
    return status_ok();
}

struct status record_decode(struct record *out, struct arena *arena, const void *body, size_t bytes,
                            const char *place)
{
    struct torch_objects objects = { .arena = arena,
                                     .name = place,
                                     .names = TORCH_NAMES_OF_RECORDS,
                                     .most_bytes = PICKLE_BYTES_MOST };
    struct pickle_value value;
    struct record record = { .call = { .args.kind = VALUE_LIST,
                                       .kwargs.kind = VALUE_DICT,
                                       .outputs.kind = VALUE_LIST,
                                       .cotangents.kind = VALUE_LIST,
                                       .gradients.kind = VALUE_LIST } };

    struct status status = torch_file_read(&value, &objects, body, bytes, false);
    if (status.code == STATUS_NO_MEMORY && arena->limit_met)
        return torch_objects_bad(&objects, "it unfolds to more than it may");
    TRY(status);
    if (!torch_is(&value, TORCH_RECORD))
        return torch_objects_bad(&objects, "it holds something else than a record");
    const struct pickle_sequence *fields = value.object.object;
    if (fields->count != FIELDS)
        return torch_objects_bad(&objects, "a record has other than six fields");
    TRY(read_header(&record, &objects, fields->items));
    TRY(read_call(&record, &objects, fields->items));
    *out = record;
    return status_ok();
}
