/* What others ask of the rows of a dump. */
#include "compare/dumps/dump_rows.h"

#include <stdio.h>

#include "core/memory.h"
#include "core/shortest.h"

void dump_rows_close(struct dump_rows *dump)
{
    if (dump->names.slots) text_table_release(&dump->names);
    if (dump->texts.slots) text_table_release(&dump->texts);
    memory_release(dump->entries);
    memory_release(dump->rows);
    memory_release(dump->places);
    *dump = (struct dump_rows){ 0 };
}

const char *dump_entry_name(const struct dump_rows *dump, uint32_t entry, size_t *length)
{
    return text_table_get(&dump->names, dump->entries[entry].name, length);
}

static struct status append_text(struct csv_buffer *out, const struct dump_rows *dump,
                                 uint32_t text)
{
    size_t length;
    const char *bytes = text_table_get(&dump->texts, text, &length);
    return csv_append_bytes(out, bytes, length);
}

struct status dump_row_append_name(struct csv_buffer *out, const struct dump_rows *dump,
                                   const struct dump_row *row)
{
    size_t length;
    if (!row->own_name) {
        const char *entry = dump_entry_name(dump, row->entry, &length);
        TRY(csv_append_bytes(out, entry, length));
    }
    return append_text(out, dump, row->suffix);
}

struct status dump_row_append_data_name(struct csv_buffer *out, const struct dump_rows *dump,
                                        const struct dump_row *row)
{
    if (row->data_name == TEXT_NONE) return status_ok();
    if (row->data_named_so) TRY(dump_row_append_name(out, dump, row));
    return append_text(out, dump, row->data_name);
}

struct status row_value_append(struct csv_buffer *out, const struct dump_rows *dump,
                               struct row_value value)
{
    char text[SHORTEST_BYTES];

    switch (value.kind) {
    case VALUE_IS_NONE: return csv_append_bytes(out, "None", 4);
    case VALUE_IS_INTEGER:
        return csv_append_bytes(
            out, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value.integer));
    case VALUE_IS_REAL: return csv_append_bytes(out, text, shortest_double(text, value.real));
    case VALUE_IS_BOOLEAN:
        return csv_append_bytes(out, value.boolean ? "True" : "False", value.boolean ? 4 : 5);
    default: return append_text(out, dump, value.text);
    }
}
