/* How ops read their arguments and hand back results. */
#include "bench/call/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/primitives/casts.h"
#include "bench/tape/promotion.h"
#include "core/checked.h"

static int parameter_index(struct call *call, const char *name)
{
    for (int i = 0; i < call->schema->count; i++)
        if (!strcmp(call->schema->parameters[i].name, name)) return i;
    tape_fail(call->tape, STATUS_INTERNAL, "the schema of %s has no argument '%s'", call->op->name,
              name);
    return -1;
}

const struct value *call_value(struct call *call, const char *name)
{
    static const struct value none = { .kind = VALUE_NONE };
    int i = parameter_index(call, name);
    return i < 0 ? &none : &call->bound[i];
}

bool call_is_none(struct call *call, const char *name)
{
    return call_value(call, name)->kind == VALUE_NONE;
}

void call_fail(struct call *call, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tape_fail(call->tape, STATUS_SKIP, "%s", text);
}

/* ---- tensors ------------------------------------------------------------------------------- */

static bool wants_gradient(const struct value *value)
{
    const struct tensor_record *record = value->tensor.record;
    return record && record->requires_grad && value->tensor.tensor &&
           dtype_info(value->tensor.tensor->dtype)->kind >= KIND_FLOAT;
}

struct node *call_node(struct call *call, const struct value *value)
{
    struct tape *tape = call->tape;
    switch (value->kind) {
    case VALUE_TENSOR:
        if (!value->tensor.tensor) break;
        for (size_t i = 0; i < call->leaf_count; i++) {
            struct leaf *leaf = &call->leaves[i];
            if (leaf->value->tensor.tensor != value->tensor.tensor) continue;
            if (!leaf->node)
                leaf->node = node_leaf(tape, value->tensor.tensor, wants_gradient(leaf->value));
            return leaf->node;
        }
        return node_leaf(tape, value->tensor.tensor, false);
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

uint32_t call_dims(struct call *call, const char *name, int rank)
{
    int64_t items[TENSOR_MAX_RANK];
    int n = call_ints(call, name, items, TENSOR_MAX_RANK);
    uint32_t dims = 0;
    for (int i = 0; i < n; i++) dims |= 1u << wrap_dim(call, items[i], rank);
    return n ? dims : (1u << rank) - 1;
}

/* ---- dtypes --------------------------------------------------------------------------------- */

/* Categories of type promotion: dimensioned tensors, 0-d tensors, Python numbers. */
enum category { CATEGORY_TENSOR, CATEGORY_ZERO_DIM, CATEGORY_NUMBER, CATEGORIES };

enum dtype call_result_type(struct call *call, struct node *const *nodes, int count)
{
    enum dtype by_category[CATEGORIES] = { DT_NONE, DT_NONE, DT_NONE };
    (void)call;
    for (int i = 0; i < count; i++) {
        enum dtype dtype = nodes[i]->dtype;
        enum category category = nodes[i]->rank ? CATEGORY_TENSOR : CATEGORY_ZERO_DIM;
        if (dtype == DT_NONE) { /* a Python number */
            category = CATEGORY_NUMBER;
            dtype = nodes[i]->integer ? DT_I64 : DT_F32;
        }
        by_category[category] = dtype_promote(by_category[category], dtype);
    }
    enum dtype result = by_category[CATEGORY_TENSOR];
    for (int k = CATEGORY_ZERO_DIM; k < CATEGORIES; k++) {
        enum dtype other = by_category[k];
        if (other == DT_NONE) continue;
        if (result == DT_NONE || dtype_info(other)->kind > dtype_info(result)->kind) {
            /* A higher kind of a lower category brings its kind; a number brings the default
             * width, a 0-d tensor its own. */
            if (result != DT_NONE && dtype_info(other)->kind == KIND_COMPLEX)
                other = dtype_is_float(result) ? dtype_promote(result, DT_C64) : other;
            result = other;
        }
    }
    return result;
}

enum dtype call_float_type(struct call *call, struct node *const *nodes, int count)
{
    enum dtype dtype = call_result_type(call, nodes, count);
    return dtype == DT_NONE || dtype_is_integral(dtype) ? DT_F32 : dtype;
}

/* ---- results -------------------------------------------------------------------------------- */

static struct result *next_result(struct call *call)
{
    if (tape_failed(call->tape)) return NULL;
    if (call->result_count == call->result_capacity) {
        if (call->result_count >= CALL_MAX_OUTPUTS) {
            call_fail(call, "more than %d outputs", CALL_MAX_OUTPUTS);
            return NULL;
        }
        size_t capacity = call->result_capacity ? 2 * call->result_capacity : 4;
        struct result *bigger = tape_allocate(call->tape, capacity, sizeof *bigger);
        if (!bigger) return NULL;
        if (call->result_count) memcpy(bigger, call->results, call->result_count * sizeof *bigger);
        call->results = bigger;
        call->result_capacity = capacity;
    }
    struct result *result = &call->results[call->result_count++];
    memset(result, 0, sizeof *result);
    return result;
}

/* Tensor `wanted` of a recorded list, depth-first; NULL when there is none. */
static const struct tensor_record *recorded_tensor(const struct value *value, size_t *wanted)
{
    if (value->kind == VALUE_TENSOR || !value_is_sequence(value)) {
        if (*wanted == 0) return value->kind == VALUE_TENSOR ? value->tensor.record : NULL;
        (*wanted)--;
        return NULL;
    }
    for (size_t i = 0; i < value->list.count; i++) {
        size_t before = *wanted;
        const struct tensor_record *found = recorded_tensor(&value->list.items[i], wanted);
        if (found || (before == 0 && *wanted == 0 && !value_is_sequence(&value->list.items[i])))
            return found;
    }
    return NULL;
}

static enum dtype first_argument_dtype(const struct call *call)
{
    return call->leaf_count && call->leaves[0].value->tensor.tensor
               ? call->leaves[0].value->tensor.tensor->dtype
               : DT_NONE;
}

void call_return_typed(struct call *call, struct node *node, enum dtype dtype)
{
    size_t k = call->result_count;
    const struct tensor_record *record = recorded_tensor(&call->c->outputs, &k);

    if (dtype == DT_NONE) dtype = node->integer ? DT_I64 : DT_F32;
    if (call->in_place && call->result_count == 0 && first_argument_dtype(call) != DT_NONE)
        dtype = first_argument_dtype(call);
    else if (record && dtype_is_float(dtype) && record->dtype != DT_NONE &&
             dtype_is_float(record->dtype))
        dtype = record->dtype;
    node = node_cast(call->tape, node, dtype);
    struct result *result = next_result(call);
    if (!result) return;
    result->kind = BENCH_OUTPUT_TENSOR;
    result->node = node;
    result->dtype = dtype;
    result->rank = node->rank;
    memcpy(result->shape, node->shape, sizeof result->shape);
}

void call_return(struct call *call, struct node *node)
{
    call_return_typed(call, node, node->dtype);
}

void call_return_none(struct call *call)
{
    struct result *result = next_result(call);
    if (result) result->kind = BENCH_OUTPUT_NONE;
}

void call_return_value(struct call *call, struct value value)
{
    struct result *result = next_result(call);
    if (!result) return;
    result->kind = BENCH_OUTPUT_VALUE;
    result->value = value;
}

void call_return_random(struct call *call, struct node *native, enum dtype dtype, int rank,
                        const int64_t *shape, const struct bench_property *property)
{
    size_t n;
    if (dtype == DT_NONE) dtype = DT_F32; /* of a Python number */
    if (!shape_elements(&n, rank, shape))
        call_fail(call, "a result shape is negative or too large");
    struct result *result = next_result(call);
    if (!result) return;
    result->kind = BENCH_OUTPUT_RANDOM;
    result->node = native;
    result->dtype = dtype;
    result->rank = rank;
    memcpy(result->shape, shape, (size_t)rank * sizeof *shape);
    result->property = property;
}

const struct tensor *call_device_output(struct call *call, size_t k)
{
    call->consults_device = true;
    if (!call->device || k >= call->device->list.count) return NULL;
    const struct value *value = &call->device->list.items[k];
    return value->kind == VALUE_TENSOR ? value->tensor.tensor : NULL;
}

struct node *call_device_integers(struct call *call, size_t k, const struct node *like)
{
    const struct tensor *got = call_device_output(call, k);
    struct tensor dense;
    if (!got || tape_failed(call->tape) || tensor_elements(got) != like->n ||
        dtype_info(got->dtype)->kind != KIND_INTEGER ||
        tensor_densify(&dense, call->tape->arena, got).code)
        return NULL;
    struct node *node = node_new_integer(call->tape, like->dtype, like->rank, like->shape);
    if (tape_failed(call->tape)) return NULL;
    dtype_to_int64(node->integer, dense.data, dense.dtype, node->n);
    return node;
}

struct node *call_settled_indices(struct call *call, size_t k, struct node *own,
                                  bool (*accept)(void *context, size_t i, int64_t index),
                                  void *context)
{
    struct node *node = call_device_integers(call, k, own);
    if (!node) return own;
    for (size_t i = 0; i < node->n; i++)
        if (node->integer[i] != own->integer[i] && !accept(context, i, node->integer[i]))
            return own;
    return node;
}
