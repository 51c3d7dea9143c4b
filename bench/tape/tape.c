/* Nodes: creation, leaves, constants, and elements that are made when they are read. */
#include "bench/tape/tape.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/tape/deviation.h"
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

void *tape_allocate_zeroed(struct tape *tape, size_t count, size_t size)
{
    void *memory = tape_allocate(tape, count, size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

void tape_parallel(struct tape *tape, const struct parallel *work)
{
    if (tape_failed(tape)) return;
    struct status status = parallel_run(tape->help, tape->arena, work);
    if (status.code && !tape_failed(tape)) tape->status = status;
}

void tape_parallel_lines(struct tape *tape, const struct parallel_lines *work)
{
    if (tape_failed(tape)) return;
    struct status status = parallel_lines_run(tape->help, tape->arena, work);
    if (status.code && !tape_failed(tape)) tape->status = status;
}

/* Its storage must not depend on the arena, which may be exhausted. */
struct node *tape_failure(struct tape *tape)
{
    static _Thread_local struct node exhausted;
    assert(tape_failed(tape));
    if (!tape->failed) tape->failed = arena_allocate(tape->arena, sizeof *tape->failed);
    /* Made anew each time: a caller may have written to it. */
    struct node *node = tape->failed ? tape->failed : &exhausted;
    *node = failed_pattern;
    return node;
}

/* Enter a node as the newest of its tape. */
static void record(struct tape *tape, struct node *node)
{
    node->id = tape->node_count++;
    node->older = tape->newest;
    tape->newest = node;
}

static struct node *node_empty(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape)
{
    if (tape_failed(tape)) return tape_failure(tape);
    size_t n;
    if (rank > TENSOR_MAX_RANK) {
        tape_fail(tape, STATUS_SKIP, "a result of %d dimensions; at most %d are supported", rank,
                  TENSOR_MAX_RANK);
        return tape_failure(tape);
    }
    if (!shape_elements(&n, rank, shape) || n > SIZE_MAX / 16) {
        tape_fail(tape, STATUS_SKIP, "a result shape is negative or too large");
        return tape_failure(tape);
    }
    struct node *node = tape_allocate(tape, 1, sizeof *node);
    if (!node) return tape_failure(tape);
    memset(node, 0, sizeof *node);
    node->dtype = dtype;
    node->rank = rank;
    for (int i = 0; i < rank; i++) node->shape[i] = shape[i];
    node->n = n;
    record(tape, node);
    return node;
}

static struct node *with_values(struct tape *tape, struct node *node)
{
    if (tape_failed(tape)) return tape_failure(tape);
    node->value = tape_allocate(tape, node->n, sizeof *node->value);
    return node->value ? node : tape_failure(tape);
}

struct node *node_new_real(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape)
{
    return with_values(tape, node_empty(tape, dtype, rank, shape));
}

struct node *node_new_integer(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape)
{
    struct node *node = node_empty(tape, dtype, rank, shape);
    if (tape_failed(tape)) return tape_failure(tape);
    node->integer = tape_allocate(tape, node->n, sizeof *node->integer);
    return node->integer ? node : tape_failure(tape);
}

struct node *node_step(struct tape *tape, const struct primitive *primitive, enum dtype dtype,
                       int rank, const int64_t *shape, int input_count, struct node *const *inputs,
                       const void *parameters)
{
    struct node *node = node_empty(tape, dtype, rank, shape);
    if (tape_failed(tape)) return tape_failure(tape);
    node->inputs = tape_allocate(tape, (size_t)input_count, sizeof *node->inputs);
    if (!node->inputs) return tape_failure(tape);
    node->primitive = primitive;
    node->input_count = input_count;
    node->parameters = parameters;
    for (int i = 0; i < input_count; i++) {
        /* A primitive is a real function: what knows complex numbers passes it their parts. */
        if (inputs[i]->imaginary) {
            tape_fail(tape, STATUS_SKIP,
                      "this function of complex numbers is not in the catalogue");
            return tape_failure(tape);
        }
        node->inputs[i] = inputs[i];
        node->tracked = node->tracked || inputs[i]->tracked;
    }
    return node;
}

struct node *node_new_reader(struct tape *tape, const struct primitive *primitive, enum dtype dtype,
                             int rank, const int64_t *shape, int input_count,
                             struct node *const *inputs, const void *parameters)
{
    return with_values(
        tape, node_step(tape, primitive, dtype, rank, shape, input_count, inputs, parameters));
}

struct node *node_new(struct tape *tape, const struct primitive *primitive, enum dtype dtype,
                      int rank, const int64_t *shape, int input_count, struct node *const *inputs,
                      const void *parameters)
{
    for (int i = 0; i < input_count; i++)
        if (node_is_deferred(inputs[i])) (void)node_values(tape, inputs[i]);
    return node_new_reader(tape, primitive, dtype, rank, shape, input_count, inputs, parameters);
}

/* ---- deferred steps ----------------------------------------------------------------------- */

/* Smaller steps stay in cache anyway; what costs more than MOST_COST is better read than made again. */
enum { LEAST_DEFERRED = 1 << 15, MOST_COST = 32 };
size_t tape_least_modelled = LEAST_DEFERRED;

void tape_defer(struct tape *tape)
{
    /* What a kernel rounds between its steps, or flushes, changes bounds after they are made. */
    bool model = tape_is_model(tape) && tape->stage == 0 && !tape->modes;
    tape->defers = tape_is_single(tape) || tape->arithmetic == BENCH_REFERENCE || model;
    if (tape->deviation) tape->defers = false;
}

static int cost_of(const struct node *node)
{
    return node_is_deferred(node) ? node->deferral->cost : 0;
}

bool tape_may_defer(struct tape *tape, size_t n, int cost, int input_count,
                    struct node *const *inputs)
{
    struct node *costliest = NULL;
    size_t least = tape_is_model(tape) ? tape_least_modelled : LEAST_DEFERRED;
    if (!tape->defers || n < least || cost > MOST_COST) return false;
    for (int i = 0; i < input_count; i++) {
        if (inputs[i]->n != n && !inputs[i]->integer) (void)node_values(tape, inputs[i]);
        if (!costliest || cost_of(inputs[i]) > cost_of(costliest)) costliest = inputs[i];
        cost += cost_of(inputs[i]);
    }
    if (cost > MOST_COST) (void)node_values(tape, costliest);
    return true;
}

static void end_deferral(struct tape *tape, struct node *node);

VECTORIZED static bool are_within(const double *value, double largest, size_t n)
{
    size_t within = 0;
    for (size_t i = 0; i < n; i++) within += fabs(value[i]) <= largest;
    return within == n;
}

/* In a model values are made before bounds: those that overflow in a kernel have other ones, and so have infinities. */
static void make_values(struct tape *tape, const struct node *node, struct deferral *own)
{
    double *value = own->values, largest = dtype_info(tape->wide ? DT_F64 : DT_F32)->largest;
    if (!value) value = tape_allocate(tape, node->n, sizeof *value);
    if (!value) return;
    if (!own->values) node_make_elements(tape, node, value, NULL);
    own->values = value;
    own->within = are_within(value, largest, node->n);
}

void node_evaluate(struct tape *tape, struct node *node, struct deferral deferral, bool defers)
{
    struct deferral *own = tape_allocate(tape, 1, sizeof *own);
    if (!own) return;
    *own = deferral;
    for (int i = 0; i < node->input_count; i++) own->cost += cost_of(node->inputs[i]);
    node->deferral = own;
    if (tape_is_model(tape) && own->bounded && own->apart) make_values(tape, node, own);
    if (!defers || (tape_is_model(tape) && !own->within)) end_deferral(tape, node);
    else if (own->bounded) node->relative = node->absolute = INFINITY;
}

static struct node *sharing(struct tape *tape, const struct primitive *primitive, struct node *x,
                            int input_count, struct node *const *inputs, const void *parameters)
{
    struct node *node = tape_allocate(tape, 1, sizeof *node);
    struct node **own = tape_allocate(tape, (size_t)input_count, sizeof *own);
    if (!node || !own) return tape_failure(tape);
    memcpy(own, inputs, (size_t)input_count * sizeof *own);
    *node = *x;
    node->primitive = x->integer ? NULL : primitive;
    node->parameters = parameters;
    node->inputs = own;
    node->input_count = input_count;
    node->state = NULL;
    node->terms = 0;
    node->staged = node->composite = false; /* the step was another node's */
    node->of_result = NULL;
    node->cotangent = NULL;
    if (node->value) node->deferral = NULL;
    record(tape, node);
    return node;
}

struct node *node_sharing(struct tape *tape, const struct primitive *primitive, struct node *x,
                          int input_count, struct node *const *inputs, const void *parameters)
{
    if (!x->integer) (void)node_values(tape, x);
    struct node *node = sharing(tape, primitive, x, input_count, inputs, parameters);
    if (!tape_failed(tape)) node->source = NULL;
    return node;
}

struct node *node_sharing_unread(struct tape *tape, const struct primitive *primitive,
                                 struct node *x)
{
    if (x->value || !(x->source || x->single || x->deferral)) {
        const struct tensor *source = x->source;
        struct node *node = node_sharing(tape, primitive, x, 1, &x, NULL);
        if (!tape_failed(tape)) node->source = source;
        return node;
    }
    return sharing(tape, primitive, x, 1, &x, NULL);
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

/* The input in the step's shape, if it is a number, has the shape, or that of its last dimensions. */
static void take_input(struct node *node, int which)
{
    const struct node *input = which < node->input_count ? node->inputs[which] : NULL;
    if (!input || !input->value || !input->n || node->n % input->n) return;
    for (int d = 1; d <= input->rank && d <= node->rank; d++)
        if (input->n > 1 && input->shape[input->rank - d] != node->shape[node->rank - d]) return;
    for (size_t i = 0; i < node->n; i++) node->value[i] = input->value[i % input->n];
}

static void change_step(const struct deviation *deviation, struct node *node)
{
    switch (deviation->step.change) {
    case STEP_KEPT: break;
    case STEP_ZERO:
    case STEP_ONE:
        for (size_t i = 0; i < node->n; i++) node->value[i] = deviation->step.change == STEP_ONE;
        break;
    case STEP_FIRST_INPUT: take_input(node, 0); break;
    case STEP_SECOND_INPUT: take_input(node, 1); break;
    case STEP_SCALED:
        for (size_t i = 0; i < node->n; i++) node->value[i] *= deviation->step.factor;
        break;
    case STEP_ROUNDED: rounding_apply_all(&deviation->step.rounding, node->value, node->n); break;
    }
}

/* Do to the result of a step what the deviation says of all steps and of this one; once. */
static void end_deviating_step(const struct deviation *deviation, struct node *node)
{
    if (node->is_step || node_is_number(node)) return;
    node->is_step = true;
    bool is_kept = node->id < deviation->unrounded_ids && deviation->unrounded[node->id];
    if (!is_kept) rounding_apply_all(&deviation->steps, node->value, node->n);
    if (node->id == deviation->step.node) change_step(deviation, node);
}

void node_round(struct tape *tape, struct node *node)
{
    if (tape_failed(tape) || !node->value) return;
    if (tape_is_single(tape)) round_to_single(node->value, node->n);
    if (tape->deviation) end_deviating_step(tape->deviation, node);
}

/* ---- leaves ------------------------------------------------------------------------------ */

/* A kernel that computes in float has a number rounded to float; one that rounds between its steps has it
 * rounded to its dtype. Short numbers are the same in both. */
static void round_number(struct tape *tape, struct node *node, double value)
{
    double unit = tape->stage > 0 ? tape->stage : tape->unit, scale = 1;
    bool model = tape_is_model(tape) && !tape->wide && isfinite(value) && value != 0;
    if (model) scale = ldexp(1, ilogb(value)) * 2 * unit;
    if (!model || tape_failed(tape) || rint(value / scale) * scale == value) return;
    node->relative = unit;
    node->staged = tape->stage > 0;
}

struct node *node_leaf(struct tape *tape, const struct tensor *tensor, bool tracked)
{
    struct tensor *dense = tape_allocate(tape, 1, sizeof *dense);
    if (!dense) return tape_failure(tape);
    struct status status = tensor_densify(dense, tape->arena, tensor);
    if (status.code) {
        tape_fail(tape, status.code, "%s", status.text);
        return tape_failure(tape);
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
        if (tape_failed(tape)) return tape_failure(tape);
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
    if (tape_failed(tape)) return tape_failure(tape);
    node->source = dense;
    node->tracked = tracked;
    if (dtype == DT_F64 && !dense->rank) { /* a number, where the call does not work in float64 */
        double value;
        dtype_to_double(&value, dense->data, dtype, 1);
        round_number(tape, node, value);
    }
    return node;
}

/* Does the node have the elements of its input, a deferred node? Its own are made by its own primitive. */
static bool shares_deferral(const struct node *node)
{
    return node->deferral && node->deferral == node->inputs[0]->deferral;
}

/* The input whose elements the node shares, unread; or NULL. */
static struct node *shared_input(const struct node *node)
{
    struct node *x = node->primitive && node->input_count == 1 ? node->inputs[0] : NULL;
    bool source = x && node->source && node->source == x->source;
    bool single = x && node->single && node->single == x->single && node->n == x->n;
    return source || single || (x && shares_deferral(node)) ? x : NULL;
}

static void take_bounds(struct node *node, const struct node *from)
{
    node->error = from->error;
    node->relative = from->relative;
    node->absolute = from->absolute;
}

struct made_elements {
    const struct node *node;
    double *value, *error;
};

static void make_some(void *context, size_t start, size_t count)
{
    const struct made_elements *m = context;
    m->node->deferral->elements(m->node, start, count, m->value + start,
                                m->error ? m->error + start : NULL);
}

/* Make the elements of a deferred node, with their bounds where it has such. */
static void end_deferral(struct tape *tape, struct node *node)
{
    double *value = node->deferral->values;
    if (!value) value = tape_allocate(tape, node->n, sizeof *value);
    bool bounded = node->deferral->bounded && node_need_errors(tape, node);
    if (!value || tape_failed(tape)) return;
    node_make_elements(tape, node, value, bounded ? node->error : NULL);
    if (bounded) node->relative = node->absolute = 0;
    node->value = value;
    if (tape->deviation) node_round(tape, node);
}

/* Elements of a dtype as doubles. */
struct read_elements {
    double *value;
    const void *elements;
    enum dtype dtype;
};

static void read_some(void *context, size_t start, size_t count)
{
    const struct read_elements *r = context;
    const char *from = (const char *)r->elements + start * dtype_info(r->dtype)->bytes;
    dtype_to_double(r->value + start, from, r->dtype, count);
}

/* The elements of an input tensor that the other model of a kernel has converted; NULL where there are none. They are
 * shared: models change bounds, not values. */
static double *twin_elements(const struct tape *tape, const struct node *node)
{
    bool shares = tape->twin && tape_is_model(tape) && tape_is_model(tape->twin);
    for (const struct node *other = shares ? tape->twin->newest : NULL; other; other = other->older)
        if (other->source && other->value && other->source->data == node->source->data &&
            other->dtype == node->dtype && other->n == node->n)
            return other->value;
    return NULL;
}

const double *node_values(struct tape *tape, struct node *node)
{
    if (node->value || tape_failed(tape)) return node->value ? node->value : failed_value;
    struct node *whole = shared_input(node);
    if (whole) { /* read once for both */
        (void)node_values(tape, whole);
        node->value = whole->value;
        if (node->deferral) take_bounds(node, whole);
        return node->value ? node->value : failed_value;
    }
    if (node->deferral) {
        end_deferral(tape, node);
        return node->value ? node->value : failed_value;
    }
    bool is_input = node->source && !node->integer;
    if (is_input && (node->value = twin_elements(tape, node))) return node->value;
    double *value = tape_allocate(tape, node->n, sizeof *value);
    if (!value) return failed_value;
    struct read_elements read = { value, node->single, DT_F32 };
    if (node->integer) read = (struct read_elements){ value, node->integer, DT_I64 };
    else if (node->source) read = (struct read_elements){ value, node->source->data, node->dtype };
    parallel_elements(tape->help, node->n, read_some, &read);
    node->value = value;
    return value;
}

/* The node that makes the elements of a deferred one: its own, or of the input whose elements it has. */
static const struct node *maker(const struct node *node)
{
    while (!node->value && shares_deferral(node)) node = node->inputs[0];
    return node;
}

void node_make_elements(struct tape *tape, const struct node *node, double *value, double *error)
{
    struct made_elements made = { node->deferral ? maker(node) : node, value, error };
    parallel_elements(tape->help, node->n, make_some, &made);
}

void node_make_some(const struct node *node, size_t start, size_t count, double *value,
                    double *error)
{
    const struct node *made = maker(node);
    made->deferral->elements(made, start, count, value, error);
}

double *node_stored_values(const struct node *node)
{
    const struct node *made = node->deferral ? maker(node) : node;
    return node_is_deferred(made) ? made->deferral->values : NULL;
}

bool node_is_unread(const struct node *node)
{
    return node->deferral && node_is_deferred(maker(node)) && !node_stored_values(node);
}

const double *node_block(const struct node *node, size_t start, size_t count, double *buffer)
{
    if (node->value) return node->value + start;
    if (node->deferral) {
        node = maker(node);
        if (node->value) return node->value + start;
        if (node->deferral->values) return node->deferral->values + start;
        node->deferral->elements(node, start, count, buffer, NULL);
        return buffer;
    }
    if (!node->source) {
        dtype_to_double(buffer, node->single + start, DT_F32, count);
        return buffer;
    }
    size_t bytes = dtype_info(node->source->dtype)->bytes;
    dtype_to_double(buffer, (const char *)node->source->data + start * bytes, node->source->dtype,
                    count);
    return buffer;
}

VECTORIZED static void uniform_bounds(double *restrict error, const double *restrict value,
                                      double relative, double absolute, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double magnitude = fabs(value[i]), bound = relative * magnitude + absolute;
        error[i] = magnitude < INFINITY ? bound : 0;
    }
}

const double *node_bounded_block(const double **error, const struct node *node, size_t start,
                                 size_t count, double *buffer, double *bounds)
{
    node = node->deferral ? maker(node) : node;
    *error = bounds;
    if (node_is_deferred(node) && node->deferral->bounded) {
        double *value = node->deferral->values ? node->deferral->values + start : buffer;
        node->deferral->elements(node, start, count, value, bounds);
        return value;
    }
    const double *value = node_block(node, start, count, buffer);
    if (node->error) *error = node->error + start;
    else uniform_bounds(bounds, value, node->relative, node->absolute, count);
    return value;
}

double node_value_at(const struct node *node, size_t i)
{
    double buffer;
    return *node_block(node, i, 1, &buffer);
}

struct node *node_constant(struct tape *tape, enum dtype dtype, double value, int rank,
                           const int64_t *shape)
{
    struct node *node = node_new_real(tape, dtype, rank, shape);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < node->n; i++) node->value[i] = value;
    if (dtype_is_complex(dtype)) {
        node->imaginary = node_new_real(tape, dtype, rank, shape);
        if (tape_failed(tape)) return tape_failure(tape);
        memset(node->imaginary->value, 0, node->n * sizeof(double));
    }
    return node;
}

struct node *node_integer_constant(struct tape *tape, enum dtype dtype, int64_t value, int rank,
                                   const int64_t *shape)
{
    struct node *node = node_new_integer(tape, dtype, rank, shape);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < node->n; i++) node->integer[i] = value;
    return node;
}

struct node *node_scalar(struct tape *tape, double value)
{
    struct node *node = node_constant(tape, DT_NONE, value, 0, NULL);
    round_number(tape, node, value);
    return node;
}

bool node_is_number(const struct node *node)
{
    if (node->n != 1 || node->source || node->dtype != DT_NONE || node->imaginary) return false;
    for (int i = 0; i < node->input_count; i++)
        if (!node_is_number(node->inputs[i])) return false;
    return !node->primitive || node->input_count > 0;
}
