/* The directory of an archive, checked as a whole, and its entries, stored or inflated by zlib. */
#include "formats/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/checked.h"
#include "core/file.h"
#include "core/memory.h"
#include "formats/crc32.h"

enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    COMMENT_LIMIT = 65535,
    FLAG_ENCRYPTED = 1,
    FLAG_DESCRIPTOR = 8, /* sizes and CRC follow the data; the directory has them anyway */
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    EXTRA_ZIP64 = 1
};

static uint32_t get2(const unsigned char *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }

static uint32_t get4(const unsigned char *p) { return get2(p) | get2(p + 2) << 16; }

static uint64_t get8(const unsigned char *p)
{
    return (uint64_t)get4(p) | (uint64_t)get4(p + 4) << 32;
}

static struct status bad(const struct zip *zip, const char *problem)
{
    return status_error(STATUS_BAD_INPUT, "cannot read '%s': %s", file_shown(zip->name).text,
                        problem);
}

/* Where the directory is. */
struct directory {
    size_t offset, bytes;
    uint64_t count;
};

/* The ZIP64 end record, which stands in for an end record with a field at its maximum. `end` is
 * the offset of the latter. */
static const char *read_end64(struct directory *out, const struct zip *zip, size_t end)
{
    if (end < LOCATOR_BYTES) return "its ZIP64 directory is missing";
    const unsigned char *locator = zip->bytes + end - LOCATOR_BYTES;
    if (memcmp(locator, "PK\6\7", 4)) return "its ZIP64 directory is missing";
    uint64_t at = get8(locator + 8);
    if (at > end - LOCATOR_BYTES || end - LOCATOR_BYTES - at < END64_BYTES)
        return "its ZIP64 directory lies outside of it";
    const unsigned char *record = zip->bytes + at;
    if (memcmp(record, "PK\6\6", 4)) return "its ZIP64 directory is damaged";
    if (get4(record + 16) != 0 || get4(record + 20) != 0) return "it is one of several disks";
    out->count = get8(record + 32);
    if (get8(record + 24) != out->count) return "it is one of several disks";
    uint64_t bytes = get8(record + 40), offset = get8(record + 48);
    if (offset > at || bytes > at - offset) return "its directory lies outside of it";
    out->offset = (size_t)offset;
    out->bytes = (size_t)bytes;
    return NULL;
}

/* Find the end record: the last one whose comment reaches exactly to the end of the file. */
static const char *find_directory(struct directory *out, const struct zip *zip)
{
    if (zip->size < END_BYTES) return "it is not a zip archive";
    size_t first = zip->size > END_BYTES + COMMENT_LIMIT ? zip->size - END_BYTES - COMMENT_LIMIT
                                                         : 0;
    for (size_t at = zip->size - END_BYTES + 1; at-- > first;) {
        const unsigned char *end = zip->bytes + at;
        if (memcmp(end, "PK\5\6", 4) || get2(end + 20) != zip->size - at - END_BYTES) continue;
        out->count = get2(end + 10);
        uint64_t bytes = get4(end + 12), offset = get4(end + 16);
        if (out->count == 0xffff || bytes == 0xffffffff || offset == 0xffffffff)
            return read_end64(out, zip, at);
        if (get2(end + 4) != 0 || get2(end + 8) != out->count) return "it is one of several disks";
        if (offset > at || bytes > at - offset) return "its directory lies outside of it";
        out->offset = (size_t)offset;
        out->bytes = (size_t)bytes;
        return NULL;
    }
    return "it is not a zip archive, or its end is missing";
}

