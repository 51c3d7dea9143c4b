/* Zip archives for tests, honest ones and liars: every field that a reader might believe can be
 * set apart from the data. */
#ifndef PROBE_TESTS_FORMATS_ZIP_MAKER_H
#define PROBE_TESTS_FORMATS_ZIP_MAKER_H

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct made_bytes {
    unsigned char *data;
    size_t count, room;
};

static inline void made_put(struct made_bytes *out, const void *data, size_t count)
{
    if (out->count + count > out->room) {
        out->room = 2 * (out->count + count);
        out->data = realloc(out->data, out->room);
    }
    if (count) memcpy(out->data + out->count, data, count);
    out->count += count;
}

static inline void made_number(struct made_bytes *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(value >> 8 * i);
        made_put(out, &byte, 1);
    }
}

/* One entry. Fields left at 0 are the truth. */
struct made_entry {
    const char *name;
    const void *data;
    size_t bytes;
    int deflate;
    /* lies */
    const char *local_name;
    uint64_t claimed_bytes, claimed_packed; /* in the directory */
    uint32_t local_bytes;
    uint32_t crc;
    uint64_t header_plus_one; /* offset of the local header in the directory */
    int method, flags;
    int descriptor; /* sizes follow the data, as torch.save writes */
    int zip64;      /* sizes and offset in a ZIP64 field of the directory */
};

struct made_zip {
    size_t count;
    const struct made_entry *entries;
    /* lies of the end record */
    uint64_t claimed_count, directory_bytes, directory_offset_plus_one;
    int zip64_end;
    int end_comment; /* bytes of comment */
};

static inline void made_deflate(struct made_bytes *out, const void *data, size_t bytes)
{
    z_stream stream = { 0 };
    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&stream, bytes);
    unsigned char *packed = malloc(room);
    stream.next_in = (unsigned char *)(uintptr_t)data;
    stream.avail_in = (uInt)bytes;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    made_put(out, packed, stream.total_out);
    ck_assert_int_eq(deflateEnd(&stream), Z_OK);
    free(packed);
}

static inline void made_central(struct made_bytes *directory, const struct made_entry *e,
                                uint64_t header, uint64_t packed, uint64_t bytes, uint32_t crc)
{
    int method = e->method ? e->method : e->deflate ? 8 : 0;
    made_put(directory, "PK\1\2", 4);
    made_number(directory, 20, 2);
    made_number(directory, 20, 2);
    made_number(directory, (uint64_t)e->flags | (e->descriptor ? 8 : 0), 2);
    made_number(directory, (uint64_t)method, 2);
    made_number(directory, 0, 4);
    made_number(directory, crc, 4);
    made_number(directory, e->zip64 ? 0xffffffff : packed, 4);
    made_number(directory, e->zip64 ? 0xffffffff : bytes, 4);
    made_number(directory, strlen(e->name), 2);
    made_number(directory, e->zip64 ? 28 : 0, 2);
    made_number(directory, 0, 2);
    made_number(directory, 0, 2);
    made_number(directory, 0, 2);
    made_number(directory, 0, 4);
    made_number(directory, e->zip64 ? 0xffffffff : header, 4);
    made_put(directory, e->name, strlen(e->name));
    if (e->zip64) {
        made_number(directory, 1, 2);
        made_number(directory, 24, 2);
        made_number(directory, bytes, 8);
        made_number(directory, packed, 8);
        made_number(directory, header, 8);
    }
}

static inline void made_add(struct made_bytes *out, struct made_bytes *directory,
                            const struct made_entry *e)
{
    struct made_bytes packed = { 0 };
    size_t header = out->count;
    uint32_t crc = (uint32_t)crc32_z(0, e->data, e->bytes);
    const char *local_name = e->local_name ? e->local_name : e->name;
    int method = e->method ? e->method : e->deflate ? 8 : 0;

    if (e->deflate) made_deflate(&packed, e->data, e->bytes);
    else made_put(&packed, e->data, e->bytes);
    if (e->crc) crc = e->crc;
    made_put(out, "PK\3\4", 4);
    made_number(out, 20, 2);
    made_number(out, (uint64_t)e->flags | (e->descriptor ? 8 : 0), 2);
    made_number(out, (uint64_t)method, 2);
    made_number(out, 0, 4);
    made_number(out, e->descriptor ? 0 : crc, 4);
    made_number(out, e->descriptor ? 0 : packed.count, 4);
    made_number(out, e->descriptor ? 0 : e->local_bytes ? e->local_bytes : e->bytes, 4);
    made_number(out, strlen(local_name), 2);
    made_number(out, 0, 2);
    made_put(out, local_name, strlen(local_name));
    made_put(out, packed.data, packed.count);
    if (e->descriptor) {
        made_put(out, "PK\7\10", 4);
        made_number(out, crc, 4);
        made_number(out, packed.count, 4);
        made_number(out, e->bytes, 4);
    }
    made_central(directory, e, e->header_plus_one ? e->header_plus_one - 1 : header,
                 e->claimed_packed ? e->claimed_packed : packed.count,
                 e->claimed_bytes ? e->claimed_bytes : e->bytes, crc);
    free(packed.data);
}

static inline struct made_bytes made_archive(const struct made_zip *zip)
{
    struct made_bytes out = { 0 }, directory = { 0 };

    for (size_t i = 0; i < zip->count; i++) made_add(&out, &directory, &zip->entries[i]);
    uint64_t offset = zip->directory_offset_plus_one ? zip->directory_offset_plus_one - 1
                                                     : out.count;
    uint64_t bytes = zip->directory_bytes ? zip->directory_bytes : directory.count;
    uint64_t count = zip->claimed_count ? zip->claimed_count : zip->count;
    made_put(&out, directory.data, directory.count);
    if (zip->zip64_end) {
        uint64_t here = out.count;
        made_put(&out, "PK\6\6", 4);
        made_number(&out, 44, 8);
        made_number(&out, 45, 2);
        made_number(&out, 45, 2);
        made_number(&out, 0, 8);
        made_number(&out, count, 8);
        made_number(&out, count, 8);
        made_number(&out, bytes, 8);
        made_number(&out, offset, 8);
        made_put(&out, "PK\6\7", 4);
        made_number(&out, 0, 4);
        made_number(&out, here, 8);
        made_number(&out, 1, 4);
    }
    made_put(&out, "PK\5\6", 4);
    made_number(&out, 0, 4);
    made_number(&out, zip->zip64_end ? 0xffff : count, 2);
    made_number(&out, zip->zip64_end ? 0xffff : count, 2);
    made_number(&out, zip->zip64_end ? 0xffffffff : bytes, 4);
    made_number(&out, zip->zip64_end ? 0xffffffff : offset, 4);
    made_number(&out, (uint64_t)zip->end_comment, 2);
    for (int i = 0; i < zip->end_comment; i++) made_put(&out, "c", 1);
    free(directory.data);
    return out;
}

#endif
