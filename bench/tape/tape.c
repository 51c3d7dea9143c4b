/* Nodes: creation, leaves, casts, and the walk that builds gradients. */
#include "bench/tape/tape.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/primitives/movement.h"
#include "bench/tape/enclosure.h"
#include "core/checked.h"
#include "core/vectorize.h"

/* What every function returns after a failure: one element, exact zero. Four dimensions and not
 * none, because callers that have checked the rank of what they passed on go on to count with it;
 * and 1 in every extent, also beyond those four, because callers divide by extents. */
static double failed_value[1];
static const struct node failed_pattern = {
    .dtype = DT_F32,
    .rank = 4,
    .shape = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
    .n = 1,
    .value = failed_value,
};
_Static_assert(TENSOR_MAX_RANK == 16, "failed_pattern has an extent for each dimension");

void tape_open(struct tape *tape, struct arena *arena, enum bench_arithmetic arithmetic, bool wide)
{
    memset(tape, 0, sizeof *tape);
    tape->arena = arena;
    tape->arithmetic = arithmetic;
    tape->wide = wide;
    bool single_model = tape_is_model(tape) && !wide;
    tape->unit = single_model ? 0x1p-24 : UNIT_ROUNDOFF;
    tape->tiny = single_model ? 0x1p-149 : 0x1p-1074;
    tape->status = status_ok();
}

void tape_fail(struct tape *tape, enum status_code code, const char *format, ...)
{
    if (tape->status.code) return;
    va_list arguments;
    tape->status.code = code;
    va_start(arguments, format);
    (void)vsnprintf(tape->status.text, sizeof tape->status.text, format, arguments);
    va_end(arguments);
}

bool tape_failed(const struct tape *tape) { return tape->status.code != STATUS_OK; }

void *tape_allocate(struct tape *tape, size_t count, size_t size)
{
    if (tape_failed(tape)) return NULL;
    void *memory = arena_allocate_array(tape->arena, count, size);
    if (!memory && !tape_failed(tape))
        tape->status = status_no_memory((unsigned long long)count * size);
    return memory;
}

/* The harmless node. Its storage must not depend on the arena, which may be exhausted. */
static struct node *failed_node(struct tape *tape)
{
    static _Thread_local struct node exhausted;
    assert(tape_failed(tape));
    if (!tape->failed) tape->failed = arena_allocate(tape->arena, sizeof *tape->failed);
    /* Made anew each time: a caller may have written to it. */
    struct node *node = tape->failed ? tape->failed : &exhausted;
    *node = failed_pattern;
    return node;
}

static struct node *node_empty(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape)
{
    if (tape_failed(tape)) return failed_node(tape);
    size_t n;
    if (rank > TENSOR_MAX_RANK) {
        tape_fail(tape, STATUS_SKIP, "a result of %d dimensions; at most %d are supported", rank,
                  TENSOR_MAX_RANK);
        return failed_node(tape);
    }
    if (!shape_elements(&n, rank, shape) || n > SIZE_MAX / 16) {
        tape_fail(tape, STATUS_SKIP, "a result shape is negative or too large");
        return failed_node(tape);
    }
    struct node *node = tape_allocate(tape, 1, sizeof *node);
    if (!node) return failed_node(tape);
    memset(node, 0, sizeof *node);
    node->dtype = dtype;
    node->rank = rank;
    for (int i = 0; i < rank; i++) node->shape[i] = shape[i];
    node->n = n;
    node->id = tape->node_count++;
    node->older = tape->newest;
    tape->newest = node;
    return node;
}

struct node *node_new_real(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape)
{
    struct node *node = node_empty(tape, dtype, rank, shape);
    if (tape_failed(tape)) return failed_node(tape);
    node->value = tape_allocate(tape, node->n, sizeof *node->value);
    return node->value ? node : failed_node(tape);
}

struct node *node_new_integer(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape)
{
    struct node *node = node_empty(tape, dtype, rank, shape);
    if (tape_failed(tape)) return failed_node(tape);
    node->integer = tape_allocate(tape, node->n, sizeof *node->integer);
    return node->integer ? node : failed_node(tape);
}

