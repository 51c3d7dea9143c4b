/* What is written in which order, and what is cut off when a process resumes. */
#include "online/rank_files.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/directory.h"
#include "core/memory.h"
#include "formats/json.h"
#include "formats/json_write.h"
#include "formats/text_out.h"
#include "results/details_file.h"

enum { NAMES_MOST = 1000000 };

static const char *const size_keys[RANK_FILES_ALL] = { "result",           "details",
                                                       "evidence",         "two_way_result",
                                                       "two_way_details",  "three_way_result",
                                                       "three_way_details" };

/* In front of the timestamp. The names of the three-way comparison are msprobe's. */
static const char *const second_names[RANK_FILES_ALL - RANK_FILES_OWN] = {
    "accuracy_checking_two_way_result", "accuracy_checking_two_way_details",
    "api_precision_compare_result", "api_precision_compare_details"
};

/* ---- names ------------------------------------------------------------------------------ */

/* The path of a file of the rank; owned by the caller. */
static char *path_of(const struct rank_files *files, const char *directory, const char *name,
                     const char *suffix)
{
    size_t length = strlen(directory), bytes = length + 96;
    const char *slash = length && directory[length - 1] == '/' ? "" : "/";
    char *path = memory_allocate(bytes);
    if (path)
        (void)snprintf(path, bytes, "%s%s%s_%s%s%s", directory, slash, name, files->files.timestamp,
                       files->files.rank, suffix);
    return path;
}

static struct status name_journal(struct rank_files *files, const char *directory)
{
    files->journal_path = path_of(files, directory, "accuracy_checking_records", ".jsonl");
    return files->journal_path ? status_ok() : status_no_memory(0);
}

/* The digits in "accuracy_checking_result_{14 digits}_rank{digits}.csv"; NULL when it is no such name. */
static const char *run_digits(const char *name)
{
    static const char before[] = "accuracy_checking_result_", rank[] = "_rank";
    if (strncmp(name, before, sizeof before - 1) != 0) return NULL;
    const char *digits = name + sizeof before - 1, *at = digits;
    while (isdigit((unsigned char)*at)) at++;
    if (at - digits != TIMESTAMP_DIGITS || strncmp(at, rank, sizeof rank - 1) != 0) return NULL;
    at += sizeof rank - 1;
    if (!isdigit((unsigned char)*at)) return NULL;
    while (isdigit((unsigned char)*at)) at++;
    return strcmp(at, ".csv") ? NULL : digits;
}

/* Names are sorted, and their timestamps count up. */
static struct status find_newest(char *timestamp, const char *directory)
{
    struct directory_names names;
    TRY(directory_list(&names, directory, NAMES_MOST));
    const char *digits = NULL;
    for (size_t i = names.count; i-- && !digits;) digits = run_digits(names.items[i]);
    if (digits) (void)snprintf(timestamp, TIMESTAMP_DIGITS + 1, "%.14s", digits);
    directory_release(&names);
    if (digits) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT,
                        "'%s' has no accuracy_checking_result_{timestamp}_rank{rank}.csv to resume",
                        file_shown(directory).text);
}

struct status rank_files_find_run(char *timestamp, char **directory, const char *path)
{
    const char *slash = strrchr(path, '/'), *digits = run_digits(slash ? slash + 1 : path);
    *directory = NULL;
    if (directory_exists(path)) {
        TRY(find_newest(timestamp, path));
        *directory = memory_copy_string(path);
    } else if (digits) {
        (void)snprintf(timestamp, TIMESTAMP_DIGITS + 1, "%.14s", digits);
        *directory = slash ? memory_copy_bytes(path, (size_t)(slash - path) + 1)
                           : memory_copy_string(".");
    } else {
        return status_error(STATUS_BAD_ARGUMENT,
                            "'%s' is neither a directory nor an "
                            "accuracy_checking_result_{timestamp}_rank{rank}.csv",
                            file_shown(path).text);
    }
    return *directory ? status_ok() : status_no_memory(0);
}

/* ---- sizes ------------------------------------------------------------------------------ */

static void list_sized(const struct file *out[RANK_FILES_ALL], const struct rank_files *files)
{
    for (int i = RANK_FILES_OWN; i < RANK_FILES_ALL; i++)
        out[i] = &files->second[i - RANK_FILES_OWN];
    out[RANK_FILE_RESULT] = &files->files.result;
    out[RANK_FILE_DETAILS] = &files->files.details;
    out[RANK_FILE_EVIDENCE] = &files->files.evidence;
}

