/* Fuzzed bytes as a file, for what reads files by path or descriptor. */
#ifndef PROBE_TESTS_FUZZ_MEMORY_FILE_H
#define PROBE_TESTS_FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file in memory; `path` leads to it as long as `fd` is open. The path is a link: it takes
 * FILES_TRUSTED to read it. */
struct memory_file {
    int fd;
    char path[64];
};

static inline struct memory_file memory_file_make(const void *data, size_t size)
{
    struct memory_file file = { .fd = memfd_create("input", MFD_CLOEXEC) };
    if (file.fd < 0 || write(file.fd, data, size) != (ssize_t)size) abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

static inline void memory_file_close(struct memory_file *file) { close(file->fd); }

/* Cut off the first part of an input of several parts, which a record separator (0x1e) ends. */
struct part {
    const uint8_t *data;
    size_t size;
};

static inline struct part next_part(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, 0x1e, *size) : NULL;
    struct part part = { *data, end ? (size_t)(end - *data) : *size };
    size_t taken = part.size + (end != NULL);
    *data += taken;
    *size -= taken;
    return part;
}

#endif
