/* One case evaluated: find the row, bind, run, and turn nodes into references or tensors. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/arithmetic/certificate.h"
#include "bench/call/call.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/movement.h"
#include "bench/registry.h"
#include "bench/tape/enclosure.h"
#include "core/vectorize.h"

struct bench {
    struct arena *arena;
    enum bench_arithmetic arithmetic;
    struct tape tape;
    struct call call;
    struct bench_output *outputs;
    struct bench *models[2]; /* of a kernel's errors, worst and typical; NULL without */
};

/* How many element evaluations an output may cost: in balls (about 0.2 us each) right after its
 * evaluation and when a verdict depends on it, and as pairs (about 20 ns). */
enum {
    EAGER_BUDGET = 6000,
    EAGER_BUDGET_F64 = 60000,
    REFINE_BUDGET = 300000,
    PAIR_BUDGET = 4 << 20
};

static const enum bench_arithmetic model_arithmetics[2] = { BENCH_MODEL_WORST,
                                                            BENCH_MODEL_TYPICAL };

/* ---- running --------------------------------------------------------------------------------- */

struct leaf_list {
    struct leaf *leaves;
    size_t count;
};

static bool add_leaf(struct value *value, void *context)
{
    struct leaf_list *list = context;
    list->leaves[list->count++] = (struct leaf){ value, NULL };
    return true;
}

static struct status open_leaves(struct call *call, const struct api_case *c, struct arena *arena)
{
    struct leaf_list list = { 0 };
    size_t total = value_count_tensors(&c->args) + value_count_tensors(&c->kwargs);
    list.leaves = arena_allocate_zeroed(arena, total, sizeof *list.leaves);
    if (!list.leaves) return status_no_memory(0);
    (void)value_each_tensor((struct value *)(uintptr_t)&c->args, add_leaf, &list);
    (void)value_each_tensor((struct value *)(uintptr_t)&c->kwargs, add_leaf, &list);
    call->leaves = list.leaves;
    call->leaf_count = list.count;
    return status_ok();
}

/* Does the call work in float64? */
static bool works_wide(const struct call *call)
{
    for (size_t i = 0; i < call->leaf_count; i++) {
        const struct tensor *tensor = call->leaves[i].value->tensor.tensor;
        if (tensor && (tensor->dtype == DT_F64 || tensor->dtype == DT_C128)) return true;
    }
    const struct value *outputs = &call->c->outputs;
    const struct value *first =
        outputs->kind == VALUE_LIST && outputs->list.count ? outputs->list.items : NULL;
    return first && first->kind == VALUE_TENSOR && first->tensor.record &&
           (first->tensor.record->dtype == DT_F64 || first->tensor.record->dtype == DT_C128);
}

/* Arguments in the order the row wants them. */
static struct status ordered_arguments(struct value *args, const struct api_case *c, bool reflected,
                                       struct arena *arena)
{
    *args = c->args;
    if (!reflected || c->args.list.count < 2) return status_ok();
    args->list.items = arena_allocate_array(arena, c->args.list.count, sizeof *args->list.items);
    if (!args->list.items) return status_no_memory(0);
    memcpy(args->list.items, c->args.list.items, c->args.list.count * sizeof *args->list.items);
    args->list.items[0] = c->args.list.items[1];
    args->list.items[1] = c->args.list.items[0];
    return status_ok();
}

/* The row whose schema takes the arguments. When none does, the first one's reason is given. */
static struct status bind_call(struct call *call, const struct api_case *c, struct arena *arena)
{
    struct op_match match;
    struct status why = status_error(STATUS_SKIP,
                                     "there is no bench function for %s.%s; `probe-ut ops` lists "
                                     "what can be checked",
                                     c->type, c->api);
    bool tried = false;
    for (const struct op *after = NULL; op_find(&match, c->type, c->api, after); after = match.op) {
        struct schema *schema;
        struct value args;
        TRY(schema_parse(&schema, arena, match.op->schema));
        TRY(ordered_arguments(&args, c, match.reflected, arena));
        struct status st = schema_bind(call->bound, call->given, schema, &args, &c->kwargs, arena);
        if (st.code == STATUS_OK) {
            call->op = match.op;
            call->schema = schema;
            call->in_place = match.in_place;
            call->reflected = match.reflected;
            return st;
        }
        if (st.code != STATUS_SKIP) return st;
        if (!tried) why = st;
        tried = true;
    }
    return why;
}

