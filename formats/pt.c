/* What the names in a tensor's pickle mean, and where the two containers keep the bytes.
 *
 * The pickle makes a view (storage, offset, sizes, strides); only when it has been read, and is
 * one view, are the bytes of its storage looked for and the view checked against them.
 */
#include "formats/pt.h"

#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/file.h"
#include "formats/pickle.h"
#include "formats/pt_names.h"
#include "formats/tensor_bytes.h"
#include "formats/zip.h"

/* clang-format off */
const struct pt_storage_name pt_storage_names[PT_STORAGE_NAMES] = {
    { "DoubleStorage", DT_F64 },         { "FloatStorage", DT_F32 },
    { "HalfStorage", DT_F16 },           { "BFloat16Storage", DT_BF16 },
    { "LongStorage", DT_I64 },           { "IntStorage", DT_I32 },
    { "ShortStorage", DT_I16 },          { "CharStorage", DT_I8 },
    { "ByteStorage", DT_U8 },            { "BoolStorage", DT_BOOL },
    { "ComplexDoubleStorage", DT_C128 }, { "ComplexFloatStorage", DT_C64 },
};
/* clang-format on */

/* Ids of the names a pickle may use. A storage class is ID_STORAGE + its dtype (DT_NONE for the
 * untyped one), a dtype is ID_DTYPE + itself. */
enum {
    ID_REBUILD_TENSOR,    /* _rebuild_tensor_v2(storage, offset, size, stride, requires_grad,
                            hooks[, metadata]) */
    ID_REBUILD_TENSOR_3,  /* the same with a dtype before the metadata, untyped storage */
    ID_REBUILD_PARAMETER, /* (data, requires_grad, hooks[, state]) */
    ID_ORDERED_DICT,
    ID_SIZE, /* torch.Size(tuple) */
    ID_DTYPE = 100,
    ID_STORAGE = 200
};

struct storage {
    const struct pickle_value *key;
    enum dtype dtype; /* DT_NONE: untyped, `elements` counts bytes */
    size_t elements;
    const unsigned char *data; /* set when its bytes have been found */
    struct storage *next;
};

struct view {
    struct storage *storage;
    enum dtype dtype;
    int64_t offset; /* in elements */
    int rank;
    int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];
};

struct reader {
    struct arena *arena;
    const char *name;
    struct storage *storages; /* newest first */
    bool big_endian;
    bool unsummed; /* see pt_read_unsummed */
};

static struct status bad(const struct reader *r, const char *problem)
{
    return status_error(STATUS_BAD_INPUT, "cannot read '%s': %s", file_shown(r->name).text,
                        problem);
}

/* ---- what names mean -------------------------------------------------------------------- */

static const struct {
    const char *module, *name;
    int id;
} globals[] = {
    { "torch._utils", "_rebuild_tensor_v2", ID_REBUILD_TENSOR },
    { "torch._utils", "_rebuild_tensor_v3", ID_REBUILD_TENSOR_3 },
    { "torch._utils", "_rebuild_parameter", ID_REBUILD_PARAMETER },
    { "torch._utils", "_rebuild_parameter_with_state", ID_REBUILD_PARAMETER },
    { "collections", "OrderedDict", ID_ORDERED_DICT },
    { "torch", "Size", ID_SIZE },
    { "torch.storage", "UntypedStorage", ID_STORAGE + DT_NONE },
    { "torch.storage", "_UntypedStorage", ID_STORAGE + DT_NONE },
};

