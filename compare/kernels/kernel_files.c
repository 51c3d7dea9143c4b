/* Tells kernels by the names of their files, and reads statistic.csv. */
#include "compare/kernels/kernel_files.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/directory.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_pool.h"
#include "core/text_table.h"
#include "formats/csv.h"

enum { MAX_NAMES = 1 << 22, MAX_DEPTH = 16, MAX_KEY = 4096 };

/* ---- folders ---------------------------------------------------------------------------- */

/* A number of at most nine digits that fills the text. */
static bool whole_number(int64_t *value, const char *text, size_t length)
{
    if (!length || length > 9 || strspn(text, "0123456789") < length) return false;
    *value = 0;
    for (size_t i = 0; i < length; i++) *value = *value * 10 + (text[i] - '0');
    return true;
}

/* The part number `from_end` of a path, 1 being the last. */
static bool path_part(const char **part, size_t *length, const char *path, int from_end)
{
    const char *end = path + strlen(path);
    for (;; from_end--) {
        const char *slash = memrchr(path, '/', (size_t)(end - path));
        if (!slash) return false;
        *part = slash + 1;
        *length = (size_t)(end - slash - 1);
        if (from_end == 1) return *length > 0;
        end = slash;
    }
}

/* Rank and step by the parts of an absolute path. */
static bool place_of(int64_t *rank, int64_t *step, const char *path)
{
    const char *part;
    size_t length;

    if (!path_part(&part, &length, path, 1) || !whole_number(step, part, length)) return false;
    if (strstr(path, "rank_")) {
        if (!path_part(&part, &length, path, 4)) return false;
        const char *under = memrchr(part, '_', length);
        return under && whole_number(rank, under + 1, length - (size_t)(under + 1 - part));
    }
    if (path_part(&part, &length, path, 4) && whole_number(rank, part, length)) return true;
    return path_part(&part, &length, path, 3) && whole_number(rank, part, length);
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), bytes = strlen(end);
    return length > bytes && !strcmp(name + length - bytes, end);
}

static enum kernel_kind kind_of(const struct directory_names *names)
{
    enum kernel_kind kind = KERNEL_NOTHING;
    for (size_t i = 0; i < names->count; i++) {
        if (ends_with(names->items[i], ".npy")) return KERNEL_NPY;
        if (!strcmp(names->items[i], "statistic.csv")) kind = KERNEL_STATISTIC;
    }
    return kind;
}

static struct status add_folder(struct kernel_folders *out, const char *path,
                                const struct directory_names *names)
{
    struct kernel_folder folder = { .path = path, .kind = kind_of(names) };
    if (folder.kind == KERNEL_NOTHING || !place_of(&folder.rank, &folder.step, path))
        return status_ok();
    TRY(array_make_room(&out->items, &out->room, out->count, sizeof *out->items));
    out->items[out->count++] = folder;
    return status_ok();
}

static struct status walk(struct kernel_folders *out, struct arena *arena, const char *path,
                          struct file_policy policy, int depth)
{
    struct directory_names names;
    bool is_lowest = true;

    TRY(directory_list(&names, path, MAX_NAMES));
    struct status status = status_ok();
    for (size_t i = 0; i < names.count && !status.code; i++) {
        const char *name = names.items[i];
        if (ends_with(name, ".npy") || ends_with(name, ".csv")) continue;
        const char *below = arena_format(arena, "%s/%s", path, name);
        if (!below) status = status_no_memory(0);
        else if (directory_may_enter(below, policy)) {
            is_lowest = false;
            if (depth < MAX_DEPTH) status = walk(out, arena, below, policy, depth + 1);
        }
    }
    if (!status.code && is_lowest) status = add_folder(out, path, &names);
    directory_release(&names);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct kernel_folder *x = a, *y = b;
    if (x->rank != y->rank) return (x->rank > y->rank) - (x->rank < y->rank);
    if (x->step != y->step) return (x->step > y->step) - (x->step < y->step);
    return strcmp(x->path, y->path);
}

struct status kernel_folders_find(struct kernel_folders *out, struct arena *arena, const char *path,
                                  struct file_policy policy)
{
    char absolute[PATH_MAX];

    *out = (struct kernel_folders){ 0 };
    if (!realpath(path, absolute))
        return status_error(STATUS_BAD_INPUT, "cannot find '%s': %s", file_shown(path).text,
                            strerror(errno)); /* NOLINT(concurrency-mt-unsafe) */
    const char *root = arena_copy_string(arena, absolute);
    if (!root) return status_no_memory(0);
    TRY(walk(out, arena, root, policy, 0));
    if (out->count) qsort(out->items, out->count, sizeof *out->items, by_place);
    return status_ok();
}

/* ---- names ------------------------------------------------------------------------------ */

/* A part of a name that dots separate; the rest behind it, NULL after the last. */
static const char *take_part(const char **part, size_t *length, const char *at)
{
    *part = at;
    *length = strcspn(at, ".");
    return at[*length] ? at + *length + 1 : NULL;
}

static bool is_digits(const char *text, size_t length)
{
    return length && strspn(text, "0123456789") >= length;
}

