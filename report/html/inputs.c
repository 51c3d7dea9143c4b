/* Finds the files of a run by their names and time stamps. */
#include "report/html/inputs.h"

#include <stdio.h>
#include <string.h>

#include "core/directory.h"
#include "core/file.h"
#include "core/growing.h"
#include "core/memory.h"
#include "report/html/table_rows.h"

enum { DEEPEST = 6, NAMES_MOST = 100000 };

void inputs_release(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        struct input *input = &inputs->items[i];
        memory_release(input->label);
        memory_release(input->key);
        for (int part = 0; part < INPUT_PARTS; part++) memory_release(input->paths[part]);
    }
    memory_release(inputs->items);
    *inputs = (struct inputs){ NULL, 0, 0 };
}

/* ---- what a file is --------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct recognised {
    bool known;
    enum input_part part;
    const struct layout *layout; /* of CSV files */
};

static struct status recognise_table(struct recognised *out, const char *path,
                                     struct file_policy policy)
{
    struct table_rows table;
    struct csv_row header;
    bool more = false;
    struct status status = table_rows_open(&table, path, policy);
    if (!status.code) status = table_rows_next(&table, &header, &more);
    if (!status.code && more) out->layout = layout_of_header(&header);
    table_rows_close(&table);
    out->known = out->layout != NULL;
    if (out->known)
        out->part = out->layout == &layouts[LAYOUT_RESULT]    ? PART_CALLS
                    : out->layout == &layouts[LAYOUT_TIMINGS] ? PART_TIMINGS
                                                              : PART_ROWS;
    return status;
}

/* The first bytes tell our JSON files: a line of evidence, a run file. */
static struct status recognise_json(struct recognised *out, const struct file *file)
{
    static const char evidence[] = "{\"name\":\"", run[] = "\"dump_digest\"",
                      online[] = "\"online\"";
    char start[512];
    size_t got;
    TRY(file_read_at(&got, file, start, sizeof start - 1, 0));
    start[got] = '\0';
    bool lines = ends_with(file->path, ".jsonl");
    out->part = lines ? PART_EVIDENCE : PART_RUN;
    out->known = lines ? !got || !strncmp(start, evidence, sizeof evidence - 1)
                       : strstr(start, run) != NULL || strstr(start, online) != NULL;
    return status_ok();
}

static struct status recognise(struct recognised *out, const char *path, struct file_policy policy)
{
    struct file file;
    *out = (struct recognised){ .known = false };
    if (table_rows_suffix(path)) return recognise_table(out, path, policy);
    if (!ends_with(path, ".json") && !ends_with(path, ".jsonl")) return status_ok();
    TRY(file_open_read(&file, path, policy));
    struct status status = recognise_json(out, &file);
    (void)file_close(&file);
    return status;
}

/* ---- putting files together --------------------------------------------------------------------- */

/* The path without the word of its kind and its suffix; all of it for timings. */
static struct status make_key(char **out, const char *path, enum input_part part)
{
    static const char *const words[] = { "details", "evidence", "result", "run" };
    char *key = memory_copy_string(path);
    if (!key) return status_no_memory(strlen(path) + 1);
    *out = key;
    if (part == PART_TIMINGS) return status_ok();
    char *base = key + (base_name(path) - path), *dot = strrchr(base, '.');
    if (dot) *dot = '\0';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char *word = strstr(base, words[i]);
        if (!word) continue;
        *word = '*';
        memmove(word + 1, word + strlen(words[i]), strlen(word + strlen(words[i])) + 1);
        break;
    }
    return status_ok();
}

static struct status add_input(struct inputs *inputs, struct input input)
{
    if (inputs->count == INPUTS_MOST)
        return status_error(STATUS_BAD_INPUT, "these are more than %d runs", (int)INPUTS_MOST);
    TRY(array_make_room(&inputs->items, &inputs->capacity, inputs->count, sizeof *inputs->items));
    inputs->items[inputs->count++] = input;
    return status_ok();
}

