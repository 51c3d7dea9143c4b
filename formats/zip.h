/* Reading ZIP archives that lie in memory (PKWARE APPNOTE 6.3.9), as far as torch.save needs:
 * stored and deflated entries, ZIP64, no encryption, one disk.
 *
 * The archive is untrusted. Before any entry is read, zip_open checks that the directory lies in
 * the file, that every entry lies before the directory, that entries do not overlap (which is
 * how a small archive unfolds to terabytes), and that local headers agree with the directory.
 */
#ifndef PROBE_FORMATS_ZIP_H
#define PROBE_FORMATS_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"

struct z_stream_s;

struct zip_entry {
    const char *name; /* not terminated; may hold any byte */
    size_t name_bytes;
    int method; /* 0 stored, 8 deflated */
    uint32_t crc;
    size_t packed_bytes, bytes;
    size_t header, data; /* offsets of the local header and of the packed bytes */
};

struct zip {
    const unsigned char *bytes;
    size_t size;
    const char *name; /* of the file, for messages */
    struct zip_entry *entries;
    size_t count;
    const struct zip_entry **by_name; /* in the order of their names */
    bool unsummed; /* set by the caller: checksums of stored entries are not looked at */
};

enum {
    ZIP_MAX_ENTRIES = 65536,
    ZIP_MAX_INFLATED = 1 << 30, /* bytes of one deflated entry; torch.save deflates none */
    ZIP_CHECKED = 64 << 20      /* stored entries up to this size are checked against their
                                   CRC; for larger ones that would cost as much as using them */
};

/* Read and check the directory. `bytes` must stay while `out` is used; `out->entries` live in
 * `arena`. STATUS_BAD_INPUT when the archive cannot be trusted. */
struct status zip_open(struct zip *out, struct arena *arena, const void *bytes, size_t size,
                       const char *name);

/* The entry of a name, the first in the directory when there are several; NULL when there is none. */
const struct zip_entry *zip_find(const struct zip *zip, const char *name, size_t bytes);

/* The bytes of an entry: in place when it is stored, inflated into `arena` when it is deflated.
 * There are exactly entry->bytes of them. */
struct status zip_read(const void **out, struct arena *arena, const struct zip *zip,
                       const struct zip_entry *entry);

/* The same entry piece by piece, for what is larger than should be in memory at once. */
struct zip_stream {
    const struct zip *zip;
    const struct zip_entry *entry;
    struct z_stream_s *inflater; /* NULL for a stored entry */
    size_t taken;                /* bytes of the entry that have been given out */
    uint32_t crc;                /* of them */
};

/* Ends with zip_stream_close, also when a read has failed. */
struct status zip_stream_open(struct zip_stream *out, const struct zip *zip,
                              const struct zip_entry *entry);

/* At most `room` more bytes; *got is 0 only at the end, where size and checksum have been checked. */
struct status zip_stream_read(size_t *got, struct zip_stream *stream, void *buffer, size_t room);

void zip_stream_close(struct zip_stream *stream);

#endif
