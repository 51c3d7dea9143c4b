/* Values: inside the domain of a function, of a given sign, sorted, or naming a class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generators/fill.h"
#include "generators/philox.h"
#include "generators/rules.h"

/* ---- domains ------------------------------------------------------------------------ */

static bool intersects(double lo, double hi, const struct rule *rule)
{
    return lo <= rule->hi && hi >= rule->lo;
}

/* Reals or integers between rule->lo and rule->hi (INFINITY: no limit on that side). */
struct status rule_domain(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);

    if (!input) return status_ok();
    enum dtype dtype = input->value->tensor.tensor->dtype;
    if (dtype_info(dtype)->kind == KIND_INTEGER) {
        rule_limit_integers(generation, input, (int64_t)rule->lo,
                            isinf(rule->hi) ? INT64_MAX : (int64_t)rule->hi);
        return status_ok();
    }
    const struct range *old = &input->range;
    if (!dtype_is_float(dtype) || old->constant) return status_ok();
    if (old->lo >= rule->lo && old->hi <= rule->hi) return status_ok();
    double lo = fmax(old->lo, rule->lo), hi = fmin(old->hi, rule->hi);
    if (!intersects(old->lo, old->hi, rule)) {
        lo = rule->lo;
        hi = isinf(rule->hi) ? rule->lo + 1 : rule->hi;
    }
    generation_note(generation,
                    "%s: [%.6g, %.6g] is outside the domain of %s; drawn from "
                    "[%.6g, %.6g]",
                    input->path, old->lo, old->hi, generation->api_case->api, lo, hi);
    struct range range = range_of_reals(dtype, lo, hi);
    generation_refill(input, &range);
    return status_ok();
}

/* The target of kl_div is a density, unless it is given as its logarithm. */
struct status rule_divergence(struct generation *generation, const struct rule *rule)
{
    const struct rule density = { rule_domain, rule->subject, NULL, 0, 0, INFINITY };
    return generation_integer(generation, "log_target", 0) ? status_ok()
                                                           : rule_domain(generation, &density);
}

/* Weights of a draw: not negative, and no row without any. */
struct status rule_weights(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);

    const struct rule density = { rule_domain, rule->subject, NULL, 0, 0, INFINITY };

    TRY(rule_domain(generation, &density));
    if (!input || !dtype_is_float(input->value->tensor.tensor->dtype)) return status_ok();
    struct tensor *tensor = input->value->tensor.tensor;
    size_t n = tensor_elements(tensor), bytes = dtype_info(tensor->dtype)->bytes;
    size_t length = tensor->rank ? (size_t)tensor->shape[tensor->rank - 1] : 1;
    double *row, highest = input->range.hi > 0 ? input->range.hi : 1;
    size_t changed = 0;
    TRY(generation_doubles(&row, generation, length));
    for (size_t i = 0; i < n; i += length) {
        unsigned char *elements = (unsigned char *)tensor->data + i * bytes;
        double sum = 0;
        dtype_to_double(row, elements, tensor->dtype, length);
        for (size_t k = 0; k < length; k++) sum += row[k];
        if (sum > 0) continue;
        dtype_from_double(elements, tensor->dtype, &highest, 1);
        changed++;
    }
    if (changed)
        generation_note(generation, "%s: %zu rows without any weight were given one", input->path,
                        changed);
    return status_ok();
}

/* Targets that are labels -1 and 1, as the recorded range [-1, 1] says. */
struct status rule_signs(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);

    if (!input) return status_ok();
    struct tensor *tensor = input->value->tensor.tensor;
    bool integers = dtype_info(tensor->dtype)->kind == KIND_INTEGER;
    double lo = integers ? (double)input->range.integer_lo : input->range.lo;
    double hi = integers ? (double)input->range.integer_hi : input->range.hi;
    if ((!integers && !dtype_is_float(tensor->dtype)) || lo != -1 || hi != 1) return status_ok();
    size_t n = tensor_elements(tensor), bytes = dtype_info(tensor->dtype)->bytes;
    struct philox draws = philox_open(input->key, STREAM_RULE);
    for (size_t i = 0; i < n; i++) {
        double sign = philox_next(&draws) >> 31 ? 1 : -1;
        if (i == 0 && n > 1) sign = -1;
        if (i == n - 1) sign = 1;
        dtype_from_double((unsigned char *)tensor->data + i * bytes, tensor->dtype, &sign, 1);
    }
    generation_note(generation, "%s: labels -1 and 1, nothing between", input->path);
    return status_ok();
}

