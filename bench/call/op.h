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

#include "bench/call/arguments.h"
#include "bench/call/call.h"
#include "bench/call/device_answer.h"
#include "bench/call/failure.h"
#include "bench/call/operand_types.h"
#include "bench/call/results.h"

/* Groups (types of the dump) that have a name. */
enum {
    FUNCTIONAL = 1,
    TENSOR = 2,
    TORCH = 4,
    NPU = 8,
    ATEN = 16,
    MINDSPORE = 32, /* ops of MindSpore that PyTorch lacks (bench/mindspore) */
    TORCH_VF = 64,  /* torch._VF, what the recurrent layers of torch.nn call */
    MINDSPEED = 128 /* fused operators of MindSpeed; their names say the module first */
};
#define ANYWHERE (FUNCTIONAL | TENSOR | TORCH)

enum op_flags {
    OP_ONE_NODE = 1,    /* PyTorch runs it as one autograd node (bench_is_one_autograd_node) */
    OP_NO_GRADIENT = 2, /* PyTorch cannot differentiate it */
    OP_RANDOM = 4,      /* no value oracle; outputs carry a property */
    /* With OP_NO_GRADIENT: differentiable all the same when written into self. */
    OP_GRADIENT_IN_PLACE = 8,
    /* It adds, in a family whose other results are exact (bench/catalogue.c). */
    OP_ADDS = 16,
    /* Its argument `dtype` is that of its arithmetic: operands are cast to it first (node_cast_operand). */
    OP_CASTS_FIRST = 32,
    /* Its argument `input` is cast to the dtype of the last tensor, which is that of its arithmetic. */
    OP_CASTS_INPUT = 64
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

/* Can PyTorch differentiate it, under a name that writes into self or one that does not? */
static inline bool op_has_gradient(const struct op *op, bool in_place)
{
    return !(op->flags & OP_NO_GRADIENT) || (in_place && op->flags & OP_GRADIENT_IN_PLACE);
}

/* Every family file defines `const struct op ops_<family>[]` and its length with this macro,
 * and is listed in bench/families.inc. */
#define OP_TABLE_END(family) \
    const size_t ops_##family##_count = sizeof ops_##family / sizeof *ops_##family

#endif
