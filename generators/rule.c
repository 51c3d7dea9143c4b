/* Subjects, extents and limits, as rules of every kind need them. */
#include "generators/rule.h"

struct input *rule_subject(const struct generation *generation, const char *name)
{
    const struct value *value = generation_argument(generation, name);
    if (!value || value->kind != VALUE_TENSOR || !value->tensor.tensor) return NULL;
    struct input *input = generation_input(generation, value);
    return input && tensor_elements(input->value->tensor.tensor) > 0 ? input : NULL;
}

int64_t rule_extent(const struct tensor *tensor, int64_t dim)
{
    if (tensor->rank == 0) return 1;
    if (dim < 0) dim += tensor->rank;
    return dim >= 0 && dim < tensor->rank ? tensor->shape[dim] : -1;
}

/* The first tensor of a list with a record at place `i`. */
static const struct tensor_record *record_at(const struct value *list, size_t i)
{
    if (list->kind != VALUE_LIST || i >= list->list.count) return NULL;
    const struct value *value = &list->list.items[i];
    return value->kind == VALUE_TENSOR ? value->tensor.record : NULL;
}

const struct tensor_record *rule_output_record(const struct generation *generation, size_t i)
{
    const struct tensor_record *record = record_at(&generation->api_case->outputs, i);
    if (!record && generation->api_case->has_backward)
        record = record_at(&generation->api_case->cotangents, i);
    return record;
}

void rule_limit_integers(struct generation *generation, struct input *input, int64_t lo, int64_t hi)
{
    struct tensor *tensor = input->value->tensor.tensor;
    int64_t old_lo = input->range.integer_lo, old_hi = input->range.integer_hi;

    if (hi < lo || (old_lo >= lo && old_hi <= hi)) return;
    int64_t first = old_lo > lo ? old_lo : lo, last = old_hi < hi ? old_hi : hi;
    if (first > last) {
        first = lo;
        last = hi;
    }
    struct range range = range_of_integers(tensor->dtype, first, last);
    generation_note(generation, "%s: [%lld, %lld] is not legal for %s; drawn from [%lld, %lld]",
                    input->path, (long long)old_lo, (long long)old_hi, generation->api_case->api,
                    (long long)range.integer_lo, (long long)range.integer_hi);
    generation_refill(input, &range);
}
