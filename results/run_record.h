/* The run file accuracy_checking_run_{ts}.json: what a run was, as far as it decides the bytes of
 * the result files. Resume and merge refuse to mix runs whose records differ.
 */
#ifndef PROBE_RESULTS_RUN_RECORD_H
#define PROBE_RESULTS_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"
#include "formats/csv.h"

struct cJSON;

struct run_record {
    struct cJSON *object; /* flat; every member is compared but the object "about" */
};

/* The member that names the kernels of BLAS. A run learns it when it first uses them, so a record that lacks it is of
 * rows that owe them nothing and agrees with any. */
#define RUN_RECORD_CORE "blas_core"

/* An empty record. */
struct status run_record_create(struct run_record *out);
void run_record_release(struct run_record *record);

/* Add a member. */
struct status run_record_add_text(struct run_record *record, const char *key, const char *text);
struct status run_record_add_number(struct run_record *record, const char *key, double number);
struct status run_record_add_flag(struct run_record *record, const char *key, int flag);
struct status run_record_add_digest(struct run_record *record, const char *key, uint64_t digest);
struct status run_record_add_texts(struct run_record *record, const char *key,
                                   const char *const *texts, size_t count);

/* Name the kernels of BLAS, before "about", in a record that does not yet. */
struct status run_record_name_core(struct run_record *record, const char *core);

/* Add a member of "about", which tells runs apart for people and is not compared. */
struct status run_record_add_about(struct run_record *record, const char *key, const char *text);

/* Give a member that is there another number; take a member out, when it is there. */
struct status run_record_set_number(struct run_record *record, const char *key, double number);
void run_record_remove(struct run_record *record, const char *key);

/* A member that is a number; NaN when there is none. */
double run_record_number(const struct run_record *record, const char *key);

/* A member that is a text; NULL when there is none. Lives as long as the record. */
const char *run_record_text(const struct run_record *record, const char *key);

/* A member of "about"; NULL when there is none. Lives as long as the record. */
const char *run_record_about(const struct run_record *record, const char *key);

/* Append the record as the text of its file. */
struct status run_record_print(struct csv_buffer *out, const struct run_record *record);

/* Write the record to `path`, whole or not at all: a file beside it is renamed. Durable once the file of that name
 * and its name are synced (file_sync_named). */
struct status run_record_write(const struct run_record *record, const char *path);

/* Read a run file. The object is NULL, with an OK status, for a file that is no record. */
struct status run_record_read(struct run_record *out, const char *path, struct file_policy policy);

/* STATUS_BAD_INPUT, naming `path` and each member in which the records differ, with both values. */
struct status run_record_compare(const struct run_record *then, const struct run_record *now,
                                 const char *path);

/* Compare with the record in `path`.
 *
 *   readable  false, with an OK status, for a file that is no record (torn, of something else)
 *   errors    STATUS_BAD_INPUT names each member that differs, with both values
 */
struct status run_record_check(bool *readable, const struct run_record *record, const char *path,
                               struct file_policy policy);

#endif