/* An integer divisor: zeros become 1 or -1, whichever the recorded range holds. */
struct status rule_nonzero(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    int64_t *values;

    if (!input) return status_ok();
    const struct tensor *tensor = input->value->tensor.tensor;
    const struct tensor *dividend = generation_tensor(generation, rule->source);
    if (dtype_info(tensor->dtype)->kind != KIND_INTEGER || input->range.integer_lo > 0 ||
        input->range.integer_hi < 0 || (dividend && !dtype_is_integral(dividend->dtype)))
        return status_ok();
    size_t n = tensor_elements(tensor);
    int64_t replacement = input->range.integer_hi > 0 || input->range.integer_lo == 0 ? 1 : -1;
    TRY(generation_integers(&values, generation, n));
    dtype_to_int64(values, tensor->data, tensor->dtype, n);
    for (size_t i = 0; i < n; i++)
        if (values[i] == 0) values[i] = replacement;
    generation_set_integers(input, values);
    generation_note(generation, "%s: zero is no integer divisor; zeros replaced by %lld",
                    input->path, (long long)replacement);
    return status_ok();
}

/* div divides integers as integers when it rounds; else as floats, and x / 0 is defined. */
struct status rule_rounded_divisor(struct generation *generation, const struct rule *rule)
{
    const struct value *mode = generation_argument(generation, "rounding_mode");
    return mode && mode->kind == VALUE_STRING ? rule_nonzero(generation, rule) : status_ok();
}

/* A shift count is below the width of what is shifted. */
struct status rule_shift(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *shifted = generation_tensor(generation, rule->source);

    if (!input) return status_ok();
    enum dtype dtype = input->value->tensor.tensor->dtype;
    if (dtype_info(dtype)->kind != KIND_INTEGER) return status_ok();
    size_t bytes = dtype_info(shifted ? shifted->dtype : dtype)->bytes;
    rule_limit_integers(generation, input, 0, (int64_t)bytes * 8 - 1);
    return status_ok();
}

/* ---- sorted rows -------------------------------------------------------------------- */

struct keyed {
    double real;
    int64_t integer;
    int64_t position;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->real != y->real) return x->real < y->real ? -1 : 1;
    if (x->integer != y->integer) return x->integer < y->integer ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

static struct status read_keyed(struct keyed **out, struct generation *generation,
                                const struct tensor *tensor)
{
    size_t n = tensor_elements(tensor), bytes = dtype_info(tensor->dtype)->bytes;
    bool integers = dtype_is_integral(tensor->dtype);

    *out = arena_allocate_array(generation->arena, n, sizeof **out);
    if (!*out) return status_no_memory(n * sizeof **out);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *element = (const unsigned char *)tensor->data + i * bytes;
        (*out)[i] = (struct keyed){ 0 };
        if (integers) dtype_to_int64(&(*out)[i].integer, element, tensor->dtype, 1);
        else dtype_to_double(&(*out)[i].real, element, tensor->dtype, 1);
    }
    return status_ok();
}

/* Sort each row (last dimension) upward. With a "sorter" argument the sequence stays as
 * drawn and the sorter becomes the permutation that sorts it. */
struct status rule_sorted(struct generation *generation, const struct rule *rule)
{
    const struct value *sorter = generation_argument(generation, "sorter");
    const struct value *subject = generation_argument(generation, rule->subject);
    struct input *changed = rule_subject(generation, rule->subject);
    struct keyed *elements;

    if (!subject || subject->kind != VALUE_TENSOR) return status_ok();
    bool has_sorter = sorter && sorter->kind == VALUE_TENSOR;
    if (has_sorter) changed = generation_input(generation, sorter);
    const struct tensor *tensor = subject->tensor.tensor;
    size_t n = tensor_elements(tensor);
    if (!changed || n == 0 || dtype_is_complex(tensor->dtype) || !tensor_is_dense(tensor))
        return status_ok();
    struct tensor *out = changed->value->tensor.tensor;
    if (tensor_elements(out) != n) return status_ok();
    TRY(read_keyed(&elements, generation, tensor));
    size_t length = tensor->rank ? (size_t)tensor->shape[tensor->rank - 1] : 1;
    for (size_t i = 0; i < n; i++) elements[i].position = (int64_t)(i % length);
    for (size_t i = 0; i < n; i += length)
        qsort(elements + i, length, sizeof *elements, compare_keyed);
    for (size_t i = 0; i < n; i++) {
        unsigned char *to = (unsigned char *)out->data + i * dtype_info(out->dtype)->bytes;
        if (has_sorter) dtype_from_int64(to, out->dtype, &elements[i].position, 1);
        else if (dtype_is_integral(out->dtype))
            dtype_from_int64(to, out->dtype, &elements[i].integer, 1);
        else dtype_from_double(to, out->dtype, &elements[i].real, 1);
    }
    generation_note(generation, has_sorter ? "%s: the order that sorts %s" : "%s: sorted",
                    changed->path, rule->subject);
    return status_ok();
}

/* ---- class targets ------------------------------------------------------------------ */

/* Targets are classes of `source`, whose classes lie along dimension 1 (0 for one sample),
 * or the ignored index. The recorded range tells whether that occurred: it is then the Min
 * or the Max and no class. One target in eight is then ignored, and the others are drawn
 * from the classes the record leaves. */
