/* Convolutions by im2col and gemm. With W (filters, depth) the kernel of a group, depth = channels * taps, X (depth,
 * points) the columns of an image and Y (filters, points) its result,
 *
 *     Y = W X,    columns of the input's adjoint = W^T Y, folded back,    adjoint of W = sum over images of Y X^T.
 *
 * The work is done in parts of one image and group that other threads may take (core/parallel.h): some filters and
 * points of Y, some channels of the input's adjoint, some columns of that of W, for all images in their order. So a part
 * needs some columns of X at a time, which stay in the second-level cache.
 *
 * Bounds are those of the matrix product (gamma_k times norms of rows and columns); where columns are folded back the
 * bounds are folded with them.
 */
#include "bench/primitives/convolution_products.h"
#include <string.h>

#include "bench/arithmetic/norms.h"
#include "bench/primitives/convolution_columns.h"
#include "bench/primitives/convolution_elements.h"
#include "bench/primitives/convolution_model.h"
#include "bench/primitives/convolution_parts.h"
#include "bench/primitives/product_terms.h"
#include "bench/tape/known_values.h"

enum { LEAST_PRODUCTS = 1 << 20 }; /* multiplications of a part that is several images or groups */

/* ---- norms --------------------------------------------------------------------------------------- */

/* Matrices of an operand, each of `lines` lines of `length`. */
struct operand {
    const struct node *node;
    struct line_norms norms;
    size_t lines, length;
    bool down;
};

static struct status norms_part(void *context, size_t number, void *scratch)
{
    const struct operand *o = context;
    size_t size = o->lines * o->length, start = number * size;
    double *norm = o->norms.norm + number * o->lines, *error = o->norms.error + number * o->lines;
    line_norms(norm, o->node->value + start, o->lines, o->length, o->down);
    memset(error, 0, o->lines * sizeof *error);
    if (node_is_exact(o->node)) return status_ok();
    double *bounds = scratch;
    for (size_t i = 0; i < size; i++) bounds[i] = node_error(o->node, start + i);
    line_norms(error, bounds, o->lines, o->length, o->down);
    return status_ok();
}

static struct line_norms norms_of(struct tape *tape, const struct node *node, size_t matrices,
                                  size_t lines, size_t length, bool down)
{
    double *room = tape_allocate(tape, 2 * matrices * lines, sizeof *room);
    struct operand o = { node, { room, room + matrices * lines }, lines, length, down };
    size_t bytes = node_is_exact(node) ? 0 : lines * length * sizeof(double);
    tape_parallel(tape, &(struct parallel){ matrices, bytes, norms_part, &o });
    return o.norms;
}

static struct status growth_part(void *context, size_t number, void *scratch)
{
    const struct convolution_products *p = context;
    const struct convolution *c = p->c;
    size_t depth = depth_of(c);
    const struct line_matrices columns = { p->w->value + w_start(c, number % c->groups),
                                           p->y->value + number * c->filters * c->points, 1, 1 };
    p->growth[number] =
        part_growth(p, &columns, depth, c->points, c->filters, depth, c->points, scratch);
    return status_ok();
}

static void take_norms(struct convolution_products *p)
{
    const struct convolution *c = p->c;
    struct tape *tape = p->tape;
    size_t depth = depth_of(c), matrices = c->images * c->groups;
    switch (c->role) {
    case CONVOLVE: p->first = norms_of(tape, p->w, c->groups, c->filters, depth, false); break;
    case CONVOLVE_INPUT_ADJOINT:
        p->first = norms_of(tape, p->w, c->groups, depth, c->filters, true);
        p->second = norms_of(tape, p->y, matrices, c->points, c->filters, true);
        p->growth = tape_allocate(tape, matrices, sizeof *p->growth);
        tape_parallel(tape, &(struct parallel){ matrices,
                                                part_growth_room(p, c->filters) * sizeof(double),
                                                growth_part, p });
        break;
    case CONVOLVE_WEIGHT_ADJOINT:
        p->first = norms_of(tape, p->y, matrices, c->filters, c->points, false);
        break;
    }
}

