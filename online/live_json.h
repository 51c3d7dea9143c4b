/* What a run is doing, as the live page reads it: JSON, once a second.
 *
 * A run may have thousands of steps on hundreds of ranks. Sent are the sums of each rank, the cells of the last
 * steps, and those of the first steps with warnings and errors, so that the answer stays small.
 */
#ifndef PROBE_ONLINE_LIVE_JSON_H
#define PROBE_ONLINE_LIVE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/text_out.h"
#include "online/judge.h"
#include "online/stream_session.h"

enum { LIVE_LAST_STEPS = 24, LIVE_BAD_STEPS = 24 };

struct live_facts {
    struct judge_totals totals;
    const struct judge_cell *cells; /* in the order of ranks, then steps */
    size_t n_cells;
    const struct stream_client_progress *clients; /* of our own transport */
    size_t n_clients;
    struct stream_store_progress store;
    size_t connections;  /* of all kinds */
    const char *trouble; /* why nothing can be stored or written now; "" when all is well */
    const char *place;   /* where the result files are */
    bool is_over;
};

/* Append the JSON text of the facts. */
void live_json_write(struct text_out *out, const struct live_facts *facts);

#endif
