/* Masks: as many elements true as the shapes of other arguments and recorded results need,
 * and attention masks that leave every query something to attend to. */
#include <string.h>

#include "generators/fill.h"
#include "generators/rules.h"

/* ---- number of true elements -------------------------------------------------------- */

static size_t count_true(const struct tensor *mask)
{
    const unsigned char *elements = mask->data;
    size_t n = tensor_elements(mask), count = 0;
    for (size_t i = 0; i < n; i++) count += elements[i] != 0;
    return count;
}

/* Exactly `count` elements true, anywhere. */
static void set_true_count(struct generation *generation, struct input *input, size_t count,
                           const char *why)
{
    struct tensor *mask = input->value->tensor.tensor;
    unsigned char *elements = mask->data;
    size_t n = tensor_elements(mask);

    if (count > n || count_true(mask) == count) return;
    const struct shuffle shuffle = shuffle_create(fill_key_derive(input->key, 0), n);
    for (size_t i = 0; i < n; i++) elements[i] = shuffle_at(&shuffle, i) < count;
    generation_note(generation, "%s: %zu of %zu elements are true, as %s needs", input->path, count,
                    n, why);
}

/* Elements of the common shape two tensors broadcast to; 0 when they do not. */
static size_t broadcast_elements(const struct tensor *a, const struct tensor *b)
{
    size_t n = 1;
    for (int i = 1; i <= a->rank || i <= b->rank; i++) {
        int64_t x = i <= a->rank ? a->shape[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->shape[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1) return 0;
        if (__builtin_mul_overflow(n, (size_t)(x == 1 ? y : x), &n)) return 0;
    }
    return n;
}

/* masked_select(input, mask) gives as many elements as the recorded result has;
 * masked_scatter(input, mask, source) takes at most as many as `source` has. */
struct status rule_mask_count(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *masked = generation_tensor(generation, "input");
    const struct tensor *source = rule->source ? generation_tensor(generation, rule->source) : NULL;
    const struct tensor_record *output = rule_output_record(generation, 0);

    if (!input || !masked || input->value->tensor.tensor->dtype != DT_BOOL) return status_ok();
    const struct tensor *mask = input->value->tensor.tensor;
    size_t n = tensor_elements(mask), whole = broadcast_elements(masked, mask);
    if (whole < n) return status_ok(); /* 0: no common shape */
    size_t copies = whole / n;
    if (source) {
        size_t most = tensor_elements(source) / copies;
        if (count_true(mask) > most) set_true_count(generation, input, most, rule->source);
    } else if (!rule->source && output && output->rank == 1) {
        set_true_count(generation, input, (size_t)output->shape[0] / copies, "the recorded result");
    }
    return status_ok();
}

/* The only tensor of an index expression when it is a generated mask; `before` counts the
 * dimensions of the result in front of those it selects, `used` those of the source. */
static struct input *only_mask(const struct generation *generation, const struct value *index,
                               int *before, int *used)
{
    bool is_list = index->kind == VALUE_LIST;
    const struct value *items = is_list ? index->list.items : index;
    size_t n = is_list ? index->list.count : 1;
    struct input *mask = NULL;

    *before = *used = 0;
    for (size_t i = 0; i < n; i++) {
        if (items[i].kind == VALUE_TENSOR) {
            if (mask) return NULL;
            mask = generation_input(generation, &items[i]);
            if (!mask || mask->value->tensor.tensor->dtype != DT_BOOL) return NULL;
            *used += mask->value->tensor.tensor->rank;
        } else if (items[i].kind == VALUE_SLICE) {
            *before += !mask;
            ++*used;
        } else {
            return NULL;
        }
    }
    return mask;
}

/* x[mask] has the recorded shape; x[mask] = value takes the value's shape. */
struct status rule_mask_index(struct generation *generation, const struct rule *rule)
{
    const struct value *index = generation_argument(generation, rule->subject);
    const struct tensor *source = generation_tensor(generation, rule->source);
    const struct tensor_record *output = rule_output_record(generation, 0);
    int before, used;

    if (!source || !index || (index->kind != VALUE_LIST && index->kind != VALUE_TENSOR))
        return status_ok();
    struct input *mask = only_mask(generation, index, &before, &used);
    if (!mask || source->rank < used || tensor_elements(mask->value->tensor.tensor) == 0)
        return status_ok();
    if (!(rule->flags & INDEX_WRITES)) {
        if (output && output->rank > before)
            set_true_count(generation, mask, (size_t)output->shape[before], "the recorded result");
        return status_ok();
    }
    const struct tensor *value = generation_tensor(generation, "values");
    if (!value) value = generation_tensor(generation, "value");
    /* Dimensions behind the selected one: those of the source that the mask leaves over. */
    int behind = source->rank - mask->value->tensor.tensor->rank - before;
    if (!value || value->rank <= behind || value->shape[value->rank - behind - 1] == 1)
        return status_ok();
    set_true_count(generation, mask, (size_t)value->shape[value->rank - behind - 1],
                   "the assigned value");
    return status_ok();
}

/* ---- attention masks ---------------------------------------------------------------- */

/* A query whose keys are all masked has no defined softmax: it gets one key, that on the
 * diagonal. */
struct status rule_open_rows(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);

    if (!input) return status_ok();
    const struct tensor *mask = input->value->tensor.tensor;
    if ((mask->dtype != DT_BOOL && mask->dtype != DT_U8) || mask->rank < 1) return status_ok();
    unsigned char *elements = mask->data, open = rule->flags & MASK_TRUE_IS_OPEN ? 1 : 0;
    size_t n = tensor_elements(mask), length = (size_t)mask->shape[mask->rank - 1], opened = 0;
    for (size_t row = 0; row < n / length; row++) {
        unsigned char *keys = elements + row * length;
        bool any = false;
        for (size_t k = 0; k < length; k++) any |= (keys[k] != 0) == (open != 0);
        if (any) continue;
        keys[row % length] = open;
        opened++;
    }
    if (opened)
        generation_note(generation, "%s: %zu rows that masked every key were given one",
                        input->path, opened);
    return status_ok();
}

/* Sparse modes 2, 3 and 4 of npu_fusion_attention take one compressed mask, the same for
 * all: 2048 x 2048, ones strictly above the diagonal, whatever shape was recorded. */
struct status rule_triangular_mask(struct generation *generation, const struct rule *rule)
{
    static const int64_t shape[2] = { 2048, 2048 };
    struct input *input = rule_subject(generation, rule->subject);
    int64_t mode = generation_integer(generation, "sparse_mode", 0);

    if (!input) return status_ok();
    if (mode < 2 || mode > 4) return rule_open_rows(generation, rule);
    struct tensor *mask = input->value->tensor.tensor;
    TRY(tensor_create(mask, generation->arena, DT_BOOL, 2, shape));
    unsigned char *row = mask->data;
    for (size_t i = 0; i < 2048; i++, row += 2048) {
        memset(row, 0, i + 1);
        memset(row + i + 1, 1, 2048 - i - 1);
    }
    generation_note(generation, "%s: the compressed causal mask of sparse_mode %lld, (2048, 2048)",
                    input->path, (long long)mode);
    return status_ok();
}
