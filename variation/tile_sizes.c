/* The axes are found on a call with inputs of the recorded extents. An axis after the other gets its new extent, on copies whose elements
 * are repeated, and keeps it if the bench takes the call. Elements that repeat would hide what a kernel exchanges, so in the end only
 * extents are taken over, and inputs are drawn for them as for any call. */
#include "variation/tile_sizes.h"

#include <string.h>

#include "bench/bench.h"
#include "core/checked.h"
#include "generators/fill.h"
#include "variation/axes.h"
#include "variation/leaves.h"
#include "variation/specimen.h"

enum {
    AXES_MOST = 16,
    LEAST_EXTENT = 4,           /* shorter axes are windows, pairs, channels of pictures */
    MOST_INPUT_BYTES = 1 << 23, /* beyond, a call is not varied: every probe evaluates it */
    MOST_WORK =
        1 << 24 /* product of all extents, which bounds the work of products and convolutions */
};

static const int tiles[] = { 256, 128, 64, 32, 16 };
enum { TILES = sizeof tiles / sizeof *tiles };

struct varied {
    struct api_case now; /* with inputs */
    struct arena *scratch;
    struct axis *axes;
    size_t count;
    uint64_t key;
};

/* The product of the extents of all axes when axis k has another one; a number beyond MOST_WORK for all that are larger. */
static int64_t work_with(const struct varied *v, size_t k, int64_t size)
{
    int64_t work = 1;
    for (size_t i = 0; i < v->count && work <= MOST_WORK; i++)
        work *= i == k ? size : v->axes[i].size;
    return work;
}

/* Try one extent. Memory that is short ends it, anything else says that the call has no such extent. */
static struct status try_size(bool *taken, struct varied *v, size_t k, int64_t size)
{
    struct api_case next;
    *taken = false;
    struct status status = specimen_copy(&next, v->scratch, &v->now);
    if (!status.code) status = axis_resize(&next, v->scratch, &v->axes[k], size, SIDE_FRONT);
    if (!status.code) status = specimen_settle(&next, v->scratch);
    if (status.code) return status.code == STATUS_NO_MEMORY ? status : status_ok();
    v->now = next;
    *taken = true;
    return status_ok();
}

/* An extent beside the tile that was drawn for the axis, or beside the largest smaller one that the call can have. */
static struct status vary_axis(bool *taken, struct varied *v, size_t k)
{
    uint64_t random = fill_key_derive(v->key, k);
    size_t first = random % TILES;
    int beside = (int)(random / TILES % 3) - 1;
    *taken = false;
    for (size_t t = first; !*taken && t < TILES; t++) {
        int64_t size = tiles[t] + beside;
        if (size == v->axes[k].size || work_with(v, k, size) > MOST_WORK) continue;
        TRY(try_size(taken, v, k, size));
        if (*taken)
            for (size_t i = 0; i < v->axes[k].slots.count; i++)
                v->axes[k].slots.items[i].size = slot_extent(&v->axes[k].slots.items[i], &v->now);
        if (*taken) v->axes[k].size = size;
    }
    return status_ok();
}

static struct status vary_axes(const char **note, struct varied *v, struct arena *arena)
{
    const char *text = "";
    char name[AXIS_NAME_BYTES];
    for (size_t k = 0; k < v->count; k++) {
        int64_t before = v->axes[k].size;
        bool taken;
        if (before < LEAST_EXTENT) continue;
        TRY(vary_axis(&taken, v, k));
        if (!taken) continue;
        axis_name(name, &v->axes[k], &v->now);
        text = arena_format(arena, "%s%s%s %lld for %lld", text, *text ? ", " : "Sizes: ", name,
                            (long long)v->axes[k].size, (long long)before);
        if (!text) return status_no_memory(0);
    }
    *note = *text ? text : NULL;
    return status_ok();
}

