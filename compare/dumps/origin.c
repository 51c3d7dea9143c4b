/* One walk in the order of the dump. What is inside of a module was recorded before the module, and a
 * forward call before its backward one, so what differs is remembered by name on the way. */
#include "compare/dumps/origin.h"

#include "compare/dumps/judge.h"
#include "core/dotted_name.h"
#include "core/memory.h"

struct walk {
    const struct comparison *c;
    bool *differs;           /* by name of an entry */
    struct text_table above; /* paths of the modules that are around modules that differ */
};

bool row_differs(const struct comparison *c, uint32_t row)
{
    return c->rows[row].level == LEVEL_WARNING || c->rows[row].level == LEVEL_ERROR;
}

/* "Module.h.1" of "Module.h.1.Block.forward.0"; empty for what is no call of a module. */
static struct name_slice module_path(struct name_slice name)
{
    enum { CLASS_DIRECTION_COUNT = 3 };
    bool is_module = name_starts_with(name, "Module.") || name_starts_with(name, "Cell.");
    if (!is_module || name.length >= NAME_BUFFER) return name_slice_of(name.text, 0);
    return name_without_last(name, CLASS_DIRECTION_COUNT);
}

static bool contains_difference(const struct walk *w, struct name_slice name)
{
    struct name_slice path = module_path(name);
    return path.length && text_table_find(&w->above, path.text, path.length) != TEXT_NONE;
}

static bool forward_differs(const struct walk *w, struct name_slice name)
{
    char buffer[NAME_BUFFER];
    size_t length =
        name_direction(name) == DIRECTION_BACKWARD ? name_turn(buffer, name, DIRECTION_FORWARD) : 0;
    uint32_t forward = length ? text_table_find(&w->c->npu.names, buffer, length) : TEXT_NONE;
    return forward != TEXT_NONE && w->differs[forward];
}

/* The first output of an entry that differs while its inputs agree; whether any row differs. */
static uint32_t output_in(const struct comparison *c, const struct dump_entry *entry, bool *differs)
{
    uint32_t output = ROW_NONE;
    bool inputs_agree = true;
    for (uint32_t row = entry->first_row; row < entry->first_row + entry->n_rows; row++) {
        const struct dump_row *npu = &c->npu.rows[row];
        bool bad = row_differs(c, row);
        if (row_is_input(npu) && c->rows[row].level != LEVEL_PASS) inputs_agree = false;
        if (row_is_output(npu) && bad && output == ROW_NONE) output = row;
        *differs |= bad;
    }
    return inputs_agree ? output : ROW_NONE;
}

/* A path that is there has all above it there, too. */
static struct status remember(struct walk *w, uint32_t name_number, struct name_slice name)
{
    bool added = true;
    uint32_t number;
    struct name_slice path = name_without_last(module_path(name), 1);

    w->differs[name_number] = true;
    for (; path.length && added; path = name_without_last(path, 1))
        TRY(text_table_add(&number, &added, &w->above, path.text, path.length));
    return status_ok();
}

static struct status look_at(uint32_t *row, struct walk *w, uint32_t entry)
{
    const struct dump_entry *e = &w->c->npu.entries[entry];
    size_t length;
    const char *text = dump_entry_name(&w->c->npu, entry, &length);
    struct name_slice name = name_slice_of(text, length);
    bool differs = false;
    uint32_t output = output_in(w->c, e, &differs);

    if (output != ROW_NONE && !contains_difference(w, name) && !forward_differs(w, name))
        *row = output;
    return differs ? remember(w, e->name, name) : status_ok();
}

struct status origin_find(uint32_t *row, const struct comparison *c)
{
    struct walk w = { .c = c };
    *row = ROW_NONE;
    TRY(text_table_create(&w.above));
    w.differs = memory_allocate_zeroed((size_t)c->npu.names.count + 1, sizeof *w.differs);
    struct status status = w.differs ? status_ok() : status_no_memory(c->npu.names.count);
    for (uint32_t i = 0; i < c->npu.n_entries && *row == ROW_NONE && !status.code; i++)
        status = look_at(row, &w, i);
    memory_release(w.differs);
    text_table_release(&w.above);
    return status;
}
