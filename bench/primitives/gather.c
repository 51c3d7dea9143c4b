/* Index maps: gather, scatter_add, overwriting, all in whole rows.
 *
 * A map names a row of `row` consecutive elements for each row on the other side, so that
 * an embedding of 10^7 elements needs 8 bytes per token and not per element. Nothing rounds
 * but the sums of scatter_add, whose bound is kept by running error analysis.
 */
#include "bench/primitives/gather.h"

#include <string.h>

#include "bench/arithmetic/exact_sums.h"
#include "bench/arithmetic/pair.h"
#include "bench/arithmetic/sum_spread.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/moved.h"
#include "bench/tape/bounds.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/known_values.h"
#include "core/checked.h"

struct gather {
    const int64_t *map; /* row of x for each row of the result; negative: none */
    size_t row;         /* elements per row, at least 1 */
    double fill;
};

/* The element of the mapped side for element i of the mapping side, or -1. */
static int64_t mapped_element(const int64_t *map, size_t row, size_t i)
{
    int64_t to = map[i / row];
    return to < 0 ? -1 : to * (int64_t)row + (int64_t)(i % row);
}

bool map_fits(struct tape *tape, const int64_t *map, size_t entries, size_t row_count)
{
    int64_t rows = (int64_t)row_count;
    for (size_t i = 0; i < entries; i++) {
        if (map[i] < rows) continue;
        tape_fail(tape, STATUS_SKIP, "index %lld is out of range for %lld entries",
                  (long long)map[i], (long long)rows);
        return false;
    }
    return true;
}

/* ---- gather ------------------------------------------------------------------------- */

static void gather_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct gather *gather = node->parameters;
    struct node *x = node->inputs[0];
    tape_accumulate(
        tape, x,
        node_scatter_add_rows(tape, cotangent, x->rank, x->shape, gather->row, gather->map));
}

static void gather_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct gather *gather = node->parameters;
    int64_t at = mapped_element(gather->map, gather->row, i);
    if (at < 0) arb_set_d(ball, gather->fill);
    else enclosure_element(enclosure, ball, node->inputs[0], (size_t)at);
}

static bool gather_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    const struct gather *gather = node->parameters;
    int64_t at = mapped_element(gather->map, gather->row, i);
    if (at >= 0) return enclosure_pair(enclosure, out, node->inputs[0], (size_t)at);
    *out = pair_exact(gather->fill);
    return true;
}

static const struct primitive gather_primitive = { "gather", gather_backward, gather_enclose,
                                                   gather_pair };

static void gather_row(struct node *node, const struct node *x, size_t to, int64_t from, size_t row,
                       double fill)
{
    if (from >= 0) {
        size_t at = (size_t)from * row;
        if (x->integer) {
            memcpy(node->integer + to, x->integer + at, row * sizeof *x->integer);
            return;
        }
        const double *value = node_block(x, at, row, node->value + to);
        if (value != node->value + to) memcpy(node->value + to, value, row * sizeof *value);
        for (size_t k = 0; node->error && k < row; k++) node->error[to + k] = node_error(x, at + k);
        return;
    }
    for (size_t k = to; k < to + row; k++) {
        if (x->integer) node->integer[k] = (int64_t)fill;
        else node->value[k] = fill;
        if (node->error) node->error[k] = 0;
    }
}

/* Of a long table that nobody has read, an input tensor, only the rows that are asked for are. */
static bool reads_rows(const struct node *x, const struct gather *gather, int rank,
                       const int64_t *shape)
{
    size_t n;
    return x->source && !x->value && node_is_exact(x) && gather->row >= 16 &&
           shape_elements(&n, rank, shape) && n < x->n;
}

