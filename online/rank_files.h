/* The files of one rank, and the journal that says how far they can be trusted.
 *
 * accuracy_checking_records_{ts}_rank{r}.jsonl has a line for each record whose rows are written (or that has none),
 * with the sizes of the other files behind them:
 *
 *     {"result": 113, "details": 421, "evidence": 0}
 *     {"session": "5b1f...", "sequence": 0, "step": 0, "name": "Torch.abs.0", "verdict": "pass", "result": 140, ...}
 *
 * The line is written last. A process that is killed leaves at most one group of rows without its line; going
 * on cuts it off, and the record is judged again if it is sent again. Names repeat from step to step, so
 * the rows alone could not tell which of them are whole.
 */
#ifndef PROBE_ONLINE_RANK_FILES_H
#define PROBE_ONLINE_RANK_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"
#include "online/second_device.h"
#include "results/outcome.h"
#include "results/result_files.h"

enum {
    RANK_FILE_RESULT,
    RANK_FILE_DETAILS,
    RANK_FILE_EVIDENCE,
    RANK_FILES_OWN,
    /* Of a run with a second device (online/second_device.h). */
    RANK_FILE_TWO_WAY_RESULT = RANK_FILES_OWN,
    RANK_FILE_TWO_WAY_DETAILS,
    RANK_FILE_THREE_WAY_RESULT,
    RANK_FILE_THREE_WAY_DETAILS,
    RANK_FILES_ALL
};

struct rank_files {
    int64_t rank;
    struct result_files files;
    struct file journal;
    char *journal_path; /* owned */
    int count;          /* RANK_FILES_OWN or RANK_FILES_ALL */
    struct file second[RANK_FILES_ALL - RANK_FILES_OWN];
    uint64_t sizes[RANK_FILES_ALL]; /* up to the last whole group */
    uint64_t journal_size;
    bool torn; /* a group may have been written in part, and is to be cut off first */
};
#define RANK_FILES_NONE                               \
    ((struct rank_files){ .files = RESULT_FILES_NONE, \
                          .journal = FILE_NONE,       \
                          .second = { FILE_NONE, FILE_NONE, FILE_NONE, FILE_NONE } })

/* One line of the journal. */
struct rank_entry {
    const char *session; /* NULL: none that has a name */
    uint64_t sequence;
    int64_t step;
    const char *name;     /* of the call; NULL when it could not be told */
    enum verdict verdict; /* VERDICT_BLANK: no rows */
};

/* What is needed to open the files of a rank. */
struct rank_files_options {
    const struct run_record *record;
    const struct row_layout *layout;
    enum header_language language;
    struct file_policy policy;
    bool has_second; /* the files of a second device too */
};

/* New files. To be closed also when this fails. */
struct status rank_files_create(struct rank_files *out, const struct result_rank *rank,
                                const struct rank_files_options *options);

/* Told of each line of the journal that stays. */
typedef struct status rank_entry_visitor(void *context, int64_t rank,
                                         const struct rank_entry *entry);

/* Resume the files of an earlier process, or create them when they are not all there.
 *
 *   errors  those of result_files_reopen_of_rank, of reading, of `visit`
 */
struct status rank_files_resume(struct rank_files *out, const struct result_rank *rank,
                                const struct rank_files_options *options, rank_entry_visitor *visit,
                                void *context);

/* Append the rows of a record and its line.
 *
 *   outcome  NULL: it has no rows
 *   second   rows of the second device, or NULL
 *   errors   STATUS_IO: nothing of it counts as written, and it may be tried again
 */
struct status rank_files_append(struct rank_files *files, const struct rank_entry *entry,
                                const struct case_outcome *outcome,
                                const struct second_rows *second);

/* Make durable what was appended, the journal last. */
struct status rank_files_sync(struct rank_files *files);

void rank_files_close(struct rank_files *files);

/* The timestamp of the newest run in a directory that has files of ranks, or that `path` (one of its result
 * files) names. STATUS_BAD_ARGUMENT when there is none.
 *
 *   timestamp  TIMESTAMP_DIGITS + 1 bytes
 *   directory  owned by the caller
 */
struct status rank_files_find_run(char *timestamp, char **directory, const char *path);

#endif
