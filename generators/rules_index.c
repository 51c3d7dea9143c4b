/* Indices: inside the dimension they index, and unique where two equal ones would write the
 * same place in an order that no device promises. */
#include <assert.h>

#include "core/checked.h"
#include "generators/fill.h"
#include "generators/rules.h"

/* ---- distinct integers -------------------------------------------------------------- */

/* `count` distinct values of [0, size), 1 < count <= size, `step` apart in `out`; 0 comes first
 * and size - 1 last when asked for, so that the recorded Min and Max occur. */
static void draw_distinct(int64_t *out, size_t count, size_t step, uint64_t size, uint64_t key,
                          bool lowest_first, bool highest_last)
{
    assert(count > 1);
    const struct shuffle shuffle = shuffle_create(key, size);
    const int64_t ends[2] = { 0, (int64_t)(size - 1) };
    const size_t places[2] = { 0, count - 1 };
    const bool wanted[2] = { lowest_first, highest_last };

    for (size_t i = 0; i < count; i++) out[i * step] = (int64_t)shuffle_at(&shuffle, i);
    for (int e = 0; e < 2; e++) {
        size_t at = 0;
        if (!wanted[e]) continue;
        while (at < count && out[at * step] != ends[e]) at++;
        if (at < count) out[at * step] = out[places[e] * step];
        out[places[e] * step] = ends[e];
    }
}

/* Make the indices of each line distinct. A line has `length` elements, `inner` apart.
 * Values come from the input's own range, cut to `extent` values, or from all `extent`
 * places when it has too few. */
static struct status make_lines_distinct(struct generation *generation, struct input *input,
                                         size_t length, size_t inner, int64_t extent)
{
    const struct tensor *tensor = input->value->tensor.tensor;
    size_t n = tensor_elements(tensor);
    int64_t *values;

    if (length < 2 || extent < 1) return status_ok();
    if (length > (size_t)extent) {
        generation_note(generation,
                        "%s: %zu indices into %lld places must repeat; the result may depend on "
                        "the order of the writes",
                        input->path, length, (long long)extent);
        return status_ok();
    }
    int64_t lo = input->range.integer_lo, hi = input->range.integer_hi;
    if (hi - lo >= extent) hi = lo + extent - 1; /* -1 and extent - 1 are the same place */
    if ((size_t)(hi - lo) + 1 < length) {
        lo = 0;
        hi = extent - 1;
    }
    TRY(generation_integers(&values, generation, n));
    size_t lines = n / length;
    for (size_t line = 0; line < lines; line++) {
        int64_t *first = values + line / inner * length * inner + line % inner;
        draw_distinct(first, length, inner, (uint64_t)(hi - lo) + 1,
                      fill_key_derive(input->key, line), line == 0, line == lines - 1);
    }
    for (size_t i = 0; i < n; i++) values[i] += lo;
    generation_set_integers(input, values);
    input->range = range_of_integers(tensor->dtype, lo, hi);
    generation_note(generation,
                    "%s: indices drawn without repetition from [%lld, %lld], since equal ones "
                    "would make the result depend on the order of the writes",
                    input->path, (long long)lo, (long long)hi);
    return status_ok();
}

/* ---- one index tensor --------------------------------------------------------------- */

/* How many places the index runs over; -1 when the arguments do not say. */
static int64_t index_extent(const struct generation *generation, const struct rule *rule,
                            const struct tensor *source)
{
    if (rule->flags & INDEX_OF_COUNT) return generation_integer(generation, rule->source, -1);
    if (!source) return -1;
    if (rule->flags & INDEX_OF_ROWS) return rule_extent(source, 0);
    const struct value *dim = generation_argument(generation, "dim");
    bool all = rule->flags & INDEX_OF_ALL || !dim || dim->kind == VALUE_NONE;
    return all ? (int64_t)tensor_elements(source)
               : rule_extent(source, generation_integer(generation, "dim", 0));
}

