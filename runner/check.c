/* The line itself, and what becomes of a call that leaves it: a stage that fails hands back why, and
 * one place turns that into rows. */
#include "runner/check.h"

#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/quantity.h"
#include "diagnosis/diagnosis.h"
#include "runner/autocast_arguments.h"
#include "runner/dump_framework.h"
#include "runner/environment.h"
#include "runner/error_data.h"
#include "runner/precision.h"
#include "runner/repeats.h"
#include "runner/tensor_reference.h"
#include "standards/error_model.h"
#include "standards/judge_places.h"
#include "standards/row_layout.h"
#include "variation/tile_sizes.h"

/* What has been made of a call. All of it lives in the checker's arena or is mapped, and goes with
 * forget_call. */
struct call {
    struct api_case recorded; /* as the dump has it */
    struct api_case c;        /* the call of PyTorch that computes the same */
    /* The call with its inputs, when they are not to be read from the dump; or NULL. It may have outputs too. */
    const struct api_case *given;
    struct bench_precision precision;
    enum dtype autocast; /* that its arguments were cast to, or DT_NONE */
    struct generate_notes inputs;
    const char
        *sizes; /* which it has instead of the recorded ones; NULL when none were asked for */
    struct bench *bench;
    struct device_result got;
    struct repeats repeats;
    struct bench_output *gradients; /* of the reference, when there were any */
    size_t n_gradients;
    size_t diagnosis_bytes; /* reserved for looking into rows that fail; 0: none is */
};

struct check {
    const struct check_setup *setup;
    struct checker *checker;
    struct arena *arena; /* of the checker */
    struct call call;
    struct call_rows rows;
    struct second_check *second; /* or NULL */
};

/* How a stage ended. With a status that is not OK, `cause` says what the row is to say. */
struct ending {
    struct status status;
    enum row_cause cause;
};

/* What a call may take beside its tensors: parsed JSON, texts of rows, rounding of the arena. */
enum { OVERHEAD_BYTES = 1 << 20, OVERHEAD_PER_JSON_BYTE = 16 };

/* Everything the call has made or mapped, and what points to it. */
static void forget_call(struct check *k)
{
    if (k->setup->dump) dump_release_tensors(k->setup->dump, k->arena);
    arena_reset(k->arena);
    k->call.inputs.count = 0;
    k->call.autocast = DT_NONE;
    k->call.bench = NULL;
    k->call.got = (struct device_result){ 0 };
    k->call.repeats = (struct repeats){ .count = { 0 } };
    k->call.gradients = NULL;
    k->call.n_gradients = 0;
    k->rows.message[0] = k->rows.message[1] = NULL;
}

/* ---- rows ------------------------------------------------------------------------------- */

static struct row_subject subject_of(const struct check *k)
{
    return (struct row_subject){ &k->call.c, &k->call.precision, &k->call.inputs, k->call.sizes };
}

