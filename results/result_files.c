/* The files under their names, and which of them is written, locked or cut at which moment. */
#include "results/result_files.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/directory.h"
#include "core/memory.h"
#include "results/result_row.h"
#include "results/resume.h"
#include "results/resume_repair.h"
#include "standards/judge.h"

enum { TIMESTAMPS_TRIED = 3600, NAMES_MAX = 1000000 };

/* ---- names ------------------------------------------------------------------------------ */

static char *join_name(const char *directory, const char *kind, const char *timestamp,
                       const char *rank, const char *suffix)
{
    size_t bytes = strlen(directory) + strlen(kind) + strlen(timestamp) + strlen(rank) +
                   strlen(suffix) + sizeof "/accuracy_checking__";
    char *name = memory_allocate(bytes);
    size_t length = strlen(directory);
    const char *slash = length && directory[length - 1] == '/' ? "" : "/";
    if (name)
        (void)snprintf(name, bytes, "%s%saccuracy_checking_%s_%s%s%s", directory, slash, kind,
                       timestamp, rank, suffix);
    return name;
}

void result_files_release_paths(char *paths[RESULT_FILES])
{
    for (int i = 0; i < RESULT_FILES; i++) {
        memory_release(paths[i]);
        paths[i] = NULL;
    }
}

static struct status make_paths(char *paths[RESULT_FILES], const char *directory,
                                const char *timestamp, const char *rank)
{
    static const char *const names[RESULT_FILES][2] = { [RESULT_CALLS] = { "result", ".csv" },
                                                        [RESULT_DETAILS] = { "details", ".csv" },
                                                        [RESULT_EVIDENCE] = { "evidence",
                                                                              ".jsonl" },
                                                        [RESULT_RUN] = { "run", ".json" } };
    bool complete = true;
    for (int i = 0; i < RESULT_FILES; i++) {
        paths[i] = join_name(directory, names[i][0], timestamp, rank, names[i][1]);
        complete = complete && paths[i];
    }
    return complete ? status_ok() : status_no_memory(0);
}

struct status result_files_paths(char *paths[RESULT_FILES], const char *directory,
                                 const char *timestamp)
{
    return make_paths(paths, directory, timestamp, "");
}

static void free_names(struct result_files *files)
{
    char *paths[RESULT_FILES];
    result_files_take_paths(paths, files);
    result_files_release_paths(paths);
}

static struct status make_names(struct result_files *files, const char *directory,
                                const char *timestamp)
{
    free_names(files);
    memcpy(files->timestamp, timestamp, TIMESTAMP_DIGITS);
    files->timestamp[TIMESTAMP_DIGITS] = '\0';
    char *paths[RESULT_FILES];
    struct status status = make_paths(paths, directory, files->timestamp, files->rank);
    files->result_path = paths[RESULT_CALLS];
    files->details_path = paths[RESULT_DETAILS];
    files->evidence_path = paths[RESULT_EVIDENCE];
    files->run_path = paths[RESULT_RUN];
    return status;
}

/* ---- headers ---------------------------------------------------------------------------- */

static struct status write_header(const struct file *file, const char *const *cells, size_t count)
{
    struct csv_buffer text = { 0 };
    struct status status = csv_append_mark(&text);
    if (!status.code) status = csv_append_row(&text, cells, count);
    if (!status.code) status = file_write_all(file, text.data, text.length);
    csv_buffer_release(&text);
    return status;
}

static struct status write_details_header(const struct result_files *files)
{
    const char *headers[COLUMN_COUNT];
    layout_headers(headers, files->layout);
    headers_translate(headers, files->layout->count, files->language);
    return write_header(&files->details, headers, files->layout->count);
}

static struct status write_result_header(const struct result_files *files)
{
    const char *headers[RESULT_COLUMNS];
    memcpy(headers, result_headers, sizeof headers);
    headers[RESULT_NAME] = files->layout->call_header;
    return write_header(&files->result, headers, RESULT_COLUMNS);
}

static struct status write_headers(struct result_files *files)
{
    TRY(write_details_header(files));
    return write_result_header(files);
}

/* ---- a new run -------------------------------------------------------------------------- */

struct status result_files_describe(struct result_files *files, const struct run_record *record)
{
    TRY(run_record_write(record, files->run_path));
    files->run_is_new = true;
    return status_ok();
}

/* Create both CSV files under one timestamp. A second that anything of this name has is taken:
 * *taken is set then, and nothing of ours is left. */
