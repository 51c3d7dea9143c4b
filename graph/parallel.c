/* Numbers of ranks as numbers with a digit for each dimension. */
#include "graph/parallel.h"

#include <stddef.h>
#include <string.h>

static const char *const dimension_names[PARALLEL_DIMENSIONS] = { "tp", "cp", "ep", "dp", "pp" };

/* Experts are spread over the ranks of data parallelism, so that their dimension takes no ranks of
 * its own. */
unsigned parallel_size(const struct parallel_layout *layout, enum parallel_dimension dimension)
{
    switch (dimension) {
    case PARALLEL_TENSOR: return layout->tp;
    case PARALLEL_PIPELINE: return layout->pp;
    case PARALLEL_DATA: return layout->rank_size / (layout->tp * layout->pp);
    default: return 1;
    }
}

static int dimension_of(const char *text, size_t length)
{
    for (int i = 0; i < PARALLEL_DIMENSIONS; i++)
        if (length == 2 && !memcmp(text, dimension_names[i], 2)) return i;
    return -1;
}

/* The dimensions of an order; false when it names an unknown one or one twice. */
static bool read_order(enum parallel_dimension out[PARALLEL_DIMENSIONS], size_t *count,
                       const char *order)
{
    bool seen[PARALLEL_DIMENSIONS] = { false };
    for (*count = 0;; order++) {
        size_t length = strcspn(order, "-");
        int dimension = dimension_of(order, length);
        if (dimension < 0 || seen[dimension]) return false;
        seen[dimension] = true;
        out[(*count)++] = (enum parallel_dimension)dimension;
        order += length;
        if (!*order) return true;
    }
}

bool parallel_order_is_valid(const struct parallel_layout *layout)
{
    enum parallel_dimension order[PARALLEL_DIMENSIONS];
    bool seen[PARALLEL_DIMENSIONS] = { false };
    size_t count;
    if (!read_order(order, &count, layout->order)) return false;
    for (size_t i = 0; i < count; i++) {
        seen[order[i]] = true;
        bool beside_data = (i > 0 && order[i - 1] == PARALLEL_DATA) ||
                           (i + 1 < count && order[i + 1] == PARALLEL_DATA);
        if (order[i] == PARALLEL_EXPERT && !beside_data) return false;
    }
    for (int i = 0; i < PARALLEL_DIMENSIONS; i++)
        if (!seen[i] && parallel_size(layout, (enum parallel_dimension)i) > 1) return false;
    return true;
}

/* The rank at `in_group` of group `group`: the number of a rank has a digit for each dimension, the
 * first one least; that of `across` is `in_group`, the others are those of `group`. */
unsigned parallel_rank(const struct parallel_layout *layout, enum parallel_dimension across,
                       unsigned group, unsigned in_group)
{
    enum parallel_dimension order[PARALLEL_DIMENSIONS];
    size_t count;
    unsigned rank = 0, stride = 1;
    if (!read_order(order, &count, layout->order)) return 0;
    for (size_t i = 0; i < count; i++) {
        unsigned size = parallel_size(layout, order[i]);
        rank += (order[i] == across ? in_group : group % size) * stride;
        if (order[i] != across) group /= size;
        stride *= size;
    }
    return rank;
}
