/* The table of names, and what each makes of its arguments. */
#include "formats/torch_objects.h"

#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/file.h"
#include "core/hash.h"
#include "formats/pt_names.h"

/* clang-format off */
const struct pt_storage_name pt_storage_names[PT_STORAGE_NAMES] = {
    { "DoubleStorage", DT_F64 },         { "FloatStorage", DT_F32 },
    { "HalfStorage", DT_F16 },           { "BFloat16Storage", DT_BF16 },
    { "LongStorage", DT_I64 },           { "IntStorage", DT_I32 },
    { "ShortStorage", DT_I16 },          { "CharStorage", DT_I8 },
    { "ByteStorage", DT_U8 },            { "BoolStorage", DT_BOOL },
    { "ComplexDoubleStorage", DT_C128 }, { "ComplexFloatStorage", DT_C64 },
};

const char *const torch_memory_formats[] = { "preserve_format", "contiguous_format", "channels_last",
                                             "channels_last_3d", NULL };

/* Dtypes of torch that have no type here: a call with one is known by name and cannot be judged. */
static const char *const foreign_dtypes[] = {
    "uint16", "uint32", "uint64", "complex32", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
    "quint8", "qint8", "qint32", "quint4x2", "quint2x4", "bits8", "bits16",
};

static const struct global {
    const char *module, *name;
    int id;
    bool of_records; /* in records only */
} globals[] = {
    { "torch._utils", "_rebuild_tensor_v2", TORCH_TENSOR, false },
    { "torch._utils", "_rebuild_tensor_v3", TORCH_TENSOR_3, false },
    { "torch._utils", "_rebuild_parameter", TORCH_PARAMETER, false },
    { "torch._utils", "_rebuild_parameter_with_state", TORCH_PARAMETER, false },
    { "collections", "OrderedDict", TORCH_ORDERED_DICT, false },
    { "torch", "Size", TORCH_SIZE, false },
    { "torch.storage", "UntypedStorage", TORCH_STORAGE + DT_NONE, false },
    { "torch.storage", "_UntypedStorage", TORCH_STORAGE + DT_NONE, false },
    { "msprobe.pytorch.api_accuracy_checker.common.utils", "ApiData", TORCH_RECORD, true },
    { "torch.storage", "_load_from_bytes", TORCH_LOAD, true },
    { "torch", "device", TORCH_DEVICE, true },
    { "torch.serialization", "_get_layout", TORCH_LAYOUT, true },
    { "torch._utils", "torch", TORCH_MODULE, true },
    { "_codecs", "encode", TORCH_ENCODE, true },
    { "numpy", "dtype", TORCH_NUMPY_DTYPE, true },
    { "numpy.core.multiarray", "scalar", TORCH_NUMPY_SCALAR, true },
    { "numpy._core.multiarray", "scalar", TORCH_NUMPY_SCALAR, true },
}, builtins[] = {
    { NULL, "slice", TORCH_SLICE, true },
    { NULL, "complex", TORCH_COMPLEX, true },
    { NULL, "set", TORCH_SET, true },
    { NULL, "Ellipsis", TORCH_ELLIPSIS, true },
    { NULL, "getattr", TORCH_GETATTR, true },
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct status torch_objects_bad(const struct torch_objects *objects, const char *problem)
{
    return status_error(STATUS_BAD_INPUT, "cannot read '%s': %s", file_shown(objects->name).text,
                        problem);
}

/* ---- names ------------------------------------------------------------------------------ */

static int find_in(const struct global *table, size_t count, bool records,
                   const struct pickle_value *module, const struct pickle_value *name)
{
    for (size_t i = 0; i < count; i++)
        if ((records || !table[i].of_records) &&
            (!table[i].module || pickle_text_is(module, table[i].module)) &&
            pickle_text_is(name, table[i].name))
            return table[i].id;
    return -1;
}

static bool ends_with(const struct pickle_value *text, const char *start, const char *end)
{
    size_t a = strlen(start), b = strlen(end);
    return text->text.count == a + b && !memcmp(text->text.bytes, start, a) &&
           !memcmp(text->text.bytes + a, end, b);
}

static int find_memory_format(const char *start, const struct pickle_value *name)
{
    for (int i = 0; torch_memory_formats[i]; i++)
        if (ends_with(name, start, torch_memory_formats[i])) return TORCH_MEMORY_FORMAT + i;
    return -1;
}

/* Storage classes and dtypes are names of module torch. */
static int find_type(bool records, const struct pickle_value *name)
{
    char text[32];
    for (int i = 0; i < PT_STORAGE_NAMES; i++)
        if (pickle_text_is(name, pt_storage_names[i].name))
            return TORCH_STORAGE + (int)pt_storage_names[i].dtype;
    for (size_t i = 0; records && i < COUNT(foreign_dtypes); i++)
        if (pickle_text_is(name, foreign_dtypes[i])) return TORCH_FOREIGN_DTYPE + (int)i;
    if (name->text.count >= sizeof text) return -1;
    memcpy(text, name->text.bytes, name->text.count);
    text[name->text.count] = '\0';
    enum dtype dtype = dtype_from_name(text);
    return dtype == DT_NONE ? -1 : TORCH_DTYPE + (int)dtype;
}

static int find_name(bool records, const struct pickle_value *module,
                     const struct pickle_value *name)
{
    int id = find_in(globals, COUNT(globals), records, module, name);
    bool builtin = pickle_text_is(module, "__builtin__") || pickle_text_is(module, "builtins");
    if (id < 0 && records && builtin) id = find_in(builtins, COUNT(builtins), true, module, name);
    if (id < 0 && pickle_text_is(module, "torch")) id = find_type(records, name);
    if (id < 0 && records && pickle_text_is(module, "torch._utils"))
        id = find_memory_format("torch.", name);
    return id;
}

static void note_unknown(struct torch_objects *objects, const struct pickle_value *module,
                         const struct pickle_value *name)
{
    if (objects->unknown[0]) return;
    (void)snprintf(objects->unknown, sizeof objects->unknown, "%.*s.%.*s",
                   (int)(module->text.count < 60 ? module->text.count : 60), module->text.bytes,
                   (int)(name->text.count < 60 ? name->text.count : 60), name->text.bytes);
    text_tidy(objects->unknown);
}

static const char *find_global(void *context, int *id, const struct pickle_value *module,
                               const struct pickle_value *name)
{
    struct torch_objects *objects = context;
    bool records = objects->names == TORCH_NAMES_OF_RECORDS;
    *id = find_name(records, module, name);
    if (*id >= 0) return NULL;
    if (!records) return "a file of a tensor has no use for it, and nothing is ever called";
    note_unknown(objects, module, name);
    *id = TORCH_UNKNOWN;
    return NULL;
}

/* ---- storages --------------------------------------------------------------------------- */

static size_t bucket_of(const struct pickle_value *key)
{
    return hash_bytes(HASH_START, key->text.bytes, key->text.count) % TORCH_STORAGE_BUCKETS;
}

struct torch_storage *torch_objects_storage(const struct torch_objects *objects,
                                            const struct pickle_value *key)
{
    struct torch_storage *storage = objects->buckets[bucket_of(key)];
    while (storage && (storage->key->text.count != key->text.count ||
                       memcmp(storage->key->text.bytes, key->text.bytes, key->text.count)))
        storage = storage->next_in_bucket;
    return storage;
}

static const char *add_storage(struct torch_storage **out, struct torch_objects *objects,
                               const struct pickle_value *key)
{
    struct torch_storage **bucket = &objects->buckets[bucket_of(key)];
    if (objects->n_storages == TORCH_MAX_STORAGES) return "it has more than 16384 storages";
    struct torch_storage *storage = arena_allocate_zeroed(objects->arena, 1, sizeof *storage);
    if (!storage) return pickle_no_memory;
    storage->key = key;
    storage->next_in_bucket = *bucket;
    *bucket = *out = storage;
    objects->n_storages++;
    return NULL;
}

static struct pickle_value object_of(enum torch_id id, void *object)
{
    return (struct pickle_value){ .kind = PICKLE_OBJECT, .object = { (int)id, object } };
}

/* ('storage', class, key, location, elements[, view]). The location is where the tensor was;
 * the bytes are the same. */
static const char *find_storage(void *context, struct pickle_value *out,
                                const struct pickle_value *id)
{
    struct torch_objects *objects = context;
    const char *problem = "a storage is not described as torch describes it";

    if (id->kind != PICKLE_TUPLE) return problem;
    const struct pickle_value *items = id->sequence->items;
    size_t count = id->sequence->count;
    if (count < 5 || count > 6 || !pickle_text_is(&items[0], "storage") ||
        items[1].kind != PICKLE_GLOBAL || items[2].kind != PICKLE_TEXT ||
        items[4].kind != PICKLE_INT || items[4].integer < 0)
        return problem;
    if (items[1].object.id == TORCH_UNKNOWN) {
        *out = object_of(TORCH_UNKNOWN, NULL);
        return NULL;
    }
    if (items[1].object.id < TORCH_STORAGE) return problem;
    if (count == 6 && items[5].kind != PICKLE_NONE)
        return "its storage is a view of another storage (written by a torch before 0.4)";
    enum dtype dtype = (enum dtype)(items[1].object.id - TORCH_STORAGE);
    struct torch_storage *storage = torch_objects_storage(objects, &items[2]);
    if (!storage) {
        problem = add_storage(&storage, objects, &items[2]);
        if (problem) return problem;
        storage->dtype = dtype;
        storage->elements = (size_t)items[4].integer;
    } else if (storage->dtype != dtype || storage->elements != (size_t)items[4].integer) {
        return "a storage is described twice, and differently";
    }
    *out = object_of(TORCH_STORAGE, storage);
    return NULL;
}

bool torch_storage_bytes(size_t *bytes, const struct torch_storage *storage)
{
    size_t width = storage->dtype == DT_NONE ? 1 : dtype_info(storage->dtype)->bytes;
    return size_multiply(bytes, storage->elements, width);
}

/* ---- tensors ---------------------------------------------------------------------------- */

/* A tuple of non-negative integers, as sizes and strides are. */
static bool read_extents(int64_t *out, int *rank, const struct pickle_value *value)
{
    if (value->kind != PICKLE_TUPLE || value->sequence->count > TENSOR_MAX_RANK) return false;
    *rank = (int)value->sequence->count;
    for (int i = 0; i < *rank; i++) {
        const struct pickle_value *item = &value->sequence->items[i];
        if (item->kind != PICKLE_INT || item->integer < 0) return false;
        out[i] = item->integer;
    }
    return true;
}

/* {"conj": True, "neg": True}: either, both, or nothing. */
static bool read_metadata(struct torch_view *view, const struct pickle_value *value)
{
    if (value->kind == PICKLE_NONE) return true;
    if (value->kind != PICKLE_DICT) return false;
    for (size_t i = 0; i + 1 < value->sequence->count; i += 2) {
        const struct pickle_value *key = &value->sequence->items[i], *flag = key + 1;
        bool conjugated = pickle_text_is(key, "conj");
        if (flag->kind != PICKLE_BOOL || (!conjugated && !pickle_text_is(key, "neg"))) return false;
        *(conjugated ? &view->conjugated : &view->negated) = flag->boolean;
    }
    return true;
}

static const char *read_dtype(struct torch_view *view, const struct pickle_value *value)
{
    int id = value->kind == PICKLE_GLOBAL ? value->object.id : 0;
    bool foreign = id >= TORCH_FOREIGN_DTYPE && id < TORCH_STORAGE;
    if (id < TORCH_DTYPE || id >= TORCH_STORAGE) return "a tensor has no known dtype";
    view->dtype = foreign ? DT_NONE : (enum dtype)(id - TORCH_DTYPE);
    view->foreign = foreign ? foreign_dtypes[id - TORCH_FOREIGN_DTYPE] : NULL;
    return NULL;
}

static const char *rebuild_tensor(struct torch_objects *objects, struct pickle_value *out,
                                  bool third, const struct pickle_sequence *arguments)
{
    const struct pickle_value *items = arguments->items;
    size_t count = arguments->count, fixed = third ? 7 : 6;
    struct torch_view view = { 0 };
    int n_strides = 0;

    if (count < fixed || count > fixed + 1 || !torch_is(&items[0], TORCH_STORAGE) ||
        items[1].kind != PICKLE_INT || items[1].integer < 0)
        return "a tensor is not described as torch describes it";
    if (!read_extents(view.shape, &view.rank, &items[2]) ||
        !read_extents(view.stride, &n_strides, &items[3]) || n_strides != view.rank)
        return "the sizes and strides of a tensor are not as many non-negative integers, at most "
               "16";
    view.storage = items[0].object.object;
    view.dtype = view.storage->dtype;
    view.offset = items[1].integer;
    view.requires_grad = items[4].kind == PICKLE_BOOL && items[4].boolean;
    if (third) {
        const char *problem = read_dtype(&view, &items[6]);
        if (problem) return problem;
    }
    if ((view.dtype == DT_NONE && !view.foreign) || (third && view.storage->dtype != DT_NONE))
        return "the dtype of a tensor and of its storage do not fit";
    if (count > fixed && !read_metadata(&view, &items[fixed]))
        return "the metadata of a tensor are not those that torch has";
    struct torch_view *made = arena_allocate(objects->arena, sizeof *made);
    if (!made) return pickle_no_memory;
    *made = view;
    *out = object_of(TORCH_TENSOR, made);
    return NULL;
}

static const char *rebuild_parameter(struct pickle_value *out,
                                     const struct pickle_sequence *arguments)
{
    if (!arguments->count || !torch_is(&arguments->items[0], TORCH_TENSOR))
        return "a parameter is not made of a tensor";
    *out = arguments->items[0];
    struct torch_view *view = out->object.object;
    view->is_parameter = true;
    view->requires_grad = arguments->count > 1 && arguments->items[1].kind == PICKLE_BOOL &&
                          arguments->items[1].boolean;
    return NULL;
}

/* ---- the other values of records --------------------------------------------------------- */

static const char *make_slice(struct pickle_value *out, enum torch_id id,
                              const struct pickle_sequence *arguments, void *kept)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (arguments->items[i].kind != PICKLE_INT && arguments->items[i].kind != PICKLE_NONE)
            return "a slice is not made of integers";
    if (arguments->count != 3) return "a slice is not made of three values";
    *out = object_of(id, kept);
    return NULL;
}