/* A row that compares nothing. */
static struct status add_plain_row(struct check *k, bool backward, enum verdict verdict,
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

/* One output or gradient against its reference. */
static struct status judge_row(struct check *k, bool backward, size_t index,
                               struct bench_output *output, const struct value *got)
{
    struct wanted want = { 0 };
    struct judged judged;
    enum dtype returned = DT_NONE;

    switch (output->kind) {
    case BENCH_OUTPUT_NONE:
        return add_plain_row(k, backward, VERDICT_SKIP, CAUSE_NOTHING_TO_JUDGE,
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

/* ---- the stages ------------------------------------------------------------------------- */

/* A core to compute on. Threads whose device works in another process give it away meanwhile. */
static void take_slot(const struct check_setup *setup)
{
    while (sem_wait(setup->compute_slots)) continue;
}

static void return_slot(const struct check_setup *setup) { (void)sem_post(setup->compute_slots); }

/* Add the seconds since `since` to a stage, and start the next one. */
static void end_stage(double *seconds, double *since)
{
    double now = clock_seconds();
    *seconds += now - *since;
    *since = now;
}

static struct status run_device(struct check *k)
{
    struct call *call = &k->call;
    struct device *device = k->checker->device;
    bool waits = device->class->external;
    if (waits) return_slot(k->setup);
    struct status status =
        device->class->run(device, &call->got, k->arena, &call->c, call->c.has_backward);
    if (!status.code)
        status =
            repeats_run(&call->repeats, k->arena, device, &call->c, &call->got, k->setup->runs);
    if (waits) take_slot(k->setup);
    (void)environment_restore_arithmetic();
    if (!status.code) status = autocast_gradients(&call->got.gradients, call->autocast, k->arena);
    return status;
}

static struct status judge_forward(struct check *k)
{
    struct call *call = &k->call;
    size_t expected = bench_output_count(call->bench), returned = call->got.outputs.list.count;
    /* The pre-check for MindSpore judges those that are there. */
    enum verdict missing = profile_rules(k->setup->style.profile)->distances ? VERDICT_SKIP
                                                                             : VERDICT_ERROR;
    if (!expected)
        return add_plain_row(k, false, VERDICT_SKIP, CAUSE_NOTHING_TO_JUDGE,
                             "Bench output is None, skip this test.");
    for (size_t i = 0; i < expected; i++) {
        if (i < returned) {
            TRY(judge_row(k, false, i, bench_output(call->bench, i),
                          &call->got.outputs.list.items[i]));
        } else {
            char text[96];
            (void)snprintf(text, sizeof text, "The device returned %zu outputs of %zu.", returned,
                           expected);
            TRY(add_plain_row(k, false, missing, CAUSE_OUTPUT_MISSING, text));
        }
    }
    return status_ok();
}

/* Why there is no backward to check although the dump has a backward entry; NULL when there is. */
static const char *backward_obstacle(const struct api_case *c)
{
    if (value_find(&c->kwargs, "out"))
        return "function with out=... arguments don't support automatic differentiation, skip "
               "backward.";
    if (!value_count_tensors(&c->cotangents))
        return "This API does not have backward input data, skip backward.";
    return NULL;
}

/* Which tensor arguments have a gradient that is looked at, in the order of the gradients. */
struct gradient_places {
    bool *asked;
    size_t count;
};

static bool note_gradient(struct value *tensor, void *context)
{
    struct gradient_places *places = context;
    const struct tensor_record *record = tensor->tensor.record;
    places->asked[places->count++] = record && record->requires_grad;
    return true;
}

/* All of them have rows in PyTorch's pre-check, also those without a gradient. */
static struct status find_gradients(struct gradient_places *out, struct check *k)
{
    const struct api_case *c = case_as_recorded(&k->call.c);
    struct value args = c->args, kwargs = c->kwargs;
    *out = (struct gradient_places){ .count = 0 };
    out->asked = arena_allocate_zeroed(k->arena, k->call.n_gradients, sizeof *out->asked);
    if (!out->asked) return status_no_memory(0);
    (void)value_each_tensor(&args, note_gradient, out);
    (void)value_each_tensor(&kwargs, note_gradient, out);
    return status_ok();
}

static struct status judge_gradients(struct check *k)
{
    struct call *call = &k->call;
    struct gradient_places places;
    bool only_asked = k->setup->framework->gradients_of_floating_arguments;
    TRY(find_gradients(&places, k));
    for (size_t i = 0; i < call->n_gradients; i++) {
        if (only_asked && (!places.asked[i] || call->gradients[i].kind == BENCH_OUTPUT_NONE))
            continue;
        static const struct value none = { .kind = VALUE_NONE };
        bool has = i < call->got.gradients.list.count;
        const struct value *got = has ? &call->got.gradients.list.items[i] : &none;
        if (got->kind == VALUE_NONE && call->gradients[i].kind != BENCH_OUTPUT_NONE)
            TRY(add_plain_row(k, true, VERDICT_SKIP, CAUSE_NO_GRADIENT,
                              "The device has no gradient for this argument."));
        else TRY(judge_row(k, true, i, &call->gradients[i], got));
    }
    return status_ok();
}

static struct status judge_backward(struct check *k, double *since)
{
    struct call *call = &k->call;
    struct stage_times *times = &k->rows.out->times;
    const char *obstacle = backward_obstacle(&call->c);
    if (!call->c.has_backward) return status_ok();
    if (obstacle) return add_plain_row(k, true, VERDICT_SKIP, CAUSE_NO_GRADIENT, obstacle);
    if (call->got.backward.code) {
        bool failed = call->got.backward.code == STATUS_DEVICE;
        return add_plain_row(k, true, failed ? VERDICT_ERROR : VERDICT_SKIP,
                             failed ? CAUSE_DEVICE_FAILED : CAUSE_DEVICE_DECLINED,
                             call->got.backward.text);
    }
    struct status status =
        bench_backward(&call->gradients, &call->n_gradients, call->bench, &call->c.cotangents);
    end_stage(&times->reference_s, since);
    if (status.code == STATUS_SKIP)
        return add_plain_row(k, true, VERDICT_SKIP, CAUSE_NO_REFERENCE, status.text);
    TRY(status);
    if (!call->n_gradients)
        return add_plain_row(k, true, VERDICT_SKIP, CAUSE_NO_GRADIENT,
                             "No argument is a tensor, so there is no gradient to check.");
    status = judge_gradients(k);
    end_stage(&times->comparison_s, since);
    return status;
}

static struct call_tensors tensors_of(const struct call *call)
{
    return (struct call_tensors){ .c = &call->c,
                                  .bench = call->bench,
                                  .got = &call->got,
                                  .gradients = call->gradients,
                                  .n_gradients = call->n_gradients,
                                  .precision = &call->precision };
}

/* The tensors of a call that failed, when the user asked for them. A full disk must not turn an
 * error into a SKIP row, so a failure here ends the run. */
static struct status save_error_data(struct check *k)
{
    struct call *call = &k->call;
    struct case_outcome *out = k->rows.out;
    if (!k->setup->error_data) return status_ok();
    if (out->forward != VERDICT_ERROR && out->forward != VERDICT_WARNING &&
        out->backward != VERDICT_ERROR && out->backward != VERDICT_WARNING)
        return status_ok();
    const struct call_tensors tensors = tensors_of(call);
    struct status status = error_data_save(k->setup->error_data, k->arena, &tensors);
    if (status.code != STATUS_NO_MEMORY) out->fatal = status;
    return status;
}

static struct status show_watch(struct check *k)
{
    const struct call_watch *watch = &k->setup->watch;
    if (!watch->look) return status_ok();
    const struct call_tensors tensors = tensors_of(&k->call);
    struct status status = watch->look(watch->context, k->arena, &tensors);
    if (status.code != STATUS_NO_MEMORY) k->rows.out->fatal = status;
    return status;
}

static struct status judge_all(struct check *k, double *since)
{
    TRY(judge_forward(k));
    end_stage(&k->rows.out->times.comparison_s, since);
    TRY(judge_backward(k, since));
    TRY(save_error_data(k));
    return show_watch(k);
}

/* ---- a second device -------------------------------------------------------------------- */

static struct status run_second(struct device_result *got, struct check *k)
{
    struct device *device = k->second->device;
    bool waits = device->class->external;
    if (waits) return_slot(k->setup);
    struct status status = device->class->run(device, got, k->arena, &k->call.c, false);
    if (waits) take_slot(k->setup);
    (void)environment_restore_arithmetic();
    return status;
}

/* A value of the second device as a reference. */
static struct status second_wanted(struct bench_output *out, struct arena *arena,
                                   const struct value *value)
{
    *out = (struct bench_output){ .kind = value->kind == VALUE_NONE ? BENCH_OUTPUT_NONE
                                                                    : BENCH_OUTPUT_VALUE,
                                  .value = *value };
    if (value->kind != VALUE_TENSOR) return status_ok();
    out->kind = BENCH_OUTPUT_TENSOR;
    return tensor_reference(&out->reference, arena, value->tensor.tensor);
}

/* What was recorded against what the second device has returned. */
static struct status judge_against(struct check *k, const struct device_result *second)
{
    const struct value *recorded = k->call.got.outputs.list.items;
    size_t count = second->outputs.list.count, n_recorded = k->call.got.outputs.list.count;
    struct bench_output want;

    if (count != n_recorded)
        return status_error(STATUS_SKIP, "The second device returned %zu outputs, not %zu.", count,
                            n_recorded);
    for (size_t i = 0; i < count; i++) {
        TRY(second_wanted(&want, k->arena, &second->outputs.list.items[i]));
        TRY(judge_row(k, false, i, &want, &recorded[i]));
    }
    return status_ok();
}

static bool has_random_output(struct bench *bench)
{
    for (size_t i = 0; i < bench_output_count(bench); i++)
        if (bench_output(bench, i)->kind == BENCH_OUTPUT_RANDOM) return true;
    return false;
}

static struct status make_second_rows(struct check *k)
{
    struct device_result got = { 0 };
    if (has_random_output(k->call.bench))
        return status_error(STATUS_SKIP, "The values of this API are random: two devices cannot "
                                         "be compared.");
    TRY(run_second(&got, k));
    if (k->second->two_way) return judge_against(k, &got);
    k->call.got = got;
    return judge_forward(k);
}

/* The rows of the second device, in an outcome of their own. The call is as it was afterwards. */
static void check_second(struct check *k)
{
    const struct call_rows rows = k->rows;
    const struct call call = k->call;

    k->rows = (struct call_rows){
        .style = rows.style, .arena = rows.arena, .out = k->second->out, .place = rows.place
    };
    k->call.diagnosis_bytes = 0;
    k->call.repeats = (struct repeats){ .count = { 0 } };
    call_rows_clear(&k->rows);
    struct status status = make_second_rows(k);
    if (status.code) {
        call_rows_clear(&k->rows);
        status = add_plain_row(k, false, VERDICT_SKIP, CAUSE_DEVICE_DECLINED, status.text);
    }
    if (!status.code) status = call_rows_end(&k->rows, k->call.c.full_name);
    k->second->has_rows = !status.code;
    k->second->out->fatal = status;
    k->rows = rows;
    k->call = call;
}

/* The inputs of the call: those it came with, or made; as it computed with them. */
static struct status make_inputs(struct check *k)
{
    struct call *call = &k->call;
    if (!call->given)
        TRY(generate_inputs(&call->c, &call->inputs, k->arena, k->setup->dump,
                            &k->setup->generate));
    if (call->sizes && call->inputs.count < INPUT_NOTES_MOST)
        call->inputs.lines[call->inputs.count++] = call->sizes;
    bench_share_inputs(&call->c);
    if (!k->setup->casts_arguments || call->c.recorded) return status_ok();
    TRY(autocast_arguments(&call->autocast, &call->c, k->arena));
    if (call->autocast != DT_NONE) call->precision = precision_of_case(&call->c);
    return status_ok();
}

/* The line itself. Up to bench_settle nothing has been written to the rows. */
static struct ending check_call(struct check *k)
{
    const struct check_setup *setup = k->setup;
    struct call *call = &k->call;
    struct stage_times *times = &k->rows.out->times;
    double since = clock_seconds();
    struct status status;

    call->c.help = &k->checker->help;
    status = make_inputs(k);
    end_stage(&times->inputs_s, &since);
    if (status.code) return (struct ending){ status, CAUSE_NO_INPUTS };

    status = bench_open(&call->bench, &call->c, k->arena, BENCH_REFERENCE);
    end_stage(&times->reference_s, &since);
    if (status.code) return (struct ending){ status, CAUSE_NO_REFERENCE };

    status = run_device(k);
    end_stage(&times->device_s, &since);
    if (status.code) return (struct ending){ status, CAUSE_DEVICE_DECLINED };

    status = bench_settle(call->bench, &call->got.outputs);
    if (!status.code && profile_rules(setup->style.profile)->error_model)
        status = bench_model(call->bench);
    end_stage(&times->reference_s, &since);
    if (!status.code) status = judge_all(k, &since);
    if (!status.code && k->second) check_second(k);
    return (struct ending){ status, status.code ? CAUSE_NO_REFERENCE : CAUSE_NONE };
}

/* ---- memory ----------------------------------------------------------------------------- */

/* Bytes the call reserves; SIZE_MAX when they cannot be counted. */
static size_t reservation(const struct check *k, size_t position)
{
    size_t inputs = generate_input_bytes(&k->call.c), total = inputs;
    size_t json = k->call.given ? 0 : dump_case_bytes(k->setup->dump, position);
    if (!size_add(&total, total, bench_peak_bytes(&k->call.c)) ||
        !size_multiply(&json, json, OVERHEAD_PER_JSON_BYTE) || !size_add(&total, total, json) ||
        !size_add(&total, total, OVERHEAD_BYTES) ||
        (k->setup->casts_arguments && !size_add(&total, total, inputs / 2)) ||
        (k->second && !size_add(&total, total, bench_peak_bytes(&k->call.c))))
        return SIZE_MAX;
    return total;
}

static struct ending too_large(size_t bytes)
{
    struct status status =
        status_error(STATUS_SKIP,
                     "This call needs %s of memory, which is more than the budget: give "
                     "it with --memory. SKIP.",
                     quantity_bytes(bytes).text);
    return (struct ending){ status, CAUSE_MEMORY };
}

/* Run the call within `bytes` of memory. STATUS_INTERRUPTED when the run was stopped before there
 * was room. */
static struct ending check_within(struct check *k, size_t bytes)
{
    struct memory_budget *budget = k->setup->budget;
    if (!memory_budget_take(budget, bytes))
        return (struct ending){ status_error(STATUS_INTERRUPTED, "the run was stopped"),
                                CAUSE_NONE };
    k->arena->limit_bytes = bytes - k->call.diagnosis_bytes;
    take_slot(k->setup);
    struct ending ending = check_call(k);
    return_slot(k->setup);
    memory_budget_return(budget, bytes);
    return ending;
}

/* The record of the call. Memory that is short for a moment is asked for once more. */
typedef struct status dump_reader(struct api_case *, struct arena *, const struct dump *, size_t);
static struct status read_with(struct check *k, dump_reader *reader, size_t position)
{
    struct api_case *c = &k->call.recorded;
    struct status status = reader(c, k->arena, k->setup->dump, position);
    if (status.code == STATUS_NO_MEMORY) {
        forget_call(k);
        status = reader(c, k->arena, k->setup->dump, position);
    }
    k->call.c = *c;
    k->call.c.framework = k->setup->framework;
    return status;
}

/* The recorded call in the terms of its framework, and then in those of the bench. */
static struct ending understand(struct check *k)
{
    struct ending ending = { .cause = CAUSE_NO_REFERENCE };
    struct api_case translated;
    ending.status = dump_framework_adopt(&k->call.recorded, k->arena, k->setup->framework);
    if (!ending.status.code)
        ending.status = bench_translate(&translated, k->arena, &k->call.recorded);
    k->call.c = ending.status.code ? k->call.recorded : translated;
    return ending;
}

static void take_given(struct check *k)
{
    k->call.recorded = k->call.c = *k->call.given;
    k->call.recorded.framework = k->call.c.framework = k->setup->framework;
}

/* Other sizes than the recorded ones, where they are asked for. A call that is translated keeps its own: the two have other arguments. */
static struct ending vary_sizes(struct check *k)
{
    const char *note = NULL;
    k->call.sizes = NULL;
    if (k->call.given) return (struct ending){ status_ok(), CAUSE_NONE };
    if (k->call.c.recorded && k->setup->generate.source == INPUTS_HARD_SIZES) {
        k->call.sizes = "Sizes as recorded: the call is one of another framework";
        return (struct ending){ status_ok(), CAUSE_NONE };
    }
    struct status status = tile_sizes_apply(&k->call.c, &note, k->arena, &k->setup->generate);
    if (note && !status.code) {
        k->call.recorded = k->call.c;
        k->call.sizes = note;
    }
    return (struct ending){ status, CAUSE_NO_INPUTS };
}

static struct ending read_call(struct check *k, size_t position)
{
    struct ending ending = { .cause = CAUSE_NO_INPUTS };
    if (k->call.given) take_given(k);
    else ending.status = read_with(k, dump_read_case, position);
    if (!ending.status.code) ending = understand(k);
    return ending.status.code ? ending : vary_sizes(k);
}

/* The name first: most calls that are not checked need not be parsed. */
static struct ending read_admitted(struct check *k, size_t position)
{
    struct ending ending = { .cause = CAUSE_NO_INPUTS };
    ending.status = read_with(k, dump_read_name, position);
    if (!ending.status.code)
        ending.status = api_lists_admit(&ending.cause, k->setup->lists, &k->call.c);
    if (ending.status.code) return ending;
    return read_call(k, position);
}

/* A call whose reservation did not suffice gets the whole budget before it is given up. */
static struct ending check_admitted(struct check *k, size_t position)
{
    size_t bytes = reservation(k, position);
    uint64_t limit = k->setup->budget->limit_bytes;
    if (bytes > limit) return too_large(bytes);
    k->call.diagnosis_bytes = k->setup->diagnose_budget_s > 0 ? diagnosis_bytes(&k->call.c) : 0;
    if (k->call.diagnosis_bytes > limit - bytes) k->call.diagnosis_bytes = 0;
    bytes += k->call.diagnosis_bytes;
    struct ending ending = check_within(k, bytes);
    if (ending.status.code != STATUS_NO_MEMORY) return ending;

    call_rows_clear(&k->rows);
    forget_call(k);
    struct ending again = read_call(k, position);
    if (again.status.code) return again;
    ending = check_within(k, limit);
    if (ending.status.code != STATUS_NO_MEMORY) return ending;
    forget_call(k);
    k->arena->limit_bytes = 0;
    again = read_call(k, position);
    if (again.status.code) return again;
    struct status status =
        status_error(STATUS_SKIP,
                     "%s for this call, which had the whole budget: give more with "
                     "--memory. SKIP.",
                     ending.status.text);
    return (struct ending){ status, CAUSE_MEMORY };
}

/* ---- from the dump to the rows ---------------------------------------------------------- */

/* What a status says about the cause: a failure of ours is not one of the stage. */
static enum row_cause cause_of(const struct ending *ending)
{
    switch (ending->status.code) {
    case STATUS_DEVICE: return CAUSE_DEVICE_FAILED;
    case STATUS_NO_MEMORY: return CAUSE_MEMORY;
    case STATUS_INTERNAL:
    case STATUS_BAD_ARGUMENT: return CAUSE_INTERNAL;
    default: return ending->cause;
    }
}

/* Failures of one call that leave the run whole. An `error` of the device is its own fault;
 * everything else says that we could not tell. */
static struct status add_failure_rows(struct check *k, const struct ending *failure)
{
    struct case_outcome *out = k->rows.out;
    enum row_cause cause = cause_of(failure);
    bool device = cause == CAUSE_DEVICE_FAILED;
    call_rows_clear(&k->rows);
    out->internal_error = cause == CAUSE_INTERNAL;
    TRY(add_plain_row(k, false, device ? VERDICT_ERROR : VERDICT_SKIP, cause,
                      failure->status.text));
    if (device && k->call.c.has_backward)
        TRY(add_plain_row(k, true, VERDICT_SKIP, CAUSE_DEVICE_FAILED,
                          "The device failed in the forward."));
    bool blank = profile_rules(k->setup->style.profile)->layout->joins_messages &&
                 !k->call.c.has_backward;
    if (!device && !blank) out->backward = VERDICT_SKIP;
    return status_ok();
}

/* The rows of a call that ended this way, and its row of the result file. */
static struct status end_rows(struct check *k, const struct ending *ending)
{
    if (ending->status.code == STATUS_INTERRUPTED) return ending->status;
    if (k->rows.out->fatal.code) return k->rows.out->fatal;
    k->arena->limit_bytes = 0;
    k->rows.out->times.parts_s = k->checker->help.parts_s;
    k->rows.out->times.longest_parts_s = k->checker->help.longest_parts_s;
    if (ending->status.code) TRY(add_failure_rows(k, ending));
    return call_rows_end(&k->rows, k->call.c.full_name);
}

/* Whatever happens to the call. A dump that cannot be read is no matter of one call. */
static struct status check_position(struct check *k, size_t position)
{
    struct ending ending = read_admitted(k, position);
    enum status_code read = ending.status.code;
    if (read == STATUS_BAD_INPUT || read == STATUS_IO || !k->call.c.full_name) return ending.status;
    k->call.precision = (struct bench_precision){ .raised = DT_NONE };
    if (!read) {
        k->call.precision = precision_of_case(&k->call.c);
        ending = check_admitted(k, position);
    }
    return end_rows(k, &ending);
}

static struct check check_begin(struct case_outcome *out, struct checker *checker)
{
    struct check k = {
        .setup = checker->setup,
        .checker = checker,
        .arena = &checker->arena,
        .rows = { .style = &checker->setup->style, .arena = &checker->arena, .out = out },
    };
    call_rows_clear(&k.rows);
    checker->arena.limit_bytes = 0;
    checker->help.parts_s = checker->help.longest_parts_s = 0;
    return k;
}

bool case_check(struct case_outcome *out, struct checker *checker, size_t position)
{
    struct check k = check_begin(out, checker);
    out->fatal = check_position(&k, position);
    forget_call(&k);
    return out->fatal.code != STATUS_INTERRUPTED;
}

bool case_check_record(struct case_outcome *out, struct second_check *second,
                       struct checker *checker, const struct api_case *c,
                       const struct case_obstacle *obstacle, const struct call_place *place)
{
    struct check k = check_begin(out, checker);
    struct ending ending;
    k.call.given = c;
    k.second = second;
    if (second) second->has_rows = false;
    k.rows.place = place;
    if (obstacle) {
        take_given(&k);
        ending = (struct ending){ obstacle->status, obstacle->cause };
    } else {
        ending = read_call(&k, 0);
    }
    k.call.precision = precision_of_case(&k.call.c);
    if (!ending.status.code) ending = check_admitted(&k, 0);
    out->fatal = end_rows(&k, &ending);
    forget_call(&k);
    return out->fatal.code != STATUS_INTERRUPTED;
}

bool case_check_made(struct case_outcome *out, struct checker *checker, const struct api_case *c)
{
    struct check k = check_begin(out, checker);
    k.call.given = c;
    struct ending ending = read_call(&k, 0);
    k.call.precision = precision_of_case(&k.call.c);
    if (!ending.status.code) ending = check_within(&k, k.setup->budget->limit_bytes);
    out->fatal = end_rows(&k, &ending);
    forget_call(&k);
    return out->fatal.code != STATUS_INTERRUPTED;
}