/* ---- parts --------------------------------------------------------------------------------------- */

static const struct convolution_role_steps *const roles[] = {
    [CONVOLVE] = &convolution_result,
    [CONVOLVE_INPUT_ADJOINT] = &convolution_input_adjoint,
    [CONVOLVE_WEIGHT_ADJOINT] = &convolution_weight_adjoint,
};

/* Rows and columns of the matrix of a role. */
static void extents_of(size_t *rows, size_t *columns, const struct convolution *c)
{
    *rows = c->role == CONVOLVE_INPUT_ADJOINT ? depth_of(c) : c->filters;
    *columns = c->role == CONVOLVE_WEIGHT_ADJOINT ? depth_of(c) : c->points;
}

static struct block block_at(const struct convolution_products *p, size_t matrix, size_t number)
{
    const struct convolution *c = p->c;
    size_t row = number / p->across * p->rows, column = number % p->across * p->columns, rows,
           columns;
    extents_of(&rows, &columns, c);
    return (struct block){ matrix / c->groups,
                           matrix % c->groups,
                           row,
                           at_most(p->rows, rows - row),
                           column,
                           at_most(p->columns, columns - column) };
}

static struct status products_part(void *context, size_t number, void *scratch)
{
    const struct convolution_products *p = context;
    size_t blocks = p->down * p->across, first = number / blocks * p->together;
    for (size_t i = first; i < at_most(first + p->together, p->matrices); i++) {
        struct block block = block_at(p, i, number % blocks);
        roles[p->c->role]->make(p, &block, scratch);
    }
    return status_ok();
}

