/* Writing one tensor as torch.save does: the records data.pkl, data/0 and version in a zip
 * archive, stored, with the elements at a multiple of 64 so that a reader can map them. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "core/checked.h"
#include "core/file.h"
#include "formats/pt.h"
#include "formats/pt_names.h"

enum { ALIGNMENT = 64, RECORDS = 3, VERSION_NEEDED = 45 };

/* ---- the pickle ------------------------------------------------------------------------- */

struct bytes {
    unsigned char data[2048];
    size_t count;
};

/* A tensor's pickle has a few hundred bytes: rank 16 with 9-byte integers fits easily. */
static void put(struct bytes *out, const void *data, size_t count)
{
    if (count <= sizeof out->data - out->count) memcpy(out->data + out->count, data, count);
    out->count += count;
}

static void put_number(struct bytes *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(value >> 8 * i);
        put(out, &byte, 1);
    }
}

static void put_op(struct bytes *out, char op) { put(out, &op, 1); }

static void put_global(struct bytes *out, const char *module, const char *name)
{
    put_op(out, 'c');
    put(out, module, strlen(module));
    put_op(out, '\n');
    put(out, name, strlen(name));
    put_op(out, '\n');
}

static void put_text(struct bytes *out, const char *text)
{
    put_op(out, 'X');
    put_number(out, strlen(text), 4);
    put(out, text, strlen(text));
}

static void put_int(struct bytes *out, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX) {
        put_op(out, 'J');
        put_number(out, (uint64_t)value, 4);
    } else {
        put(out, "\x8a\x08", 2);
        put_number(out, (uint64_t)value, 8);
    }
}

static void put_ints(struct bytes *out, const int64_t *values, int count)
{
    put_op(out, '(');
    for (int i = 0; i < count; i++) put_int(out, values[i]);
    put_op(out, 't');
}

/* _rebuild_tensor_v2(storage, 0, shape, stride, False, OrderedDict()), or _v3 with the dtype for
 * the float8 types. */