struct node *node_new(struct tape *tape, const struct primitive *primitive, enum dtype dtype,
                      int rank, const int64_t *shape, int input_count, struct node *const *inputs,
                      const void *parameters)
{
    struct node *node = node_new_real(tape, dtype, rank, shape);
    if (tape_failed(tape)) return failed_node(tape);
    node->inputs = tape_allocate(tape, (size_t)input_count, sizeof *node->inputs);
    if (!node->inputs) return failed_node(tape);
    node->primitive = primitive;
    node->input_count = input_count;
    node->parameters = parameters;
    for (int i = 0; i < input_count; i++) {
        /* A primitive is a real function: what knows complex numbers passes it their parts. */
        if (inputs[i]->imaginary) {
            tape_fail(tape, STATUS_SKIP,
                      "this function of complex numbers is not in the catalogue");
            return failed_node(tape);
        }
        node->inputs[i] = inputs[i];
        node->tracked = node->tracked || inputs[i]->tracked;
    }
    return node;
}

bool node_need_errors(struct tape *tape, struct node *node)
{
    if (!tape_is_reference(tape)) return false;
    if (!node->error) node->error = tape_allocate(tape, node->n, sizeof *node->error);
    return node->error != NULL;
}

VECTORIZED static void round_to_single(double *value, size_t n)
{
    for (size_t i = 0; i < n; i++) value[i] = (float)value[i];
}

void node_round(struct tape *tape, struct node *node)
{
    if (tape_is_single(tape) && !tape_failed(tape)) round_to_single(node->value, node->n);
}

/* ---- leaves ------------------------------------------------------------------------------ */

struct node *node_leaf(struct tape *tape, const struct tensor *tensor, bool tracked)
{
    struct tensor *dense = tape_allocate(tape, 1, sizeof *dense);
    if (!dense) return failed_node(tape);
    struct status status = tensor_densify(dense, tape->arena, tensor);
    if (status.code) {
        tape_fail(tape, status.code, "%s", status.text);
        return failed_node(tape);
    }
    enum dtype dtype = dense->dtype;
    if (dtype_is_integral(dtype)) {
        struct node *node = node_new_integer(tape, dtype, dense->rank, dense->shape);
        if (!tape_failed(tape)) dtype_to_int64(node->integer, dense->data, dtype, node->n);
        return node;
    }
    if (dtype_is_complex(dtype)) {
        struct node *node = node_new_real(tape, dtype, dense->rank, dense->shape);
        struct node *imaginary = node_new_real(tape, dtype, dense->rank, dense->shape);
        double *pairs = tape_allocate(tape, 2 * node->n, sizeof *pairs);
        if (tape_failed(tape)) return failed_node(tape);
        dtype_to_double(pairs, dense->data, dtype, node->n);
        for (size_t i = 0; i < node->n; i++) {
            node->value[i] = pairs[2 * i];
            imaginary->value[i] = pairs[2 * i + 1];
        }
        node->imaginary = imaginary;
        node->tracked = imaginary->tracked = tracked;
        return node;
    }
    struct node *node = node_empty(tape, dtype, dense->rank, dense->shape);
    if (tape_failed(tape)) return failed_node(tape);
    node->source = dense;
    node->tracked = tracked;
    return node;
}

const double *node_values(struct tape *tape, struct node *node)
{
    if (node->value || tape_failed(tape)) return node->value ? node->value : failed_value;
    double *value = tape_allocate(tape, node->n, sizeof *value);
    if (!value) return failed_value;
    if (node->integer) dtype_to_double(value, node->integer, DT_I64, node->n);
    else dtype_to_double(value, node->source->data, node->dtype, node->n);
    node->value = value;
    return value;
}

const double *node_block(const struct node *node, size_t start, size_t count, double *buffer)
{
    if (node->value) return node->value + start;
    size_t bytes = dtype_info(node->source->dtype)->bytes;
    dtype_to_double(buffer, (const char *)node->source->data + start * bytes, node->source->dtype,
                    count);
    return buffer;
}