/* The ZIP64 extra field replaces those of the fields, in this order, that are at their maximum. */
static const char *apply_zip64(const unsigned char *extra, size_t extra_bytes, uint64_t *bytes,
                               uint64_t *packed, uint64_t *header)
{
    uint64_t *fields[] = { bytes, packed, header };

    if (*bytes != 0xffffffff && *packed != 0xffffffff && *header != 0xffffffff) return NULL;
    while (extra_bytes >= 4) {
        size_t field_bytes = get2(extra + 2);
        if (field_bytes > extra_bytes - 4) break;
        if (get2(extra) == EXTRA_ZIP64) {
            const unsigned char *at = extra + 4;
            for (int i = 0; i < 3; i++) {
                if (*fields[i] != 0xffffffff) continue;
                if (field_bytes < 8) return "a ZIP64 field is too short";
                *fields[i] = get8(at);
                at += 8;
                field_bytes -= 8;
            }
            return NULL;
        }
        extra += 4 + field_bytes;
        extra_bytes -= 4 + field_bytes;
    }
    return "a ZIP64 field is missing";
}

/* Check the local header against the directory and find where the data begin. All offsets are
 * below `limit`, where the directory begins. */
static const char *check_local(struct zip_entry *entry, const struct zip *zip, size_t limit)
{
    if (entry->header > limit || limit - entry->header < LOCAL_BYTES)
        return "an entry lies outside of it";
    const unsigned char *local = zip->bytes + entry->header;
    if (memcmp(local, "PK\3\4", 4)) return "an entry has no header";
    if (get2(local + 6) & FLAG_ENCRYPTED) return "an entry is encrypted";
    size_t name_bytes = get2(local + 26), extra_bytes = get2(local + 28);
    size_t left = limit - entry->header - LOCAL_BYTES;
    if (name_bytes + extra_bytes > left) return "an entry lies outside of it";
    left -= name_bytes + extra_bytes;
    if (name_bytes != entry->name_bytes || memcmp(local + LOCAL_BYTES, entry->name, name_bytes) ||
        (int)get2(local + 8) != entry->method)
        return "an entry's header and the directory disagree";
    if (!(get2(local + 6) & FLAG_DESCRIPTOR)) {
        uint32_t packed = get4(local + 18), bytes = get4(local + 22);
        if ((packed != 0xffffffff && packed != entry->packed_bytes) ||
            (bytes != 0xffffffff && bytes != entry->bytes) || get4(local + 14) != entry->crc)
            return "an entry's header and the directory disagree";
    }
    entry->data = entry->header + LOCAL_BYTES + name_bytes + extra_bytes;
    if (entry->packed_bytes > left) return "an entry's data lie outside of it";
    return NULL;
}

/* One record of the directory; *used is its length. */
static const char *read_central(struct zip_entry *entry, size_t *used, const struct zip *zip,
                                const unsigned char *record, size_t left, size_t limit)
{
    if (left < CENTRAL_BYTES || memcmp(record, "PK\1\2", 4)) return "its directory is damaged";
    size_t name_bytes = get2(record + 28), extra_bytes = get2(record + 30);
    size_t total = CENTRAL_BYTES + name_bytes + extra_bytes + get2(record + 32);
    if (total > left) return "its directory is damaged";
    uint64_t packed = get4(record + 20), bytes = get4(record + 24), header = get4(record + 42);
    const char *problem =
        apply_zip64(record + CENTRAL_BYTES + name_bytes, extra_bytes, &bytes, &packed, &header);
    if (problem) return problem;
    *used = total;
    *entry = (struct zip_entry){
        .name = (const char *)record + CENTRAL_BYTES,
        .name_bytes = name_bytes,
        .method = (int)get2(record + 10),
        .crc = get4(record + 16),
        .packed_bytes = (size_t)packed,
        .bytes = (size_t)bytes,
        .header = (size_t)header,
    };
    if (get2(record + 8) & FLAG_ENCRYPTED) return "an entry is encrypted";
    if (entry->method != METHOD_STORED && entry->method != METHOD_DEFLATED)
        return "an entry is compressed by another method than deflate";
    if (entry->method == METHOD_STORED && packed != bytes)
        return "the sizes of a stored entry disagree";
    return check_local(entry, zip, limit);
}

static int by_header(const void *a, const void *b)
{
    const struct zip_entry *x = *(const struct zip_entry *const *)a;
    const struct zip_entry *y = *(const struct zip_entry *const *)b;
    return (x->header > y->header) - (x->header < y->header);
}