static void put_tensor(struct bytes *out, const struct tensor *tensor)
{
    const char *storage = NULL;
    size_t elements = tensor_elements(tensor);

    for (int i = 0; i < PT_STORAGE_NAMES; i++)
        if (pt_storage_names[i].dtype == tensor->dtype) storage = pt_storage_names[i].name;
    put(out, "\x80\x02", 2);
    put_global(out, "torch._utils", storage ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    put(out, "((", 2);
    put_text(out, "storage");
    if (storage) put_global(out, "torch", storage);
    else put_global(out, "torch.storage", "UntypedStorage");
    put_text(out, "0");
    put_text(out, "cpu");
    put_int(out, (int64_t)elements);
    put(out, "tQ", 2);
    put_int(out, 0);
    put_ints(out, tensor->shape, tensor->rank);
    put_ints(out, tensor->stride, tensor->rank);
    put_op(out, '\x89');
    put_global(out, "collections", "OrderedDict");
    put(out, ")R", 2);
    if (!storage) put_global(out, "torch", dtype_info(tensor->dtype)->name + strlen("torch."));
    put(out, "tR.", 3);
}

/* ---- the archive ------------------------------------------------------------------------ */

struct record {
    const char *name;
    const void *data;
    size_t bytes;
    uint32_t crc;
    uint64_t header;
    uint64_t most; /* larger sizes and offsets are written in ZIP64 fields */
};

static bool is_wide(const struct record *record)
{
    return record->bytes > record->most || record->header > record->most;
}

static void put_sizes(struct bytes *out, const struct record *record)
{
    put_number(out, record->crc, 4);
    put_number(out, is_wide(record) ? 0xffffffff : record->bytes, 4);
    put_number(out, is_wide(record) ? 0xffffffff : record->bytes, 4);
    put_number(out, strlen(record->name), 2);
}

static void put_zip64(struct bytes *out, const struct record *record, bool central)
{
    put_number(out, 1, 2);
    put_number(out, central ? 24 : 16, 2);
    put_number(out, record->bytes, 8);
    put_number(out, record->bytes, 8);
    if (central) put_number(out, record->header, 8);
}

/* The local header, padded by an extra field ("FB", as torch does) so that the data are
 * aligned. */
static void put_local(struct bytes *out, const struct record *record)
{
    size_t wide = is_wide(record) ? 20 : 0;
    uint64_t unpadded = record->header + 30 + strlen(record->name) + wide + 4;
    size_t padding = (size_t)((ALIGNMENT - unpadded % ALIGNMENT) % ALIGNMENT);

    put(out, "PK\3\4", 4);
    put_number(out, wide ? VERSION_NEEDED : 20, 2);
    put_number(out, 0x0800, 2); /* names are UTF-8 */
    put_number(out, 0, 2);      /* stored */
    put_number(out, 0, 2);      /* midnight */
    put_number(out, 0x21, 2);   /* of 1980-01-01 */
    put_sizes(out, record);
    put_number(out, wide + 4 + padding, 2);
    put(out, record->name, strlen(record->name));
    if (wide) put_zip64(out, record, false);
    put(out, "FB", 2);
    put_number(out, padding, 2);
    for (size_t i = 0; i < padding; i++) put_op(out, 'Z');
}

static void put_central(struct bytes *out, const struct record *record)
{
    size_t wide = is_wide(record) ? 28 : 0;

    put(out, "PK\1\2", 4);
    put_number(out, wide ? VERSION_NEEDED : 20, 2);
    put_number(out, wide ? VERSION_NEEDED : 20, 2);
    put_number(out, 0x0800, 2);
    put_number(out, 0, 2);
    put_number(out, 0, 2);
    put_number(out, 0x21, 2);
    put_sizes(out, record);
    put_number(out, wide, 2);
    put_number(out, 0, 2); /* comment */
    put_number(out, 0, 2); /* disk */
    put_number(out, 0, 2);
    put_number(out, 0, 4);
    put_number(out, wide ? 0xffffffff : record->header, 4);
    put(out, record->name, strlen(record->name));
    if (wide) put_zip64(out, record, true);
}

static void put_end(struct bytes *out, uint64_t directory, uint64_t directory_bytes, uint64_t most)
{
    bool wide = directory > most;

    if (wide) {
        uint64_t here = directory + directory_bytes;
        put(out, "PK\6\6", 4);
        put_number(out, 44, 8);
        put_number(out, VERSION_NEEDED, 2);
        put_number(out, VERSION_NEEDED, 2);
        put_number(out, 0, 4);
        put_number(out, 0, 4);
        put_number(out, RECORDS, 8);
        put_number(out, RECORDS, 8);
        put_number(out, directory_bytes, 8);
        put_number(out, directory, 8);
        put(out, "PK\6\7", 4);
        put_number(out, 0, 4);
        put_number(out, here, 8);
        put_number(out, 1, 4);
    }
    put(out, "PK\5\6", 4);
    put_number(out, 0, 2);
    put_number(out, 0, 2);
    put_number(out, RECORDS, 2);
    put_number(out, RECORDS, 2);
    put_number(out, directory_bytes, 4);
    put_number(out, wide ? 0xffffffff : directory, 4);
    put_number(out, 0, 2);
}

static struct status write_bytes(const struct file *file, const struct bytes *bytes,
                                 uint64_t *offset)
{
    if (bytes->count > sizeof bytes->data)
        return status_error(STATUS_INTERNAL, "a record of '%s' is too long",
                            file_shown(file->path).text);
    *offset += bytes->count;
    return file_write_all(file, bytes->data, bytes->count);
}

static struct status write_archive(const struct file *file, struct record *records, uint64_t most)
{
    struct bytes directory = { .count = 0 }, end = { .count = 0 };
    uint64_t offset = 0;

    for (int i = 0; i < RECORDS; i++) {
        struct bytes header = { .count = 0 };
        records[i].header = offset;
        records[i].most = most;
        records[i].crc = (uint32_t)crc32_z(crc32_z(0, NULL, 0), records[i].data, records[i].bytes);
        put_local(&header, &records[i]);
        TRY(write_bytes(file, &header, &offset));
        TRY(file_write_all(file, records[i].data, records[i].bytes));
        offset += records[i].bytes;
        put_central(&directory, &records[i]);
    }
    put_end(&end, offset, directory.count, most);
    TRY(write_bytes(file, &directory, &offset));
    return write_bytes(file, &end, &offset);
}

struct status pt_write_zip64(const char *path, const struct tensor *tensor, struct arena *arena,
                             uint64_t most)
{
    struct bytes pickle = { .count = 0 };
    struct tensor dense;
    struct file file;

    TRY(tensor_densify(&dense, arena, tensor));
    put_tensor(&pickle, &dense);
    size_t bytes = tensor_elements(&dense) * dtype_info(dense.dtype)->bytes;
    struct record records[RECORDS] = {
        { .name = "archive/data.pkl", .data = pickle.data, .bytes = pickle.count },
        { .name = "archive/data/0", .data = bytes ? dense.data : "", .bytes = bytes },
        { .name = "archive/version", .data = "3\n", .bytes = 2 },
    };
    TRY(file_create(&file, path));
    struct status status = write_archive(&file, records, most);
    struct status closed = file_close(&file);
    return status.code ? status : closed;
}

struct status pt_write(const char *path, const struct tensor *tensor, struct arena *arena)
{
    return pt_write_zip64(path, tensor, arena, INT32_MAX);
}
