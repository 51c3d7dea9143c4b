/* A graph as a `.vis` file: JSON, indented by four blanks, for viewers up to spring 2026.
 */
#ifndef PROBE_GRAPH_VIS_FILE_H
#define PROBE_GRAPH_VIS_FILE_H

#include "graph/graph.h"

/* Write `path`, which appears under its name when it is whole; an older file of the name is
 * replaced. */
struct status vis_file_write(const char *path, const struct graph *graph, bool overflow_check,
                             enum generation generation);

#endif
