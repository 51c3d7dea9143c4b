/* Lists the folder and reads the rank out of each name. */
#include "compare/merge/rank_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/directory.h"
#include "core/file.h"

enum { MAX_NAMES = 1 << 16, STAMP_DIGITS = 14 };
#define PREFIX "compare_result_rank"
#define SUFFIX ".xlsx"

enum name_kind { NAME_RANK, NAME_SINGLE, NAME_OTHER };

/* A rank's number, at most nine digits; false when there is none. */
static bool take_number(uint32_t *rank, const char **at)
{
    size_t digits = strspn(*at, "0123456789");
    if (!digits || digits > 9) return false;
    *rank = (uint32_t)strtoul(*at, NULL, 10);
    *at += digits;
    return true;
}

/* "_20260101120000.xlsx" to the end. */
static bool is_stamp(const char *at)
{
    return *at == '_' && strspn(at + 1, "0123456789") == STAMP_DIGITS &&
           !strcmp(at + 1 + STAMP_DIGITS, SUFFIX);
}

static enum name_kind classify(uint32_t *rank, const char *name)
{
    const char *at = name + strlen(PREFIX);
    uint32_t bench;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return NAME_OTHER;
    bool numbered = take_number(rank, &at);
    if (!strncmp(at, "-rank", 5)) {
        at += 5;
        if (take_number(&bench, &at) != numbered) return NAME_OTHER;
    }
    if (!is_stamp(at)) return NAME_OTHER;
    return numbered ? NAME_RANK : NAME_SINGLE;
}

static bool is_workbook(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SUFFIX);
    return length >= suffix && !strcmp(name + length - suffix, SUFFIX);
}

static int by_rank(const void *a, const void *b)
{
    const struct rank_file *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static struct status add_name(struct rank_files *out, struct arena *arena, const char *directory,
                              const char *name, struct warnings warnings)
{
    uint32_t rank = 0;

    if (!is_workbook(name)) return status_ok();
    switch (classify(&rank, name)) {
    case NAME_SINGLE:
        warn(warnings, "%s compares a single card; it is left out", file_shown(name).text);
        return status_ok();
    case NAME_OTHER:
        return status_error(STATUS_BAD_INPUT,
                            "'%s' in %s is no result of a multi-rank comparison (" PREFIX
                            "{N}_{time}" SUFFIX "); take it away",
                            file_shown(name).text, file_shown(directory).text);
    default: break;
    }
    const char *path = arena_format(arena, "%s/%s", directory, name);
    if (!path) return status_no_memory(0);
    out->items[out->count++] = (struct rank_file){ path, rank };
    return status_ok();
}

static struct status check_ranks(const struct rank_files *files, const char *directory)
{
    for (size_t i = 1; i < files->count; i++)
        if (files->items[i - 1].rank == files->items[i].rank)
            return status_error(STATUS_BAD_INPUT, "%s has two results of rank %u; take one away",
                                file_shown(directory).text, (unsigned)files->items[i].rank);
    if (files->count < 2)
        return status_error(STATUS_BAD_INPUT,
                            "%s has %s of a multi-rank comparison; two are needed",
                            file_shown(directory).text, files->count ? "one result" : "no result");
    return status_ok();
}

struct status rank_files_find(struct rank_files *out, struct arena *arena, const char *directory,
                              struct warnings warnings)
{
    struct directory_names names;
    struct rank_files files = { 0 };

    TRY(directory_list(&names, directory, MAX_NAMES));
    files.items = arena_allocate_array(arena, names.count, sizeof *files.items);
    struct status status = files.items ? status_ok() : status_no_memory(0);
    for (size_t i = 0; !status.code && i < names.count; i++)
        status = add_name(&files, arena, directory, names.items[i], warnings);
    directory_release(&names);
    TRY(status);
    qsort(files.items, files.count, sizeof *files.items, by_rank);
    TRY(check_ranks(&files, directory));
    *out = files;
    return status_ok();
}
