/* Certification: bounds are tested against 2^-10 ulp of the tested dtype, and elements that fail are
 * recomputed as pairs, then in balls. */
#include "bench/certify.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "bench/arithmetic/certificate.h"
#include "bench/made_reference.h"
#include "bench/tape/enclosure.h"
#include "bench/widest_bound.h"
#include "core/parallel.h"
#include "core/vectorize.h"

/* How many element evaluations an output may cost: in balls (about 0.2 us each) right after its
 * evaluation and when a verdict depends on it, and as pairs (about 20 ns). */
enum {
    EAGER_BUDGET = 6000,
    EAGER_BUDGET_F64 = 60000,
    REFINE_BUDGET = 300000,
    PAIR_BUDGET = 4 << 20
};

struct refine_context {
    struct node *re, *im;
    struct arena *arena;
    struct help *help;
    bool owned; /* the reference has arrays of its own, */
    bool fresh; /* or those that it has are nobody else's */
};

/* Arrays that a reference is given. */
struct own {
    const struct reference *r;
    double *hi, *error; /* NULL: those that it has */
};

static void own_some(void *context, size_t start, size_t count)
{
    const struct own *own = context;
    const struct reference *r = own->r;
    for (size_t i = start; own->error && i < start + count; i++)
        own->error[i] = reference_bound(r, i);
    if (own->hi) memcpy(own->hi + start, r->hi + start, count * sizeof *own->hi);
}

/* Are results recomputed as hi + lo? */
static bool takes_low_part(enum dtype dtype) { return dtype_info(dtype)->significand_bits == 53; }

/* Give the reference arrays of its own, which refinement writes to. The node's stay as they are: split
 * into hi + lo its value alone would no longer meet its bound. An array `lo` that the caller has given
 * it is used. */