static bool is_direction(const char *text, size_t length)
{
    return (length == 5 && !memcmp(text, "input", 5)) ||
           (length == 6 && !memcmp(text, "output", 6));
}

bool kernel_name_split(char *key, size_t bytes, uint64_t *timestamp, const char *name)
{
    enum { FIRST = 5 }; /* op_type, op_name, task_id, stream_id, timestamp */
    const char *part[FIRST], *rest = name, *direction;
    size_t length[FIRST], direction_length;

    for (int i = 0; i < FIRST; i++) {
        if (!rest) return false;
        rest = take_part(&part[i], &length[i], rest);
    }
    if (!is_digits(part[4], length[4])) return false;
    do { /* the timestamp may have more parts */
        if (!rest) return false;
        rest = take_part(&direction, &direction_length, rest);
    } while (is_digits(direction, direction_length));
    if (!rest || !is_direction(direction, direction_length)) return false;
    /* direction[.n...].slot.format[.npy]: the format and what is behind it are not in the key */
    const char *end = name + strlen(name);
    if (ends_with(name, ".npy")) end -= 4;
    const char *format = memrchr(direction, '.', (size_t)(end - direction));
    if (!format || format <= direction + direction_length) return false;
    int written = snprintf(key, bytes, "%.*s.%.*s.%.*s", (int)length[1], part[1], (int)length[2],
                           part[2], (int)(format - direction), direction);
    *timestamp = strtoull(part[4], NULL, 10);
    return written > 0 && (size_t)written < bytes;
}

/* ---- data ------------------------------------------------------------------------------- */

struct list_reader {
    struct kernel_list *out;
    struct arena *arena;
    struct text_pool texts;
    struct file_policy policy;
    struct text_table stored; /* names that mapping.csv translates */
    const char **real;        /* by their number */
    size_t real_room;
};

static struct status add_data(struct list_reader *reader, const struct kernel_data *data)
{
    struct kernel_list *out = reader->out;
    TRY(array_make_room(&out->items, &out->room, out->count, sizeof *out->items));
    out->items[out->count++] = *data;
    return status_ok();
}

static struct status pool_text(const char **out, struct list_reader *reader, struct csv_text text)
{
    *out = text_pool_copy(&reader->texts, text.bytes, text.length);
    return *out ? status_ok() : status_no_memory(text.length);
}

/* What a function does with a row of a CSV file; the first is number 1. */
typedef struct status row_reader(struct list_reader *reader, const struct csv_row *row,
                                 void *context);

static struct status read_csv(struct list_reader *reader, const char *path, row_reader *take,
                              void *context)
{
    struct file file = FILE_NONE;
    struct csv_reader csv;
    struct csv_row row;
    bool more = true;

    TRY(file_open_read(&file, path, reader->policy));
    struct status status = csv_open_file(&csv, &file, NULL);
    while (!status.code && more) {
        status = csv_next(&csv, &row, &more);
        if (!status.code && more) status = take(reader, &row, context);
    }
    csv_close(&csv);
    (void)file_close(&file);
    return status;
}

static struct status take_translation(struct list_reader *reader, const struct csv_row *row,
                                      void *context)
{
    uint32_t number;

    (void)context;
    if (row->number == 1 || row->count < 2) return status_ok();
    TRY(text_table_add(&number, NULL, &reader->stored, row->cells[0].bytes, row->cells[0].length));
    TRY(array_make_room(&reader->real, &reader->real_room, number, sizeof *reader->real));
    return pool_text(&reader->real[number], reader, row->cells[1]);
}

/* The real name of a file: mapping.csv may leave the suffix out. */
static const char *real_name(const struct list_reader *reader, const char *name)
{
    uint32_t number = text_table_find(&reader->stored, name, strlen(name));
    if (number == TEXT_NONE)
        number = text_table_find(&reader->stored, name, strlen(name) - strlen(".npy"));
    return number == TEXT_NONE ? name : reader->real[number];
}

static struct status add_file(struct list_reader *reader, const char *folder, const char *name)
{
    char key[MAX_KEY];
    const char *real = real_name(reader, name);
    struct kernel_data data = { .dtype = "", .shape = "" };

    if (!kernel_name_split(key, sizeof key, &data.timestamp, real)) {
        reader->out->ignored++;
        return status_ok();
    }
    data.key = text_pool_copy(&reader->texts, key, strlen(key));
    data.name = text_pool_copy(&reader->texts, real, strlen(real));
    data.path = arena_format(reader->arena, "%s/%s", folder, name);
    if (!data.key || !data.name || !data.path) return status_no_memory(0);
    return add_data(reader, &data);
}

static struct status read_files(struct list_reader *reader, const char *folder)
{
    struct directory_names names;
    const char *mapping = arena_format(reader->arena, "%s/mapping.csv", folder);

