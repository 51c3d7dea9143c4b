/* Columns are filled row by row and become a block of the page when they are full. */
#include "pages/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/growing.h"
#include "core/memory.h"
#include "pages/json_out.h"

struct block_note {
    uint32_t number, rows;
    uint64_t first;
};

struct column {
    uint64_t first;         /* row of the block that is being filled */
    bool filled;            /* a cell of the block is not empty */
    uint32_t *values;       /* numbers and codes of the block; made with the first of them */
    struct csv_buffer text; /* texts of the block */
    struct text_table dictionary;
    struct block_note *blocks;
    size_t n_blocks, block_capacity;
};

static const char *const kind_names[] = {
    [COLUMN_NUMBERS] = "numbers", [COLUMN_CODES] = "codes", [COLUMN_TEXTS] = "texts"
};

struct status columns_create(struct columns *out, struct page *page,
                             const struct column_form *forms, size_t count)
{
    *out = (struct columns){ .page = page, .forms = forms, .count = count };
    out->items = memory_allocate_zeroed(count, sizeof *out->items);
    if (!out->items) return status_no_memory(count * sizeof *out->items);
    for (size_t i = 0; i < count; i++)
        if (forms[i].kind == COLUMN_CODES) {
            uint32_t empty;
            TRY(text_table_create(&out->items[i].dictionary));
            TRY(text_table_add(&empty, NULL, &out->items[i].dictionary, "", 0));
        }
    return status_ok();
}

void columns_release(struct columns *columns)
{
    for (size_t i = 0; columns->items && i < columns->count; i++) {
        struct column *column = &columns->items[i];
        memory_release(column->values);
        memory_release(column->blocks);
        csv_buffer_release(&column->text);
        text_table_release(&column->dictionary);
    }
    memory_release(columns->items);
    columns->items = NULL;
}

/* ---- cells ---------------------------------------------------------------------------------- */

uint32_t column_number_bits(double value)
{
    uint64_t bits;
    if (isnan(value)) return 0x7ff80000;
    memcpy(&bits, &value, sizeof bits);
    uint64_t rounded = bits + 0x80000000;
    /* The largest doubles would round to infinity. */
    if (!isinf(value) && (rounded & UINT64_C(0x7ff0000000000000)) == UINT64_C(0x7ff0000000000000))
        rounded = bits;
    return (uint32_t)(rounded >> 32);
}

struct status columns_put_bits(struct columns *columns, size_t at, uint32_t bits)
{
    struct column *column = &columns->items[at];
    const struct column_form *form = &columns->forms[at];
    if (!column->values) {
        column->values = memory_allocate(form->block_rows * sizeof *column->values);
        if (!column->values) return status_no_memory(form->block_rows * sizeof *column->values);
    }
    if (!column->filled) {
        uint32_t empty = form->kind == COLUMN_CODES ? 0 : COLUMN_BLANK;
        for (uint32_t i = 0; i < form->block_rows; i++) column->values[i] = empty;
        column->filled = true;
    }
    column->values[columns->rows - column->first] = bits;
    return status_ok();
}

struct status columns_put_number(struct columns *columns, size_t column, double value)
{
    return columns_put_bits(columns, column, column_number_bits(value));
}

/* Bytes of a text that fit, cut before a character that would be split. */
static size_t cut_length(struct csv_text text, size_t longest)
{
    size_t length = text.length;
    if (length <= longest) return length;
    length = longest;
    while (length && (text.bytes[length] & 0xc0) == 0x80) length--;
    return length;
}

struct status columns_put_code(struct columns *columns, uint16_t *code, size_t at,
                               struct csv_text text)
{
    struct text_table *dictionary = &columns->items[at].dictionary;
    size_t length = cut_length(text, COLUMN_CODE_LONGEST);
    uint32_t number = text_table_find(dictionary, text.bytes, length);
    if (number == TEXT_NONE && dictionary->count >= COLUMN_OTHER) number = COLUMN_OTHER;
    if (number == TEXT_NONE) TRY(text_table_add(&number, NULL, dictionary, text.bytes, length));
    if (code) *code = (uint16_t)number;
    return number ? columns_put_bits(columns, at, number) : status_ok();
}

size_t columns_longest_text(const struct columns *columns, size_t at)
{
    size_t longest = columns->forms[at].longest;
    return longest ? longest : COLUMN_TEXT_LONGEST;
}

