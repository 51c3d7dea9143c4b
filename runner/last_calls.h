/* The last calls of a run, in the order in which threads take them: as they stand in the dump, until what is left
 * would end with one thread at work on a large call and the others idle. Large calls begin first from
 * then on. (A GPT-2-like step whose largest call came last left one of two threads idle for a fifth of
 * the run.) Order changes neither rows nor their order.
 */
#ifndef PROBE_RUNNER_LAST_CALLS_H
#define PROBE_RUNNER_LAST_CALLS_H

#include <stdbool.h>
#include <stddef.h>

enum { LAST_CALLS = 512 };

struct last_calls {
    size_t count, threads;
    double seconds[LAST_CALLS]; /* estimated */
    size_t by_size[LAST_CALLS]; /* numbers of the calls, the largest first */
    bool taken[LAST_CALLS];
    size_t next, largest, n_taken; /* in the order of the dump; in by_size */
    double left_s;                 /* of those that are not taken */
};

/* All zeros has no calls.
 *
 *   seconds  estimated for each of `count` calls, at most LAST_CALLS; finite, 0 and more
 *   threads  that take them
 */
void last_calls_open(struct last_calls *out, const double *seconds, size_t count, size_t threads);

/* Are there calls that nobody has taken? */
bool last_calls_left(const struct last_calls *calls);

/* The number, from 0, of the call to take now. At least one must be left. */
size_t last_calls_take(struct last_calls *calls);

#endif
