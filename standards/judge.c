/* From an output and its reference to a row of the details file.
 *
 * The order of questions is that of the pre-check: is there a reference, are both sides of one
 * kind and shape, and then, for numbers, the standard's columns and the chain of decisions.
 */
#include "standards/judge.h"

#include <math.h>
#include <string.h>

#include "standards/judge_distances.h"
#include "standards/judge_refine.h"
#include "standards/judge_row.h"
#include "standards/judge_strict.h"

/* ---- rows without a comparison ------------------------------------------------------------ */

struct status judge_without_comparison(struct judged *out, struct arena *arena,
                                       const struct judge_request *request, enum verdict verdict,
                                       const char *message)
{
    struct row row;
    row_open(&row, out, arena, request);
    char *copy = arena_copy_string(arena, message);
    if (copy) row.message = copy;
    else row.no_memory = true;
    return row_close(&row, verdict);
}

static void row_put_types(struct row *row, enum dtype bench, const struct tensor *got)
{
    char shape[TENSOR_MAX_RANK * 24];
    shape_format(shape, sizeof shape, got->rank, got->shape);
    row_put(row, COLUMN_BENCH_DTYPE, row_dtype_name(row, bench));
    row_put(row, COLUMN_DEVICE_DTYPE, row_dtype_name(row, got->dtype));
    row_put(row, COLUMN_SHAPE, shape);
}

/* ---- the columns of the standards --------------------------------------------------------- */

static void put_absolute(struct row *row, const struct peer_metrics *m)
{
    row_put_ratio(row, COLUMN_INF_NAN_RATIO, m->inf_nan_ratio, m->non_finite_count);
    row_put_ratio(row, COLUMN_RELATIVE_ERROR_RATIO, m->relative_error_ratio, m->normal_count);
    row_put_ratio(row, COLUMN_ABSOLUTE_ERROR_RATIO, m->small_value_ratio, m->small_count);
}

static void put_benchmark(struct row *row, const struct peer_metrics *m)
{
    row_put_ratio(row, COLUMN_SMALL_VALUE_RATIO, m->small_value_ratio, m->small_count);
    row_put_fixed(row, COLUMN_RMSE, m->rmse);
    row_put_fixed(row, COLUMN_ERROR_BALANCE, m->error_balance);
    if (m->normal_count) {
        enum dtype type = m->relative_dtype == DT_NONE ? row->work : m->relative_dtype;
        row_put_typed(row, COLUMN_MAX_RELATIVE_ERROR, m->max_relative_error, type);
        row_put_typed(row, COLUMN_MEAN_RELATIVE_ERROR, m->mean_relative_error, type);
    } else {
        row_put(row, COLUMN_MAX_RELATIVE_ERROR, "0");
        row_put(row, COLUMN_MEAN_RELATIVE_ERROR, "0");
    }
}

static void put_binary(struct row *row, const struct peer_metrics *m)
{
    row_put_fixed(row, COLUMN_BINARY_MISMATCH, m->binary_mismatch);
}

static void put_ulp(struct row *row, const struct peer_metrics *m)
{
    enum dtype work = row->device == DT_F32 ? DT_F64 : row->work;
    row_put_typed(row, COLUMN_MAX_ULP, m->max_ulp, work);
    row_put_typed(row, COLUMN_MEAN_ULP, m->mean_ulp, work);
    row_put_fixed(row, COLUMN_ULP_PROPORTION, m->ulp_proportion);
}

static void put_thousandth(struct row *row, const struct peer_metrics *m)
{
    row_put_fixed(row, COLUMN_THOUSANDTH, m->within_thousandth);
}

static void put_accumulative(struct row *row, const struct peer_metrics *m)
{
    put_absolute(row, m);
    row_put_fixed(row, COLUMN_ERROR_BALANCE, m->error_balance);
}

static void put_nothing(struct row *row, const struct peer_metrics *m)
{
    (void)row;
    (void)m;
}

