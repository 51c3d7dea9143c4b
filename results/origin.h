/* Where a difference arises: the first output that differs although all that it was computed from
 * agrees, found while the rows of a comparison of two dumps pass in their order.
 *
 * It is an output of an entry ("Torch.add.0.forward", "Module.h.1.Block.backward.0")
 *   - all of whose inputs and parameters agree,
 *   - inside of which nothing differs (a module with a module below it that does),
 *   - whose forward call, if it is a backward one, does not differ: gradients are computed from what
 *     the forward call saw.
 */
#ifndef PROBE_RESULTS_ORIGIN_H
#define PROBE_RESULTS_ORIGIN_H

#include "core/dotted_name.h"
#include "core/text_table.h"
#include "formats/csv.h"

#define ORIGIN_NONE UINT64_MAX

enum origin_role { ORIGIN_INPUT /* or a parameter */, ORIGIN_OUTPUT, ORIGIN_OTHER };

struct origin_row {
    struct name_slice entry;
    enum origin_role role;
    bool agrees, differs; /* neither: nothing is known of it */
    uint64_t row;         /* what the caller calls it */
};

/* Start with origin_start, end with origin_release. */
struct origin {
    struct text_table differing; /* entries */
    struct text_table around;    /* paths of the modules that are around modules that differ */
    struct csv_buffer entry;     /* whose rows pass */
    bool inputs_agree, differs;  /* of it */
    uint64_t output;             /* of it: the first that differs; ORIGIN_NONE */
    uint64_t found;
};

struct status origin_start(struct origin *out);
void origin_release(struct origin *origin);

/* The next row; those of an entry stand together. */
struct status origin_add(struct origin *origin, const struct origin_row *row);

/* After the last row: the row that it is, ORIGIN_NONE when every difference came in through an input. */
struct status origin_end(uint64_t *row, struct origin *origin);

#endif