struct status rule_index(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *source = generation_tensor(generation, rule->source);
    int64_t extent = index_extent(generation, rule, source);

    if (!input || extent < 1) return status_ok();
    const struct tensor *index = input->value->tensor.tensor;
    if (dtype_info(index->dtype)->kind != KIND_INTEGER) return status_ok();
    rule_limit_integers(generation, input, rule->flags & INDEX_WRAPS ? -extent : 0, extent - 1);
    bool unique = rule->flags & INDEX_UNIQUE ||
                  (rule->flags & INDEX_WRITES && !generation_integer(generation, "accumulate", 0));
    return unique ? make_lines_distinct(generation, input, tensor_elements(index), 1, extent)
                  : status_ok();
}

/* scatter writes one source element per index unless it reduces; equal indices along `dim`
 * then fight for a place. A scalar source cannot lose. */
struct status rule_scatter(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *source = generation_tensor(generation, rule->source);
    const struct value *reduce = generation_argument(generation, "reduce");

    TRY(rule_index(generation, rule));
    if (!input || !source || !generation_tensor(generation, "src")) return status_ok();
    if (reduce && reduce->kind == VALUE_STRING) return status_ok();
    const struct tensor *index = input->value->tensor.tensor;
    int64_t dim = generation_integer(generation, "dim", 0);
    if (dim < 0) dim += index->rank;
    if (dim < 0 || dim >= index->rank) return status_ok();
    size_t inner = 1;
    for (int d = (int)dim + 1; d < index->rank; d++) inner *= (size_t)index->shape[d];
    return make_lines_distinct(generation, input, (size_t)index->shape[dim], inner,
                               rule_extent(source, dim));
}

/* Slots of a paged cache (blocks, block size, ...): distinct, since each is written once.
 */
struct status rule_cache_slots(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *cache = generation_tensor(generation, rule->source);
    int64_t slots;

    if (!input || !cache || cache->rank < 2 ||
        dtype_info(input->value->tensor.tensor->dtype)->kind != KIND_INTEGER ||
        __builtin_mul_overflow(cache->shape[0], cache->shape[1], &slots) || slots < 1)
        return status_ok();
    rule_limit_integers(generation, input, 0, slots - 1);
    return make_lines_distinct(generation, input, tensor_elements(input->value->tensor.tensor), 1,
                               slots);
}

/* ---- several index tensors: x[i, j] ------------------------------------------------- */

enum { MAX_INDICES = TENSOR_MAX_RANK };

struct index_list {
    struct input *inputs[MAX_INDICES];
    int64_t extents[MAX_INDICES];
    size_t count;
    bool complete; /* every index that selects was generated and holds integers */
};

/* Dimensions of the source that one item of an index uses up. */
static int dimensions_used(const struct value *item, bool none_is_slice)
{
    switch (item->kind) {
    case VALUE_NONE: return none_is_slice;
    case VALUE_ELLIPSIS: return 0;
    case VALUE_TENSOR:
        return item->tensor.tensor && item->tensor.tensor->dtype == DT_BOOL
                   ? item->tensor.tensor->rank
                   : 1;
    default: return 1;
    }
}

/* Walk an index expression along the dimensions of `source` and collect its integer
 * tensors. */
static void collect_indices(struct index_list *list, const struct generation *generation,
                            const struct value *index, const struct tensor *source,
                            bool none_is_slice)
{
    bool is_list = index->kind == VALUE_LIST;
    const struct value *items = is_list ? index->list.items : index;
    size_t n = is_list ? index->list.count : 1;
    int dim = 0;

    list->count = 0;
    list->complete = true;
    for (size_t i = 0; i < n; i++) {
        const struct value *item = &items[i];
        if (item->kind == VALUE_ELLIPSIS) {
            int after = 0;
            for (size_t k = i + 1; k < n; k++) after += dimensions_used(&items[k], none_is_slice);
            dim = source->rank - after > dim ? source->rank - after : dim;
            continue;
        }
        if (item->kind == VALUE_TENSOR) {
            struct input *input = generation_input(generation, item);
            bool integers = input && input->value->tensor.tensor->dtype != DT_BOOL;
            if (integers && dim < source->rank && list->count < MAX_INDICES) {
                list->inputs[list->count] = input;
                list->extents[list->count++] = source->shape[dim];
            } else {
                list->complete = false;
            }
        }
        dim += dimensions_used(item, none_is_slice);
    }
}