static const char *find_global(void *context, int *id, const struct pickle_value *module,
                               const struct pickle_value *name)
{
    char text[32];

    (void)context;
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        if (!pickle_text_is(module, globals[i].module) || !pickle_text_is(name, globals[i].name))
            continue;
        *id = globals[i].id;
        return NULL;
    }
    if (pickle_text_is(module, "torch")) {
        for (int i = 0; i < PT_STORAGE_NAMES; i++) {
            if (!pickle_text_is(name, pt_storage_names[i].name)) continue;
            *id = ID_STORAGE + (int)pt_storage_names[i].dtype;
            return NULL;
        }
        if (name->text.count < sizeof text) {
            memcpy(text, name->text.bytes, name->text.count);
            text[name->text.count] = '\0';
            enum dtype dtype = dtype_from_name(text);
            if (dtype != DT_NONE) {
                *id = ID_DTYPE + (int)dtype;
                return NULL;
            }
        }
    }
    return "a file of a tensor has no use for it, and nothing is ever called";
}

/* ('storage', class, key, location, elements[, view]). The location is where the tensor was;
 * the bytes are the same. */
static const char *find_storage(void *context, struct pickle_value *out,
                                const struct pickle_value *id)
{
    struct reader *r = context;
    const char *problem = "a storage is not described as torch describes it";

    if (id->kind != PICKLE_TUPLE) return problem;
    const struct pickle_value *items = id->sequence->items;
    size_t count = id->sequence->count;
    if (count < 5 || count > 6 || !pickle_text_is(&items[0], "storage") ||
        items[1].kind != PICKLE_GLOBAL || items[1].object.id < ID_STORAGE ||
        items[2].kind != PICKLE_TEXT || items[4].kind != PICKLE_INT || items[4].integer < 0)
        return problem;
    if (count == 6 && items[5].kind != PICKLE_NONE)
        return "its storage is a view of another storage (written by a torch before 0.4)";
    enum dtype dtype = (enum dtype)(items[1].object.id - ID_STORAGE);
    struct storage *storage = r->storages;
    while (storage && (storage->key->text.count != items[2].text.count ||
                       memcmp(storage->key->text.bytes, items[2].text.bytes, items[2].text.count)))
        storage = storage->next;
    if (!storage) {
        storage = arena_allocate_zeroed(r->arena, 1, sizeof *storage);
        if (!storage) return pickle_no_memory;
        *storage =
            (struct storage){ &items[2], dtype, (size_t)items[4].integer, NULL, r->storages };
        r->storages = storage;
    } else if (storage->dtype != dtype || storage->elements != (size_t)items[4].integer) {
        return "a storage is described twice, and differently";
    }
    *out = (struct pickle_value){ .kind = PICKLE_OBJECT, .object = { ID_STORAGE, storage } };
    return NULL;
}

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

static bool is_empty_dict(const struct pickle_value *value)
{
    return value->kind == PICKLE_NONE || (value->kind == PICKLE_DICT && !value->sequence->count);
}

static const char *rebuild_tensor(struct reader *r, struct pickle_value *out, bool third,
                                  const struct pickle_sequence *arguments)
{
    const struct pickle_value *items = arguments->items;
    size_t count = arguments->count, fixed = third ? 7 : 6;
    struct view view = { 0 };
    int n_strides = 0;

    if (count < fixed || count > fixed + 1 || items[0].kind != PICKLE_OBJECT ||
        items[0].object.id != ID_STORAGE || items[1].kind != PICKLE_INT || items[1].integer < 0)
        return "a tensor is not described as torch describes it";
    if (!read_extents(view.shape, &view.rank, &items[2]) ||
        !read_extents(view.stride, &n_strides, &items[3]) || n_strides != view.rank)
        return "the sizes and strides of a tensor are not as many non-negative integers, at most "
               "16";
    view.storage = items[0].object.object;
    view.dtype = view.storage->dtype;
    view.offset = items[1].integer;
    if (third) {
        if (items[6].kind != PICKLE_GLOBAL || items[6].object.id < ID_DTYPE ||
            items[6].object.id >= ID_STORAGE)
            return "a tensor has no known dtype";
        view.dtype = (enum dtype)(items[6].object.id - ID_DTYPE);
    }
    if (view.dtype == DT_NONE || (third && view.storage->dtype != DT_NONE))
        return "the dtype of a tensor and of its storage do not fit";
    if (count > fixed && !is_empty_dict(&items[fixed]))
        return "a conjugated or negated view; save it after .resolve_conj().resolve_neg()";
    struct view *made = arena_allocate(r->arena, sizeof *made);
    if (!made) return pickle_no_memory;
    *made = view;
    *out = (struct pickle_value){ .kind = PICKLE_OBJECT, .object = { ID_REBUILD_TENSOR, made } };
    return NULL;
}