static struct status claim(struct result_files *files, bool *taken)
{
    *taken = false;
    struct status status = file_create(&files->result, files->result_path);
    if (status.code) {
        *taken = file_already_exists(status);
        return status;
    }
    status = file_create(&files->details, files->details_path);
    *taken = status.code ? file_already_exists(status)
                         : file_exists(files->run_path) || file_exists(files->evidence_path);
    if (!*taken && !status.code) return file_lock(&files->result);
    if (!status.code) {
        (void)file_close(&files->details);
        (void)file_remove(files->details_path);
        status = status_error(STATUS_BAD_ARGUMENT, "%s exists", files->run_path);
    }
    (void)file_close(&files->result);
    (void)file_remove(files->result_path);
    return status;
}

static struct status claim_timestamp(struct result_files *files, const char *directory)
{
    time_t now = time(NULL);
    struct status status = status_error(STATUS_INTERNAL, "no timestamp was tried");
    for (int i = 0; i < TIMESTAMPS_TRIED; i++, now++) {
        struct timestamp timestamp;
        bool taken;
        TRY(timestamp_of(&timestamp, now));
        TRY(make_names(files, directory, timestamp.text));
        status = claim(files, &taken);
        if (!taken) return status;
    }
    return status;
}

/* `timestamp`: the one to take, or NULL for the first that is free. */
static struct status create(struct result_files *out, struct result_files files,
                            const char *directory, const char *timestamp,
                            const struct run_record *record)
{
    bool taken;
    struct status status = file_make_directories(directory);
    if (!status.code && !timestamp) status = claim_timestamp(&files, directory);
    if (!status.code && timestamp) status = make_names(&files, directory, timestamp);
    if (!status.code && timestamp) status = claim(&files, &taken);
    if (!status.code) status = result_files_describe(&files, record);
    if (!status.code) status = file_create(&files.evidence, files.evidence_path);
    if (!status.code) status = write_headers(&files);
    if (status.code) {
        (void)result_files_close(&files);
        return status;
    }
    *out = files;
    return status_ok();
}

static struct result_files files_of(const struct row_layout *layout, enum header_language language)
{
    struct result_files files = RESULT_FILES_NONE;
    files.layout = layout;
    files.language = language;
    return files;
}

struct status result_files_create(struct result_files *out, const char *directory,
                                  const struct run_record *record, const struct row_layout *layout,
                                  enum header_language language)
{
    return create(out, files_of(layout, language), directory, NULL, record);
}

/* ---- files of a rank ---------------------------------------------------------------------- */

static struct result_files files_of_rank(const struct result_rank *rank,
                                         const struct row_layout *layout,
                                         enum header_language language)
{
    struct result_files files = files_of(layout, language);
    (void)snprintf(files.rank, sizeof files.rank, "_rank%lld", (long long)rank->rank);
    return files;
}

struct status result_files_create_of_rank(struct result_files *out, const struct result_rank *rank,
                                          const struct run_record *record,
                                          const struct row_layout *layout,
                                          enum header_language language)
{
    return create(out, files_of_rank(rank, layout, language), rank->directory, rank->timestamp,
                  record);
}

struct status result_files_reopen_of_rank(struct result_files *out, bool *there,
                                          const struct result_rank *rank,
                                          const struct run_record *record,
                                          const struct row_layout *layout,
                                          enum header_language language, struct file_policy policy)
{
    struct result_files files = files_of_rank(rank, layout, language);
    struct status status = make_names(&files, rank->directory, rank->timestamp);
    *there = !status.code && file_exists(files.result_path) && file_exists(files.details_path) &&
             file_exists(files.evidence_path) && file_exists(files.run_path);
    if (!status.code && *there) status = file_open_append(&files.result, files.result_path, policy);
    if (!status.code && *there) status = file_lock(&files.result);
    if (!status.code && *there) {
        bool readable;
        status = run_record_check(&readable, record, files.run_path, policy);
        if (!status.code && !readable)
            status = status_error(STATUS_BAD_INPUT, "%s is no run file", files.run_path);
    }
    if (!status.code && *there)
        status = file_open_append(&files.details, files.details_path, policy);
    if (!status.code && *there)
        status = file_open_append(&files.evidence, files.evidence_path, policy);
    if (status.code) (void)result_files_close(&files);
    else *out = files;
    return status;
}

/* ---- resuming a run ---------------------------------------------------------------- */

static const char result_prefix[] = "accuracy_checking_result_";

/* The digits in the name of a result file; NULL when it is none. */
static const char *result_digits(const char *base)
{
    const char *digits = base + sizeof result_prefix - 1;
    if (strncmp(base, result_prefix, sizeof result_prefix - 1) != 0) return NULL;
    for (int i = 0; i < TIMESTAMP_DIGITS; i++)
        if (!isdigit((unsigned char)digits[i])) return NULL;
    return strcmp(digits + TIMESTAMP_DIGITS, ".csv") ? NULL : digits;
}

