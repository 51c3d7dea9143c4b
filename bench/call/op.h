/* What an op is: one row of a family table, and how its function sees a call.
 *
 * A row gives an API's names, the schema that binds its arguments (in the grammar of PyTorch's
 * native_functions.yaml) and the function that composes the result from primitives:
 *
 *     static void softmax(struct call *call)
 *     {
 *         struct tape *tape = call->tape;
 *         struct node *x = call_tensor(call, "input");
 *         ...
 *         call_return(call, y);
 *     }
 *
 *     { "softmax", TORCH | FUNCTIONAL | TENSOR,
 *       "(Tensor input, int dim, ScalarType? dtype=None)", softmax, 0 },
 *
 * The first parameter of a Tensor method is its self. Several rows may share a name (overloads):
 * the first whose schema fits the arguments is taken. In-place names (add_, __iadd__) and dunder
 * names need no rows: bench/registry.c derives them from the base row. The gradient comes from
 * the composition; where PyTorch's choice at a kink differs from the natural one, compose so
 * that it holds (node_select on a mask decides which branch the gradient takes).
 */
#ifndef PROBE_BENCH_CALL_OP_H
#define PROBE_BENCH_CALL_OP_H

#include "bench/call/output.h"
#include "bench/tape/tape.h"
#include "core/case.h"

/* Groups (types of the dump) that have a name. */
enum { FUNCTIONAL = 1, TENSOR = 2, TORCH = 4, NPU = 8, ATEN = 16 };
#define ANYWHERE (FUNCTIONAL | TENSOR | TORCH)

enum op_flags {
    OP_ONE_NODE = 1,    /* PyTorch runs it as one autograd node (bench_is_one_autograd_node) */
    OP_NO_GRADIENT = 2, /* PyTorch cannot differentiate it */
    OP_RANDOM = 4,      /* no value oracle; outputs carry a property */
    OP_GRADIENT_IN_PLACE =
        8 /* with OP_NO_GRADIENT: differentiable all the same when written into self */
};

struct call;

struct op {
    const char *name; /* "softmax", "linalg.inv"; alternatives separated by '|' */
    unsigned groups;
    const char *schema; /* "(Tensor input, int dim=-1, *, ScalarType? dtype=None)" */
    void (*run)(struct call *call);
    unsigned flags;
    intptr_t detail;  /* for run: lets rows share a function (call->op->detail) */
    const char *text; /* likewise, e.g. the name of a unary function */
};

enum { CALL_MAX_PARAMETERS = 40, CALL_MAX_OUTPUTS = 4096 };

struct parameter; /* of a parsed schema */

struct result; /* bench/call/call.h */

struct call {
    const struct op *op;
    const struct api_case *c;
    struct tape *tape;
    bool in_place;  /* the name was an in-place spelling: the result takes self's dtype */
    bool reflected; /* __radd__ and the like: the two operands were swapped for the row */

    const struct schema *schema;
    struct value bound[CALL_MAX_PARAMETERS]; /* by parameter, defaults filled in */
    bool given[CALL_MAX_PARAMETERS];         /* by the caller rather than by default */
    struct leaf *leaves;                     /* nodes of the tensor arguments */
    size_t leaf_count;

    /* Results, in PyTorch's order, nested ones flattened. */
    struct result *results;
    size_t result_count, result_capacity;

    /* What the device returned, after bench_settle: a flat LIST, or NULL. */
    const struct value *device;
    /* A random op's gradient by property, when its values are not determined: the property of
     * the first leaf's gradient for this cotangent of output 0. Set by the op. */
    const struct bench_property *(*gradient_property)(struct call *call, struct node *cotangent);
    bool consults_device; /* the op asked for it: settling means running the op again */
};

/* ---- arguments ------------------------------------------------------------------------------ */

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

/* A set of dimensions as a bit mask: None or an empty list gives all of them. */
uint32_t call_dims(struct call *call, const char *name, int rank);

/* PyTorch's result type of the operands: dimensioned tensors, then 0-d tensors, then Python
 * numbers, a lower category counting only when its kind is higher. Python floats are float32
 * (the default dtype) when nothing else decides. */
enum dtype call_result_type(struct call *call, struct node *const *nodes, int count);

/* The same for functions that make floats of integers: integral results become float32. */
enum dtype call_float_type(struct call *call, struct node *const *nodes, int count);

/* ---- results -------------------------------------------------------------------------------- */

/* Can PyTorch differentiate it, under a name that writes into self or one that does not? */
static inline bool op_has_gradient(const struct op *op, bool in_place)
{
    return !(op->flags & OP_NO_GRADIENT) || (in_place && op->flags & OP_GRADIENT_IN_PLACE);
}

/* Append an output. The node's dtype is the result's; a recorded float dtype of the dump takes
 * precedence over another float dtype. */
void call_return(struct call *call, struct node *node);
void call_return_typed(struct call *call, struct node *node, enum dtype dtype);
void call_return_none(struct call *call);
void call_return_value(struct call *call, struct value value);

/* A random result: dtype and shape, and what must hold of it. */
void call_return_random(struct call *call, struct node *native, enum dtype dtype, int rank,
                        const int64_t *shape, const struct bench_property *property);

/* What the device returned as flat output k: its tensor, or NULL (not settled, not a tensor). */
const struct tensor *call_device_output(struct call *call, size_t k);

/* The device's flat output k as an int64 node of the shape of `like`; NULL when it is no integer
 * tensor of as many elements. */
struct node *call_device_integers(struct call *call, size_t k, const struct node *like);

/* Indices chosen by the device: when output k of the device is an integer tensor of this shape
 * and `accept` finds each of its entries as right as ours, they are taken; otherwise `own`. */
struct node *call_settled_indices(struct call *call, size_t k, struct node *own,
                                  bool (*accept)(void *context, size_t i, int64_t index),
                                  void *context);

/* Fail this call with STATUS_SKIP and a sentence. */
void call_fail(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Does the call meet the condition? If not, it fails with the sentence that follows. After an
 * earlier failure the answer is no, and neither condition nor sentence is evaluated: what they
 * read of arguments that could not be had means nothing.
 *
 *     if (!call_require(call, x->rank >= 2, "scores have at least two dimensions")) return; */
#define call_require(call, condition, ...) \
    (!tape_failed((call)->tape) && ((condition) || (call_fail(call, __VA_ARGS__), false)))

/* ---- registry -------------------------------------------------------------------------------- */

/* Every family file defines `const struct op ops_<family>[]` and its length with this macro,
 * and is listed in bench/families.inc. */
#define OP_TABLE_END(family) \
    const size_t ops_##family##_count = sizeof ops_##family / sizeof *ops_##family

#endif
