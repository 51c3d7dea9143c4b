/* JOB/plan.json: what a job is. It is written once, by `plan`, and read by every `work` and `merge`.
 *
 *     {"format": 1, "version": "0.1.0", "job": "5d3c…", "timestamp": "20261122173000",
 *      "root": "dumps", "directory": "/home/me", "framework": null, "single": false,
 *      "calibration": {"call": 1.04, "element": 0.98, "product": 1.01},
 *      "arguments": ["--profile", "strict"],
 *      "dumps": [
 *       {"path": "step0/rank0/dump.json", "folder": "step0/rank0", "bytes": 91234,
 *        "digest": "…", "calls": 1000, "checked": 1000},
 *       {"path": "step0/rank1/dump.json", "folder": "step0/rank1", "refused": "…"}],
 *      "shards": [
 *       {"dump": 0, "call": 0, "calls": 120, "seconds": 12.5}]}
 *
 * A shard has the calls from its first one, `call` of `dump`, up to the first one of the next shard, and
 * `calls` says how many of them are checked. What -f leaves out of a dump is "left_out": [[first, end], …],
 * positions in the dump. A line per dump and shard, so that grep works on it.
 */
#ifndef PROBE_CLUSTER_PLAN_FILE_H
#define PROBE_CLUSTER_PLAN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/status.h"
#include "formats/dump_slice.h"
#include "runner/cost.h"

enum { PLAN_FORMAT = 1, PLAN_SHARDS_MOST = 1000000 };

struct plan_dump {
    const char *path;    /* below the root; "" when the root is the dump */
    const char *folder;  /* where its files go below the output directory */
    const char *refused; /* why it cannot be checked; or NULL */
    uint64_t bytes, digest;
    size_t calls, checked; /* in the dump, of these to be checked */
    const struct position_range *left_out;
    size_t n_left_out;
};

struct plan_shard {
    size_t dump, call; /* where it begins; it is no dump that was refused */
    size_t calls;      /* that are checked */
    double seconds;    /* that one thread needs, as estimated */
};

struct plan {
    const char *version;          /* of the program */
    const char *id;               /* tells jobs apart: a digest of everything else */
    const char *timestamp;        /* in the names of the files of the whole job */
    const char *root;             /* dump or directory of dumps, as the user named it */
    const char *directory;        /* where the user was, for a root that is a relative name */
    const char *framework;        /* of -f before the command; or NULL */
    bool single;                  /* one dump: its files lie in the output directory itself */
    const char *const *arguments; /* options of run_ut */
    size_t n_arguments;
    struct cost_model model; /* how fast a core was taken to be; not read again */
    struct plan_dump *dumps;
    size_t n_dumps;
    struct plan_shard *shards;
    size_t n_shards;
};

/* Give the plan its id and write it to `path`, durably; it appears when it is whole. */
struct status plan_write(struct plan *plan, struct arena *arena, const char *path);

/* Read a plan. Everything lives in `arena`.
 *
 *   errors  STATUS_BAD_INPUT naming the place: no plan, another format, another version of this program,
 *           shards that are not those of these dumps
 */
struct status plan_read(struct plan *out, struct arena *arena, const char *path,
                        struct file_policy policy);

/* The same from a text; `name` is for messages. */
struct status plan_parse(struct plan *out, struct arena *arena, const char *text, size_t bytes,
                         const char *name);

#endif