static struct status measure(uint64_t sizes[RANK_FILES_ALL], const struct rank_files *files)
{
    const struct file *sized[RANK_FILES_ALL];
    list_sized(sized, files);
    for (int i = 0; i < files->count; i++) TRY(file_size(&sizes[i], sized[i]));
    return status_ok();
}

/* Cut everything back to the last whole group. */
static struct status cut(struct rank_files *files)
{
    const struct file *sized[RANK_FILES_ALL];
    list_sized(sized, files);
    for (int i = 0; i < files->count; i++) TRY(file_truncate(sized[i], files->sizes[i]));
    TRY(file_truncate(&files->journal, files->journal_size));
    files->torn = false;
    return status_ok();
}

/* ---- lines ------------------------------------------------------------------------------ */

static void put_number(struct text_out *out, const char *before, uint64_t number)
{
    char text[96];
    (void)snprintf(text, sizeof text, "%s%llu", before, (unsigned long long)number);
    text_out_string(out, text);
}

static void put_text(struct text_out *out, const char *before, const char *text)
{
    if (!text) return;
    text_out_string(out, before);
    if (!out->status.code) out->status = json_append_string(&out->text, text, strlen(text));
}

/* {"session": ...} of a record; with the sizes alone, the line before the first one. */
static void put_line(struct text_out *out, const struct rank_entry *entry,
                     const uint64_t sizes[RANK_FILES_ALL], int count)
{
    text_out_string(out, "{");
    if (entry) {
        put_number(out, "\"sequence\":", entry->sequence);
        put_text(out, ",\"session\":", entry->session);
        put_number(out, ",\"step\":", (uint64_t)entry->step);
        put_text(out, ",\"name\":", entry->name);
        put_text(out, ",\"verdict\":", verdict_name(entry->verdict));
        text_out_string(out, ",");
    }
    for (int i = 0; i < count; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "%s\"%s\":", i ? "," : "", size_keys[i]);
        put_number(out, key, sizes[i]);
    }
    text_out_string(out, "}\n");
}

static struct status append_line(struct rank_files *files, const struct rank_entry *entry,
                                 const uint64_t sizes[RANK_FILES_ALL])
{
    struct text_out line = { .status.code = STATUS_OK };
    put_line(&line, entry, sizes, files->count);
    struct status status = line.status;
    if (!status.code) status = file_write_all(&files->journal, line.text.data, line.text.length);
    if (!status.code) {
        files->journal_size += line.text.length;
        memcpy(files->sizes, sizes, sizeof files->sizes);
    }
    csv_buffer_release(&line.text);
    return status;
}

/* ---- reading a journal -------------------------------------------------------------------- */

struct line {
    struct rank_entry entry;
    bool is_record;
    uint64_t sizes[RANK_FILES_ALL];
    unsigned seen; /* which sizes */
};

static bool read_size(struct line *line, const struct json_slice *key,
                      const struct json_number *number)
{
    for (int i = 0; i < RANK_FILES_ALL; i++) {
        if (!json_slice_is(key, size_keys[i])) continue;
        line->sizes[i] = (uint64_t)number->integer;
        line->seen |= 1u << i;
        return true;
    }
    return false;
}

static bool read_number(struct line *line, struct json *json, const struct json_slice *key)
{
    struct json_number number;
    if (!json_number(json, &number) || !number.is_int64 || number.integer < 0) return false;
    if (read_size(line, key, &number)) return true;
    if (json_slice_is(key, "sequence")) {
        line->entry.sequence = (uint64_t)number.integer;
        line->is_record = true;
    } else if (json_slice_is(key, "step")) {
        line->entry.step = number.integer;
    }
    return true;
}

static bool read_text(struct line *line, struct json *json, struct arena *arena,
                      const struct json_slice *key)
{
    struct json_slice slice;
    if (!json_string(json, &slice)) return false;
    const char *text = json_slice_decode(arena, &slice, NULL);
    if (!text) return false;
    if (json_slice_is(key, "session")) line->entry.session = text;
    else if (json_slice_is(key, "name")) line->entry.name = text;
    else if (json_slice_is(key, "verdict"))
        line->entry.verdict = details_verdict((struct csv_text){ text, strlen(text) });
    return true;
}