/* An API that writes to an expanded self would write one element several times: PyTorch refuses,
 * and as a function of self it would mean something else. */
static struct status refuse_overlap(const struct call *call, const struct api_case *c)
{
    const struct value *self = c->args.list.count ? &c->args.list.items[0] : NULL;
    bool writes = call->in_place || !strcmp(c->api, "__setitem__");
    if (!writes || !self || self->kind != VALUE_TENSOR || !self->tensor.tensor) return status_ok();
    const struct tensor *t = self->tensor.tensor;
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] > 1 && t->stride[d] == 0)
            return status_error(STATUS_SKIP,
                                "%s writes to an expanded tensor, whose elements share memory",
                                c->full_name);
    return status_ok();
}

static struct status run_forward(struct bench *bench)
{
    struct call *call = &bench->call;
    tape_open(&bench->tape, bench->arena, bench->arithmetic, works_wide(call));
    call->tape = &bench->tape;
    call->results = NULL;
    call->gradient_property = NULL;
    call->result_count = call->result_capacity = 0;
    for (size_t i = 0; i < call->leaf_count; i++) call->leaves[i].node = NULL;
    call->op->run(call);
    if (tape_failed(&bench->tape)) return bench->tape.status;
    bench->outputs =
        arena_allocate_zeroed(bench->arena, call->result_count, sizeof *bench->outputs);
    return bench->outputs ? status_ok() : status_no_memory(0);
}

/* ---- references ------------------------------------------------------------------------------- */

struct refine_context {
    struct node *re, *im;
    struct arena *arena;
    bool owned; /* the reference has arrays of its own */
};

/* Values and bounds of the reference's own, which refinement writes to. The node's arrays stay
 * as they are: split into hi + lo its value alone would no longer meet its bound. */
static struct status own_arrays(struct reference *r)
{
    struct refine_context *context = r->refine_context;
    if (context->owned) return status_ok();
    double *error = arena_allocate_array(context->arena, r->n, sizeof *error);
    double *hi = arena_allocate_array(context->arena, r->n, sizeof *hi);
    if (!error || !hi) return status_no_memory(r->n * 2 * sizeof *error);
    if (dtype_info(r->dtype)->significand_bits == 53) {
        r->lo = arena_allocate_zeroed(context->arena, r->n, sizeof *r->lo);
        if (!r->lo) return status_no_memory(r->n * sizeof *r->lo);
    }
    for (size_t i = 0; i < r->n; i++) error[i] = reference_bound(r, i);
    memcpy(hi, r->hi, r->n * sizeof *hi);
    r->error = error;
    r->hi = hi;
    context->owned = true;
    return status_ok();
}

static struct status refine_within(struct reference *r, size_t count, const size_t *components,
                                   double wanted_ulp, size_t budget)
{
    const struct refine_context *context = r->refine_context;
    TRY(own_arrays(r));
    r->recomputed += count;
    size_t stride = context->im ? 2 : 1;
    struct enclosure_target target = { r->hi, r->lo, r->error, stride, 0 };
    if (!context->im) {
        enclosure_refine(&target, context->re, count, components, r->dtype, wanted_ulp, budget);
        return status_ok();
    }
    for (size_t k = 0; k < count; k++) { /* complex: one component at a time */
        size_t element = components[k] / 2;
        target.offset = components[k] % 2;
        enclosure_refine(&target, target.offset ? context->im : context->re, 1, &element, r->dtype,
                         wanted_ulp, budget);
    }
    return status_ok();
}

/* Many elements of a float64 result: as far as pairs go. */
static struct status refine_as_pairs(struct reference *r, size_t count, const size_t *components)
{
    const struct refine_context *context = r->refine_context;
    if (context->im) return status_ok();
    TRY(own_arrays(r));
    r->recomputed += count;
    struct enclosure_target target = { r->hi, r->lo, r->error, 1, 0 };
    (void)enclosure_refine_pairs(&target, context->re, count, components, PAIR_BUDGET);
    return status_ok();
}

