/* A dump.json (or debug.json) as the comparison sees it: entries, and for each entry the rows of
 * its arguments, in the order of the file. One row is one tensor or one other argument.
 *
 * The text is walked once, over a mapping whose pages are given back behind it. What stays is 64
 * bytes a row, and every text once: the names of entries, and what repeats itself in rows (the
 * part of a row's name behind that of its entry, dtypes, shapes).
 */
#ifndef PROBE_COMPARE_DUMPS_DUMP_ROWS_H
#define PROBE_COMPARE_DUMPS_DUMP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "core/text_table.h"
#include "formats/csv.h"

enum dump_kind { DUMP_TENSOR, DUMP_STATISTICS, DUMP_MD5, DUMP_STRUCTURE };
enum dump_framework { FRAMEWORK_PYTORCH, FRAMEWORK_MINDSPORE };

/* Which part of its entry a row comes from. */
enum row_state {
    STATE_INPUT,
    STATE_PARAMETERS,
    STATE_OUTPUT,
    STATE_PARAMETERS_GRAD,
    STATE_DEBUG,
    ROW_STATES
};

enum row_value_kind {
    VALUE_IS_NONE,
    VALUE_IS_INTEGER,
    VALUE_IS_REAL,
    VALUE_IS_BOOLEAN,
    VALUE_IS_TEXT
};

/* A statistic, or the value of an argument that is no tensor. */
struct row_value {
    enum row_value_kind kind;
    union {
        int64_t integer;
        double real;
        bool boolean;
        uint32_t text; /* in the texts of the dump */
    };
};

enum row_statistic {
    STATISTIC_MAX,
    STATISTIC_MIN,
    STATISTIC_MEAN,
    STATISTIC_L2NORM,
    ROW_STATISTICS
};

/* Why a row is not compared although it is there. */
enum row_fault {
    FAULT_NONE,
    FAULT_FORMULA_NAME,  /* a name that a spreadsheet would run */
    FAULT_FORMULA_TEXT,  /* such a text in the record */
    FAULT_SHAPE,         /* shape is no list */
    FAULT_REQUIRES_GRAD, /* requires_grad is no boolean */
};

enum row_checksum_kind { CHECKSUM_NONE /* shown as N/A */, CHECKSUM_CRC, CHECKSUM_TEXT };

struct dump_row {
    union {
        int64_t integer;
        double real;
        bool boolean;
        uint32_t text;
    } statistic[ROW_STATISTICS];
    uint32_t entry;
    uint32_t suffix;       /* text behind the name of the entry; the whole name with `own_name` */
    uint32_t dtype, shape; /* texts */
    uint32_t checksum;     /* the CRC, or a text */
    uint32_t data_name;    /* text; with `data_named_so` only the extension (".pt"); TEXT_NONE */
    uint8_t statistic_kind[ROW_STATISTICS]; /* enum row_value_kind */
    uint8_t state;                          /* enum row_state */
    uint8_t checksum_kind;
    uint8_t fault;
    bool own_name : 1;
    bool data_named_so : 1; /* the data file is called as the row */
    bool is_tensor : 1;     /* has a dtype in the dump */
    bool is_null : 1;
    bool has_requires_grad : 1, requires_grad : 1;
    uint8_t section : 2; /* of an input: input_args, input_kwargs, input */
};
_Static_assert(sizeof(struct dump_row) == 64, "a row is one cache line");

struct dump_entry {
    uint32_t name; /* in `names` */
    uint32_t first_row, n_rows;
};

struct dump_rows {
    enum dump_kind kind;
    enum dump_framework framework;
    bool is_debug;           /* debug.json */
    struct text_table names; /* of entries */
    struct text_table texts;
    struct dump_entry *entries;
    uint32_t n_entries;
    size_t entry_room;
    struct dump_row *rows;
    uint64_t *places; /* by row: the byte of the file where its record begins; PLACE_NONE */
    uint32_t n_rows;
    size_t row_room, place_room;
};
#define PLACE_NONE UINT64_MAX

void dump_rows_close(struct dump_rows *dump);

const char *dump_entry_name(const struct dump_rows *dump, uint32_t entry, size_t *length);

/* The name of a row, appended to `out`; the name of its data file ("" when it has none). */
struct status dump_row_append_name(struct csv_buffer *out, const struct dump_rows *dump,
                                   const struct dump_row *row);
struct status dump_row_append_data_name(struct csv_buffer *out, const struct dump_rows *dump,
                                        const struct dump_row *row);

static inline const char *dump_text(const struct dump_rows *dump, uint32_t text)
{
    return text_table_get(&dump->texts, text, NULL);
}

static inline struct row_value dump_row_statistic(const struct dump_row *row,
                                                  enum row_statistic which)
{
    struct row_value value = { .kind = (enum row_value_kind)row->statistic_kind[which] };
    value.integer = row->statistic[which].integer;
    return value;
}

/* The value as a cell shows it: Python's str(). */
struct status row_value_append(struct csv_buffer *out, const struct dump_rows *dump,
                               struct row_value value);

#endif
