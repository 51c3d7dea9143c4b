/* The walk is the only place where depth and sharing cost something, so both are bounded here. */
#include "formats/torch_values.h"

#include <stdio.h>
#include <string.h>

#include "formats/pt.h"

enum { KEYS_MOST = 4096 };

/* `depth`: how deep the value lies. */
static struct status convert(struct value *out, struct torch_values *v,
                             const struct pickle_value *in, int depth);

static struct status bad(const struct torch_values *v, const char *problem)
{
    return torch_objects_bad(v->objects, problem);
}

static struct status make_unsupported(struct value *out, struct torch_values *v, const char *what)
{
    const char *text = arena_copy_string(v->objects->arena, what);
    if (!text) return status_no_memory(0);
    *out = (struct value){ .kind = VALUE_UNSUPPORTED, .string = text };
    if (!v->unsupported.code)
        v->unsupported = status_error(STATUS_SKIP,
                                      "The record holds %s, which cannot be judged. "
                                      "SKIP.",
                                      what);
    return status_ok();
}

/* ---- texts and sequences ------------------------------------------------------------------ */

static struct status copy_text(const char **out, struct torch_values *v,
                               const struct pickle_value *text)
{
    if (memchr(text->text.bytes, '\0', text->text.count)) return bad(v, "a text has a NUL in it");
    *out = arena_copy_bytes(v->objects->arena, text->text.bytes, text->text.count);
    return *out ? status_ok() : status_no_memory(text->text.count);
}

static struct status convert_items(struct value *out, struct torch_values *v, enum value_kind kind,
                                   const struct pickle_sequence *in, int depth)
{
    struct value list = { .kind = kind };
    list.list.items = arena_allocate_zeroed(v->objects->arena, in->count, sizeof *list.list.items);
    if (!list.list.items) return status_no_memory(in->count * sizeof *list.list.items);
    for (; list.list.count < in->count; list.list.count++)
        TRY(convert(&list.list.items[list.list.count], v, &in->items[list.list.count], depth + 1));
    *out = list;
    return status_ok();
}

static struct status convert_dict(struct value *out, struct torch_values *v,
                                  const struct pickle_sequence *in, int depth)
{
    struct arena *arena = v->objects->arena;
    struct value dict = { .kind = VALUE_DICT };
    size_t count = in->count / 2;

    if (count > KEYS_MOST) return bad(v, "a dict has more than 4096 keys");
    dict.list.items = arena_allocate_zeroed(arena, count, sizeof *dict.list.items);
    dict.list.keys = arena_allocate_zeroed(arena, count, sizeof *dict.list.keys);
    if (!dict.list.items || !dict.list.keys) return status_no_memory(0);
    for (size_t i = 0; i < count; i++) {
        const char *key = NULL;
        if (in->items[2 * i].kind != PICKLE_TEXT)
            return make_unsupported(out, v, "a dict whose keys are not texts");
        TRY(copy_text(&key, v, &in->items[2 * i]));
        if (value_find(&dict, key)) return bad(v, "a dict has a key twice");
        TRY(convert(&dict.list.items[i], v, &in->items[2 * i + 1], depth + 1));
        dict.list.keys[dict.list.count++] = key;
    }
    *out = dict;
    return status_ok();
}

/* ---- tensors ------------------------------------------------------------------------------ */

static struct status convert_tensor(struct value *out, struct torch_values *v,
                                    const struct torch_view *view)
{
    struct arena *arena = v->objects->arena;
    char text[64];

    if (view->foreign) {
        (void)snprintf(text, sizeof text, "a tensor of torch.%s", view->foreign);
        return make_unsupported(out, v, text);
    }
    struct tensor *tensor = arena_allocate_zeroed(arena, 1, sizeof *tensor);
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    if (!tensor || !record) return status_no_memory(sizeof *tensor + sizeof *record);
    TRY(torch_objects_tensor(tensor, v->objects, view));
    record->dtype = tensor->dtype;
    record->dtype_name = dtype_info(tensor->dtype)->name;
    record->rank = tensor->rank;
    memcpy(record->shape, tensor->shape, sizeof record->shape);
    record->requires_grad = view->requires_grad;
    record->is_parameter = view->is_parameter;
    *out = (struct value){ .kind = VALUE_TENSOR, .tensor = { record, tensor } };
    return status_ok();
}