static bool is_view(const struct pickle_value *value)
{
    return value->kind == PICKLE_OBJECT && value->object.id == ID_REBUILD_TENSOR;
}

static const char *call(void *context, struct pickle_value *out, int id,
                        const struct pickle_sequence *arguments)
{
    switch (id) {
    case ID_REBUILD_TENSOR:
    case ID_REBUILD_TENSOR_3:
        return rebuild_tensor(context, out, id == ID_REBUILD_TENSOR_3, arguments);
    case ID_REBUILD_PARAMETER:
        if (!arguments->count || !is_view(&arguments->items[0]))
            return "a parameter is not made of a tensor";
        *out = arguments->items[0];
        return NULL;
    case ID_ORDERED_DICT:
        *out = (struct pickle_value){ .kind = PICKLE_OBJECT, .object = { id, NULL } };
        return NULL;
    case ID_SIZE:
        if (arguments->count != 1 || arguments->items[0].kind != PICKLE_TUPLE)
            return "a torch.Size is not made of a tuple";
        *out = arguments->items[0];
        return NULL;
    default: return "it calls a name that cannot be called";
    }
}

static struct pickle_hooks hooks_of(struct reader *r)
{
    return (struct pickle_hooks){ r, find_global, call, find_storage };
}

/* ---- from views to tensors -------------------------------------------------------------- */

/* Is the last element of the view inside the storage? */
static bool view_fits(const struct view *view, size_t storage_elements)
{
    size_t last = (size_t)view->offset, part;

    for (int i = 0; i < view->rank; i++)
        if (!size_multiply(&part, (size_t)view->shape[i] - 1, (size_t)view->stride[i]) ||
            !size_add(&last, last, part))
            return false;
    return last < storage_elements;
}

static struct status finish(struct tensor *out, struct reader *r, const struct view *view)
{
    const struct storage *storage = view->storage;
    size_t width = dtype_info(view->dtype)->bytes, elements;
    size_t in_storage = storage->dtype == DT_NONE ? storage->elements / width : storage->elements;
    struct tensor tensor = { .dtype = view->dtype, .rank = view->rank };
    void *data;

    if (!shape_elements(&elements, view->rank, view->shape) || elements > PTRDIFF_MAX / 16)
        return bad(r, "the sizes of the tensor overflow");
    if (elements && !view_fits(view, in_storage))
        return bad(r, "the tensor reaches beyond its storage");
    memcpy(tensor.shape, view->shape, sizeof tensor.shape);
    memcpy(tensor.stride, view->stride, sizeof tensor.stride);
    if (!elements) {
        /* Strides and offset of an empty tensor say nothing. */
        TRY(tensor_create(&tensor, r->arena, view->dtype, view->rank, view->shape));
        *out = tensor;
        return status_ok();
    }
    TRY(tensor_bytes_take(&data, r->arena, storage->data, in_storage, view->dtype, r->big_endian,
                          r->name));
    tensor.data = (unsigned char *)data + (size_t)view->offset * width;
    *out = tensor;
    return status_ok();
}

/* Bytes of a storage; false when they overflow. */
static bool storage_bytes(size_t *bytes, const struct storage *storage)
{
    size_t width = storage->dtype == DT_NONE ? 1 : dtype_info(storage->dtype)->bytes;
    return size_multiply(bytes, storage->elements, width);
}

/* ---- the zip container ------------------------------------------------------------------ */

