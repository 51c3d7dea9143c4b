/* The hierarchies of several ranks while they are merged into one.
 *
 * All nodes of all ranks lie in one model, whose names are "rank name": the node of a rank that had
 * a name in its own dump is found whatever it is called by now and wherever it was moved. Nodes are
 * moved from tree to tree; what is left in the trees of the other ranks is not part of the result.
 * Statistics are merged in the rows of the ranks themselves.
 */
#ifndef PROBE_GRAPH_MERGE_TREE_H
#define PROBE_GRAPH_MERGE_TREE_H

#include "formats/csv.h"
#include "graph/side.h"

/* A rank that is merged. */
struct merge_rank {
    unsigned rank;
    struct graph_side *side;
    struct dump_rows *rows; /* of `side`; statistics are changed here */
    bool *changed;          /* by row: its statistics are no longer those of the dump */
    uint64_t *places;       /* by node: its record in the dump (side_find_records) */
};

/* What is known of a node of the forest besides its place. */
struct merge_node {
    uint32_t rank;            /* index in the ranks */
    uint32_t origin;          /* node in the model of its rank; NODE_NONE for a node that is new */
    uint32_t name;            /* what it is called now, in `names` */
    uint32_t position;        /* among its siblings, in its own rank */
    uint32_t inputs, outputs; /* nodes of the forest whose rows are shown as its own */
    uint32_t first_note, last_note; /* what was merged into its rows, in `notes`; NOTE_END */
    bool added;                     /* came from another rank */
    bool adopts;                    /* has children that did */
    bool claimed; /* a sum over the ranks that was taken for what a product gives */
    bool split;   /* other ranks have further pieces of what it is one of */
};

#define NOTE_END UINT32_MAX

struct merge_note {
    uint32_t text, next; /* `text` in `names` */
};

struct merge_forest {
    struct merge_rank *ranks;
    uint32_t n_ranks;
    struct model tree; /* its own root is not used: each rank has one */
    uint32_t *roots;   /* by rank */
    struct text_table names;
    struct merge_node *nodes;
    size_t node_room;
    struct merge_note *notes;
    size_t n_notes, note_room;
};

/* Put the ranks side by side. End with merge_forest_close, on failure too. */
struct status merge_forest_open(struct merge_forest *out, struct merge_rank *ranks,
                                uint32_t n_ranks);
void merge_forest_close(struct merge_forest *forest);

/* The node that had this name in the dump of a rank (index); NODE_NONE. */
uint32_t merge_find(const struct merge_forest *forest, uint32_t rank, struct name_slice name);

/* What a node is called now; what it was called in its dump. */
struct name_slice merge_name(const struct merge_forest *forest, uint32_t node);
struct name_slice merge_first_name(const struct merge_forest *forest, uint32_t node);

struct status merge_rename(struct merge_forest *forest, uint32_t node, const char *name,
                           size_t length);

/* Add "_rank3" behind the second part of a name, as calls have it that came from rank 3. */
struct status merge_mark_rank(struct merge_forest *forest, uint32_t node);

/* A node that no rank has, without a parent; NODE_NONE when the rank has a node of that name. */
struct status merge_add(uint32_t *node, struct merge_forest *forest, uint32_t rank,
                        enum node_type type, const char *name);

/* Remark on what was merged into a node's rows. */
struct status merge_add_note(struct merge_forest *forest, uint32_t node, const char *text,
                             size_t length);

/* The rows of a node that are shown as its inputs or outputs are those of `*owner`: `count` of them
 * from `first`, of which only those of the kind count (row_is_shown_as_output). */
struct row_range merge_rows(struct merge_rank **owner, const struct merge_forest *forest,
                            uint32_t node, bool outputs);

/* The row of `other` that has the place of row `row` of `node` in its arguments; ROW_MISSING. */
#define ROW_MISSING UINT32_MAX
uint32_t merge_partner_row(const struct merge_forest *forest, uint32_t node, uint32_t row,
                           uint32_t other, bool outputs);

/* Does a row hold statistics that ranks may share: those of a tensor of integers or floats? */
bool merge_row_is_numeric(const struct dump_rows *rows, uint32_t row);

/* Are the statistics of two rows equal, mean and norm to 1e-6 of their value when `nearly`? */
bool merge_rows_equal(const struct dump_rows *a, uint32_t row_a, const struct dump_rows *b,
                      uint32_t row_b, bool nearly);

#endif
