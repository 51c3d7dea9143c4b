/* Calls of MindSpore as calls of PyTorch that compute the same.
 *
 * MindSpore has functions of the same mathematics under names, argument names, orders and defaults of
 * its own. A row gives those, in the schema grammar of bench/call/schema.h, and the call of PyTorch (or of
 * the group "MindSpore", ops that PyTorch lacks) in terms of the parameters:
 *
 *     { "softmax", OPS, "(Tensor input, int axis=-1, *, ScalarType? dtype=None)",
 *       "Functional.$(input, axis, dtype=dtype)" },
 *
 * `$` is the name of the call itself. A call without parentheses takes the arguments as they are, and its
 * row has no schema: the signatures agree. Literals are those of schemas; `*shape` spreads a list. Rows
 * may share a name: the first one that binds, and whose call binds too, is taken.
 */
#ifndef PROBE_BENCH_MINDSPORE_TRANSLATION_H
#define PROBE_BENCH_MINDSPORE_TRANSLATION_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

/* The types of a dump that a row is for. */
enum { MINT = 1, MINT_FUNCTIONAL = 2, OPS = 4, METHOD = 8 };

struct translation {
    const char *names; /* alternatives separated by '|' */
    unsigned groups;
    const char *schema; /* NULL: as that of the call */
    const char *call;
};

/* The tables, ended by a row without names. The names "*" are every name. */
extern const struct translation mint_calls[], ops_elementwise_calls[], ops_array_calls[],
    ops_layer_calls[], method_calls[];

/* The bit of a type of the dump, 0 when it is none of them. */
unsigned translation_group(const char *type);

/* Row `i` of all tables, NULL past the last. */
const struct translation *translation_row(size_t i);

/* Apply a row to a call whose name it has. STATUS_SKIP when the arguments do not fit its schema. */
struct status translation_apply(struct api_case *out, struct arena *arena,
                                const struct translation *row, const struct api_case *c);

#endif
