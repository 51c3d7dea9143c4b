/* What the live view shows of a run: collected from the judge, our own transport and the server. */
#ifndef PROBE_ONLINE_LIVE_SOURCE_H
#define PROBE_ONLINE_LIVE_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/file.h"
#include "online/judge.h"
#include "online/live_json.h"
#include "online/stream_service.h"

struct live_source {
    struct judge *judge;
    struct stream_service *stream; /* NULL: not served */
    const char *out_path;
    struct file_policy file_policy;
    atomic_size_t connections; /* set by the server's thread */
    atomic_bool is_over;       /* everything is judged and written */
};

/* For live_view_options; `context` is the source. */
struct status live_source_look(struct live_facts *facts, struct arena *arena, void *context);

/* The report page of the result files in the output directory. */
struct status live_source_report(const char *path, void *context);

#endif
