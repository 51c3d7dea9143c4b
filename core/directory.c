/* Directory listings go through the hook of core/file.h, as the opening of a file does. */
#include "core/directory.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/growing.h"
#include "core/memory.h"

bool directory_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

void directory_remove(const char *path)
{
    enum { OPEN_MOST = 16 };
    (void)nftw(path, remove_entry, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
}

bool directory_may_enter(const char *path, struct file_policy policy)
{
    struct stat info;
    bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    return directory_exists(path) && (!is_link || policy.trusted);
}

void directory_release(struct directory_names *names)
{
    for (size_t i = 0; i < names->count; i++) memory_release(names->items[i]);
    memory_release(names->items);
    *names = (struct directory_names){ NULL, 0 };
}

static int compare_names(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strverscmp(*x, *y);
}

static struct status add_name(struct directory_names *names, size_t *capacity, const char *name)
{
    TRY(array_make_room(&names->items, capacity, names->count, sizeof *names->items));
    char *copy = memory_copy_string(name);
    if (!copy) return status_no_memory(strlen(name) + 1);
    names->items[names->count++] = copy;
    return status_ok();
}

static struct status read_names(struct directory_names *names, DIR *directory, const char *path,
                                size_t most)
{
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory); /* NOLINT(concurrency-mt-unsafe) */
        if (!entry && errno)
            return status_error(STATUS_IO, "cannot list '%s': %s", file_shown(path).text,
                                strerror(errno)); /* NOLINT(concurrency-mt-unsafe) */
        if (!entry) return status_ok();
        if (entry->d_name[0] == '.') continue;
        if (names->count == most)
            return status_error(STATUS_BAD_INPUT, "'%s' holds more than %zu files",
                                file_shown(path).text, most);
        TRY(add_name(names, &capacity, entry->d_name));
    }
}

struct status directory_list(struct directory_names *out, const char *path, size_t most)
{
    *out = (struct directory_names){ NULL, 0 };
    errno = file_fault ? file_fault(FILE_OPEN, path) : 0;
    DIR *directory = errno > 0 ? NULL : opendir(path);
    if (!directory)
        return status_error(
            errno == ENOENT || errno == ENOTDIR || errno == EACCES ? STATUS_BAD_INPUT : STATUS_IO,
            "cannot list '%s': %s", file_shown(path).text,
            strerror(errno)); /* NOLINT(concurrency-mt-unsafe) */
    struct status status = read_names(out, directory, path, most);
    (void)closedir(directory);
    if (status.code) directory_release(out);
    else if (out->count) qsort(out->items, out->count, sizeof *out->items, compare_names);
    return status;
}
