/* The parts of a workbook that say where the rest is: workbook.xml names the sheets, its relations
 * say in which entry each lies, and sharedStrings.xml holds the texts that cells refer to by number. */
#include <string.h>
#include <strings.h>

#include "core/growing.h"
#include "core/memory.h"
#include "core/text_pool.h"
#include "formats/sheet_internal.h"
#include "formats/xml_part.h"

enum { MAX_SHEETS = 1024, MAX_NAME_BYTES = 255 };
#define WORKBOOK  "xl/workbook.xml"
#define RELATIONS "xl/_rels/workbook.xml.rels"

struct sheet_parts {
    struct sheet_book *book;
    struct text_pool texts;
    const struct zip_entry *strings; /* the part of the shared strings, or NULL */
    struct csv_buffer text;          /* of the shared string that is being read */
    size_t string_bytes;
};

static struct status bad(const struct sheet_book *book, const char *problem)
{
    return status_error(STATUS_BAD_INPUT, "cannot read '%s': %s", file_shown(book->zip.name).text,
                        problem);
}

/* Names of parts differ by more than case (OPC 6.2.2.3). */
static const struct zip_entry *find_entry(const struct zip *zip, const char *folder,
                                          const char *name)
{
    size_t folder_bytes = strlen(folder), bytes = strlen(name);
    for (size_t i = 0; i < zip->count; i++) {
        const struct zip_entry *entry = &zip->entries[i];
        if (entry->name_bytes == folder_bytes + bytes &&
            !strncasecmp(entry->name, folder, folder_bytes) &&
            !strncasecmp(entry->name + folder_bytes, name, bytes))
            return entry;
    }
    return NULL;
}

static struct status read_part(const struct zip *zip, const struct zip_entry *entry,
                               const struct xml_reader *reader, void *context)
{
    struct xml_part *part;
    bool more;

    TRY(xml_part_open(&part, zip, entry, reader, context));
    struct status status = xml_part_continue(part, &more);
    xml_part_close(part);
    return status;
}

/* ---- names and places ------------------------------------------------------------------- */

enum { IN_WORKBOOK = 1, IN_SHEETS, IN_SHEET, IN_RELATIONS, IN_RELATION };

static void start_sheet(void *context, struct xml_part *part, unsigned code,
                        const char **attributes)
{
    struct sheet_parts *parts = context;
    struct sheet_book *book = parts->book;
    const char *name = xml_attribute(attributes, "name"), *id = xml_attribute(attributes, "id");

    if (code != IN_SHEET) return;
    if (!name || !id || strlen(name) > MAX_NAME_BYTES) {
        xml_part_refuse(part, "a sheet without a usable name");
        return;
    }
    if (book->n_sheets == MAX_SHEETS) {
        xml_part_refuse(part, "more than 1024 sheets");
        return;
    }
    struct sheet_place *place = &book->sheets[book->n_sheets];
    place->name = text_pool_copy(&parts->texts, name, strlen(name));
    place->relation = text_pool_copy(&parts->texts, id, strlen(id));
    if (!place->name || !place->relation) xml_part_fail(part, status_no_memory(0));
    else book->n_sheets++;
}

static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), end_bytes = strlen(end);
    return bytes >= end_bytes && !strcmp(text + bytes - end_bytes, end);
}

static void start_relation(void *context, struct xml_part *part, unsigned code,
                           const char **attributes)
{
    struct sheet_parts *parts = context;
    struct sheet_book *book = parts->book;
    const char *id = xml_attribute(attributes, "Id"), *type = xml_attribute(attributes, "Type");
    const char *target = xml_attribute(attributes, "Target");

    if (code != IN_RELATION || !id || !type || !target) return;
    (void)part;
    const struct zip_entry *entry = *target == '/' ? find_entry(&book->zip, "", target + 1)
                                                   : find_entry(&book->zip, "xl/", target);
    if (ends_with(type, "/sharedStrings")) parts->strings = entry;
    if (!ends_with(type, "/worksheet")) return;
    for (size_t i = 0; i < book->n_sheets; i++)
        if (!strcmp(book->sheets[i].relation, id)) book->sheets[i].entry = entry;
}

static const struct xml_element workbook_elements[] = {
    { "workbook", IN_WORKBOOK, 1 },
    { "sheets", IN_SHEETS, 1u << IN_WORKBOOK },
    { "sheet", IN_SHEET, 1u << IN_SHEETS },
    { 0 },
};
static const struct xml_reader workbook_reader = { .elements = workbook_elements,
                                                   .start = start_sheet };
static const struct xml_element relation_elements[] = {
    { "Relationships", IN_RELATIONS, 1 },
    { "Relationship", IN_RELATION, 1u << IN_RELATIONS },
    { 0 },
};
static const struct xml_reader relation_reader = { .elements = relation_elements,
                                                   .start = start_relation };

/* ---- shared strings --------------------------------------------------------------------- */

enum { IN_STRINGS = 1, IN_STRING, IN_RUN, IN_TEXT };

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The character of the escape that begins at `text`, -1 when none does. */
static int escaped(const char *text, size_t length)
{
    int value = 0;
    if (length < 7 || text[0] != '_' || text[1] != 'x' || text[6] != '_') return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return !value || (value >= 0xd800 && value < 0xe000) ? -1 : value;
}

