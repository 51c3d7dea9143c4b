/* Counts by rank and step, the calls worth a look, and how fast it goes. */
#include "online/judge_live.h"

#include <stdio.h>
#include <string.h>

#include "core/growing.h"
#include "core/memory.h"

/* ---- cells -------------------------------------------------------------------------------- */

static int order(const struct judge_cell *cell, int64_t rank, int64_t step)
{
    if (cell->rank != rank) return cell->rank < rank ? -1 : 1;
    return cell->step == step ? 0 : cell->step < step ? -1 : 1;
}

/* The first cell that is not before this rank and step. */
static size_t find_place(const struct judge_live *live, int64_t rank, int64_t step)
{
    size_t low = 0, high = live->n_cells;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order(&live->cells[middle], rank, step) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static struct status count_in_cell(struct judge_live *live, int64_t rank, int64_t step,
                                   enum verdict verdict)
{
    size_t at = live->last;
    live->totals.calls[verdict]++;
    if (at >= live->n_cells || order(&live->cells[at], rank, step))
        at = find_place(live, rank, step);
    if (at == live->n_cells || order(&live->cells[at], rank, step)) {
        if (live->n_cells == LIVE_CELLS_MOST) return status_ok();
        TRY(array_make_room(&live->cells, &live->capacity, live->n_cells, sizeof *live->cells));
        memmove(&live->cells[at + 1], &live->cells[at], (live->n_cells - at) * sizeof *live->cells);
        live->cells[at] = (struct judge_cell){ .rank = rank, .step = step };
        live->n_cells++;
    }
    live->cells[at].calls[verdict]++;
    live->last = at;
    return status_ok();
}

/* ---- calls worth a look ------------------------------------------------------------------- */

static bool is_bad(enum verdict verdict)
{
    return verdict == VERDICT_ERROR || verdict == VERDICT_WARNING;
}

static void note_call(struct judge_call *out, const struct queued_record *record,
                      const struct row_note *note)
{
    *out = (struct judge_call){ .is_set = true,
                                .verdict = note->verdict,
                                .rank = record->rank,
                                .step = record->step,
                                .sequence = record->submission.origin.sequence,
                                .excess = note->excess };
    (void)snprintf(out->name, sizeof out->name, "%s", note->name);
    (void)snprintf(out->sentence, sizeof out->sentence, "%s", note->sentence);
    text_tidy(out->name);
    text_tidy(out->sentence);
}

static bool is_worse(const struct row_note *note, const struct judge_call *call)
{
    if (!call->is_set) return true;
    if (note->verdict != call->verdict) return note->verdict == VERDICT_ERROR;
    return note->excess > call->excess;
}

static void note_rows(struct judge_totals *totals, const struct queued_record *record)
{
    for (size_t i = 0; i < record->outcome.n_notes; i++) {
        const struct row_note *note = &record->outcome.notes[i];
        if (!is_bad(note->verdict)) continue;
        if (!totals->first_bad.is_set) note_call(&totals->first_bad, record, note);
        if (is_worse(note, &totals->worst)) note_call(&totals->worst, record, note);
    }
}

/* ---- time ----------------------------------------------------------------------------------- */

static void count_in_second(struct judge_live *live, double now_s)
{
    uint64_t second = (uint64_t)(now_s - live->started_s);
    if (second - live->second > LIVE_SECONDS) {
        memset(live->per_second, 0, sizeof live->per_second);
        live->second = second;
    }
    while (live->second < second) live->per_second[++live->second % (LIVE_SECONDS + 1)] = 0;
    live->per_second[second % (LIVE_SECONDS + 1)]++;
}

/* Over the whole seconds before this one that are remembered. */
static double rate_of(const struct judge_live *live, double now_s)
{
    uint64_t now = (uint64_t)(now_s - live->started_s), sum = 0, seconds = 0;
    for (uint64_t s = now > LIVE_SECONDS ? now - LIVE_SECONDS : 0; s <= now; s++) {
        bool remembered = s <= live->second && live->second - s <= LIVE_SECONDS;
        if (remembered) sum += live->per_second[s % (LIVE_SECONDS + 1)];
        seconds++;
    }
    double elapsed = now_s - live->started_s;
    double window = elapsed < (double)seconds ? elapsed
                                              : (double)seconds - 1 + elapsed - (double)now;
    return window > 0 ? (double)sum / window : 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

struct status judge_live_add(struct judge_live *live, const struct queued_record *record,
                             enum verdict verdict, double now_s)
{
    struct judge_totals *totals = &live->totals;
    uint64_t *counts[] = { [RECORD_JUDGED] = &totals->judged,
                           [RECORD_FILTERED] = &totals->filtered,
                           [RECORD_REFUSED] = &totals->refused };
    ++*counts[record->fate];
    live->latencies[live->n_latencies++ % LIVE_LATENCIES] = now_s - record->since_s;
    count_in_second(live, now_s);
    if (record->fate != RECORD_JUDGED) return status_ok();
    note_rows(totals, record);
    return count_in_cell(live, record->rank, record->step, verdict);
}

struct status judge_live_add_earlier(struct judge_live *live, int64_t rank,
                                     const struct rank_entry *entry)
{
    live->totals.submitted++;
    if (entry->verdict == VERDICT_BLANK) {
        live->totals.filtered++;
        return status_ok();
    }
    live->totals.judged++;
    return count_in_cell(live, rank, entry->step, entry->verdict);
}

void judge_live_totals(struct judge_totals *out, const struct judge_live *live,
                       const struct record_queue *queue, double now_s)
{
    size_t count = live->n_latencies < LIVE_LATENCIES ? live->n_latencies : LIVE_LATENCIES;
    *out = live->totals;
    out->waiting = queue->count;
    out->lag_s = queue->first ? now_s - queue->first->since_s : 0;
    out->rate = rate_of(live, now_s);
    out->running_s = now_s - live->started_s;
    for (size_t i = 0; i < count; i++) {
        out->mean_s += live->latencies[i] / (double)count;
        if (live->latencies[i] > out->worst_s) out->worst_s = live->latencies[i];
    }
}

void judge_live_release(struct judge_live *live) { memory_release(live->cells); }
