/* What the readers of a workbook's parts share. */
#ifndef PROBE_FORMATS_SHEET_INTERNAL_H
#define PROBE_FORMATS_SHEET_INTERNAL_H

#include "core/arena.h"
#include "core/file.h"
#include "formats/csv.h"
#include "formats/sheet_read.h"
#include "formats/zip.h"

struct sheet_book {
    struct file file;    /* of a .csv */
    struct file_map map; /* of a workbook */
    struct arena arena;
    struct zip zip;
    struct sheet_place {
        const char *name, *relation;   /* the id under which the book knows its part */
        const struct zip_entry *entry; /* NULL: a .csv */
    } * sheets;
    size_t n_sheets;
    struct csv_text *strings; /* the shared ones */
    size_t n_strings, string_room;
};

/* Replace the escapes _xHHHH_ by the characters they stand for (ECMA-376, ST_Xstring), in place; the
 * new length. Those of NUL and surrogates stay. */
size_t sheet_decode(char *text, size_t length);

#endif
