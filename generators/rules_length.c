/* Lengths, offsets and counts: numbers that together must add up to the extent of another
 * argument. */
#include <stdlib.h>

#include "generators/fill.h"
#include "generators/philox.h"
#include "generators/rules.h"

/* Split `total` into `count` parts of [lo, hi], lo >= 0, each uniform over what the others leave.
 * False when that is impossible. */
static bool split_total(int64_t *parts, size_t count, int64_t total, int64_t lo, int64_t hi,
                        struct philox *draws)
{
    int64_t least, most, left = total;

    if (count == 0) return total == 0;
    if (hi < lo) return false; /* a record may say anything */
    if (__builtin_mul_overflow((int64_t)count, lo, &least) || least > total) return false;
    if (!__builtin_mul_overflow((int64_t)count, hi, &most) && most < total) return false;
    for (size_t i = 0; i < count; i++) {
        int64_t others = (int64_t)(count - i - 1), low, high;
        if (__builtin_mul_overflow(others, hi, &low)) low = left;
        low = left - low > lo ? left - low : lo;
        high = left - others * lo < hi ? left - others * lo : hi;
        parts[i] = low + (int64_t)philox_below(draws, (uint64_t)(high - low) + 1);
        left -= parts[i];
    }
    /* The first parts have more to choose from than the last: spread that over all places.
     */
    for (size_t i = count - 1; i > 0; i--) {
        size_t k = (size_t)philox_below(draws, i + 1);
        int64_t part = parts[i];
        parts[i] = parts[k];
        parts[k] = part;
    }
    return true;
}

/* The same in the recorded range when that works, else with any parts. */
static bool split_recorded(int64_t *parts, size_t count, int64_t total, const struct range *range,
                           struct philox *draws)
{
    int64_t lo = range->integer_lo > 0 ? range->integer_lo : 0;
    return split_total(parts, count, total, lo, range->integer_hi, draws) ||
           split_total(parts, count, total, 0, total, draws);
}

static bool is_integer_input(const struct input *input)
{
    return input && dtype_info(input->value->tensor.tensor->dtype)->kind == KIND_INTEGER;
}

