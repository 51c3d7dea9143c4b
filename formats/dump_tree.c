/* A walk that is bounded in depth: dumps lie at most two folders deep, their data beside them. */
#include "formats/dump_tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/directory.h"
#include "core/growing.h"
#include "core/memory.h"

enum { DEPTH_MAX = 4, NAMES_MAX = 1000000, DUMPS_MAX = 1000000 };

struct walk {
    struct dump_tree *tree;
    struct arena *arena;
    const struct dump_tree_filter *filter;
    struct file_policy policy;
    size_t room;
};

/* The number behind `prefix` in a name such as rank12; false when it is no such name. */
static bool numbered(int64_t *number, const char *name, const char *prefix)
{
    enum { MOST_DIGITS = 9 };
    size_t length = strlen(prefix),
           digits =
               strspn(name + (strncmp(name, prefix, length) ? strlen(name) : length), "0123456789");
    if (!digits || digits > MOST_DIGITS || name[length + digits]) return false;
    *number = strtol(name + length, NULL, 10);
    return true;
}

/* What the name of a folder says about the dumps below it. */
static void read_folder_name(struct dump_place *place, const char *name)
{
    if (numbered(&place->step, name, "step")) return;
    if (!numbered(&place->rank, name, "rank")) (void)numbered(&place->rank, name, "proc");
}

static bool is_wanted(const struct dump_tree_filter *filter, const struct dump_place *place)
{
    return number_ranges_hold(&filter->steps, place->step) &&
           number_ranges_hold(&filter->ranks, place->rank);
}

/* The items double in the arena; what they leave behind is as much as they are. */
static struct status add_place(struct walk *walk, const struct dump_place *place)
{
    struct dump_tree *tree = walk->tree;
    if (tree->count == DUMPS_MAX)
        return status_error(STATUS_BAD_INPUT, "there are more than %d dumps", DUMPS_MAX);
    TRY(array_make_room_in(walk->arena, &tree->items, &walk->room, tree->count,
                           sizeof *tree->items));
    tree->items[tree->count++] = *place;
    return status_ok();
}

static struct status visit(struct walk *walk, const struct dump_place *above, const char *directory,
                           int depth);

/* A name in a directory: a dump, a folder to look into, or nothing of ours. */
static struct status visit_name(struct walk *walk, const struct dump_place *above,
                                const char *directory, const char *name, int depth)
{
    size_t length = strlen(directory);
    const char *slash = length && directory[length - 1] == '/' ? "" : "/";
    struct dump_place place = *above;
    struct stat info;
    place.path = arena_format(walk->arena, "%s%s%s", directory, slash, name);
    if (!place.path) return status_no_memory(0);
    if (!strcmp(name, "dump.json")) {
        place.bytes = !stat(place.path, &info) && info.st_size > 0 ? (uint64_t)info.st_size : 0;
        walk->tree->all++;
        return is_wanted(walk->filter, &place) ? add_place(walk, &place) : status_ok();
    }
    if (depth == DEPTH_MAX || !strcmp(name, "dump_tensor_data") ||
        !directory_may_enter(place.path, walk->policy))
        return status_ok();
    place.folder =
        arena_format(walk->arena, "%s%s%s", above->folder, *above->folder ? "/" : "", name);
    if (!place.folder) return status_no_memory(0);
    read_folder_name(&place, name);
    return visit(walk, &place, place.path, depth + 1);
}

static struct status visit(struct walk *walk, const struct dump_place *above, const char *directory,
                           int depth)
{
    struct directory_names names;
    TRY(directory_list(&names, directory, NAMES_MAX));
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < names.count; i++)
        status = visit_name(walk, above, directory, names.items[i], depth);
    directory_release(&names);
    return status;
}

struct status dump_tree_find(struct dump_tree *out, struct arena *arena, const char *directory,
                             const struct dump_tree_filter *filter, struct file_policy policy)
{
    *out = (struct dump_tree){ .count = 0 };
    const struct dump_place root = { .folder = "", .step = -1, .rank = -1 };
    struct walk walk = { .tree = out, .arena = arena, .filter = filter, .policy = policy };
    return visit(&walk, &root, directory, 0);
}
