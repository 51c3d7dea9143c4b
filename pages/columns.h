/* The rows of a page as columns, each cut into blocks of the page as it fills.
 *
 * Three kinds of columns serve everything a page shows:
 *
 *   numbers  the high 32 bits of a double, rounded to nearest: 21 significant bits, which keep six
 *            decimal digits, over the whole range. A block is its four byte planes, highest first,
 *            which deflate to about two bytes a number. COLUMN_BLANK, a NaN, is an empty cell.
 *   codes    16-bit numbers into a dictionary of texts, two byte planes. 0 is an empty cell,
 *            COLUMN_OTHER a text that found no place in a full dictionary.
 *   texts    UTF-8, each ended by a NUL.
 *
 * Blocks of a column that hold empty cells only are left out. What is in memory is one block of
 * each column in use and the dictionaries, whatever the number of rows.
 */
#ifndef PROBE_PAGES_COLUMNS_H
#define PROBE_PAGES_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "core/text_table.h"
#include "formats/csv.h"
#include "formats/text_out.h"
#include "pages/page.h"

enum column_kind { COLUMN_NUMBERS, COLUMN_CODES, COLUMN_TEXTS };

#define COLUMN_BLANK UINT32_MAX
enum { COLUMN_OTHER = 65535, COLUMN_TEXT_LONGEST = 4000, COLUMN_CODE_LONGEST = 300 };

/* What is known of a column before there are rows. */
struct column_form {
    const char *id; /* as the page's scripts name it */
    enum column_kind kind;
    uint32_t block_rows;
    size_t longest; /* bytes of a text; longer ones are cut. 0: COLUMN_TEXT_LONGEST */
};

struct column;

struct columns {
    struct page *page;
    const struct column_form *forms;
    size_t count;
    uint64_t rows; /* ended so far */
    struct column *items;
};

/* Start with columns_create, end with columns_release. `forms` and `page` outlive the columns. */
struct status columns_create(struct columns *out, struct page *page,
                             const struct column_form *forms, size_t count);
void columns_release(struct columns *columns);

/* Fill a cell of the row that has not ended; cells that are not filled are empty. Texts that are
 * too long are cut and say how long they were. */
struct status columns_put_number(struct columns *columns, size_t column, double value);
struct status columns_put_bits(struct columns *columns, size_t column, uint32_t bits);
struct status columns_put_code(struct columns *columns, uint16_t *code, size_t column,
                               struct csv_text text);
struct status columns_put_text(struct columns *columns, size_t column, struct csv_text text);

/* Bytes of a text that a column takes. */
size_t columns_longest_text(const struct columns *columns, size_t column);

/* The row is complete. */
struct status columns_end_row(struct columns *columns);

/* All rows are complete: write the last blocks, and append what the page needs to know to `meta`:
 *     "columns": {"api": {"kind": "codes", "texts": ["", "matmul"], "blocks": [[0, 0, 65536]]}} */
struct status columns_finish(struct columns *columns, struct text_out *meta);

/* The number that a number column holds for a value. */
uint32_t column_number_bits(double value);

#endif