/* False for a line that is none of ours. */
static bool read_line(struct line *out, struct arena *arena, const char *text, size_t bytes,
                      int count)
{
    struct json json;
    struct json_slice key;
    enum json_kind kind;
    *out = (struct line){ .entry.verdict = VERDICT_BLANK };
    json_open(&json, text, bytes);
    if (!json_enter_object(&json)) return false;
    while (json_object_next(&json, &key)) {
        if (!json_peek(&json, &kind)) return false;
        bool ok = kind == JSON_NUMBER   ? read_number(out, &json, &key)
                  : kind == JSON_STRING ? read_text(out, &json, arena, &key)
                                        : json_skip(&json);
        if (!ok) return false;
    }
    return json_finish(&json) && out->seen == (1u << count) - 1;
}

/* Lines up to the first that is torn, or says that the files were longer than they are. *found: there was one. */
static struct status read_journal(bool *found, struct rank_files *files, const struct file_map *map,
                                  rank_entry_visitor *visit, void *context)
{
    struct arena arena = { 0 };
    uint64_t actual[RANK_FILES_ALL];
    const char *at = map->data, *end = at + map->bytes, *newline;
    struct status status = measure(actual, files);

    *found = false;
    while (!status.code && at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        struct line line;
        arena_reset(&arena);
        if (!read_line(&line, &arena, at, (size_t)(newline - at), files->count)) break;
        bool holds = true;
        for (int i = 0; i < files->count; i++) holds &= line.sizes[i] <= actual[i];
        if (!holds) break;
        if (line.is_record) status = visit(context, files->rank, &line.entry);
        memcpy(files->sizes, line.sizes, sizeof files->sizes);
        at = newline + 1;
        files->journal_size = (uint64_t)(at - (const char *)map->data);
        *found = true;
    }
    arena_release(&arena);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------ */

/* The files of the second device with their headers; those of the two-way comparison are those of the run. */
static struct status create_second(struct rank_files *files, const char *directory,
                                   const struct rank_files_options *options)
{
    struct csv_buffer headers[2] = { { 0 } };
    struct status status = second_headers(&headers[1], &headers[0], options->language);
    for (int i = RANK_FILES_OWN; !status.code && i < files->count; i++) {
        struct file *file = &files->second[i - RANK_FILES_OWN];
        char *path = path_of(files, directory, second_names[i - RANK_FILES_OWN], ".csv");
        status = path ? file_create(file, path) : status_no_memory(0);
        memory_release(path);
        if (status.code) break;
        if (i == RANK_FILE_TWO_WAY_RESULT) status = file_append_from(file, &files->files.result, 0);
        else if (i == RANK_FILE_TWO_WAY_DETAILS)
            status = file_append_from(file, &files->files.details, 0);
        else {
            const struct csv_buffer *text = &headers[i - RANK_FILE_THREE_WAY_RESULT];
            status = file_write_all(file, text->data, text->length);
        }
    }
    csv_buffer_release(&headers[0]);
    csv_buffer_release(&headers[1]);
    return status;
}

/* *there is false when one is missing. */
static struct status reopen_second(bool *there, struct rank_files *files, const char *directory,
                                   struct file_policy policy)
{
    struct status status = status_ok();
    for (int i = RANK_FILES_OWN; !status.code && *there && i < files->count; i++) {
        char *path = path_of(files, directory, second_names[i - RANK_FILES_OWN], ".csv");
        if (!path) return status_no_memory(0);
        *there = file_exists(path);
        if (*there) status = file_open_append(&files->second[i - RANK_FILES_OWN], path, policy);
        memory_release(path);
    }
    return status;
}

static void begin(struct rank_files *files, const struct result_rank *rank,
                  const struct rank_files_options *options)
{
    *files = RANK_FILES_NONE;
    files->rank = rank->rank;
    files->count = options->has_second ? RANK_FILES_ALL : RANK_FILES_OWN;
}

struct status rank_files_create(struct rank_files *out, const struct result_rank *rank,
                                const struct rank_files_options *options)
{
    uint64_t sizes[RANK_FILES_ALL];
    begin(out, rank, options);
    TRY(result_files_create_of_rank(&out->files, rank, options->record, options->layout,
                                    options->language));
    TRY(create_second(out, rank->directory, options));
    TRY(name_journal(out, rank->directory));
    TRY(file_create(&out->journal, out->journal_path));
    TRY(measure(sizes, out));
    return append_line(out, NULL, sizes);
}

/* Rows without a journal are not ours to throw away. */
static struct status check_no_rows(const struct rank_files *files)
{
    enum { HEADER_BYTES_MOST = 256 };
    struct file file;
    uint64_t bytes = 0;
    if (!file_exists(files->files.result_path)) return status_ok();
    TRY(file_open_read(&file, files->files.result_path, FILES_TRUSTED));
    struct status status = file_size(&bytes, &file);
    (void)file_close(&file);
    if (status.code || bytes <= HEADER_BYTES_MOST) return status;
    return status_error(
        STATUS_BAD_INPUT, "'%s' has rows, and there is no usable '%s' that says which are whole",
        file_shown(files->files.result_path).text, file_shown(files->journal_path).text);
}

/* A process that died while it began a run leaves files without a line in the journal: they are as good as
 * new, but in the way. */
static struct status begin_again(struct rank_files *files, const struct result_rank *rank,
                                 const struct rank_files_options *options)
{
    const char *paths[] = { files->files.result_path, files->files.details_path,
                            files->files.evidence_path, files->files.run_path,
                            files->journal_path };
    struct status status = check_no_rows(files);
    for (size_t i = 0; !status.code && i < sizeof paths / sizeof *paths; i++)
        if (file_exists(paths[i])) status = file_remove(paths[i]);
    for (int i = 0; !status.code && i < RANK_FILES_ALL - RANK_FILES_OWN; i++) {
        char *path = path_of(files, rank->directory, second_names[i], ".csv");
        if (path && file_exists(path)) status = file_remove(path);
        memory_release(path);
    }
    rank_files_close(files);
    TRY(status);
    return rank_files_create(files, rank, options);
}

struct status rank_files_resume(struct rank_files *out, const struct result_rank *rank,
                                const struct rank_files_options *options, rank_entry_visitor *visit,
                                void *context)
{
    bool there, found = false;
    struct file_map map;
    begin(out, rank, options);
    TRY(result_files_reopen_of_rank(&out->files, &there, rank, options->record, options->layout,
                                    options->language, options->policy));
    TRY(name_journal(out, rank->directory));
    TRY(reopen_second(&there, out, rank->directory, options->policy));
    if (!there || !file_exists(out->journal_path)) return begin_again(out, rank, options);
    TRY(file_open_append(&out->journal, out->journal_path, options->policy));
    TRY(file_map(&map, &out->journal));
    struct status status = read_journal(&found, out, &map, visit, context);
    file_unmap(&map);
    TRY(status);
    return found ? cut(out) : begin_again(out, rank, options);
}

void rank_files_close(struct rank_files *files)
{
    (void)result_files_close(&files->files);
    (void)file_close(&files->journal);
    for (int i = 0; i < RANK_FILES_ALL - RANK_FILES_OWN; i++) (void)file_close(&files->second[i]);
    memory_release(files->journal_path);
    *files = RANK_FILES_NONE;
}

/* ---- rows --------------------------------------------------------------------------------- */

static struct status append_second(struct rank_files *files, uint64_t *sizes,
                                   const struct second_rows *rows)
{
    int result = rows->kind == SECOND_TWO_WAY ? RANK_FILE_TWO_WAY_RESULT
                                              : RANK_FILE_THREE_WAY_RESULT;
    sizes[result] += rows->result.length;
    sizes[result + 1] += rows->details.length;
    TRY(file_write_all(&files->second[result + 1 - RANK_FILES_OWN], rows->details.data,
                       rows->details.length));
    return file_write_all(&files->second[result - RANK_FILES_OWN], rows->result.data,
                          rows->result.length);
}

struct status rank_files_append(struct rank_files *files, const struct rank_entry *entry,
                                const struct case_outcome *outcome,
                                const struct second_rows *second)
{
    uint64_t sizes[RANK_FILES_ALL];
    if (files->torn) TRY(cut(files));
    memcpy(sizes, files->sizes, sizeof sizes);
    files->torn = true;
    if (outcome) {
        sizes[RANK_FILE_RESULT] += outcome->result.length;
        sizes[RANK_FILE_DETAILS] += outcome->details.length;
        sizes[RANK_FILE_EVIDENCE] += outcome->evidence.length;
        TRY(result_files_append(&files->files, &outcome->evidence, &outcome->details,
                                &outcome->result));
    }
    if (second && second->kind != SECOND_NONE) TRY(append_second(files, sizes, second));
    TRY(append_line(files, entry, sizes));
    files->torn = false;
    return status_ok();
}

struct status rank_files_sync(struct rank_files *files)
{
    TRY(result_files_sync(&files->files));
    for (int i = RANK_FILES_OWN; i < files->count; i++)
        TRY(file_sync(&files->second[i - RANK_FILES_OWN]));
    return file_sync(&files->journal);
}
