/* What bounds a search, who is told of it, and why it ended. */
#ifndef PROBE_SHRINK_LIMITS_H
#define PROBE_SHRINK_LIMITS_H

#include <stddef.h>

struct shrink_limits {
    size_t most_calls; /* of the device */
    size_t repeat;     /* tries of each candidate, for kernels that fail now and then; at least 1 */
    double time_s;
};

/* Who is told how it goes, after every call of the device. */
struct shrink_news {
    void (*tell)(void *context, size_t calls, double elapsed_s, const char *shapes);
    void *context;
};

/* Why the search ended. */
enum shrink_end {
    SHRINK_DONE, /* nothing more can be taken away */
    SHRINK_CALLS,
    SHRINK_TIME,
    SHRINK_INTERRUPTED
};

#endif