static int compare_integers(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int compare_descending(const void *a, const void *b) { return compare_integers(b, a); }

/* ---- embedding_bag ------------------------------------------------------------------ */

/* Offsets of bags into a flat list of indices: they start at 0 and never fall; with
 * include_last_offset the last is the end of the list. */
struct status rule_offsets(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *indices = generation_tensor(generation, rule->source);
    int64_t *values;

    if (!is_integer_input(input) || !indices) return status_ok();
    const struct tensor *tensor = input->value->tensor.tensor;
    size_t n = tensor_elements(tensor);
    int64_t end = (int64_t)tensor_elements(indices);
    rule_limit_integers(generation, input, 0, end);
    TRY(generation_integers(&values, generation, n));
    dtype_to_int64(values, tensor->data, tensor->dtype, n);
    qsort(values, n, sizeof *values, compare_integers);
    values[0] = 0;
    if (generation_integer(generation, "include_last_offset", 0) && n > 1) values[n - 1] = end;
    generation_set_integers(input, values);
    generation_note(generation, "%s: offsets sorted, the first 0", input->path);
    return status_ok();
}

/* ---- repeat_interleave -------------------------------------------------------------- */

/* Repeats are not negative and give the extent that was recorded for the output. */
struct status rule_repeats(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor_record *output = rule_output_record(generation, 0);
    const struct value *dim_argument = generation_argument(generation, "dim");
    int64_t *values;

    if (!is_integer_input(input)) return status_ok();
    rule_limit_integers(generation, input, 0, INT64_MAX);
    size_t n = tensor_elements(input->value->tensor.tensor);
    if (!output || n < 2) return status_ok();
    int64_t dim = generation_integer(generation, "dim", 0);
    if (dim < 0) dim += output->rank;
    if (!dim_argument || dim_argument->kind == VALUE_NONE) dim = 0;
    if (dim < 0 || dim >= output->rank) return status_ok();
    TRY(generation_integers(&values, generation, n));
    struct philox draws = philox_open(input->key, STREAM_RULE);
    /* Parts of 0 and more always add up to an extent. */
    (void)split_recorded(values, n, output->shape[dim], &input->range, &draws);
    generation_set_integers(input, values);
    generation_note(generation, "%s: repeats that give the recorded extent of %lld", input->path,
                    (long long)output->shape[dim]);
    return status_ok();
}

/* ---- tensor_split ------------------------------------------------------------------- */

/* Split points that give the recorded pieces, whose gradients have the recorded shapes. */
struct status rule_split_points(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *source = generation_tensor(generation, rule->source);
    int64_t *values, end = 0;

    if (!is_integer_input(input) || !source || input->value->tensor.tensor->rank != 1)
        return status_ok();
    size_t n = tensor_elements(input->value->tensor.tensor);
    int64_t dim = generation_integer(generation, "dim", 0);
    if (dim < 0) dim += source->rank;
    TRY(generation_integers(&values, generation, n));
    for (size_t i = 0; i < n; i++) {
        const struct tensor_record *piece = rule_output_record(generation, i);
        if (!piece || piece->rank != source->rank || dim < 0 || dim >= piece->rank)
            return status_ok();
        values[i] = end += piece->shape[dim];
    }
    generation_set_integers(input, values);
    generation_note(generation, "%s: the split points of the recorded pieces", input->path);
    return status_ok();
}

/* ---- lengths that fill a dimension -------------------------------------------------- */

/* The tensor named by `name`, or the first one of a list of that name. */
static const struct tensor *first_tensor(const struct generation *generation, const char *name)
{
    const struct value *value = generation_argument(generation, name);
    while (value && value->kind == VALUE_LIST && value->list.count) value = value->list.items;
    return value && value->kind == VALUE_TENSOR ? value->tensor.tensor : NULL;
}

/* Lengths of segments that fill `source` along "axis" (default 0); never growing ones with
 * LENGTHS_DESCEND, as the batch sizes of a packed sequence are. (The rows of gru and lstm
 * name their second argument so: for sequences that are not packed it is a float tensor.)
 */
struct status rule_partition(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *source = first_tensor(generation, rule->source);
    int64_t *values;

    if (!is_integer_input(input) || !source) return status_ok();
    size_t n = tensor_elements(input->value->tensor.tensor);
    int64_t total = rule_extent(source, generation_integer(generation, "axis", 0));
    /* The first of a packed sequence is its number of sequences, which the initial state
     * has too: the recorded Max. */
    size_t fixed = rule->flags & LENGTHS_DESCEND ? 1 : 0;
    TRY(generation_integers(&values, generation, n));
    values[0] = input->range.integer_hi;
    if (fixed && (values[0] < 0 || values[0] > total)) return status_ok();
    if (fixed) total -= values[0];
    struct philox draws = philox_open(input->key, STREAM_RULE);
    if (total < 0 || !split_recorded(values + fixed, n - fixed, total, &input->range, &draws))
        return status_ok();
    if (fixed) qsort(values, n, sizeof *values, compare_descending);
    generation_set_integers(input, values);
    generation_note(generation, "%s: lengths that add up to %lld", input->path,
                    (long long)(total + (fixed ? values[0] : 0)));
    return status_ok();
}

/* Running totals of lengths: they never fall and end at the extent of `source`. A recorded
 * Min of 0 with more than one entry means that they start at 0. Group lists of type 1 hold
 * the lengths themselves. */
struct status rule_cumulative(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *source = first_tensor(generation, rule->source);
    int64_t *values;

    if (!is_integer_input(input) || !source) return status_ok();
    if (generation_integer(generation, "group_list_type", 0) == 1)
        return rule_partition(generation, rule);
    size_t n = tensor_elements(input->value->tensor.tensor);
    int64_t total = rule_extent(source, 0);
    size_t start = input->range.integer_lo == 0 && n > 1;
    TRY(generation_integers(&values, generation, n));
    struct philox draws = philox_open(input->key, STREAM_RULE);
    values[0] = 0;
    /* As many parts as there are numbers left, each at least 1 where the total allows that. */
    (void)split_total(values + start, n - start, total, total >= (int64_t)n, total, &draws);
    for (size_t i = 1; i < n; i++) values[i] += values[i - 1];
    generation_set_integers(input, values);
    generation_note(generation, "%s: running totals that end at %lld", input->path,
                    (long long)total);
    return status_ok();
}

/* ---- ctc_loss ----------------------------------------------------------------------- */

struct ctc {
    int64_t frames, classes, blank;
    struct input *targets, *input_lengths, *target_lengths;
};

/* Labels are classes other than the blank; neighbours differ, so that a target of length L
 * fits into L frames. */
static struct status ctc_labels(struct generation *generation, const struct ctc *ctc)
{
    struct input *input = ctc->targets;
    const struct tensor *tensor = input->value->tensor.tensor;
    size_t n = tensor_elements(tensor);
    int64_t *values, previous = ctc->blank;

    rule_limit_integers(generation, input, 0, ctc->classes - 1);
    TRY(generation_integers(&values, generation, n));
    dtype_to_int64(values, tensor->data, tensor->dtype, n);
    for (size_t i = 0; i < n; i++) {
        /* Two values can be forbidden: three steps find a third one when there is one. */
        for (int step = 0; step < 3 && ctc->classes > 1; step++)
            if (values[i] == ctc->blank || (values[i] == previous && ctc->classes > 2))
                values[i] = (values[i] + 1) % ctc->classes;
        previous = values[i];
    }
    generation_set_integers(input, values);
    generation_note(generation, "%s: labels without the blank, neighbours differ", input->path);
    return status_ok();
}

/* Lengths of the targets: padded targets bound each, concatenated ones are used up exactly.
 */
static struct status ctc_target_lengths(struct generation *generation, const struct ctc *ctc,
                                        const struct tensor *targets, int64_t most)
{
    struct input *input = ctc->target_lengths;
    size_t n = tensor_elements(input->value->tensor.tensor);
    int64_t *values, total = (int64_t)tensor_elements(targets);

    if (targets->rank == 2 || n == 1) {
        int64_t extent = rule_extent(targets, -1);
        rule_limit_integers(generation, input, 0, extent < most ? extent : most);
        return status_ok();
    }
    TRY(generation_integers(&values, generation, n));
    int64_t lo = input->range.integer_lo > 0 ? input->range.integer_lo : 0;
    int64_t hi = input->range.integer_hi < most ? input->range.integer_hi : most;
    struct philox draws = philox_open(input->key, STREAM_RULE);
    if (!split_total(values, n, total, lo, hi, &draws) &&
        !split_total(values, n, total, 0, most, &draws))
        return status_ok();
    generation_set_integers(input, values);
    generation_note(generation, "%s: lengths that use up the %lld labels", input->path,
                    (long long)total);
    return status_ok();
}

/* The shortest sequence that an argument of lengths (tensor or list) names. */
static int64_t shortest(const struct generation *generation, const char *name, int64_t otherwise)
{
    const struct value *value = generation_argument(generation, name);
    int64_t least = otherwise;

    if (!value) return otherwise;
    if (value->kind == VALUE_TENSOR && value->tensor.tensor) {
        const struct tensor *tensor = value->tensor.tensor;
        size_t bytes = dtype_info(tensor->dtype)->bytes;
        for (size_t i = 0; tensor_is_dense(tensor) && i < tensor_elements(tensor); i++) {
            int64_t length;
            dtype_to_int64(&length, (const unsigned char *)tensor->data + i * bytes, tensor->dtype,
                           1);
            if (length < least) least = length;
        }
    } else if (value_is_sequence(value)) {
        for (size_t i = 0; i < value->list.count; i++)
            if (value->list.items[i].kind == VALUE_INT && value->list.items[i].integer < least)
                least = value->list.items[i].integer;
    }
    return least;
}

struct status rule_ctc(struct generation *generation, const struct rule *rule)
{
    const struct tensor *scores = generation_tensor(generation, rule->source);
    const struct tensor *targets = generation_tensor(generation, rule->subject);
    struct ctc ctc;

    if (!scores || !targets || scores->rank < 2) return status_ok();
    ctc.frames = rule_extent(scores, 0);
    ctc.classes = rule_extent(scores, -1);
    ctc.blank = generation_integer(generation, "blank", 0);
    ctc.targets = rule_subject(generation, rule->subject);
    ctc.input_lengths = rule_subject(generation, "input_lengths");
    ctc.target_lengths = rule_subject(generation, "target_lengths");
    if (ctc.classes < 1 || ctc.frames < 1) return status_ok();
    if (is_integer_input(ctc.targets)) TRY(ctc_labels(generation, &ctc));
    if (is_integer_input(ctc.input_lengths))
        rule_limit_integers(generation, ctc.input_lengths, 0, ctc.frames);
    if (is_integer_input(ctc.target_lengths))
        TRY(ctc_target_lengths(generation, &ctc, targets,
                               shortest(generation, "input_lengths", ctc.frames)));
    return status_ok();
}