struct node *node_gather_rows(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                              size_t row, const int64_t *map, double fill)
{
    if (tape_failed(tape)) return tape_failure(tape);
    if (x->imaginary)
        return node_complex(
            tape, node_gather_rows(tape, node_real_part(tape, x), rank, shape, row, map, fill),
            node_gather_rows(tape, node_imaginary_part(tape, x), rank, shape, row, map, 0));
    struct gather *gather = tape_allocate(tape, 1, sizeof *gather);
    if (!gather) return tape_failure(tape);
    *gather = (struct gather){ map, row ? row : 1, fill };
    struct node *node =
        reads_rows(x, gather, rank, shape)
            ? node_new(tape, &gather_primitive, x->dtype, rank, shape, 1, &x, gather)
            : moved(tape, &gather_primitive, x, rank, shape, gather);
    if (tape_failed(tape)) return tape_failure(tape);
    size_t entries = node->n / gather->row;
    bool fills = false;
    for (size_t i = 0; i < entries && !fills; i++) fills = map[i] < 0;
    /* The fill is exact: under uniform bounds it would not be. */
    if (fills && !x->integer && !node_is_exact(x)) (void)node_need_errors(tape, node);
    if (tape_failed(tape) || !map_fits(tape, map, entries, x->n / gather->row))
        return tape_failure(tape);
    for (size_t i = 0; i < entries; i++)
        gather_row(node, x, i * gather->row, map[i], gather->row, fill);
    return node;
}

struct node *node_gather(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                         const int64_t *map, double fill)
{
    return node_gather_rows(tape, x, rank, shape, 1, map, fill);
}

struct node *node_index_select(struct tape *tape, struct node *x, int dim, struct node *index)
{
    int64_t shape[TENSOR_MAX_RANK];
    size_t outer = 1, row = 1;

    if (tape_failed(tape)) return tape_failure(tape);
    if (!x->rank && index->n != 1) {
        tape_fail(tape, STATUS_SKIP, "%zu indices into a scalar", index->n);
        return tape_failure(tape);
    }
    memcpy(shape, x->shape, sizeof shape);
    for (int d = 0; d < x->rank; d++)
        if (d < dim) outer *= (size_t)x->shape[d];
        else if (d > dim) row *= (size_t)x->shape[d];
    int64_t extent = x->rank ? x->shape[dim] : 1;
    if (x->rank) shape[dim] = (int64_t)index->n;
    int64_t *map = tape_allocate(tape, outer * index->n, sizeof *map);
    if (!map) return tape_failure(tape);
    for (size_t i = 0; i < index->n; i++) {
        int64_t at = index->integer ? index->integer[i] : -1;
        if (at < 0 || at >= extent) {
            tape_fail(tape, STATUS_SKIP, "index %lld is out of range for dimension %d of size %lld",
                      (long long)at, dim, (long long)extent);
            return tape_failure(tape);
        }
        for (size_t o = 0; o < outer; o++) map[o * index->n + i] = (int64_t)o * extent + at;
    }
    return node_gather_rows(tape, x, x->rank, shape, row, map, 0);
}

/* ---- scatter_add -------------------------------------------------------------------- */

struct scatter {
    struct tape *tape;
    const int64_t *map;
    size_t row;
    /* For single elements: sources of row j are order[first[j] .. first[j + 1]). Made on demand. */
    size_t *first, *order;
};

static void scatter_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct scatter *scatter = node->state;
    struct node *x = node->inputs[0];
    tape_accumulate(
        tape, x,
        node_gather_rows(tape, cotangent, x->rank, x->shape, scatter->row, scatter->map, 0));
}

/* Group the source rows by target: a counting sort that keeps their order. */
static bool scatter_index(struct scatter *scatter, const struct node *node)
{
    size_t rows = node->n / scatter->row, sources = node->inputs[0]->n / scatter->row;
    if (scatter->first) return true;
    size_t *first = arena_allocate_zeroed(scatter->tape->arena, rows + 2, sizeof *first);
    size_t *order = arena_allocate_array(scatter->tape->arena, sources, sizeof *order);
    if (!first || !order) return false;
    for (size_t i = 0; i < sources; i++)
        if (scatter->map[i] >= 0) first[scatter->map[i] + 2]++;
    for (size_t j = 0; j < rows; j++) first[j + 2] += first[j + 1];
    for (size_t i = 0; i < sources; i++)
        if (scatter->map[i] >= 0) order[first[scatter->map[i] + 1]++] = i;
    scatter->first = first;
    scatter->order = order;
    return true;
}