static void do_parts(struct convolution_products *p)
{
    const struct convolution *c = p->c;
    roles[c->role]->divide(p);
    double each = (double)depth_of(c) * (double)c->filters * (double)c->points;
    p->together = 1;
    if (p->down * p->across == 1 && each < LEAST_PRODUCTS)
        p->together = at_most(LEAST_PRODUCTS / (size_t)at_least((size_t)each, 1), p->matrices);
    const struct parallel work = { .parts = ((p->matrices - 1) / p->together + 1) * p->down *
                                            p->across,
                                   .scratch_bytes = (roles[c->role]->room(p) + 1) * sizeof(double),
                                   .part = products_part,
                                   .context = p };
    struct tape *tape = p->tape;
    /* An imitated mistake takes memory from the tape. */
    struct status status = parallel_run(tape->deviation ? NULL : tape->help, tape->arena, &work);
    if (status.code && !tape_failed(tape)) tape->status = status;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static bool is_finite(const struct node *x)
{
    return x->value ? all_finite(x->value, x->n)
                    : all_finite_floats((const float *)x->source->data, x->n);
}

static struct convolution_products products_of(struct tape *tape, struct node *node,
                                               const struct convolution *c)
{
    const struct node *a = node->inputs[0], *b = node->inputs[1];
    struct convolution_products p = { .tape = tape,
                                      .c = c,
                                      .out = node,
                                      .certify = tape_is_reference(tape),
                                      .single = tape_is_single(tape),
                                      .exact_products = node_is_narrow(a) && node_is_narrow(b) };
    p.x = c->role == CONVOLVE_INPUT_ADJOINT ? NULL : a;
    p.w = c->role == CONVOLVE_WEIGHT_ADJOINT ? NULL : b;
    p.y = c->role == CONVOLVE_INPUT_ADJOINT ? a : c->role == CONVOLVE_WEIGHT_ADJOINT ? b : NULL;
    p.recomputes = c->role == CONVOLVE && tape->arithmetic == BENCH_REFERENCE && node_is_exact(a) &&
                   node_is_exact(b) && is_finite(a) && is_finite(b);
    return p;
}

static bool is_empty(const struct convolution *c)
{
    return !c->images || !c->groups || !c->filters || !c->channels || !c->taps || !c->points ||
           !c->pixels;
}

/* Room for what the bounds of other evaluations follow from. */
static void keep_norms(struct tape *tape, struct convolution *c)
{
    size_t matrices = c->images * c->groups, depth = depth_of(c);
    const size_t first[] = { c->groups * c->filters, c->groups * depth, matrices * c->filters },
                 second[] = { matrices * c->points, matrices * c->points, matrices * depth };
    bool folds = c->role == CONVOLVE_INPUT_ADJOINT && (tape_is_model(tape) || tape->is_modelled);
    c->first_norms = tape_allocate(tape, first[c->role], sizeof *c->first_norms);
    c->second_norms = tape_allocate(tape, second[c->role], sizeof *c->second_norms);
    c->magnitudes =
        folds ? tape_allocate(tape, matrices * c->channels * c->pixels, sizeof *c->magnitudes)
              : NULL;
}

/* What take_norms has found. */
static void store_norms(const struct convolution_products *p)
{
    const struct convolution *c = p->c;
    size_t matrices = c->images * c->groups, depth = depth_of(c);
    size_t first = c->role == CONVOLVE                 ? c->groups * c->filters
                   : c->role == CONVOLVE_INPUT_ADJOINT ? c->groups * depth
                                                       : matrices * c->filters;
    if (!c->first_norms) return;
    memcpy(c->first_norms, p->first.norm, first * sizeof *c->first_norms);
    if (c->role == CONVOLVE_INPUT_ADJOINT)
        memcpy(c->second_norms, p->second.norm, matrices * c->points * sizeof *c->second_norms);
}

/* Of exact operands: errors element by element. */
static bool looks_at_all(const struct tape *tape, const struct node *node,
                         const struct convolution *c)
{
    return node_is_exact(node->inputs[0]) && node_is_exact(node->inputs[1]) &&
           convolution_looks_at_all(tape, c);
}

static void make_products(struct tape *tape, struct node *node, const struct convolution *c,
                          bool known)
{
    struct arena_mark before = arena_mark(tape->arena);
    struct convolution_products p = products_of(tape, node, c);
    p.known = known;
    p.map = convolution_pixel_map(tape, c);
    if (p.certify) take_norms(&p);
    if (!tape_failed(tape)) store_norms(&p);
    if (!tape_failed(tape)) do_parts(&p);
    if (!tape_failed(tape) && looks_at_all(tape, node, c))
        convolution_element_errors(tape, node, c, p.x, p.w, p.y, p.map);
    arena_rewind(tape->arena, before);
}

void convolution_evaluate(struct tape *tape, struct node *node, struct convolution *c)
{
    const struct node *a = node->inputs[0], *b = node->inputs[1];
    bool has_x = c->role != CONVOLVE_INPUT_ADJOINT, reference = tape_is_reference(tape);
    if (convolution_take_known(tape, node, c)) return;
    if (!has_x || !convolution_reads_floats(a) || looks_at_all(tape, node, c))
        (void)node_values(tape, node->inputs[0]);
    (void)node_values(tape, node->inputs[1]);
    bool known = node->value;
    if (!known) node->value = tape_allocate(tape, node->n, sizeof *node->value);
    if (reference) (void)node_need_errors(tape, node);
    if (tape_failed(tape)) return;
    if (is_empty(c)) { /* sums without terms */
        memset(node->value, 0, node->n * sizeof *node->value);
        if (node->error) memset(node->error, 0, node->n * sizeof *node->error);
        return;
    }
    if (reference && node_is_exact(a) && node_is_exact(b)) keep_norms(tape, c);
    if (!tape_failed(tape)) make_products(tape, node, c, known);
    if (reference) known_values_enter(tape, node);
}
