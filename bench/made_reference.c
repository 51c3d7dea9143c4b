/* Elements and their bounds are made a block at a time. Open ones are noted with their bounds, in any order, and sorted:
 * what is done does not depend on who did which part. */
#include "bench/made_reference.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/tape/enclosure.h"
#include "bench/widest_bound.h"
#include "core/parallel.h"

enum { PART = 1 << 16 };

struct open_element {
    size_t element;
    double error;
};

/* Elements in the making. */
struct making {
    struct node *node;
    const struct certificate *certificate;
    double *hi;
    struct widest_bound *part;
    double *block;             /* the largest bound of each block but for the open ones */
    struct open_element *open; /* room for `most` */
    size_t most;
    atomic_size_t
        count; /* of open ones; more than `most`: those that there was room for are noted */
};

bool made_reference_is_for(const struct node *node, enum dtype dtype)
{
    return node->deferral->bounded && dtype_info(dtype)->significand_bits < 53;
}

static bool has_too_many(struct making *m) { return atomic_load(&m->count) > m->most; }

static void note_open(struct making *m, const double *error, size_t start, size_t n)
{
    const struct certificate *c = m->certificate;
    for (size_t i = 0; i < n; i++) {
        if (certificate_passes_quickly(c, m->hi[start + i], error[i])) continue;
        size_t place = atomic_fetch_add(&m->count, 1);
        if (place < m->most) m->open[place] = (struct open_element){ start + i, error[i] };
    }
}

static struct status make_part(void *context, size_t number, void *scratch)
{
    struct making *m = context;
    struct widest_bound *w = &m->part[number];
    double bounds[WIDEST_BLOCK];
    size_t first = number * PART, end = m->node->n - first < PART ? m->node->n : first + PART;
    (void)scratch;
    *w = (struct widest_bound){ { 0 }, { 0 }, 0 };
    for (size_t start = first; start < end && !has_too_many(m); start += WIDEST_BLOCK) {
        size_t n = end - start < WIDEST_BLOCK ? end - start : WIDEST_BLOCK;
        const double *error;
        (void)node_bounded_block(&error, m->node, start, n, m->hi + start, bounds);
        m->block[start / WIDEST_BLOCK] =
            widest_bound_of_block(m->certificate, m->hi + start, error, n);
        if (widest_bound_add(w, m->certificate, m->hi + start, error, n))
            note_open(m, error, start, n);
    }
    return status_ok();
}

static int by_element(const void *a, const void *b)
{
    size_t x = ((const struct open_element *)a)->element,
           y = ((const struct open_element *)b)->element;
    return (x > y) - (x < y);
}

/* What is open, as lists in order. */
struct open_list {
    size_t count;
    size_t *elements;
    double *error, *hi;
};

static struct status list_open(struct open_list *out, struct arena *arena, struct making *m)
{
    *out = (struct open_list){ .count = m->count };
    out->elements = arena_allocate_array(arena, out->count, sizeof *out->elements);
    out->error = arena_allocate_array(arena, out->count, sizeof *out->error);
    out->hi = arena_allocate_array(arena, out->count, sizeof *out->hi);
    if (!out->elements || !out->error || !out->hi) return status_no_memory(0);
    if (out->count) qsort(m->open, out->count, sizeof *m->open, by_element);
    for (size_t k = 0; k < out->count; k++) {
        out->elements[k] = m->open[k].element;
        out->error[k] = m->open[k].error;
        out->hi[k] = m->hi[out->elements[k]];
    }
    return status_ok();
}

/* Recompute the listed elements and take their bounds in. Returns how many are not certified then. */
static size_t recompute(struct widest_bound *widest, struct open_list *list, struct making *m,
                        struct reference *r)
{
    const struct enclosure_target target = { list->hi, NULL, list->error, 1, 0, true };
    size_t open = 0;
    /* Half of it: small enough relative to the value, too, wherever the value lies between two powers of 2. */
    enclosure_refine(&target, m->node, list->count, list->elements, r->dtype, WANTED_ULP / 2,
                     m->most);
    r->recomputed += list->count;
    for (size_t k = 0; k < list->count; k++) {
        r->hi[list->elements[k]] = list->hi[k];
        (void)widest_bound_add(widest, m->certificate, &list->hi[k], &list->error[k], 1);
        open += !certificate_passes(m->certificate, list->hi[k], list->error[k]);
    }
    return open;
}