static const char *make_complex(struct pickle_value *out, enum torch_id id,
                                const struct pickle_sequence *arguments, void *kept)
{
    if (arguments->count != 2 || arguments->items[0].kind != PICKLE_FLOAT ||
        arguments->items[1].kind != PICKLE_FLOAT)
        return "a complex number is not made of two floats";
    *out = object_of(id, kept);
    return NULL;
}

static const char *make_device(struct pickle_value *out, enum torch_id id,
                               const struct pickle_sequence *arguments, void *kept)
{
    if (!arguments->count || arguments->count > 2 || arguments->items[0].kind != PICKLE_TEXT)
        return "a device is not made of its name";
    *out = object_of(id, kept);
    return NULL;
}

static const char *make_set(struct pickle_value *out, const struct pickle_sequence *arguments)
{
    if (arguments->count != 1 || arguments->items[0].kind != PICKLE_LIST)
        return "a set is not made of a list";
    *out = (struct pickle_value){ .kind = PICKLE_SET, .sequence = arguments->items[0].sequence };
    return NULL;
}

/* getattr(torch, "preserve_format"): the one use of it is a memory format. */
static const char *get_attribute(struct pickle_value *out, const struct pickle_sequence *arguments)
{
    int id = -1;
    if (arguments->count == 2 && arguments->items[0].kind == PICKLE_GLOBAL &&
        arguments->items[0].object.id == TORCH_MODULE && arguments->items[1].kind == PICKLE_TEXT)
        id = find_memory_format("", &arguments->items[1]);
    if (id < 0) return "it asks for an attribute that is no memory format of torch";
    *out = (struct pickle_value){ .kind = PICKLE_GLOBAL, .object = { id, NULL } };
    return NULL;
}

