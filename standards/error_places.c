/* Counts per index of each axis are all that is kept of the elements; ranges, steps and few indices are
 * read from them afterwards. Axes that are too long for that keep first, last and the common
 * divisor of all distances. */
#include "standards/error_places.h"

#include <math.h>
#include <string.h>

#include "core/log_gamma.h"

enum {
    COUNTED_EXTENT = 1 << 16,
    MOST_BLOCKS = 1 << 18, /* of one size */
    SMALLEST_SHIFT = 2,    /* blocks have 4, 8, ..., 128 indices to a side */
};

/* A form has to leave out a quarter of the axis, and to hold nine tenths of the elements. */
static const double widest_share = 0.75, least_inside = 0.9;

struct axis {
    int64_t extent;
    uint64_t *counts; /* elements by index, or NULL */
    int64_t first, last, divisor;
};

struct block_grid {
    unsigned char *marks; /* NULL: not looked at */
    size_t rows, columns, total;
    size_t row_start; /* of the marks of the row in hand */
};

struct error_places {
    size_t off;
    int rank;
    struct axis axes[TENSOR_MAX_RANK], flat;
    int64_t row[TENSOR_MAX_RANK]; /* coordinates of the line along the last axis that is in hand */
    size_t row_first, row_length;
    int wide[2]; /* the last two axes of more than one index; -1: there are not two */
    struct block_grid grids[PLACES_BLOCKS];
};

/* ---- collecting ------------------------------------------------------------------------- */

static struct status open_axis(struct axis *axis, struct arena *arena, int64_t extent)
{
    *axis = (struct axis){ .extent = extent };
    if (extent > COUNTED_EXTENT) return status_ok();
    axis->counts = arena_allocate_zeroed(arena, (size_t)extent, sizeof *axis->counts);
    return axis->counts ? status_ok() : status_no_memory((size_t)extent * sizeof *axis->counts);
}

static size_t round_up(int64_t extent, int shift)
{
    return (size_t)((extent + (INT64_C(1) << shift) - 1) >> shift);
}

/* The blocks of one size, where there are at least two to each side of the matrix. */
static struct status open_grid(struct block_grid *grid, struct arena *arena,
                               const struct error_places *places, int shift)
{
    int64_t rows = places->axes[places->wide[0]].extent,
            columns = places->axes[places->wide[1]].extent;
    size_t matrices = 1;
    for (int d = 0; d < places->wide[0]; d++) matrices *= (size_t)places->axes[d].extent;
    grid->rows = round_up(rows, shift);
    grid->columns = round_up(columns, shift);
    if (grid->rows < 2 || grid->columns < 2 || grid->columns > MOST_BLOCKS / grid->rows ||
        matrices > MOST_BLOCKS / (grid->rows * grid->columns))
        return status_ok();
    grid->total = matrices * grid->rows * grid->columns;
    grid->marks = arena_allocate_zeroed(arena, grid->total, 1);
    return grid->marks ? status_ok() : status_no_memory(grid->total);
}