/* A file of a kind that the input has not got yet joins it. */
static struct status add_file(struct inputs *inputs, const char *path, struct recognised file)
{
    char *key = NULL, *copy = memory_copy_string(path);
    if (!copy) return status_no_memory(strlen(path) + 1);
    struct status status = make_key(&key, path, file.part);
    struct input *input = NULL;
    for (size_t i = 0; !status.code && !input && i < inputs->count; i++)
        if (!strcmp(inputs->items[i].key, key)) input = &inputs->items[i];
    if (!status.code && input && !input->paths[file.part]) {
        input->paths[file.part] = copy;
        if (file.part == PART_ROWS) input->layout = file.layout;
        memory_release(key);
        return status_ok();
    }
    if (!status.code && !input) {
        struct input fresh = { .key = key, .layout = file.part == PART_ROWS ? file.layout : NULL };
        fresh.paths[file.part] = copy;
        status = add_input(inputs, fresh);
        if (!status.code) return status_ok();
    }
    memory_release(key); /* named twice */
    memory_release(copy);
    return status;
}

static struct status add_path(struct inputs *inputs, const char *path, bool named, int depth,
                              struct file_policy policy);

static struct status add_directory(struct inputs *inputs, const char *path, int depth,
                                   struct file_policy policy)
{
    struct directory_names names;
    TRY(directory_list(&names, path, NAMES_MOST));
    struct status status = status_ok();
    size_t length = strlen(path);
    const char *slash = length && path[length - 1] == '/' ? "" : "/";
    for (size_t i = 0; !status.code && i < names.count; i++) {
        size_t bytes = length + strlen(names.items[i]) + 2;
        char *inner = memory_allocate(bytes);
        if (!inner) {
            status = status_no_memory(bytes);
            break;
        }
        (void)snprintf(inner, bytes, "%s%s%s", path, slash, names.items[i]);
        status = add_path(inputs, inner, false, depth + 1, policy);
        memory_release(inner);
    }
    directory_release(&names);
    return status;
}

static struct status add_path(struct inputs *inputs, const char *path, bool named, int depth,
                              struct file_policy policy)
{
    struct recognised file;
    if (directory_exists(path))
        return depth < DEEPEST ? add_directory(inputs, path, depth, policy) : status_ok();
    TRY(recognise(&file, path, policy));
    if (file.known) return add_file(inputs, path, file);
    if (!named) return status_ok();
    if (!file_exists(path))
        return status_error(STATUS_BAD_INPUT, "there is no '%s'", file_shown(path).text);
    return status_error(STATUS_BAD_INPUT,
                        "'%s' is no result file: its header is that of no kind of result, details, "
                        "timings or comparison, and it is neither evidence nor a run file",
                        file_shown(path).text);
}

/* ---- making sense of what was found --------------------------------------------------------------- */

static size_t directory_length(const char *path) { return (size_t)(base_name(path) - path); }

static bool same_directory(const char *a, const char *b)
{
    size_t length = directory_length(a);
    return length == directory_length(b) && strncmp(a, b, length) == 0;
}

static bool has_rows(const struct input *input)
{
    return input->paths[PART_ROWS] || input->paths[PART_CALLS];
}

static const char *any_path(const struct input *input)
{
    for (int part = 0; part < INPUT_PARTS; part++)
        if (input->paths[part]) return input->paths[part];
    return "";
}

/* The run that a file of timings is about: the only one in its directory, or of all. */
static struct input *run_of_timings(struct inputs *inputs, const char *path)
{
    struct input *beside = NULL, *any = NULL;
    size_t n_beside = 0, n_any = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        struct input *input = &inputs->items[i];
        if (!input->paths[PART_ROWS] || !layout_is_of_run(input->layout)) continue;
        any = input;
        n_any++;
        if (!same_directory(input->paths[PART_ROWS], path)) continue;
        beside = input;
        n_beside++;
    }
    struct input *run = n_beside == 1 ? beside : n_any == 1 ? any : NULL;
    return run && !run->paths[PART_TIMINGS] ? run : NULL;
}

/* Take away the input at `i`, whose texts have been handed over or released. */
static void remove_input(struct inputs *inputs, size_t i)
{
    memory_release(inputs->items[i].key);
    for (int part = 0; part < INPUT_PARTS; part++) memory_release(inputs->items[i].paths[part]);
    memmove(&inputs->items[i], &inputs->items[i + 1],
            (inputs->count - i - 1) * sizeof inputs->items[0]);
    inputs->count--;
}

static bool is_named(const char *path, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(paths[i], path)) return true;
    return false;
}