/* Python 2's way to write bytes: each is a character below 256, in UTF-8. */
static const char *encode(struct torch_objects *objects, struct pickle_value *out,
                          const struct pickle_sequence *arguments)
{
    const char *problem = "bytes are not written as characters of latin1";
    if (arguments->count != 2 || arguments->items[0].kind != PICKLE_TEXT ||
        !pickle_text_is(&arguments->items[1], "latin1"))
        return problem;
    const char *text = arguments->items[0].text.bytes;
    size_t length = arguments->items[0].text.count, used = 0;
    char *bytes = arena_allocate(objects->arena, length);
    if (!bytes) return pickle_no_memory;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || i + 1 == length || (text[i + 1] & 0xc0) != 0x80)
                return problem;
            c = (unsigned char)(c << 6 | (text[++i] & 0x3f));
        }
        bytes[used++] = (char)c;
    }
    *out = (struct pickle_value){ .kind = PICKLE_BYTES, .text = { bytes, used } };
    return NULL;
}

static const char *make_numpy_dtype(struct torch_objects *objects, struct pickle_value *out,
                                    const struct pickle_sequence *arguments)
{
    const struct pickle_value *text = arguments->items;
    bool known = arguments->count && text->kind == PICKLE_TEXT && text->text.count >= 2 &&
                 text->text.count <= 3 && strchr("fiubc", text->text.bytes[0]);
    int bytes = 0;
    for (size_t i = 1; known && i < text->text.count; i++) {
        known = text->text.bytes[i] >= '0' && text->text.bytes[i] <= '9';
        bytes = 10 * bytes + (text->text.bytes[i] - '0');
    }
    if (!known || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16))
        return "a dtype of numpy is none of a number";
    struct torch_numpy_dtype *made = arena_allocate(objects->arena, sizeof *made);
    if (!made) return pickle_no_memory;
    *made = (struct torch_numpy_dtype){ text->text.bytes[0], bytes, false };
    *out = object_of(TORCH_NUMPY_DTYPE, made);
    return NULL;
}

