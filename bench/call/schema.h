/* Schemas: the argument lists of native_functions.yaml, parsed, and bound to a call.
 *
 *     (Tensor self, Tensor other, *, Scalar alpha=1, int[2] stride=[], str mode="mean",
 *      ScalarType? dtype=None, Tensor[] rest, Tensor(a!) out)
 *
 * Types: Tensor, Scalar, int, float, bool, str, ScalarType, Device, Layout, MemoryFormat,
 * Generator, Dimname (as str), Any; a `?` allows None, `[]` and `[n]` are lists (a single item
 * counts as a list of one when n is given or the item type is int). Parameters after `*` are
 * keyword-only; a `...` in the list accepts and ignores any further keyword. A parameter
 * written `*int[] sizes` collects the remaining positional arguments (Tensor.view(2, 3)).
 */
#ifndef PROBE_BENCH_CALL_SCHEMA_H
#define PROBE_BENCH_CALL_SCHEMA_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

enum { SCHEMA_MOST_PARAMETERS = 40 };

enum parameter_type {
    TYPE_TENSOR,
    TYPE_SCALAR,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_BOOL,
    TYPE_STRING,
    TYPE_DTYPE,
    TYPE_DEVICE,
    TYPE_LAYOUT,
    TYPE_MEMORY_FORMAT,
    TYPE_GENERATOR,
    TYPE_ANY
};

struct parameter {
    const char *name;
    enum parameter_type type;
    bool optional, list, keyword_only, variadic, has_default;
    struct value fallback; /* the default */
};

struct schema {
    struct parameter *parameters;
    int count;
    bool any_keyword;
};

/* Parse a schema into `arena`. The text is ours: an error is STATUS_INTERNAL. */
struct status schema_parse(struct schema **out, struct arena *arena, const char *text);

/* Read a literal as defaults have them (2, 0.5, "mean", True, None, [0, 1]); *at moves behind it. */
struct status schema_read_literal(struct value *out, const char **at, struct arena *arena);

/* Bind arguments. STATUS_SKIP says what does not fit. `bound` and `given` have room for
 * SCHEMA_MOST_PARAMETERS. */
struct status schema_bind(struct value *bound, bool *given, const struct schema *schema,
                          const struct value *args, const struct value *kwargs,
                          struct arena *arena);

#endif
