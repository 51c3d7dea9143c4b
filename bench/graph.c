/* Nodes: creation, leaves, casts, and the walk that builds gradients. */
#include "bench/graph.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/movement.h"
#include "bench/pull.h"
#include "core/checked.h"
#include "core/vectorize.h"

/* What every function returns after a failure: one element, exact zero. Four dimensions and not
 * none, because callers that have checked the rank of what they passed on go on to count with it. */
static double failed_value[1];
static const struct node failed_pattern = {
    .dtype = DT_F32, .rank = 4, .shape = { 1, 1, 1, 1 }, .n = 1, .value = failed_value,
};

void graph_open(struct graph *graph, struct arena *arena, enum bench_arithmetic arithmetic,
                bool wide)
{
    memset(graph, 0, sizeof *graph);
    graph->arena = arena;
    graph->arithmetic = arithmetic;
    graph->wide = wide;
    bool single_model = graph_is_model(graph) && !wide;
    graph->unit = single_model ? 0x1p-24 : UNIT_ROUNDOFF;
    graph->tiny = single_model ? 0x1p-149 : 0x1p-1074;
    graph->status = status_ok();
}

void graph_fail(struct graph *graph, enum status_code code, const char *format, ...)
{
    if (graph->status.code) return;
    va_list arguments;
    graph->status.code = code;
    va_start(arguments, format);
    (void)vsnprintf(graph->status.text, sizeof graph->status.text, format, arguments);
    va_end(arguments);
}

bool graph_failed(const struct graph *graph)
{
    return graph->status.code != STATUS_OK;
}

void *graph_allocate(struct graph *graph, size_t count, size_t size)
{
    if (graph_failed(graph)) return NULL;
    void *memory = arena_allocate_array(graph->arena, count, size);
    if (!memory && !graph_failed(graph))
        graph->status = status_no_memory((unsigned long long)count * size);
    return memory;
}

/* The harmless node. Its storage must not depend on the arena, which may be exhausted. */
static struct node *failed_node(struct graph *graph)
{
    static _Thread_local struct node exhausted;
    assert(graph_failed(graph));
    if (!graph->failed) graph->failed = arena_allocate(graph->arena, sizeof *graph->failed);
    /* Made anew each time: a caller may have written to it. */
    struct node *node = graph->failed ? graph->failed : &exhausted;
    *node = failed_pattern;
    return node;
}

static struct node *node_empty(struct graph *graph, enum dtype dtype, int rank,
                               const int64_t *shape)
{
    if (graph_failed(graph)) return failed_node(graph);
    size_t n;
    if (rank > TENSOR_MAX_RANK) {
        graph_fail(graph, STATUS_SKIP, "a result of %d dimensions; at most %d are supported", rank,
                   TENSOR_MAX_RANK);
        return failed_node(graph);
    }
    if (!shape_elements(&n, rank, shape) || n > SIZE_MAX / 16) {
        graph_fail(graph, STATUS_SKIP, "a result shape is negative or too large");
        return failed_node(graph);
    }
    struct node *node = graph_allocate(graph, 1, sizeof *node);
    if (!node) return failed_node(graph);
    memset(node, 0, sizeof *node);
    node->dtype = dtype;
    node->rank = rank;
    for (int i = 0; i < rank; i++) node->shape[i] = shape[i];
    node->n = n;
    node->id = graph->node_count++;
    node->older = graph->newest;
    graph->newest = node;
    return node;
}

struct node *node_new_real(struct graph *graph, enum dtype dtype, int rank, const int64_t *shape)
{
    struct node *node = node_empty(graph, dtype, rank, shape);
    if (graph_failed(graph)) return failed_node(graph);
    node->value = graph_allocate(graph, node->n, sizeof *node->value);
    return node->value ? node : failed_node(graph);
}

struct node *node_new_integer(struct graph *graph, enum dtype dtype, int rank,
                              const int64_t *shape)
{
    struct node *node = node_empty(graph, dtype, rank, shape);
    if (graph_failed(graph)) return failed_node(graph);
    node->integer = graph_allocate(graph, node->n, sizeof *node->integer);
    return node->integer ? node : failed_node(graph);
}

struct node *node_new(struct graph *graph, const struct primitive *primitive, enum dtype dtype,
                      int rank, const int64_t *shape, int input_count, struct node *const *inputs,
                      const void *parameters)
{
    struct node *node = node_new_real(graph, dtype, rank, shape);
    if (graph_failed(graph)) return failed_node(graph);
    node->inputs = graph_allocate(graph, (size_t)input_count, sizeof *node->inputs);
    if (!node->inputs) return failed_node(graph);
    node->primitive = primitive;
    node->input_count = input_count;
    node->parameters = parameters;
    for (int i = 0; i < input_count; i++) {
        /* A primitive is a real function: what knows complex numbers passes it their parts. */
        if (inputs[i]->imaginary) {
            graph_fail(graph, STATUS_SKIP, "this function of complex numbers is not in the catalogue");
            return failed_node(graph);
        }
        node->inputs[i] = inputs[i];
        node->tracked = node->tracked || inputs[i]->tracked;
    }
    return node;
}

