/* One meeting judged: each member's result against what all members gave.
 */
#ifndef PROBE_COMPARE_COLLECTIVES_MEETING_CHECK_H
#define PROBE_COMPARE_COLLECTIVES_MEETING_CHECK_H

#include "compare/collectives/meetings.h"
#include "standards/judged.h"

enum { MEETING_MESSAGE_BYTES = 600 };

/* What is said of one rank's call. */
struct meeting_row {
    int64_t rank;
    const char *name;  /* of the call */
    const char *group; /* identifier; "" of the default group */
    size_t members;    /* of the group */
    enum reduction reduction;
    enum dtype dtype; /* DT_NONE, and no numbers, of a SKIP */
    size_t elements;
    struct reduction_error error;
    enum verdict verdict;
    char message[MEETING_MESSAGE_BYTES];
};

/* Judge a meeting.
 *
 *   rows    one for each call that receives something; `n_rows` of them, in `arena`. Names live as long as the dumps
 *   ranks   all dumps of the step, which is who belongs to the default group
 *   calls   of the meeting, by rank
 *   arena   also holds what is read meanwhile
 *   errors  what ends the whole work; what a dump lacks is a SKIP row
 */
struct status meeting_check(struct meeting_row **rows, size_t *n_rows, struct arena *arena,
                            const struct rank_dump *ranks, size_t n_ranks,
                            const struct attendance *calls, size_t n_calls);

#endif
