/* The records of an archive, field by field in the order of the format. */
#include "formats/zip_record.h"

#include <string.h>

enum { VERSION = 20, VERSION_WIDE = 45, NAMES_ARE_UTF8 = 0x0800, DEFLATED = 8 };

/* A time that is always the same: midnight of 1980-01-01. */
enum { MIDNIGHT = 0, FIRST_DAY = 0x21 };

/* A field of `bytes` bytes, the lowest first. */
struct field {
    uint64_t value;
    int bytes;
};

#define COUNT(fields) (sizeof(fields) / sizeof *(fields))

static struct status append_fields(struct csv_buffer *out, const struct field *fields, size_t count)
{
    char bytes[8];
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < fields[i].bytes; k++) bytes[k] = (char)(fields[i].value >> 8 * k);
        TRY(csv_append_bytes(out, bytes, (size_t)fields[i].bytes));
    }
    return status_ok();
}

/* What does not fit is written there and, where it belongs, as all ones. */
static uint64_t narrow(uint64_t value, bool wide) { return wide ? UINT32_MAX : value; }

bool zip_record_is_wide(const struct zip_record *record)
{
    return record->bytes > record->most || record->packed > record->most ||
           record->header > record->most;
}

size_t zip_local_bytes(const struct zip_record *record)
{
    return 30 + strlen(record->name) + (zip_record_is_wide(record) ? ZIP_WIDE_BYTES : 0) + 4;
}

static struct status append_name(struct csv_buffer *out, const struct zip_record *record)
{
    return csv_append_bytes(out, record->name, strlen(record->name));
}

/* What both records have between the version and the length of what is extra. */
static struct status append_common(struct csv_buffer *out, const struct zip_record *record)
{
    bool wide = zip_record_is_wide(record);
    const struct field fields[] = {
        { NAMES_ARE_UTF8, 2 },
        { record->deflated ? DEFLATED : 0, 2 },
        { MIDNIGHT, 2 },
        { FIRST_DAY, 2 },
        { record->crc, 4 },
        { narrow(record->packed, wide), 4 },
        { narrow(record->bytes, wide), 4 },
        { strlen(record->name), 2 },
    };
    return append_fields(out, fields, COUNT(fields));
}

struct status zip_append_local(struct csv_buffer *out, const struct zip_record *record,
                               size_t padding)
{
    bool wide = zip_record_is_wide(record);
    const struct field head[] = {
        { 0x04034b50, 4 },
        { wide ? VERSION_WIDE : VERSION, 2 },
    };
    const struct field extra[] = {
        { (wide ? (size_t)ZIP_WIDE_BYTES : 0) + 4 + padding, 2 },
    };
    const struct field sizes[] = {
        { 1, 2 }, { 16, 2 }, { record->bytes, 8 }, { record->packed, 8 }
    };
    const struct field filler[] = { { 0x4246, 2 }, { padding, 2 } };

    TRY(append_fields(out, head, COUNT(head)));
    TRY(append_common(out, record));
    TRY(append_fields(out, extra, COUNT(extra)));
    TRY(append_name(out, record));
    if (wide) TRY(append_fields(out, sizes, COUNT(sizes)));
    TRY(append_fields(out, filler, COUNT(filler)));
    for (size_t i = 0; i < padding; i++) TRY(csv_append_bytes(out, "Z", 1));
    return status_ok();
}

struct status zip_append_central(struct csv_buffer *out, const struct zip_record *record)
{
    bool wide = zip_record_is_wide(record);
    const struct field head[] = {
        { 0x02014b50, 4 },
        { wide ? VERSION_WIDE : VERSION, 2 }, /* made by */
        { wide ? VERSION_WIDE : VERSION, 2 }, /* needed */
    };
    const struct field rest[] = {
        { wide ? 28 : 0, 2 },
        { 0, 2 }, /* comment */
        { 0, 2 }, /* disk */
        { 0, 2 }, /* attributes */
        { 0, 4 },
        { narrow(record->header, wide), 4 },
    };
    const struct field sizes[] = {
        { 1, 2 }, { 24, 2 }, { record->bytes, 8 }, { record->packed, 8 }, { record->header, 8 }
    };

    TRY(append_fields(out, head, COUNT(head)));
    TRY(append_common(out, record));
    TRY(append_fields(out, rest, COUNT(rest)));
    TRY(append_name(out, record));
    return wide ? append_fields(out, sizes, COUNT(sizes)) : status_ok();
}

struct status zip_append_end(struct csv_buffer *out, uint64_t records, uint64_t directory,
                             uint64_t directory_bytes, uint64_t most)
{
    bool wide = directory > most;
    const struct field far_end[] = {
        { 0x06064b50, 4 },
        { 44, 8 },
        { VERSION_WIDE, 2 },
        { VERSION_WIDE, 2 },
        { 0, 4 },
        /* disks */ { 0, 4 },
        { records, 8 },
        { records, 8 },
        { directory_bytes, 8 },
        { directory, 8 },
        { 0x07064b50, 4 },
        { 0, 4 },
        { directory + directory_bytes, 8 },
        { 1, 4 },
    };
    const struct field end[] = {
        { 0x06054b50, 4 },
        { 0, 2 },
        { 0, 2 },
        { records, 2 },
        { records, 2 },
        { directory_bytes, 4 },
        { narrow(directory, wide), 4 },
        { 0, 2 },
    };

    if (wide) TRY(append_fields(out, far_end, COUNT(far_end)));
    return append_fields(out, end, COUNT(end));
}
