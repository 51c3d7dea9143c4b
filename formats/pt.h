/* One tensor in a file of torch.save: .pt.
 *
 * Two containers exist: a zip archive with the records data.pkl (a pickle that says which
 * storage, offset, sizes and strides) and data/0 (the bytes of the storage); and the legacy one,
 * five pickles in a row followed by the storages. The pickle is read by the closed machine of
 * formats/pickle.h, which knows what a tensor or a parameter is made of and nothing else.
 */
#ifndef PROBE_FORMATS_PT_H
#define PROBE_FORMATS_PT_H

#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/tensor.h"

/* Read the tensor of a .pt file that lies in memory.
 *
 *   out        set on success, untouched on failure. Strides and offset are those of the saved
 *              view, checked against its storage. The elements stay in `bytes` when they are
 *              stored, aligned and little-endian (torch.save aligns them to 64), and are copied
 *              to `arena` otherwise
 *   name       of the file, for messages
 *   errors     STATUS_BAD_INPUT that names the file and what is wrong, for anything that is not
 *              exactly one dense CPU-readable tensor; STATUS_NO_MEMORY
 *   threads    safe when each call has its own arena
 */
struct status pt_read(struct tensor *out, struct arena *arena, const void *bytes, size_t size,
                      const char *name);

/* The same without the checksum of the elements: for a reader that would see a damaged element anyway,
 * as a comparison does, and which the sum would cost more than its own work. */
struct status pt_read_unsummed(struct tensor *out, struct arena *arena, const void *bytes,
                               size_t size, const char *name);

/* Write a tensor to a new file (it must not exist) that torch.load reads, also with
 * weights_only: a zip archive, C order. (float8 tensors need torch 2.1 or later to load.)
 * `arena` is scratch. */
struct status pt_write(const char *path, const struct tensor *tensor, struct arena *arena);

/* The same, with ZIP64 fields for sizes and offsets beyond `most`; pt_write has them beyond 2 GiB. */
struct status pt_write_zip64(const char *path, const struct tensor *tensor, struct arena *arena,
                             uint64_t most);

#endif