struct status columns_put_text(struct columns *columns, size_t at, struct csv_text text)
{
    struct column *column = &columns->items[at];
    size_t length = cut_length(text, columns_longest_text(columns, at));
    if (length) column->filled = true;
    TRY(csv_append_bytes(&column->text, text.bytes, length));
    if (length == text.length) return status_ok();
    char note[64];
    (void)snprintf(note, sizeof note, "\xe2\x80\xa6 (%zu bytes)", text.length);
    return csv_append_bytes(&column->text, note, strlen(note));
}

/* ---- blocks --------------------------------------------------------------------------------- */

static struct status note_block(struct column *column, struct block_note note)
{
    TRY(array_make_room(&column->blocks, &column->block_capacity, column->n_blocks,
                        sizeof *column->blocks));
    column->blocks[column->n_blocks++] = note;
    return status_ok();
}

/* The values as byte planes, the highest bytes first. */
static struct status write_planes(struct page *page, uint32_t *number, const uint32_t *values,
                                  size_t rows, int planes)
{
    unsigned char *bytes = memory_allocate(rows * (size_t)planes);
    if (!bytes) return status_no_memory(rows * (size_t)planes);
    for (int plane = 0; plane < planes; plane++) {
        int shift = 8 * (planes - 1 - plane);
        for (size_t i = 0; i < rows; i++)
            bytes[(size_t)plane * rows + i] = (unsigned char)(values[i] >> shift);
    }
    struct status status = page_add_block(page, number, bytes, rows * (size_t)planes);
    memory_release(bytes);
    return status;
}

static struct status write_block(struct columns *columns, size_t at)
{
    struct column *column = &columns->items[at];
    struct block_note note = { 0, (uint32_t)(columns->rows - column->first), column->first };
    enum column_kind kind = columns->forms[at].kind;
    column->first = columns->rows;
    if (column->filled && note.rows) {
        TRY(kind == COLUMN_TEXTS ? page_add_block(columns->page, &note.number, column->text.data,
                                                  column->text.length)
                                 : write_planes(columns->page, &note.number, column->values,
                                                note.rows, kind == COLUMN_CODES ? 2 : 4));
        TRY(note_block(column, note));
    }
    column->filled = false;
    csv_buffer_clear(&column->text);
    return status_ok();
}

struct status columns_end_row(struct columns *columns)
{
    columns->rows++;
    for (size_t i = 0; i < columns->count; i++) {
        if (columns->forms[i].kind == COLUMN_TEXTS)
            TRY(csv_append_bytes(&columns->items[i].text, "", 1));
        if (columns->rows - columns->items[i].first == columns->forms[i].block_rows)
            TRY(write_block(columns, i));
    }
    return status_ok();
}

/* ---- what the page must know ------------------------------------------------------------------ */

static void describe_dictionary(struct text_out *meta, const struct text_table *dictionary)
{
    json_out_format(meta, ",\"texts\":[");
    for (uint32_t i = 0; i < dictionary->count; i++) {
        size_t length;
        const char *text = text_table_get(dictionary, i, &length);
        if (i) json_out_format(meta, ",");
        json_out_string(meta, text, length);
    }
    json_out_format(meta, "]");
}

static void describe(const struct columns *columns, size_t at, struct text_out *meta)
{
    const struct column *column = &columns->items[at];
    const struct column_form *form = &columns->forms[at];
    json_out_format(meta, "%s\"%s\":{\"kind\":\"%s\"", at ? "," : "", form->id,
                    kind_names[form->kind]);
    if (form->kind == COLUMN_CODES) describe_dictionary(meta, &column->dictionary);
    json_out_format(meta, ",\"blocks\":[");
    for (size_t i = 0; i < column->n_blocks; i++) {
        const struct block_note *block = &column->blocks[i];
        json_out_format(meta, "%s[%u,%llu,%u]", i ? "," : "", block->number,
                        (unsigned long long)block->first, block->rows);
    }
    json_out_format(meta, "]}");
}

struct status columns_finish(struct columns *columns, struct text_out *meta)
{
    json_out_format(meta, "\"columns\":{");
    for (size_t i = 0; i < columns->count; i++) {
        TRY(write_block(columns, i));
        describe(columns, i, meta);
    }
    json_out_format(meta, "}");
    return meta->status;
}