static double real_of_bits(uint64_t bits, int bytes)
{
    double real = 0;
    if (bytes == 8) {
        memcpy(&real, &bits, sizeof real);
    } else {
        const uint32_t low = (uint32_t)bits;
        dtype_to_double(&real, &low, bytes == 4 ? DT_F32 : DT_F16, 1);
    }
    return real;
}

static const char *make_numpy_scalar(struct pickle_value *out,
                                     const struct pickle_sequence *arguments)
{
    const char *problem = "a number of numpy is not made of a dtype and its bytes";
    if (arguments->count != 2 || !torch_is(&arguments->items[0], TORCH_NUMPY_DTYPE) ||
        arguments->items[1].kind != PICKLE_BYTES)
        return problem;
    const struct torch_numpy_dtype *dtype = arguments->items[0].object.object;
    const unsigned char *bytes = (const unsigned char *)arguments->items[1].text.bytes;
    if (arguments->items[1].text.count != (size_t)dtype->bytes) return problem;
    uint64_t bits = 0;
    for (int i = 0; dtype->bytes <= 8 && i < dtype->bytes; i++)
        bits |= (uint64_t)bytes[dtype->big_endian ? dtype->bytes - 1 - i : i] << 8 * i;
    int unused = 64 - 8 * dtype->bytes;
    if (dtype->kind == 'b' && dtype->bytes == 1)
        *out = (struct pickle_value){ .kind = PICKLE_BOOL, .boolean = bits != 0 };
    else if (dtype->kind == 'f' && dtype->bytes >= 2 && dtype->bytes <= 8)
        *out =
            (struct pickle_value){ .kind = PICKLE_FLOAT, .real = real_of_bits(bits, dtype->bytes) };
    else if (dtype->kind == 'i' && dtype->bytes <= 8)
        *out = (struct pickle_value){ .kind = PICKLE_INT,
                                      .integer = (int64_t)(bits << unused) >> unused };
    else if (dtype->kind == 'u' && dtype->bytes <= 8 && bits <= INT64_MAX)
        *out = (struct pickle_value){ .kind = PICKLE_INT, .integer = (int64_t)bits };
    else *out = object_of(TORCH_UNKNOWN, NULL); /* complex, long double, beyond 2^63 */
    return NULL;
}