/* Timings join their run. What has no rows of its own cannot be shown; it is an error when it was named,
 * and left alone in a directory, where anything may lie. */
static struct status join_parts(struct inputs *inputs, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < inputs->count;) {
        struct input *input = &inputs->items[i];
        if (has_rows(input)) {
            if (!input->paths[PART_ROWS]) {
                input->paths[PART_ROWS] = input->paths[PART_CALLS];
                input->paths[PART_CALLS] = NULL;
                input->layout = &layouts[LAYOUT_RESULT];
            }
            i++;
            continue;
        }
        struct input *run =
            input->paths[PART_TIMINGS] ? run_of_timings(inputs, input->paths[PART_TIMINGS]) : NULL;
        if (run) {
            run->paths[PART_TIMINGS] = input->paths[PART_TIMINGS];
            input->paths[PART_TIMINGS] = NULL;
        } else if (is_named(any_path(input), paths, count)) {
            return status_error(
                STATUS_BAD_INPUT,
                "'%s' belongs to none of the runs; name the details file of its run too",
                file_shown(any_path(input)).text);
        }
        remove_input(inputs, i);
    }
    return status_ok();
}

/* Where the last `components` directories of a path begin. */
static const char *last_directories(const char *path, size_t components)
{
    const char *from = path + directory_length(path);
    for (; components && from > path; components--)
        for (from--; from > path && from[-1] != '/';) from--;
    return from;
}

/* Do the last `components` directories tell all directories apart? */
static bool tells_apart(const struct inputs *inputs, size_t components)
{
    for (size_t i = 1; i < inputs->count; i++)
        for (size_t j = 0; j < i; j++) {
            const char *a = any_path(&inputs->items[i]), *b = any_path(&inputs->items[j]);
            if (!same_directory(a, b) &&
                same_directory(last_directories(a, components), last_directories(b, components)))
                return false;
        }
    return true;
}

/* As few directories as tell all inputs apart: of out/step0/rank1 and out/step1/rank1 two. */
static size_t label_directories(const struct inputs *inputs)
{
    enum { MOST = 16, FEW = 64 };
    size_t components = 1;
    /* Comparing every pair is for as many as a person looks at. */
    if (inputs->count > FEW) return MOST;
    while (components < MOST && !tells_apart(inputs, components)) components++;
    return components;
}

/* What is particular in the names of an input's files: 20261120192933 of
 * accuracy_checking_*_20261120192933. */
static const char *particular_name(const struct input *input)
{
    const char *base = base_name(input->key), *star = strstr(base, "*_");
    return star ? star + 2 : base;
}

/* What tells the input from the others: its last directories, and what is particular in its names
 * where several lie in one directory. */
static struct status make_label(struct inputs *inputs, size_t at, size_t components)
{
    struct input *input = &inputs->items[at];
    const char *path = any_path(input), *from = last_directories(path, components);
    bool shared = false;
    for (size_t i = 0; i < inputs->count; i++)
        if (i != at && same_directory(any_path(&inputs->items[i]), path)) shared = true;
    size_t length = directory_length(from);
    if (length) length--; /* its slash */
    bool named = shared || !length || !strncmp(from, "./", length + 1);
    size_t bytes = strlen(path) + strlen(input->key) + 2;
    input->label = memory_allocate(bytes);
    if (!input->label) return status_no_memory(bytes);
    if (named && !shared) length = 0;
    (void)snprintf(input->label, bytes, "%.*s%s%s", (int)length, from, length && named ? "/" : "",
                   named ? particular_name(input) : "");
    return status_ok();
}

struct status inputs_find(struct inputs *out, const char *const *paths, size_t count,
                          struct file_policy policy)
{
    *out = (struct inputs){ NULL, 0, 0 };
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < count; i++)
        status = add_path(out, paths[i], true, 0, policy);
    if (!status.code) status = join_parts(out, paths, count);
    if (!status.code && !out->count)
        status = status_error(
            STATUS_BAD_INPUT,
            "there is nothing to report in '%s': no result, details or comparison file",
            count ? file_shown(paths[0]).text : ".");
    size_t components = status.code ? 0 : label_directories(out);
    for (size_t i = 0; !status.code && i < out->count; i++) status = make_label(out, i, components);
    if (status.code) inputs_release(out);
    return status;
}
