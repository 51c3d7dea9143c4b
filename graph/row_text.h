/* The rows of a node as the result files have them: objects row name -> object of texts. */
#ifndef PROBE_GRAPH_ROW_TEXT_H
#define PROBE_GRAPH_ROW_TEXT_H

#include "compare/dumps/columns.h"
#include "graph/side.h"

/* How rows are written, and memory for doing so. Start with row_writer_open, end with
 * row_writer_close. */
struct row_writer {
    const struct graph_side *side;
    const struct comparison
        *comparison; /* NULL for rows without metrics: of a built graph, of Bench */
    bool shows_checksums;
    bool is_batch; /* the node is a batch of sends and receives */
    struct column_list metrics;
    struct row_cells cells;
    struct csv_buffer name, value, shown;
    struct csv_buffer keys; /* of the metrics, one behind the other */
    struct metric_key {
        size_t begin, end;
        bool is_difference;
        uint8_t relative; /* enum row_statistic whose relative error it is; ROW_STATISTICS */
    } metric_key[COLUMNS_MAX];
};

/* Rows of `side`; with a comparison those of its NPU side get its metrics. */
void row_writer_open(struct row_writer *out, const struct graph_side *side,
                     const struct comparison *comparison, bool shows_checksums);
void row_writer_close(struct row_writer *writer);

/* Append the object of a node's inputs (parameters among them) or of its outputs. `indent` is the
 * number of blanks before its members, one a line; 0 for all on one line. */
struct status row_writer_append(struct csv_buffer *out, struct row_writer *writer, uint32_t node,
                                bool outputs, unsigned indent);

#endif
