/* Large work of one thread, divided into parts that other threads take while they have nothing else to do.
 *
 * The parts follow from the work alone, never from who helps: results are the same bits for any number of threads. The
 * thread that has the work does what nobody takes. It waits for nothing but parts that are being done, and whoever
 * does one never waits for the work of others, so there is no deadlock, whatever is nested. A team is a value of those
 * who own the threads; work is told of it through a struct help.
 */
#ifndef PROBE_CORE_PARALLEL_H
#define PROBE_CORE_PARALLEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"

struct shared_work;

enum { TEAM_SPARES_MAX = 64 };

/* Threads that help each other: those that come to team_help, and spare ones of the team's own, started when there is
 * work and nobody waits for it. */
struct team {
    pthread_mutex_t mutex;
    pthread_cond_t changed, done;
    struct shared_work *first, **end; /* work with parts that nobody has taken, the oldest first */
    size_t idle;                      /* threads that wait in team_help */
    size_t room;                      /* most bytes that a part may take in the arena of a helper */
    size_t spares, spares_started;
    pthread_t spare[TEAM_SPARES_MAX];
    void (*leave)(void); /* what a spare thread does last, or NULL */
    bool closing;
};

/* An empty team. It must stay where it is.
 *
 *   spares  threads of its own, at most TEAM_SPARES_MAX
 */
void team_open(struct team *team, size_t spares, size_t room, void (*leave)(void));

/* Nobody else uses it any more. */
void team_close(struct team *team);

/* Take parts of others' work, and wait for such, as long as the caller has to wait for something else.
 *
 *   scratch  an empty arena of the caller, for the room that parts need; empty afterwards
 *   waits    asked before each part, and again after team_wake, under the lock of the team: it may take other locks
 */
void team_help(struct team *team, struct arena *scratch, bool (*waits)(void *context),
               void *context);

/* What some thread of the team waits for may have come. Not to be called with a lock that a `waits` takes. */
void team_wake(struct team *team);

/* Who helps with the work of a thread, and how much of it was in parts so far. */
struct help {
    struct team *team;      /* NULL: nobody */
    double parts_s;         /* seconds of processors that all parts took, where there were some, */
    double longest_parts_s; /* and the longest part of each work together */
};

struct parallel {
    size_t parts;
    size_t scratch_bytes; /* room for a part, uninitialised and aligned to 64; 0: it needs none */
    struct status (*part)(void *context, size_t number, void *scratch);
    void *context;
};

/* Do all parts, each once, in any order and several at a time.
 *
 *   help     or NULL: nobody helps
 *   arena    of the caller, for its own scratch; NULL where there is none
 *   errors   STATUS_NO_MEMORY for the scratch, with nothing done; the failure of the first part that fails, and then
 *            not all parts behind it were done: the same failure for any number of threads
 */
struct status parallel_run(struct help *help, struct arena *arena, const struct parallel *work);

/* Elements 0 .. n - 1, some thousands in each part: `some` does `count` of them from `start` on, a multiple of
 * 4096. */
void parallel_elements(struct help *help, size_t n,
                       void (*some)(void *context, size_t start, size_t count), void *context);

/* Lines 0 .. count - 1 of `length` elements each, as many in each part as have some thousands. */
struct parallel_lines {
    size_t count, length;
    size_t scratch_bytes; /* room for a part, as in struct parallel */
    void (*some)(void *context, size_t start, size_t count, void *scratch);
    void *context;
};

/* Do all lines; errors as parallel_run. */
struct status parallel_lines_run(struct help *help, struct arena *arena,
                                 const struct parallel_lines *work);

#endif