enum { IGNORED_ONE_IN = 8 };

struct status rule_class_targets(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *source = generation_tensor(generation, rule->source);

    if (!input || !source) return status_ok();
    struct tensor *target = input->value->tensor.tensor;
    if (dtype_info(target->dtype)->kind != KIND_INTEGER) return status_ok(); /* probabilities */
    int64_t classes = rule_extent(source, source->rank > 1 ? 1 : 0);
    int64_t ignored = generation_integer(generation, "ignore_index", -100);
    int64_t lo = input->range.integer_lo, hi = input->range.integer_hi;
    bool is_class = ignored >= 0 && ignored < classes;
    bool ignores = !is_class && (lo == ignored || hi == ignored);
    if (classes < 1 || (lo == ignored && hi == ignored)) return status_ok();
    size_t n = tensor_elements(target);
    if (!ignores || n == 1) {
        if (!ignores) rule_limit_integers(generation, input, 0, classes - 1);
        return status_ok();
    }
    int64_t first = lo == ignored || lo < 0 || lo >= classes ? 0 : lo;
    int64_t last = hi == ignored || hi < first || hi >= classes ? classes - 1 : hi;
    struct range range = range_of_integers(target->dtype, first, last);
    generation_refill(input, &range);
    int64_t *values;
    TRY(generation_integers(&values, generation, n));
    dtype_to_int64(values, target->data, target->dtype, n);
    struct philox draws = philox_open(input->key, STREAM_RULE);
    for (size_t i = 0; i < n; i++)
        if (philox_next(&draws) < UINT32_MAX / IGNORED_ONE_IN && i > 0 && i + 1 < n)
            values[i] = ignored;
    values[lo == ignored ? 0 : n - 1] = ignored;
    generation_set_integers(input, values);
    generation_note(generation, "%s: classes from [%lld, %lld], one in %d ignored (%lld)",
                    input->path, (long long)range.integer_lo, (long long)range.integer_hi,
                    IGNORED_ONE_IN, (long long)ignored);
    return status_ok();
}

/* Lists of classes, ended by the first -1. */
struct status rule_label_lists(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *source = generation_tensor(generation, rule->source);

    if (input && source && dtype_info(input->value->tensor.tensor->dtype)->kind == KIND_INTEGER)
        rule_limit_integers(generation, input, -1, rule_extent(source, -1) - 1);
    return status_ok();
}

/* ---- regions of interest ------------------------------------------------------------ */

/* Rows (image, x1, y1, x2, y2): the image exists, corners are in order. */
struct status rule_region_boxes(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *images = generation_tensor(generation, rule->source);

    if (!input || !images) return status_ok();
    struct tensor *tensor = input->value->tensor.tensor;
    int64_t count = rule_extent(images, 0);
    if (!dtype_is_float(tensor->dtype) || tensor->rank != 2 || tensor->shape[1] != 5 || count < 1)
        return status_ok();
    size_t n = tensor_elements(tensor), bytes = dtype_info(tensor->dtype)->bytes;
    struct philox draws = philox_open(input->key, STREAM_RULE);
    for (size_t i = 0; i < n; i += 5) {
        unsigned char *elements = (unsigned char *)tensor->data + i * bytes;
        double row[5];
        dtype_to_double(row, elements, tensor->dtype, 5);
        row[0] = (double)philox_below(&draws, (uint64_t)count);
        for (int k = 1; k <= 2; k++) {
            double low = fmin(row[k], row[k + 2]), high = fmax(row[k], row[k + 2]);
            row[k] = low;
            row[k + 2] = high;
        }
        dtype_from_double(elements, tensor->dtype, row, 5);
    }
    generation_note(generation, "%s: rows are (image, x1, y1, x2, y2) with ordered corners",
                    input->path);
    return status_ok();
}

/* Rows (x, y, width, height, angle): sides are not negative. */
struct status rule_turned_boxes(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    if (!input) return status_ok();
    struct tensor *tensor = input->value->tensor.tensor;
    if (!dtype_is_float(tensor->dtype) || tensor->rank < 2 || tensor->shape[tensor->rank - 1] != 5)
        return status_ok();
    size_t n = tensor_elements(tensor), bytes = dtype_info(tensor->dtype)->bytes;
    for (size_t i = 0; i < n; i += 5) {
        unsigned char *sides = (unsigned char *)tensor->data + (i + 2) * bytes;
        double size[2];
        dtype_to_double(size, sides, tensor->dtype, 2);
        for (int k = 0; k < 2; k++) size[k] = fabs(size[k]);
        dtype_from_double(sides, tensor->dtype, size, 2);
    }
    generation_note(generation,
                    "%s: rows are (x, y, width, height, angle) with sides that are not "
                    "negative",
                    input->path);
    return status_ok();
}
