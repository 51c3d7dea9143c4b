/* Collects the wanted rows rank by rank and joins them by name, the k-th with the k-th. */
#include "compare/merge/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/merge/merge_config.h"
#include "compare/merge/rank_files.h"
#include "compare/merge/rank_rows.h"
#include "core/arena.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_table.h"
#include "formats/table_file.h"

#define NO_ROW UINT32_MAX
enum { ROWS_BETWEEN_STOPS = 1024 };

/* A row of the merged table. */
struct merged_row {
    const char *name; /* in the arena of the first rank that has it */
    size_t length, api;
    uint32_t next; /* row of the same name, NO_ROW after the last */
};

struct merged_rank {
    uint32_t rank;
    struct rank_rows rows;
    bool *has;        /* by API: is there a row of it? */
    uint32_t *of_row; /* for each merged row that this or an earlier rank has: row of the rank */
    size_t n_of_row;
};

struct merging {
    const struct merge_request *request;
    struct arena arena;
    struct merge_config config;
    struct rank_files files;
    struct merged_columns columns;
    struct merged_rank *ranks;
    size_t n_ranks;
    struct text_table names;
    uint32_t *first,
        *last; /* by number of the name: its first row, and the last one of this rank */
    size_t names_room;
    struct merged_row *rows;
    size_t n_rows, rows_room;
};

/* ---- what to read ----------------------------------------------------------------------- */

static struct status read_config(struct merging *merging)
{
    const struct merge_request *request = merging->request;
    char *text = NULL;
    size_t bytes;

    TRY(file_read_text(&text, &bytes, request->config, request->policy));
    struct status status =
        merge_config_parse(&merging->config, &merging->arena, request->config, text, bytes);
    memory_release(text);
    return status;
}

/* Does the failure concern this file only? */
static bool is_of_file(struct status status)
{
    return status.code == STATUS_BAD_INPUT || status.code == STATUS_IO;
}

/* The columns of the configuration, or those of the first file that has any. */
static struct status choose_columns(struct merging *merging)
{
    const struct merge_request *request = merging->request;
    merging->columns =
        (struct merged_columns){ merging->config.indices, merging->config.n_indices };
    for (size_t i = 0; !merging->columns.count && i < merging->files.count; i++) {
        struct status status = rank_columns(&merging->columns, &merging->arena,
                                            merging->files.items[i].path, request->policy);
        if (status.code && !is_of_file(status)) return status;
    }
    if (merging->columns.count) return status_ok();
    return status_error(STATUS_BAD_INPUT, "no file in %s has columns that can be merged",
                        file_shown(request->input).text);
}

static struct status note_apis(struct merging *merging, struct merged_rank *rank)
{
    size_t n_apis = merging->config.n_apis;
    rank->has = arena_allocate_zeroed(&merging->arena, n_apis, sizeof *rank->has);
    if (!rank->has) return status_no_memory(n_apis);
    for (size_t i = 0; i < rank->rows.count; i++) rank->has[rank->rows.items[i].api] = true;
    return status_ok();
}

/* The ranks that lack an API in one line, whether they are one or thousands. */
static void warn_about_missing(const struct merging *merging, size_t api)
{
    enum { SHOWN = 8 };
    const char *name = merging->config.apis[api];
    char ranks[16 * SHOWN] = "";
    size_t missing = 0, used = 0;

    for (size_t i = 0; i < merging->n_ranks; i++) {
        if (merging->ranks[i].has[api]) continue;
        if (missing++ < SHOWN)
            used += (size_t)snprintf(ranks + used, sizeof ranks - used, "%s%" PRIu32,
                                     used ? ", " : "", merging->ranks[i].rank);
    }
    if (!missing) return;
    if (missing == merging->n_ranks)
        warn(merging->request->warnings, "no rank has a row of %s", name);
    else if (missing > SHOWN)
        warn(merging->request->warnings, "ranks %s and %zu more have no row of %s", ranks,
             missing - SHOWN, name);
    else
        warn(merging->request->warnings, "%s %s %s no row of %s", missing > 1 ? "ranks" : "rank",
             ranks, missing > 1 ? "have" : "has", name);
}

static struct status read_ranks(struct merging *merging)
{
    const struct merge_request *request = merging->request;
    size_t count = merging->files.count;