static struct status check_overlap(const struct zip *zip, struct arena *arena)
{
    const struct zip_entry **order = arena_allocate_array(arena, zip->count, sizeof *order);
    if (!order) return status_no_memory(zip->count * sizeof *order);
    for (size_t i = 0; i < zip->count; i++) order[i] = &zip->entries[i];
    qsort(order, zip->count, sizeof *order, by_header);
    for (size_t i = 1; i < zip->count; i++)
        if (order[i - 1]->data + order[i - 1]->packed_bytes > order[i]->header)
            return bad(zip, "its entries overlap");
    return status_ok();
}

static int compare_names(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    if (a_bytes != b_bytes) return a_bytes < b_bytes ? -1 : 1;
    return memcmp(a, b, a_bytes);
}

static int by_name(const void *a, const void *b)
{
    const struct zip_entry *x = *(const struct zip_entry *const *)a;
    const struct zip_entry *y = *(const struct zip_entry *const *)b;
    int order = compare_names(x->name, x->name_bytes, y->name, y->name_bytes);
    return order ? order : (x > y) - (x < y);
}

static struct status sort_names(struct zip *zip, struct arena *arena)
{
    zip->by_name = arena_allocate_array(arena, zip->count, sizeof *zip->by_name);
    if (!zip->by_name) return status_no_memory(zip->count * sizeof *zip->by_name);
    for (size_t i = 0; i < zip->count; i++) zip->by_name[i] = &zip->entries[i];
    qsort(zip->by_name, zip->count, sizeof *zip->by_name, by_name);
    return status_ok();
}

const struct zip_entry *zip_find(const struct zip *zip, const char *name, size_t bytes)
{
    size_t low = 0, high = zip->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct zip_entry *entry = zip->by_name[middle];
        if (compare_names(entry->name, entry->name_bytes, name, bytes) < 0) low = middle + 1;
        else high = middle;
    }
    if (low == zip->count) return NULL;
    const struct zip_entry *found = zip->by_name[low];
    return compare_names(found->name, found->name_bytes, name, bytes) ? NULL : found;
}

struct status zip_open(struct zip *out, struct arena *arena, const void *bytes, size_t size,
                       const char *name)
{
    struct zip zip = { .bytes = bytes, .size = size, .name = name };
    struct directory directory;

    const char *problem = find_directory(&directory, &zip);
    if (problem) return bad(&zip, problem);
    if (directory.count > ZIP_MAX_ENTRIES) return bad(&zip, "it has more than 65536 entries");
    if (directory.count > directory.bytes / CENTRAL_BYTES)
        return bad(&zip, "its directory is shorter than its number of entries");
    zip.count = (size_t)directory.count;
    zip.entries = arena_allocate_array(arena, zip.count, sizeof *zip.entries);
    if (!zip.entries) return status_no_memory(zip.count * sizeof *zip.entries);
    const unsigned char *at = zip.bytes + directory.offset;
    size_t left = directory.bytes;
    for (size_t i = 0; i < zip.count; i++) {
        size_t used = 0;
        problem = read_central(&zip.entries[i], &used, &zip, at, left, directory.offset);
        if (problem) return bad(&zip, problem);
        at += used;
        left -= used;
    }
    TRY(check_overlap(&zip, arena));
    TRY(sort_names(&zip, arena));
    *out = zip;
    return status_ok();
}

/* ---- entries ---------------------------------------------------------------------------- */

struct status zip_stream_open(struct zip_stream *out, const struct zip *zip,
                              const struct zip_entry *entry)
{
    *out = (struct zip_stream){ .zip = zip, .entry = entry };
    if (entry->method == METHOD_STORED) return status_ok();
    /* Deflate cannot do better than 1032 to 1: a larger claim need not be tried. */
    if (entry->bytes / 1032 > entry->packed_bytes) return bad(zip, "an entry lies about its size");
    z_stream *inflater = memory_allocate_zeroed(1, sizeof *inflater);
    if (!inflater) return status_no_memory(sizeof *inflater);
    if (inflateInit2(inflater, -MAX_WBITS) != Z_OK) {
        memory_release(inflater);
        return status_no_memory(0);
    }
    inflater->next_in = (unsigned char *)(uintptr_t)(zip->bytes + entry->data);
    out->inflater = inflater;
    return status_ok();
}

