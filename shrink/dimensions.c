/* A threshold that bisection found may be one of many: a kernel that is wrong in the tail of a tile
 * fails at 1, and not at 32. Samples tell. */
#include "shrink/dimensions.h"

#include <stdio.h>
#include <string.h>

/* ---- the axes of a call ----------------------------------------------------------------- */

struct status dimensions_list(struct dimensions *out, const struct api_case *c)
{
    static const struct dimension none;
    struct arena arena = { 0 };
    struct axis *axes = arena_allocate_array(&arena, DIMENSIONS_MOST, sizeof *axes);
    out->count = 0;
    struct status status = axes ? axes_list(axes, &out->count, DIMENSIONS_MOST, c)
                                : status_no_memory(DIMENSIONS_MOST * sizeof *axes);
    for (size_t i = 0; i < out->count; i++) {
        struct dimension *dimension = &out->items[i];
        *dimension = none;
        dimension->axis = axes[i];
        axis_name(dimension->name, &dimension->axis, c);
        dimension->from = dimension->to = axes[i].slots.items[0].size;
    }
    arena_release(&arena);
    return status;
}

static void update(struct dimension *dimension, const struct api_case *c)
{
    struct axis *axis = &dimension->axis;
    for (size_t i = 0; i < axis->slots.count; i++)
        axis->slots.items[i].size = slot_extent(&axis->slots.items[i], c);
    if (axis->slots.count) dimension->to = axis->size = axis->slots.items[0].size;
}

void dimensions_update(struct dimensions *dimensions, const struct api_case *c)
{
    for (size_t i = 0; i < dimensions->count; i++) update(&dimensions->items[i], c);
}

static const struct dimension *find_name(const struct dimensions *dimensions, const char *name)
{
    for (size_t i = 0; i < dimensions->count; i++)
        if (!strcmp(dimensions->items[i].name, name)) return &dimensions->items[i];
    return NULL;
}

struct status dimensions_renew(struct dimensions *dimensions, const struct api_case *c)
{
    const struct dimensions before = *dimensions;
    TRY(dimensions_list(dimensions, c));
    for (size_t i = 0; i < dimensions->count; i++) {
        const struct dimension *same = find_name(&before, dimensions->items[i].name);
        if (same) dimensions->items[i].from = same->from;
    }
    for (size_t i = 0; i < before.count && dimensions->count < DIMENSIONS_MOST; i++) {
        if (find_name(dimensions, before.items[i].name)) continue;
        struct dimension *gone = &dimensions->items[dimensions->count++];
        *gone = before.items[i];
        gone->axis.slots.count = 0;
    }
    return status_ok();
}

/* ---- samples ---------------------------------------------------------------------------- */

static void keep_sample(struct dimension *dimension, int64_t size, bool fails)
{
    size_t i = dimension->n_samples++;
    for (; i > 0 && dimension->samples[i - 1].size > size; i--)
        dimension->samples[i] = dimension->samples[i - 1];
    dimension->samples[i].size = size;
    dimension->samples[i].fails = fails;
}

static bool is_sampled(const struct dimension *dimension, int64_t size)
{
    for (size_t i = 0; i < dimension->n_samples; i++)
        if (dimension->samples[i].size == size) return true;
    return size == dimension->to;
}

static struct status sample(struct dimension *dimension, struct search *search, int64_t size)
{
    struct api_case c;
    bool fails, valid;
    if (size < 1 || size > dimension->from || is_sampled(dimension, size) ||
        dimension->n_samples == DIMENSION_SAMPLES || search_is_over(search))
        return status_ok();
    TRY(search_copy(&c, search));
    struct status status = axis_resize(&c, search->trial_arena, &dimension->axis, size, SIDE_FRONT);
    if (status.code == STATUS_SKIP) return status_ok();
    TRY(status);
    TRY(search_ask(&fails, &valid, search, &c));
    if (valid) keep_sample(dimension, size, fails);
    return status_ok();
}

/* The smallest sampled size above the threshold that passes; 0 when all fail. */
static int64_t first_passing(const struct dimension *dimension)
{
    for (size_t i = 0; i < dimension->n_samples; i++)
        if (dimension->samples[i].size > dimension->to && !dimension->samples[i].fails)
            return dimension->samples[i].size;
    return 0;
}