    merging->ranks = arena_allocate_zeroed(&merging->arena, count, sizeof *merging->ranks);
    if (!merging->ranks) return status_no_memory(count * sizeof *merging->ranks);
    for (size_t i = 0; i < count; i++) {
        struct merged_rank *rank = &merging->ranks[merging->n_ranks];
        rank->rank = merging->files.items[i].rank;
        struct status status = rank_rows_read(&rank->rows, merging->files.items[i].path,
                                              &merging->config, &merging->columns, request->policy,
                                              request->stop);
        if (status.code) {
            rank_rows_release(&rank->rows);
            if (!is_of_file(status)) return status;
            warn(request->warnings, "%s; it is left out", status.text);
            continue;
        }
        merging->n_ranks++;
        TRY(note_apis(merging, rank));
    }
    for (size_t api = 0; merging->n_ranks && api < merging->config.n_apis; api++)
        warn_about_missing(merging, api);
    if (merging->n_ranks) return status_ok();
    return status_error(STATUS_BAD_INPUT, "no file in %s can be merged",
                        file_shown(request->input).text);
}

/* ---- joining ---------------------------------------------------------------------------- */

static struct status reserve_name(struct merging *merging, uint32_t number)
{
    if (number < merging->names_room) return status_ok();
    size_t room = merging->names_room ? 2 * merging->names_room : 256;
    uint32_t *first = memory_resize(merging->first, room * sizeof *first);
    if (!first) return status_no_memory(room * sizeof *first);
    merging->first = first;
    uint32_t *last = memory_resize(merging->last, room * sizeof *last);
    if (!last) return status_no_memory(room * sizeof *last);
    merging->last = last;
    merging->names_room = room;
    return status_ok();
}

static struct status add_row(struct merging *merging, const struct rank_row *row)
{
    TRY(array_make_room(&merging->rows, &merging->rows_room, merging->n_rows,
                        sizeof *merging->rows));
    merging->rows[merging->n_rows++] =
        (struct merged_row){ row->name, row->length, row->api, NO_ROW };
    return status_ok();
}

/* The merged row of the next row of that name of this rank. */
static struct status join_row(uint32_t *out, struct merging *merging, const struct rank_row *row)
{
    uint32_t number, *link;
    bool added;

    TRY(text_table_add(&number, &added, &merging->names, row->name, row->length));
    TRY(reserve_name(merging, number));
    if (added) merging->first[number] = merging->last[number] = NO_ROW;
    uint32_t before = merging->last[number];
    uint32_t here = before == NO_ROW ? merging->first[number] : merging->rows[before].next;
    if (here == NO_ROW) {
        here = (uint32_t)merging->n_rows;
        TRY(add_row(merging, row));
        link = before == NO_ROW ? &merging->first[number] : &merging->rows[before].next;
        *link = here;
    }
    *out = merging->last[number] = here;
    return status_ok();
}

static struct status join_rank(struct merging *merging, struct merged_rank *rank)
{
    size_t count = rank->rows.count;
    uint32_t *joined = arena_allocate_array(&rank->rows.arena, count, sizeof *joined);

    if (!joined) return status_no_memory(count * sizeof *joined);
    for (uint32_t i = 0; i < merging->names.count; i++) merging->last[i] = NO_ROW;
    for (size_t i = 0; i < count; i++) TRY(join_row(&joined[i], merging, &rank->rows.items[i]));
    rank->n_of_row = merging->n_rows;
    rank->of_row = arena_allocate_array(&rank->rows.arena, rank->n_of_row, sizeof *rank->of_row);
    if (!rank->of_row) return status_no_memory(rank->n_of_row * sizeof *rank->of_row);
    for (size_t i = 0; i < rank->n_of_row; i++) rank->of_row[i] = NO_ROW;
    for (size_t i = 0; i < count; i++) rank->of_row[joined[i]] = (uint32_t)i;
    return status_ok();
}

static struct status join(struct merging *merging)
{
    for (size_t i = 0; i < merging->n_ranks; i++) TRY(join_rank(merging, &merging->ranks[i]));
    if (!merging->n_rows)
        return status_error(STATUS_BAD_INPUT, "no file in %s has a row of the APIs in %s",
                            file_shown(merging->request->input).text,
                            file_shown(merging->request->config).text);
    if (merging->n_rows >= TABLE_MAX_ROWS)
        return status_error(STATUS_BAD_INPUT,
                            "%zu rows do not fit into a sheet; name fewer APIs in %s",
                            merging->n_rows, file_shown(merging->request->config).text);
    return status_ok();
}