static struct status refine(struct reference *r, size_t count, const size_t *components,
                            double wanted_ulp)
{
    return refine_within(r, count, components, wanted_ulp, REFINE_BUDGET);
}

static bool is_certified(const struct certificate *c, const struct reference *r, size_t i)
{
    return certificate_passes(c, r->hi[i], reference_bound(r, i));
}

/* Bounds above 0, and bounds that the quick test does not pass, free of branches. */
VECTORIZED static void count_doubtful(size_t *inexact, size_t *doubtful,
                                      const struct certificate *c, const double *restrict error,
                                      const double *restrict value, size_t n)
{
    uint64_t above = 0, open = 0;
    double relative = c->relative, least = c->least;
    for (size_t i = 0; i < n; i++) {
        double enough = relative * fabs(value[i]);
        above += error[i] > 0;
        open += (error[i] > enough) & (error[i] > least);
    }
    *inexact = above;
    *doubtful = open;
}

/* Components that are not certified; *exact tells whether every bound is 0. */
static size_t count_open(bool *exact, const struct certificate *c, const struct reference *r)
{
    size_t open = 0, doubtful = 0, inexact = 0;
    /* The quick test over everything; most tensors need no more. */
    if (r->error) count_doubtful(&inexact, &doubtful, c, r->error, r->hi, r->n);
    *exact = r->error && !inexact;
    if (r->error && !doubtful) return 0;
    for (size_t i = 0; i < r->n; i++)
        if (!certificate_passes_quickly(c, r->hi[i], reference_bound(r, i)))
            open += !is_certified(c, r, i);
    return open;
}

/* The listed components that are still not certified, moved to the front of the list. */
static size_t keep_open(const struct certificate *c, const struct reference *r, size_t count,
                        size_t *list)
{
    size_t open = 0;
    for (size_t k = 0; k < count; k++)
        if (!is_certified(c, r, list[k])) list[open++] = list[k];
    return open;
}

/* Find what is not certified, recompute it within the budget, and say what is left. */
static struct status certify(struct reference *r, struct arena *arena)
{
    struct certificate c = certificate_of(r->dtype);
    bool exact;

    r->state = REFERENCE_EXACT;
    if (r->integer) return status_ok();
    if (!r->error) {
        if (r->relative == 0 && r->absolute == 0) return status_ok();
        r->state = REFERENCE_CERTIFIED;
        if (r->relative <= c.relative && r->absolute <= c.least) return status_ok();
    }
    size_t open = count_open(&exact, &c, r);
    r->state = exact ? REFERENCE_EXACT : REFERENCE_CERTIFIED;
    if (!open) return status_ok();
    /* Nothing in double certifies float64: all of it needs a higher tier. */
    bool wide = dtype_info(r->dtype)->significand_bits == 53;
    size_t balls = wide ? EAGER_BUDGET_F64 : EAGER_BUDGET;
    r->state = REFERENCE_BOUNDED;
    if (open > (wide ? PAIR_BUDGET : balls)) return status_ok(); /* a verdict may ask for some */
    size_t *list = arena_allocate_array(arena, open, sizeof *list);
    if (!list) return status_no_memory(open * sizeof *list);
    for (size_t i = 0, k = 0; i < r->n; i++)
        if (!is_certified(&c, r, i)) list[k++] = i;
    if (open > EAGER_BUDGET) {
        TRY(refine_as_pairs(r, open, list));
        open = keep_open(&c, r, open, list);
    }
    if (open <= balls) {
        TRY(refine_within(r, open, list, WANTED_ULP, balls));
        open = keep_open(&c, r, open, list);
    }
    if (!open) r->state = REFERENCE_CERTIFIED;
    return status_ok();
}

/* A reference over a node; complex components are interleaved. */
static struct status to_reference(struct reference *out, struct tape *tape, struct node *node,
                                  enum dtype dtype, struct arena *arena)
{
    struct reference r = { .dtype = dtype, .rank = node->rank, .n = node->n };

