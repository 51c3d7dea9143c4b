/* A fixed time for the call, a time for each element, and a time for each unit of the work that its class
 * is about (runner/cost_classes.h). */
#include "runner/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "core/growing.h"
#include "core/memory.h"
#include "runner/cost_classes.h"

enum { OPERANDS = 3 }; /* tensor arguments whose shapes decide */

/* Measured on calls of 64 elements. */
static const double forward_s = 22e-6, backward_s = 30e-6, skipped_s = 12e-6,
                    stored_tensor_s = 8e-6;
/* Of what both directions take. */
static const double forward_share = 0.45;
static const double nanosecond = 1e-9;
/* Masks fill with the least finite number, or with -10,000. */
static const double saturating = -1000;

const char *cost_factor_name(enum cost_factor factor)
{
    static const char *const names[COST_FACTORS] = { "call", "element", "product" };
    return names[factor];
}

struct cost_model cost_model_built_in(void) { return (struct cost_model){ { 1, 1, 1 } }; }

/* ---- the class of a call ---------------------------------------------------------------- */

struct status cost_estimator_open(struct cost_estimator *out, const struct cost_model *model)
{
    *out = (struct cost_estimator){ .model = *model };
    return text_table_create(&out->apis);
}

void cost_estimator_close(struct cost_estimator *estimator)
{
    if (estimator->apis.slots) text_table_release(&estimator->apis);
    memory_release(estimator->classes);
    arena_release(&estimator->arena);
    *estimator = (struct cost_estimator){ .capacity = 0 };
}

static const struct cost_class *find_class(const struct api_case *c)
{
    struct op_match match;
    return op_find(&match, c->type, c->api, NULL) ? cost_class_of(match.op) : NULL;
}

/* What cannot be remembered is looked up again. */
static const struct cost_class *class_of(struct cost_estimator *estimator, const struct api_case *c)
{
    char name[256];
    uint32_t number;
    bool added = false;
    int length = snprintf(name, sizeof name, "%s.%s", c->type, c->api);
    if (length < 0 || (size_t)length >= sizeof name ||
        array_make_room(&estimator->classes, &estimator->capacity, estimator->apis.count,
                        sizeof *estimator->classes)
            .code ||
        text_table_add(&number, &added, &estimator->apis, name, (size_t)length).code)
        return find_class(c);
    if (added) estimator->classes[number] = find_class(c);
    return estimator->classes[number];
}

/* ---- sizes ------------------------------------------------------------------------------ */

/* The tensors of a call. Sizes are doubles: what a dump says may be anything, and nothing overflows. */
struct sizes {
    const struct tensor_record *operands[OPERANDS]; /* the first tensor arguments, or NULL */
    size_t n_operands;
    double arguments, results; /* elements */
    double largest;            /* argument */
    size_t stored;             /* tensors in files */
    bool narrow, is_float;
    bool saturates; /* an argument reaches so far down that most exponentials are 0 */
};

static double elements_of(const struct tensor_record *record)
{
    double n = 1;
    for (int i = 0; i < record->rank; i++) n *= (double)record->shape[i];
    return n;
}

static void note_argument(struct sizes *sizes, const struct tensor_record *record)
{
    const double n = elements_of(record);
    const enum dtype dtype = record->dtype;
    sizes->arguments += n;
    sizes->largest = fmax(sizes->largest, n);
    /* Random elements of such a range leave one in a row; stored ones are those that a mask left. */
    sizes->saturates |= !record->data_name && record->min.kind == STATISTIC_NUMBER &&
                        isfinite(record->min.number) && record->min.number < saturating;
    if (sizes->n_operands < OPERANDS) sizes->operands[sizes->n_operands++] = record;
    if (sizes->is_float || dtype == DT_NONE || !dtype_is_float(dtype)) return;
    sizes->is_float = true;
    sizes->narrow = dtype_info(dtype)->bytes < 4;
}

static void note_tensors(struct sizes *sizes, const struct value *value, bool is_argument)
{
    if (value->kind == VALUE_TENSOR && value->tensor.record) {
        const struct tensor_record *record = value->tensor.record;
        sizes->stored += record->data_name != NULL;
        if (is_argument) note_argument(sizes, record);
        else sizes->results += elements_of(record);
    }
    for (size_t i = 0; value_is_sequence(value) && i < value->list.count; i++)
        note_tensors(sizes, &value->list.items[i], is_argument);
}

static double extent(const struct tensor_record *record, int axis)
{
    if (!record || axis < -record->rank || axis >= record->rank) return 1;
    return fmax(1, (double)record->shape[axis < 0 ? axis + record->rank : axis]);
}

static double size_of(const struct tensor_record *record)
{
    return record ? elements_of(record) : 0;
}

/* ---- results that are not recorded ------------------------------------------------------ */

/* Rows of one, columns of the other, once for each matrix of a batch. */
static double product_results(const struct tensor_record *a, const struct tensor_record *b)
{
    double inner = extent(a, -1), batch = 1;
    for (int axis = 0; b && axis < b->rank - 2; axis++) batch *= extent(b, axis);
    return size_of(a) / inner * fmax(1, size_of(b) / inner / batch);
}