/* ---- writing ---------------------------------------------------------------------------- */

/* The rows by API, those of one as they came. */
static struct status order_rows(uint32_t **out, struct merging *merging)
{
    size_t n_apis = merging->config.n_apis;
    uint32_t *order = arena_allocate_array(&merging->arena, merging->n_rows, sizeof *order);
    uint32_t *at = arena_allocate_zeroed(&merging->arena, n_apis + 1, sizeof *at);

    if (!order || !at) return status_no_memory(merging->n_rows * sizeof *order);
    for (size_t i = 0; i < merging->n_rows; i++) at[merging->rows[i].api + 1]++;
    for (size_t api = 0; api < n_apis; api++) at[api + 1] += at[api];
    for (size_t i = 0; i < merging->n_rows; i++) order[at[merging->rows[i].api]++] = (uint32_t)i;
    *out = order;
    return status_ok();
}

static struct table_cell value_of(const struct merged_rank *rank, uint32_t row, size_t column)
{
    uint32_t i = row < rank->n_of_row ? rank->of_row[row] : NO_ROW;
    struct table_cell blank = { .kind = TABLE_EMPTY };
    return i == NO_ROW ? blank : rank->rows.items[i].cells[column];
}

static struct status write_header(struct table_file *file, struct table_cell *cells,
                                  struct merging *merging)
{
    cells[0] = table_text("NPU Name", strlen("NPU Name"));
    for (size_t i = 0; i < merging->n_ranks; i++) {
        const char *name =
            arena_format(&merging->arena, "rank%u", (unsigned)merging->ranks[i].rank);
        if (!name) return status_no_memory(0);
        cells[i + 1] = table_text(name, strlen(name));
    }
    return table_file_add_row(file, cells, merging->n_ranks + 1, TABLE_PLAIN);
}

static struct status write_sheet(struct table_file *file, struct merging *merging, size_t column,
                                 const uint32_t *order)
{
    size_t count = merging->n_ranks + 1;
    struct table_cell *cells = arena_allocate_array(&merging->arena, count, sizeof *cells);

    if (!cells) return status_no_memory(count * sizeof *cells);
    TRY(table_file_add_sheet(file, merging->columns.names[column]));
    TRY(write_header(file, cells, merging));
    for (size_t i = 0; i < merging->n_rows; i++) {
        const struct merged_row *row = &merging->rows[order[i]];
        cells[0] = table_text(row->name, row->length);
        for (size_t k = 0; k < merging->n_ranks; k++)
            cells[k + 1] = value_of(&merging->ranks[k], order[i], column);
        TRY(table_file_add_row(file, cells, count, TABLE_PLAIN));
        if (i % ROWS_BETWEEN_STOPS == 0) TRY(stop_check(merging->request->stop));
    }
    return status_ok();
}

static struct status write_book(struct merging *merging)
{
    struct table_file *file = NULL;
    uint32_t *order = NULL;

    TRY(order_rows(&order, merging));
    struct status status = table_file_create(&file, merging->request->output, TABLE_XLSX, 1);
    for (size_t i = 0; !status.code && i < merging->columns.count; i++)
        status = write_sheet(file, merging, i, order);
    if (!status.code) return table_file_finish(file);
    table_file_discard(file);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------- */

static void release(struct merging *merging)
{
    for (size_t i = 0; i < merging->n_ranks; i++) rank_rows_release(&merging->ranks[i].rows);
    text_table_release(&merging->names);
    memory_release(merging->first);
    memory_release(merging->last);
    memory_release(merging->rows);
    arena_release(&merging->arena);
}

static struct status merge(struct merging *merging)
{
    const struct merge_request *request = merging->request;

    TRY(read_config(merging));
    TRY(rank_files_find(&merging->files, &merging->arena, request->input, request->warnings));
    TRY(choose_columns(merging));
    TRY(read_ranks(merging));
    TRY(join(merging));
    return write_book(merging);
}

struct status merge_results(struct merge_counts *out, const struct merge_request *request)
{
    struct merging merging = { .request = request };

    TRY(text_table_create(&merging.names));
    struct status status = merge(&merging);
    *out = (struct merge_counts){ .ranks = merging.n_ranks,
                                  .rows = merging.n_rows,
                                  .columns = merging.columns.count,
                                  .left_out = merging.files.count - merging.n_ranks };
    release(&merging);
    return status;
}
