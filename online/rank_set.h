/* The files of all ranks of a run, and how far its sessions have come.
 *
 * One thread appends; others may ask and make durable meanwhile.
 */
#ifndef PROBE_ONLINE_RANK_SET_H
#define PROBE_ONLINE_RANK_SET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/text_table.h"
#include "online/rank_files.h"

/* Ranks that are named, and that come by themselves: whoever sends records says which rank they are of. */
enum { RANKS_MOST = 1024, RANKS_UNNAMED_MOST = 128, RANK_DESCRIPTORS = 9 };

struct rank_set {
    pthread_mutex_t lock;                 /* of everything below */
    char *directory;                      /* owned */
    char timestamp[TIMESTAMP_DIGITS + 1]; /* "" before the first rank has claimed one */
    struct rank_files_options options;
    int64_t *wanted; /* owned; none: all */
    size_t n_wanted;
    struct rank_files *items[RANKS_MOST]; /* owned; stay where they are until the end */
    size_t count;
    struct text_table sessions;
    uint64_t *committed; /* by number of the session */
    size_t capacity;
    bool resumes;
    rank_entry_visitor *visit; /* told of what earlier processes did */
    void *context;
};

struct rank_set_request {
    const char *out_path;
    const char *earlier; /* result file or directory of the run to resume; NULL: a new run */
    const int64_t *ranks;
    size_t n_ranks;
    struct rank_files_options options; /* must outlive the set, with what they point to */
    rank_entry_visitor *visit;         /* of all lines of the journals that stay; or NULL */
    void *context;
};

/* Open the files of the ranks that are named. To be closed also when this fails. */
struct status rank_set_open(struct rank_set *out, const struct rank_set_request *request);
void rank_set_close(struct rank_set *set);

/* Is this rank one of this run? */
bool rank_set_wants(const struct rank_set *set, int64_t rank);

/* Can it have files? STATUS_BAD_INPUT: it would be one too many that nobody named. */
struct status rank_set_admit(struct rank_set *set, int64_t rank);

/* Append the rows of a record of a rank that is admitted, or note that it has none. */
struct status rank_set_append(struct rank_set *set, int64_t rank, const struct rank_entry *entry,
                              const struct case_outcome *outcome, const struct second_rows *second);

/* How many records of a session are noted. */
uint64_t rank_set_committed(struct rank_set *set, const char *session);

/* Make durable what was appended. */
struct status rank_set_sync(struct rank_set *set);

/* The files of a rank; NULL when it has none. They stay. */
const struct rank_files *rank_set_find(struct rank_set *set, int64_t rank);

#endif