    memcpy(r.shape, node->shape, sizeof r.shape);
    if (node->integer) {
        r.integer = node->integer;
    } else if (dtype_is_complex(dtype)) {
        struct node *im = node->imaginary;
        const double *re = node_values(tape, node), *other = im ? node_values(tape, im) : NULL;
        if (tape_failed(tape)) return tape->status;
        r.n *= 2;
        r.hi = arena_allocate_array(arena, r.n, sizeof *r.hi);
        r.error = arena_allocate_array(arena, r.n, sizeof *r.error);
        if (!r.hi || !r.error) return status_no_memory(0);
        for (size_t i = 0; i < node->n; i++) {
            r.hi[2 * i] = re[i];
            r.hi[2 * i + 1] = other ? other[i] : 0;
            r.error[2 * i] = node_error(node, i);
            r.error[2 * i + 1] = im ? node_error(im, i) : 0;
        }
    } else {
        r.hi = (double *)(uintptr_t)node_values(tape, node);
        if (tape_failed(tape)) return tape->status;
        r.error = node->error;
        r.relative = node->relative;
        r.absolute = node->absolute;
    }
    if (!node->integer) {
        struct refine_context *context = arena_allocate(arena, sizeof *context);
        if (!context) return status_no_memory(0);
        *context = (struct refine_context){ node, dtype_is_complex(dtype) ? node->imaginary : NULL,
                                            arena, false };
        r.refine_context = context;
        r.refine = refine;
    }
    TRY(certify(&r, arena));
    *out = r;
    return status_ok();
}

static struct status describe_outputs(struct bench *bench)
{
    for (size_t i = 0; i < bench->call.result_count; i++) {
        const struct result *result = &bench->call.results[i];
        struct bench_output *output = &bench->outputs[i];
        output->kind = result->kind;
        output->value = result->value;
        output->property = result->property;
        if (result->kind == BENCH_OUTPUT_TENSOR) {
            TRY(to_reference(&output->reference, &bench->tape, result->node, result->dtype,
                             bench->arena));
        } else if (result->kind == BENCH_OUTPUT_RANDOM) {
            output->reference.dtype = result->dtype;
            output->reference.rank = result->rank;
            memcpy(output->reference.shape, result->shape, sizeof result->shape);
        }
    }
    return status_ok();
}

/* ---- the public functions ---------------------------------------------------------------------- */

struct status bench_open(struct bench **out, const struct api_case *c, struct arena *arena,
                         enum bench_arithmetic arithmetic)
{
    struct bench *bench = arena_allocate_zeroed(arena, 1, sizeof *bench);
    if (!bench) return status_no_memory(0);
    bench->arena = arena;
    bench->arithmetic = arithmetic;
    bench->call.c = c;
    TRY(bind_call(&bench->call, c, arena));
    TRY(refuse_overlap(&bench->call, c));
    TRY(open_leaves(&bench->call, c, arena));
    TRY(run_forward(bench));
    if (arithmetic == BENCH_REFERENCE) TRY(describe_outputs(bench));
    *out = bench;
    return status_ok();
}

struct call *bench_call(struct bench *bench) { return &bench->call; }

size_t bench_output_count(const struct bench *bench) { return bench->call.result_count; }

struct bench_output *bench_output(struct bench *bench, size_t i) { return &bench->outputs[i]; }

struct status bench_settle(struct bench *bench, const struct value *got)
{
    bench->call.device = got;
    if (!bench->call.consults_device) return status_ok(); /* a gradient property asks later */
    TRY(run_forward(bench));
    TRY(describe_outputs(bench));
    return bench->models[0] ? bench_model(bench) : status_ok();
}

