/* The files of one dump, put together from those of its slices: the bytes of a run over the dump alone. */
#ifndef PROBE_CLUSTER_MERGED_DUMP_H
#define PROBE_CLUSTER_MERGED_DUMP_H

#include "cluster/plan_file.h"
#include "cluster/shard_slices.h"
#include "core/new_file.h"
#include "report/summary.h"
#include "results/result_files.h"
#include "results/run_record.h"

struct merged_dump {
    const struct plan *plan;
    size_t dump;
    char *paths[RESULT_FILES]; /* of its files; owned until they are taken */
    struct new_file files[RESULT_FILES];
    struct run_record record; /* of its first slice, as one of the whole dump */
    char *device;             /* owned: what the devices of that slice call themselves; or NULL */
    char core[64];            /* that the last slice was computed on */
    size_t calls;             /* written */
    bool is_open;
};

/* A slice of the dump, done. */
struct done_slice {
    const char *folder; /* where the files of the slice are */
    size_t shard;
    const struct shard_slice *slice;
    struct file_policy policy;
};

/* Begin the files of the dump of a slice in `directory`, which is made. Ends with merged_dump_finish or
 * merged_dump_abandon, also when this fails. */
struct status merged_dump_begin(struct merged_dump *out, const struct plan *plan, size_t dump,
                                const char *directory);

/* Add the rows of the next slice; the summary is told of its calls.
 *
 *   errors  STATUS_BAD_INPUT naming the file: it is of another job or shard, its options differ, it is not
 *           whole
 */
struct status merged_dump_add(struct merged_dump *merged, struct summary *summary,
                              const struct done_slice *done);

/* Give the files their names. They are durable when the whole job has been synced. */
struct status merged_dump_finish(struct merged_dump *merged);

void merged_dump_abandon(struct merged_dump *merged);

#endif
