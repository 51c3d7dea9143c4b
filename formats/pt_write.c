/* Writing one tensor as torch.save does: the records data.pkl, data/0 and version in a zip
 * archive, stored, with the elements at a multiple of 64 so that a reader can map them. */
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/file.h"
#include "formats/crc32.h"
#include "formats/pt.h"
#include "formats/pt_names.h"
#include "formats/zip_record.h"

enum { ALIGNMENT = 64, RECORDS = 3 };

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
};

/* A record, its elements aligned; its line of the directory is appended. */
static struct status write_record(const struct file *file, struct csv_buffer *directory,
                                  uint64_t *offset, const struct record *record, uint64_t most)
{
    struct csv_buffer header = { 0 };
    const struct zip_record zip = {
        .name = record->name,
        .crc = crc32_append(0, record->data, record->bytes),
        .packed = record->bytes,
        .bytes = record->bytes,
        .header = *offset,
        .most = most,
    };
    uint64_t unpadded = *offset + zip_local_bytes(&zip);
    size_t padding = (size_t)((ALIGNMENT - unpadded % ALIGNMENT) % ALIGNMENT);

    struct status status = zip_append_local(&header, &zip, padding);
    if (!status.code) status = file_write_all(file, header.data, header.length);
    *offset += header.length + record->bytes;
    csv_buffer_release(&header);
    TRY(status);
    TRY(file_write_all(file, record->data, record->bytes));
    return zip_append_central(directory, &zip);
}

static struct status write_archive(const struct file *file, const struct record *records,
                                   uint64_t most)
{
    struct csv_buffer end = { 0 };
    struct status status = status_ok();
    uint64_t offset = 0;

    for (int i = 0; i < RECORDS && !status.code; i++)
        status = write_record(file, &end, &offset, &records[i], most);
    if (!status.code) status = zip_append_end(&end, RECORDS, offset, end.length, most);
    if (!status.code) status = file_write_all(file, end.data, end.length);
    csv_buffer_release(&end);
    return status;
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
    const struct record records[RECORDS] = {
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
