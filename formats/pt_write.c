#include "formats/pt_write.h"

#include <string.h>
#include <zlib.h>

#include "core/checked.h"
#include "core/file.h"

/* ---- bytes, little-endian --------------------------------------------------------------- */

/* A small text in the making: headers and the pickle, never the elements. */
struct bytes {
    unsigned char data[2048];
    size_t length;
};

static void put(struct bytes *out, const void *data, size_t length)
{
    /* Rank and names are bounded, so everything that is put together here has room. */
    if (length > sizeof out->data - out->length) return;
    memcpy(out->data + out->length, data, length);
    out->length += length;
}

static void put_text(struct bytes *out, const char *text)
{
    put(out, text, strlen(text));
}

static void put_number(struct bytes *out, uint64_t number, size_t length)
{
    unsigned char data[8];
    for (size_t i = 0; i < length; i++) data[i] = (unsigned char)(number >> 8 * i);
    put(out, data, length);
}

/* ---- the pickle ------------------------------------------------------------------------- */

static const struct {
    const char *storage; /* class in the module torch; NULL: written as float32 */
} storages[DT_COUNT] = {
    [DT_F64] = { "DoubleStorage" },         [DT_F32] = { "FloatStorage" },
    [DT_F16] = { "HalfStorage" },           [DT_BF16] = { "BFloat16Storage" },
    [DT_I64] = { "LongStorage" },           [DT_I32] = { "IntStorage" },
    [DT_I16] = { "ShortStorage" },          [DT_I8] = { "CharStorage" },
    [DT_U8] = { "ByteStorage" },            [DT_BOOL] = { "BoolStorage" },
    [DT_C128] = { "ComplexDoubleStorage" }, [DT_C64] = { "ComplexFloatStorage" },
};

static void pickle_text(struct bytes *out, const char *text)
{
    put_text(out, "X"); /* BINUNICODE */
    put_number(out, strlen(text), 4);
    put_text(out, text);
}

static void pickle_integer(struct bytes *out, int64_t number)
{
    if (number >= 0 && number <= INT32_MAX) {
        put_text(out, "J"); /* BININT */
        put_number(out, (uint64_t)number, 4);
    } else {
        put_text(out, "\x8a\x08"); /* LONG1 of eight bytes */
        put_number(out, (uint64_t)number, 8);
    }
}

static void pickle_integers(struct bytes *out, const int64_t *numbers, int count)
{
    put_text(out, "("); /* MARK ... TUPLE */
    for (int i = 0; i < count; i++) pickle_integer(out, numbers[i]);
    put_text(out, "t");
}

/* torch._utils._rebuild_tensor_v2(storage, 0, shape, stride, False, OrderedDict()) */
static void pickle_tensor(struct bytes *out, const struct tensor *tensor)
{
    put_text(out, "\x80\x02"); /* PROTO 2 */
    put_text(out, "ctorch._utils\n_rebuild_tensor_v2\n((");
    pickle_text(out, "storage");
    put_text(out, "ctorch\n");
    put_text(out, storages[tensor->dtype].storage);
    put_text(out, "\n");
    pickle_text(out, "0");
    pickle_text(out, "cpu");
    pickle_integer(out, (int64_t)tensor_elements(tensor));
    put_text(out, "tQ"); /* BINPERSID: the storage */
    pickle_integer(out, 0);
    pickle_integers(out, tensor->shape, tensor->rank);
    pickle_integers(out, tensor->stride, tensor->rank);
    put_text(out, "\x89" "ccollections\nOrderedDict\n)RtR."); /* False, OrderedDict(), call */
}

/* ---- the archive ------------------------------------------------------------------------ */

enum { ALIGNMENT = 64, LOCAL_HEADER = 30, MAX_ENTRIES = 3 };

struct entry {
    const char *name;
    const void *data;
    size_t bytes;
    uint32_t crc;
    size_t offset; /* of its local header */
};

struct archive {
    struct file file;
    size_t position;
    struct entry entries[MAX_ENTRIES];
    size_t count;
};

static uint32_t checksum(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uLong crc = crc32(0, NULL, 0);
    while (bytes) {
        uInt part = bytes < (1u << 30) ? (uInt)bytes : 1u << 30;
        crc = crc32(crc, at, part);
        at += part;
        bytes -= part;
    }
    return (uint32_t)crc;
}

