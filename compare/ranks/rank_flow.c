/* The file is written entry by entry, while the entries are looked at; of each the search keeps where its
 * record stands, to read back the few that are reported. */
#include "compare/ranks/rank_flow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare/dumps/columns.h"
#include "compare/dumps/statistics.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/shortest.h"
#include "core/text_pool.h"
#include "core/text_table.h"
#include "formats/json_write.h"

/* ---- names of entries ------------------------------------------------------------------- */

/* Their outputs are what memory held, or copies. */
static const char *const ignored[] = { "Torch.empty", "Torch.fill", "Tensor.__setitem__",
                                       "Tensor.to" };
static const char *const communicating_types[] = { "Distributed", "MintDistributed",
                                                   "communication.comm_func" };
static const char *const communications[] = {
    "send",
    "recv",
    "isend",
    "irecv",
    "send_object_list",
    "recv_object_list",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "all_reduce",
    "reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "_all_gather_base",
    "gather",
    "gather_object",
    "gather_into_tensor",
    "scatter",
    "scatter_object_list",
    "scatter_tensor",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "_reduce_scatter_base",
    "all_to_all",
    "all_to_all_single",
    "all_to_all_v",
    "all_to_all_v_c",
    "all_to_all_single_with_output_shape",
    "barrier",
    "monitored_barrier",
};

/* Does the name begin with these parts? */
static bool begins_with(const char *name, const char *parts)
{
    size_t bytes = strlen(parts);
    return !strncmp(name, parts, bytes) && name[bytes] == '.';
}

/* The third part from the end: what is called. */
static const char *called(char out[128], const char *name)
{
    const char *end = name + strlen(name), *begin = name;
    for (int i = 0; i < 2 && end > name; i++) {
        const char *dot = memrchr(name, '.', (size_t)(end - name));
        end = dot ? dot : name;
    }
    const char *dot = memrchr(name, '.', (size_t)(end - name));
    if (dot) begin = dot + 1;
    (void)snprintf(out, 128, "%.*s", (int)(end - begin), begin);
    return out;
}

static size_t count_parts(const char *name)
{
    size_t parts = 1;
    for (; (name = strchr(name, '.')); name++) parts++;
    return parts;
}

enum entry_kind entry_kind_of(const char *name)
{
    char operation[128];
    bool may_communicate = false;

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (begins_with(name, ignored[i])) return ENTRY_IGNORED;
    if (strstr(name, ".parameters_grad")) return ENTRY_IGNORED;
    for (size_t i = 0; i < sizeof communicating_types / sizeof *communicating_types; i++)
        may_communicate |= begins_with(name, communicating_types[i]);
    (void)called(operation, name);
    for (size_t i = 0; may_communicate && i < sizeof communications / sizeof *communications; i++)
        if (!strcmp(operation, communications[i])) return ENTRY_COMMUNICATES;
    return ENTRY_COMPUTES;
}

/* ---- what differs ----------------------------------------------------------------------- */

struct flow_maker {
    struct rank_flow *flow;
    const struct comparison *c;
    struct text_pool texts;
    struct text_table channels;
    size_t *met; /* by number of the channel: how often it has been met */
    size_t met_room;
    struct column_list columns;
    struct row_cells cells;
    struct csv_buffer text, name; /* what is to be written; scratch */
    struct file file;
    uint64_t written;
};

/* The text of a row's name behind that of its entry, or all of it. */
static const char *suffix_of(const struct flow_maker *maker, const struct dump_row *row)
{
    return dump_text(&maker->c->npu, row->suffix);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), bytes = strlen(end);
    return length >= bytes && !strcmp(text + length - bytes, end);
}

static bool row_differs(const struct flow_maker *maker, uint32_t row, const char *entry)
{
    enum { LIMIT_PERCENT = 50 };
    const struct comparison *c = maker->c;
    const struct dump_row *npu = &c->npu.rows[row], *bench = comparison_bench_row(c, row);
    struct statistic_difference d[ROW_STATISTICS];
    const char *suffix = suffix_of(maker, npu);

    if (npu->state != STATE_OUTPUT || !bench) return false;
    if (strstr(entry, "npu_fusion_attention") &&
        (ends_with(suffix, ".output.4") || ends_with(suffix, ".output.5")))
        return false; /* a seed and an offset */
    if (c->kind == DUMP_MD5) return !checksums_equal(&c->npu, npu, &c->bench, bench);
    statistics_compare(d, &c->npu, npu, &c->bench, bench, false);
    for (int i = 0; i < ROW_STATISTICS; i++)
        if (d[i].relative_cell == STATISTIC_IS_NUMBER && d[i].relative * 100 > LIMIT_PERCENT)
            return true;
    return false;
}

/* ---- what communications meet by -------------------------------------------------------- */