/* A node's values as a tensor of `dtype`. */
static struct status to_tensor(struct value *out, struct tape *tape, struct node *node,
                               enum dtype dtype, struct arena *arena)
{
    struct tensor *tensor = arena_allocate(arena, sizeof *tensor);
    if (!tensor) return status_no_memory(0);
    TRY(tensor_create(tensor, arena, dtype, node->rank, node->shape));
    if (node->integer) {
        dtype_from_int64(tensor->data, dtype, node->integer, node->n);
    } else if (dtype_is_complex(dtype)) {
        const double *re = node_values(tape, node);
        const double *im = node->imaginary ? node_values(tape, node->imaginary) : NULL;
        size_t width = dtype_info(dtype)->bytes;
        if (tape_failed(tape)) return tape->status;
        for (size_t i = 0; i < node->n; i++) {
            double pair[2] = { re[i], im ? im[i] : 0 };
            dtype_from_double((char *)tensor->data + i * width, dtype, pair, 1);
        }
    } else {
        const double *value = node_values(tape, node);
        if (tape_failed(tape)) return tape->status;
        dtype_from_double(tensor->data, dtype, value, node->n);
    }
    *out = (struct value){ .kind = VALUE_TENSOR };
    out->tensor.record = NULL;
    out->tensor.tensor = tensor;
    return status_ok();
}

static struct status new_list(struct value *out, size_t count, struct arena *arena)
{
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.keys = NULL;
    out->list.count = count;
    out->list.items = arena_allocate_zeroed(arena, count, sizeof *out->list.items);
    return out->list.items ? status_ok() : status_no_memory(0);
}

struct status bench_native_outputs(struct value *out, struct bench *bench)
{
    TRY(new_list(out, bench->call.result_count, bench->arena));
    for (size_t i = 0; i < bench->call.result_count; i++) {
        const struct result *result = &bench->call.results[i];
        if (result->kind == BENCH_OUTPUT_VALUE) out->list.items[i] = result->value;
        else if (result->kind != BENCH_OUTPUT_NONE)
            TRY(to_tensor(&out->list.items[i], &bench->tape, result->node, result->dtype,
                          bench->arena));
    }
    return status_ok();
}

/* Seed the outputs with their cotangents and walk back. */
static struct status run_backward(struct bench *bench, const struct value *cotangents)
{
    struct call *call = &bench->call;
    bool any = false;

    if (!op_has_gradient(call->op, call->in_place))
        return status_error(STATUS_SKIP, "%s has no gradient", call->c->full_name);
    for (size_t k = 0; k < call->result_count && k < cotangents->list.count; k++) {
        const struct value *value = &cotangents->list.items[k];
        const struct result *result = &call->results[k];
        if (value->kind != VALUE_TENSOR || !value->tensor.tensor || !result->node) continue;
        struct node *seed = node_leaf(&bench->tape, value->tensor.tensor, false);
        TRY(bench->tape.status);
        if (seed->rank != result->node->rank ||
            memcmp(seed->shape, result->node->shape, (size_t)seed->rank * sizeof *seed->shape)) {
            char have[128], want[128];
            shape_format(have, sizeof have, seed->rank, seed->shape);
            shape_format(want, sizeof want, result->node->rank, result->node->shape);
            return status_error(STATUS_SKIP,
                                "the recorded gradient of output %zu has shape %s, the output %s",
                                k, have, want);
        }
        if (seed->integer) seed = node_to_real(&bench->tape, seed);
        if (!result->node->integer) tape_accumulate(&bench->tape, result->node, seed);
        any = true;
    }
    if (!any) return status_error(STATUS_SKIP, "there is no cotangent for any output");
    tape_backward(&bench->tape);
    return bench->tape.status;
}

/* The gradient of a leaf, or NULL. The imaginary chain of a complex leaf is joined. */
static struct node *leaf_gradient(struct tape *tape, const struct leaf *leaf)
{
    struct node *node = leaf->node;
    if (!node || !node->tracked) return NULL;
    struct node *im = node->imaginary;
    if (!node->cotangent && !(im && im->cotangent)) return NULL;
    struct node *gradient =
        node->cotangent ? node->cotangent : node_constant(tape, DT_F64, 0, node->rank, node->shape);
    gradient = node_real_part(tape, gradient);
    if (im) {
        struct node *other =
            im->cotangent ? im->cotangent : node_constant(tape, DT_F64, 0, node->rank, node->shape);
        gradient = node_complex(tape, gradient, node_real_part(tape, other));
    }
    return node_reshape(tape, gradient, node->rank, node->shape);
}