static void (*const put_columns[STANDARD_COUNT])(struct row *, const struct peer_metrics *) = {
    [STANDARD_NONE] = put_nothing,
    [STANDARD_ABSOLUTE] = put_absolute,
    [STANDARD_BENCHMARK] = put_benchmark,
    [STANDARD_BINARY] = put_binary,
    [STANDARD_ULP] = put_ulp,
    [STANDARD_THOUSANDTH] = put_thousandth,
    [STANDARD_ACCUMULATIVE] = put_accumulative,
    [STANDARD_ERROR_MODEL] = put_nothing,
};

/* ---- the chain of a floating output ------------------------------------------------------- */

static bool cosine_holds(struct row *row, const struct peer_metrics *m)
{
    double limit = row_limit(row, LIMIT_COSINE);
    bool holds = m->cosine_kind == COSINE_SCALAR || m->cosine_kind == COSINE_BOTH_ZERO ||
                 (m->cosine_kind == COSINE_VALUE && m->cosine > limit) ||
                 (m->cosine_kind == COSINE_NAN &&
                  !profile_rules(row->request->profile)->cosine_nan_is_error);
    row_note(row, "cosine", m->cosine, limit, holds);
    return holds;
}

static void say_cosine(struct row *row, const struct metrics *metrics)
{
    static const char *const sentences[] = {
        [COSINE_VALUE] = "",
        [COSINE_SCALAR] = ("All the data in device dump data is scalar. Please refer to other "
                           "compare algorithms."),
        [COSINE_BOTH_ZERO] = "All the data in device and bench outputs are zero.",
        [COSINE_GOT_ZERO] = "All the data is zero in device dump data.",
        [COSINE_WANT_ZERO] = "All the data is zero in bench dump data.",
        [COSINE_NAN] = "Dump data has NaN when comparing with Cosine Similarity.",
    };
    enum cosine_kind kind = metrics->peer.cosine_kind;

    if (kind == COSINE_BOTH_ZERO && metrics->agreed == metrics->n)
        row_say(row, "All the data in device and bench outputs are equal infinities or NaN.\n");
    else row_say(row, "%s\n", sentences[kind]);
    if (kind == COSINE_VALUE) row_put_fixed(row, COLUMN_COSINE, metrics->peer.cosine);
    if (kind == COSINE_NAN) row_put(row, COLUMN_COSINE, "nan");
}

/* Is the share of elements within `limit` large enough? Prints it in `column`. */
static bool share_holds(struct row *row, enum details_column column, const char *metric,
                        double share, double limit)
{
    bool holds = share > 1 - limit;
    row_put_fixed(row, column, share);
    row_note(row, metric, share, 1 - limit, holds);
    return holds;
}

static enum verdict half_precision_chain(struct row *row, const struct peer_metrics *m)
{
    double coarse = row_limit(row, LIMIT_HUNDREDTH), fine = row_limit(row, LIMIT_THOUSANDTH);

    if (!share_holds(row, COLUMN_HUNDREDTH, "hundredth", m->within_hundredth, coarse)) {
        row_say(row,
                "Relative error is greater than %g, consider as error, skip other check "
                "and set to SPACE.\n",
                coarse);
        return VERDICT_ERROR;
    }
    if (!share_holds(row, COLUMN_THOUSANDTH, "thousandth", m->within_thousandth, fine)) {
        row_say(row,
                "Relative error is greater than %g, consider as warning, skip other check "
                "and set to SPACE.\n",
                fine);
        return VERDICT_WARNING;
    }
    row_say(row,
            "Relative error is less than %g, consider as pass, skip other check and set "
            "to SPACE.\n",
            fine);
    return VERDICT_PASS;
}

/* Both shares are printed, also when the first decides. */
static enum verdict full_precision_chain(struct row *row, const struct peer_metrics *m)
{
    double coarse = row_limit(row, LIMIT_THOUSANDTH), fine = row_limit(row, LIMIT_TEN_THOUSANDTH);
    bool fine_holds =
        share_holds(row, COLUMN_TEN_THOUSANDTH, "ten_thousandth", m->within_ten_thousandth, fine);

