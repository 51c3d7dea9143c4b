/* The files of a run: accuracy_checking_result_{ts}.csv, accuracy_checking_details_{ts}.csv,
 * accuracy_checking_evidence_{ts}.jsonl and accuracy_checking_run_{ts}.json, with ts = local time as YYYYmmddHHMMSS.
 *
 * Rows stand in dump order. The evidence of a call is one append, all its details rows are the
 * next, its result row comes last: a call counts as done when its result row is whole and its details rows are. A process
 * may die at any byte; result_files_resume cuts both files back to the calls that are done, and
 * resuming from there gives the bytes of a run that never died. The file lock of the result file
 * keeps a second process away for as long as the files are open.
 */
#ifndef PROBE_RESULTS_RESULT_FILES_H
#define PROBE_RESULTS_RESULT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/file.h"
#include "core/status.h"
#include "core/timestamp.h"
#include "formats/csv.h"
#include "results/call_order.h"
#include "results/resume.h"
#include "results/run_record.h"
#include "standards/header_language.h"

struct result_files {
    char timestamp[TIMESTAMP_DIGITS + 1];
    char rank[24]; /* "_rank3" behind the timestamp of the names; "" where a run has no ranks */
    char *result_path, *details_path, *evidence_path, *run_path; /* owned */
    struct file result, details, evidence;
    const struct row_layout *layout;
    enum header_language language; /* of the details' headers */
    struct file replaced; /* the result file before it was rewritten: its lock is kept too */
    bool run_is_new;      /* the run file was written and is not durable yet */
};
#define RESULT_FILES_NONE   \
    ((struct result_files){ \
        .result = FILE_NONE, .details = FILE_NONE, .evidence = FILE_NONE, .replaced = FILE_NONE })

enum { RESULT_CALLS, RESULT_DETAILS, RESULT_EVIDENCE, RESULT_RUN, RESULT_FILES };

/* What a resumed run found. */
struct resume_notes {
    bool no_run_file;   /* of files of another tool: only the names of their rows are known */
    bool run_file_lost; /* of our own: nothing tells whether they are of the same run */
    bool details_were_missing;
    size_t kept;          /* calls that stay as they are */
    size_t results_made;  /* of these, how many got a new result row, */
    size_t evidence_lost; /* and how many have no evidence any more */
    uint64_t cut_bytes;   /* of all files together */
};

struct resume_options {
    struct file_policy file_policy;
    const struct row_layout *layout; /* of the rows that are there and of those to come */
    enum header_language language;
    enum evidence_extent extent; /* which rows have evidence */
    bool retry_failed;           /* go back to the first call whose device crashed or hung */
    const char *repeat;          /* the command that repeats a call, up to its name */
    const char *(*core)(void);   /* names the kernels of BLAS of this machine */
};

/* New files in `directory`, which is created; a timestamp that is taken moves to the next free
 * second. The result file claims the timestamp, the run file is written next, then the headers. */
struct status result_files_create(struct result_files *out, const char *directory,
                                  const struct run_record *record, const struct row_layout *layout,
                                  enum header_language language);

/* Of a run that has files for each of its ranks: accuracy_checking_result_{ts}_rank3.csv, ... */
struct result_rank {
    const char *directory;
    const char
        *timestamp; /* of the run; NULL: the first that is free, for the first of its ranks */
    int64_t rank;
};

struct status result_files_create_of_rank(struct result_files *out, const struct result_rank *rank,
                                          const struct run_record *record,
                                          const struct row_layout *layout,
                                          enum header_language language);

/* Open them again, for appending at their ends; whoever knows how far they can be trusted cuts them.
 *
 *   out     to be closed also when they are not there
 *   there   false, with an OK status, when one of them is missing: then none is open, but they have names
 *   errors  STATUS_BAD_ARGUMENT: another process writes them; STATUS_BAD_INPUT: a run that differs
 */
struct status result_files_reopen_of_rank(struct result_files *out, bool *there,
                                          const struct result_rank *rank,
                                          const struct run_record *record,
                                          const struct row_layout *layout,
                                          enum header_language language, struct file_policy policy);

/* Go on with the files that belong to `result_path`.
 *
 *   notes   what was found; filled also when it warrants a warning only
 *   record  of this run; names the kernels of BLAS afterwards where the rows that are there owe them something
 *   done    order->count flags, all false on entry; set for the calls that are not run again
 *   errors  STATUS_BAD_ARGUMENT: the file name is not that of a result file, another process
 *           writes these files; STATUS_BAD_INPUT: a run that differs (names what), not such a file
 */
struct status result_files_resume(struct result_files *out, struct resume_notes *notes, bool *done,
                                  const char *result_path, struct run_record *record,
                                  const struct call_order *order,
                                  const struct resume_options *options);

/* The newest run in a directory, by its name.
 *
 *   out   a file of it, owned by the caller; NULL when there is none, or no such directory
 *   kind  which: "result", "details"
 */
struct status result_files_newest(char **out, const char *directory, const char *kind);

/* All files of the newest run in a directory.
 *
 *   paths  owned by the caller; all NULL when there is none
 */
struct status result_files_find(char *paths[RESULT_FILES], const char *directory);

/* What the files of a run are called. `paths` are owned by the caller, also when this fails. */
struct status result_files_paths(char *paths[RESULT_FILES], const char *directory,
                                 const char *timestamp);
void result_files_release_paths(char *paths[RESULT_FILES]);

/* Write the run file anew, before rows that the record has learnt something about. */
struct status result_files_describe(struct result_files *files, const struct run_record *record);

/* Append the rows of one call. */
struct status result_files_append(struct result_files *files, const struct csv_buffer *evidence,
                                  const struct csv_buffer *details,
                                  const struct csv_buffer *result);

/* Make what was written durable. All files begin to go to the disk before the first is waited for, so that a journal
 * is written once. */
struct status result_files_sync(struct result_files *files);

/* Take over the names of the files, which are then the caller's to release. */
void result_files_take_paths(char *paths[RESULT_FILES], struct result_files *files);

struct status result_files_close(struct result_files *files);

#endif
