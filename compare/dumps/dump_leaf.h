/* Between the walk over a dump.json and the rows that it makes: the state of a reading, the record of
 * one leaf, and how a row takes its cells from it. Used by dump_reader.c alone.
 */
#ifndef PROBE_COMPARE_DUMPS_DUMP_LEAF_H
#define PROBE_COMPARE_DUMPS_DUMP_LEAF_H

#include "compare/dumps/dump_rows.h"
#include "core/file.h"
#include "formats/json.h"

/* What the walk knows where it stands. */
struct dump_reading {
    struct dump_rows *dump;
    struct json json;
    struct file_map map;
    bool is_mapped; /* from a file: pages that have been read may go */
    size_t forgotten;
    const char *name;         /* of the file, for messages */
    struct csv_buffer entry;  /* decoded name of the entry */
    struct csv_buffer suffix; /* what the walk has appended to it */
    struct csv_buffer text;   /* scratch */
    enum row_state state;
    unsigned section;
    bool entry_is_formula, out_of_order, has_checksums;
    uint32_t texts_none, texts_empty_list; /* "None", "[]" */
    struct json_slice task, framework;
};

/* Where the members of a leaf are; a text of NULL is absent. */
struct dump_leaf {
    struct json_slice type, dtype, md5, data_name;
    struct json at_start[ROW_STATISTICS], shape, value, group_ranks;
    bool has_statistic[ROW_STATISTICS], has_shape, has_value, has_group_ranks, has_md5;
    bool has_requires_grad, requires_grad, odd_requires_grad, odd_shape;
};

/* The number of a text in the texts of the dump, which keep each text once. */
struct status dump_text_intern(uint32_t *out, struct dump_reading *r, const char *text,
                               size_t length);

/* Decode a string into a buffer, over what was there. */
struct status dump_text_decode(struct csv_buffer *out, const struct json_slice *slice);

/* Read a string; a value of another kind is passed over and leaves `out`. False when the JSON is
 * malformed, which the reader has noted. */
bool dump_take_string(struct json *json, struct json_slice *out);

/* Read the object that comes next as the record of a leaf.
 *
 *   leaf     zeroed by the caller; its slices point into the text of the reader
 *   returns  false when the JSON is malformed, which the reader has noted
 */
bool dump_leaf_take(struct json *json, struct dump_leaf *leaf);

/* Fill the cells and the name of a row from a leaf, or as those of null where `leaf` is NULL. What
 * makes a row incomparable is noted in row->fault. */
struct status dump_row_fill(struct dump_row *row, struct dump_reading *r,
                            const struct dump_leaf *leaf);

#endif