    if (!share_holds(row, COLUMN_THOUSANDTH, "thousandth", m->within_thousandth, coarse)) {
        row_say(row,
                "Relative error is greater than %g, consider as error, skip other check "
                "and set to SPACE.\n",
                coarse);
        return VERDICT_ERROR;
    }
    if (!fine_holds) {
        row_say(row,
                "Relative error is greater than %g, consider as warning, skip other check "
                "and set to SPACE.\n",
                fine);
        return VERDICT_WARNING;
    }
    row_say(row, "Relative error is less than %g, consider as pass.\n", fine);
    return VERDICT_PASS;
}

/* The 8-bit formats have 2 or 3 fraction bits, so no relative threshold of the other chains can
 * hold. What rounding explains is an error of one unit. */
static enum verdict float8_chain(struct row *row, const struct peer_metrics *m)
{
    double limit = row_limit(row, LIMIT_FLOAT8_PROPORTION);
    bool holds = m->ulp_proportion <= limit;

    row_note(row, "ulp_proportion", m->ulp_proportion, limit, holds);
    row_say(row,
            holds ? "ULP proportion is within %g, consider as pass.\n"
                  : "ULP proportion is greater than %g, consider as error.\n",
            limit);
    return holds ? VERDICT_PASS : VERDICT_ERROR;
}

static enum verdict run_chain(struct row *row, const struct metrics *metrics)
{
    const struct peer_metrics *m = &metrics->peer;
    double cosine_limit = row_limit(row, LIMIT_COSINE);
    double abs_limit = row_limit(row, LIMIT_MAX_ABS_ERROR);

    say_cosine(row, metrics);
    if (!cosine_holds(row, m)) {
        row_say(row,
                "Cosine similarity is less than %g, consider as error, skip other check "
                "and set to SPACE.\n",
                cosine_limit);
        return VERDICT_ERROR;
    }
    row_put_typed(row, COLUMN_MAX_ABS_ERROR, m->max_abs_error, row->work);
    if (m->max_abs_error < abs_limit) {
        row_note(row, "max_abs_error", m->max_abs_error, abs_limit, true);
        row_say(row,
                "Max abs error is less than %g, consider as pass, skip other check and "
                "set to SPACE.\n",
                abs_limit);
        return VERDICT_PASS;
    }
    switch (row->device) {
    case DT_F16:
    case DT_BF16: return half_precision_chain(row, m);
    case DT_F8E4M3:
    case DT_F8E5M2: return float8_chain(row, m);
    default: return full_precision_chain(row, m);
    }
}

/* All columns of the chain, for a verdict that does not walk it. */
static void put_chain(struct row *row, const struct peer_metrics *m)
{
    if (m->cosine_kind == COSINE_VALUE) row_put_fixed(row, COLUMN_COSINE, m->cosine);
    if (m->cosine_kind == COSINE_NAN) row_put(row, COLUMN_COSINE, "nan");
    row_put_typed(row, COLUMN_MAX_ABS_ERROR, m->max_abs_error, row->work);
    row_put_fixed(row, COLUMN_HUNDREDTH, m->within_hundredth);
    row_put_fixed(row, COLUMN_THOUSANDTH, m->within_thousandth);
    row_put_fixed(row, COLUMN_TEN_THOUSANDTH, m->within_ten_thousandth);
}

/* ---- floating and complex outputs --------------------------------------------------------- */

static double epsilon_of(enum dtype bench, enum dtype device)
{
    if (device == DT_BF16) return 0x1p-8;
    return ldexp(1, 1 - dtype_info(metrics_component_dtype(bench))->significand_bits);
}

static struct metrics_parameters parameters_of(const struct row *row, enum standard standard)
{
    struct metrics_parameters p = {
        .bench_epsilon = epsilon_of(row->request->bench_dtype, row->device),
        .small_value = row_limit(row, LIMIT_SMALL_VALUE),
        .small_value_atol = row_limit(row, standard == STANDARD_ABSOLUTE
                                               ? LIMIT_ABSOLUTE_SMALL_VALUE_ATOL
                                               : LIMIT_BENCHMARK_SMALL_VALUE_ATOL),
        .relative_tolerance = row_limit(row, LIMIT_RELATIVE_TOLERANCE),
        .ulp_limit = row_limit(row, LIMIT_ULP_COUNTED),
        .within = { row_limit(row, LIMIT_HUNDREDTH), row_limit(row, LIMIT_THOUSANDTH),
                    row_limit(row, LIMIT_TEN_THOUSANDTH) },
    };
    if (standard == STANDARD_ACCUMULATIVE) {
        p.small_value = row_limit(row, LIMIT_ACCUMULATIVE_SMALL_VALUE);
        p.small_value_atol = p.relative_tolerance = row_limit(row, LIMIT_ACCUMULATIVE_BOUND);
    }
    return p;
}

