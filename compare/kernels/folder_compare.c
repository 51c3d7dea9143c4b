/* Walks over both trees by sorted names and compares what both have. */
#include "compare/kernels/folder_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/dumps/columns.h"
#include "compare/dumps/judge.h"
#include "compare/dumps/python_text.h"
#include "compare/kernels/npy_pair.h"
#include "core/directory.h"
#include "core/memory.h"

enum { MAX_DEPTH = 10, MAX_NAMES = 1 << 20, COLUMNS = 22 };

static const char *const headers[COLUMNS] = {
    "Name",
    "NPU Dtype",
    "Bench Dtype",
    "NPU Tensor Shape",
    "Bench Tensor Shape",
    "Cosine",
    "EucDist",
    "MaxAbsErr",
    "MaxRelativeErr",
    "One Thousandth Err Ratio",
    "Five Thousandths Err Ratio",
    "NPU max",
    "NPU min",
    "NPU mean",
    "NPU l2norm",
    "Bench max",
    "Bench min",
    "Bench mean",
    "Bench l2norm",
    "Accuracy Reached or Not",
    "Err_message",
    "Data_name",
};

/* A .npy file and its key, which is the first part of its name. */
struct named_file {
    const char *name;
    size_t key_length;
    size_t number; /* among the files of its key */
};

struct named_files {
    struct directory_names names;
    struct named_file *items; /* by key, then by name */
    size_t count;
};

struct walking {
    const struct folder_request *request;
    struct folder_counts *counts;
};

static bool is_npy(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && !strcmp(name + length - 4, ".npy");
}

/* Without ".npy" and the last two parts; all of it when it has fewer. */
static size_t key_length(const char *name)
{
    const char *end = name + strlen(name) - 4;
    const char *under = memrchr(name, '_', (size_t)(end - name));
    if (under) under = memrchr(name, '_', (size_t)(under - name));
    return under && under > name ? (size_t)(under - name) : (size_t)(end - name);
}

static int compare_keys(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int by_key(const void *a, const void *b)
{
    const struct named_file *x = a, *y = b;
    int order = compare_keys(x->name, x->key_length, y->name, y->key_length);
    return order ? order : strcmp(x->name, y->name);
}

static struct status list_files(struct named_files *out, const char *folder)
{
    *out = (struct named_files){ 0 };
    TRY(directory_list(&out->names, folder, MAX_NAMES));
    out->items = memory_allocate_zeroed(out->names.count + 1, sizeof *out->items);
    if (!out->items) return status_no_memory(out->names.count * sizeof *out->items);
    for (size_t i = 0; i < out->names.count; i++) {
        const char *name = out->names.items[i];
        if (is_npy(name))
            out->items[out->count++] = (struct named_file){ name, key_length(name), 0 };
    }
    qsort(out->items, out->count, sizeof *out->items, by_key);
    for (size_t i = 1; i < out->count; i++) {
        const struct named_file *before = &out->items[i - 1], *here = &out->items[i];
        if (!compare_keys(before->name, before->key_length, here->name, here->key_length))
            out->items[i].number = before->number + 1;
    }
    return status_ok();
}

static void release_files(struct named_files *files)
{
    directory_release(&files->names);
    memory_release(files->items);
}

/* The first file of a key; NULL when there is none. */
static const struct named_file *find_key(const struct named_files *files, const char *key,
                                         size_t length)
{
    size_t low = 0, high = files->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct named_file *file = &files->items[middle];
        if (compare_keys(file->name, file->key_length, key, length) < 0) low = middle + 1;
        else high = middle;
    }
    const struct named_file *file = &files->items[low];
    return low < files->count && !compare_keys(file->name, file->key_length, key, length) ? file
                                                                                          : NULL;
}

/* Bench's file for one of the NPU: of the same key, or of the one that map_dict gives, and of the same
 * number. */