bool node_need_errors(struct graph *graph, struct node *node)
{
    if (!graph_is_reference(graph)) return false;
    if (!node->error) node->error = graph_allocate(graph, node->n, sizeof *node->error);
    return node->error != NULL;
}

VECTORIZED static void round_to_single(double *value, size_t n)
{
    for (size_t i = 0; i < n; i++) value[i] = (float)value[i];
}

void node_round(struct graph *graph, struct node *node)
{
    if (graph_is_single(graph) && !graph_failed(graph)) round_to_single(node->value, node->n);
}

/* ---- leaves ------------------------------------------------------------------------------ */

struct node *node_leaf(struct graph *graph, const struct tensor *tensor, bool tracked)
{
    struct tensor *dense = graph_allocate(graph, 1, sizeof *dense);
    if (!dense) return failed_node(graph);
    struct status status = tensor_densify(dense, graph->arena, tensor);
    if (status.code) {
        graph_fail(graph, status.code, "%s", status.text);
        return failed_node(graph);
    }
    enum dtype dtype = dense->dtype;
    if (dtype_is_integral(dtype)) {
        struct node *node = node_new_integer(graph, dtype, dense->rank, dense->shape);
        if (!graph_failed(graph)) dtype_to_int64(node->integer, dense->data, dtype, node->n);
        return node;
    }
    if (dtype_is_complex(dtype)) {
        struct node *node = node_new_real(graph, dtype, dense->rank, dense->shape);
        struct node *imaginary = node_new_real(graph, dtype, dense->rank, dense->shape);
        double *pairs = graph_allocate(graph, 2 * node->n, sizeof *pairs);
        if (graph_failed(graph)) return failed_node(graph);
        dtype_to_double(pairs, dense->data, dtype, node->n);
        for (size_t i = 0; i < node->n; i++) {
            node->value[i] = pairs[2 * i];
            imaginary->value[i] = pairs[2 * i + 1];
        }
        node->imaginary = imaginary;
        node->tracked = imaginary->tracked = tracked;
        return node;
    }
    struct node *node = node_empty(graph, dtype, dense->rank, dense->shape);
    if (graph_failed(graph)) return failed_node(graph);
    node->source = dense;
    node->tracked = tracked;
    return node;
}

const double *node_values(struct graph *graph, struct node *node)
{
    if (node->value || graph_failed(graph)) return node->value ? node->value : failed_value;
    double *value = graph_allocate(graph, node->n, sizeof *value);
    if (!value) return failed_value;
    if (node->integer)
        dtype_to_double(value, node->integer, DT_I64, node->n);
    else
        dtype_to_double(value, node->source->data, node->dtype, node->n);
    node->value = value;
    return value;
}

const double *node_block(const struct node *node, size_t start, size_t count, double *buffer)
{
    if (node->value) return node->value + start;
    size_t bytes = dtype_info(node->source->dtype)->bytes;
    dtype_to_double(buffer, (const char *)node->source->data + start * bytes, node->source->dtype, count);
    return buffer;
}

struct node *node_constant(struct graph *graph, enum dtype dtype, double value, int rank,
                           const int64_t *shape)
{
    struct node *node = node_new_real(graph, dtype, rank, shape);
    if (graph_failed(graph)) return failed_node(graph);
    for (size_t i = 0; i < node->n; i++) node->value[i] = value;
    if (dtype_is_complex(dtype)) {
        node->imaginary = node_new_real(graph, dtype, rank, shape);
        if (graph_failed(graph)) return failed_node(graph);
        memset(node->imaginary->value, 0, node->n * sizeof(double));
    }
    return node;
}

struct node *node_integer_constant(struct graph *graph, enum dtype dtype, int64_t value, int rank,
                                   const int64_t *shape)
{
    struct node *node = node_new_integer(graph, dtype, rank, shape);
    if (graph_failed(graph)) return failed_node(graph);
    for (size_t i = 0; i < node->n; i++) node->integer[i] = value;
    return node;
}

struct node *node_scalar(struct graph *graph, double value)
{
    struct node *node = node_constant(graph, DT_NONE, value, 0, NULL);
    /* A kernel that computes in float has the number rounded to float. */
    bool rounds = graph_is_model(graph) && !graph->wide && isfinite(value) && (float)value != value;
    if (rounds && !graph_failed(graph)) node->relative = graph->unit;
    return node;
}