struct status error_places_open(struct error_places **out, struct arena *arena, int rank,
                                const int64_t *shape)
{
    struct error_places *places = arena_allocate_zeroed(arena, 1, sizeof *places);
    if (!places) return status_no_memory(sizeof *places);
    size_t elements = 1;
    places->rank = rank;
    places->wide[0] = places->wide[1] = -1;
    for (int d = 0; d < rank; d++) {
        TRY(open_axis(&places->axes[d], arena, shape[d]));
        elements *= (size_t)shape[d];
        if (shape[d] < 2) continue;
        places->wide[0] = places->wide[1];
        places->wide[1] = d;
    }
    places->flat.extent = (int64_t)elements;
    places->row_length = rank ? (size_t)shape[rank - 1] : 1;
    places->row_first = SIZE_MAX - places->row_length;
    for (int i = 0; places->wide[0] >= 0 && i < PLACES_BLOCKS; i++)
        TRY(open_grid(&places->grids[i], arena, places, SMALLEST_SHIFT + i));
    *out = places;
    return status_ok();
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* `known` elements came before. */
static void extend(struct axis *axis, int64_t index, size_t known)
{
    if (!known) {
        axis->first = axis->last = index;
        axis->divisor = 0;
        return;
    }
    int64_t distance = index > axis->first ? index - axis->first : axis->first - index;
    if (!axis->divisor || distance % axis->divisor)
        axis->divisor = common_divisor(distance, axis->divisor);
    if (index < axis->first) axis->first = index;
    if (index > axis->last) axis->last = index;
}

/* Where the marks of a line's blocks begin: the matrices of the outer axes lie one behind the other. */
static void move_grids(struct error_places *places)
{
    size_t matrix = 0;
    for (int d = 0; d < places->wide[0]; d++)
        matrix = matrix * (size_t)places->axes[d].extent + (size_t)places->row[d];
    for (int i = 0; i < PLACES_BLOCKS; i++) {
        struct block_grid *grid = &places->grids[i];
        size_t row = (size_t)places->row[places->wide[0]] >> (SMALLEST_SHIFT + i);
        grid->row_start = (matrix * grid->rows + row) * grid->columns;
    }
}

static void move_to_row(struct error_places *places, size_t index)
{
    size_t line = index / places->row_length;
    places->row_first = line * places->row_length;
    for (int d = places->rank - 1; d-- > 0; line /= (size_t)places->axes[d].extent)
        places->row[d] = (int64_t)(line % (size_t)places->axes[d].extent);
    if (places->wide[0] >= 0) move_grids(places);
}

void error_places_add(struct error_places *places, size_t index)
{
    if (index - places->row_first >= places->row_length) move_to_row(places, index);
    if (places->rank) places->row[places->rank - 1] = (int64_t)(index - places->row_first);
    for (int d = 0; d < places->rank; d++) {
        struct axis *axis = &places->axes[d];
        if (axis->counts) axis->counts[places->row[d]]++;
        else extend(axis, places->row[d], places->off);
    }
    extend(&places->flat, (int64_t)index, places->off);
    for (int i = 0; places->wide[0] >= 0 && i < PLACES_BLOCKS; i++) {
        const struct block_grid *grid = &places->grids[i];
        size_t column = (size_t)places->row[places->wide[1]] >> (SMALLEST_SHIFT + i);
        if (grid->marks) grid->marks[grid->row_start + column] = 1;
    }
    places->off++;
}

/* ---- chance ----------------------------------------------------------------------------- */

/* ln of a bound on the probability that `inside` or more of `off` lie in a set of share `f`. */
static double log_tail(size_t inside, size_t off, double f)
{
    double k = (double)off, x = (double)inside / k;
    if (x <= f) return 0;
    double divergence = x * log(x / f);
    if (x < 1) divergence += (1 - x) * log((1 - x) / (1 - f));
    return -k * divergence;
}

/* ln of n over k. */
static double log_choose(double n, double k)
{
    return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1);
}

/* What a form along an axis is up against: how many sets have it, and how much of the axis they are. */
static double log_chance(const struct axis_places *places, size_t off)
{
    double e = (double)places->extent, count = (double)places->count;
    double log_sets = 0;
    switch (places->form) {
    case PLACE_ANYWHERE: return 0;
    case PLACE_RANGE: /* one index, or two ends */
        log_sets = places->count == 1 ? log(e) : log(e * (e + 1) / 2);
        break;
    case PLACE_STEP: /* how wide, which first, which last */
        log_sets = 3 * log(e) - log((double)places->step);
        break;
    case PLACE_FEW: log_sets = log(e) + log_choose(e, count); break;
    }
    return log_sets + log_tail(places->inside, off, count / e);
}

/* Of a step that reaches from end to end there are only as many sets as it is wide. */
static double log_chance_whole_step(const struct axis_places *places, size_t off)
{
    double e = (double)places->extent;
    return log(e) + log((double)places->step) +
           log_tail(places->inside, off, (double)places->count / e);
}

/* ---- the forms of an axis --------------------------------------------------------------- */

static void keep_better(struct axis_places *best, const struct axis_places *candidate)
{
    bool small = (double)candidate->count <= widest_share * (double)candidate->extent;
    if (small && candidate->log_chance < best->log_chance) *best = *candidate;
}

static bool is_whole_step(const struct axis_places *places)
{
    return places->first < places->step && places->last + places->step >= places->extent;
}

static void try_range(struct axis_places *best, struct axis_places candidate, size_t off)
{
    candidate.form = PLACE_RANGE;
    candidate.step = 1;
    candidate.count = candidate.last - candidate.first + 1;
    candidate.log_chance = log_chance(&candidate, off);
    keep_better(best, &candidate);
}

static void try_step(struct axis_places *best, struct axis_places candidate, size_t off)
{
    if (candidate.step < 2) return;
    candidate.form = PLACE_STEP;
    candidate.count = (candidate.last - candidate.first) / candidate.step + 1;
    if (candidate.count < 3) return; /* two indices are a few */
    candidate.log_chance = is_whole_step(&candidate) ? log_chance_whole_step(&candidate, off)
                                                     : log_chance(&candidate, off);
    keep_better(best, &candidate);
}

/* Ranges and steps that hold all elements. */
static void try_span(struct axis_places *best, const struct axis *axis, size_t off)
{
    struct axis_places candidate = { .extent = axis->extent,
                                     .first = axis->first,
                                     .last = axis->last,
                                     .step = axis->divisor,
                                     .inside = off };
    try_range(best, candidate, off);
    try_step(best, candidate, off);
}

