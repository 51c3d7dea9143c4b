/* What is inside of a module was recorded before the module, and a forward call before its backward one,
 * so what differs is remembered by name on the way. */
#include "results/origin.h"

struct status origin_start(struct origin *out)
{
    *out = (struct origin){ .output = ORIGIN_NONE, .found = ORIGIN_NONE };
    TRY(text_table_create(&out->differing));
    return text_table_create(&out->around);
}

void origin_release(struct origin *origin)
{
    text_table_release(&origin->differing);
    text_table_release(&origin->around);
    csv_buffer_release(&origin->entry);
}

/* "Module.h.1" of "Module.h.1.Block.forward.0"; empty for what is no call of a module. */
static struct name_slice module_path(struct name_slice name)
{
    enum { CLASS_DIRECTION_COUNT = 3 };
    bool is_module = name_starts_with(name, "Module.") || name_starts_with(name, "Cell.");
    if (!is_module || name.length >= NAME_BUFFER) return name_slice_of(name.text, 0);
    return name_without_last(name, CLASS_DIRECTION_COUNT);
}

static bool contains_difference(const struct origin *origin, struct name_slice name)
{
    struct name_slice path = module_path(name);
    return path.length && text_table_find(&origin->around, path.text, path.length) != TEXT_NONE;
}

static bool forward_differs(const struct origin *origin, struct name_slice name)
{
    char buffer[NAME_BUFFER];
    if (name_direction(name) != DIRECTION_BACKWARD) return false;
    size_t length = name_turn(buffer, name, DIRECTION_FORWARD);
    return length && text_table_find(&origin->differing, buffer, length) != TEXT_NONE;
}

/* A path that is there has all above it there, too. */
static struct status remember(struct origin *origin, struct name_slice name)
{
    bool added = true;
    uint32_t number;
    struct name_slice path = name_without_last(module_path(name), 1);

    TRY(text_table_add(&number, NULL, &origin->differing, name.text, name.length));
    for (; path.length && added; path = name_without_last(path, 1))
        TRY(text_table_add(&number, &added, &origin->around, path.text, path.length));
    return status_ok();
}

static struct status end_entry(struct origin *origin)
{
    struct name_slice name = name_slice_of(origin->entry.data, origin->entry.length);
    if (!name.length || origin->found != ORIGIN_NONE) return status_ok();
    if (origin->inputs_agree && origin->output != ORIGIN_NONE &&
        !contains_difference(origin, name) && !forward_differs(origin, name))
        origin->found = origin->output;
    return origin->differs ? remember(origin, name) : status_ok();
}

struct status origin_add(struct origin *origin, const struct origin_row *row)
{
    struct name_slice open = name_slice_of(origin->entry.data, origin->entry.length);
    if (origin->found != ORIGIN_NONE) return status_ok();
    if (!open.length || !name_slices_equal(open, row->entry)) {
        TRY(end_entry(origin));
        csv_buffer_clear(&origin->entry);
        TRY(csv_append_bytes(&origin->entry, row->entry.text, row->entry.length));
        origin->inputs_agree = true;
        origin->differs = false;
        origin->output = ORIGIN_NONE;
    }
    if (row->role == ORIGIN_INPUT && !row->agrees) origin->inputs_agree = false;
    if (row->role == ORIGIN_OUTPUT && row->differs && origin->output == ORIGIN_NONE)
        origin->output = row->row;
    origin->differs |= row->differs;
    return status_ok();
}

struct status origin_end(uint64_t *row, struct origin *origin)
{
    struct status status = end_entry(origin);
    *row = origin->found;
    return status;
}