/* The timestamp of the newest run, "" when there is none. Names are sorted, and their timestamps count
 * up. */
static struct status newest_timestamp(char timestamp[TIMESTAMP_DIGITS + 1], const char *directory)
{
    struct directory_names names;
    timestamp[0] = '\0';
    if (!directory_exists(directory)) return status_ok();
    TRY(directory_list(&names, directory, NAMES_MAX));
    for (size_t i = names.count; i-- && !timestamp[0];) {
        const char *digits = result_digits(names.items[i]);
        if (digits) (void)snprintf(timestamp, TIMESTAMP_DIGITS + 1, "%s", digits);
    }
    directory_release(&names);
    return status_ok();
}

struct status result_files_newest(char **out, const char *directory, const char *kind)
{
    char timestamp[TIMESTAMP_DIGITS + 1];
    *out = NULL;
    TRY(newest_timestamp(timestamp, directory));
    if (!timestamp[0]) return status_ok();
    *out = join_name(directory, kind, timestamp, "", ".csv");
    return *out ? status_ok() : status_no_memory(0);
}

struct status result_files_find(char *paths[RESULT_FILES], const char *directory)
{
    char timestamp[TIMESTAMP_DIGITS + 1];
    for (int i = 0; i < RESULT_FILES; i++) paths[i] = NULL;
    TRY(newest_timestamp(timestamp, directory));
    if (!timestamp[0]) return status_ok();
    struct status status = result_files_paths(paths, directory, timestamp);
    if (status.code) result_files_release_paths(paths);
    return status;
}

/* The names of the other files from that of the result file. */
static struct status derive_names(struct result_files *files, const char *result_path)
{
    const char *slash = strrchr(result_path, '/');
    const char *base = slash ? slash + 1 : result_path;
    const char *digits = result_digits(base);
    if (!digits)
        return status_error(STATUS_BAD_ARGUMENT,
                            "%s: the file of -csv_path must have its first name, "
                            "accuracy_checking_result_{14 digits}.csv",
                            result_path);

    size_t length = slash ? (size_t)(slash - result_path) : 0;
    char *directory = memory_allocate(length + 2);
    if (!directory) return status_no_memory(length + 2);
    memcpy(directory, slash ? result_path : ".", slash ? length : 1);
    directory[slash ? length : 1] = '\0';
    if (slash && !length) memcpy(directory, "/", 2);
    struct status status = make_names(files, directory, digits);
    memory_release(directory);
    return status;
}

/* Open one of the files, or begin it anew. */
static struct status open_or_create(struct file *out, const char *path, struct file_policy policy)
{
    return file_exists(path) ? file_open_append(out, path, policy) : file_create(out, path);
}

/* A result file that is gone is made again from the details; without either there is no run. */
static struct status open_for_resume(struct result_files *files, struct resume_notes *notes,
                                     const char *result_path, struct file_policy policy)
{
    TRY(derive_names(files, result_path));
    notes->details_were_missing = !file_exists(files->details_path);
    if (notes->details_were_missing)
        TRY(file_open_append(&files->result, files->result_path, policy));
    else TRY(open_or_create(&files->result, files->result_path, policy));
    TRY(file_lock(&files->result));
    TRY(open_or_create(&files->evidence, files->evidence_path, policy));
    return open_or_create(&files->details, files->details_path, policy);
}

/* The kernels of BLAS are asked for, and loaded, where earlier rows have used them. */
static struct status compare_record(bool *readable, const char *path, struct run_record *record,
                                    const struct resume_options *options)
{
    struct run_record then;
    TRY(run_record_read(&then, path, options->file_policy));
    *readable = then.object != NULL;
    if (!then.object) return status_ok();
    struct status status = status_ok();
    if (run_record_text(&then, RUN_RECORD_CORE) && !run_record_text(record, RUN_RECORD_CORE))
        status = run_record_name_core(record, options->core());
    if (!status.code) status = run_record_compare(&then, record, path);
    run_record_release(&then);
    return status;
}

/* Is this our run? A process that died before it wrote its run file left two empty files, and
 * those are as good as new. Only this program writes evidence. */
static struct status check_record(struct result_files *files, struct resume_notes *notes,
                                  struct run_record *record, const struct resume_options *options)
{
    uint64_t result_bytes, details_bytes, evidence_bytes;
    bool exists = file_exists(files->run_path), readable = false;
    if (exists) TRY(compare_record(&readable, files->run_path, record, options));
    if (readable) return status_ok();
    TRY(file_size(&result_bytes, &files->result));
    TRY(file_size(&details_bytes, &files->details));
    TRY(file_size(&evidence_bytes, &files->evidence));
    notes->run_file_lost = exists || evidence_bytes;
    notes->no_run_file = !notes->run_file_lost && (result_bytes || details_bytes);
    return notes->no_run_file ? status_ok() : result_files_describe(files, record);
}

