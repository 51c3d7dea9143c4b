/* Counts of clients and the times for which a run without active ones waits. */
#include "online/attendance.h"

static const double stopped_s = 1;    /* all have come, and the last one has stopped */
static const double incomplete_s = 5; /* fewer clients than ranks, or a damaged frame */
static const double lost_s = 10;      /* the last one was lost */

static bool is_active(const struct attendant *one)
{
    return one->has_delivered && !one->has_stopped;
}

void attendance_deliver(struct attendance *all, struct attendant *one)
{
    if (one->has_delivered) return;
    one->has_delivered = true;
    all->delivered++;
    all->active += is_active(one);
}

static void go_idle(struct attendance *all, bool lost, double now_s)
{
    all->active--;
    all->idle_since_s = now_s;
    all->last_was_lost = lost;
}

void attendance_stop(struct attendance *all, struct attendant *one, double now_s)
{
    if (one->has_stopped) return;
    if (is_active(one)) go_idle(all, false, now_s);
    one->has_stopped = true;
    all->stopped += one->has_delivered;
}

void attendance_leave(bool *was_active, struct attendance *all, struct attendant *one, double now_s)
{
    *was_active = is_active(one);
    if (*was_active) {
        go_idle(all, true, now_s);
        all->lost++;
    }
    attendance_set_damaged(all, one, false);
    *one = (struct attendant){ .has_delivered = false };
}

void attendance_expect_back(struct attendance *all, double now_s)
{
    all->delivered++;
    all->idle_since_s = now_s;
    all->last_was_lost = true;
}

void attendance_set_damaged(struct attendance *all, struct attendant *one, bool damaged)
{
    if (damaged && !one->is_damaged) all->damaged++;
    if (!damaged && one->is_damaged) all->damaged--;
    one->is_damaged = damaged;
}

bool attendance_is_over(const struct attendance *all, double now_s)
{
    if (all->active || !all->delivered) return false;
    const bool complete = all->delivered >= all->expected && !all->damaged;
    const double wait_s = all->last_was_lost ? lost_s : complete ? stopped_s : incomplete_s;
    return now_s - all->idle_since_s >= wait_s;
}
