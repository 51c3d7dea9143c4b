/* The precision index of a node: one number that its colour is taken from.
 *
 *   statistics  largest relative error of max, min, mean and norm over the outputs, at most 1
 *   tensor      smallest share of elements within a thousandth among the inputs, less that among the
 *               outputs, between 0 and 1: how much the node itself adds
 *   md5         1 when all checksums are equal, else 0
 *   structure   none
 *
 * From the second generation on a node with inf or nan among the maxima and minima of its outputs has 1
 * in the files for msprobe's viewers, whatever Bench has there: every causal mask is. The page and the
 * summary judge by an index that takes the same inf or nan on both sides for right, and one that only
 * Bench has for wrong.
 *
 * A collection has the worst of its children. In the third generation it is 0, 0.5 or 1 for pass,
 * warning and error of its rows.
 */
#ifndef PROBE_GRAPH_PRECISION_H
#define PROBE_GRAPH_PRECISION_H

#include "compare/dumps/result.h"
#include "graph/side.h"

/* What is known of a node. */
struct node_index {
    double value;  /* of the files for viewers */
    double judged; /* of the page and the summary */
    bool known;
};

/* Indices of all NPU nodes, those without a partner unknown; `out` has a place for each node. */
void precision_compute(struct node_index *out, const struct graph_side *npu,
                       const struct comparison *c);

/* Below which magnitude a statistic of a row counts as small in the first generation, where relative
 * errors say nothing: 0 for none. */
double small_value(const struct dump_rows *dump, const struct dump_row *row);

/* Bands of colours: an index from `low` on and below `high` (the last band: up to it). */
struct colour_band {
    const char *hex;
    double low, high;
    const char *level; /* of the third generation, else NULL */
};

/* The bands of a kind of dump in a generation; *description says what the index is (Chinese, as the
 * viewers show it). Unmatched nodes have a colour of their own. */
const struct colour_band *colour_bands(size_t *count, const char **description, enum dump_kind kind,
                                       enum generation generation);
extern const char colour_unmatched[];
extern const char colour_unmatched_description[];

/* The name of a band's description where it depends on the band (checksums), else NULL. */
const char *colour_band_description(enum dump_kind kind, size_t band);

#endif