static struct status judge_floating(struct row *row, struct reference *want,
                                    const struct tensor *got)
{
    const struct judge_request *request = row->request;
    struct metrics *metrics = &row->out->metrics;

    row->device = metrics_component_dtype(got->dtype);
    row->work = metrics_work_dtype(request->bench_dtype, got->dtype);
    struct profile_selection selection =
        profile_select(request->profile, request->c->api, row->device, request->input_dtype);
    struct metrics_parameters parameters = parameters_of(row, selection.standard);
    bool refined;
    metrics_compute(metrics, got, want, &parameters, METRICS_BEST, request->c->help);
    TRY(row_refine(row, want, got, &parameters, &refined));
    if (refined) metrics_compute(metrics, got, want, &parameters, METRICS_BEST, request->c->help);
    if (refined && metrics->bound_ulp <= 0x1p-10) want->state = REFERENCE_CERTIFIED;
    row->out->has_metrics = true;
    row->out->reference_state = want->state;
    row->out->recomputed = want->recomputed;
    row->out->standard = standard_name(selection.standard);
    if (profile_rules(request->profile)->numpy_arithmetic)
        TRY(metrics_compute_numpy(&metrics->peer, got, want, request->bench_dtype, &parameters));

    if (!selection.supported && !profile_rules(request->profile)->error_model)
        row_say(row, "The data type %s is not supported for new precision standard.",
                dtype_info(got->dtype)->name);
    put_columns[selection.standard](row, &metrics->peer);
    if (selection.also_thousandth) put_thousandth(row, &metrics->peer);
    if (!profile_rules(request->profile)->error_model)
        return row_close(row, run_chain(row, metrics));
    enum verdict verdict;
    put_chain(row, &metrics->peer);
    TRY(judge_by_model(row, &verdict, want, got));
    return row_close(row, verdict);
}

/* ---- integers and bools ------------------------------------------------------------------- */

static struct status judge_integers(struct row *row, const struct reference *want,
                                    const struct tensor *got)
{
    const struct judge_request *request = row->request;
    double distance, limit = row_limit(row, LIMIT_INTEGER_MAX_ABS_ERROR);
    double mismatch = metrics_integer_mismatch(got, want, &distance);
    struct profile_selection selection =
        profile_select(request->profile, request->c->api, got->dtype, request->input_dtype);

    if (selection.integer_by_distance && dtype_info(got->dtype)->kind == KIND_INTEGER) {
        bool holds = distance <= limit;
        row->out->standard = "integer distance";
        row_note(row, "max_abs_error", distance, limit, holds);
        row_put_fixed(row, COLUMN_MAX_ABS_ERROR, distance);
        row_say(row,
                holds ? "Max abs error is not greater than %g, consider as pass.\n"
                      : "Max abs error is greater than %g, consider as error.\n",
                limit);
        return row_close(row, holds ? VERDICT_PASS : VERDICT_ERROR);
    }
    row->out->standard = standard_name(STANDARD_BINARY);
    row_note(row, "binary_mismatch", mismatch, 0, mismatch == 0);
    row_put_fixed(row, COLUMN_BINARY_MISMATCH, mismatch);
    /* The profile's sentence has one %s, checked when it was loaded. */
    const char *sentence = profile_rules(request->profile)->integer_message;
    const char *place = strstr(sentence, "%s");
    row_say(row, "%.*s%s%s\n", (int)(place - sentence), sentence, dtype_short_name(got->dtype),
            place + 2);
    return row_close(row, mismatch == 0 ? VERDICT_PASS : VERDICT_ERROR);
}

/* ---- tensors ------------------------------------------------------------------------------ */

