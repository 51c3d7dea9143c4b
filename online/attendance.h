/* Who takes part in a run, and when the run is over.
 *
 * A client is active from its first record until it says that it has stopped or its connection is lost.
 * Who has sent no record counts for nothing: a port scan ends no run and holds none up. The run is over
 * when nobody is active any more and nobody has become so for a while: a moment after a client has
 * stopped, longer while fewer clients than ranks have come, while a damaged frame may come again, and
 * after a loss, behind which may be a process that starts anew.
 */
#ifndef PROBE_ONLINE_ATTENDANCE_H
#define PROBE_ONLINE_ATTENDANCE_H

#include <stdbool.h>
#include <stddef.h>

struct attendance {
    size_t expected;  /* clients: the ranks of the run; 0: any number */
    size_t delivered; /* that have ever sent a record */
    size_t active, stopped, lost;
    size_t damaged;      /* clients with a frame that has to come again */
    double idle_since_s; /* when the last active one went; by clock_seconds */
    bool last_was_lost;
};

/* One client's part in it; all zeros at first. */
struct attendant {
    bool has_delivered, has_stopped, is_damaged;
};

/* It has sent a record. After attendance_lost: it has come back. */
void attendance_deliver(struct attendance *all, struct attendant *one);

/* It has said that no more will come. */
void attendance_stop(struct attendance *all, struct attendant *one, double now_s);

/* Its connection has ended. *was_active: before it said so. */
void attendance_leave(bool *was_active, struct attendance *all, struct attendant *one,
                      double now_s);

/* An earlier process had clients, which may come back; as after a loss, the run is over when none does. */
void attendance_expect_back(struct attendance *all, double now_s);

/* Has it a frame that has to come again? */
void attendance_set_damaged(struct attendance *all, struct attendant *one, bool damaged);

bool attendance_is_over(const struct attendance *all, double now_s);

#endif
