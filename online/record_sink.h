/* Where received records go: the judge, a recording before it, or what a test puts there. */
#ifndef PROBE_ONLINE_RECORD_SINK_H
#define PROBE_ONLINE_RECORD_SINK_H

#include "online/judge.h"

struct record_sink {
    /* A record has come, before it is submitted for the first time. NULL: nobody wants to know. */
    struct status (*arrived)(void *context, const struct judge_submission *record);
    /* As judge_submit. */
    struct status (*submit)(bool *taken, void *context, const struct judge_submission *record);
    void *context;
};

#endif
