/* Tables as CSV. Rows collect in a buffer of a megabyte, because a row is 300 bytes and a system
 * call costs as much as formatting one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/shortest.h"
#include "formats/csv.h"
#include "formats/table_file_internal.h"

enum { WRITE_BYTES = 1 << 20 };

struct csv_state {
    struct csv_buffer text;
};

static void release(struct csv_state *state)
{
    csv_buffer_release(&state->text);
    memory_release(state);
}

static struct status create(struct table_file *file)
{
    struct csv_state *state = memory_allocate_zeroed(1, sizeof *state);
    if (!state) return status_no_memory(sizeof *state);
    struct status status = csv_append_mark(&state->text);
    if (status.code) release(state);
    else file->state = state;
    return status;
}

static struct status add_sheet(struct table_file *file, const char *name)
{
    (void)file, (void)name;
    return status_ok();
}

/* Numbers, and words that are ours: nothing in them needs quotes. */
static struct status append_plain(struct csv_buffer *out, const char *text, size_t length)
{
    TRY(csv_append_bytes(out, text, length));
    return csv_append_bytes(out, ",", 1);
}

static struct status append_cell(struct csv_buffer *out, const struct table_cell *cell)
{
    char text[SHORTEST_BYTES];

    switch (cell->kind) {
    case TABLE_EMPTY: return append_plain(out, "", 0);
    case TABLE_NUMBER: return append_plain(out, text, shortest_double(text, cell->number));
    case TABLE_INTEGER:
        return append_plain(out, text,
                            (size_t)snprintf(text, sizeof text, "%" PRId64, cell->integer));
    case TABLE_BOOLEAN:
        return append_plain(out, cell->boolean ? "True" : "False", cell->boolean ? 4 : 5);
    default: return csv_append_cell(out, cell->text.bytes, cell->text.length);
    }
}

static struct status write_text(const struct table_file *file)
{
    struct csv_state *state = file->state;
    TRY(file_write_all(&file->file.file, state->text.data, state->text.length));
    csv_buffer_clear(&state->text);
    return status_ok();
}

static struct status add_row(struct table_file *file, const struct table_cell *cells, size_t count,
                             enum table_fill fill)
{
    struct csv_state *state = file->state;

    (void)fill;
    for (size_t i = 0; i < count; i++) TRY(append_cell(&state->text, &cells[i]));
    TRY(csv_end_row(&state->text));
    return state->text.length < WRITE_BYTES ? status_ok() : write_text(file);
}

static struct status finish(struct table_file *file)
{
    struct status status = write_text(file);
    release(file->state);
    return status;
}

static void discard(struct table_file *file) { release(file->state); }

const struct table_writer table_csv_writer = {
    .name = "csv",
    .create = create,
    .add_sheet = add_sheet,
    .add_row = add_row,
    .finish = finish,
    .discard = discard,
};
