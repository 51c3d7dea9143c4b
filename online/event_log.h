/* The log of a server: one line per event, at most so many a second, so that who knocks ten thousand
 * times does not fill a disk. What was left out is counted in a line of its own. */
#ifndef PROBE_ONLINE_EVENT_LOG_H
#define PROBE_ONLINE_EVENT_LOG_H

#include <stdarg.h>
#include <stddef.h>

#include "core/warnings.h"

enum { EVENTS_A_SECOND = 50 };

struct event_log {
    struct warnings out;
    double second_s; /* when the present second began */
    size_t written, left_out;
};

/* Write "<who>: <sentence>"; `who` may be NULL. One thread at a time. */
void event_log_write(struct event_log *log, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void event_log_write_list(struct event_log *log, const char *who, const char *format,
                          va_list arguments) __attribute__((format(printf, 3, 0)));

/* To be called now and then: says what was left out. */
void event_log_tick(struct event_log *log);

#endif