struct node *node_constant(struct tape *tape, enum dtype dtype, double value, int rank,
                           const int64_t *shape)
{
    struct node *node = node_new_real(tape, dtype, rank, shape);
    if (tape_failed(tape)) return failed_node(tape);
    for (size_t i = 0; i < node->n; i++) node->value[i] = value;
    if (dtype_is_complex(dtype)) {
        node->imaginary = node_new_real(tape, dtype, rank, shape);
        if (tape_failed(tape)) return failed_node(tape);
        memset(node->imaginary->value, 0, node->n * sizeof(double));
    }
    return node;
}

struct node *node_integer_constant(struct tape *tape, enum dtype dtype, int64_t value, int rank,
                                   const int64_t *shape)
{
    struct node *node = node_new_integer(tape, dtype, rank, shape);
    if (tape_failed(tape)) return failed_node(tape);
    for (size_t i = 0; i < node->n; i++) node->integer[i] = value;
    return node;
}

struct node *node_scalar(struct tape *tape, double value)
{
    struct node *node = node_constant(tape, DT_NONE, value, 0, NULL);
    /* A kernel that computes in float has the number rounded to float. */
    bool rounds = tape_is_model(tape) && !tape->wide && isfinite(value) && (float)value != value;
    if (rounds && !tape_failed(tape)) node->relative = tape->unit;
    return node;
}

/* ---- aliases and casts ---------------------------------------------------------------------- */

static void alias_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    tape_accumulate(tape, node->inputs[0], cotangent);
}

static void alias_enclosure(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    enclosure_element(enclosure, ball, node->inputs[0], i);
}

static bool alias_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    return enclosure_pair(enclosure, out, node->inputs[0], i);
}

static const struct primitive alias = { "alias", alias_backward, alias_enclosure, alias_pair };

/* A node that shares the elements of x. */
static struct node *node_alias(struct tape *tape, struct node *x, enum dtype dtype)
{
    if (!x->integer) (void)node_values(tape, x);
    struct node *node = node_empty(tape, dtype, x->rank, x->shape);
    if (tape_failed(tape)) return failed_node(tape);
    node->value = x->value;
    node->error = x->error;
    node->relative = x->relative;
    node->absolute = x->absolute;
    node->integer = x->integer;
    node->single = x->single;
    if (x->integer) return node;
    node->primitive = &alias;
    node->tracked = x->tracked;
    node->inputs = tape_allocate(tape, 1, sizeof *node->inputs);
    if (!node->inputs) return failed_node(tape);
    node->inputs[0] = x;
    node->input_count = 1;
    if (x->imaginary) node->imaginary = node_alias(tape, x->imaginary, dtype);
    return node;
}

struct node *node_model_error(struct tape *tape, struct node *y, struct node *x, double roundings)
{
    if (!tape_is_model(tape)) return y;
    const double *value = node_values(tape, x);
    struct node *out = node_alias(tape, y, y->dtype);
    double *error = tape_allocate(tape, y->n, sizeof *error);
    if (tape_failed(tape) || x->n != y->n) return y;
    if (tape->arithmetic == BENCH_MODEL_TYPICAL) roundings /= 4;
    for (size_t i = 0; i < y->n; i++) {
        double e = node_error(y, i) + roundings * tape->unit * fabs(value[i]);
        error[i] = isfinite(out->value[i]) ? e : 0;
    }
    out->error = error;
    return out;
}

struct node *node_with_dtype(struct tape *tape, struct node *x, enum dtype dtype)
{
    return x->dtype == dtype ? x : node_alias(tape, x, dtype);
}

struct node *node_detach(struct tape *tape, struct node *x)
{
    if (x->integer) return x;
    struct node *node = node_alias(tape, x, x->dtype);
    if (tape_failed(tape)) return failed_node(tape);
    node->primitive = NULL;
    node->tracked = false;
    node->error = NULL;
    node->relative = node->absolute = 0;
    if (node->imaginary) node->imaginary = node_detach(tape, node->imaginary);
    return node;
}

