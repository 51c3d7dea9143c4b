/* The clock that durations are measured by. */
#ifndef PROBE_CORE_CLOCK_H
#define PROBE_CORE_CLOCK_H

/* Seconds since some moment before the program started. Never goes back, whatever is done to the
 * time of day. */
double clock_seconds(void);

/* Seconds that this thread has computed: other processes of a busy machine do not count. */
double clock_thread_seconds(void);

#endif
