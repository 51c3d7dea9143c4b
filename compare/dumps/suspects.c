/* Counts of rows, the first that differs, and what has no partner. */
#include "compare/dumps/suspects.h"

#include "compare/dumps/judge.h"
#include "core/memory.h"
#include "core/nearest_name.h"
#include "results/origin.h"

/* Names that are looked through for the nearest one; more would make a dump of another model slow to
 * report. */
enum { CANDIDATES_MAX = 512 };

static bool row_differs(const struct comparison *c, uint32_t row)
{
    return c->rows[row].level == LEVEL_WARNING || c->rows[row].level == LEVEL_ERROR;
}

static uint32_t first_row_that_differs(const struct comparison *c)
{
    for (uint32_t row = 0; row < c->npu.n_rows; row++)
        if (row_differs(c, row)) return row;
    return ROW_NONE;
}

static uint32_t first_row_not_judged(const struct comparison *c)
{
    for (uint32_t row = 0; row < c->npu.n_rows; row++)
        if (c->rows[row].level == LEVEL_NOT_JUDGED) return row;
    return ROW_NONE;
}

static struct status add_to_origin(struct origin *origin, const struct comparison *c, uint32_t row)
{
    const struct dump_row *npu = &c->npu.rows[row];
    size_t length;
    const char *entry = dump_entry_name(&c->npu, npu->entry, &length);
    const struct origin_row next = {
        .entry = name_slice_of(entry, length),
        .role = row_is_input(npu)    ? ORIGIN_INPUT
                : row_is_output(npu) ? ORIGIN_OUTPUT
                                     : ORIGIN_OTHER,
        .agrees = c->rows[row].level == LEVEL_PASS,
        .differs = row_differs(c, row),
        .row = row,
    };
    return origin_add(origin, &next);
}

static struct status find_origin(uint32_t *row, const struct comparison *c)
{
    struct origin origin;
    uint64_t found = ORIGIN_NONE;
    struct status status = origin_start(&origin);
    for (uint32_t i = 0; i < c->npu.n_rows && !status.code; i++)
        status = add_to_origin(&origin, c, i);
    if (!status.code) status = origin_end(&found, &origin);
    *row = found == ORIGIN_NONE ? ROW_NONE : (uint32_t)found;
    origin_release(&origin);
    return status;
}

/* ---- entries without a partner ---------------------------------------------------------- */

static bool entry_is_free(const struct comparison *c, const struct dump_entry *entry, bool of_npu)
{
    for (uint32_t row = entry->first_row; row < entry->first_row + entry->n_rows; row++)
        if (of_npu ? c->pairing.bench_of[row] != ROW_NONE : c->pairing.bench_taken[row])
            return false;
    return entry->n_rows > 0;
}

/* The free entries of a side, up to CANDIDATES_MAX, and how many there are. */
struct free_entries {
    uint32_t entry[CANDIDATES_MAX];
    const char *name[CANDIDATES_MAX];
    size_t count;
    uint32_t total;
};

static void list_free(struct free_entries *out, const struct comparison *c, bool of_npu)
{
    const struct dump_rows *dump = of_npu ? &c->npu : &c->bench;
    for (uint32_t i = 0; i < dump->n_entries; i++) {
        if (!entry_is_free(c, &dump->entries[i], of_npu)) continue;
        out->total++;
        if (out->count == CANDIDATES_MAX) continue;
        out->entry[out->count] = i;
        out->name[out->count++] = dump_entry_name(dump, i, NULL);
    }
}

static uint32_t name_nearest(struct unmatched_entry *out, const struct free_entries *from,
                             const struct free_entries *among)
{
    uint32_t n = 0;
    for (size_t i = 0; i < from->count && n < UNMATCHED_SHOWN; i++) {
        const char *name = near_name(from->name[i], among->name, among->count);
        out[n] = (struct unmatched_entry){ from->entry[i], ROW_NONE };
        for (size_t k = 0; k < among->count; k++)
            if (among->name[k] == name) out[n].nearest = among->entry[k];
        n++;
    }
    return n;
}

struct status suspects_find(struct suspects *out, const struct comparison *c)
{
    uint32_t origin;
    TRY(find_origin(&origin, c));
    struct free_entries *lists = memory_allocate_zeroed(2, sizeof *lists);
    if (!lists) return status_no_memory(2 * sizeof *lists);
    *out = (struct suspects){ .bench_only = c->pairing.n_bench_only,
                              .first_row = first_row_that_differs(c),
                              .first_not_judged = first_row_not_judged(c),
                              .origin = origin };
    for (uint32_t row = 0; row < c->npu.n_rows; row++) {
        out->levels[c->rows[row].level]++;
        out->unreadable += c->tensors && c->tensors[row].detail;
    }
    list_free(&lists[0], c, true);
    list_free(&lists[1], c, false);
    out->n_npu = name_nearest(out->npu, &lists[0], &lists[1]);
    out->n_bench = name_nearest(out->bench, &lists[1], &lists[0]);
    out->npu_total = lists[0].total;
    out->bench_total = lists[1].total;
    memory_release(lists);
    return status_ok();
}
