/* Arguments as ops read them. What cannot be had fails the call; what is returned then is harmless. */
#include "bench/call/arguments.h"

#include <string.h>

#include "bench/call/call.h"
#include "bench/call/dimensions.h"
#include "bench/call/failure.h"
#include "bench/call/op.h"
#include "bench/tape/bounds.h"

static int parameter_index(struct call *call, const char *name)
{
    for (int i = 0; i < call->arguments.schema->count; i++)
        if (!strcmp(call->arguments.schema->parameters[i].name, name)) return i;
    tape_fail(call->tape, STATUS_INTERNAL, "the schema of %s has no argument '%s'", call->op->name,
              name);
    return -1;
}

const struct value *call_value(struct call *call, const char *name)
{
    static const struct value none = { .kind = VALUE_NONE };
    int i = parameter_index(call, name);
    return i < 0 ? &none : &call->arguments.bound[i];
}

bool call_is_none(struct call *call, const char *name)
{
    return call_value(call, name)->kind == VALUE_NONE;
}

/* ---- tensors ------------------------------------------------------------------------------- */

static bool wants_gradient(const struct value *value)
{
    const struct tensor_record *record = value->tensor.record;
    return record && record->requires_grad && value->tensor.tensor &&
           dtype_info(value->tensor.tensor->dtype)->kind >= KIND_FLOAT;
}

/* A leaf; in a model of kernels that flush subnormals its own may be flushed. */
static struct node *leaf_node(struct tape *tape, const struct tensor *tensor, bool tracked)
{
    struct node *node = node_leaf(tape, tensor, tracked);
    model_flushes(tape, node);
    return node;
}

struct node *call_node(struct call *call, const struct value *value)
{
    struct tape *tape = call->tape;
    switch (value->kind) {
    case VALUE_TENSOR:
        if (!value->tensor.tensor) break;
        for (size_t i = 0; i < call->arguments.leaf_count; i++) {
            struct leaf *leaf = &call->arguments.leaves[i];
            if (leaf->value->tensor.tensor != value->tensor.tensor) continue;
            if (!leaf->node)
                leaf->node = leaf_node(tape, value->tensor.tensor, wants_gradient(leaf->value));
            return leaf->node;
        }
        return leaf_node(tape, value->tensor.tensor, false);
    case VALUE_BOOL: return node_integer_constant(tape, DT_BOOL, value->boolean, 0, NULL);
    case VALUE_INT: return node_integer_constant(tape, DT_NONE, value->integer, 0, NULL);
    case VALUE_FLOAT: return node_scalar(tape, value->real);
    default: break;
    }
    call_fail(call, "a tensor argument has no elements");
    return node_scalar(tape, 0);
}

struct node *call_tensor(struct call *call, const char *name)
{
    const struct value *value = call_value(call, name);
    if (value->kind == VALUE_NONE) call_fail(call, "argument '%s' is None", name);
    return call_node(call, value);
}

struct node *call_optional_tensor(struct call *call, const char *name)
{
    return call_is_none(call, name) ? NULL : call_node(call, call_value(call, name));
}

struct node **call_tensors(struct call *call, const char *name, int *count)
{
    const struct value *value = call_value(call, name);
    *count = 0;
    if (!value_is_sequence(value)) {
        if (value->kind != VALUE_TENSOR) return NULL;
        struct node **one = tape_allocate(call->tape, 1, sizeof *one);
        if (!one) return NULL;
        one[0] = call_node(call, value);
        *count = 1;
        return one;
    }
    struct node **nodes = tape_allocate(call->tape, value->list.count, sizeof *nodes);
    if (!nodes) return NULL;
    for (size_t i = 0; i < value->list.count; i++)
        nodes[i] = call_node(call, &value->list.items[i]);
    *count = (int)value->list.count;
    return nodes;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static double number_of(struct call *call, const struct value *value)
{
    switch (value->kind) {
    case VALUE_BOOL: return value->boolean;
    case VALUE_INT: return (double)value->integer;
    case VALUE_FLOAT: return value->real;
    case VALUE_TENSOR: {
        double pair[2] = { 0 };
        if (value->tensor.tensor && tensor_elements(value->tensor.tensor) == 1)
            dtype_to_double(pair, value->tensor.tensor->data, value->tensor.tensor->dtype, 1);
        return pair[0];
    }
    default: call_fail(call, "a number was expected"); return 0;
    }
}

static int64_t integer_of(struct call *call, const struct value *value)
{
    if (value->kind == VALUE_INT) return value->integer;
    if (value->kind == VALUE_BOOL) return value->boolean;
    const struct tensor *tensor = value->kind == VALUE_TENSOR ? value->tensor.tensor : NULL;
    if (tensor && tensor_elements(tensor) == 1 && dtype_is_integral(tensor->dtype)) {
        int64_t integer;
        dtype_to_int64(&integer, tensor->data, tensor->dtype, 1);
        return integer;
    }
    double x = number_of(call, value);
    return x >= -0x1p62 && x <= 0x1p62 ? (int64_t)x : 0;
}

int64_t call_int(struct call *call, const char *name)
{
    return integer_of(call, call_value(call, name));
}

double call_real(struct call *call, const char *name)
{
    return number_of(call, call_value(call, name));
}

bool call_bool(struct call *call, const char *name)
{
    return call_is_none(call, name) ? false : number_of(call, call_value(call, name)) != 0;
}

const char *call_string(struct call *call, const char *name)
{
    const struct value *value = call_value(call, name);
    return value->kind == VALUE_STRING ? value->string : "";
}

enum dtype call_dtype(struct call *call, const char *name)
{
    const struct value *value = call_value(call, name);
    return value->kind == VALUE_DTYPE ? value->dtype : DT_NONE;
}

int call_ints(struct call *call, const char *name, int64_t *out, int most)
{
    const struct value *value = call_value(call, name);
    if (value->kind == VALUE_NONE) return 0;
    if (!value_is_sequence(value)) {
        out[0] = integer_of(call, value);
        return 1;
    }
    if (value->list.count > (size_t)most) {
        call_fail(call, "argument '%s' has %zu items; at most %d fit", name, value->list.count,
                  most);
        return 0;
    }
    for (size_t i = 0; i < value->list.count; i++) out[i] = integer_of(call, &value->list.items[i]);
    return (int)value->list.count;
}

void call_ints_repeated(struct call *call, const char *name, int64_t *out, int count)
{
    int64_t items[TENSOR_MAX_RANK] = { 0 };
    int n = call_ints(call, name, items, TENSOR_MAX_RANK);
    if (n != count && n != 1)
        call_fail(call, "argument '%s' has %d items; %d were expected", name, n, count);
    for (int i = 0; i < count; i++) out[i] = items[n == 1 ? 0 : i];
}

int wrap_dim(struct call *call, int64_t dim, int rank)
{
    int64_t extent = rank ? rank : 1;
    if (dim < -extent || dim >= extent) {
        call_fail(call, "dimension %lld is out of range for %d dimensions", (long long)dim, rank);
        return 0;
    }
    return (int)(dim < 0 ? dim + extent : dim);
}

int call_dim(struct call *call, const char *name, int rank)
{
    return wrap_dim(call, call_int(call, name), rank);
}

uint32_t call_dims(struct call *call, const char *name, const struct node *x)
{
    int64_t items[TENSOR_MAX_RANK];
    int n = call_ints(call, name, items, TENSOR_MAX_RANK);
    uint32_t dims = 0;
    for (int i = 0; i < n; i++) dims |= one_dim(x, wrap_dim(call, items[i], x->rank));
    return n ? dims : all_dims(x);
}