/* The gradient of a random op: a property of the first leaf's. */
static struct status random_gradient(struct bench_output *out, struct bench *bench,
                                     const struct value *cotangents)
{
    struct call *call = &bench->call;
    const struct value *value = cotangents->list.count ? cotangents->list.items : NULL;
    const struct result *result = &call->results[0];
    if (!value || value->kind != VALUE_TENSOR || !value->tensor.tensor)
        return status_error(STATUS_SKIP, "there is no cotangent for any output");
    if (!call->leaf_count || !call->leaves[0].node)
        return status_error(STATUS_SKIP, "no tensor argument takes part in the call");
    struct node *seed = node_leaf(&bench->tape, value->tensor.tensor, false);
    if (tape_failed(&bench->tape)) return bench->tape.status;
    if (seed->n != call->leaves[0].node->n)
        return status_error(STATUS_SKIP, "the recorded gradient does not have the output's shape");
    if (!call->leaves[0].node->tracked) return status_ok();
    out[0].kind = BENCH_OUTPUT_RANDOM;
    out[0].property = call->gradient_property(call, seed);
    out[0].reference.dtype = result->dtype;
    out[0].reference.rank = result->rank;
    memcpy(out[0].reference.shape, result->shape, sizeof out[0].reference.shape);
    return bench->tape.status;
}

/* ---- models of a kernel's errors --------------------------------------------------------------- */

/* A model that cannot be had is left out; memory that is short asks for another attempt. */
static struct status failure_of_model(const struct tape *tape)
{
    return tape->status.code == STATUS_NO_MEMORY ? tape->status : status_ok();
}

/* The modelled error of each component of a result, before its last rounding when that is to the
 * type the kernel computes in. Where nothing is known (a step within reach, say) any value will
 * do. NULL for shapes that differ because of data-dependent choices. */
static struct status modelled_errors(double **errors, struct tape *tape, struct node *node,
                                     const struct reference *r, struct arena *arena)
{
    const struct dtype_info *info = dtype_info(r->dtype);
    size_t parts = dtype_is_complex(r->dtype) ? 2 : 1;
    bool computed_in_it = info->significand_bits == (tape->wide ? 53 : 24);

    *errors = NULL;
    if (tape_failed(tape)) return failure_of_model(tape);
    if (node->integer || node->n * parts != r->n) return status_ok();
    double *out = arena_allocate_array(arena, r->n, sizeof *out);
    if (!out) return status_no_memory(r->n * sizeof *out);
    for (size_t part = 0; part < parts; part++) {
        struct node *x = part ? node->imaginary : node;
        const double *value = x ? node_values(tape, x) : NULL;
        if (x && tape_failed(tape)) return failure_of_model(tape);
        for (size_t i = 0; i < node->n; i++) {
            double e = x ? node_error(x, i) : 0;
            if (e > 0 && computed_in_it) e = fmax(e - tape->unit * fabs(value[i]), 0);
            out[i * parts + part] = e <= info->largest ? e : info->largest;
        }
    }
    *errors = out;
    return status_ok();
}

static struct status attach_model(struct reference *r, struct bench *const *models,
                                  struct node *const *nodes, struct arena *arena)
{
    if (r->integer || !nodes[0] || !nodes[1]) return status_ok();
    TRY(modelled_errors(&r->kernel_bound, &models[0]->tape, nodes[0], r, arena));
    if (!r->kernel_bound) return status_ok();
    TRY(modelled_errors(&r->kernel_rms, &models[1]->tape, nodes[1], r, arena));
    for (size_t i = 0; r->kernel_rms && i < r->n; i++)
        if (r->kernel_rms[i] > r->kernel_bound[i]) r->kernel_rms[i] = r->kernel_bound[i];
    return status_ok();
}