/* The folder of the one record "<folder>/data.pkl", with its slash. */
static const struct zip_entry *find_pickle(const struct zip *zip, size_t *folder_bytes)
{
    static const char record[] = "data.pkl";
    const size_t length = sizeof record - 1;
    const struct zip_entry *found = NULL;

    for (size_t i = 0; i < zip->count; i++) {
        const struct zip_entry *e = &zip->entries[i];
        if (e->name_bytes <= length || e->name[e->name_bytes - length - 1] != '/' ||
            memcmp(e->name + e->name_bytes - length, record, length) ||
            memchr(e->name, '/', e->name_bytes - length - 1))
            continue;
        if (found) return NULL;
        found = e;
        *folder_bytes = e->name_bytes - length;
    }
    return found;
}

/* The record "<folder><record>". */
static const struct zip_entry *find_record(const struct zip *zip, const char *folder,
                                           size_t folder_bytes, const char *record,
                                           size_t record_bytes)
{
    for (size_t i = 0; i < zip->count; i++) {
        const struct zip_entry *e = &zip->entries[i];
        if (e->name_bytes == folder_bytes + record_bytes &&
            !memcmp(e->name, folder, folder_bytes) &&
            !memcmp(e->name + folder_bytes, record, record_bytes))
            return e;
    }
    return NULL;
}

static struct status find_zip_storage(struct reader *r, const struct zip *zip,
                                      struct storage *storage, const char *folder,
                                      size_t folder_bytes)
{
    char record[64];
    const void *data;
    size_t bytes;
    const struct pickle_value *key = storage->key;

    if (key->text.count > sizeof record - 6) return bad(r, "a storage has an overlong name");
    size_t length = (size_t)snprintf(record, sizeof record, "data/");
    memcpy(record + length, key->text.bytes, key->text.count);
    const struct zip_entry *entry =
        find_record(zip, folder, folder_bytes, record, length + key->text.count);
    if (!entry) return bad(r, "the record of its storage is missing");
    if (!storage_bytes(&bytes, storage) || entry->bytes != bytes)
        return bad(r, "its storage has another size than the tensor says");
    TRY(zip_read(&data, r->arena, zip, entry));
    storage->data = data;
    return status_ok();
}

static struct status read_zip(struct tensor *out, struct reader *r, const void *bytes, size_t size)
{
    struct zip zip;
    struct pickle_value value;
    struct pickle_hooks hooks = hooks_of(r);
    const void *pickle, *order;
    size_t folder_bytes = 0, used;

    TRY(zip_open(&zip, r->arena, bytes, size, r->name));
    zip.unsummed = r->unsummed;
    const struct zip_entry *entry = find_pickle(&zip, &folder_bytes);
    if (!entry) return bad(r, "it has not exactly one record data.pkl, as torch.save writes");
    const char *folder = entry->name;
    const struct zip_entry *byteorder =
        find_record(&zip, folder, folder_bytes, "byteorder", strlen("byteorder"));
    if (byteorder) {
        TRY(zip_read(&order, r->arena, &zip, byteorder));
        r->big_endian = byteorder->bytes == 3 && !memcmp(order, "big", 3);
    }
    if (entry->bytes > PICKLE_MAX_BYTES)
        return bad(r, "its pickle is longer than 256 KiB, far more than one tensor needs");
    TRY(zip_read(&pickle, r->arena, &zip, entry));
    TRY(pickle_read(&value, &used, r->arena, pickle, entry->bytes, &hooks, r->name));
    if (!is_view(&value)) return bad(r, "it holds something else than one tensor");
    const struct view *view = value.object.object;
    TRY(find_zip_storage(r, &zip, view->storage, folder, folder_bytes));
    return finish(out, r, view);
}

/* ---- the legacy container --------------------------------------------------------------- */