/* The elements once more with an array of bounds. */
static struct status make_with_bounds(struct reference *r, struct tape *tape,
                                      const struct node *node, struct arena *arena)
{
    r->error = arena_allocate_array(arena, r->n, sizeof *r->error);
    if (!r->error) return status_no_memory(r->n * sizeof *r->error);
    node_make_elements(tape, node, r->hi, r->error);
    return tape->status;
}

/* Bounds of the other elements: what holds for all of them, or for those of their block. */
struct kept_bounds {
    const struct reference *r;
    const double *block;
};

static void keep_some(void *context, size_t start, size_t count)
{
    const struct kept_bounds *kept = context;
    const struct reference *r = kept->r;
    for (size_t i = start; i < start + count; i++) {
        double all = r->relative * fabs(r->hi[i]) + r->absolute;
        r->error[i] = isfinite(r->hi[i]) ? fmin(all, kept->block[i / WIDEST_BLOCK]) : 0;
    }
}

static struct status keep_bounds(struct reference *r, const struct open_list *list,
                                 const struct making *m, struct tape *tape, struct arena *arena)
{
    struct kept_bounds kept = { r, m->block };
    r->error = arena_allocate_array(arena, r->n, sizeof *r->error);
    if (!r->error) return status_no_memory(r->n * sizeof *r->error);
    parallel_elements(tape->help, r->n, keep_some, &kept);
    for (size_t k = 0; k < list->count; k++) r->error[list->elements[k]] = list->error[k];
    return status_ok();
}

static struct status judge(struct reference *r, struct widest_bound *widest, struct making *m,
                           struct tape *tape, struct arena *arena)
{
    struct open_list list;
    TRY(list_open(&list, arena, m));
    widest->open = 0;
    size_t open = list.count ? recompute(widest, &list, m, r) : 0;
    r->relative = widest_bound_relative(widest, m->certificate);
    r->absolute = widest_bound_absolute(widest);
    r->state = open ? REFERENCE_BOUNDED : REFERENCE_CERTIFIED;
    if (widest->open) return keep_bounds(r, &list, m, tape, arena);
    if (r->relative == 0 && r->absolute == 0) r->state = REFERENCE_EXACT;
    return status_ok();
}

struct status made_reference(struct reference *r, bool *judged, struct tape *tape,
                             struct node *node, struct arena *arena, size_t most)
{
    const struct certificate c = certificate_of(r->dtype);
    size_t parts = r->n ? (r->n - 1) / PART + 1 : 0;
    struct making m = { .node = node, .certificate = &c, .most = most };
    r->hi = m.hi = arena_allocate_array(arena, r->n, sizeof *r->hi);
    m.part = arena_allocate_array(arena, parts, sizeof *m.part);
    m.block = arena_allocate_array(arena, r->n / WIDEST_BLOCK + 1, sizeof *m.block);
    m.open = arena_allocate_array(arena, most, sizeof *m.open);
    if (!m.hi || !m.part || !m.block || !m.open) return status_no_memory(r->n * sizeof *r->hi);
    tape_parallel(tape, &(struct parallel){ parts, 0, make_part, &m });
    TRY(tape->status);
    node->kept = r->hi;
    *judged = !has_too_many(&m);
    if (!*judged) return make_with_bounds(r, tape, node, arena);
    struct widest_bound widest = { { 0 }, { 0 }, 0 };
    for (size_t i = 0; i < parts; i++) widest_bound_join(&widest, &m.part[i]);
    return judge(r, &widest, &m, tape, arena);
}