/* ---- everything else ------------------------------------------------------------------------ */

static struct status convert_global(struct value *out, struct torch_values *v, int id)
{
    if (id == TORCH_ELLIPSIS) {
        *out = (struct value){ .kind = VALUE_ELLIPSIS };
    } else if (id >= TORCH_DTYPE && id < TORCH_FOREIGN_DTYPE) {
        *out = (struct value){ .kind = VALUE_DTYPE, .dtype = (enum dtype)(id - TORCH_DTYPE) };
    } else if (id >= TORCH_FOREIGN_DTYPE && id < TORCH_STORAGE) {
        return make_unsupported(out, v, "a dtype that has no type here");
    } else if (id >= TORCH_MEMORY_FORMAT && id < TORCH_DTYPE) {
        *out = (struct value){ .kind = VALUE_MEMORY_FORMAT,
                               .string = torch_memory_formats[id - TORCH_MEMORY_FORMAT] };
    } else {
        return make_unsupported(out, v, "a class");
    }
    return status_ok();
}

static struct status convert_device(struct value *out, struct torch_values *v,
                                    const struct pickle_sequence *arguments)
{
    const char *name = NULL;
    TRY(copy_text(&name, v, &arguments->items[0]));
    if (arguments->count == 2 && arguments->items[1].kind == PICKLE_INT)
        name = arena_format(v->objects->arena, "%s:%lld", name,
                            (long long)arguments->items[1].integer);
    if (!name) return status_no_memory(0);
    *out = (struct value){ .kind = VALUE_DEVICE, .string = name };
    return status_ok();
}

static struct status convert_object(struct value *out, struct torch_values *v,
                                    const struct pickle_value *in, int depth)
{
    const struct pickle_sequence *parts = in->object.object;
    char text[160];

    switch (in->object.id) {
    case TORCH_TENSOR: return convert_tensor(out, v, in->object.object);
    case TORCH_SLICE: return convert_items(out, v, VALUE_SLICE, parts, depth);
    case TORCH_DEVICE: return convert_device(out, v, parts);
    /* Which of the layouts it is changes no value. */
    case TORCH_LAYOUT:
        *out = (struct value){ .kind = VALUE_UNSUPPORTED, .string = "torch.layout" };
        return status_ok();
    case TORCH_COMPLEX: return make_unsupported(out, v, "a complex number");
    case TORCH_UNKNOWN:
        (void)snprintf(text, sizeof text, "an object of %s", v->objects->unknown);
        return make_unsupported(out, v, text);
    default: return make_unsupported(out, v, "an object that is no argument");
    }
}

static struct status convert(struct value *out, struct torch_values *v,
                             const struct pickle_value *in, int depth)
{
    if (depth > TORCH_VALUES_DEPTH) return bad(v, "its values are nested more than 64 deep");
    if (++v->count > TORCH_VALUES_MOST) return bad(v, "it has more than a million values");
    switch (in->kind) {
    case PICKLE_NONE: *out = (struct value){ .kind = VALUE_NONE }; break;
    case PICKLE_BOOL: *out = (struct value){ .kind = VALUE_BOOL, .boolean = in->boolean }; break;
    case PICKLE_INT: *out = (struct value){ .kind = VALUE_INT, .integer = in->integer }; break;
    case PICKLE_FLOAT: *out = (struct value){ .kind = VALUE_FLOAT, .real = in->real }; break;
    case PICKLE_TEXT:
        *out = (struct value){ .kind = VALUE_STRING };
        return copy_text(&out->string, v, in);
    case PICKLE_TUPLE:
    case PICKLE_LIST: return convert_items(out, v, VALUE_LIST, in->sequence, depth);
    case PICKLE_DICT: return convert_dict(out, v, in->sequence, depth);
    case PICKLE_GLOBAL: return convert_global(out, v, in->object.id);
    case PICKLE_OBJECT: return convert_object(out, v, in, depth);
    case PICKLE_LONG: return make_unsupported(out, v, "an integer beyond 64 bits");
    case PICKLE_BYTES: return make_unsupported(out, v, "bytes");
    case PICKLE_SET: return make_unsupported(out, v, "a set");
    }
    return status_ok();
}

struct status torch_value(struct value *out, struct torch_values *values,
                          const struct pickle_value *in)
{
    return convert(out, values, in, 0);
}