static bool row_text(const char **out, const struct flow_maker *maker, const struct dump_row *row)
{
    struct row_value value = dump_row_statistic(row, STATISTIC_MAX);
    if (value.kind != VALUE_IS_TEXT) return false;
    *out = dump_text(&maker->c->npu, value.text);
    return true;
}

/* The members of the group, as text; "*" where the call names none: all ranks. */
static const char *group_of(const struct flow_maker *maker, const struct dump_entry *entry)
{
    const char *members;
    for (uint32_t i = 0; i < entry->n_rows; i++) {
        const struct dump_row *row = &maker->c->npu.rows[entry->first_row + i];
        const char *dtype = dump_text(&maker->c->npu, row->dtype);
        if (!strcmp(dtype, "torch.ProcessGroup") && row_text(&members, maker, row)) return members;
    }
    return "*";
}

static bool read_rank(long long *rank, const char *text)
{
    char *end;
    *rank = strtoll(text, &end, 10);
    return end > text && !*end;
}

/* The rank at the other end: a keyword argument, else the second argument. False when none is there. */
static bool peer_of(long long *peer, const struct flow_maker *maker, const struct dump_entry *entry)
{
    static const char *const names[] = { ".src", ".dst", ".group_src", ".group_dst" };
    const char *text;
    for (uint32_t i = 0; i < entry->n_rows; i++) {
        const struct dump_row *row = &maker->c->npu.rows[entry->first_row + i];
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (ends_with(suffix_of(maker, row), names[k]) && row_text(&text, maker, row))
                return read_rank(peer, text);
    }
    for (uint32_t i = 0; i < entry->n_rows; i++) {
        const struct dump_row *row = &maker->c->npu.rows[entry->first_row + i];
        struct row_value value = dump_row_statistic(row, STATISTIC_MAX);
        if (!ends_with(suffix_of(maker, row), ".input.1") || value.kind != VALUE_IS_INTEGER)
            continue;
        *peer = value.integer;
        return true;
    }
    return false;
}

/* What is sent by the one is received by the other. */
static const struct {
    const char *operation, *channel;
    bool sends;
} ends[] = {
    { "send", "send", true },
    { "recv", "send", false },
    { "isend", "isend", true },
    { "irecv", "isend", false },
    { "send_object_list", "send_object_list", true },
    { "recv_object_list", "send_object_list", false },
};

/* The name of a channel without its position; false when the call meets nobody that could be told. */
static bool name_channel(char *out, size_t bytes, const struct flow_maker *maker,
                         const struct dump_entry *entry, const char *name)
{
    char operation[128];
    long long own = maker->flow->rank, peer;

    (void)called(operation, name);
    if (!strcmp(operation, "batch_isend_irecv")) return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (strcmp(operation, ends[i].operation) != 0) continue;
        if (!peer_of(&peer, maker, entry)) return false;
        (void)snprintf(out, bytes, "%s %lld %lld", ends[i].channel, ends[i].sends ? own : peer,
                       ends[i].sends ? peer : own);
        return true;
    }
    const char *direction = strrchr(name, '.');
    (void)snprintf(out, bytes, "%s%s %s", operation, direction ? direction : "",
                   group_of(maker, entry));
    return true;
}

/* The channel with the position of this call among those of its rank. */
static struct status channel_of(const char **out, struct flow_maker *maker,
                                const struct dump_entry *entry, const char *name)
{
    char channel[4096];
    uint32_t number;

    *out = NULL;
    if (!name_channel(channel, sizeof channel, maker, entry, name)) return status_ok();
    TRY(text_table_add(&number, NULL, &maker->channels, channel, strlen(channel)));
    TRY(array_make_zeroed_room(&maker->met, &maker->met_room, number, sizeof *maker->met));
    *out = arena_format(&maker->flow->arena, "%s #%zu", channel, maker->met[number]++);
    return *out ? status_ok() : status_no_memory(0);
}

/* ---- the file --------------------------------------------------------------------------- */

static struct status put(struct flow_maker *maker, const char *text)
{
    return csv_append_bytes(&maker->text, text, strlen(text));
}

static struct status put_cell(struct flow_maker *maker, const struct table_cell *cell)
{
    char number[SHORTEST_BYTES + 8];
    switch (cell->kind) {
    case TABLE_NUMBER:
        if (!isfinite(cell->number)) return put(maker, "null");
        (void)shortest_double(number, cell->number);
        return put(maker, number);
    case TABLE_INTEGER:
        (void)snprintf(number, sizeof number, "%lld", (long long)cell->integer);
        return put(maker, number);
    case TABLE_BOOLEAN: return put(maker, cell->boolean ? "true" : "false");
    case TABLE_TEXT: return json_append_string(&maker->text, cell->text.bytes, cell->text.length);
    default: return put(maker, "null");
    }
}