static struct status own_arrays(struct reference *r)
{
    struct refine_context *context = r->refine_context;
    if (context->owned) return status_ok();
    bool has_bounds = context->fresh && r->error;
    double *error = has_bounds ? r->error
                               : arena_allocate_array(context->arena, r->n, sizeof *error);
    double *hi = context->fresh ? r->hi : arena_allocate_array(context->arena, r->n, sizeof *hi);
    if (!error || !hi) return status_no_memory(r->n * 2 * sizeof *error);
    if (takes_low_part(r->dtype)) {
        r->lo = arena_allocate_zeroed(context->arena, r->n, sizeof *r->lo);
        if (!r->lo) return status_no_memory(r->n * sizeof *r->lo);
    }
    struct own own = { r, context->fresh ? NULL : hi, has_bounds ? NULL : error };
    if (own.hi || own.error) parallel_elements(context->help, r->n, own_some, &own);
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
    struct enclosure_target target = { r->hi, r->lo, r->error, stride, 0, false };
    if (!context->im) {
        enclosure_refine(&target, context->re, count, components, r->dtype, wanted_ulp, budget);
        return status_ok();
    }
    size_t *elements = arena_allocate_array(context->arena, count, sizeof *elements);
    if (!elements) return status_no_memory(count * sizeof *elements);
    for (; target.offset < 2; target.offset++) { /* the real parts, then the imaginary ones */
        size_t own = 0;
        for (size_t k = 0; k < count; k++)
            if (components[k] % 2 == target.offset) elements[own++] = components[k] / 2;
        enclosure_refine(&target, target.offset ? context->im : context->re, own, elements,
                         r->dtype, wanted_ulp, budget);
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
    struct enclosure_target target = { r->hi, r->lo, r->error, 1, 0, false };
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

/* What is open of a reference, counted in parts. */
struct open_count {
    const struct certificate *certificate;
    const struct reference *reference;
    atomic_size_t inexact, doubtful, open;
    bool *has_open; /* for each block of BLOCK elements, of which every part has whole ones */
};

enum { BLOCK = 4096 };
static size_t blocks_of(const struct reference *r) { return r->n / BLOCK + 1; }

static void count_doubtful_some(void *context, size_t start, size_t count)
{
    struct open_count *o = context;
    const struct reference *r = o->reference;
    size_t inexact, doubtful;
    count_doubtful(&inexact, &doubtful, o->certificate, r->error + start, r->hi + start, count);
    atomic_fetch_add(&o->inexact, inexact);
    atomic_fetch_add(&o->doubtful, doubtful);
}

/* Elements of a block that no form of the test passes. */
static size_t count_open_block(const struct open_count *o, size_t start, size_t end)
{
    const struct reference *r = o->reference;
    size_t open = 0;
    for (size_t i = start; i < end; i++)
        if (!certificate_passes_quickly(o->certificate, r->hi[i], reference_bound(r, i)))
            open += !is_certified(o->certificate, r, i);
    return open;
}

static void count_open_some(void *context, size_t start, size_t count)
{
    struct open_count *o = context;
    size_t end = start + count, sum = 0;
    for (; start < end; start += BLOCK) {
        size_t open = count_open_block(o, start, end - start < BLOCK ? end : start + BLOCK);
        o->has_open[start / BLOCK] = open;
        sum += open;
    }
    atomic_fetch_add(&o->open, sum);
}

/* Components that are not certified, and the blocks that have any; *exact tells whether every bound is 0. */
static size_t count_open(bool *exact, bool *has_open, const struct certificate *c,
                         const struct reference *r, struct help *help)
{
    struct open_count o = { .certificate = c, .reference = r, .has_open = has_open };
    /* The quick test over everything; most tensors need no more. */
    if (r->error) parallel_elements(help, r->n, count_doubtful_some, &o);
    *exact = r->error && !o.inexact;
    if (r->error && !o.doubtful) return 0;
    parallel_elements(help, r->n, count_open_some, &o);
    return o.open;
}

static void list_open(size_t *list, const bool *has_open, const struct certificate *c,
                      const struct reference *r)
{
    for (size_t block = 0, k = 0; block < blocks_of(r); block++)
        for (size_t i = block * BLOCK; i < r->n && i < (block + 1) * BLOCK && has_open[block]; i++)
            if (!is_certified(c, r, i)) list[k++] = i;
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
static struct status certify(struct reference *r, struct help *help, struct arena *arena)
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
    bool *has_open = arena_allocate_array(arena, blocks_of(r), sizeof *has_open);
    if (!has_open) return status_no_memory(blocks_of(r));
    size_t open = count_open(&exact, has_open, &c, r, help);
    r->state = exact ? REFERENCE_EXACT : REFERENCE_CERTIFIED;
    if (!open) return status_ok();
    /* Nothing in double certifies float64: all of it needs a higher tier. */
    bool wide = dtype_info(r->dtype)->significand_bits == 53;
    size_t balls = wide ? EAGER_BUDGET_F64 : EAGER_BUDGET;
    r->state = REFERENCE_BOUNDED;
    if (open > (wide ? PAIR_BUDGET : balls)) return status_ok(); /* a verdict may ask for some */
    size_t *list = arena_allocate_array(arena, open, sizeof *list);
    if (!list) return status_no_memory(open * sizeof *list);
    list_open(list, has_open, &c, r);
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

/* The components of a complex value, interleaved. */
static struct status take_complex(struct reference *r, struct tape *tape, struct node *re,
                                  struct arena *arena)
{
    struct node *im = re->imaginary;
    const double *x = node_values(tape, re), *y = im ? node_values(tape, im) : NULL;
    TRY(tape->status);
    r->n *= 2;
    double *hi = arena_allocate_array(arena, r->n, sizeof *hi);
    double *error = arena_allocate_array(arena, r->n, sizeof *error);
    if (!hi || !error) return status_no_memory(0);
    for (size_t i = 0; i < re->n; i++) {
        hi[2 * i] = x[i];
        hi[2 * i + 1] = y ? y[i] : 0;
        error[2 * i] = node_error(re, i);
        error[2 * i + 1] = im ? node_error(im, i) : 0;
    }
    r->hi = hi;
    r->error = error;
    return status_ok();
}

static struct status take_real(struct reference *r, struct tape *tape, struct node *node)
{
    (void)node_values(tape, node);
    r->hi = node->value;
    r->error = node->error;
    r->relative = node->relative;
    r->absolute = node->absolute;
    return tape->status;
}

/* The elements of a deferred node, which stays as it is: in arrays that only the reference has. */
static struct status take_deferred(struct reference *r, struct tape *tape, struct node *node,
                                   struct arena *arena)
{
    bool bounded = node->deferral->bounded;
    r->hi = arena_allocate_array(arena, r->n, sizeof *r->hi);
    r->error = bounded ? arena_allocate_array(arena, r->n, sizeof *r->error) : NULL;
    if (!r->hi || (bounded && !r->error)) return status_no_memory(r->n * 2 * sizeof *r->hi);
    node_make_elements(tape, node, r->hi, r->error);
    node->kept = r->hi;
    if (bounded) return status_ok();
    r->relative = node->relative;
    r->absolute = node->absolute;
    return status_ok();
}

/* The widest of the elements from `start` on. */
struct stored {
    const struct node *node;
    const struct certificate *certificate;
    struct widest_bound *part;
};

enum { PART = 1 << 16 };

static struct status widen_part(void *context, size_t number, void *scratch)
{
    const struct stored *s = context;
    struct widest_bound w = { { 0 }, { 0 }, 0 };
    double bounds[WIDEST_BLOCK];
    size_t first = number * PART, end = s->node->n - first < PART ? s->node->n : first + PART;
    (void)scratch;
    for (size_t start = first; start < end; start += WIDEST_BLOCK) {
        size_t count = end - start < WIDEST_BLOCK ? end - start : WIDEST_BLOCK;
        const double *error;
        const double *value = node_bounded_block(&error, s->node, start, count, NULL, bounds);
        (void)widest_bound_add(&w, s->certificate, value, error, count);
    }
    s->part[number] = w;
    return status_ok();
}

/* Elements whose bounds are made when they are read: where all are certified their bounds need no array. */
static bool take_stored(struct reference *r, struct tape *tape, const struct node *node)
{
    double *values = node_stored_values(node);
    const struct certificate c = certificate_of(r->dtype);
    size_t parts = r->n ? (r->n - 1) / PART + 1 : 0;
    if (!values) return false;
    struct arena_mark before = arena_mark(tape->arena);
    struct stored s = { node, &c, tape_allocate(tape, parts, sizeof *s.part) };
    if (!s.part) return false;
    tape_parallel(tape, &(struct parallel){ parts, 0, widen_part, &s });
    struct widest_bound widest = { { 0 }, { 0 }, 0 };
    for (size_t i = 0; i < parts; i++) widest_bound_join(&widest, &s.part[i]);
    arena_rewind(tape->arena, before);
    if (widest.open) return false;
    r->hi = values;
    r->relative = widest_bound_relative(&widest, &c);
    r->absolute = widest_bound_absolute(&widest);
    return true;
}

static bool has_arrays_of(const struct node *a, const struct node *b)
{
    return a->value == b->value || a->error == b->error;
}

/* Has anything been computed of the arrays of the node, or are they the gradient of two arguments? */
static bool is_read(const struct tape *tape, const struct node *node)
{
    int leaves = 0;
    for (const struct node *other = tape->newest; other; other = other->older) {
        leaves += !other->primitive && other->cotangent && has_arrays_of(other->cotangent, node);
        bool all = other->value == node->value && other->error == node->error;
        if (all && other->n == node->n) continue; /* the same in another shape */
        if (has_arrays_of(other, node)) return true;
        for (int k = 0; k < other->input_count; k++)
            if (has_arrays_of(other->inputs[k], node)) return true;
    }
    return leaves > 1;
}

struct status reference_over(struct reference *out, struct tape *tape, struct node *node,
                             enum dtype dtype, struct arena *arena, bool is_last)
{
    struct reference r = {
        .dtype = dtype, .rank = node->rank, .n = node->n, .integer = node->integer
    };
    bool complex_valued = dtype_is_complex(dtype), judged = false;

    memcpy(r.shape, node->shape, sizeof r.shape);
    if (!node->integer) {
        bool fresh = !complex_valued && node_is_unread(node);
        if (complex_valued) TRY(take_complex(&r, tape, node, arena));
        else if (fresh && made_reference_is_for(node, dtype))
            TRY(made_reference(&r, &judged, tape, node, arena, EAGER_BUDGET));
        else if (fresh) TRY(take_deferred(&r, tape, node, arena));
        else if (!take_stored(&r, tape, node)) {
            TRY(take_real(&r, tape, node));
            fresh = is_last && !takes_low_part(dtype) && node->error && !is_read(tape, node);
        }
        struct refine_context *context = arena_allocate_zeroed(arena, 1, sizeof *context);
        if (!context) return status_no_memory(0);
        context->re = node;
        context->im = complex_valued ? node->imaginary : NULL;
        context->arena = arena;
        context->help = tape->help;
        context->fresh = fresh;
        r.refine_context = context;
        r.refine = refine;
    }
    if (!judged) TRY(certify(&r, tape->help, arena));
    *out = r;
    return status_ok();
}

void reference_forget(struct reference *r)
{
    const struct refine_context *context = r->refine_context;
    if (!context || !(context->fresh || context->owned)) return;
    if (context->re->kept == r->hi) context->re->kept = NULL;
    arena_give_back(context->arena, r->hi, r->n * sizeof *r->hi);
    arena_give_back(context->arena, r->lo, r->n * sizeof *r->lo);
    arena_give_back(context->arena, r->error, r->n * sizeof *r->error);
    r->hi = r->lo = r->error = NULL;
    r->n = 0;
    r->refine = NULL;
}
