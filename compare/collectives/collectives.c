/* The walk over steps: the dumps of all ranks of a step are open at once, the tensors of one meeting mapped at a time. */
#include "compare/collectives/collectives.h"

#include <stdio.h>
#include <string.h>

#include "compare/collectives/meeting_check.h"
#include "core/memory.h"

static const char *const columns[] = {
    "Step",          "Rank",          "API Name",           "Group",  "Members",
    "Reduction",     "Dtype",         "Elements",           "Wrong",  "Unjudged",
    "Max Abs Error", "Allowed There", "Error over Allowed", "Status", "Message",
};
enum { COLUMNS = sizeof columns / sizeof *columns };

struct checking {
    const struct collectives_request *request;
    struct collectives_counts *counts;
    struct table_file *table;
    struct arena arena; /* of the meeting at hand */
};

/* ---- rows ----------------------------------------------------------------------------------- */

static struct table_cell text_cell(const char *text) { return table_text(text, strlen(text)); }

static struct table_cell number_cell(double number)
{
    struct table_cell cell = { .kind = TABLE_NUMBER };
    cell.number = number;
    return cell;
}

static struct table_cell integer_cell(int64_t integer)
{
    struct table_cell cell = { .kind = TABLE_INTEGER };
    cell.integer = integer;
    return cell;
}

static struct status write_header(struct table_file *table)
{
    struct table_cell cells[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) cells[i] = text_cell(columns[i]);
    TRY(table_file_add_sheet(table, "collectives"));
    return table_file_add_row(table, cells, COLUMNS, TABLE_PLAIN);
}

static void tell_row(const struct checking *c, int64_t step, const struct meeting_row *row)
{
    char line[MEETING_MESSAGE_BYTES + 700], place[32] = "";
    if (row->verdict == VERDICT_PASS || !c->request->tell) return;
    if (step >= 0) (void)snprintf(place, sizeof place, "step %lld, ", (long long)step);
    (void)snprintf(line, sizeof line, "%-7s %srank %lld, %s: %s", verdict_name(row->verdict), place,
                   (long long)row->rank, file_shown(row->name).text, row->message);
    c->request->tell(c->request->context, line);
}

static struct status write_row(struct checking *c, int64_t step, const struct meeting_row *row)
{
    bool judged = row->dtype != DT_NONE && row->verdict != VERDICT_SKIP;
    const struct table_cell empty = { .kind = TABLE_EMPTY };
    const struct table_cell cells[COLUMNS] = {
        step < 0 ? empty : integer_cell(step),
        integer_cell(row->rank),
        text_cell(row->name),
        text_cell(row->group),
        row->members ? integer_cell((int64_t)row->members) : empty,
        text_cell(reduction_name(row->reduction)),
        row->dtype == DT_NONE ? empty : text_cell(dtype_info(row->dtype)->name),
        judged ? integer_cell((int64_t)row->elements) : empty,
        judged ? integer_cell((int64_t)row->error.wrong) : empty,
        judged ? integer_cell((int64_t)row->error.unjudged) : empty,
        judged ? number_cell(row->error.error) : empty,
        judged ? number_cell(row->error.allowed) : empty,
        judged ? number_cell(row->error.quotient) : empty,
        text_cell(verdict_name(row->verdict)),
        text_cell(row->message),
    };
    enum table_fill fill = row->verdict == VERDICT_ERROR     ? TABLE_RED
                           : row->verdict == VERDICT_WARNING ? TABLE_YELLOW
                                                             : TABLE_PLAIN;
    c->counts->verdicts[row->verdict]++;
    tell_row(c, step, row);
    return table_file_add_row(c->table, cells, COLUMNS, fill);
}

/* ---- a step --------------------------------------------------------------------------------- */

static struct status check_meetings(struct checking *c, int64_t step, const struct rank_dump *ranks,
                                    size_t n_ranks, const struct meetings *meetings)
{
    for (size_t at = 0; at < meetings->count;) {
        size_t calls = meeting_size(meetings, at), n_rows;
        struct meeting_row *rows;
        TRY(stop_check(c->request->stop));
        arena_reset(&c->arena);
        struct status status =
            meeting_check(&rows, &n_rows, &c->arena, ranks, n_ranks, &meetings->items[at], calls);
        for (size_t i = 0; !status.code && i < n_rows; i++) status = write_row(c, step, &rows[i]);
        for (size_t r = 0; r < n_ranks; r++) dump_release_tensors(ranks[r].dump, &c->arena);
        TRY(status);
        c->counts->meetings++;
        at += calls;
    }
    return status_ok();
}

static struct status open_ranks(struct rank_dump *ranks, size_t *n_ranks, const struct checking *c,
                                const struct dump_place *places, size_t n_places)
{
    for (size_t i = 0; i < n_places; i++) {
        if (places[i].rank < 0)
            return status_error(STATUS_BAD_INPUT,
                                "'%s' is in no folder of a rank (rank0, rank1, ...)",
                                file_shown(places[i].path).text);
        if (i && places[i].rank == places[i - 1].rank)
            return status_error(STATUS_BAD_INPUT,
                                "rank %lld has two dumps of one step: '%s' and '%s'",
                                (long long)places[i].rank, file_shown(places[i - 1].path).text,
                                file_shown(places[i].path).text);
        TRY(dump_open(&ranks[i].dump, places[i].path, c->request->policy));
        ranks[i].rank = places[i].rank;
        ++*n_ranks;
    }
    return status_ok();
}

static struct status check_step(struct checking *c, const struct dump_place *places,
                                size_t n_places)
{
    struct rank_dump *ranks = memory_allocate_zeroed(n_places, sizeof *ranks);
    struct meetings meetings = { .items = NULL };
    size_t n_ranks = 0;

    if (!ranks) return status_no_memory(n_places * sizeof *ranks);
    struct status status = open_ranks(ranks, &n_ranks, c, places, n_places);
    if (!status.code) status = meetings_find(&meetings, ranks, n_ranks);
    if (!status.code) status = check_meetings(c, places->step, ranks, n_ranks, &meetings);
    meetings_release(&meetings);
    for (size_t i = 0; i < n_ranks; i++) dump_close(ranks[i].dump);
    memory_release(ranks);
    c->counts->steps++;
    if (n_ranks > c->counts->ranks) c->counts->ranks = n_ranks;
    return status;
}

/* ---- all ------------------------------------------------------------------------------------ */

static struct status check_steps(struct checking *c)
{
    const struct dump_tree *tree = c->request->tree;
    TRY(write_header(c->table));
    for (size_t first = 0, end; first < tree->count; first = end) {
        end = first + 1;
        while (end < tree->count && tree->items[end].step == tree->items[first].step) end++;
        TRY(check_step(c, &tree->items[first], end - first));
    }
    return status_ok();
}

struct status collectives_check(struct collectives_counts *counts,
                                const struct collectives_request *request)
{
    struct checking c = { .request = request, .counts = counts };
    *counts = (struct collectives_counts){ 0 };
    TRY(table_file_create(&c.table, request->table, request->format, 1));
    struct status status = check_steps(&c);
    arena_release(&c.arena);
    if (status.code) table_file_discard(c.table);
    else status = table_file_finish(c.table);
    return status;
}