static struct status put_row(struct flow_maker *maker, uint32_t row)
{
    static const char *const states[ROW_STATES] = {
        [STATE_INPUT] = "input",   [STATE_PARAMETERS] = "parameters",
        [STATE_OUTPUT] = "output", [STATE_PARAMETERS_GRAD] = "parameters_grad",
        [STATE_DEBUG] = "debug",
    };
    TRY(row_cells_make(&maker->cells, maker->c, &maker->columns, row));
    TRY(put(maker, "{"));
    for (size_t i = 0; i < maker->columns.count; i++) {
        const char *header = column_header(&maker->columns, i);
        TRY(json_append_string(&maker->text, header, strlen(header)));
        TRY(put(maker, ": "));
        TRY(put_cell(maker, &maker->cells.cell[i]));
        TRY(put(maker, ", "));
    }
    TRY(put(maker, "\"state\": \""));
    TRY(put(maker, states[maker->c->npu.rows[row].state]));
    return put(maker, "\"}");
}

/* Give the text to the file when there is much of it. */
static struct status flush(struct flow_maker *maker, size_t least)
{
    if (maker->text.length < least) return status_ok();
    TRY(file_write_all(&maker->file, maker->text.data, maker->text.length));
    maker->written += maker->text.length;
    csv_buffer_clear(&maker->text);
    return status_ok();
}

static struct status put_entry(struct flow_maker *maker, struct flow_entry *out,
                               const struct dump_entry *entry)
{
    TRY(put(maker, maker->flow->count ? ",\n" : "\n"));
    TRY(json_append_string(&maker->text, out->name, strlen(out->name)));
    TRY(put(maker, ": "));
    out->place = maker->written + maker->text.length;
    TRY(put(maker, out->differs ? "{\"is_same\": false, \"op_items\": ["
                                : "{\"is_same\": true, \"op_items\": ["));
    for (uint32_t i = 0; i < entry->n_rows; i++) {
        if (i) TRY(put(maker, ", "));
        TRY(put_row(maker, entry->first_row + i));
    }
    TRY(put(maker, "]}"));
    out->bytes = maker->written + maker->text.length - out->place;
    return flush(maker, (size_t)1 << 20);
}

static struct status add_entry(struct flow_maker *maker, uint32_t number)
{
    struct rank_flow *flow = maker->flow;
    const struct dump_entry *entry = &maker->c->npu.entries[number];
    size_t length;
    const char *name = dump_entry_name(&maker->c->npu, number, &length);
    struct flow_entry out = { .kind = entry_kind_of(name) };

    if (count_parts(name) < 4) return status_ok();
    for (uint32_t i = 0; i < entry->n_rows; i++)
        out.differs |= row_differs(maker, entry->first_row + i, name);
    out.name = text_pool_copy(&maker->texts, name, length);
    if (!out.name) return status_no_memory(length);
    if (out.kind == ENTRY_COMMUNICATES) TRY(channel_of(&out.channel, maker, entry, name));
    TRY(put_entry(maker, &out, entry));
    TRY(array_make_room(&flow->entries, &flow->room, flow->count, sizeof *flow->entries));
    flow->entries[flow->count++] = out;
    return status_ok();
}

static struct status write_entries(struct flow_maker *maker, const char *part)
{
    TRY(file_create(&maker->file, part));
    TRY(put(maker, "{"));
    for (uint32_t i = 0; i < maker->c->npu.n_entries; i++) TRY(add_entry(maker, i));
    TRY(put(maker, "\n}\n"));
    TRY(flush(maker, 0));
    return file_sync(&maker->file);
}

static struct status write_file(struct flow_maker *maker, const char *path)
{
    const char *part = arena_format(&maker->flow->arena, "%s.%ld.part", path, (long)getpid());

    if (!part) return status_no_memory(0);
    struct status status = write_entries(maker, part);
    struct status closed = file_close(&maker->file);
    if (!status.code) status = closed;
    if (!status.code) status = file_rename(part, path);
    else if (file_exists(part)) (void)file_remove(part);
    return status;
}

struct status rank_flow_make(struct rank_flow *out, const struct comparison *c, int64_t rank,
                             const char *path)
{
    struct flow_maker maker = {
        .flow = out, .c = c, .columns = column_list_make(c, false, TABLE_CSV), .file = FILE_NONE
    };

    *out = (struct rank_flow){ .rank = rank };
    maker.texts.arena = &out->arena;
    out->path = arena_copy_string(&out->arena, path);
    struct status status = out->path ? text_table_create(&maker.channels) : status_no_memory(0);
    if (!status.code) status = write_file(&maker, path);
    text_table_release(&maker.channels);
    memory_release(maker.met);
    row_cells_release(&maker.cells);
    csv_buffer_release(&maker.text);
    csv_buffer_release(&maker.name);
    return status;
}

void rank_flow_release(struct rank_flow *flow)
{
    memory_release(flow->entries);
    arena_release(&flow->arena);
    *flow = (struct rank_flow){ 0 };
}