struct node *node_to_real(struct tape *tape, struct node *x)
{
    if (!x->integer) return x;
    struct node *node = node_new_real(tape, x->dtype, x->rank, x->shape);
    if (tape_failed(tape)) return failed_node(tape);
    bool exact = true;
    for (size_t i = 0; i < x->n; i++) {
        node->value[i] = (double)x->integer[i];
        exact = exact && x->integer[i] <= (INT64_C(1) << 53) &&
                x->integer[i] >= -(INT64_C(1) << 53);
    }
    if (!exact) node->relative = UNIT_ROUNDOFF * 2;
    return node;
}

struct node *node_to_integer(struct tape *tape, struct node *x, enum dtype dtype)
{
    struct node *node = node_new_integer(tape, dtype, x->rank, x->shape);
    if (tape_failed(tape)) return failed_node(tape);
    const double *value = x->integer ? NULL : node_values(tape, x);
    if (tape_failed(tape)) return failed_node(tape);
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

struct node *node_cast(struct tape *tape, struct node *x, enum dtype dtype)
{
    if (x->dtype == dtype) return x;
    if (dtype_is_integral(dtype)) return node_to_integer(tape, x, dtype);
    struct node *real = node_with_dtype(tape, node_to_real(tape, x), dtype);
    if (tape_failed(tape)) return failed_node(tape);
    if (dtype_is_complex(dtype) && !real->imaginary) {
        if (real == x) real = node_alias(tape, x, dtype);
        if (tape_failed(tape)) return failed_node(tape);
        struct node *zero = node_constant(tape, DT_F64, 0, x->rank, x->shape);
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

struct node *node_complex(struct tape *tape, struct node *re, struct node *im)
{
    enum dtype dtype = complex_of(dtype_promote(re->dtype, im->dtype));
    re = node_to_real(tape, re);
    im = node_to_real(tape, im);
    if (re->rank != im->rank || re->n != im->n) {
        int64_t shape[TENSOR_MAX_RANK];
        int rank;
        if (!shape_broadcast(&rank, shape, re->rank, re->shape, im->rank, im->shape))
            tape_fail(tape, STATUS_SKIP, "real and imaginary part differ in shape");
        re = node_broadcast(tape, re, rank, shape);
        im = node_broadcast(tape, im, rank, shape);
    }
    struct node *out = node_alias(tape, re, dtype), *other = node_alias(tape, im, dtype);
    if (tape_failed(tape)) return failed_node(tape);
    out->imaginary = other;
    return out;
}

struct node *node_real_part(struct tape *tape, struct node *x)
{
    if (!x->imaginary) return x;
    struct node *out = node_alias(tape, x, dtype_component(x->dtype));
    if (!tape_failed(tape)) out->imaginary = NULL;
    return out;
}

struct node *node_imaginary_part(struct tape *tape, struct node *x)
{
    if (!x->imaginary) return node_constant(tape, dtype_component(x->dtype), 0, x->rank, x->shape);
    return node_alias(tape, x->imaginary, dtype_component(x->dtype));
}

/* ---- gradients ------------------------------------------------------------------------------ */

void tape_accumulate(struct tape *tape, struct node *node, struct node *cotangent)
{
    if (tape_failed(tape)) return;
    if (cotangent->imaginary) { /* the two components are two real values */
        if (node->imaginary)
            tape_accumulate(tape, node->imaginary, node_imaginary_part(tape, cotangent));
        cotangent = node_real_part(tape, cotangent);
    }
    if (!node->tracked) return;
    if (node->n != cotangent->n) {
        tape_fail(tape, STATUS_INTERNAL, "a cotangent of %zu elements for a value of %zu",
                  cotangent->n, node->n);
        return;
    }
    node->cotangent = node->cotangent ? node_add(tape, node->cotangent, cotangent) : cotangent;
}

void tape_backward(struct tape *tape)
{
    for (struct node *node = tape->newest; node && !tape_failed(tape); node = node->older) {
        if (!node->tracked || !node->cotangent || !node->primitive) continue;
        if (node->primitive->backward) {
            /* The reverse walk builds new nodes, none of which is differentiated again. */
            node->primitive->backward(tape, node, node->cotangent);
        } else {
            tape_fail(tape, STATUS_SKIP, "the reference has no gradient for %s",
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
