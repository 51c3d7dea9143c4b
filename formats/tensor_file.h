/* A file that holds one tensor, .npy or .pt by its suffix. */
#ifndef PROBE_FORMATS_TENSOR_FILE_H
#define PROBE_FORMATS_TENSOR_FILE_H

#include "core/arena.h"
#include "core/file.h"
#include "core/tensor.h"

/* Read the tensor in bytes that are in memory. STATUS_BAD_INPUT for other suffixes. Elements are
 * left in place where the format allows (npy_read, pt_read). */
struct status tensor_file_parse(struct tensor *out, struct arena *arena, const void *bytes,
                                size_t size, const char *name);

/* The same; checksums of the elements are not looked at (pt_read_unsummed). */
struct status tensor_file_parse_unsummed(struct tensor *out, struct arena *arena, const void *bytes,
                                         size_t size, const char *name);

/* Open a file by path with the checks of core/file.h, map it and read its tensor. The elements
 * live in `map` or in `arena`; the caller unmaps with file_unmap when it is done. On failure
 * nothing is left mapped. */
struct status tensor_file_read(struct tensor *out, struct file_map *map, struct arena *arena,
                               const char *path, struct file_policy policy);

#endif