/* The indices with at least `least` elements each: the span of them, and they themselves. */
static void try_indices(struct axis_places *best, const struct axis *axis, uint64_t least,
                        size_t off)
{
    struct axis span = { .extent = axis->extent };
    struct axis_places few = { .form = PLACE_FEW, .extent = axis->extent };
    for (int64_t i = 0; i < axis->extent; i++) {
        if (axis->counts[i] < least) continue;
        extend(&span, i, (size_t)few.count);
        if (few.count < PLACES_LISTED) few.listed[few.count] = i;
        few.count++;
        few.inside += axis->counts[i];
    }
    if ((double)few.inside < least_inside * (double)off) return;
    few.first = span.first;
    few.last = span.last;
    few.log_chance = log_chance(&few, off);

    struct axis_places range = few, steps = few;
    range.inside = steps.inside = 0;
    steps.step = span.divisor;
    for (int64_t i = span.first; i <= span.last; i++) {
        range.inside += axis->counts[i];
        if (span.divisor && (i - span.first) % span.divisor == 0) steps.inside += axis->counts[i];
    }
    try_range(best, range, off);
    try_step(best, steps, off);
    keep_better(best, &few);
}

static void find_on_axis(struct axis_places *out, const struct axis *axis, size_t off)
{
    *out = (struct axis_places){ .form = PLACE_ANYWHERE, .extent = axis->extent };
    if (axis->extent < 2) return;
    if (!axis->counts) {
        try_span(out, axis, off);
        return;
    }
    uint64_t most = 0;
    for (int64_t i = 0; i < axis->extent; i++)
        if (axis->counts[i] > most) most = axis->counts[i];
    try_indices(out, axis, 1, off);
    /* A few strays are no reason to say nothing of the rest. */
    if (most >= 8) try_indices(out, axis, most / 4, off);
}

/* ---- all forms -------------------------------------------------------------------------- */

static void find_blocks(struct places_found *out, const struct error_places *places)
{
    for (int i = 0; places->wide[0] >= 0 && i < PLACES_BLOCKS; i++) {
        const struct block_grid *grid = &places->grids[i];
        size_t count = 0;
        if (!grid->marks) continue;
        for (size_t mark = 0; mark < grid->total; mark++) count += grid->marks[mark];
        if ((double)count > widest_share * (double)grid->total) continue;
        int64_t side = INT64_C(1) << (SMALLEST_SHIFT + i);
        double area = (double)side * (double)side * (double)count / (double)places->flat.extent;
        double chance = log((double)grid->total) + log_choose((double)grid->total, (double)count) +
                        log_tail(places->off, places->off, fmin(area, 1));
        if (chance >= out->blocks.log_chance) continue;
        out->blocks.side = side;
        out->blocks.count = count;
        out->blocks.total = grid->total;
        out->blocks.log_chance = chance;
    }
}

/* Forms looked for: on each axis one index, a range, both kinds of steps, a few indices; the first four along
 * the flat index; one for each size of blocks. */
static double log_limit(int rank) { return log(PLACES_CHANCE / (5 * rank + 4 + PLACES_BLOCKS)); }

static void keep_if_no_chance(struct axis_places *places, double limit)
{
    if (places->log_chance > limit)
        *places = (struct axis_places){ .form = PLACE_ANYWHERE, .extent = places->extent };
}

/* Several blocks, unless the axes say more: a single one is told by its rows and columns. */
static bool blocks_say_more(const struct places_found *found, double limit, double of_axes)
{
    return found->blocks.log_chance <= limit && found->blocks.log_chance < of_axes &&
           found->blocks.count > 1;
}

void error_places_find(struct places_found *out, const struct error_places *places)
{
    double limit = log_limit(places->rank), of_axes = 0;
    *out = (struct places_found){ .off = places->off, .rank = places->rank };
    for (int d = 0; d < places->rank; d++)
        out->axes[d] = (struct axis_places){ .extent = places->axes[d].extent };
    out->flat.extent = places->flat.extent;
    if (!places->off) return;
    for (int d = 0; d < places->rank; d++) {
        find_on_axis(&out->axes[d], &places->axes[d], places->off);
        keep_if_no_chance(&out->axes[d], limit);
        of_axes += out->axes[d].log_chance;
    }
    find_blocks(out, places);
    if (blocks_say_more(out, limit, of_axes)) of_axes = out->blocks.log_chance;
    else memset(&out->blocks, 0, sizeof out->blocks);
    if (places->wide[0] >= 0) try_span(&out->flat, &places->flat, places->off);
    if (out->flat.log_chance >= of_axes) out->flat.log_chance = 0;
    keep_if_no_chance(&out->flat, limit);
}