static double expected_results(const struct sizes *sizes, enum cost_work work)
{
    const struct tensor_record *const *t = sizes->operands;
    switch (work) {
    case WORK_INNER: return product_results(t[0], t[1]);
    case WORK_ADDED_INNER: return product_results(t[1], t[2]);
    case WORK_TAPS: return size_of(t[0]) / extent(t[0], 1) * extent(t[1], 0);
    case WORK_SPREAD_TAPS: return size_of(t[0]) / extent(t[0], 1) * extent(t[1], 1);
    default: return sizes->largest;
    }
}

/* ---- work ------------------------------------------------------------------------------- */

/* Each query meets each key; the longest dimension of the keys but the last is their number. */
static double scores(const struct sizes *sizes)
{
    const struct tensor_record *query = sizes->operands[0], *key = sizes->operands[1];
    double keys = 1;
    for (int axis = 0; key && axis < key->rank - 1; axis++) keys = fmax(keys, extent(key, axis));
    return size_of(query) / extent(query, -1) * keys;
}

/* Dropout in evaluation, or with probability 0, draws nothing. */
static bool drops(const struct api_case *c)
{
    const struct value *args = c->args.list.items;
    const size_t count = c->args.list.count;
    const struct value *p = count > 1 ? &args[1] : value_find(&c->kwargs, "p");
    const struct value *training = count > 2 ? &args[2] : value_find(&c->kwargs, "training");
    if (p && p->kind == VALUE_FLOAT && p->real == 0) return false;
    return !training || training->kind != VALUE_BOOL || training->boolean;
}

static double units_of_work(const struct sizes *sizes, enum cost_work work,
                            const struct api_case *c)
{
    const double elements = sizes->arguments + sizes->results;
    const struct tensor_record *const *t = sizes->operands;
    switch (work) {
    case WORK_INNER: return sizes->results * extent(t[0], -1);
    case WORK_ADDED_INNER: return sizes->results * extent(t[1], -1);
    case WORK_CONTRACTION: return sqrt(size_of(t[0]) * fmax(1, size_of(t[1])) * sizes->results);
    case WORK_TAPS: return sizes->results * size_of(t[1]) / extent(t[1], 0);
    case WORK_SPREAD_TAPS: return size_of(t[0]) * size_of(t[1]) / extent(t[1], 0);
    case WORK_STEPS: return size_of(t[0]) / extent(t[0], -1) * (sizes->arguments - size_of(t[0]));
    case WORK_SCORES: return scores(sizes);
    case WORK_PAIRS: return size_of(t[0]) * extent(t[1] ? t[1] : t[0], -2);
    case WORK_CUBE: return size_of(t[0]) * extent(t[0], -1);
    case WORK_DROPS: return drops(c) ? elements : 0;
    case WORK_EXTREMES: return sizes->saturates ? sqrt(elements) : 0;
    default: return 0;
    }
}

/* ---- the call --------------------------------------------------------------------------- */

/* What BLAS does; all other work is done an element at a time. */
static bool is_product(enum cost_work work) { return work >= WORK_INNER && work <= WORK_STEPS; }

static struct cost_parts parts_of(const struct cost_class *class, const struct api_case *c)
{
    struct sizes sizes = { .n_operands = 0 };
    note_tensors(&sizes, &c->args, true);
    note_tensors(&sizes, &c->kwargs, true);
    note_tensors(&sizes, &c->outputs, false);
    if (sizes.results <= 0) sizes.results = expected_results(&sizes, class->work);
    double share = (c->has_backward ? 1 : forward_share) * nanosecond;
    const double elements = sizes.arguments + sizes.results;
    double elements_ns = elements * (sizes.narrow ? class->narrow_ns : class->wide_ns);
    if (sizes.narrow) elements_ns += sqrt(elements) * class->narrow_root_ns;
    struct cost_parts parts = {
        .seconds = {
            [COST_CALL] = forward_s + (c->has_backward ? backward_s : 0) +
                          (double)sizes.stored * stored_tensor_s,
            [COST_ELEMENT] = elements_ns * share,
        },
    };
    parts.seconds[is_product(class->work) ? COST_PRODUCT : COST_ELEMENT] +=
        units_of_work(&sizes, class->work, c) * class->work_ns * share;
    return parts;
}

struct cost_parts cost_of_call(struct cost_estimator *estimator, const struct api_case *c)
{
    struct api_case translated;
    struct cost_parts parts = { .seconds = { [COST_CALL] = skipped_s } };
    struct status status = bench_translate(&translated, &estimator->arena, c);
    const struct cost_class *class = status.code ? NULL : class_of(estimator, &translated);
    if (class) parts = parts_of(class, &translated);
    arena_reset(&estimator->arena);
    return parts;
}

double cost_call_seconds(struct cost_estimator *estimator, const struct api_case *c)
{
    const struct cost_parts parts = cost_of_call(estimator, c);
    double seconds = 0;
    for (int i = 0; i < COST_FACTORS; i++)
        seconds += estimator->model.factors[i] * parts.seconds[i];
    /* A dump can claim tensors of any size; no call may outweigh the sum of all others in float. */
    return fmin(seconds, 1e9);
}

double cost_skipped_seconds(const struct cost_model *model)
{
    return model->factors[COST_CALL] * skipped_s;
}