static void scatter_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    struct scatter *scatter = node->state;
    size_t target = i / scatter->row, column = i % scatter->row;
    arb_t term;

    arb_zero(ball);
    if (!scatter_index(scatter, node)) {
        arb_indeterminate(ball);
        return;
    }
    arb_init(term);
    for (size_t k = scatter->first[target]; k < scatter->first[target + 1]; k++) {
        enclosure_element(enclosure, term, node->inputs[0],
                          scatter->order[k] * scatter->row + column);
        arb_add(ball, ball, term, enclosure->precision);
    }
    arb_clear(term);
}

static const struct primitive scatter_primitive = { "scatter_add", scatter_backward,
                                                    scatter_enclose, NULL };

/* How often each target row is hit, counted to 2. *several: some row is hit twice. NULL
 * after a failure. */
static unsigned char *count_hits(struct tape *tape, const int64_t *map, size_t entries, size_t rows,
                                 bool *several)
{
    unsigned char *hits = tape_allocate(tape, rows, 1);
    if (!hits) return NULL;
    memset(hits, 0, rows);
    *several = false;
    for (size_t i = 0; i < entries; i++) {
        if (map[i] < 0) continue;
        if (hits[map[i]]) *several = true;
        else hits[map[i]] = 1;
    }
    return hits;
}

/* `row` elements of x from `from` on added to sums, with their bounds (or NULL); each addition loses at most u |partial sum|. */
static void add_row(const struct tape *tape, double *restrict value, double *restrict error,
                    const struct node *x, size_t from, size_t row)
{
    const double *restrict term = x->value + from, unit = tape->unit;

    if (!error) {
        if (tape_is_single(tape))
            for (size_t k = 0; k < row; k++) value[k] = (float)(value[k] + term[k]);
        else
            for (size_t k = 0; k < row; k++) value[k] += term[k];
        return;
    }
    bool exact = node_is_exact(x);
    for (size_t k = 0; k < row; k++) {
        double before = value[k], sum = before + term[k];
        double lost = before == 0 ? 0 : unit * fabs(sum), own = exact ? 0 : node_error(x, from + k);
        value[k] = sum;
        error[k] = isfinite(sum) ? (error[k] + own + lost) * (1 + 0x1p-50) : 0;
    }
}

static void first_row(double *value, double *error, const struct node *x, size_t from, size_t row)
{
    memcpy(value, x->value + from, row * sizeof *x->value);
    for (size_t k = 0; error && k < row; k++) error[k] = node_error(x, from + k);
}

static void no_row(double *value, double *error, size_t row)
{
    memset(value, 0, row * sizeof *value);
    if (error) memset(error, 0, row * sizeof *error);
}

/* Part of a target row of a deferred node, from its sources in their order. */
static void make_row(const struct node *node, size_t target, size_t column, size_t count,
                     double *value, double *error)
{
    const struct scatter *s = node->state;
    const struct node *x = node->inputs[0];
    size_t k = s->first[target], end = s->first[target + 1];
    if (k == end) no_row(value, error, count);
    else first_row(value, error, x, s->order[k++] * s->row + column, count);
    for (; k < end; k++) add_row(s->tape, value, error, x, s->order[k] * s->row + column, count);
}

static void scattered_elements(const struct node *node, size_t start, size_t count, double *value,
                               double *error)
{
    const size_t row = ((const struct scatter *)node->state)->row;
    for (size_t i = start, next; i < start + count; i = next) {
        next = (i / row + 1) * row;
        if (next > start + count) next = start + count;
        make_row(node, i / row, i % row, next - i, value + (i - start),
                 error ? error + (i - start) : NULL);
    }
}

/* Rows of many targets that few sources have are mostly zeros, which need not be written to be read: a node of long rows is
 * deferred. NULL where it is not. */
