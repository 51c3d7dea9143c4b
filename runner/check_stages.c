/* The line itself: inputs, reference, device, verdicts. */
#include "runner/check_stages.h"

#include <stdio.h>

#include "core/clock.h"
#include "runner/autocast_arguments.h"
#include "runner/check_rows.h"
#include "runner/environment.h"
#include "runner/error_data.h"
#include "runner/precision.h"

void check_take_slot(const struct check_setup *setup)
{
    while (sem_wait(setup->compute_slots)) continue;
}

void check_return_slot(const struct check_setup *setup) { (void)sem_post(setup->compute_slots); }

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
    if (waits) check_return_slot(k->setup);
    if (k->checker->turn) pthread_mutex_lock(k->checker->turn);
    struct status status =
        device->class->run(device, &call->got, k->arena, &call->c, call->c.has_backward);
    if (!status.code)
        status =
            repeats_run(&call->repeats, k->arena, device, &call->c, &call->got, k->setup->runs);
    if (k->checker->turn) pthread_mutex_unlock(k->checker->turn);
    if (waits) check_take_slot(k->setup);
    (void)environment_restore_arithmetic();
    if (!status.code) status = autocast_gradients(&call->got.gradients, call->autocast, k->arena);
    return status;
}

struct status check_judge_forward(struct check *k)
{
    struct call *call = &k->call;
    size_t expected = bench_output_count(call->bench), returned = call->got.outputs.list.count;
    /* The pre-check for MindSpore judges those that are there. */
    enum verdict missing = profile_rules(k->setup->style.profile)->distances ? VERDICT_SKIP
                                                                             : VERDICT_ERROR;
    if (!expected)
        return check_add_plain_row(k, false, VERDICT_SKIP, CAUSE_NOTHING_TO_JUDGE,
                                   "Bench output is None, skip this test.");
    for (size_t i = 0; i < expected; i++) {
        if (i < returned) {
            TRY(check_judge_row(k, false, i, bench_output(call->bench, i),
                                &call->got.outputs.list.items[i]));
        } else {
            char text[96];
            (void)snprintf(text, sizeof text, "The device returned %zu outputs of %zu.", returned,
                           expected);
            TRY(check_add_plain_row(k, false, missing, CAUSE_OUTPUT_MISSING, text));
        }
    }
    return status_ok();
}

/* Why there is no backward to check although the dump has a backward entry; NULL when there is. The documents' profiles
 * do as msprobe, to which out=None is an output too. */
static const char *backward_obstacle(const struct check *k)
{
    const struct api_case *c = &k->call.c;
    const struct value *out = value_find(&c->kwargs, "out");
    bool own_model = profile_rules(k->setup->style.profile)->error_model;
    if (out && !(own_model && out->kind == VALUE_NONE))
        return "function with out=... arguments don't support automatic differentiation, skip "
               "backward.";
    if (c->no_cotangents) return c->no_cotangents;
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
            TRY(check_add_plain_row(k, true, VERDICT_SKIP, CAUSE_NO_GRADIENT,
                                    "The device has no gradient for this argument."));
        else TRY(check_judge_row(k, true, i, &call->gradients[i], got));
    }
    return status_ok();
}

static struct status judge_backward(struct check *k, double *since)
{
    struct call *call = &k->call;
    struct stage_times *times = &k->rows.out->times;
    const char *obstacle = backward_obstacle(k);
    if (!call->c.has_backward) return status_ok();
    if (obstacle)
        return check_add_plain_row(k, true, VERDICT_SKIP,
                                   call->c.no_cotangents ? CAUSE_NO_INPUTS : CAUSE_NO_GRADIENT,
                                   obstacle);
    if (call->got.backward.code) {
        bool failed = call->got.backward.code == STATUS_DEVICE;
        return check_add_plain_row(k, true, failed ? VERDICT_ERROR : VERDICT_SKIP,
                                   failed ? CAUSE_DEVICE_FAILED : CAUSE_DEVICE_DECLINED,
                                   call->got.backward.text);
    }
    struct status status =
        bench_backward(&call->gradients, &call->n_gradients, call->bench, &call->c.cotangents);
    end_stage(&times->reference_s, since);
    if (status.code == STATUS_SKIP)
        return check_add_plain_row(k, true, VERDICT_SKIP, CAUSE_NO_REFERENCE, status.text);
    TRY(status);
    if (!call->n_gradients)
        return check_add_plain_row(k, true, VERDICT_SKIP, CAUSE_NO_GRADIENT,
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

/* Does something look at the tensors of the call after its rows are made? */
static bool is_looked_at(const struct check *k)
{
    return k->setup->error_data || k->setup->watch.look || k->second;
}

static struct status judge_all(struct check *k, double *since)
{
    TRY(check_judge_forward(k));
    if (!is_looked_at(k)) bench_forget_outputs(k->call.bench);
    end_stage(&k->rows.out->times.comparison_s, since);
    TRY(judge_backward(k, since));
    TRY(save_error_data(k));
    return show_watch(k);
}

/* Wait until the devices are there, with what needs none of them done. */
static struct status wait_for_devices(struct check *k)
{
    bool waits = k->checker->device->class->external;
    if (waits) check_return_slot(k->setup);
    bool passed = start_gate_pass(k->setup->gate);
    if (waits) check_take_slot(k->setup);
    return passed ? status_ok() : status_error(STATUS_INTERRUPTED, "the devices did not start");
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

struct ending check_stages(struct check *k)
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

    if (setup->gate) {
        status = wait_for_devices(k);
        if (status.code) return (struct ending){ status, CAUSE_NONE };
        since = clock_seconds();
    }
    status = run_device(k);
    end_stage(&times->device_s, &since);
    if (status.code) return (struct ending){ status, CAUSE_DEVICE_DECLINED };

    status = bench_settle(call->bench, &call->got.outputs);
    if (!status.code && profile_rules(setup->style.profile)->error_model)
        status = bench_model(call->bench);
    end_stage(&times->reference_s, &since);
    if (!status.code) status = judge_all(k, &since);
    return (struct ending){ status, status.code ? CAUSE_NO_REFERENCE : CAUSE_NONE };
}