/* Make tuples (i[k], j[k], ...) of equally shaped index tensors distinct: number the boxes
 * of ranges, draw distinct numbers, take them apart. */
static struct status make_tuples_distinct(struct generation *generation,
                                          const struct index_list *list)
{
    size_t n = tensor_elements(list->inputs[0]->value->tensor.tensor), places = 1;
    int64_t lo[MAX_INDICES], *numbers, *values;
    uint64_t widths[MAX_INDICES];

    if (n < 2) return status_ok();
    for (size_t k = 0; k < list->count; k++) {
        const struct range *range = &list->inputs[k]->range;
        if (list->extents[k] < 1) return status_ok();
        lo[k] = range->integer_lo;
        widths[k] = (uint64_t)range->integer_hi - (uint64_t)lo[k] + 1;
        if (widths[k] > (uint64_t)list->extents[k]) widths[k] = (uint64_t)list->extents[k];
        if (!size_multiply(&places, places, widths[k]) || places > INT64_MAX) return status_ok();
    }
    for (size_t k = 0; k < list->count && places < n; k++) {
        if (!size_multiply(&places, places / widths[k], (size_t)list->extents[k]))
            return status_ok();
        widths[k] = (uint64_t)list->extents[k];
        lo[k] = 0;
    }
    if (places < n) {
        generation_note(generation,
                        "%s: %zu index tuples into %zu places must repeat; the result may depend "
                        "on the order of the writes",
                        list->inputs[0]->path, n, places);
        return status_ok();
    }
    TRY(generation_integers(&numbers, generation, n));
    TRY(generation_integers(&values, generation, n));
    draw_distinct(numbers, n, 1, places, fill_key_derive(list->inputs[0]->key, 0), true, true);
    for (size_t k = list->count; k-- > 0;) {
        for (size_t i = 0; i < n; i++) {
            values[i] = lo[k] + (int64_t)((uint64_t)numbers[i] % widths[k]);
            numbers[i] = (int64_t)((uint64_t)numbers[i] / widths[k]);
        }
        generation_set_integers(list->inputs[k], values);
    }
    generation_note(generation,
                    "%s: %s drawn without repetition, since equal ones would make the result "
                    "depend on the order of the writes",
                    list->inputs[0]->path, list->count > 1 ? "index tuples" : "indices");
    return status_ok();
}

static bool same_shapes(const struct index_list *list)
{
    for (size_t k = 1; k < list->count; k++)
        if (!tensor_same_shape(list->inputs[0]->value->tensor.tensor,
                               list->inputs[k]->value->tensor.tensor))
            return false;
    return true;
}

struct status rule_advanced_index(struct generation *generation, const struct rule *rule)
{
    const struct tensor *source = generation_tensor(generation, rule->source);
    const struct value *index = generation_argument(generation, rule->subject);
    struct index_list list;

    if (!index || !source || (index->kind != VALUE_LIST && index->kind != VALUE_TENSOR))
        return status_ok();
    collect_indices(&list, generation, index, source, rule->flags & INDEX_NONE_IS_SLICE);
    for (size_t k = 0; k < list.count; k++)
        if (list.extents[k] > 0)
            rule_limit_integers(generation, list.inputs[k], -list.extents[k], list.extents[k] - 1);
    if (!(rule->flags & INDEX_WRITES) || generation_integer(generation, "accumulate", 0))
        return status_ok();
    const struct tensor *written = generation_tensor(generation, "values");
    if (!written) written = generation_tensor(generation, "value");
    if (!written || tensor_elements(written) < 2 || list.count == 0) return status_ok();
    if (list.complete && same_shapes(&list)) return make_tuples_distinct(generation, &list);
    /* x[i[:, None], j[None, :]]: tuples differ when the entries of each tensor do. */
    for (size_t k = 0; k < list.count; k++) {
        size_t n = tensor_elements(list.inputs[k]->value->tensor.tensor);
        TRY(make_lines_distinct(generation, list.inputs[k], n, 1, list.extents[k]));
    }
    return status_ok();
}

/* Index tuples along the last dimension of one tensor (the scatter_nd family): component k
 * runs over dimension k of the source. */