struct status bench_model(struct bench *bench)
{
    for (int k = 0; k < 2; k++) {
        struct bench *model = arena_allocate_zeroed(bench->arena, 1, sizeof *model);
        if (!model) return status_no_memory(0);
        model->arena = bench->arena;
        model->arithmetic = model_arithmetics[k];
        model->call = bench->call;
        TRY(open_leaves(&model->call, bench->call.c, bench->arena));
        TRY(run_forward(model));
        bench->models[k] = model;
    }
    if (bench->models[0]->call.result_count != bench->call.result_count) return status_ok();
    for (size_t i = 0; i < bench->call.result_count; i++) {
        if (bench->call.results[i].kind != BENCH_OUTPUT_TENSOR) continue;
        struct node *nodes[2] = { bench->models[0]->call.results[i].node,
                                  bench->models[1]->call.results[i].node };
        TRY(attach_model(&bench->outputs[i].reference, bench->models, nodes, bench->arena));
    }
    return status_ok();
}

struct status bench_backward(struct bench_output **gradients, size_t *count, struct bench *bench,
                             const struct value *cotangents)
{
    struct call *call = &bench->call;
    struct bench_output *out = arena_allocate_zeroed(bench->arena, call->leaf_count, sizeof *out);
    if (!out) return status_no_memory(0);
    *gradients = out;
    *count = call->leaf_count;
    if (call->gradient_property) return random_gradient(out, bench, cotangents);
    TRY(run_backward(bench, cotangents));
    for (int k = 0; k < 2 && bench->models[k]; k++) TRY(run_backward(bench->models[k], cotangents));
    for (size_t i = 0; i < call->leaf_count; i++) {
        struct node *gradient = leaf_gradient(&bench->tape, &call->leaves[i]);
        if (tape_failed(&bench->tape)) return bench->tape.status;
        if (!gradient) continue;
        out[i].kind = BENCH_OUTPUT_TENSOR;
        TRY(to_reference(&out[i].reference, &bench->tape, gradient,
                         call->leaves[i].value->tensor.tensor->dtype, bench->arena));
        if (!bench->models[0]) continue;
        struct node *nodes[2] = {
            leaf_gradient(&bench->models[0]->tape, &bench->models[0]->call.leaves[i]),
            leaf_gradient(&bench->models[1]->tape, &bench->models[1]->call.leaves[i])
        };
        TRY(attach_model(&out[i].reference, bench->models, nodes, bench->arena));
    }
    return status_ok();
}

struct status bench_native_gradients(struct value *out, struct bench *bench,
                                     const struct value *cotangents)
{
    struct call *call = &bench->call;
    TRY(run_backward(bench, cotangents));
    TRY(new_list(out, call->leaf_count, bench->arena));
    for (size_t i = 0; i < call->leaf_count; i++) {
        struct node *gradient = leaf_gradient(&bench->tape, &call->leaves[i]);
        if (tape_failed(&bench->tape)) return bench->tape.status;
        if (gradient)
            TRY(to_tensor(&out->list.items[i], &bench->tape, gradient,
                          call->leaves[i].value->tensor.tensor->dtype, bench->arena));
    }
    return status_ok();
}

/* ---- facts about rows ---------------------------------------------------------------------------- */

static size_t recorded_elements(const struct value *value)
{
    size_t total = 0;
    if (value->kind == VALUE_TENSOR) {
        size_t n = 1;
        const struct tensor_record *record = value->tensor.record;
        for (int i = 0; record && i < record->rank; i++)
            if (__builtin_mul_overflow(n, (size_t)record->shape[i], &n)) return SIZE_MAX / 4096;
        return n < SIZE_MAX / 4096 ? n : SIZE_MAX / 4096;
    }
    for (size_t i = 0; value_is_sequence(value) && i < value->list.count; i++) {
        total += recorded_elements(&value->list.items[i]);
        if (total > SIZE_MAX / 4096) return SIZE_MAX / 4096;
    }
    return total;
}

size_t bench_peak_bytes(const struct api_case *c)
{
    /* A value and a bound per element and node; compositions keep about five nodes of the size
     * of each argument and result per direction, in two arithmetics. */
    size_t forward = recorded_elements(&c->args) + recorded_elements(&c->kwargs) +
                     recorded_elements(&c->outputs);
    size_t backward =
        c->has_backward ? recorded_elements(&c->cotangents) + recorded_elements(&c->gradients) : 0;
    return ((size_t)1 << 20) + forward * 96 + backward * 96;
}
