/* Decodes the record of our own client: sizes are checked against the body, the entry is read by the reader
 * of dumps, and every tensor is found in the table. */
#include "online/stream_record.h"

#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "formats/dump.h"
#include "online/stream_frames.h"

enum { AT_NAME = 0, AT_ENTRY = 4, AT_TENSORS = 8, AT_RANK = 12, AT_STEP = 16, FIXED_BYTES = 24 };
enum { ROW_BYTES = 16, ALIGNMENT = 16 };

/* Where the parts of a body are. */
struct layout {
    const unsigned char *body, *table;
    const char *name, *entry;
    size_t bytes, name_bytes, entry_bytes, n_tensors;
};

static struct status find_parts(struct layout *out, const unsigned char *body, size_t bytes,
                                const char *place)
{
    if (bytes < FIXED_BYTES)
        return status_error(STATUS_BAD_INPUT, "%s: a record of %zu bytes", place, bytes);
    uint64_t name_bytes = stream_u32(body + AT_NAME), entry_bytes = stream_u32(body + AT_ENTRY);
    uint64_t n_tensors = stream_u32(body + AT_TENSORS);
    uint64_t wanted = FIXED_BYTES + n_tensors * ROW_BYTES + name_bytes + entry_bytes;

    if (wanted > bytes)
        return status_error(STATUS_BAD_INPUT, "%s: a record of %zu bytes whose parts have %llu",
                            place, bytes, (unsigned long long)wanted);
    out->body = body;
    out->bytes = bytes;
    out->table = body + FIXED_BYTES;
    out->n_tensors = (size_t)n_tensors;
    out->name = (const char *)out->table + n_tensors * ROW_BYTES;
    out->name_bytes = (size_t)name_bytes;
    out->entry = out->name + name_bytes;
    out->entry_bytes = (size_t)entry_bytes;
    return status_ok();
}

/* Giving the tensor values their elements. */
struct binding {
    const struct layout *layout;
    struct arena *arena;
    struct status status;
};

static bool refuse(struct binding *b, enum status_code code, const char *what, const char *which)
{
    b->status = status_error(code, "a tensor %s '%s'", what, which);
    return false;
}

static bool bind_tensor(struct value *value, void *context)
{
    struct binding *b = context;
    const struct tensor_record *recorded = value->tensor.record;
    const char *number = recorded->data_name ? recorded->data_name : "";
    char *end;
    size_t elements, bytes;

    unsigned long long row = strtoull(number, &end, 10);
    if (end == number || *end || *number < '0' || *number > '9' || row >= b->layout->n_tensors)
        return refuse(b, STATUS_SKIP, "whose number in the record is", number);
    if (recorded->dtype == DT_NONE)
        return refuse(b, STATUS_SKIP, "of the dtype", recorded->dtype_name);
    if (!shape_elements(&elements, recorded->rank, recorded->shape) ||
        !size_multiply(&bytes, elements, dtype_info(recorded->dtype)->bytes))
        return refuse(b, STATUS_SKIP, "with too many elements has the number", number);

    const unsigned char *at = b->layout->table + row * ROW_BYTES;
    uint64_t offset = stream_u64(at), stored = stream_u64(at + 8);
    if (stored != bytes || offset % ALIGNMENT || offset > b->layout->bytes ||
        stored > b->layout->bytes - offset)
        return refuse(b, STATUS_SKIP, "that the record does not hold as it says has the number",
                      number);

    struct tensor_record *record = arena_allocate(b->arena, sizeof *record);
    struct tensor *tensor = arena_allocate(b->arena, sizeof *tensor);
    if (!record || !tensor) {
        b->status = status_no_memory(sizeof *tensor);
        return false;
    }
    *record = *recorded;
    record->data_name = NULL; /* there is no file of this name */
    tensor_wrap(tensor, (void *)(uintptr_t)(b->layout->body + offset), record->dtype, record->rank,
                record->shape);
    value->tensor.record = record;
    value->tensor.tensor = tensor;
    return true;
}

struct status stream_record_decode(struct record *out, struct arena *arena, const void *body,
                                   size_t bytes, const char *place)
{
    struct layout layout;
    TRY(find_parts(&layout, body, bytes, place));
    int32_t rank = (int32_t)stream_u32(layout.body + AT_RANK);
    struct record record = {
        .has_rank = rank >= 0,
        .rank = rank,
        .step = (int64_t)stream_u64(layout.body + AT_STEP),
        .inputs_before = true,
        .unusable = status_ok(),
    };

    TRY(record_set_name(&record.call, arena, layout.name, layout.name_bytes));
    record.unusable = dump_read_entry(&record.call, arena, layout.entry, layout.entry_bytes);
    if (record.unusable.code == STATUS_NO_MEMORY) return record.unusable;
    struct binding binding = { .layout = &layout, .arena = arena, .status = status_ok() };
    struct value *const parts[] = { &record.call.args, &record.call.kwargs, &record.call.outputs };
    for (size_t i = 0; !record.unusable.code && i < sizeof parts / sizeof *parts; i++)
        if (!value_each_tensor(parts[i], bind_tensor, &binding)) record.unusable = binding.status;
    if (record.unusable.code == STATUS_NO_MEMORY) return record.unusable;
    *out = record;
    return status_ok();
}
