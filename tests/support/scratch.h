/* A temporary directory for one test, and files in it. */
#ifndef PROBE_TESTS_SCRATCH_H
#define PROBE_TESTS_SCRATCH_H

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
    char path[64];
};

static inline struct scratch scratch_make(void)
{
    struct scratch scratch = { "/tmp/probe-test-XXXXXX" };
    ck_assert_ptr_nonnull(mkdtemp(scratch.path));
    return scratch;
}

static inline int scratch_remove_one(const char *path, const struct stat *info, int type,
                                     struct FTW *place)
{
    (void)info, (void)type, (void)place;
    return remove(path);
}

static inline void scratch_remove(struct scratch *scratch)
{
    ck_assert_int_eq(nftw(scratch->path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* "<directory>/<name>" in one of a few static buffers. */
static inline const char *scratch_path(const struct scratch *scratch, const char *name)
{
    static char buffers[8][512];
    static int next;
    char *buffer = buffers[next++ % 8];
    snprintf(buffer, sizeof buffers[0], "%s/%s", scratch->path, name);
    return buffer;
}

/* Write a file with mode 0640; its path. */
static inline const char *scratch_write(const struct scratch *scratch, const char *name,
                                        const void *bytes, size_t size)
{
    const char *path = scratch_path(scratch, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, 0640), 0);
    return path;
}

static inline const char *scratch_text(const struct scratch *scratch, const char *name,
                                       const char *text)
{
    return scratch_write(scratch, name, text, strlen(text));
}

/* A whole file in memory, with a NUL behind it. Free it. */
static inline char *scratch_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
    text[size] = '\0';
    fclose(file);
    if (bytes) *bytes = (size_t)size;
    return text;
}

#endif
