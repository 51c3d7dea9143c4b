/* Pairs by edit distance over shapes; an unequal pair costs more than leaving both out. */
#include "compare/api_dumps/data_pairs.h"

#include "compare/api_dumps/align.h"
#include "core/growing.h"
#include "core/memory.h"

/* The calls of one side of a group. */
struct side {
    const struct api_call *calls;
    size_t count;
};

struct pairing {
    struct data_pairs *out;
    struct data_pair_options options;
    struct arena arena; /* for one alignment */
};

static struct status add_pair(struct pairing *pairing, const struct api_data *origin,
                              const struct api_data *target)
{
    struct data_pairs *out = pairing->out;

    if (pairing->options.ignore_unmatched && (!origin || !target)) return status_ok();
    TRY(array_make_room(&out->items, &out->room, out->count, sizeof *out->items));
    out->items[out->count++] = (struct data_pair){ origin, target };
    return status_ok();
}

/* Inputs or outputs of a call in the direction that is asked for; none where a module begins. */
static const struct api_data_list *data_of(const struct pairing *pairing,
                                           const struct api_call *call, bool outputs)
{
    static const struct api_data_list none = { 0 };
    int section = (pairing->options.backward ? BACKWARD_INPUT : FORWARD_INPUT) + outputs;
    return call && !call->is_layer ? &call->data[section] : &none;
}

struct lists {
    const struct api_data_list *origin, *target;
};

static double shape_cost(void *context, bool *matched, size_t a, size_t b)
{
    enum { REPLACE = 5 }; /* dearer than leaving both out: never done */
    const struct lists *lists = context;
    *matched = lists->origin->items[a].shape_id == lists->target->items[b].shape_id;
    return *matched ? 0 : REPLACE;
}

/* Pair two lists by their shapes; what has no partner stands where it is in the order. */
static struct status pair_lists(struct pairing *pairing, const struct api_data_list *origin,
                                const struct api_data_list *target)
{
    struct lists lists = { origin, target };
    struct align_pair *pairs = NULL;
    size_t n_pairs = 0, i = 0, j = 0;

    arena_reset(&pairing->arena);
    if (origin->count && target->count)
        TRY(align(&pairs, &n_pairs, &pairing->arena, origin->count, target->count, shape_cost,
                  &lists));
    for (size_t k = 0; k <= n_pairs; k++) {
        size_t origin_end = k < n_pairs ? pairs[k].a : origin->count;
        size_t target_end = k < n_pairs ? pairs[k].b : target->count;
        while (i < origin_end) TRY(add_pair(pairing, &origin->items[i++], NULL));
        while (j < target_end) TRY(add_pair(pairing, NULL, &target->items[j++]));
        if (k < n_pairs) TRY(add_pair(pairing, &origin->items[i++], &target->items[j++]));
    }
    return status_ok();
}

static struct status add_alone(struct pairing *pairing, const struct api_data_list *list,
                               bool is_origin)
{
    for (size_t i = 0; i < list->count; i++)
        TRY(add_pair(pairing, is_origin ? &list->items[i] : NULL,
                     is_origin ? NULL : &list->items[i]));
    return status_ok();
}

/* What passes between the calls of a group. */
static struct status add_inner(struct pairing *pairing, const struct side sides[2])
{
    for (int s = 0; s < 2; s++)
        if (sides[s].count > 1)
            TRY(add_alone(pairing, data_of(pairing, &sides[s].calls[0], true), s == 0));
    for (int s = 0; s < 2; s++)
        for (size_t i = 1; i + 1 < sides[s].count; i++) {
            TRY(add_alone(pairing, data_of(pairing, &sides[s].calls[i], false), s == 0));
            TRY(add_alone(pairing, data_of(pairing, &sides[s].calls[i], true), s == 0));
        }
    for (int s = 0; s < 2; s++)
        if (sides[s].count > 1)
            TRY(add_alone(pairing, data_of(pairing, &sides[s].calls[sides[s].count - 1], false),
                          s == 0));
    return status_ok();
}

static struct status pair_group(struct pairing *pairing, const struct side sides[2])
{
    const struct api_call *first[2], *last[2];
    for (int s = 0; s < 2; s++) {
        first[s] = sides[s].count ? &sides[s].calls[0] : NULL;
        last[s] = sides[s].count ? &sides[s].calls[sides[s].count - 1] : NULL;
    }
    TRY(pair_lists(pairing, data_of(pairing, first[0], false), data_of(pairing, first[1], false)));
    TRY(add_inner(pairing, sides));
    return pair_lists(pairing, data_of(pairing, last[0], true), data_of(pairing, last[1], true));
}

static void reverse(struct data_pairs *pairs)
{
    for (size_t i = 0, j = pairs->count; i + 1 < j; i++) {
        struct data_pair pair = pairs->items[i];
        pairs->items[i] = pairs->items[--j];
        pairs->items[j] = pair;
    }
}

struct status data_pairs_make(struct data_pairs *out, const struct call_groups *groups,
                              const struct api_step *origin, const struct api_step *target,
                              struct data_pair_options options)
{
    struct pairing pairing = { .out = out, .options = options };
    struct status status = status_ok();

    *out = (struct data_pairs){ 0 };
    for (size_t i = 0; !status.code && i < groups->count; i++) {
        const struct call_group *group = &groups->items[i];
        const struct side sides[2] = { { origin->calls + group->origin, group->n_origin },
                                       { target->calls + group->target, group->n_target } };
        status = pair_group(&pairing, sides);
    }
    arena_release(&pairing.arena);
    if (options.backward) reverse(out);
    return status;
}
