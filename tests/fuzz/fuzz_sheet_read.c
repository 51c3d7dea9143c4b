/* The parts of a workbook, of any bytes, separated by record separators: sheet, shared strings,
 * workbook, relations. Texts of cells can be read, rows come in order, within the limits.
 *
 * The archive is made here, with stored entries and true checksums: what a damaged archive does is
 * the matter of fuzz_zip.c. Parts that are not given are those of a usual workbook. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/sheet_read.h"
#include "fuzz/memory_file.h"

static const char workbook[] =
    "<workbook><sheets><sheet name=\"a\" r:id=\"x\"/></sheets></workbook>";
static const char relations[] = "<Relationships><Relationship Id=\"x\" Type=\"t/worksheet\" "
                                "Target=\"s.xml\"/><Relationship Id=\"y\" "
                                "Type=\"t/sharedStrings\" Target=\"t.xml\"/></Relationships>";

struct archive {
    uint8_t *bytes;
    size_t count;
};

static void put(struct archive *out, const void *bytes, size_t count)
{
    out->bytes = realloc(out->bytes, out->count + count);
    if (!out->bytes) abort();
    memcpy(out->bytes + out->count, bytes, count);
    out->count += count;
}

static void put_number(struct archive *out, size_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) put(out, &(uint8_t){ (uint8_t)(value >> 8 * i) }, 1);
}

/* What a local header and a record of the directory have in common. */
static void put_fields(struct archive *out, const char *name, struct part part)
{
    put_number(out, 20, 4); /* version, flags */
    put_number(out, 0, 6);  /* stored; time */
    put_number(out, crc32_z(0, part.data, part.size), 4);
    put_number(out, part.size, 4);
    put_number(out, part.size, 4);
    put_number(out, strlen(name), 2);
    put_number(out, 0, 2);
}

static struct archive make_archive(const struct part *parts)
{
    static const char *const names[] = { "xl/s.xml", "xl/t.xml", "xl/workbook.xml",
                                         "xl/_rels/workbook.xml.rels" };
    struct archive out = { 0 }, directory = { 0 };
    for (size_t i = 0; i < 4; i++) {
        size_t header = out.count;
        put(&out, "PK\3\4", 4);
        put_fields(&out, names[i], parts[i]);
        put(&out, names[i], strlen(names[i]));
        if (parts[i].size) put(&out, parts[i].data, parts[i].size);
        put(&directory, "PK\1\2\24\0", 6);
        put_fields(&directory, names[i], parts[i]);
        put_number(&directory, 0, 2); /* comment */
        put_number(&directory, 0, 8);
        put_number(&directory, header, 4);
        put(&directory, names[i], strlen(names[i]));
    }
    size_t at = out.count;
    put(&out, directory.bytes, directory.count);
    put(&out, "PK\5\6\0\0\0\0\4\0\4\0", 12);
    put_number(&out, directory.count, 4);
    put_number(&out, at, 4);
    put_number(&out, 0, 2);
    free(directory.bytes);
    return out;
}

static void read_sheet(struct sheet_book *book, size_t index)
{
    struct sheet_reader *reader;
    struct sheet_row row;
    uint64_t last = 0, sum = 0;
    bool more = true;

    if (sheet_open(&reader, book, index).code) return;
    while (!sheet_next(reader, &row, &more).code && more) {
        assert(row.number > last && row.number <= SHEET_MAX_ROWS);
        assert(row.count && row.count <= SHEET_MAX_COLUMNS);
        last = row.number;
        for (size_t i = 0; i < row.count; i++) {
            const struct sheet_cell *cell = &row.cells[i];
            for (size_t k = 0; k < cell->length; k++) sum += (unsigned char)cell->text[k];
            assert(cell->kind != SHEET_BLANK || !cell->length);
            assert(isfinite(cell->number));
        }
    }
    sheet_close(reader);
    if (sum == UINT64_MAX) abort(); /* a use that no compiler can foresee */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part parts[4];
    for (int i = 0; i < 4; i++) parts[i] = next_part(&data, &size);
    if (!parts[1].size) parts[1] = (struct part){ (const uint8_t *)"<sst/>", 6 };
    if (!parts[2].size) parts[2] = (struct part){ (const uint8_t *)workbook, sizeof workbook - 1 };
    if (!parts[3].size)
        parts[3] = (struct part){ (const uint8_t *)relations, sizeof relations - 1 };

    struct archive archive = make_archive(parts);
    struct memory_file file = memory_file_make(archive.bytes, archive.count);
    struct sheet_book *book;
    struct status status = sheet_book_open(&book, file.path, FILES_TRUSTED);
    if (!status.code) {
        for (size_t i = 0; i < sheet_count(book) && i < 4; i++) {
            assert(strlen(sheet_name(book, i)) <= 255);
            read_sheet(book, i);
        }
        sheet_book_close(book);
    } else {
        assert(status.text[0]);
    }
    memory_file_close(&file);
    free(archive.bytes);
    return 0;
}
