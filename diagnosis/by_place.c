/* Mistakes that put right values into the wrong places.
 *
 * Where a wrong element came from is looked up: the places at which the reference has its value. Along each axis
 * that gives a table, from which index the elements of an index were taken; the table shows a shift, a
 * swap, a reversal or a repetition. Transpositions, of the whole or within the box that the wrong elements fill, are
 * tried as such.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "diagnosis/hypothesis.h"

/* ---- where values come from ------------------------------------------------------------------------ */

/* The reference's elements in order of their values, for looking one up. */
struct sorted {
    const double *value;
    size_t *index;
    size_t n;
};

static int by_value(const void *a, const void *b, void *context)
{
    const double *value = context;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    if (value[i] != value[j]) return value[i] < value[j] ? -1 : 1;
    return (i > j) - (i < j);
}

static struct status sort_values(struct sorted *out, struct subject *s)
{
    size_t n = 0;
    out->value = s->want;
    out->index = arena_allocate_array(s->arena, s->n, sizeof *out->index);
    if (!out->index) return status_no_memory(s->n * sizeof *out->index);
    for (size_t i = 0; i < s->n; i++)
        if (!isnan(s->want[i])) out->index[n++] = i;
    out->n = n;
    qsort_r(out->index, n, sizeof *out->index, by_value, s->want);
    return status_ok();
}