/* The result file first: its rows are the commit marks, so at no moment may one stand there whose
 * details rows are gone. The evidence last: no row needs it to be trusted while rows are being cut. */
static struct status cut_files(struct result_files *files, struct resume_notes *notes,
                               struct resume_scan *scan)
{
    struct kept_bytes evidence = { .items = NULL };
    struct file replaced = FILE_NONE; /* only the result file has a lock to keep */
    struct status status =
        kept_bytes_cut(&files->result, &files->replaced, &notes->cut_bytes, &scan->result);
    if (!status.code)
        status = kept_bytes_cut(&files->details, &replaced, &notes->cut_bytes, &scan->details);
    if (!status.code && scan->evidence_end)
        status = kept_bytes_add(&evidence, 0, scan->evidence_end);
    if (!status.code)
        status = kept_bytes_cut(&files->evidence, &replaced, &notes->cut_bytes, &evidence);
    kept_bytes_release(&evidence);
    (void)file_close(&replaced);
    return status;
}

/* Headers that were not whole, rows and lines that the calls lack. */
static struct status complete_files(struct result_files *files, struct resume_notes *notes,
                                    const struct resume_scan *scan, const char *repeat)
{
    if (!scan->details.count) TRY(write_details_header(files));
    if (!scan->result.count) TRY(write_result_header(files));
    if (notes->no_run_file) return status_ok();
    notes->results_made = scan->kept - scan->with_result;
    return resume_repair(&notes->evidence_lost, &files->result, &files->details, &files->evidence,
                         scan, repeat);
}

static struct status go_on(struct result_files *files, struct resume_notes *notes, bool *done,
                           const struct call_order *order, const struct resume_options *options)
{
    struct resume_scan scan = { .order = order,
                                .layout = files->layout,
                                .extent = options->extent,
                                .retry_failed = options->retry_failed,
                                .done = done };
    struct status status =
        notes->no_run_file
            ? resume_scan_named(&scan, &files->result, &files->details)
            : resume_scan_ordered(&scan, &files->result, &files->details, &files->evidence);
    if (!status.code) status = cut_files(files, notes, &scan);
    if (!status.code) status = complete_files(files, notes, &scan, options->repeat);
    notes->kept = scan.kept;
    kept_bytes_release(&scan.result);
    kept_bytes_release(&scan.details);
    return status;
}

struct status result_files_resume(struct result_files *out, struct resume_notes *notes, bool *done,
                                  const char *result_path, struct run_record *record,
                                  const struct call_order *order,
                                  const struct resume_options *options)
{
    struct result_files files = RESULT_FILES_NONE;
    files.layout = options->layout;
    files.language = options->language;
    *notes = (struct resume_notes){ .no_run_file = false };
    struct status status = open_for_resume(&files, notes, result_path, options->file_policy);
    if (!status.code) status = check_record(&files, notes, record, options);
    if (!status.code) status = go_on(&files, notes, done, order, options);
    if (status.code) {
        (void)result_files_close(&files);
        return status;
    }
    *out = files;
    return status_ok();
}

/* ---- rows ------------------------------------------------------------------------------- */

struct status result_files_append(struct result_files *files, const struct csv_buffer *evidence,
                                  const struct csv_buffer *details, const struct csv_buffer *result)
{
    TRY(file_write_all(&files->evidence, evidence->data, evidence->length));
    TRY(file_write_all(&files->details, details->data, details->length));
    return file_write_all(&files->result, result->data, result->length);
}

struct status result_files_sync(struct result_files *files)
{
    const struct file *const rows[] = { &files->evidence, &files->details, &files->result };
    enum { COUNT = sizeof rows / sizeof *rows };
    for (int i = 0; i < COUNT; i++) file_begin_sync(rows[i]);
    if (files->run_is_new) TRY(file_sync_named(files->run_path));
    files->run_is_new = false;
    for (int i = 0; i < COUNT; i++) TRY(file_sync(rows[i]));
    return status_ok();
}

void result_files_take_paths(char *paths[RESULT_FILES], struct result_files *files)
{
    char **const from[RESULT_FILES] = { &files->result_path, &files->details_path,
                                        &files->evidence_path, &files->run_path };
    for (int i = 0; i < RESULT_FILES; i++) {
        paths[i] = *from[i];
        *from[i] = NULL;
    }
}

struct status result_files_close(struct result_files *files)
{
    struct status details = file_close(&files->details);
    struct status evidence = file_close(&files->evidence);
    if (!details.code) details = evidence;
    struct status result = file_close(&files->result);
    (void)file_close(&files->replaced);
    free_names(files);
    return details.code ? details : result;
}
