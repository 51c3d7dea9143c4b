/* What is known of a judge's work at a moment. Nothing here locks: the judge does. */
#ifndef PROBE_ONLINE_JUDGE_LIVE_H
#define PROBE_ONLINE_JUDGE_LIVE_H

#include "online/judge_types.h"
#include "online/rank_files.h"
#include "online/record_queue.h"

/* Steps are numbers that clients send: no more cells are kept than a person could look at, and the totals have all. */
enum { LIVE_LATENCIES = 256, LIVE_SECONDS = 10, LIVE_CELLS_MOST = 16384 };

/* All zeros, with `started_s`, is nothing yet. */
struct judge_live {
    struct judge_totals totals;
    struct judge_cell *cells; /* by rank and step; owned */
    size_t n_cells, capacity, last;
    double latencies[LIVE_LATENCIES];
    size_t n_latencies;                    /* of all time */
    uint64_t per_second[LIVE_SECONDS + 1]; /* records by second, in a ring */
    uint64_t second;
    double started_s;
};

/* A record was committed. */
struct status judge_live_add(struct judge_live *live, const struct queued_record *record,
                             enum verdict verdict, double now_s);

/* One was committed by an earlier process. */
struct status judge_live_add_earlier(struct judge_live *live, int64_t rank,
                                     const struct rank_entry *entry);

/* The totals now. */
void judge_live_totals(struct judge_totals *out, const struct judge_live *live,
                       const struct record_queue *queue, double now_s);

void judge_live_release(struct judge_live *live);

#endif
