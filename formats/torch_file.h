/* The containers in which torch keeps a pickle and the bytes of its storages.
 *
 * A zip archive has the records data.pkl and data/KEY; the legacy file is five pickles in a row followed by
 * the storages; and what is sent over shared storage is a pickle alone, each of whose storages is a
 * legacy file of its own.
 */
#ifndef PROBE_FORMATS_TORCH_FILE_H
#define PROBE_FORMATS_TORCH_FILE_H

#include <stddef.h>

#include "core/status.h"
#include "formats/torch_objects.h"

/* Read the value in a file that lies in memory.
 *
 *   out      in objects->arena and in `bytes`
 *   objects  names, arena and name are set; it must stay for torch_objects_tensor
 *   unsummed the checksums of elements are not looked at
 *   errors   STATUS_BAD_INPUT, STATUS_NO_MEMORY
 */
struct status torch_file_read(struct pickle_value *out, struct torch_objects *objects,
                              const void *bytes, size_t size, bool unsummed);

#endif