/* The state of a numpy dtype is (version, byte order, ...). */
static const char *build(void *context, const struct pickle_value *object,
                         const struct pickle_value *state)
{
    (void)context;
    if (torch_is(object, TORCH_UNKNOWN)) return NULL;
    if (!torch_is(object, TORCH_NUMPY_DTYPE) || state->kind != PICKLE_TUPLE ||
        state->sequence->count < 2 || state->sequence->items[1].kind != PICKLE_TEXT)
        return "it gives a state to something that has none";
    struct torch_numpy_dtype *dtype = object->object.object;
    dtype->big_endian = pickle_text_is(&state->sequence->items[1], ">");
    return NULL;
}

/* ---- calls ------------------------------------------------------------------------------ */

static bool has_unknown(const struct pickle_sequence *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (torch_is(&arguments->items[i], TORCH_UNKNOWN) ||
            (arguments->items[i].kind == PICKLE_GLOBAL &&
             arguments->items[i].object.id == TORCH_UNKNOWN))
            return true;
    return false;
}

static const char *call(void *context, struct pickle_value *out, int id,
                        const struct pickle_sequence *arguments)
{
    struct torch_objects *objects = context;
    void *kept = (void *)(uintptr_t)arguments; /* in the arena, and never changed */

    if (id == TORCH_UNKNOWN || (id != TORCH_RECORD && has_unknown(arguments))) {
        *out = object_of(TORCH_UNKNOWN, NULL);
        return NULL;
    }
    switch (id) {
    case TORCH_TENSOR:
    case TORCH_TENSOR_3: return rebuild_tensor(objects, out, id == TORCH_TENSOR_3, arguments);
    case TORCH_PARAMETER: return rebuild_parameter(out, arguments);
    case TORCH_ORDERED_DICT: *out = object_of(TORCH_ORDERED_DICT, NULL); return NULL;
    case TORCH_SIZE:
        if (arguments->count != 1 || arguments->items[0].kind != PICKLE_TUPLE)
            return "a torch.Size is not made of a tuple";
        *out = arguments->items[0];
        return NULL;
    case TORCH_LOAD:
        if (!objects->load || arguments->count != 1 || arguments->items[0].kind != PICKLE_BYTES)
            return "a storage is not made of bytes";
        return objects->load(objects, out, &arguments->items[0]);
    case TORCH_RECORD: *out = object_of(TORCH_RECORD, kept); return NULL;
    case TORCH_SLICE: return make_slice(out, TORCH_SLICE, arguments, kept);
    case TORCH_COMPLEX: return make_complex(out, TORCH_COMPLEX, arguments, kept);
    case TORCH_DEVICE: return make_device(out, TORCH_DEVICE, arguments, kept);
    case TORCH_LAYOUT: *out = object_of(TORCH_LAYOUT, kept); return NULL;
    case TORCH_SET: return make_set(out, arguments);
    case TORCH_GETATTR: return get_attribute(out, arguments);
    case TORCH_ENCODE: return encode(objects, out, arguments);
    case TORCH_NUMPY_DTYPE: return make_numpy_dtype(objects, out, arguments);
    case TORCH_NUMPY_SCALAR: return make_numpy_scalar(out, arguments);
    default: return "it calls a name that cannot be called";
    }
}

struct pickle_hooks torch_objects_hooks(struct torch_objects *objects)
{
    return (struct pickle_hooks){ .context = objects,
                                  .most_bytes = objects->most_bytes,
                                  .global = find_global,
                                  .reduce = call,
                                  .persistent = find_storage,
                                  .build = build };
}

bool torch_is(const struct pickle_value *value, enum torch_id object)
{
    return value->kind == PICKLE_OBJECT && value->object.id == (int)object;
}