static char *put_utf8(char *out, int value)
{
    if (value < 0x80) {
        *out++ = (char)value;
    } else if (value < 0x800) {
        *out++ = (char)(0xc0 | value >> 6);
        *out++ = (char)(0x80 | (value & 0x3f));
    } else {
        *out++ = (char)(0xe0 | value >> 12);
        *out++ = (char)(0x80 | (value >> 6 & 0x3f));
        *out++ = (char)(0x80 | (value & 0x3f));
    }
    return out;
}

size_t sheet_decode(char *text, size_t length)
{
    char *out = text;
    for (size_t i = 0; i < length;) {
        int value = text[i] == '_' ? escaped(text + i, length - i) : -1;
        if (value < 0) {
            *out++ = text[i++];
        } else {
            out = put_utf8(out, value);
            i += 7;
        }
    }
    return (size_t)(out - text);
}

static void collect_text(void *context, struct xml_part *part, unsigned code, const char *text,
                         size_t length)
{
    struct sheet_parts *parts = context;
    if (code != IN_TEXT) return;
    parts->string_bytes += length;
    if (parts->string_bytes > SHEET_MAX_STRING_BYTES)
        xml_part_refuse(part, "more than 512 MiB of shared strings");
    else xml_part_fail(part, csv_append_bytes(&parts->text, text, length));
}

static struct status add_string(struct sheet_parts *parts)
{
    struct sheet_book *book = parts->book;
    TRY(array_make_room(&book->strings, &book->string_room, book->n_strings,
                        sizeof *book->strings));
    size_t length = parts->text.length ? sheet_decode(parts->text.data, parts->text.length) : 0;
    const char *text = text_pool_copy(&parts->texts, length ? parts->text.data : "", length);
    if (!text) return status_no_memory(length);
    book->strings[book->n_strings++] = (struct csv_text){ text, length };
    csv_buffer_clear(&parts->text);
    return status_ok();
}

static void end_string(void *context, struct xml_part *part, unsigned code)
{
    struct sheet_parts *parts = context;
    if (code != IN_STRING) return;
    if (parts->book->n_strings == SHEET_MAX_STRINGS)
        xml_part_refuse(part, "more than 16777216 shared strings");
    else xml_part_fail(part, add_string(parts));
}

/* Phonetic hints (rPh) are no part of the text: they are passed over. */
static const struct xml_element string_elements[] = {
    { "sst", IN_STRINGS, 1 },
    { "si", IN_STRING, 1u << IN_STRINGS },
    { "r", IN_RUN, 1u << IN_STRING },
    { "t", IN_TEXT, 1u << IN_STRING | 1u << IN_RUN },
    { 0 },
};
static const struct xml_reader string_reader = { .elements = string_elements,
                                                 .end = end_string,
                                                 .text = collect_text };

/* ---- the book --------------------------------------------------------------------------- */

/* Sheets whose part is no table (charts) are left out. */
static void keep_tables(struct sheet_book *book)
{
    size_t kept = 0;
    for (size_t i = 0; i < book->n_sheets; i++)
        if (book->sheets[i].entry) book->sheets[kept++] = book->sheets[i];
    book->n_sheets = kept;
}

static struct status read_parts(struct sheet_book *book)
{
    struct sheet_parts parts = { .book = book, .texts = { .arena = &book->arena } };
    const struct zip_entry *workbook = find_entry(&book->zip, "", WORKBOOK);
    const struct zip_entry *relations = find_entry(&book->zip, "", RELATIONS);

    if (!workbook || !relations) return bad(book, "it is no workbook: it has no " WORKBOOK);
    TRY(read_part(&book->zip, workbook, &workbook_reader, &parts));
    TRY(read_part(&book->zip, relations, &relation_reader, &parts));
    keep_tables(book);
    if (!book->n_sheets) return bad(book, "it has no sheet");
    if (!parts.strings) return status_ok();
    struct status status = read_part(&book->zip, parts.strings, &string_reader, &parts);
    csv_buffer_release(&parts.text);
    return status;
}

static struct status open_book(struct sheet_book *book, const char *path, struct file_policy policy)
{
    const char *suffix = strrchr(path, '.');
    bool is_csv = suffix && !strcmp(suffix, ".csv");

    book->sheets = arena_allocate_zeroed(&book->arena, MAX_SHEETS, sizeof *book->sheets);
    if (!book->sheets) return status_no_memory(MAX_SHEETS * sizeof *book->sheets);
    TRY(file_open_read(&book->file, path, policy));
    if (is_csv) {
        *book->sheets = (struct sheet_place){ .name = "" };
        book->n_sheets = 1;
        return status_ok();
    }
    TRY(file_map(&book->map, &book->file));
    TRY(zip_open(&book->zip, &book->arena, book->map.data, book->map.bytes, book->file.path));
    return read_parts(book);
}

struct status sheet_book_open(struct sheet_book **out, const char *path, struct file_policy policy)
{
    struct sheet_book *book = memory_allocate_zeroed(1, sizeof *book);
    if (!book) return status_no_memory(sizeof *book);
    book->file = FILE_NONE;
    struct status status = open_book(book, path, policy);
    if (status.code) sheet_book_close(book);
    else *out = book;
    return status;
}

void sheet_book_close(struct sheet_book *book)
{
    if (!book) return;
    if (book->map.data) file_unmap(&book->map);
    (void)file_close(&book->file); /* only read: nothing is left to fail */
    memory_release(book->strings);
    arena_release(&book->arena);
    memory_release(book);
}

size_t sheet_count(const struct sheet_book *book) { return book->n_sheets; }

const char *sheet_name(const struct sheet_book *book, size_t index)
{
    return book->sheets[index].name;
}
