/* One function for each kind of encoded object, and the table of the types that dumpers write. */
#include "formats/dump_objects.h"

#include <math.h>
#include <string.h>

bool dump_out_of_memory(struct dump_parser *p)
{
    p->no_memory = true;
    return json_fail(&p->json, p->json.at, "out of memory");
}

/* As dump_object_make, with the type as text. */
typedef bool make_value(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                        const char *type, const char *at);

static bool make_unsupported(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                             const char *type, const char *at)
{
    (void)p, (void)fields, (void)at;
    *out = (struct value){ .kind = VALUE_UNSUPPORTED, .string = type };
    return true;
}

static bool make_tensor(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                        const char *type, const char *at)
{
    if (!fields->has_shape) return json_fail(&p->json, at, "a tensor without a shape");
    if (!fields->record.dtype_name) return json_fail(&p->json, at, "a tensor without a dtype");
    struct tensor_record *record = arena_allocate(p->arena, sizeof *record);
    if (!record) return dump_out_of_memory(p);
    *record = fields->record;
    record->dtype = dtype_from_name(record->dtype_name);
    record->is_parameter = strstr(type, "Parameter") != NULL;
    record->data_name = fields->datapath ? fields->datapath : fields->data_name;
    *out = (struct value){ .kind = VALUE_TENSOR, .tensor = { .record = record } };
    return true;
}

static bool make_plain(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                       const char *type, const char *at)
{
    (void)p, (void)type, (void)at;
    *out = fields->value;
    return true;
}