/* Classes within which dtypes are compared; 0 for those that a profile does not compare. */
static int comparable_class(const struct profile_rules *rules, enum dtype dtype)
{
    enum { NOT_COMPARED, FLOATING, BOOLEAN, INTEGER, COMPLEX };
    switch (dtype_info(dtype)->kind) {
    case KIND_FLOAT: return FLOATING;
    case KIND_BOOL: return BOOLEAN;
    case KIND_COMPLEX: return rules->complex_numbers ? COMPLEX : NOT_COMPARED;
    default: break;
    }
    if (dtype == DT_U8) return BOOLEAN;
    if (dtype == DT_I8 || dtype == DT_I16) return rules->every_integer ? INTEGER : NOT_COMPARED;
    return INTEGER;
}

static bool same_shape(const struct reference *want, const struct tensor *got)
{
    if (want->rank != got->rank) return false;
    for (int i = 0; i < want->rank; i++)
        if (want->shape[i] != got->shape[i]) return false;
    return true;
}

static struct status shapes_differ(struct row *row, const struct reference *want,
                                   const struct tensor *got)
{
    char want_shape[TENSOR_MAX_RANK * 24], got_shape[TENSOR_MAX_RANK * 24];
    shape_format(want_shape, sizeof want_shape, want->rank, want->shape);
    shape_format(got_shape, sizeof got_shape, got->rank, got->shape);
    row_note(row, "shape", 1, 0, false);
    row_say(row, "The shape of bench%s and npu%s not equal.", want_shape, got_shape);
    return row_close(row, VERDICT_ERROR);
}

static struct status judge_empty(struct row *row)
{
    switch (profile_rules(row->request->profile)->empty) {
    case EMPTY_PASS:
        return row_close_with(row, VERDICT_PASS, "Both outputs are empty, consider as pass.");
    case EMPTY_SKIP:
        return row_close_with(row, VERDICT_SKIP, "There is not bench calculation result.");
    default: return row_close_with(row, VERDICT_ERROR, "There is not bench calculation result.");
    }
}

static struct status judge_tensor(struct row *row, struct reference *want,
                                  const struct tensor *strided)
{
    const struct profile_rules *rules = profile_rules(row->request->profile);
    enum dtype bench = row->request->bench_dtype;
    struct tensor got;

    TRY(tensor_densify(&got, row->arena, strided));
    row->device = metrics_component_dtype(got.dtype);
    row_put_types(row, bench, &got);
    if (!same_shape(want, &got)) return shapes_differ(row, want, &got);
    int class = comparable_class(rules, want->dtype);
    if (!class || class != comparable_class(rules, got.dtype)) {
        row_note(row, "dtype", 1, 0, false);
        row_say(row, "Bench out dtype is %s but npu output dtype is %s, cannot compare.",
                dtype_short_name(bench), dtype_short_name(got.dtype));
        return row_close(row, VERDICT_ERROR);
    }
    if (want->n == 0) return judge_empty(row);
    return want->integer ? judge_integers(row, want, &got) : judge_floating(row, want, &got);
}

/* ---- values that are no tensors ----------------------------------------------------------- */

/* clang-format off */
static const char *const class_names[] = {
    [VALUE_NONE] = "NoneType",      [VALUE_BOOL] = "bool",
    [VALUE_INT] = "int",            [VALUE_FLOAT] = "float",
    [VALUE_STRING] = "str",         [VALUE_TENSOR] = "torch.Tensor",
    [VALUE_LIST] = "list",          [VALUE_DICT] = "dict",
    [VALUE_SLICE] = "slice",        [VALUE_ELLIPSIS] = "ellipsis",
    [VALUE_SIZE] = "torch.Size",    [VALUE_DTYPE] = "torch.dtype",
    [VALUE_DEVICE] = "torch.device", [VALUE_MEMORY_FORMAT] = "torch.memory_format",
    [VALUE_UNSUPPORTED] = "object",
};
/* clang-format on */

static void row_put_class(struct row *row, enum details_column column, enum value_kind kind)
{
    char *text = arena_format(row->arena, "<class '%s'>", class_names[kind]);
    if (text) row->out->cells[column] = text;
    else row->no_memory = true;
}