/* Inflate into as many of the `room` bytes as one call of zlib fills, 0 at the end of the entry. */
static bool inflate_some(size_t *got, struct zip_stream *stream, void *buffer, size_t room)
{
    z_stream *inflater = stream->inflater;
    const unsigned char *end = stream->zip->bytes + stream->entry->data +
                               stream->entry->packed_bytes;
    size_t left = (size_t)(end - inflater->next_in);
    uInt in = left > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)left;
    uInt out = room > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)room;

    inflater->avail_in = in;
    inflater->next_out = buffer;
    inflater->avail_out = out;
    int result = inflate(inflater, Z_NO_FLUSH);
    *got = out - inflater->avail_out;
    /* Output, or the end of stream at the end of the entry: anything else is a cut or a lie. */
    if (result != Z_OK && result != Z_STREAM_END) return false;
    return *got || (result == Z_STREAM_END && inflater->next_in == end);
}

struct status zip_stream_read(size_t *got, struct zip_stream *stream, void *buffer, size_t room)
{
    const struct zip_entry *entry = stream->entry;
    size_t left = entry->bytes - stream->taken;
    unsigned char past;

    *got = 0;
    if (!room) return status_ok();
    if (!stream->inflater) {
        *got = room < left ? room : left;
        memcpy(buffer, stream->zip->bytes + entry->data + stream->taken, *got);
    } else {
        /* When all is there, one byte of room lets inflate see the end of the stream. */
        bool full = !left;
        if (!inflate_some(got, stream, full ? &past : buffer,
                          full          ? 1
                          : room < left ? room
                                        : left) ||
            (full && *got) || (!full && !*got))
            return bad(stream->zip, "an entry cannot be inflated to the size it claims");
    }
    stream->crc = crc32_append(stream->crc, buffer, *got);
    stream->taken += *got;
    if (!*got && stream->crc != entry->crc)
        return bad(stream->zip, "the checksum of an entry is wrong; the file is damaged");
    return status_ok();
}

void zip_stream_close(struct zip_stream *stream)
{
    if (stream->inflater) (void)inflateEnd(stream->inflater);
    memory_release(stream->inflater);
    *stream = (struct zip_stream){ 0 };
}

/* All bytes of a deflated entry, and the look behind them at which the stream is checked. */
static struct status inflate_all(unsigned char *out, const struct zip *zip,
                                 const struct zip_entry *entry)
{
    struct zip_stream stream;
    unsigned char past;
    size_t got = 1;

    struct status status = zip_stream_open(&stream, zip, entry);
    while (!status.code && got) {
        size_t left = entry->bytes - stream.taken;
        status = zip_stream_read(&got, &stream, left ? out + stream.taken : &past, left ? left : 1);
    }
    zip_stream_close(&stream);
    return status;
}

struct status zip_read(const void **out, struct arena *arena, const struct zip *zip,
                       const struct zip_entry *entry)
{
    const unsigned char *data = zip->bytes + entry->data;

    if (entry->method == METHOD_STORED) {
        if (entry->bytes <= ZIP_CHECKED && !zip->unsummed &&
            crc32_append(0, data, entry->bytes) != entry->crc)
            return bad(zip, "the checksum of an entry is wrong; the file is damaged");
        *out = data;
        return status_ok();
    }
    if (entry->bytes > ZIP_MAX_INFLATED)
        return bad(zip, "an entry inflates to more than 1 GiB; store tensors uncompressed");
    /* Deflate cannot do better than 1032 to 1: no memory for a larger claim. */
    if (entry->bytes / 1032 > entry->packed_bytes) return bad(zip, "an entry lies about its size");
    void *copy = arena_allocate(arena, entry->bytes);
    if (!copy) return status_no_memory(entry->bytes);
    TRY(inflate_all(copy, zip, entry));
    *out = copy;
    return status_ok();
}
