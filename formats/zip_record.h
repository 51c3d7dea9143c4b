/* What stands around the bytes of a ZIP archive's entries (PKWARE APPNOTE 6.3.9): local headers, the
 * directory, its end. For those who write archives; zip.h reads them.
 */
#ifndef PROBE_FORMATS_ZIP_RECORD_H
#define PROBE_FORMATS_ZIP_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/csv.h"

struct zip_record {
    const char *name; /* UTF-8 */
    bool deflated;    /* otherwise stored */
    uint32_t crc;
    uint64_t packed, bytes; /* in the archive, and as they were */
    uint64_t header;        /* where the local header stands */
    uint64_t most;          /* larger sizes and offsets are written in ZIP64 fields */
};

/* What ZIP64 fields add to a local header. */
enum { ZIP_WIDE_BYTES = 20 };
bool zip_record_is_wide(const struct zip_record *record);

/* The local header, with a field of `padding` bytes that means nothing ("FB", as torch has it); its
 * length is zip_local_bytes(record) + padding. */
struct status zip_append_local(struct csv_buffer *out, const struct zip_record *record,
                               size_t padding);
size_t zip_local_bytes(const struct zip_record *record);

/* The record's line of the directory. */
struct status zip_append_central(struct csv_buffer *out, const struct zip_record *record);

/* What ends an archive of `records` entries whose directory stands at `directory`. */
struct status zip_append_end(struct csv_buffer *out, uint64_t records, uint64_t directory,
                             uint64_t directory_bytes, uint64_t most);

#endif
