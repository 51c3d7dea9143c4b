/* The rows of a call: each output and gradient judged, and what else there is to say of it. */
#include "runner/check_rows.h"

#include <stdio.h>
#include <string.h>

#include "diagnosis/diagnosis.h"
#include "standards/error_model.h"
#include "standards/judge_places.h"

static struct row_subject subject_of(const struct check *k)
{
    return (struct row_subject){ &k->call.c, &k->call.precision, &k->call.inputs, k->call.sizes };
}

struct status check_add_plain_row(struct check *k, bool backward, enum verdict verdict,
                                  enum row_cause cause, const char *message)
{
    const struct row_subject subject = subject_of(k);
    return call_rows_add_plain(&k->rows, &subject, backward, verdict, cause, message);
}

/* Evaluate the property of a random output. Shape and dtype come first: the tests of values
 * assume them. */
static struct status random_wanted(struct wanted *want, struct arena *arena,
                                   const struct bench_output *output, const struct value *got)
{
    const struct reference *r = &output->reference;
    enum { REASON_BYTES = 256 };
    char *reason = arena_allocate_zeroed(arena, REASON_BYTES, 1);
    if (!reason) return status_no_memory(REASON_BYTES);

    want->property_test = output->property->test;
    want->property_reason = reason;
    const struct tensor *tensor = got->kind == VALUE_TENSOR ? got->tensor.tensor : NULL;
    bool same_shape = tensor && tensor->rank == r->rank;
    for (int i = 0; same_shape && i < r->rank; i++) same_shape = tensor->shape[i] == r->shape[i];
    if (!tensor) (void)snprintf(reason, REASON_BYTES, "the device returned no tensor");
    else if (!same_shape) (void)snprintf(reason, REASON_BYTES, "the shape differs");
    else if (tensor->dtype != r->dtype)
        (void)snprintf(reason, REASON_BYTES, "the dtype is %s, not %s",
                       dtype_info(tensor->dtype)->name, dtype_info(r->dtype)->name);
    else
        want->property_holds =
            output->property->holds(output->property, tensor, reason, REASON_BYTES);
    return status_ok();
}

/* For a forward row that is not a pass: how far its worst element lies beyond what rounding
 * explains. The model is made when the first such row needs it. */
static struct status measure_rounding(struct judged *judged, struct check *k,
                                      const struct bench_output *output, const struct value *got)
{
    const struct reference *r = &output->reference;
    bool failed = judged->verdict == VERDICT_WARNING || judged->verdict == VERDICT_ERROR;
    if (!failed || !judged->has_metrics || output->kind != BENCH_OUTPUT_TENSOR || r->integer ||
        got->kind != VALUE_TENSOR)
        return status_ok();
    if (!r->kernel_bound) TRY(bench_model(k->call.bench));
    if (!r->kernel_bound || tensor_elements(got->tensor.tensor) > r->n) return status_ok();
    judged->has_over_rounding = true;
    return error_model_over_rounding(&judged->over_rounding, k->arena, got->tensor.tensor, r);
}

/* For a row that fails: what it looks like. */
static struct status diagnose_row(struct judged *judged, struct check *k,
                                  const struct judge_request *request,
                                  const struct bench_output *output, const struct value *got)
{
    bool failed = judged->verdict == VERDICT_WARNING || judged->verdict == VERDICT_ERROR;
    if (!failed || !k->call.diagnosis_bytes || output->kind != BENCH_OUTPUT_TENSOR ||
        got->kind != VALUE_TENSOR)
        return status_ok();
    const struct diagnosis_request row = {
        .bench = k->call.bench,
        .backward = request->backward,
        .index = request->index,
        .want = &output->reference,
        .got = got->tensor.tensor,
        .budget_s = k->setup->diagnose_budget_s,
        .memory_bytes = k->call.diagnosis_bytes,
    };
    return diagnose(&judged->findings, k->arena, &row);
}

/* A row that rounding explains may still use more of that than this device did when it was right. */
static struct status hold_to_budget(struct judged *judged, struct check *k, bool backward)
{
    char shapes[BUDGET_SHAPES_BYTES];
    const struct check_setup *setup = k->setup;
    if (!setup->row_budget || !budget_shapes(shapes, judged->cells[COLUMN_SHAPE]))
        return status_ok();
    const char *name = k->call.c.full_name, *number = strrchr(name, '.');
    const char *api = arena_format(k->arena, "%.*s", number ? (int)(number - name) : 0, name);
    if (!api) return status_no_memory(0);
    const struct budget_key key = { api, judged->cells[COLUMN_DEVICE_DTYPE], shapes, setup->backend,
                                    backward };
    return budget_judge(judged, k->arena, setup->row_budget, &key);
}

/* What a device returned the other times, where it should have been the same. */
static struct status tell_repeats(struct judged *judged, struct check *k, bool backward,
                                  size_t index)
{
    const struct repeats *repeats = &k->call.repeats;
    if (index >= repeats->count[backward]) return status_ok();
    const struct run_difference *d = &repeats->of[backward][index];
    judged->repeats = *d;
    if (!d->differing) return status_ok();
    k->rows.out->unstable_rows++;
    char *message = arena_format(
        k->arena,
        "%sDiffers from run to run: %zu of %zu elements in %zu runs, by up to %.3g "
        "ulp.\n",
        judged->cells[COLUMN_MESSAGE], d->differing, d->elements, d->runs, d->largest_ulp);
    if (!message) return status_no_memory(0);
    judged->cells[COLUMN_MESSAGE] = message;
    return status_ok();
}

struct status check_judge_row(struct check *k, bool backward, size_t index,
                              struct bench_output *output, const struct value *got)
{
    struct wanted want = { 0 };
    struct judged judged;
    enum dtype returned = DT_NONE;

    switch (output->kind) {
    case BENCH_OUTPUT_NONE:
        return check_add_plain_row(k, backward, VERDICT_SKIP, CAUSE_NOTHING_TO_JUDGE,
                                   "Bench output is None, skip this test.");
    case BENCH_OUTPUT_TENSOR:
        want.reference = &output->reference;
        returned = output->reference.dtype;
        break;
    case BENCH_OUTPUT_VALUE: want.value = &output->value; break;
    case BENCH_OUTPUT_RANDOM:
        TRY(random_wanted(&want, k->arena, output, got));
        returned = output->reference.dtype;
        break;
    }
    const struct row_subject subject = subject_of(k);
    struct judge_request request = call_rows_request(&k->rows, &subject, backward, returned);
    TRY(judge_output(&judged, k->arena, &request, &want, got));
    TRY(hold_to_budget(&judged, k, backward));
    if (output->kind != BENCH_OUTPUT_RANDOM) TRY(tell_repeats(&judged, k, backward, index));
    if (!backward) TRY(measure_rounding(&judged, k, output, got));
    if (output->kind == BENCH_OUTPUT_TENSOR && got->kind == VALUE_TENSOR)
        TRY(judge_places(&judged, k->arena, &output->reference, got->tensor.tensor));
    TRY(diagnose_row(&judged, k, &request, output, got));
    return call_rows_add(&k->rows, &subject, backward, &judged);
}
