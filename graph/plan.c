/* Looks at folders by the names of what they hold. */
#include "graph/plan.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/growing.h"
#include "core/memory.h"

/* ---- what a folder holds ------------------------------------------------------------------------ */

struct numbered {
    unsigned number;
    bool bare; /* "rank" without a number */
};

/* Sub-folders of a folder that are named as ranks or as steps. */
struct listing {
    enum folder_kind kind;
    struct numbered *items;
    size_t count, room;
    size_t folders, files;
    bool has_tensors;         /* dump_tensor_data */
    char other[NAME_MAX + 1]; /* a folder that is named otherwise */
    size_t ranks, steps;
};

static bool is_folder(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat info;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && length < PATH_MAX && !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* "rank12" is 12 of the prefix "rank"; the prefix alone is a bare one. */
static bool read_numbered(struct numbered *out, const char *name, const char *prefix)
{
    enum { MOST_DIGITS = 9 };
    size_t length = strlen(prefix), digits = 0;
    if (strncmp(name, prefix, length)) return false;
    *out = (struct numbered){ .bare = !name[length] };
    for (const char *at = name + length; *at; at++, digits++) {
        if (*at < '0' || *at > '9' || digits == MOST_DIGITS) return false;
        out->number = out->number * 10 + (unsigned)(*at - '0');
    }
    return true;
}

static struct status add_item(struct listing *list, struct numbered item)
{
    TRY(array_make_room(&list->items, &list->room, list->count, sizeof *list->items));
    list->items[list->count++] = item;
    return status_ok();
}

static struct status add_folder(struct listing *list, const char *name)
{
    struct numbered item;
    list->folders++;
    if (!strcmp(name, "dump_tensor_data")) {
        list->has_tensors = true;
        return status_ok();
    }
    if (read_numbered(&item, name, "rank")) list->ranks++;
    else if (read_numbered(&item, name, "step") && !item.bare) list->steps++;
    else {
        (void)snprintf(list->other, sizeof list->other, "%s", name);
        return status_ok();
    }
    return add_item(list, item);
}

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->bare != y->bare) return x->bare ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static struct status read_folder(struct listing *out, const char *folder)
{
    DIR *directory = opendir(folder);
    struct status status = status_ok();
    const struct dirent *entry;

    *out = (struct listing){ .count = 0 };
    if (!directory)
        return status_error(STATUS_BAD_INPUT, "cannot open '%s': %s", file_shown(folder).text,
                            strerror(errno));
    while (!status.code && (entry = readdir(directory))) { // NOLINT(concurrency-mt-unsafe)
        if (entry->d_name[0] == '.') continue;
        if (is_folder(folder, entry->d_name)) status = add_folder(out, entry->d_name);
        else out->files++;
    }
    (void)closedir(directory);
    if (out->count) qsort(out->items, out->count, sizeof *out->items, by_number);
    return status;
}

static struct status decide_kind(struct listing *list, const char *folder)
{
    const char *shown = file_shown(folder).text;
    if (!list->folders && !list->files)
        return status_error(STATUS_BAD_INPUT, "'%s' is empty", shown);
    if (list->has_tensors || !list->folders) list->kind = FOLDER_RANK;
    else if (list->ranks == list->folders) list->kind = FOLDER_RANKS;
    else if (list->steps == list->folders) list->kind = FOLDER_STEPS;
    else
        return status_error(STATUS_BAD_INPUT,
                            "'%s' holds neither a dump nor folders of ranks or steps alone: "
                            "'%s' is none",
                            shown, *list->other ? list->other : "a mixture of ranks and steps");
    return status_ok();
}

static struct status list_folder(struct listing *out, const char *folder)
{
    struct status status = read_folder(out, folder);
    if (!status.code) status = decide_kind(out, folder);
    if (status.code) memory_release(out->items);
    return status;
}

/* ---- tasks ---------------------------------------------------------------------------------------- */

static struct status join_path(char path[PATH_MAX], const char *folder, const char *prefix,
                               struct numbered item)
{
    char number[16] = "";
    if (!item.bare) (void)snprintf(number, sizeof number, "%u", item.number);
    int length = snprintf(path, PATH_MAX, "%s/%s%s", folder, prefix, number);
    if (length > 0 && length < PATH_MAX) return status_ok();
    return status_error(STATUS_BAD_INPUT, "'%s' is too long a path", file_shown(folder).text);
}

