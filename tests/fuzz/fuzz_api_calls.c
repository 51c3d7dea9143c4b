/* Info files of API dumps, of any bytes: two of them, separated by a record separator. What is read can
 * be matched, every call is in one group, in order, and every value in one pair. */
#include <assert.h>
#include <stdlib.h>

#include "compare/api_dumps/data_pairs.h"
#include "core/memory.h"
#include "fuzz/memory_file.h"

static size_t count_data(const struct api_step *step, bool backward)
{
    size_t count = 0;
    for (size_t i = 0; i < step->count; i++)
        for (int s = 0; s < 2 && !step->calls[i].is_layer; s++)
            count += step->calls[i].data[2 * backward + s].count;
    return count;
}

static void check_pairs(const struct call_groups *groups, const struct api_step *a,
                        const struct api_step *b, bool backward)
{
    struct data_pairs pairs;
    size_t n_a = 0, n_b = 0;
    if (data_pairs_make(&pairs, groups, a, b, (struct data_pair_options){ .backward = backward })
            .code)
        abort();
    for (size_t i = 0; i < pairs.count; i++) {
        const struct data_pair *pair = &pairs.items[i];
        assert(pair->origin || pair->target);
        if (pair->origin && pair->target) assert(pair->origin->shape_id == pair->target->shape_id);
        n_a += pair->origin != NULL;
        n_b += pair->target != NULL;
    }
    assert(n_a == count_data(a, backward) && n_b == count_data(b, backward));
    memory_release(pairs.items);
}

static void check_step(const struct api_step *a, const struct api_step *b,
                       const struct api_vocabulary *vocabulary)
{
    struct arena arena = { 0 };
    struct call_groups groups;
    size_t i = 0, j = 0;

    if (call_match(&groups, &arena, a, b, vocabulary->no_shapes).code) abort();
    for (size_t k = 0; k < groups.count; k++) {
        assert(groups.items[k].origin == i && groups.items[k].target == j);
        i += groups.items[k].n_origin;
        j += groups.items[k].n_target;
    }
    assert(i == a->count && j == b->count);
    check_pairs(&groups, a, b, false);
    check_pairs(&groups, a, b, true);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct api_vocabulary vocabulary;
    struct api_calls calls[2] = { { 0 }, { 0 } };
    static const enum api_framework frameworks[2] = { API_PYTORCH, API_MINDSPORE };
    bool read = true;

    if (api_vocabulary_create(&vocabulary).code) abort();
    for (int side = 0; side < 2; side++) {
        struct part part = next_part(&data, &size);
        struct status status = api_calls_parse(&calls[side], &vocabulary, frameworks[side],
                                               "info.pkl", (const char *)part.data, part.size);
        assert(!status.code || status.text[0]);
        read &= !status.code;
    }
    for (size_t s = 0; read && s < calls[0].n_steps && s < calls[1].n_steps; s++)
        check_step(&calls[0].steps[s], &calls[1].steps[s], &vocabulary);
    api_calls_release(&calls[0]);
    api_calls_release(&calls[1]);
    api_vocabulary_release(&vocabulary);
    return 0;
}
