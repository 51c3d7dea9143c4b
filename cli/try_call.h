/* A call that is described on a command line, as the call of a dump.
 *
 *     --op softmax --shape 4x100 --dtype bf16 --arg dim=-1
 *
 * The schema of the API says which tensor is which: shapes without a name go to the tensors in their
 * order, the rest to the arguments that they name. What the backward gets has the shapes of the
 * outputs, which the bench function is asked for once, in the arithmetic of the dtype.
 */
#ifndef PROBE_CLI_TRY_CALL_H
#define PROBE_CLI_TRY_CALL_H

#include "cli/options.h"
#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

struct try_call {
    const char *op;                         /* "softmax", "Torch.linalg.inv" */
    struct operands shapes, dtypes, ranges; /* "4x8,8x16", "weight=16x8" */
    struct operands arguments;              /* "dim=-1" */
    const char *distribution;               /* "uniform", "normal", "integers" */
    const char *gradients;                  /* "on", "off" */
    int64_t number;                         /* in the call's name; -1: the next that is free */
};
#define TRY_CALL_DEFAULTS                                          \
    {                                                              \
        .distribution = "uniform", .gradients = "on", .number = -1 \
    }

/* The values of --distribution and --gradients. */
const char *const *try_distributions(void);
const char *const *try_gradients(void);

/* The group and name of an API: "Functional" and "softmax" of softmax or Functional.softmax. Both live
 * in `arena`. STATUS_BAD_ARGUMENT with the nearest name when there is none. */
struct status try_call_find(const char **group, const char **api, struct arena *arena,
                            const char *op);

/* Make the call.
 *
 *   out     its tensors have records, and elements where the distribution is not that of a dump
 *   name    the full name that it gets: random elements depend on it
 *   arena   owns all of it; has a limit, beyond which shapes are too large
 *   errors  STATUS_BAD_ARGUMENT: what of the description fits no overload of the API
 */
struct status try_call_make(struct api_case *out, struct arena *arena, const struct try_call *call,
                            const char *group, const char *api, const char *name, uint64_t seed);

#endif
