/* Progress of a run: one line that is redrawn on a terminal (done, failing so far, calls a
 * second, time left, what is waited for), one line per tenth in a log,
 * where what takes only seconds has none.
 */
#ifndef PROBE_REPORT_PROGRESS_H
#define PROBE_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PROGRESS_CALL_BYTES = 256 };

struct progress {
    FILE *out;
    bool enabled, terminal, drawn;
    const char *unit; /* what is counted: "calls" unless set after progress_start */
    bool unjudged;    /* set likewise: what fails is not known while it is counted, and not shown */
    size_t total;     /* calls of the run, those of an earlier part included */
    size_t earlier;   /* calls that were done before */
    size_t done, failing;
    int tenth; /* last one reported in a log */
    double started_s, drawn_s;
    double logged_s;                /* the last line in a log, or the start */
    char call[PROGRESS_CALL_BYTES]; /* whose row is the next to come, "" unknown */
    double waiting_since_s;         /* for that one */
};

void progress_start(struct progress *progress, FILE *out, bool enabled, size_t total,
                    size_t earlier, size_t failing, double now_s);

/* More work than was known: what there is now in all, how much of it was done before, how much of that
 * failed. Time is counted from the first of these, when there is something to do. */
void progress_expect(struct progress *progress, size_t total, size_t earlier, size_t failing,
                     double now_s);

/* One more call is done. */
void progress_count(struct progress *progress, bool failing);

/* The call whose row comes next. It is shown on a terminal, with the seconds when they are more than a
 * few: of a run that seems to stand still one wants to know where. */
void progress_wait_for(struct progress *progress, const char *call, double now_s);

/* Show what has changed; on a terminal at most five times a second. */
void progress_show(struct progress *progress, double now_s);

/* Take the line off the terminal. */
void progress_end(struct progress *progress);

#endif