/* Floats may be written without a point, or as words where the writer avoided bare NaN. */
static bool make_float(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                       const char *type, const char *at)
{
    static const struct {
        const char *word;
        double real;
    } words[] = { { "nan", NAN }, { "inf", INFINITY },      { "-inf", -INFINITY },
                  { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };
    struct value *value = &fields->value;

    if (value->kind == VALUE_INT)
        *value = (struct value){ .kind = VALUE_FLOAT, .real = (double)value->integer };
    for (size_t i = 0; value->kind == VALUE_STRING && i < sizeof words / sizeof *words; i++)
        if (!strcmp(value->string, words[i].word))
            *value = (struct value){ .kind = VALUE_FLOAT, .real = words[i].real };
    return make_plain(p, out, fields, type, at);
}

static bool make_bool(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                      const char *type, const char *at)
{
    if (fields->value.kind == VALUE_INT)
        fields->value = (struct value){ .kind = VALUE_BOOL, .boolean = fields->value.integer != 0 };
    return make_plain(p, out, fields, type, at);
}

static bool make_slice(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                       const char *type, const char *at)
{
    struct value *value = &fields->value;

    (void)type;
    if (value->kind != VALUE_LIST || value->list.count != 3)
        return json_fail(&p->json, at, "a slice without the three parts start, stop and step");
    for (int i = 0; i < 3; i++)
        if (value->list.items[i].kind != VALUE_INT && value->list.items[i].kind != VALUE_NONE)
            return json_fail(&p->json, at, "a slice with a part that is no integer");
    *out = *value;
    out->kind = VALUE_SLICE;
    return true;
}

static bool make_size(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                      const char *type, const char *at)
{
    struct value *value = &fields->value;

    (void)type;
    if (value->kind != VALUE_LIST) return json_fail(&p->json, at, "a torch.Size without a list");
    for (size_t i = 0; i < value->list.count; i++)
        if (value->list.items[i].kind != VALUE_INT)
            return json_fail(&p->json, at, "a torch.Size with a part that is no integer");
    *out = *value;
    out->kind = VALUE_SIZE;
    return true;
}

static bool make_ellipsis(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                          const char *type, const char *at)
{
    (void)p, (void)fields, (void)type, (void)at;
    *out = (struct value){ .kind = VALUE_ELLIPSIS };
    return true;
}

static bool make_dtype(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                       const char *type, const char *at)
{
    struct value *value = &fields->value;
    enum dtype dtype = value->kind == VALUE_STRING ? dtype_from_name(value->string) : DT_NONE;

    if (dtype == DT_NONE) {
        type = value->kind == VALUE_STRING ? value->string : type;
        return make_unsupported(p, out, fields, type, at);
    }
    *out = (struct value){ .kind = VALUE_DTYPE, .dtype = dtype };
    return true;
}

static bool make_device(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                        const char *type, const char *at)
{
    struct value *value = &fields->value;

    if (value->kind == VALUE_INT) {
        const char *text = arena_format(p->arena, "%lld", (long long)value->integer);
        if (!text) return dump_out_of_memory(p);
        *value = (struct value){ .kind = VALUE_STRING, .string = text };
    }
    if (value->kind != VALUE_STRING) return make_unsupported(p, out, fields, type, at);
    *out = (struct value){ .kind = VALUE_DEVICE, .string = value->string };
    return true;
}

static bool make_memory_format(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                               const char *type, const char *at)
{
    const char *format = fields->format;

    if (!format && fields->value.kind == VALUE_STRING) format = fields->value.string;
    if (!format) return make_unsupported(p, out, fields, type, at);
    if (!strncmp(format, "torch.", 6)) format += 6;
    *out = (struct value){ .kind = VALUE_MEMORY_FORMAT, .string = format };
    return true;
}

/* The group of a communication call, as the keywords that the dumper writes. */
static bool make_group(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                       const char *type, const char *at)
{
    enum { MEMBERS = 2 };
    struct value *items = arena_allocate_array(p->arena, MEMBERS, sizeof *items);
    const char **keys = arena_allocate_array(p->arena, MEMBERS, sizeof *keys);

    (void)type, (void)at;
    if (!items || !keys) return dump_out_of_memory(p);
    items[0] = fields->group_ranks;
    items[1] = fields->group_id ? (struct value){ .kind = VALUE_STRING, .string = fields->group_id }
                                : (struct value){ .kind = VALUE_NONE };
    keys[0] = "group_ranks";
    keys[1] = "group_id";
    *out = (struct value){ .kind = VALUE_DICT, .list = { items, keys, MEMBERS } };
    return true;
}

/* Types by what they become. numpy scalars are written as the bare class name, and read with
 * "numpy." before it too. Types that are not here (distributed and fake
 * tensors, numpy arrays, ...) are unsupported objects. */
static const struct {
    const char *type;
    size_t bytes;
    make_value *make;
    /* clang-format off */
} types[] = {
#define TYPE(text, make) { text, sizeof text - 1, make }
    TYPE("torch.Tensor", make_tensor),
    TYPE("mindspore.Tensor", make_tensor),
    TYPE("int", make_plain),
    TYPE("float", make_float),
    TYPE("bool", make_bool),
    TYPE("str", make_plain),
    TYPE("slice", make_slice),
    TYPE("ellipsis", make_ellipsis),
    TYPE("torch.Size", make_size),
    TYPE("torch.dtype", make_dtype),
    TYPE("mindspore.dtype", make_dtype),
    TYPE("torch.device", make_device),
    TYPE("torch.memory_format", make_memory_format),
    TYPE("torch.nn.parameter.Parameter", make_tensor),
    TYPE("torch.nn.Parameter", make_tensor),
    TYPE("mindspore.Parameter", make_tensor),
    TYPE("mindspore.common.parameter.Parameter", make_tensor),
    TYPE("torch.ProcessGroup", make_group),
    TYPE("torch.distributed.ReduceOp", make_plain),
    TYPE("NoneType", make_plain),
    TYPE("float16", make_float),
    TYPE("float32", make_float),
    TYPE("float64", make_float),
    TYPE("int8", make_plain),
    TYPE("int16", make_plain),
    TYPE("int32", make_plain),
    TYPE("int64", make_plain),
    TYPE("uint8", make_plain),
    TYPE("uint16", make_plain),
    TYPE("uint32", make_plain),
    TYPE("uint64", make_plain),
    TYPE("intc", make_plain),
    TYPE("bool_", make_bool),
    TYPE("str_", make_plain),
#undef TYPE
};
/* clang-format on */

bool dump_object_make(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                      const struct json_slice *type, const char *at)
{
    char *decoded = NULL;
    struct json_slice name = *type;

    if (type->escaped) {
        decoded = json_slice_decode(p->arena, type, &name.bytes);
        if (!decoded) return dump_out_of_memory(p);
        name.text = decoded;
    }
    if (name.bytes > 6 && !memcmp(name.text, "numpy.", 6)) {
        name.text += 6;
        name.bytes -= 6;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].bytes == name.bytes && !memcmp(types[i].type, name.text, name.bytes))
            return types[i].make(p, out, fields, types[i].type, at);
    if (!decoded) decoded = json_slice_decode(p->arena, type, NULL);
    return decoded ? make_unsupported(p, out, fields, decoded, at) : dump_out_of_memory(p);
}
