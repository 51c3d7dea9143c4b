/* How long work asks whether it shall go on: the command line knows of signals, what works for it does
 * not. */
#ifndef PROBE_CORE_STOP_H
#define PROBE_CORE_STOP_H

#include <stdbool.h>

#include "core/status.h"

/* Who is asked. All zeros: nobody, the work goes on. */
struct stop {
    bool (*is_asked_for)(void *context);
    void *context;
};

/* STATUS_INTERRUPTED when the work shall end. */
static inline struct status stop_check(struct stop stop)
{
    return stop.is_asked_for && stop.is_asked_for(stop.context)
               ? status_error(STATUS_INTERRUPTED, "interrupted")
               : status_ok();
}

#endif