static const struct named_file *partner_of(const struct named_file *npu,
                                           const struct named_files *bench,
                                           const struct folder_request *request)
{
    const struct named_file *first = find_key(bench, npu->name, npu->key_length);
    for (size_t i = 0; !first && i < request->n_map; i++)
        if (strlen(request->map[i].npu) == npu->key_length &&
            !memcmp(request->map[i].npu, npu->name, npu->key_length))
            first = find_key(bench, request->map[i].bench, strlen(request->map[i].bench));
    if (!first || npu->number >= bench->count - (size_t)(first - bench->items)) return NULL;
    const struct named_file *partner = first + npu->number;
    bool same = !compare_keys(first->name, first->key_length, partner->name, partner->key_length);
    return same ? partner : NULL;
}

/* ---- rows ------------------------------------------------------------------------------- */

static struct status data_name_cell(struct table_cell *out, struct arena *arena, const char *npu,
                                    const char *bench)
{
    struct csv_buffer text = { 0 };
    struct status status = csv_append_bytes(&text, "[", 1);
    if (!status.code) status = python_append_quoted(&text, npu, strlen(npu));
    if (!status.code) status = csv_append_bytes(&text, ", ", 2);
    if (!status.code) status = python_append_quoted(&text, bench, strlen(bench));
    if (!status.code) status = csv_append_bytes(&text, "]", 1);
    const char *copy = status.code ? NULL : arena_copy_bytes(arena, text.data, text.length);
    csv_buffer_release(&text);
    if (status.code) return status;
    if (!copy) return status_no_memory(0);
    *out = npy_text_cell(copy);
    return status_ok();
}

static struct status make_row(struct table_cell *cells, struct arena *arena,
                              const struct npy_pair *pair, const struct named_file *npu,
                              const struct named_file *bench)
{
    struct table_cell *at = cells;
    uint64_t notes = pair->result.notes;
    const char *name =
        arena_format(arena, "%.*s_%zu", (int)npu->key_length, npu->name, npu->number);

    if (!name) return status_no_memory(0);
    if (!notes && pair->side[0].dtype != pair->side[1].dtype) notes = note_bit(NOTE_DTYPES_DIFFER);
    *at++ = npy_text_cell(name);
    for (int s = 0; s < NPY_SIDES; s++) TRY(npy_dtype_cell(at++, arena, &pair->side[s]));
    for (int s = 0; s < NPY_SIDES; s++) TRY(npy_shape_cell(at++, arena, &pair->side[s]));
    for (int m = 0; m < TENSOR_METRICS; m++)
        *at++ = npy_metric_cell(pair, (enum tensor_metric)m, false);
    for (int s = 0; s < NPY_SIDES; s++)
        for (int k = 0; k < ROW_STATISTICS; k++)
            *at++ = npy_statistic_cell(&pair->side[s], (enum row_statistic)k);
    *at++ = npy_text_cell(row_verdict_text(tensor_verdict(&pair->result)));
    TRY(npy_notes_cell(at++, arena, pair, notes));
    return data_name_cell(at, arena, npu->name, bench ? bench->name : "N/A");
}

static struct status compare_file(struct table_file *table, struct walking *walking,
                                  const char *const folders[NPY_SIDES],
                                  const struct named_file *npu, const struct named_file *bench)
{
    struct arena arena = { 0 };
    struct npy_pair pair;
    struct table_cell cells[COLUMNS];
    const char *paths[NPY_SIDES] = { arena_format(&arena, "%s/%s", folders[0], npu->name), NULL };

    if (bench) paths[1] = arena_format(&arena, "%s/%s", folders[1], bench->name);
    struct status status = paths[0] && (paths[1] || !bench)
                               ? npy_pair_measure(&pair, &arena, paths, walking->request->policy)
                               : status_no_memory(0);
    if (!status.code) status = make_row(cells, &arena, &pair, npu, bench);
    if (!status.code) status = table_file_add_row(table, cells, COLUMNS, TABLE_PLAIN);
    if (!status.code) {
        walking->counts->rows++;
        enum row_verdict verdict = tensor_verdict(&pair.result);
        walking->counts->verdict_no += verdict == VERDICT_NO;
        walking->counts->without_verdict += verdict != VERDICT_NO && verdict != VERDICT_YES;
    }
    arena_release(&arena);
    return status.code ? status : stop_check(walking->request->stop);
}

