/* The configuration of merge_result, a YAML file:
 *
 *     api:                      # which calls, in the order of the table: required
 *     - Distributed.all_reduce  # {type}[.{name}[.{count}[.{direction}]]], an API or a module
 *     compare_index:            # which columns; all of the dumps' kind when it is left out
 *     - Max diff
 */
#ifndef PROBE_COMPARE_MERGE_MERGE_CONFIG_H
#define PROBE_COMPARE_MERGE_MERGE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"

struct merge_config {
    const char *const *apis; /* beginnings of row names that end where a part does; none twice */
    size_t n_apis;
    const char *const *indices; /* headers of columns, none twice; n_indices 0: all */
    size_t n_indices;
};

/* Parse a text; everything lives in `arena`. `name` is that of the file, for messages, which say
 * line and column. STATUS_BAD_INPUT for what is no such configuration. */
struct status merge_config_parse(struct merge_config *out, struct arena *arena, const char *name,
                                 const char *text, size_t bytes);

/* The number of the first API that a row belongs to, n_apis when there is none: its name is the API's
 * and a dot follows. */
size_t merge_config_api(const struct merge_config *config, const char *row, size_t length);

#endif