static struct status add_task(struct graph_plan *plan, const char *npu, const char *bench,
                              unsigned step, unsigned rank)
{
    TRY(array_make_room(&plan->tasks, &plan->room, plan->count, sizeof *plan->tasks));
    struct graph_task *task = &plan->tasks[plan->count++];
    *task = (struct graph_task){ .npu = memory_copy_string(npu), .step = step, .rank = rank };
    if (bench) task->bench = memory_copy_string(bench);
    return task->npu && (!bench || task->bench) ? status_ok() : status_no_memory(strlen(npu));
}

static bool has_item(const struct listing *list, struct numbered item)
{
    return bsearch(&item, list->items, list->count, sizeof item, by_number) != NULL;
}

/* The names that both sides have; all of one side when there is no other. */
static void intersect(struct graph_plan *plan, struct listing *npu, const struct listing *bench)
{
    size_t kept = 0;
    for (size_t i = 0; i < npu->count; i++)
        if (has_item(bench, npu->items[i])) npu->items[kept++] = npu->items[i];
    plan->left_out += npu->count - kept + (bench->count - kept);
    npu->count = kept;
}

static struct status list_both(struct graph_plan *plan, struct listing *out, const char *npu,
                               const char *bench)
{
    struct listing other;
    TRY(list_folder(out, npu));
    if (!bench) return status_ok();
    struct status status = list_folder(&other, bench);
    if (!status.code) {
        if (other.kind != out->kind)
            status = status_error(STATUS_BAD_INPUT,
                                  "'%s' and '%s' are not of one kind: a dump, folders of ranks, or "
                                  "folders of steps",
                                  npu, bench);
        else intersect(plan, out, &other);
        if (!status.code && out->kind != FOLDER_RANK && !out->count)
            status = status_error(STATUS_BAD_INPUT, "'%s' and '%s' have no %s in common", npu,
                                  bench, out->kind == FOLDER_RANKS ? "rank" : "step");
        memory_release(other.items);
    }
    if (status.code) memory_release(out->items);
    return status;
}

static struct status add_folders(struct graph_plan *plan, const char *npu, const char *bench,
                                 unsigned step, bool top);

static struct status add_below(struct graph_plan *plan, const struct listing *list, size_t i,
                               const char *npu, const char *bench, unsigned step)
{
    char npu_path[PATH_MAX], bench_path[PATH_MAX];
    const char *prefix = list->kind == FOLDER_RANKS ? "rank" : "step";
    TRY(join_path(npu_path, npu, prefix, list->items[i]));
    if (bench) TRY(join_path(bench_path, bench, prefix, list->items[i]));
    if (list->kind == FOLDER_RANKS)
        return add_task(plan, npu_path, bench ? bench_path : NULL, step, list->items[i].number);
    return add_folders(plan, npu_path, bench ? bench_path : NULL, list->items[i].number, false);
}

static struct status add_folders(struct graph_plan *plan, const char *npu, const char *bench,
                                 unsigned step, bool top)
{
    struct listing list;
    TRY(list_both(plan, &list, npu, bench));
    struct status status = status_ok();
    if (top) plan->kind = list.kind;
    else if (list.kind == FOLDER_STEPS)
        status = status_error(STATUS_BAD_INPUT, "'%s' holds steps within a step", npu);
    if (!status.code && list.kind == FOLDER_RANK) status = add_task(plan, npu, bench, step, 0);
    for (size_t i = 0; !status.code && list.kind != FOLDER_RANK && i < list.count; i++)
        status = add_below(plan, &list, i, npu, bench, step);
    memory_release(list.items);
    return status;
}

struct status graph_plan_make(struct graph_plan *out, const char *npu, const char *bench)
{
    *out = (struct graph_plan){ .count = 0 };
    struct status status = add_folders(out, npu, bench, 0, true);
    if (status.code) graph_plan_release(out);
    return status;
}

void graph_plan_release(struct graph_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        memory_release(plan->tasks[i].npu);
        memory_release(plan->tasks[i].bench);
    }
    memory_release(plan->tasks);
    *plan = (struct graph_plan){ .count = 0 };
}