static struct node *scatter_deferred(struct tape *tape, struct node *x, int rank,
                                     const int64_t *shape, struct scatter *scatter)
{
    enum { LEAST_ROW = 64, COST = 2 };
    size_t n;
    bool several;
    if (tape_is_model(tape) || x->integer || scatter->row < LEAST_ROW ||
        !shape_elements(&n, rank, shape) || !tape_may_defer(tape, n, COST, 1, &x))
        return NULL;
    (void)node_values(tape, x); /* at other places */
    struct node *node = node_step(tape, &scatter_primitive, x->dtype, rank, shape, 1, &x, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    node->state = scatter;
    size_t rows = n / scatter->row, entries = x->n / scatter->row;
    if (!map_fits(tape, scatter->map, entries, rows) ||
        !count_hits(tape, scatter->map, entries, rows, &several))
        return tape_failure(tape);
    if (!scatter_index(scatter, node)) {
        tape_fail(tape, STATUS_NO_MEMORY, "no memory for the order of %zu rows", entries);
        return tape_failure(tape);
    }
    bool bounded = tape_is_reference(tape) && (several || x->error || x->absolute > 0);
    if (!bounded) node->relative = x->relative;
    node_evaluate(
        tape, node,
        (struct deferral){ .elements = scattered_elements, .cost = COST, .bounded = bounded },
        true);
    if (several) known_values_enter(tape, node);
    return tape_failed(tape) ? tape_failure(tape) : node;
}

/* In a model: the errors of sums that a kernel adds in any order. */
static void model_scatter(struct tape *tape, struct node *node, const struct node *x,
                          struct scatter *scatter)
{
    size_t row = scatter->row, most = 0;
    bool typical = tape_is_typical(tape);
    if (!scatter_index(scatter, node) || !node_need_errors(tape, node)) return;
    for (size_t j = 0; j < node->n / row; j++)
        if (scatter->first[j + 1] - scatter->first[j] > most)
            most = scatter->first[j + 1] - scatter->first[j];
    double *term = tape_allocate(tape, most, sizeof *term);
    for (size_t i = 0; i < node->n && !tape_failed(tape); i++) {
        if (i % row == 0 && scatter->first[i / row] == scatter->first[i / row + 1]) {
            memset(node->error + i, 0, row * sizeof *node->error); /* nothing is added there */
            i += row - 1;
            continue;
        }
        size_t first = scatter->first[i / row], count = scatter->first[i / row + 1] - first;
        double magnitude = 0, carried = 0, alike = 0;
        if (count == 1) { /* moved */
            node->error[i] = node_error(x, scatter->order[first] * row + i % row);
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            size_t at = scatter->order[first + k] * row + i % row;
            double e = node_error(x, at);
            term[k] = x->value[at];
            magnitude += fabs(term[k]);
            /* Equal terms next to each other err alike: m of them m e, where (m e)^2 = ((m - 1) e)^2 + (2 m - 1) e^2. */
            alike = k && term[k] == term[k - 1] ? alike + 1 : 1;
            carried += typical ? (2 * alike - 1) * e * e : e;
        }
        double own = tape_sum_growth(tape, count) * magnitude;
        if (carried == 0 && sum_is_exact(term, count, tape->wide ? 53 : 24)) own = 0;
        else if (typical && isfinite(magnitude))
            own = sqrt(carried > 0 ? sum_spread_of_inexact(term, count, false, !tape->wide)
                                   : sum_spread(term, count, false, !tape->wide));
        double bound = own * tape->unit + (typical ? sqrt(carried) : carried);
        node->error[i] = !isfinite(node->value[i]) ? 0 : bound >= 0 ? bound : INFINITY;
    }
}

static bool is_alike(const struct node *a, const struct node *b)
{
    const struct scatter *p = a->state, *q = b->state;
    size_t entries = a->inputs[0]->n / p->row;
    return p->row == q->row && a->inputs[0]->n == b->inputs[0]->n &&
           !memcmp(p->map, q->map, entries * sizeof *p->map);
}

static void scatter_reals(struct tape *tape, struct node *node, struct node *x,
                          struct scatter *scatter)
{
    size_t row = scatter->row, rows = node->n / row, entries = x->n / row;
    bool several;
    unsigned char *hits = count_hits(tape, scatter->map, entries, rows, &several);

    if (!hits) return;
    /* A row hit once is moved; zeros elsewhere are exact also under a relative bound. */
    if (several || x->error || x->absolute > 0) (void)node_need_errors(tape, node);
    else node->relative = x->relative;
    if (tape_failed(tape)) return;
    const struct node *known =
        several && tape_is_model(tape) ? known_values_find(tape, node, is_alike) : NULL;
    if (known) {
        node->value = known_values_of(known);
        model_scatter(tape, node, x, scatter);
        model_stages(tape, node);
        known_values_enter(tape, node);
        return;
    }
    double *value = node->value, *error = node->error;
    for (size_t j = 0; j < rows; j++)
        if (!hits[j]) no_row(value + j * row, error ? error + j * row : NULL, row);
    for (size_t i = 0; i < entries; i++) {
        if (scatter->map[i] < 0) continue;
        size_t target = (size_t)scatter->map[i];
        double *bounds = error ? error + target * row : NULL;
        if (hits[target] == 1) first_row(value + target * row, bounds, x, i * row, row);
        else add_row(tape, value + target * row, bounds, x, i * row, row);
        hits[target] = 2;
    }
    if (several && tape_is_model(tape)) model_scatter(tape, node, x, scatter);
    if (several) model_stages(tape, node);
    if (several) known_values_enter(tape, node);
}

struct node *node_scatter_add_rows(struct tape *tape, struct node *x, int rank,
                                   const int64_t *shape, size_t row, const int64_t *map)
{
    if (tape_failed(tape)) return tape_failure(tape);
    if (x->imaginary)
        return node_complex(
            tape, node_scatter_add_rows(tape, node_real_part(tape, x), rank, shape, row, map),
            node_scatter_add_rows(tape, node_imaginary_part(tape, x), rank, shape, row, map));
    struct scatter *scatter = tape_allocate(tape, 1, sizeof *scatter);
    if (!scatter) return tape_failure(tape);
    *scatter = (struct scatter){ tape, map, row ? row : 1, NULL, NULL };
    struct node *node = scatter_deferred(tape, x, rank, shape, scatter);
    if (node) return node;
    node = moved(tape, &scatter_primitive, x, rank, shape, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    node->state = scatter;
    node->relative = node->absolute = 0;
    if (!map_fits(tape, map, x->n / scatter->row, node->n / scatter->row))
        return tape_failure(tape);
    if (!x->integer) {
        scatter_reals(tape, node, x, scatter);
        return node;
    }
    memset(node->integer, 0, node->n * sizeof *node->integer);
    for (size_t i = 0; i < x->n; i++) {
        int64_t j = mapped_element(map, scatter->row, i);
        if (j >= 0)
            node->integer[j] = (int64_t)((uint64_t)node->integer[j] + (uint64_t)x->integer[i]);
    }
    return node;
}

struct node *node_scatter_add(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                              const int64_t *map)
{
    return node_scatter_add_rows(tape, x, rank, shape, 1, map);
}

/* ---- along a dimension --------------------------------------------------------------- */

struct node *node_take_along(struct tape *tape, struct node *x, int dim, struct node *index)
{
    if (tape_failed(tape)) return tape_failure(tape);
    if (x->rank && index->rank != x->rank) {
        tape_fail(tape, STATUS_SKIP, "indices of %d dimensions into a tensor of %d", index->rank,
                  x->rank);
        return tape_failure(tape);
    }
    int64_t *map = tape_allocate(tape, index->n, sizeof *map);
    int64_t stride[TENSOR_MAX_RANK];
    if (!map) return x;
    shape_strides(stride, x->rank, x->shape);
    for (size_t i = 0; i < index->n; i++) {
        size_t rest = i;
        int64_t at = 0;
        for (int d = x->rank - 1; d >= 0; d--) {
            int64_t k = (int64_t)(rest % (size_t)index->shape[d]);
            rest /= (size_t)index->shape[d];
            if (d == dim) {
                k = index->integer[i] < 0 ? index->integer[i] + x->shape[d] : index->integer[i];
                if (k < 0 || k >= x->shape[d]) {
                    tape_fail(tape, STATUS_SKIP,
                              "index %lld is out of range for dimension %d of size %lld",
                              (long long)index->integer[i], d, (long long)x->shape[d]);
                    return tape_failure(tape);
                }
            }
            at += k * stride[d];
        }
        map[i] = x->rank ? at : 0;
    }
    return node_gather(tape, x, index->rank, index->shape, map, 0);
}