static bool values_equal(const struct value *a, const struct value *b);

static bool sequences_equal(const struct value *a, const struct value *b)
{
    if (a->list.count != b->list.count) return false;
    for (size_t i = 0; i < a->list.count; i++)
        if (!values_equal(&a->list.items[i], &b->list.items[i])) return false;
    return true;
}

static bool values_equal(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind) return false;
    if (value_is_sequence(a)) return sequences_equal(a, b);
    switch (a->kind) {
    case VALUE_BOOL: return a->boolean == b->boolean;
    case VALUE_INT: return a->integer == b->integer;
    case VALUE_FLOAT: return a->real == b->real || (isnan(a->real) && isnan(b->real));
    case VALUE_DTYPE: return a->dtype == b->dtype;
    case VALUE_STRING:
    case VALUE_DEVICE:
    case VALUE_MEMORY_FORMAT:
    case VALUE_UNSUPPORTED: return !strcmp(a->string, b->string);
    default: return a->kind == VALUE_NONE || a->kind == VALUE_ELLIPSIS;
    }
}

static bool same_keys(const struct value *a, const struct value *b)
{
    if (a->list.count != b->list.count) return false;
    for (size_t i = 0; i < a->list.count; i++)
        if (strcmp(a->list.keys[i], b->list.keys[i])) return false;
    return true;
}

static struct status judge_value(struct row *row, const struct value *want, const struct value *got)
{
    row_put_class(row, COLUMN_BENCH_DTYPE, want->kind);
    row_put_class(row, COLUMN_DEVICE_DTYPE, got->kind);
    if (want->kind != got->kind) {
        row_note(row, "type", 1, 0, false);
        return row_close_with(row, VERDICT_ERROR, "bench and npu output type is different.");
    }
    if (want->kind == VALUE_DICT && !same_keys(want, got)) {
        row_note(row, "structure", 1, 0, false);
        return row_close_with(row, VERDICT_ERROR, "bench and npu output dict keys are different.");
    }
    if (value_is_sequence(want) && want->list.count != got->list.count) {
        row_note(row, "structure", 1, 0, false);
        return row_close_with(row, VERDICT_ERROR, "bench and npu output structure is different.");
    }
    bool equal = values_equal(want, got);
    if (profile_rules(row->request->profile)->distances) return judge_distances_value(row, equal);
    row_note(row, "equal", equal ? 0 : 1, 0, equal);
    if (equal) row_put(row, COLUMN_BINARY_MISMATCH, "0");
    return row_close(row, equal ? VERDICT_PASS : VERDICT_ERROR);
}

/* ---- random outputs ----------------------------------------------------------------------- */

static struct status judge_random(struct row *row, const struct wanted *want,
                                  const struct value *got)
{
    if (got->kind == VALUE_TENSOR)
        row_put_types(row, row->request->bench_dtype, got->tensor.tensor);
    row->out->standard = "property";
    row_note(row, want->property_test, want->property_holds ? 0 : 1, 0, want->property_holds);
    row_say(row, "Random output, judged by property: %s", want->property_test);
    if (want->property_reason && *want->property_reason)
        row_say(row, ": %s", want->property_reason);
    return row_close_with(row, want->property_holds ? VERDICT_PASS : VERDICT_ERROR, ".");
}

struct status judge_output(struct judged *out, struct arena *arena,
                           const struct judge_request *request, const struct wanted *want,
                           const struct value *got)
{
    struct row row;

    row_open(&row, out, arena, request);
    if (want->property_test) return judge_random(&row, want, got);
    if (want->value && want->value->kind != VALUE_NONE) return judge_value(&row, want->value, got);
    if (!want->reference)
        return row_close_with(&row, VERDICT_SKIP, "Bench output is None, skip this test.");
    if (profile_rules(request->profile)->distances)
        return judge_distances(&row, want->reference, got);
    if (got->kind != VALUE_TENSOR) {
        row_note(&row, "type", 1, 0, false);
        return row_close_with(&row, VERDICT_ERROR, "bench and npu output type is different.");
    }
    return judge_tensor(&row, want->reference, got->tensor.tensor);
}
