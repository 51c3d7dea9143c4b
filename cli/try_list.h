/* Lists such as 4x8,8x16 or input=4x8,weight=16x8: items by their place, or by the name of an argument. */
#ifndef PROBE_CLI_TRY_LIST_H
#define PROBE_CLI_TRY_LIST_H

#include <stdbool.h>

#include "cli/options.h"
#include "core/arena.h"
#include "core/dtype.h"
#include "core/status.h"
#include "core/tensor.h"

struct try_item {
    const char *name; /* of an argument, or NULL */
    const char *text; /* as typed, without the name */
    bool used;
    union {
        struct {
            int rank;
            int64_t extents[TENSOR_MAX_RANK];
        } shape;
        enum dtype dtype;
        struct {
            double low, high;
        } range;
    };
};

struct try_list {
    struct try_item *items;
    size_t count;
};

/* The items of "4x8", "2x3x4", "scalar" (no dimensions). */
struct status try_list_read_shapes(struct try_list *out, struct arena *arena,
                                   const struct operands *texts);

/* "f32", "bfloat16", "torch.int64". */
struct status try_list_read_dtypes(struct try_list *out, struct arena *arena,
                                   const struct operands *texts);

/* "-1:1", "0.5" (one value), "nan:2", "-inf:inf". */
struct status try_list_read_ranges(struct try_list *out, struct arena *arena,
                                   const struct operands *texts);

/* The next item for the argument `name` that is not used: one of its own, else, when `any`, the first
 * without a name. NULL when there is none. The item is marked as used. */
struct try_item *try_list_take(struct try_list *list, const char *name, bool any);

/* What holds for the argument `name`, tensor number `index`: its own item, else the one at its place
 * among those without names, else the only one of these. NULL when nothing does. */
const struct try_item *try_list_find(struct try_list *list, const char *name, size_t index);

/* The first item that nothing has used, or NULL. */
const struct try_item *try_list_unused(const struct try_list *list);

/* The dtype of a name as --dtype takes it: f16 too. DT_NONE when it is none. */
enum dtype try_dtype(const char *name);

#endif