/* The first place in the order whose value is at least x. */
static size_t first_at_least(const struct sorted *sorted, double x)
{
    size_t low = 0, high = sorted->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted->value[sorted->index[middle]] < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

static int64_t coordinate(const struct subject *s, size_t i, int axis)
{
    return (int64_t)(i / subject_stride(s, axis) % (size_t)s->shape[axis]);
}

/* Index j of axis `axis` from which the value of element i may have come, all other indices staying: -1 when
 * there is none, or more than one that is not i's own. */
static int64_t source_along(const struct subject *s, size_t i, int axis)
{
    size_t stride = subject_stride(s, axis);
    int64_t at = coordinate(s, i, axis), found = -1;
    size_t base = i - (size_t)at * stride;
    for (int64_t k = 0; k < s->shape[axis]; k++) {
        size_t j = base + (size_t)k * stride;
        if (k == at || !(fabs(s->want[j] - s->got[i]) <= s->scale[j])) continue;
        if (found >= 0) return -1;
        found = k;
    }
    return found;
}

/* ---- tables along an axis --------------------------------------------------------------------------- */

/* from[k]: the index whose elements stand at index k; k itself where nothing speaks against it. */
static struct status read_table(int64_t *from, struct subject *s, int axis)
{
    size_t extent = (size_t)s->shape[axis];
    size_t *votes = arena_allocate_zeroed(s->arena, extent, sizeof *votes);
    if (!votes) return status_no_memory(extent * sizeof *votes);
    for (size_t k = 0; k < extent; k++) from[k] = (int64_t)k;
    for (size_t p = 0; p < s->n_probes; p++) {
        size_t i = s->probes[p];
        if (!subject_is_wrong(s, i)) continue;
        int64_t at = coordinate(s, i, axis), source = source_along(s, i, axis);
        if (source < 0) continue;
        /* The most frequent by the vote of Boyer and Moore. */
        if (votes[at] && from[at] == source) votes[at]++;
        else if (!votes[at]) from[at] = source, votes[at] = 1;
        else votes[at]--;
    }
    return status_ok();
}

static const char *axis_name(const struct subject *s, int axis, bool many)
{
    static const char *const names[2][2] = { { "row", "rows" }, { "column", "columns" } };
    if (s->rank == 2) return names[axis][many];
    return many ? "indices" : "index";
}

/* Describe a table and count its parameters; false when it moves nothing. */
static bool describe_table(struct claim *claim, const struct subject *s, const struct hypothesis *h,
                           const int64_t *from, int axis)
{
    int64_t extent = s->shape[axis], moved = 0, shift = 0, target = -1, one = -1;
    bool shifts = true, rolls = true, repeats = true, mirrored = true, swaps = true;
    for (int64_t k = 0; k < extent; k++) {
        if (from[k] == k) continue;
        if (!moved++) shift = from[k] - k, target = from[k], one = k;
        shifts &= from[k] - k == shift;
        rolls &= (from[k] - k - shift) % extent == 0;
        repeats &= from[k] == target;
        mirrored &= from[k] == extent - 1 - k;
        swaps &= from[from[k]] == k;
    }
    if (!moved) return false;
    const char *name = axis_name(s, axis, false), *names = axis_name(s, axis, true);
    char axis_text[32] = "";
    if (s->rank != 2) (void)snprintf(axis_text, sizeof axis_text, " of axis %d", axis);
    double bits = h->bits + bits_of(s->rank), index = bits_of((double)extent);
    if (moved == 1)
        *claim = claim_make("repeated slice", bits + 2 * index, CLAIM_ANY,
                            "%s %lld%s has the values of %s %lld", name, (long long)one, axis_text,
                            name, (long long)target);
    else if (mirrored && moved > 2)
        *claim =
            claim_make("reversed", bits + 1, CLAIM_ANY, "%s%s in reverse order", names, axis_text);
    else if (repeats)
        *claim = claim_make("repeated slice", bits + index, CLAIM_ANY, "%s%s repeat %s %lld", names,
                            axis_text, name, (long long)target);
    else if ((shifts || rolls) && moved > 2)
        *claim = claim_make("shifted", bits + fmin(index, 2 * bits_of(fabs((double)shift) + 1) + 1),
                            CLAIM_ANY, "%s%s hold the values %lld %s%s", names, axis_text,
                            (long long)llabs(shift), shift > 0 ? "further on" : "before",
                            shifts ? "" : ", wrapped around");
    else if (swaps && moved == 2)
        *claim = claim_make("swapped", bits + 2 * index, CLAIM_ANY, "%s %lld and %lld%s swapped",
                            names, (long long)one, (long long)target, axis_text);
    else if (swaps)
        *claim = claim_make("swapped", bits + 2 * index, CLAIM_ANY,
                            "%lld %s%s swapped in pairs, %lld apart", (long long)moved, names,
                            axis_text, (long long)llabs(shift));
    else
        *claim = claim_make("rearranged", bits + (double)moved * index, CLAIM_ANY,
                            "%lld %s%s in another order", (long long)moved, names, axis_text);
    return true;
}

static void guess_from_table(struct subject *s, const int64_t *from, int axis)
{
    size_t stride = subject_stride(s, axis);
    for (size_t i = 0; i < s->n; i++) {
        int64_t at = coordinate(s, i, axis);
        s->guess[i] = s->want[i + (size_t)(from[at] - at) * stride];
    }
}

static struct status moved_along_axes(struct subject *s, const struct hypothesis *h)
{
    for (int axis = 0; axis < s->rank; axis++) {
        struct claim claim;
        size_t extent = (size_t)s->shape[axis];
        if (extent < 2 || !subject_spend(s, (double)s->n_probes * (double)extent)) continue;
        int64_t *from = arena_allocate_array(s->arena, extent, sizeof *from);
        if (!from) return status_no_memory(extent * sizeof *from);
        TRY(read_table(from, s, axis));
        if (!describe_table(&claim, s, h, from, axis)) continue;
        guess_from_table(s, from, axis);
        TRY(subject_offer(s, &claim, s->guess));
    }
    return status_ok();
}

/* A shift by some elements along an axis or in memory, of all elements or of some, with what enters at the
 * edge repeated: the last right one, zero, or the other end. */
enum edge { EDGE_KEPT, EDGE_ZERO, EDGE_ROUND, EDGES };

struct shift {
    int64_t step, extent;
    size_t stride;
    enum edge edge;
};

static double predict_shifted(const struct subject *s, const void *context, size_t i)
{
    const struct shift *shift = context;
    int64_t extent = shift->extent;
    int64_t at = (int64_t)(i / shift->stride % (size_t)extent), from = at + shift->step;
    bool outside = from < 0 || from >= extent;
    if (outside && shift->edge == EDGE_ZERO) return 0;
    if (outside && shift->edge == EDGE_KEPT) from = shift->step < 0 ? 0 : extent - 1;
    if (outside && shift->edge == EDGE_ROUND) from = (from % extent + extent) % extent;
    return s->want[i + (size_t)(from - at) * shift->stride];
}

static struct status shifted(struct subject *s, const struct hypothesis *h)
{
    static const int64_t steps[] = { 1, 2, 4, 8, 16, 32, 64 };
    for (int axis = -1; axis < s->rank; axis++)
        for (size_t k = 0; k < 2 * sizeof steps / sizeof *steps; k++)
            for (int edge = 0; edge < EDGES; edge++) {
                const size_t size = k / 2;
                int64_t step = k & 1 ? -steps[size] : steps[size];
                int64_t extent = axis < 0 ? (int64_t)s->n : s->shape[axis];
                if (llabs(step) >= extent || (axis < 0 && s->rank < 2)) continue;
                const struct shift shift = { step, extent, axis < 0 ? 1 : subject_stride(s, axis),
                                             (enum edge)edge };
                char along[48] = " in memory";
                if (axis >= 0) (void)snprintf(along, sizeof along, " along axis %d", axis);
                if (axis >= 0 && s->rank == 1) along[0] = '\0';
                struct claim claim = claim_make(h->class, h->bits + 4 + (double)size, CLAIM_ANY,
                                                "values from %lld element%s %s%s",
                                                (long long)llabs(step), llabs(step) == 1 ? "" : "s",
                                                step > 0 ? "further on" : "before", along);
                TRY(subject_offer_each(s, &claim, predict_shifted, &shift));
            }
    return status_ok();
}

/* ---- transpositions ------------------------------------------------------------------------------------ */

static struct status transposed(struct subject *s, const struct hypothesis *h)
{
    for (int a = 0; a < s->rank; a++)
        for (int b = a + 1; b < s->rank; b++) {
            size_t sa = subject_stride(s, a), sb = subject_stride(s, b);
            if (s->shape[a] != s->shape[b] || s->shape[a] < 2) continue;
            for (size_t i = 0; i < s->n; i++) {
                size_t ka = (size_t)coordinate(s, i, a), kb = (size_t)coordinate(s, i, b);
                s->guess[i] = s->want[i - ka * sa - kb * sb + kb * sa + ka * sb];
            }
            struct claim claim =
                claim_make(h->class, h->bits + 1, CLAIM_ANY, "axes %d and %d exchanged", a, b);
            TRY(subject_offer(s, &claim, s->guess));
        }
    return status_ok();
}

/* Written in the memory order of the transposed result. */
static struct status other_memory_order(struct subject *s, const struct hypothesis *h)
{
    if (s->rank < 2) return status_ok();
    size_t columns = (size_t)s->shape[s->rank - 1], rows = (size_t)s->shape[s->rank - 2];
    size_t matrix = rows * columns;
    if (rows < 2 || columns < 2) return status_ok();
    for (size_t i = 0; i < s->n; i++) {
        size_t at = i % matrix, row = at % rows, column = at / rows;
        s->guess[i] = s->want[i - at + row * columns + column];
    }
    struct claim claim = claim_make(h->class, h->bits + 2, CLAIM_ANY,
                                    "result written in the memory order of its transpose");
    return subject_offer(s, &claim, s->guess);
}

struct box {
    int64_t low[TENSOR_MAX_RANK], high[TENSOR_MAX_RANK];
};

static void box_of_wrong(struct box *box, const struct subject *s)
{
    for (int d = 0; d < s->rank; d++) box->low[d] = s->shape[d], box->high[d] = -1;
    for (size_t i = 0; i < s->n; i++)
        for (int d = 0; subject_is_wrong(s, i) && d < s->rank; d++) {
            int64_t k = coordinate(s, i, d);
            if (k < box->low[d]) box->low[d] = k;
            if (k > box->high[d]) box->high[d] = k;
        }
}

/* Within the square of the last two axes that begins at `low`: transposed, in all planes of the box. */
static void guess_block(struct subject *s, const struct box *box, int64_t row, int64_t column,
                        int64_t side)
{
    int a = s->rank - 2, b = s->rank - 1;
    size_t sa = subject_stride(s, a);
    for (size_t i = 0; i < s->n; i++) {
        int64_t r = coordinate(s, i, a) - row, c = coordinate(s, i, b) - column;
        bool inside = r >= 0 && r < side && c >= 0 && c < side;
        for (int d = 0; inside && d < a; d++) {
            int64_t k = coordinate(s, i, d);
            inside = k >= box->low[d] && k <= box->high[d];
        }
        s->guess[i] = inside ? s->want[i + (size_t)((c - r) * (int64_t)sa) + (size_t)(r - c)]
                             : s->want[i];
    }
}

/* A square block transposed: the diagonal stays, so the wrong elements fill the square but for two corners. */
static struct status block_transposed(struct subject *s, const struct hypothesis *h)
{
    struct box box;
    if (s->rank < 2) return status_ok();
    box_of_wrong(&box, s);
    int a = s->rank - 2, b = s->rank - 1;
    int64_t rows = box.high[a] - box.low[a] + 1, columns = box.high[b] - box.low[b] + 1;
    int64_t side = rows > columns ? rows : columns;
    if (side < 2 || box.low[a] + side > s->shape[a] || box.low[b] + side > s->shape[b])
        return status_ok();
    guess_block(s, &box, box.low[a], box.low[b], side);
    struct claim claim = claim_make(h->class, h->bits + 2 * bits_of((double)s->n), CLAIM_WHOLE,
                                    "block of %lld x %lld from [%lld, %lld] on transposed",
                                    (long long)side, (long long)side, (long long)box.low[a],
                                    (long long)box.low[b]);
    return subject_offer(s, &claim, s->guess);
}

/* ---- any place ---------------------------------------------------------------------------------------- */

/* Values of the reference, each somewhere else. */
static struct status rearranged(struct subject *s, const struct hypothesis *h)
{
    struct sorted sorted = { NULL, NULL, 0 };
    if (s->wrong < 4 || dtype_is_integral(s->dtype)) return status_ok();
    if (!subject_spend(s, 32 * (double)s->n)) return status_ok();
    TRY(sort_values(&sorted, s));
    size_t found = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t at = subject_is_wrong(s, i) ? first_at_least(&sorted, s->got[i]) : sorted.n;
        bool here = at < sorted.n && s->want[sorted.index[at]] == s->got[i];
        s->guess[i] = here ? s->got[i] : s->want[i];
        found += here;
    }
    struct claim claim = claim_make(h->class, h->bits + (double)found * bits_of((double)s->n),
                                    CLAIM_ANY, "right values in wrong places");
    return subject_offer(s, &claim, s->guess);
}

/* clang-format off */
const struct hypothesis place_hypotheses[] = {
    { "moved",       4, moved_along_axes },
    { "shifted",     4, shifted },
    { "transposed",  2, transposed },
    { "transposed",  2, other_memory_order },
    { "transposed",  3, block_transposed },
    { "rearranged",  6, rearranged },
    { .class = NULL },
};
/* clang-format on */