struct status rule_index_tuples(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *source = generation_tensor(generation, rule->source);

    if (!input || !source) return status_ok();
    const struct tensor *tensor = input->value->tensor.tensor;
    size_t n = tensor_elements(tensor), places = 1;
    size_t depth = tensor->rank ? (size_t)tensor->shape[tensor->rank - 1] : 1;
    size_t count = n / depth;
    int64_t *values;

    if (depth > (size_t)source->rank) return status_ok();
    for (size_t k = 0; k < depth; k++)
        if (!size_multiply(&places, places, (size_t)source->shape[k]) || places > INT64_MAX)
            return status_ok();
    if (places == 0) return status_ok();
    bool unique = rule->flags & INDEX_UNIQUE && places >= count;
    TRY(generation_integers(&values, generation, n));
    const struct shuffle shuffle = shuffle_create(fill_key_derive(input->key, 0), places);
    for (size_t i = 0; i < count; i++) {
        uint64_t number =
            shuffle_at(&shuffle, unique ? i : fill_key_derive(input->key, 1 + i) % places);
        for (size_t k = depth; k-- > 0;) {
            values[i * depth + k] = (int64_t)(number % (uint64_t)source->shape[k]);
            number /= (uint64_t)source->shape[k];
        }
    }
    generation_set_integers(input, values);
    generation_note(generation, "%s: index tuples drawn from the shape of %s%s", input->path,
                    rule->source, unique ? " without repetition" : "");
    return status_ok();
}

/* ---- max_unpool --------------------------------------------------------------------- */

/* Component `i` of an argument that is one integer for all dimensions or a list of them. */
static int64_t argument_at(const struct generation *generation, const char *name, int i,
                           int64_t otherwise)
{
    const struct value *value = generation_argument(generation, name);
    if (!value || value->kind == VALUE_NONE) return otherwise;
    if (value->kind == VALUE_INT) return value->integer;
    if (!value_is_sequence(value) || value->list.count == 0) return otherwise;
    size_t at = value->list.count == 1 ? 0 : (size_t)i;
    if (at >= value->list.count || value->list.items[at].kind != VALUE_INT) return otherwise;
    return value->list.items[at].integer;
}

/* (n - 1) * stride - 2 * padding + kernel; -1 when numbers of the dump overflow it. */
static int64_t unpooled_extent(int64_t n, int64_t stride, int64_t padding, int64_t kernel)
{
    int64_t extent, margin;
    if (__builtin_mul_overflow(n - 1, stride, &extent) ||
        __builtin_mul_overflow(padding, 2, &margin) ||
        __builtin_sub_overflow(extent, margin, &extent) ||
        __builtin_add_overflow(extent, kernel, &extent))
        return -1;
    return extent;
}

/* Elements of one output plane of max_unpool: the last `spatial` extents of the recorded
 * output, else what kernel, stride and padding give; -1 when that makes no sense. */
static int64_t unpooled_plane(const struct generation *generation, const struct tensor *input,
                              int spatial)
{
    const struct tensor_record *output = rule_output_record(generation, 0);
    int64_t plane = 1;

    for (int i = 0; i < spatial; i++) {
        int64_t kernel = argument_at(generation, "kernel_size", i, 1);
        int64_t stride = argument_at(generation, "stride", i, kernel);
        int64_t padding = argument_at(generation, "padding", i, 0);
        int64_t extent =
            unpooled_extent(input->shape[input->rank - spatial + i], stride, padding, kernel);
        if (output && output->rank == input->rank)
            extent = output->shape[output->rank - spatial + i];
        if (extent < 1 || __builtin_mul_overflow(plane, extent, &plane)) return -1;
    }
    return plane;
}

struct status rule_unpool(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const int spatial = (int)rule->lo;

    if (!input) return status_ok();
    const struct tensor *tensor = input->value->tensor.tensor;
    if (tensor->rank < spatial) return status_ok();
    int64_t plane = unpooled_plane(generation, tensor, spatial);
    if (plane < 1) return status_ok();
    rule_limit_integers(generation, input, 0, plane - 1);
    size_t plane_in = 1;
    for (int d = tensor->rank - spatial; d < tensor->rank; d++)
        plane_in *= (size_t)tensor->shape[d];
    return make_lines_distinct(generation, input, plane_in, 1, plane);
}
