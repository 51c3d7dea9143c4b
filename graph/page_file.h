/* Graphs as one page that opens from disk: web/graph.
 *
 * A graph says with `by_hand` which nodes of the NPU side have their partners from a file (--match), as a
 * list of numbers; it is not there without a file.
 *
 * What the page holds for each side of a graph, as blocks that are decoded when they are needed (pages/page.h;
 * numbers little-endian, one after the other, nodes from the root down):
 *
 *   names    a text for each node, ended by a NUL
 *   nodes    32-bit: parent, partner on the other side, place in the order of execution, stack, micro step;
 *            32-bit float: precision index (NaN: none); 8-bit: type, repair, overflow level
 *   stacks   a JSON list of frames for each distinct stack, ended by a NUL
 *   communications  a JSON object of the nodes that meet calls of other ranks: what they meet, as
 *            communications_append writes it; only where there are such nodes
 *   merges   a JSON object of the nodes whose statistics were merged from several ranks (parallel_merge):
 *            a list of remarks each; only where there are such nodes
 *   rows     for GRAPH_PAGE_ROWS nodes each: JSON objects of a node's inputs and of its outputs, each
 *            ended by a NUL
 *
 * A parent, partner or stack that is not there is -1. A place counts calls before the modules they are in.
 */
#ifndef PROBE_GRAPH_PAGE_FILE_H
#define PROBE_GRAPH_PAGE_FILE_H

#include "formats/text_out.h"
#include "graph/graph.h"
#include "pages/page.h"

enum { GRAPH_PAGE_ROWS = 512 };

struct graph_page {
    struct page *page;
    struct text_out meta; /* JSON of the graphs so far */
    size_t graphs;
    bool compared;
    enum dump_kind kind;
};

/* Start a page. End with graph_page_finish or graph_page_discard. */
struct status graph_page_create(struct graph_page *out, const char *path);

/* Add a graph of a step and a rank. */
struct status graph_page_add(struct graph_page *page, const struct graph *graph, unsigned step,
                             unsigned rank);

/* Write what is said once, and give the file its name. */
struct status graph_page_finish(struct graph_page *page, bool overflow_check,
                                enum generation generation);
void graph_page_discard(struct graph_page *page);

#endif
