/* What the files of the dump reader share; not for others.
 *
 *   dump.c       opening, the index, names, duplicates
 *   dump_case.c  the entries of one call -> struct api_case
 *   dump_data.c  recorded tensors
 */
#ifndef PROBE_FORMATS_DUMP_INTERNAL_H
#define PROBE_FORMATS_DUMP_INTERNAL_H

#include <pthread.h>

#include "core/arena.h"
#include "core/file.h"
#include "formats/dump.h"

/* Where the text of an entry's value lies in the file. */
struct dump_span {
    uint64_t offset, bytes; /* bytes == 0: there is no such entry */
};

struct dump_call {
    uint64_t name; /* offset in `names` */
    struct dump_span forward, backward;
};

/* A mapped data file and the arena whose tensors point into it. */
struct dump_mapping {
    struct file_map map;
    const struct arena *owner;
};

/* The data files that are mapped, for all threads. */
struct dump_mappings {
    pthread_mutex_t lock;
    struct dump_mapping *items;
    size_t count, room;
};

struct dump {
    struct file file; /* open until dump_close: cases are read with pread, so that a file that
                         shrinks is an error and no SIGBUS */
    uint64_t bytes, digest;
    struct dump_header header;
    struct arena texts; /* strings of the header */
    struct dump_call *calls;
    size_t count;
    char *names;
    struct file_policy file_policy;

    struct file data_directory;
    struct status data_status;      /* why there is no data directory */
    struct dump_mappings *mappings; /* owned; changes while the dump itself does not */
};

struct status dump_mappings_create(struct dump_mappings **out);
void dump_mappings_release(struct dump_mappings *mappings);

/* Parse the text of the forward or backward entry of `out` into it; the text may go afterwards. */
struct status dump_parse_entry(struct api_case *out, struct arena *arena, const char *text,
                               struct dump_span span, bool backward);

/* Are the calls equal but for statistics and data? dump_filter asks when hashes are equal, so that no
 * collision can lose a call. */
bool dump_same_structure(const struct api_case *a, const struct api_case *b);

/* Find the data directory; called by dump_open. `path` is that of the dump, `recorded` the
 * string of dump_data_dir. */
void dump_find_data(struct dump *dump, const char *path, const char *recorded);

#endif
