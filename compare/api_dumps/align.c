/* Costs are kept for one row; which of the three ways led to a cell, for all of them, in two bits. */
#include "compare/api_dumps/align.h"

#include "core/checked.h"
#include "core/memory.h"

enum way { WAY_MATCH, WAY_BESIDE, WAY_SKIP_A, WAY_SKIP_B };

struct ways {
    unsigned char *bits; /* four cells a byte */
    size_t columns;
};

static void set_way(struct ways *ways, size_t a, size_t b, enum way way)
{
    size_t cell = a * ways->columns + b;
    ways->bits[cell / 4] |= (unsigned char)((unsigned)way << 2 * (cell % 4));
}

static enum way get_way(const struct ways *ways, size_t a, size_t b)
{
    size_t cell = a * ways->columns + b;
    return (enum way)(ways->bits[cell / 4] >> 2 * (cell % 4) & 3);
}

/* Row by row; `above` begins as the row of no items of the first sequence. */
static void fill(struct ways *ways, double *above, size_t n_a, size_t n_b, align_cost *cost,
                 void *context)
{
    for (size_t b = 0; b <= n_b; b++) above[b] = (double)b;
    for (size_t a = 0; a < n_a; a++) {
        double diagonal = above[0]; /* cost of a - 1, b - 1 items */
        above[0] = (double)(a + 1);
        for (size_t b = 0; b < n_b; b++) {
            bool matched;
            double best = diagonal + cost(context, &matched, a, b);
            enum way way = matched ? WAY_MATCH : WAY_BESIDE;
            double skip_a = above[b + 1] + 1, skip_b = above[b] + 1;
            if (skip_a < best) best = skip_a, way = WAY_SKIP_A;
            if (skip_b < best) best = skip_b, way = WAY_SKIP_B;
            diagonal = above[b + 1];
            above[b + 1] = best;
            set_way(ways, a, b, way);
        }
    }
}

/* The pairs on the way back from the end, into the end of `pairs`; how many there are. */
static size_t trace(struct align_pair *pairs, size_t room, const struct ways *ways, size_t n_a,
                    size_t n_b)
{
    size_t at = room;
    while (n_a && n_b) {
        enum way way = get_way(ways, n_a - 1, n_b - 1);
        if (way == WAY_MATCH) pairs[--at] = (struct align_pair){ n_a - 1, n_b - 1 };
        n_a -= way != WAY_SKIP_B;
        n_b -= way != WAY_SKIP_A;
    }
    return room - at;
}

struct status align(struct align_pair **pairs, size_t *count, struct arena *arena, size_t n_a,
                    size_t n_b, align_cost *cost, void *context)
{
    size_t cells, most = n_a < n_b ? n_a : n_b;
    struct ways ways = { .columns = n_b };

    if (!size_multiply(&cells, n_a, n_b) || cells > ALIGN_MAX_CELLS)
        return status_error(STATUS_BAD_INPUT,
                            "%zu and %zu calls without one in common are too many "
                            "to be aligned",
                            n_a, n_b);
    struct align_pair *found = arena_allocate_array(arena, most, sizeof *found);
    double *above = memory_allocate_zeroed(n_b + 1, sizeof *above);
    ways.bits = memory_allocate_zeroed(cells / 4 + 1, 1);
    bool has_memory = found && above && ways.bits;
    if (has_memory) {
        fill(&ways, above, n_a, n_b, cost, context);
        *count = trace(found, most, &ways, n_a, n_b);
        *pairs = found + (most - *count);
    }
    memory_release(above);
    memory_release(ways.bits);
    return has_memory ? status_ok() : status_no_memory(cells / 4);
}