/* 0x1950a86a20f9469cfc6c as a pickle of protocol 2: how torch.save began before zip. */
static const unsigned char legacy_magic[] = { 0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                              0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.' };

/* The next of the pickles in a row. */
static struct status next_pickle(struct pickle_value *out, struct reader *r,
                                 const unsigned char **at, const unsigned char *end)
{
    struct pickle_hooks hooks = hooks_of(r);
    size_t used;

    TRY(pickle_read(out, &used, r->arena, *at, (size_t)(end - *at), &hooks, r->name));
    *at += used;
    return status_ok();
}

static bool says_big_endian(const struct pickle_value *system)
{
    if (system->kind != PICKLE_DICT) return false;
    const struct pickle_sequence *s = system->sequence;
    for (size_t i = 0; i + 1 < s->count; i += 2)
        if (pickle_text_is(&s->items[i], "little_endian"))
            return s->items[i + 1].kind == PICKLE_BOOL && !s->items[i + 1].boolean;
    return false;
}

/* The storages in the order of their keys: a count of elements, then the elements. */
static struct status find_legacy_storages(struct reader *r, const struct pickle_value *keys,
                                          const unsigned char *at, const unsigned char *end)
{
    if (keys->kind != PICKLE_LIST) return bad(r, "the list of its storages is missing");
    for (size_t i = 0; i < keys->sequence->count; i++) {
        const struct pickle_value *key = &keys->sequence->items[i];
        struct storage *storage = r->storages;
        if (key->kind != PICKLE_TEXT) return bad(r, "a storage has no name");
        while (storage && (storage->key->text.count != key->text.count ||
                           memcmp(storage->key->text.bytes, key->text.bytes, key->text.count)))
            storage = storage->next;
        if (!storage) return bad(r, "it has a storage that no tensor uses");
        uint64_t elements = 0;
        size_t bytes;
        if ((size_t)(end - at) < sizeof elements) return bad(r, "it ends inside a storage");
        for (size_t b = 0; b < sizeof elements; b++) {
            size_t place = r->big_endian ? sizeof elements - 1 - b : b;
            elements |= (uint64_t)at[place] << 8 * b;
        }
        at += sizeof elements;
        if (elements != storage->elements)
            return bad(r, "its storage has another size than the tensor says");
        if (!storage_bytes(&bytes, storage) || bytes > (size_t)(end - at))
            return bad(r, "it ends inside a storage");
        storage->data = at;
        at += bytes;
    }
    return status_ok();
}

static struct status read_legacy(struct tensor *out, struct reader *r, const unsigned char *bytes,
                                 size_t size)
{
    const unsigned char *at = bytes + sizeof legacy_magic, *end = bytes + size;
    struct pickle_value version, system, value, keys;

    TRY(next_pickle(&version, r, &at, end));
    if (version.kind != PICKLE_INT || version.integer != 1001)
        return bad(r, "its protocol version is not 1001");
    TRY(next_pickle(&system, r, &at, end));
    r->big_endian = says_big_endian(&system);
    TRY(next_pickle(&value, r, &at, end));
    if (!is_view(&value)) return bad(r, "it holds something else than one tensor");
    TRY(next_pickle(&keys, r, &at, end));
    TRY(find_legacy_storages(r, &keys, at, end));
    const struct view *view = value.object.object;
    if (!view->storage->data) return bad(r, "the bytes of its storage are missing");
    return finish(out, r, view);
}

static struct status read_any(struct tensor *out, struct reader *r, const void *bytes, size_t size)
{
    if (size >= sizeof legacy_magic && !memcmp(bytes, legacy_magic, sizeof legacy_magic))
        return read_legacy(out, r, bytes, size);
    if (size >= 4 && !memcmp(bytes, "PK\3\4", 4)) return read_zip(out, r, bytes, size);
    return bad(r, "it is not a file of torch.save");
}

struct status pt_read(struct tensor *out, struct arena *arena, const void *bytes, size_t size,
                      const char *name)
{
    struct reader r = { .arena = arena, .name = name };
    return read_any(out, &r, bytes, size);
}

struct status pt_read_unsummed(struct tensor *out, struct arena *arena, const void *bytes,
                               size_t size, const char *name)
{
    struct reader r = { .arena = arena, .name = name, .unsummed = true };
    return read_any(out, &r, bytes, size);
}
