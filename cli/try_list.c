/* One splitter, and a reader per kind of item. */
#include "cli/try_list.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/nearest_name.h"

typedef struct status item_reader(struct try_item *item);

/* Length of "name=" in front of an item, 0 when it has none. */
static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_') length++;
    return length && text[length] == '=' ? length + 1 : 0;
}

static struct status add_item(struct try_list *out, struct arena *arena, const char *text,
                              size_t length, item_reader *read)
{
    struct try_item *item = &out->items[out->count++];
    size_t name = name_length(text);
    if (name > length) name = 0;
    *item = (struct try_item){ .text = arena_copy_bytes(arena, text + name, length - name) };
    if (name) item->name = arena_copy_bytes(arena, text, name - 1);
    if (!item->text || (name && !item->name)) return status_no_memory(length);
    return read(item);
}

static struct status read_list(struct try_list *out, struct arena *arena,
                               const struct operands *texts, item_reader *read)
{
    size_t capacity = texts->count;
    for (size_t i = 0; i < texts->count; i++)
        for (const char *at = texts->items[i]; *at; at++) capacity += *at == ',';
    *out = (struct try_list){ arena_allocate_array(arena, capacity, sizeof *out->items), 0 };
    if (!out->items) return status_no_memory(capacity * sizeof *out->items);
    for (size_t i = 0; i < texts->count; i++)
        for (const char *at = texts->items[i];; at++) {
            size_t length = strcspn(at, ",");
            TRY(add_item(out, arena, at, length, read));
            at += length;
            if (!*at) break;
        }
    return status_ok();
}

/* ---- shapes ----------------------------------------------------------------------------- */

static struct status bad_shape(const struct try_item *item)
{
    return status_error(STATUS_BAD_ARGUMENT,
                        "'%s' is no shape; shapes are written 4x100, 8, or scalar", item->text);
}

static struct status read_shape(struct try_item *item)
{
    const char *at = item->text;
    if (!strcmp(at, "scalar")) return status_ok();
    for (;; at++) {
        char *end;
        if (!isdigit((unsigned char)*at) || item->shape.rank == TENSOR_MAX_RANK)
            return bad_shape(item);
        long long extent = strtoll(at, &end, 10);
        item->shape.extents[item->shape.rank++] = extent;
        at = end;
        if (!*at) return status_ok();
        if (*at != 'x' && *at != 'X') return bad_shape(item);
    }
}

struct status try_list_read_shapes(struct try_list *out, struct arena *arena,
                                   const struct operands *texts)
{
    return read_list(out, arena, texts, read_shape);
}

/* ---- dtypes ----------------------------------------------------------------------------- */

/* The short names of other benchmarks; dtype_from_name knows those of PyTorch. */
static const struct {
    const char *name;
    enum dtype dtype;
} short_dtypes[] = {
    { "f64", DT_F64 },       { "f32", DT_F32 },       { "f16", DT_F16 },   { "bf16", DT_BF16 },
    { "f8e4m3", DT_F8E4M3 }, { "f8e5m2", DT_F8E5M2 }, { "i64", DT_I64 },   { "s64", DT_I64 },
    { "i32", DT_I32 },       { "s32", DT_I32 },       { "i16", DT_I16 },   { "i8", DT_I8 },
    { "s8", DT_I8 },         { "u8", DT_U8 },         { "c128", DT_C128 }, { "c64", DT_C64 },
};
enum { N_SHORT = sizeof short_dtypes / sizeof *short_dtypes };

enum dtype try_dtype(const char *name)
{
    for (size_t i = 0; i < N_SHORT; i++)
        if (!strcmp(name, short_dtypes[i].name)) return short_dtypes[i].dtype;
    return dtype_from_name(name);
}

static struct status read_dtype(struct try_item *item)
{
    const char *names[N_SHORT + DT_COUNT];
    size_t count = 0;
    item->dtype = try_dtype(item->text);
    if (item->dtype != DT_NONE) return status_ok();
    for (size_t i = 0; i < N_SHORT; i++) names[count++] = short_dtypes[i].name;
    for (int d = DT_NONE + 1; d < DT_COUNT; d++) names[count++] = dtype_short_name((enum dtype)d);
    return status_error(STATUS_BAD_ARGUMENT, "there is no dtype '%s', the nearest is '%s'",
                        item->text, nearest_name(item->text, names, count));
}

struct status try_list_read_dtypes(struct try_list *out, struct arena *arena,
                                   const struct operands *texts)
{
    return read_list(out, arena, texts, read_dtype);
}

/* ---- ranges ----------------------------------------------------------------------------- */

static struct status read_range(struct try_item *item)
{
    char *end;
    item->range.low = item->range.high = strtod(item->text, &end);
    bool good = end != item->text;
    if (good && *end == ':') {
        const char *second = end + 1;
        item->range.high = strtod(second, &end);
        good = end != second;
    }
    if (good && !*end && !(item->range.low > item->range.high)) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT,
                        "'%s' is no range; ranges are written -1:1 (the lower end first) or, for "
                        "one value, 0.5",
                        item->text);
}

struct status try_list_read_ranges(struct try_list *out, struct arena *arena,
                                   const struct operands *texts)
{
    return read_list(out, arena, texts, read_range);
}

/* ---- looking up --------------------------------------------------------------------------- */

struct try_item *try_list_take(struct try_list *list, const char *name, bool any)
{
    struct try_item *first = NULL;
    for (size_t i = 0; i < list->count; i++) {
        struct try_item *item = &list->items[i];
        if (item->used) continue;
        if (item->name && !strcmp(item->name, name)) {
            item->used = true;
            return item;
        }
        if (!item->name && !first) first = item;
    }
    if (!any || !first) return NULL;
    first->used = true;
    return first;
}

const struct try_item *try_list_find(struct try_list *list, const char *name, size_t index)
{
    struct try_item *only = NULL, *placed = NULL;
    size_t unnamed = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct try_item *item = &list->items[i];
        if (item->name && !strcmp(item->name, name)) {
            item->used = true;
            return item;
        }
        if (item->name) continue;
        if (unnamed == index) placed = item;
        only = unnamed++ ? NULL : item;
    }
    if (!placed) placed = only;
    if (placed) placed->used = true;
    return placed;
}

const struct try_item *try_list_unused(const struct try_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].used) return &list->items[i];
    return NULL;
}