static struct status sample_dimension(struct dimension *dimension, struct search *search)
{
    int64_t to = dimension->to;
    const int64_t around[] = { to - 1, to + 1, dimension->from, to / 2, to + 2, 2 * to, 3 * to };
    size_t n_around = search->slow ? 3 : sizeof around / sizeof *around;
    for (size_t i = 0; i < n_around; i++) TRY(sample(dimension, search, around[i]));
    if (search->slow) return status_ok();
    for (int64_t size = 2; size < dimension->from && dimension->n_samples < 16; size *= 2)
        if (size > to) TRY(sample(dimension, search, size));
    int64_t passing = first_passing(dimension);
    const int64_t tile[] = { passing - 1, passing + 1, 2 * passing, 2 * passing + 1, 3 * passing };
    for (size_t i = 0; passing && i < sizeof tile / sizeof *tile; i++)
        TRY(sample(dimension, search, tile[i]));
    return status_ok();
}

struct status dimensions_sample(struct dimensions *dimensions, struct search *search)
{
    dimensions_update(dimensions, &search->best);
    for (size_t i = 0; i < dimensions->count; i++) {
        struct dimension *dimension = &dimensions->items[i];
        bool is_there = dimension->axis.slots.count > 0;
        if (is_there && dimension->to > 0) TRY(sample_dimension(dimension, search));
    }
    return status_ok();
}

/* ---- sentences -------------------------------------------------------------------------- */

/* Do all samples and the threshold fail exactly where `size % period` is (not) zero? */
static bool follows_period(const struct dimension *dimension, int64_t period,
                           bool fails_at_multiples)
{
    bool at_multiple = dimension->to % period == 0;
    if (at_multiple != fails_at_multiples) return false;
    for (size_t i = 0; i < dimension->n_samples; i++) {
        at_multiple = dimension->samples[i].size % period == 0;
        if (dimension->samples[i].fails != (at_multiple == fails_at_multiples)) return false;
    }
    return true;
}

/* "128", "130, 192 and 256": the sizes that fail or pass on one side of the threshold. */
static void list_sizes(char *out, size_t bytes, const struct dimension *dimension, bool fails,
                       bool above)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < dimension->n_samples && used + 32 < bytes; i++) {
        int64_t size = dimension->samples[i].size;
        if (dimension->samples[i].fails != fails || (size > dimension->to) != above) continue;
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s%lld", used ? ", " : "", (long long)size);
    }
}

/* A list with its verb: "128 passes", "130, 192 fail". */
static const char *told(struct arena *arena, const char *list, const char *one, const char *many)
{
    return *list ? arena_format(arena, "%s %s", list, strchr(list, ',') ? many : one) : "";
}

/* The name without what stands in parentheses behind a letter. */
static const char *short_name(struct arena *arena, const struct dimension *dimension)
{
    const char *name = dimension->name;
    return arena_copy_bytes(arena, name, strcspn(name, "("));
}

/* " (128 passes; 130, 192 fail)" */
static const char *told_samples(struct arena *arena, const struct dimension *dimension, bool above)
{
    char pass[200], fail[200];
    list_sizes(pass, sizeof pass, dimension, false, above);
    list_sizes(fail, sizeof fail, dimension, true, true);
    const char *passes = told(arena, pass, "passes", "pass");
    const char *fails = told(arena, fail, "fails", "fail");
    if (!passes || !fails) return NULL;
    return arena_format(arena, "(%s%s%s)", passes, *passes && *fails ? "; " : "", fails);
}

static bool any_sample(const struct dimension *dimension, bool fails, bool above)
{
    char list[200];
    list_sizes(list, sizeof list, dimension, fails, above);
    return *list != '\0';
}

struct status dimension_sentence(const char **out, struct arena *arena,
                                 const struct dimension *dimension)
{
    long long to = (long long)dimension->to;
    int64_t passing = first_passing(dimension);
    bool monotone = !passing && !any_sample(dimension, true, false);
    *out = NULL;
    if (!any_sample(dimension, true, true) && !passing) return status_ok();
    if (monotone && to == 1) return status_ok();
    const char *name = short_name(arena, dimension);
    const char *samples = told_samples(arena, dimension, !monotone);
    if (!name || !samples) return status_no_memory(0);
    size_t length = strlen(name);
    if (length && name[length - 1] == ' ') length--;
    int n = (int)length;
    if (monotone) *out = arena_format(arena, "fails from %.*s = %lld on %s", n, name, to, samples);
    else if (passing > 1 && follows_period(dimension, passing, false))
        *out = arena_format(arena, "fails unless %.*s is a multiple of %lld %s", n, name,
                            (long long)passing, samples);
    else if (to > 1 && follows_period(dimension, to, true))
        *out =
            arena_format(arena, "fails where %.*s is a multiple of %lld %s", n, name, to, samples);
    else
        *out = arena_format(arena, "fails at %.*s = %lld, but not at every larger one %s", n, name,
                            to, samples);
    return *out ? status_ok() : status_no_memory(0);
}
