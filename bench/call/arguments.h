/* The arguments of a call, bound to the schema of its row, and the nodes of its tensors. */
#ifndef PROBE_BENCH_CALL_ARGUMENTS_H
#define PROBE_BENCH_CALL_ARGUMENTS_H

#include "bench/call/schema.h"
#include "bench/tape/tape.h"

struct call;

/* A tensor argument and its node. Leaves are in the order of the gradients: args, then kwargs,
 * depth-first. */
struct leaf {
    const struct value *value;
    struct node *node; /* made on first use */
};

struct arguments {
    const struct schema *schema;
    struct value bound[SCHEMA_MOST_PARAMETERS]; /* by parameter, defaults filled in */
    bool given[SCHEMA_MOST_PARAMETERS];         /* by the caller rather than by default */
    struct leaf *leaves;
    size_t leaf_count;
};

/* The value bound to a parameter. An unknown name is an internal failure. */
const struct value *call_value(struct call *call, const char *name);
bool call_is_none(struct call *call, const char *name);

/* The node of a tensor argument. A Python number given for a Tensor parameter becomes a rank-0
 * constant whose dtype is DT_NONE ("weak": see call_result_type). None is a failure; use
 * call_is_none or call_optional_tensor (NULL when None) first. */
struct node *call_tensor(struct call *call, const char *name);
struct node *call_optional_tensor(struct call *call, const char *name);

/* A list of tensors; *count is set. */
struct node **call_tensors(struct call *call, const char *name, int *count);

/* A tensor value that is not a parameter by itself (an item of a nested list, an index). */
struct node *call_node(struct call *call, const struct value *value);

int64_t call_int(struct call *call, const char *name);
double call_real(struct call *call, const char *name); /* int, float, bool or 1-element tensor */
bool call_bool(struct call *call, const char *name);
const char *call_string(struct call *call, const char *name);
enum dtype call_dtype(struct call *call, const char *name); /* DT_NONE when None */

/* A list of ints, at most `most`, into out; a single int counts as a list of one. Returns the
 * number; 0 for None. */
int call_ints(struct call *call, const char *name, int64_t *out, int most);

/* As call_ints, a single int (or list of one) repeated to `count` entries. */
void call_ints_repeated(struct call *call, const char *name, int64_t *out, int count);

/* A dimension argument, wrapped to 0 <= dim < rank (rank 0 accepts -1 and 0, gives 0). */
int call_dim(struct call *call, const char *name, int rank);
int wrap_dim(struct call *call, int64_t dim, int rank);

/* A set of dimensions of x as a bit mask (bench/call/dimensions.h): None or an empty list gives all
 * of them. */
uint32_t call_dims(struct call *call, const char *name, const struct node *x);

#endif