    if (!mapping) return status_no_memory(0);
    text_table_release(&reader->stored);
    TRY(text_table_create(&reader->stored));
    if (file_exists(mapping)) TRY(read_csv(reader, mapping, take_translation, NULL));
    TRY(directory_list(&names, folder, MAX_NAMES));
    struct status status = status_ok();
    for (size_t i = 0; i < names.count && !status.code; i++)
        if (ends_with(names.items[i], ".npy")) status = add_file(reader, folder, names.items[i]);
    directory_release(&names);
    return status;
}

/* Where the columns of a statistic.csv stand. */
struct statistic_columns {
    const char *path;
    size_t dtype, shape, statistic[KERNEL_STATISTICS];
};

static size_t find_column(const struct csv_row *header, const char *name)
{
    size_t i = 0;
    while (i < header->count && !csv_text_equal(header->cells[i], name)) i++;
    return i < header->count ? i : SIZE_MAX;
}

static struct status read_header(struct statistic_columns *columns, const struct csv_row *row)
{
    static const char *const names[] = { "Max Value", "Min Value", "Avg Value", "L2Norm Value" };
    enum { LEAST = 13 };
    if (row->count < LEAST)
        return status_error(STATUS_BAD_INPUT, "%s has fewer than 13 columns",
                            file_shown(columns->path).text);
    columns->dtype = find_column(row, "Data Type");
    columns->shape = find_column(row, "Shape");
    for (int i = 0; i < KERNEL_STATISTICS; i++) columns->statistic[i] = find_column(row, names[i]);
    return status_ok();
}

/* null and False are 0, True is 1; what is no number is nan. */
static double statistic_value(struct csv_text cell)
{
    double value;
    if (csv_text_equal(cell, "null") || csv_text_equal(cell, "False")) return 0;
    if (csv_text_equal(cell, "True")) return 1;
    return csv_read_number(&value, cell) ? value : NAN;
}

static struct status take_statistic(struct list_reader *reader, const struct csv_row *row,
                                    void *context)
{
    enum { NAME = 1, TASK = 2, TIME = 4, DIRECTION = 5, SLOT = 6 };
    struct statistic_columns *columns = context;
    struct kernel_data data = { .path = columns->path, .dtype = "", .shape = "" };
    const struct csv_text *cells = row->cells;
    double timestamp;

    if (row->number == 1) return read_header(columns, row);
    if (row->count <= SLOT) return status_ok();
    const char *key = arena_format(reader->arena, "%.*s.%.*s.%.*s.%.*s", (int)cells[NAME].length,
                                   cells[NAME].bytes, (int)cells[TASK].length, cells[TASK].bytes,
                                   (int)cells[DIRECTION].length, cells[DIRECTION].bytes,
                                   (int)cells[SLOT].length, cells[SLOT].bytes);
    if (!key) return status_no_memory(0);
    data.key = data.name = key;
    if (csv_read_number(&timestamp, cells[TIME]) && timestamp >= 0 && timestamp < 1e18)
        data.timestamp = (uint64_t)timestamp;
    if (columns->dtype < row->count) TRY(pool_text(&data.dtype, reader, cells[columns->dtype]));
    if (columns->shape < row->count) TRY(pool_text(&data.shape, reader, cells[columns->shape]));
    for (int i = 0; i < KERNEL_STATISTICS; i++) {
        data.has_statistic[i] = columns->statistic[i] < SIZE_MAX;
        data.statistic[i] = columns->statistic[i] < row->count
                                ? statistic_value(cells[columns->statistic[i]])
                                : NAN;
    }
    return add_data(reader, &data);
}

static struct status read_statistics(struct list_reader *reader, const char *folder)
{
    struct statistic_columns columns = { .path = arena_format(reader->arena, "%s/statistic.csv",
                                                              folder) };
    if (!columns.path) return status_no_memory(0);
    return read_csv(reader, columns.path, take_statistic, &columns);
}

static int by_key(const void *a, const void *b)
{
    const struct kernel_data *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    if (order) return order;
    if (x->timestamp != y->timestamp) return x->timestamp < y->timestamp ? -1 : 1;
    order = strcmp(x->path, y->path);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* In order, numbered within their keys. */
static void number_data(struct kernel_list *list)
{
    for (size_t i = 0; i < list->count; i++) list->items[i].number = i; /* as they came */
    if (list->count) qsort(list->items, list->count, sizeof *list->items, by_key);
    for (size_t i = 0; i < list->count; i++) {
        bool first = !i || strcmp(list->items[i - 1].key, list->items[i].key) != 0;
        list->items[i].number = first ? 0 : list->items[i - 1].number + 1;
    }
}

struct status kernel_list_read(struct kernel_list *out, struct arena *arena,
                               const struct kernel_folder *folders, size_t n,
                               struct file_policy policy)
{
    struct list_reader reader = { .out = out, .arena = arena, .policy = policy };
    struct status status = status_ok();

    *out = (struct kernel_list){ 0 };
    reader.texts.arena = arena;
    for (size_t i = 0; i < n && !status.code; i++)
        status = folders[i].kind == KERNEL_NPY ? read_files(&reader, folders[i].path)
                                               : read_statistics(&reader, folders[i].path);
    if (!status.code) number_data(out);
    text_table_release(&reader.stored);
    memory_release(reader.real);
    return status;
}
