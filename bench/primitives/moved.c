/* What primitives that move elements share.
 *
 * Elements of real and integral nodes are both 8 bytes wide, so one copying loop serves values,
 * bounds and integers. The walk over a view has one operand, that which the elements are read from.
 */
#include "bench/primitives/moved.h"

#include <string.h>

#include "bench/tape/broadcast.h"

/* Dimensions that step on as one are one. */
static void walk_view(struct walk *walk, const struct strides *s)
{
    walk->operands = 1;
    walk->rank = 0;
    for (int d = 0; d < s->rank; d++) {
        if (s->shape[d] == 1) continue;
        bool merge = walk->rank && walk->stride[0][walk->rank - 1] == s->stride[d] * s->shape[d];
        int at = merge ? walk->rank - 1 : walk->rank++;
        walk->shape[at] = merge ? walk->shape[at] * s->shape[d] : s->shape[d];
        walk->stride[0][at] = s->stride[d];
    }
}

/* ---- copies --------------------------------------------------------------------------------- */

struct copy {
    struct walk walk;
    char *to;
    const char *from; /* the element that the view's first one is */
};

static void copy_row(void *context, size_t out, size_t count, const size_t *offset,
                     const int64_t *step)
{
    const struct copy *c = context;
    char *to = c->to + out * 8;
    const char *from = c->from + (int64_t)offset[0] * 8;
    if (step[0] == 1 || count == 1) memcpy(to, from, count * 8);
    else
        for (size_t i = 0; i < count; i++) memcpy(to + i * 8, from + (int64_t)i * step[0] * 8, 8);
}

static void copy_some(void *context, size_t start, size_t count)
{
    const struct copy *c = context;
    walk_part(&c->walk, start, start + count, copy_row, context);
}

void copy_strided(struct help *help, void *dst, const void *src, const struct strides *s, size_t n)
{
    struct copy copy = { .to = dst, .from = (const char *)src + s->offset * 8 };
    walk_view(&copy.walk, s);
    parallel_elements(help, n, copy_some, &copy);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

struct node *moved(struct tape *tape, const struct primitive *primitive, struct node *x, int rank,
                   const int64_t *shape, const void *parameters)
{
    if (x->integer) return node_new_integer(tape, x->dtype, rank, shape);
    (void)node_values(tape, x);
    struct node *node = node_new(tape, primitive, x->dtype, rank, shape, 1, &x, parameters);
    if (tape_failed(tape)) return tape_failure(tape);
    node->relative = x->relative;
    node->absolute = x->absolute;
    if (x->error) (void)node_need_errors(tape, node);
    return node;
}

/* Elements that are being made of a deferred node, from `start` on. */
struct read_runs {
    const struct node *x;
    size_t start;
    double *value, *error;
    bool known; /* the values are there */
};

static void read_run(void *context, size_t out, size_t count, const size_t *offset,
                     const int64_t *step)
{
    const struct read_runs *r = context;
    double *value = r->value + (out - r->start), *error = r->error;
    const double *made, *bounds;
    (void)step;
    if (error) error += out - r->start;
    if (error) made = node_bounded_block(&bounds, r->x, offset[0], count, value, error);
    else made = node_block(r->x, offset[0], count, value);
    if (made != value && !r->known) memcpy(value, made, count * sizeof *value);
    if (error && bounds != error) memcpy(error, bounds, count * sizeof *error);
}

static void read_elements(const struct node *node, size_t start, size_t count, double *value,
                          double *error)
{
    struct read_runs runs = { node->inputs[0], start, value, error,
                              node->deferral->values != NULL };
    if (runs.known && !error) return;
    walk_part(node->deferral->context, start, start + count, read_run, &runs);
}

/* Shorter runs are better copied once than looked up whenever they are read. */
enum { LEAST_RUN = 64 };

struct node *moved_in_runs(struct tape *tape, const struct primitive *primitive, struct node *x,
                           const struct strides *s, const void *parameters, steps_alike *alike)
{
    struct walk *walk = tape_allocate(tape, 1, sizeof *walk);
    if (!walk) return tape_failure(tape);
    walk_view(walk, s);
    const int last = walk->rank - 1;
    if (x->integer || s->offset || last < 0 || walk->stride[0][last] != 1 ||
        walk->shape[last] < LEAST_RUN || !tape_may_defer(tape, x->n, 1, 1, &x))
        return NULL;
    struct node *node = node_step(tape, primitive, x->dtype, s->rank, s->shape, 1, &x, parameters);
    if (tape_failed(tape)) return tape_failure(tape);
    node->relative = x->relative;
    node->absolute = x->absolute;
    bool bounded = x->error || (node_is_deferred(x) && x->deferral->bounded);
    double *known = tape_is_model(tape) ? known_values_share(tape, node, alike) : NULL;
    node_evaluate(tape, node,
                  (struct deferral){ .elements = read_elements,
                                     .context = walk,
                                     .cost = 1,
                                     .bounded = bounded,
                                     .values = known,
                                     .apart = true },
                  true);
    return tape_failed(tape) ? tape_failure(tape) : node;
}
