/* Records that come as files in a folder which both hosts mount. msprobe's client writes
 *
 *     start_{unix seconds}   when it begins
 *     {name of the call}.pt  per record, in place
 *     end_{unix seconds}     when it has ended
 *
 * and the server reads and removes them. A file that cannot be decoded may still be growing: it is looked
 * at again until it has not changed for five seconds, then it goes to the judge as it is, who says what is
 * wrong with it.
 */
#ifndef PROBE_ONLINE_SHARED_STORAGE_H
#define PROBE_ONLINE_SHARED_STORAGE_H

#include <stdbool.h>

#include "core/file.h"
#include "core/status.h"
#include "online/event_log.h"
#include "online/receive_memory.h"
#include "online/record_sink.h"

struct growing_file;

struct shared_storage {
    const char *path; /* of the folder */
    struct record_sink sink;
    struct receive_memory *memory;
    struct event_log log;
    size_t expected; /* clients: the ranks of the run */
    struct file folder;
    uint64_t sequence;               /* of the next record */
    struct judge_submission pending; /* read, and not taken by the sink yet; body NULL: none */
    char *pending_name;              /* of its file; owned */
    size_t starts, ends;             /* markers */
    int64_t ranks[64];               /* that records had */
    size_t n_ranks;
    double changed_s;             /* when something was last found */
    struct growing_file *growing; /* files that could not be decoded yet; owned */
    uint64_t oversized;
};

/* Open the folder. The members above `folder` have been set. */
struct status shared_storage_open(struct shared_storage *storage);
void shared_storage_close(struct shared_storage *storage);

/* Look into the folder once. *found: something was read; look again soon. *is_full: the sink had no room
 * for the next record, which stays where it is. */
struct status shared_storage_poll(bool *found, bool *is_full, struct shared_storage *storage);

/* Have all clients ended? As many end markers as start markers or, when those of two ranks had the same
 * second and the same name, as ranks; and nothing has come for a while. */
bool shared_storage_is_over(const struct shared_storage *storage, double now_s);

#endif
