/* Directories of results, compared whole: the same files with the same bytes, whatever second the
 * names tell. */
#ifndef PROBE_TESTS_RUNNER_TREES_H
#define PROBE_TESTS_RUNNER_TREES_H

#include <check.h>
#include <ctype.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/workspace.h"

struct tree_file {
    char name[160]; /* below the tree, T in the place of 14 digits */
    char path[320];
};

struct tree {
    struct tree_file files[64];
    size_t count, root_length;
};

static struct tree *tree_filled; /* by the visit, which gets no argument of ours */

static void tree_name(char *out, size_t room, const char *path)
{
    enum { DIGITS = 14 };
    size_t used = 0;
    while (*path && used + 1 < room) {
        size_t digits = strspn(path, "0123456789");
        if (digits == DIGITS) {
            out[used++] = 'T';
            path += DIGITS;
        } else {
            out[used++] = *path++;
        }
    }
    out[used] = '\0';
}

static int tree_visit(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info, (void)place;
    if (type == FTW_D) return 0;
    ck_assert_uint_lt(tree_filled->count, sizeof tree_filled->files / sizeof *tree_filled->files);
    struct tree_file *file = &tree_filled->files[tree_filled->count++];
    tree_name(file->name, sizeof file->name, path + tree_filled->root_length);
    snprintf(file->path, sizeof file->path, "%s", path);
    return 0;
}

static int tree_order(const void *a, const void *b)
{
    return strcmp(((const struct tree_file *)a)->name, ((const struct tree_file *)b)->name);
}

/* The files below a directory, by name; none when there is no such directory. */
__attribute__((unused)) static struct tree tree_read(const char *root)
{
    struct tree tree = { .root_length = strlen(root) };
    tree_filled = &tree;
    (void)nftw(root, tree_visit, 16, FTW_PHYS);
    qsort(tree.files, tree.count, sizeof tree.files[0], tree_order);
    return tree;
}

static int tree_remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info, (void)type, (void)place;
    return remove(path);
}

__attribute__((unused)) static void tree_remove(const char *root)
{
    (void)nftw(root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    ck_assert_int_ne(access(root, F_OK), 0);
}

static int tree_line_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text, sorted. */
static void tree_sort_lines(char *text)
{
    char *lines[512], *copy = strdup(text), *rest = copy;
    size_t count = 0, used = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        ck_assert_uint_lt(count, sizeof lines / sizeof *lines);
        lines[count++] = line;
    }
    qsort(lines, count, sizeof *lines, tree_line_order);
    for (size_t i = 0; i < count; i++)
        used += (size_t)sprintf(text + used, i ? "\n%s" : "%s", lines[i]);
    free(copy);
}

/* Run files end with what tells one run from another. */
static void tree_cut_about(const char *path, char *text, size_t *length)
{
    char *about = text && strstr(path, "accuracy_checking_run_") ? strstr(text, "\"about\":")
                                                                 : NULL;
    if (!about) return;
    *about = '\0';
    *length = (size_t)(about - text);
}

/* JUnit reports say when, with which command, and how long the calls took that were not done earlier. */
static void tree_cut_times(const char *path, char *text, size_t *length)
{
    static const char *const attributes[] = { " time=\"", " timestamp=\"",
                                              " name=\"command\" value=\"" };
    if (!text || !strstr(path, "junit.xml")) return;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        for (char *at = text; (at = strstr(at, attributes[i]));) {
            const char *end = strchr(at + strlen(attributes[i]), '"') + 1;
            memmove(at, end, strlen(end) + 1);
        }
    *length = strlen(text);
}

static bool tree_same_bytes(const char *a, const char *b, bool any_order)
{
    size_t la = 0, lb = 0;
    char *x = read_file(a, &la), *y = read_file(b, &lb);
    tree_cut_about(a, x, &la);
    tree_cut_about(b, y, &lb);
    tree_cut_times(a, x, &la);
    tree_cut_times(b, y, &lb);
    bool same = x && y && la == lb;
    if (same && any_order) {
        tree_sort_lines(x);
        tree_sort_lines(y);
    }
    same = same && !memcmp(x, y, la);
    free(x);
    free(y);
    return same;
}

/* Every file of `got` is one of `want`, and unless PART is asked for the other way round; with
 * ANY_ORDER up to the order of their lines, and but for the evidence, which only has what was done
 * last. `what` says in a failure what was tried. */
enum { TREE_PART = 1, TREE_ANY_ORDER = 2 };
__attribute__((unused)) static void tree_compare(const char *want, const char *got, int how,
                                                 const char *what)
{
    bool whole = !(how & TREE_PART);
    struct tree a = tree_read(want), b = tree_read(got);
    size_t i = 0;
    for (size_t k = 0; k < b.count; k++, i++) {
        while (i < a.count && !whole && strcmp(a.files[i].name, b.files[k].name) < 0) i++;
        ck_assert_msg(i < a.count && !strcmp(a.files[i].name, b.files[k].name),
                      "%s: the file %s is %s", what, b.files[k].name,
                      i < a.count ? "not one of the undisturbed run, or one before it is missing"
                                  : "not one of the undisturbed run");
        if (how & TREE_ANY_ORDER && strstr(b.files[k].name, "evidence")) continue;
        if (tree_same_bytes(a.files[i].path, b.files[k].path, how & TREE_ANY_ORDER)) continue;
        char *x = read_file(a.files[i].path, NULL), *y = read_file(b.files[k].path, NULL);
        size_t line = 0, at = 0;
        for (; x[at] && x[at] == y[at]; at++) line = y[at] == '\n' ? at + 1 : line;
        ck_abort_msg("%s: the file %s differs:\n%.300s\nshould be\n%.300s", what, b.files[k].name,
                     y + line, x + line);
    }
    ck_assert_msg(!whole || i == a.count, "%s: %zu files of %zu", what, i, a.count);
}

#endif