/* Version to extract, flags, method, time and date (1980-01-01): the same in both headers. */
static void put_common(struct bytes *out, const struct entry *entry)
{
    put_number(out, 20, 2);
    put_number(out, 0, 2);
    put_number(out, 0, 2);
    put_number(out, 0, 2);
    put_number(out, 0x21, 2);
    put_number(out, entry->crc, 4);
    put_number(out, entry->bytes, 4);
    put_number(out, entry->bytes, 4);
    put_number(out, strlen(entry->name), 2);
}

/* A stored entry whose data starts at a multiple of 64, by a padding field as PyTorch has it. */
static struct status add_entry(struct archive *archive, const char *name, const void *data,
                               size_t bytes)
{
    struct entry *entry = &archive->entries[archive->count++];
    struct bytes header = { .length = 0 };
    *entry = (struct entry){ name, data, bytes, checksum(data, bytes), archive->position };
    size_t start = archive->position + LOCAL_HEADER + strlen(name) + 4;
    size_t padding = (ALIGNMENT - start % ALIGNMENT) % ALIGNMENT;

    put_text(&header, "PK\x03\x04");
    put_common(&header, entry);
    put_number(&header, 4 + padding, 2);
    put_text(&header, name);
    put_text(&header, "FB");
    put_number(&header, padding, 2);
    for (size_t i = 0; i < padding; i++) put_text(&header, "Z");
    TRY(file_write_all(&archive->file, header.data, header.length));
    TRY(file_write_all(&archive->file, data, bytes));
    archive->position += header.length + bytes;
    return status_ok();
}

static struct status end_archive(struct archive *archive)
{
    struct bytes directory = { .length = 0 };
    for (size_t i = 0; i < archive->count; i++) {
        const struct entry *entry = &archive->entries[i];
        put_text(&directory, "PK\x01\x02");
        put_number(&directory, 20, 2);
        put_common(&directory, entry);
        put_number(&directory, 0, 2); /* extra, comment, disk, attributes */
        put_number(&directory, 0, 2);
        put_number(&directory, 0, 2);
        put_number(&directory, 0, 2);
        put_number(&directory, 0, 4);
        put_number(&directory, entry->offset, 4);
        put_text(&directory, entry->name);
    }
    size_t bytes = directory.length;
    put_text(&directory, "PK\x05\x06");
    put_number(&directory, 0, 4); /* disks */
    put_number(&directory, archive->count, 2);
    put_number(&directory, archive->count, 2);
    put_number(&directory, bytes, 4);
    put_number(&directory, archive->position, 4);
    put_number(&directory, 0, 2);
    return file_write_all(&archive->file, directory.data, directory.length);
}

static struct status write_archive(struct archive *archive, const struct tensor *tensor,
                                   size_t bytes)
{
    struct bytes pickle = { .length = 0 };
    pickle_tensor(&pickle, tensor);
    TRY(add_entry(archive, "archive/data.pkl", pickle.data, pickle.length));
    TRY(add_entry(archive, "archive/data/0", tensor->data, bytes));
    TRY(add_entry(archive, "archive/version", "3\n", 2));
    return end_archive(archive);
}

struct status pt_write(const char *path, const struct tensor *tensor, struct arena *arena)
{
    struct tensor dense;
    size_t n, bytes;
    TRY(tensor_densify(&dense, arena, tensor));
    n = tensor_elements(&dense);
    if (!storages[dense.dtype].storage) {
        struct tensor wide;
        TRY(tensor_create(&wide, arena, DT_F32, dense.rank, dense.shape));
        dtype_to_float(wide.data, dense.data, dense.dtype, n);
        dense = wide;
    }
    /* Above that the archive would need the 64-bit extension of the format. */
    if (!size_multiply(&bytes, n, dtype_info(dense.dtype)->bytes) || bytes >= 0xffff0000u)
        return status_error(STATUS_BAD_ARGUMENT, "%s: a tensor of 4 GiB or more is not saved",
                            path);
    /* The strides of extents of 1 and of empty tensors may be anything: write plain ones. */
    tensor_wrap(&dense, dense.data, dense.dtype, dense.rank, dense.shape);

    struct archive archive = { .file = FILE_NONE };
    TRY(file_create(&archive.file, path));
    struct status status = write_archive(&archive, &dense, bytes);
    struct status closed = file_close(&archive.file);
    return status.code ? status : closed;
}