/* ---- aliases and casts ---------------------------------------------------------------------- */

static void alias_backward(struct graph *graph, struct node *node, struct node *cotangent)
{
    graph_accumulate(graph, node->inputs[0], cotangent);
}

static void alias_pull(struct pull *pull, void *ball, struct node *node, size_t i)
{
    pull_element(pull, ball, node->inputs[0], i);
}

static bool alias_pair(struct pull *pull, struct pair *out, struct node *node, size_t i)
{
    return pull_pair(pull, out, node->inputs[0], i);
}

static const struct primitive alias = { "alias", alias_backward, alias_pull, alias_pair };

/* A node that shares the elements of x. */
static struct node *node_alias(struct graph *graph, struct node *x, enum dtype dtype)
{
    if (!x->integer) (void)node_values(graph, x);
    struct node *node = node_empty(graph, dtype, x->rank, x->shape);
    if (graph_failed(graph)) return failed_node(graph);
    node->value = x->value;
    node->error = x->error;
    node->relative = x->relative;
    node->absolute = x->absolute;
    node->integer = x->integer;
    node->single = x->single;
    if (x->integer) return node;
    node->primitive = &alias;
    node->tracked = x->tracked;
    node->inputs = graph_allocate(graph, 1, sizeof *node->inputs);
    if (!node->inputs) return failed_node(graph);
    node->inputs[0] = x;
    node->input_count = 1;
    if (x->imaginary) node->imaginary = node_alias(graph, x->imaginary, dtype);
    return node;
}

struct node *node_model_error(struct graph *graph, struct node *y, struct node *x, double roundings)
{
    if (!graph_is_model(graph)) return y;
    const double *value = node_values(graph, x);
    struct node *out = node_alias(graph, y, y->dtype);
    double *error = graph_allocate(graph, y->n, sizeof *error);
    if (graph_failed(graph) || x->n != y->n) return y;
    if (graph->arithmetic == BENCH_MODEL_TYPICAL) roundings /= 4;
    for (size_t i = 0; i < y->n; i++) {
        double e = node_error(y, i) + roundings * graph->unit * fabs(value[i]);
        error[i] = isfinite(out->value[i]) ? e : 0;
    }
    out->error = error;
    return out;
}

struct node *node_with_dtype(struct graph *graph, struct node *x, enum dtype dtype)
{
    return x->dtype == dtype ? x : node_alias(graph, x, dtype);
}

struct node *node_detach(struct graph *graph, struct node *x)
{
    if (x->integer) return x;
    struct node *node = node_alias(graph, x, x->dtype);
    if (graph_failed(graph)) return failed_node(graph);
    node->primitive = NULL;
    node->tracked = false;
    node->error = NULL;
    node->relative = node->absolute = 0;
    if (node->imaginary) node->imaginary = node_detach(graph, node->imaginary);
    return node;
}

struct node *node_to_real(struct graph *graph, struct node *x)
{
    if (!x->integer) return x;
    struct node *node = node_new_real(graph, x->dtype, x->rank, x->shape);
    if (graph_failed(graph)) return failed_node(graph);
    bool exact = true;
    for (size_t i = 0; i < x->n; i++) {
        node->value[i] = (double)x->integer[i];
        exact = exact && x->integer[i] <= (INT64_C(1) << 53) && x->integer[i] >= -(INT64_C(1) << 53);
    }
    if (!exact) node->relative = UNIT_ROUNDOFF * 2;
    return node;
}

struct node *node_to_integer(struct graph *graph, struct node *x, enum dtype dtype)
{
    struct node *node = node_new_integer(graph, dtype, x->rank, x->shape);
    if (graph_failed(graph)) return failed_node(graph);
    const double *value = x->integer ? NULL : node_values(graph, x);
    if (graph_failed(graph)) return failed_node(graph);
    for (size_t i = 0; i < x->n; i++) {
        int64_t k;
        if (x->integer) k = dtype == DT_BOOL ? x->integer[i] != 0 : x->integer[i];
        else if (dtype == DT_BOOL)
            k = value[i] != 0 || (x->imaginary && x->imaginary->value[i] != 0);
        else dtype_to_int64(&k, &value[i], DT_F64, 1);
        if (dtype_info(dtype)->kind == KIND_INTEGER && dtype_info(dtype)->bytes < 8) {
            unsigned char narrow[8];
            dtype_from_int64(narrow, dtype, &k, 1);
            dtype_to_int64(&k, narrow, dtype, 1);
        }
        node->integer[i] = k;
    }
    return node;
}

