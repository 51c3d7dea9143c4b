/* The expressions of a manifest: how a kernel's arguments follow from those of the API call.
 *
 *     shape(input)[0] * 2
 *     rank(x) == 2 and dtype(x) in ['float16', 'bfloat16']
 *     broadcast(shape(a), shape(b))
 *     dim if dim >= 0 else dim + rank(input)
 *
 * The grammar is that of Python's expressions as far as it goes: numbers, 'strings', None, True,
 * False, lists, indexing and slicing, + - * / // %, comparisons, in, and, or, not, the
 * conditional, and calls of the functions listed in plugin_functions.c. Values are none, bool,
 * integer (64 bits, overflow is an error), float, string, list and tensor. Nothing can be
 * assigned and nothing loops, so an expression always ends.
 */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_EXPRESSION_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/tensor.h"
#include "runner/devices/plugin/plugin_value.h"

/* Where names get their values. */
struct expression_scope {
    struct arena *arena; /* owns lists and strings of results */
    /* Set *out and return true when there is such a name. */
    bool (*find)(struct expression_value *out, void *context, const char *name);
    void *context;
};

/* The value of an expression. A fault is STATUS_BAD_INPUT with "column N: ...". */
struct status expression_evaluate(struct expression_value *out,
                                  const struct expression_scope *scope, const char *text);

/* Is the expression well formed? Names are not looked up; functions must exist. */
struct status expression_check(const char *text);

/* Results of a certain kind; a result of another kind is a fault. `as_size` and the items of
 * `as_sizes` are not negative. */
struct status expression_as_bool(bool *out, const struct expression_scope *scope, const char *text);
struct status expression_as_int(int64_t *out, const struct expression_scope *scope,
                                const char *text);
struct status expression_as_shape(int64_t *shape, int *rank, const struct expression_scope *scope,
                                  const char *text);
struct status expression_as_string(const char **out, const struct expression_scope *scope,
                                   const char *text);
struct status expression_as_tensor(const struct tensor **out, const struct expression_scope *scope,
                                   const char *text);

#endif