static struct status compare_files(struct table_file *table, struct walking *walking,
                                   const char *const folders[NPY_SIDES],
                                   const struct named_files *npu, const struct named_files *bench)
{
    struct table_cell cells[COLUMNS];

    for (int i = 0; i < COLUMNS; i++) cells[i] = npy_text_cell(headers[i]);
    TRY(table_file_add_sheet(table, "Sheet1"));
    TRY(table_file_add_row(table, cells, COLUMNS, TABLE_PLAIN));
    for (size_t i = 0; i < npu->count; i++)
        TRY(compare_file(table, walking, folders, &npu->items[i],
                         partner_of(&npu->items[i], bench, walking->request)));
    return status_ok();
}

/* ---- folders ---------------------------------------------------------------------------- */

static struct status write_folder(struct walking *walking, struct arena *arena,
                                  const char *const folders[NPY_SIDES],
                                  const struct named_files files[NPY_SIDES], const char *relative)
{
    const char *folder = arena_format(arena, "%s%s", walking->request->output, relative);
    const char *path = arena_format(arena, "%s%s/result.csv", walking->request->output, relative);
    struct table_file *table = NULL;

    if (!folder || !path) return status_no_memory(0);
    TRY(file_make_directories(folder));
    TRY(table_file_create(&table, path, TABLE_CSV, 1));
    struct status status = compare_files(table, walking, folders, &files[0], &files[1]);
    if (status.code) {
        table_file_discard(table);
        return status;
    }
    TRY(table_file_finish(table));
    walking->counts->folders++;
    return status_ok();
}

/* A folder that is on both sides: its own files, then the folders in it. `relative` begins with a slash
 * unless it is empty. */
static struct status walk(struct walking *walking, const char *relative, int depth)
{
    const struct folder_request *request = walking->request;
    struct arena arena = { 0 };
    struct named_files files[NPY_SIDES] = { { .items = NULL }, { .items = NULL } };
    const char *folders[NPY_SIDES] = { arena_format(&arena, "%s%s", request->npu_path, relative),
                                       arena_format(&arena, "%s%s", request->bench_path,
                                                    relative) };
    struct status status = folders[0] && folders[1] ? status_ok() : status_no_memory(0);

    for (int s = 0; s < NPY_SIDES && !status.code; s++) status = list_files(&files[s], folders[s]);
    if (!status.code && files[0].count)
        status = write_folder(walking, &arena, folders, files, relative);
    for (size_t i = 0; !status.code && depth < MAX_DEPTH && i < files[0].names.count; i++) {
        const char *below = arena_format(&arena, "%s/%s", relative, files[0].names.items[i]);
        const char *npu = arena_format(&arena, "%s%s", request->npu_path, below ? below : "");
        const char *bench = arena_format(&arena, "%s%s", request->bench_path, below ? below : "");
        if (!below || !npu || !bench) status = status_no_memory(0);
        else if (directory_may_enter(npu, request->policy) &&
                 directory_may_enter(bench, request->policy))
            status = walk(walking, below, depth + 1);
    }
    for (int s = 0; s < NPY_SIDES; s++) release_files(&files[s]);
    arena_release(&arena);
    return status;
}

struct status folders_compare(struct folder_counts *out, const struct folder_request *request)
{
    struct walking walking = { request, out };

    *out = (struct folder_counts){ 0 };
    TRY(walk(&walking, "", 0));
    if (out->folders) return status_ok();
    return status_error(STATUS_BAD_INPUT, "'%s' and '%s' have no folder of .npy files in common",
                        file_shown(request->npu_path).text, file_shown(request->bench_path).text);
}
