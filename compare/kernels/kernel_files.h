/* What kernels of static graphs (MindSpore) left behind: one .npy per input and output, or one
 * statistic.csv, in the lowest folders of a tree that says rank and step:
 *
 *     .../rank_0/{net}/{graph}/{step}     a part of the path contains "rank_"
 *     .../{rank}/{net}/{graph}/{step} or .../{rank}/{graph}/{step}     otherwise
 *
 * A file is {op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}.{input|output}[.n...].{slot}.{format}.npy, or
 * has a name that mapping.csv in its folder translates to such a one.
 */
#ifndef PROBE_COMPARE_KERNELS_KERNEL_FILES_H
#define PROBE_COMPARE_KERNELS_KERNEL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/status.h"
#include "core/warnings.h"

enum kernel_kind { KERNEL_NOTHING, KERNEL_NPY, KERNEL_STATISTIC };

/* A lowest folder. */
struct kernel_folder {
    const char *path;
    int64_t rank, step;
    enum kernel_kind kind;
};

struct kernel_folders {
    struct kernel_folder *items; /* by rank, step and path; free with memory_release */
    size_t count, room;
};

/* Find the lowest folders below `path` whose rank and step are numbers; texts live in `arena`. Links
 * to folders are followed where files are trusted. */
struct status kernel_folders_find(struct kernel_folders *out, struct arena *arena, const char *path,
                                  struct file_policy policy);

enum { KERNEL_STATISTICS = 4 }; /* max, min, mean, l2norm */

/* One input or output of a kernel. */
struct kernel_data {
    const char *key; /* {op_name}.{task_id}.{input|output...}.{slot} */
    uint64_t timestamp;
    size_t number;             /* among those of its key, by timestamp */
    const char *path;          /* of the .npy, or of the statistic.csv */
    const char *name;          /* of the .npy: without folder, translated */
    const char *dtype, *shape; /* of a statistic: as they stand */
    double statistic[KERNEL_STATISTICS];
    bool has_statistic[KERNEL_STATISTICS]; /* there is such a column */
};

struct kernel_list {
    struct kernel_data *items; /* by key and number; free with memory_release */
    size_t count, room;
    size_t ignored; /* .npy files whose name says nothing */
};

/* The data of folders first..first + n, all of a kind other than KERNEL_NOTHING; texts live in `arena`. */
struct status kernel_list_read(struct kernel_list *out, struct arena *arena,
                               const struct kernel_folder *folders, size_t n,
                               struct file_policy policy);

/* The key and timestamp in the name of a file, with ".npy" or without; false when it says nothing. */
bool kernel_name_split(char *key, size_t bytes, uint64_t *timestamp, const char *name);

#endif
