/* The time in the names of result files: local, YYYYmmddHHMMSS. */
#ifndef PROBE_CORE_TIMESTAMP_H
#define PROBE_CORE_TIMESTAMP_H

#include <time.h>

#include "core/status.h"

enum { TIMESTAMP_DIGITS = 14 };

struct timestamp {
    char text[TIMESTAMP_DIGITS + 1];
};

/* STATUS_IO when the local time is not known. */
struct status timestamp_of(struct timestamp *out, time_t when);

#endif
