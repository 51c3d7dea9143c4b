/* One side of a graph: the folder of a rank, read. It has the hierarchy, the rows of its dump, the
 * text of the dump for what rows do not hold, and the stacks.
 */
#ifndef PROBE_GRAPH_SIDE_H
#define PROBE_GRAPH_SIDE_H

#include "compare/dumps/dump_rows.h"
#include "formats/json.h"
#include "formats/stacks.h"
#include "graph/model.h"

#define ENTRY_NONE UINT32_MAX

struct graph_side {
    struct model model;
    const struct dump_rows *rows; /* of its dump.json; whoever opened them closes them */
    struct file_map dump;         /* the text of dump.json */
    bool is_merged;               /* made of several ranks: `dump` belongs to somebody else */
    struct stacks *stacks;
    char *data_folder;    /* `dump_data_dir` of the dump; "" when there is none */
    uint32_t *entry_of;   /* by node: its entry in the dump, or ENTRY_NONE */
    uint8_t *entry_words; /* by entry: which words its name has that tell rows apart */
    uint32_t *match;      /* by node: its partner on the other side, or NODE_NONE */
    const struct text_table *merge_notes; /* of a merged side: JSON lists of remarks */
    const uint32_t *merge_note_of;        /* by node: its list, or TEXT_NONE; NULL: not merged */
};

/* Read what lies beside the dump in `folder`, which has the files dump.json, construct.json and
 * stack.json.
 *
 *   out     end with graph_side_close; empty on failure
 *   rows    of folder/dump.json; must outlive `out`
 *   errors  STATUS_BAD_INPUT with the file and the place */
struct status graph_side_open(struct graph_side *out, const char *folder,
                              const struct dump_rows *rows, struct file_policy policy);

/* A side that was put together in memory: its hierarchy, what its dump.json and stack.json would be, and
 * remarks on nodes. */
struct side_parts {
    struct model model;
    struct csv_buffer dump, stacks;
    struct text_table notes; /* JSON lists of remarks */
    uint32_t *note_of;       /* by node: its list, or TEXT_NONE */
};
void side_parts_release(struct side_parts *parts);

/* A side of parts, which must outlive it; the model moves into the side. `rows` are those of
 * parts->dump. */
struct status graph_side_take(struct graph_side *out, struct side_parts *parts,
                              const struct dump_rows *rows);
void graph_side_close(struct graph_side *side);

/* What was merged into the rows of a node, as a JSON list; NULL when nothing was. */
const char *node_merge_notes(const struct graph_side *side, uint32_t node, size_t *length);

/* The rows of a node: `count` of them from `first`. None when it was not dumped. */
struct row_range {
    uint32_t first, count;
};
struct row_range node_rows(const struct graph_side *side, uint32_t node);

/* The record of a row in the text of the dump; false for a row of null. */
bool row_record(struct json *record, const struct graph_side *side, uint32_t row);

/* Where the records of nodes whose names begin with `prefix` ("": of all) are in the text of the dump,
 * by node; PLACE_NONE where there is none. To be freed with memory_release. */
struct status side_find_records(uint64_t **places, const struct graph_side *side,
                                const char *prefix);

/* Is the row shown with the outputs of its node? That is so when its name has ".output." and no
 * ".input.", so that parameters are shown with the inputs, but for those of a module that lies in one
 * called "output". */
bool row_is_shown_as_output(const struct graph_side *side, uint32_t row);

/* The frames of a node's stack: its own, or that of its forward twin. False when there is none. */
bool node_stack(struct json *frames, const struct graph_side *side, uint32_t node);

/* Is it a backward call without a stack of its own, whose forward call is not in the graph? */
bool node_lacks_forward(const struct graph_side *side, uint32_t node);

#endif
