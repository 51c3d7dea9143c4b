/* Graphs as an SQLite database, which the TensorBoard plug-in of the field opens: tables tb_nodes,
 * tb_stack and tb_config.
 */
#ifndef PROBE_GRAPH_DATABASE_H
#define PROBE_GRAPH_DATABASE_H

#include "graph/graph.h"

struct database;

/* Can this build write databases? */
bool database_available(void);

/* Start the file `path`, which appears under its name when database_finish has written the whole.
 *
 *   errors  STATUS_BAD_ARGUMENT when this build lacks SQLite; STATUS_IO with SQLite's reason */
struct status database_create(struct database **out, const char *path, enum generation generation);

/* Add a graph of a step and a rank. */
struct status database_add(struct database *database, const struct graph *graph, unsigned step,
                           unsigned rank);

struct database_config {
    bool compared, overflow_check;
    enum dump_kind kind;
    enum generation generation;
    uint32_t micro_steps;
    const unsigned *ranks, *steps;
    size_t n_ranks, n_steps;
};

/* Write what is said once, make the indexes, close, and give the file its name. The database is gone
 * whatever the result; on failure the unfinished file is removed. */
struct status database_finish(struct database *database, const struct database_config *config);

/* Drop an unfinished file. NULL is fine. */
void database_abandon(struct database *database);

#endif