/* The extents of `from`, a copy of `c`, in new records of `c`. */
static struct status take_extents(struct api_case *c, struct arena *arena,
                                  const struct api_case *from)
{
    struct value *value;
    const struct value *other;
    for (size_t k = 0; (value = leaf_find(c, LEAF_TENSOR, k)); k++) {
        struct tensor_record *record = arena_allocate(arena, sizeof *record);
        if (!record) return status_no_memory(sizeof *record);
        other = leaf_find(from, LEAF_TENSOR, k);
        if (!value->tensor.record || !other || !other->tensor.record) continue;
        *record = *value->tensor.record;
        memcpy(record->shape, other->tensor.record->shape, sizeof record->shape);
        value->tensor.record = record;
    }
    for (size_t k = 0; (value = leaf_find(c, LEAF_INTEGER, k)); k++)
        if ((other = leaf_find(from, LEAF_INTEGER, k))) value->integer = other->integer;
    return specimen_copy_value(&c->outputs, arena, &from->outputs);
}

static bool have_same_shape(const struct value *a, const struct value *b)
{
    if (a->kind != VALUE_TENSOR || b->kind != VALUE_TENSOR) return a->kind == b->kind;
    const struct tensor_record *x = a->tensor.record, *y = b->tensor.record;
    return x && y && x->rank == y->rank &&
           !memcmp(x->shape, y->shape, (size_t)x->rank * sizeof x->shape[0]);
}

/* Does the bench take the call with inputs that are drawn for its extents, with results of the same shapes? Those of masks and
 * of indices may have others. */
static bool can_be_drawn(const struct api_case *c, struct arena *scratch,
                         const struct generate_options *options)
{
    struct api_case drawn;
    if (specimen_copy(&drawn, scratch, c).code ||
        generate_inputs(&drawn, NULL, scratch, NULL, options).code ||
        specimen_settle(&drawn, scratch).code)
        return false;
    bool same = drawn.outputs.list.count == c->outputs.list.count;
    for (size_t i = 0; same && i < drawn.outputs.list.count; i++)
        same = have_same_shape(&drawn.outputs.list.items[i], &c->outputs.list.items[i]);
    return same;
}

static struct status vary(struct api_case *c, const char **note, struct arena *arena,
                          struct arena *scratch, const struct generate_options *options)
{
    struct api_case drawn, varied;
    struct varied v = { .scratch = scratch, .key = fill_key(options->seed, c->full_name, "sizes") };
    v.axes = arena_allocate_array(scratch, AXES_MOST, sizeof *v.axes);
    if (!v.axes) return status_no_memory(AXES_MOST * sizeof *v.axes);
    TRY(specimen_copy(&drawn, scratch, c));
    TRY(generate_inputs(&drawn, NULL, scratch, NULL, options));
    TRY(specimen_copy(&v.now, scratch, &drawn));
    TRY(axes_list(v.axes, &v.count, AXES_MOST, &v.now));
    TRY(vary_axes(note, &v, arena));
    if (!*note) return status_ok();
    TRY(specimen_copy(&varied, arena, c));
    TRY(take_extents(&varied, arena, &v.now));
    if (can_be_drawn(&varied, scratch, options)) *c = varied;
    else *note = NULL;
    return status_ok();
}

struct status tile_sizes_apply(struct api_case *c, const char **note, struct arena *arena,
                               const struct generate_options *options)
{
    struct arena scratch = { 0 };
    *note = NULL;
    if (options->source != INPUTS_HARD_SIZES) return status_ok();
    struct status status = status_ok();
    bool large = generate_input_bytes(c) > MOST_INPUT_BYTES;
    if (!large) status = vary(c, note, arena, &scratch, options);
    arena_release(&scratch);
    if (status.code == STATUS_NO_MEMORY) return status;
    if (!*note)
        *note = large ? "Sizes as recorded: the call is too large to be varied"
                      : "Sizes as recorded: the call has no axis that can be varied";
    return status_ok();
}