struct node *node_cast(struct graph *graph, struct node *x, enum dtype dtype)
{
    if (x->dtype == dtype) return x;
    if (dtype_is_integral(dtype)) return node_to_integer(graph, x, dtype);
    struct node *real = node_with_dtype(graph, node_to_real(graph, x), dtype);
    if (graph_failed(graph)) return failed_node(graph);
    if (dtype_is_complex(dtype) && !real->imaginary) {
        if (real == x) real = node_alias(graph, x, dtype);
        if (graph_failed(graph)) return failed_node(graph);
        struct node *zero = node_constant(graph, DT_F64, 0, x->rank, x->shape);
        zero->dtype = dtype;
        real->imaginary = zero;
    }
    if (!dtype_is_complex(dtype)) real->imaginary = NULL;
    return real;
}

/* The complex dtype whose components have the given dtype. */
static enum dtype complex_of(enum dtype component)
{
    return component == DT_F64 || component == DT_C128 ? DT_C128 : DT_C64;
}

struct node *node_complex(struct graph *graph, struct node *re, struct node *im)
{
    enum dtype dtype = complex_of(dtype_promote(re->dtype, im->dtype));
    re = node_to_real(graph, re);
    im = node_to_real(graph, im);
    if (re->rank != im->rank || re->n != im->n) {
        int64_t shape[TENSOR_MAX_RANK];
        int rank;
        if (!shape_broadcast(&rank, shape, re->rank, re->shape, im->rank, im->shape))
            graph_fail(graph, STATUS_SKIP, "real and imaginary part differ in shape");
        re = node_broadcast(graph, re, rank, shape);
        im = node_broadcast(graph, im, rank, shape);
    }
    struct node *out = node_alias(graph, re, dtype), *other = node_alias(graph, im, dtype);
    if (graph_failed(graph)) return failed_node(graph);
    out->imaginary = other;
    return out;
}

struct node *node_real_part(struct graph *graph, struct node *x)
{
    if (!x->imaginary) return x;
    struct node *out = node_alias(graph, x, dtype_component(x->dtype));
    if (!graph_failed(graph)) out->imaginary = NULL;
    return out;
}

struct node *node_imaginary_part(struct graph *graph, struct node *x)
{
    if (!x->imaginary)
        return node_constant(graph, dtype_component(x->dtype), 0, x->rank, x->shape);
    return node_alias(graph, x->imaginary, dtype_component(x->dtype));
}

/* ---- gradients ------------------------------------------------------------------------------ */

void graph_accumulate(struct graph *graph, struct node *node, struct node *cotangent)
{
    if (graph_failed(graph)) return;
    if (cotangent->imaginary) { /* the two components are two real values */
        if (node->imaginary)
            graph_accumulate(graph, node->imaginary, node_imaginary_part(graph, cotangent));
        cotangent = node_real_part(graph, cotangent);
    }
    if (!node->tracked) return;
    if (node->n != cotangent->n) {
        graph_fail(graph, STATUS_INTERNAL, "a cotangent of %zu elements for a value of %zu",
                   cotangent->n, node->n);
        return;
    }
    node->cotangent = node->cotangent ? node_add(graph, node->cotangent, cotangent) : cotangent;
}

void graph_backward(struct graph *graph)
{
    for (struct node *node = graph->newest; node && !graph_failed(graph); node = node->older) {
        if (!node->tracked || !node->cotangent || !node->primitive) continue;
        if (node->primitive->backward) {
            /* The reverse walk builds new nodes, none of which is differentiated again. */
            node->primitive->backward(graph, node, node->cotangent);
        } else {
            graph_fail(graph, STATUS_SKIP, "the reference has no gradient for %s",
                       node->primitive->name);
        }
    }
}

/* ---- promotion ------------------------------------------------------------------------------- */

/* Rank within the lattice bool < integers < floats < complex; equal kinds by width. */
enum dtype dtype_promote(enum dtype a, enum dtype b)
{
    if (a == DT_NONE || a == b) return b;
    if (b == DT_NONE) return a;
    const struct dtype_info *x = dtype_info(a), *y = dtype_info(b);
    if (x->kind != y->kind) {
        enum dtype wide = x->kind > y->kind ? a : b, other = x->kind > y->kind ? b : a;
        if (dtype_info(wide)->kind == KIND_COMPLEX && dtype_info(other)->kind == KIND_FLOAT)
            return wide == DT_C128 || other == DT_F64 ? DT_C128 : DT_C64;
        return wide;
    }
    if (x->kind == KIND_INTEGER && x->bytes == 1 && y->bytes == 1) return DT_I16; /* int8, uint8 */
    if (x->kind == KIND_FLOAT && x->bytes == y->bytes) /* half with bfloat16 */
        return x->bytes == 2 ? DT_F32 : DT_F16;
    return x->bytes > y->bytes ? a : b;
}
