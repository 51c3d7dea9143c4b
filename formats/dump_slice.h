/* A part of the calls of a dump: what one shard of a job has of it (cluster/). */
#ifndef PROBE_FORMATS_DUMP_SLICE_H
#define PROBE_FORMATS_DUMP_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls by their positions in the dump, from `first` up to the one before `end`. */
struct position_range {
    size_t first, end;
};

struct dump_slice {
    struct position_range calls;
    const struct position_range
        *left_out; /* ascending: duplicates that a whole job leaves out (-f) */
    size_t n_left_out;
    uint64_t digest;       /* that the dump must have */
    const char *told_path; /* of the dump, as commands in the results name it */
};

/* Of `count` flags, one per call of the dump, leave those that the slice has. */
void dump_slice_keep(bool *keep, size_t count, const struct dump_slice *slice);

#endif
