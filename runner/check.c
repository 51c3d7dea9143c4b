#include "runner/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "core/checked.h"
#include "core/memory.h"
#include "results/evidence.h"
#include "runner/environment.h"
#include "runner/error_data.h"
#include "runner/precision.h"

/* A call on its way. Everything but the outcome lives in the worker's arena. */
struct check {
    const struct check_setup *setup;
    struct check_worker *worker;
    struct arena *arena;
    struct api_case c;
    struct generate_notes input_notes;
    struct bench *bench;
    struct bench_precision precision;
    struct device_result got;
    struct bench_output *gradients; /* of the reference, when there were any */
    size_t n_gradients;
    struct case_outcome *out;
    size_t rows[2];         /* forward and backward rows so far */
    char *first_message[2]; /* of the first row of each direction, for the result row */
    double rounding; /* of the row being added: its error over what rounding explains, or -1 */
    bool holds_slot, stopped;
    bool unsaved; /* the tensors of this call could not be written */
    struct timespec since;
};

/* What a call may take beside its tensors: parsed JSON, texts of rows, rounding of the arena. */
enum { OVERHEAD_BYTES = 1 << 20, OVERHEAD_PER_JSON_BYTE = 16 };

/* ---- rows ------------------------------------------------------------------------------- */

/* The worst of both; SKIP only when there is nothing else. */
static enum verdict worse_verdict(enum verdict a, enum verdict b)
{
    const enum verdict both[2] = { a, b };
    if (a == VERDICT_BLANK) return b;
    return verdict_combine(both, 2);
}

static struct status add_note(struct case_outcome *out, const struct judged *judged)
{
    if (judged->verdict == VERDICT_PASS || judged->verdict == VERDICT_BLANK) return status_ok();
    if (out->n_notes == out->notes_capacity) {
        size_t capacity = out->notes_capacity ? 2 * out->notes_capacity : 4;
        struct row_note *notes = memory_resize(out->notes, capacity * sizeof *notes);
        if (!notes) return status_no_memory(capacity * sizeof *notes);
        out->notes = notes;
        out->notes_capacity = capacity;
    }
    bool skip = judged->verdict == VERDICT_SKIP;
    char *text = memory_copy_string(judged->cells[skip ? COLUMN_MESSAGE : COLUMN_NAME]);
    if (!text) return status_no_memory(0);
    out->notes[out->n_notes++] = (struct row_note){
        .verdict = judged->verdict,
        .name = skip ? NULL : text,
        .message = skip ? text : NULL,
        .metric = judged->deciding_metric ? judged->deciding_metric : "",
        .value = judged->deciding_value,
        .limit = judged->deciding_limit,
    };
    return status_ok();
}

static void add_reference_use(struct reference_use *use, const struct judged *judged)
{
    if (!judged->has_metrics) return;
    size_t n = judged->metrics.n;
    use->components += n;
    if (judged->reference_state != REFERENCE_BOUNDED) use->certified += n;
    use->recomputed += judged->recomputed < n ? judged->recomputed : n;
    use->costly_outputs += judged->recomputed > n / 1000;
}

static struct status add_row(struct check *k, bool backward, const struct judged *judged)
{
    enum verdict *verdict = backward ? &k->out->backward : &k->out->forward;
    TRY(csv_append_row(&k->out->details, judged->cells, COLUMN_COUNT));
    TRY(evidence_append(&k->out->evidence, judged, k->setup->repeat, k->c.full_name,
                        k->rows[0] + k->rows[1] ? NULL : &k->input_notes, k->rounding));
    TRY(add_note(k->out, judged));
    add_reference_use(&k->out->references, judged);
    *verdict = worse_verdict(*verdict, judged->verdict);
    if (!k->rows[backward]++) {
        k->first_message[backward] = arena_copy_string(k->arena, judged->cells[COLUMN_MESSAGE]);
        if (!k->first_message[backward]) return status_no_memory(0);
    }
    return status_ok();
}

static struct judge_request request_of(const struct check *k, bool backward, enum dtype returned)
{
    return (struct judge_request){
        .profile = k->setup->profile,
        .c = &k->c,
        .backward = backward,
        .index = k->rows[backward],
        .bench_dtype = backward ? precision_backward(&k->precision, returned)
                                : precision_forward(&k->precision, returned),
        .input_dtype = k->precision.first_float,
        .precision = k->setup->precision,
    };
}

/* A row that compares nothing. */
static struct status add_plain_row(struct check *k, bool backward, enum verdict verdict,
                                   const char *message)
{
    struct judged judged;
    struct judge_request request = request_of(k, backward, DT_NONE);
    TRY(judge_without_comparison(&judged, k->arena, &request, verdict, message));
    return add_row(k, backward, &judged);
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

/* How far the worst element of a forward row that is not a pass lies beyond what the rounding of
 * an honest kernel explains. The model is made when the first such row needs it. */
static struct status explain(struct check *k, bool backward, const struct judged *judged,
                             struct bench_output *output, const struct value *got)
{
    bool asks = !backward && output->kind == BENCH_OUTPUT_TENSOR && !output->reference.integer &&
                (judged->verdict == VERDICT_WARNING || judged->verdict == VERDICT_ERROR);
    if (!asks || !judged->has_metrics || got->kind != VALUE_TENSOR) return status_ok();
    if (!output->reference.honest) TRY(bench_model(k->bench));
    const struct reference *r = &output->reference;
    struct tensor dense;
    if (!r->honest || tensor_elements(got->tensor.tensor) > r->n) return status_ok();
    double *values = arena_allocate_array(k->arena, r->n, sizeof *values);
    if (!values) return status_no_memory(r->n * sizeof *values);
    TRY(tensor_densify(&dense, k->arena, got->tensor.tensor));
    dtype_to_double(values, dense.data, dense.dtype, tensor_elements(&dense));
    k->rounding = 0;
    for (size_t i = 0; i < r->n; i++) {
        double allowed = r->honest[i] + 0.5 * dtype_ulp(r->dtype, r->hi[i]) + reference_bound(r, i);
        double quotient = fabs(values[i] - r->hi[i]) / allowed;
        if (quotient > k->rounding && quotient < INFINITY) k->rounding = quotient;
    }
    return status_ok();
}

/* One output or gradient against its reference. */
static struct status judge_row(struct check *k, bool backward, struct bench_output *output,
                               const struct value *got)
{
    struct wanted want = { 0 };
    struct judged judged;
    enum dtype returned = DT_NONE;

    switch (output->kind) {
    case BENCH_OUTPUT_NONE:
        return add_plain_row(k, backward, VERDICT_SKIP, "Bench output is None, skip this test.");
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
    struct judge_request request = request_of(k, backward, returned);
    TRY(judge_output(&judged, k->arena, &request, &want, got));
    TRY(explain(k, backward, &judged, output, got));
    struct status status = add_row(k, backward, &judged);
    k->rounding = -1;
    return status;
}

/* ---- times ------------------------------------------------------------------------------ */

static void start_clock(struct check *k)
{
    if (k->setup->save_timings) (void)clock_gettime(CLOCK_MONOTONIC, &k->since);
}

static void stop_clock(struct check *k, double *seconds)
{
    struct timespec now;
    if (!k->setup->save_timings) return;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    *seconds += (double)(now.tv_sec - k->since.tv_sec) +
                1e-9 * (double)(now.tv_nsec - k->since.tv_nsec);
}

/* ---- the stages ------------------------------------------------------------------------- */

/* A core to compute on. Threads whose device works in another process give it away meanwhile. */
static void take_slot(struct check *k)
{
    while (sem_wait(k->setup->compute_slots)) continue;
    k->holds_slot = true;
}

static void return_slot(struct check *k)
{
    if (k->holds_slot) (void)sem_post(k->setup->compute_slots);
    k->holds_slot = false;
}

static struct status run_device(struct check *k)
{
    struct device *device = k->worker->device;
    bool waits = device->class->external;
    if (waits) return_slot(k);
    struct status status = device->class->run(device, &k->got, k->arena, &k->c, k->c.has_backward);
    if (waits) take_slot(k);
    (void)environment_restore_arithmetic();
    return status;
}

static struct status judge_forward(struct check *k)
{
    size_t expected = bench_output_count(k->bench), returned = k->got.outputs.list.count;
    if (!expected)
        return add_plain_row(k, false, VERDICT_SKIP, "Bench output is None, skip this test.");
    for (size_t i = 0; i < expected; i++) {
        struct bench_output *output = bench_output(k->bench, i);
        if (i < returned) {
            TRY(judge_row(k, false, output, &k->got.outputs.list.items[i]));
        } else {
            char text[96];
            (void)snprintf(text, sizeof text, "The device returned %zu outputs of %zu.", returned,
                           expected);
            TRY(add_plain_row(k, false, VERDICT_ERROR, text));
        }
    }
    return status_ok();
}

/* Why there is no backward to check although the dump has a backward entry; NULL when there is. */
static const char *backward_obstacle(const struct check *k)
{
    if (value_find(&k->c.kwargs, "out"))
        return "function with out=... arguments don't support automatic differentiation, skip "
               "backward.";
    if (!value_count_tensors(&k->c.cotangents))
        return "This API does not have backward input data, skip backward.";
    if (k->got.backward.code) return k->got.backward.text;
    return NULL;
}

static struct status judge_backward(struct check *k)
{
    if (!k->c.has_backward) return status_ok();
    const char *obstacle = backward_obstacle(k);
    if (obstacle) {
        bool failed = obstacle == k->got.backward.text && k->got.backward.code == STATUS_DEVICE;
        return add_plain_row(k, true, failed ? VERDICT_ERROR : VERDICT_SKIP, obstacle);
    }
    start_clock(k);
    struct status status =
        bench_backward(&k->gradients, &k->n_gradients, k->bench, &k->c.cotangents);
    stop_clock(k, &k->out->bench_s);
    if (status.code == STATUS_SKIP) return add_plain_row(k, true, VERDICT_SKIP, status.text);
    TRY(status);
    if (!k->n_gradients)
        return add_plain_row(k, true, VERDICT_SKIP,
                             "No argument is a tensor, so there is no gradient to check.");
    for (size_t i = 0; i < k->n_gradients; i++) {
        static const struct value none = { .kind = VALUE_NONE };
        bool has = i < k->got.gradients.list.count;
        const struct value *got = has ? &k->got.gradients.list.items[i] : &none;
        if (got->kind == VALUE_NONE && k->gradients[i].kind != BENCH_OUTPUT_NONE)
            TRY(add_plain_row(k, true, VERDICT_SKIP,
                              "The device has no gradient for this argument."));
        else TRY(judge_row(k, true, &k->gradients[i], got));
    }
    return status_ok();
}

/* The tensors of a call that failed, when the user asked for them. */
static struct status save_error_data(struct check *k)
{
    if (!k->setup->error_data) return status_ok();
    if (k->out->forward != VERDICT_ERROR && k->out->forward != VERDICT_WARNING &&
        k->out->backward != VERDICT_ERROR && k->out->backward != VERDICT_WARNING)
        return status_ok();
    const struct error_tensors tensors = {
        .c = &k->c,
        .bench = k->bench,
        .got = &k->got,
        .gradients = k->gradients,
        .n_gradients = k->n_gradients,
        .precision = &k->precision,
    };
    struct status status = error_data_save(k->setup->error_data, k->arena, &tensors);
    k->unsaved = status.code && status.code != STATUS_NO_MEMORY;
    return status;
}

/* The line itself. Up to bench_settle nothing has been written to the rows. */
static struct status check_call(struct check *k)
{
    const struct check_setup *setup = k->setup;

    start_clock(k);
    TRY(generate_inputs(&k->c, &k->input_notes, k->arena, setup->dump, &setup->generate));
    TRY(bench_open(&k->bench, &k->c, k->arena, BENCH_REFERENCE));
    stop_clock(k, &k->out->bench_s);

    start_clock(k);
    TRY(run_device(k));
    stop_clock(k, &k->out->device_s);

    TRY(bench_settle(k->bench, &k->got.outputs));
    if (profile_rules(setup->profile)->error_model) TRY(bench_model(k->bench));

    start_clock(k);
    TRY(judge_forward(k));
    stop_clock(k, &k->out->judge_s);
    TRY(judge_backward(k));
    return save_error_data(k);
}

/* ---- memory ----------------------------------------------------------------------------- */

/* Bytes the call reserves; SIZE_MAX when they cannot be counted. */
static size_t reservation(const struct check *k, size_t position)
{
    size_t total = generate_input_bytes(&k->c), json;
    if (!size_add(&total, total, bench_peak_bytes(&k->c)) ||
        !size_multiply(&json, dump_case_bytes(k->setup->dump, position), OVERHEAD_PER_JSON_BYTE) ||
        !size_add(&total, total, json) || !size_add(&total, total, OVERHEAD_BYTES))
        return SIZE_MAX;
    return total;
}

static struct status too_large(size_t bytes)
{
    return status_error(STATUS_SKIP,
                        "This call needs %zu bytes of memory, which is more than the budget: give "
                        "it with --memory. SKIP.",
                        bytes);
}

/* Run the call within `bytes` of memory. */
static struct status check_within(struct check *k, size_t bytes)
{
    struct memory_budget *budget = k->setup->budget;
    if (!memory_budget_take(budget, bytes)) {
        k->stopped = true;
        return status_ok();
    }
    k->arena->limit_bytes = bytes;
    take_slot(k);
    struct status status = check_call(k);
    return_slot(k);
    memory_budget_return(budget, bytes);
    return status;
}

/* ---- rows for what went wrong ----------------------------------------------------------- */

/* Everything the call has made or mapped, and what points to it. */
static void forget_case(struct check *k)
{
    dump_release_tensors(k->setup->dump, k->arena);
    arena_reset(k->arena);
    k->input_notes.count = 0;
    k->bench = NULL;
    k->got = (struct device_result){ 0 };
    k->gradients = NULL;
    k->n_gradients = 0;
    k->first_message[0] = k->first_message[1] = NULL;
}

static void clear_rows(struct check *k)
{
    case_outcome_clear(k->out);
    k->rows[0] = k->rows[1] = 0;
    k->first_message[0] = k->first_message[1] = NULL;
}

/* Failures of one call that leave the run whole. An `error` of the device is its own fault;
 * everything else says that we could not tell. */
static struct status add_failure_rows(struct check *k, const struct status *failure)
{
    clear_rows(k);
    bool device = failure->code == STATUS_DEVICE;
    k->out->internal_error = failure->code == STATUS_INTERNAL ||
                             failure->code == STATUS_BAD_ARGUMENT;
    TRY(add_plain_row(k, false, device ? VERDICT_ERROR : VERDICT_SKIP, failure->text));
    if (device && k->c.has_backward)
        TRY(add_plain_row(k, true, VERDICT_SKIP, "The device failed in the forward."));
    if (!device) k->out->backward = VERDICT_SKIP;
    return status_ok();
}

static struct status add_result_row(struct check *k)
{
    struct case_outcome *out = k->out;
    const char *cells[4] = { k->c.full_name, verdict_name(out->forward),
                             verdict_name(out->backward), NULL };
    if (out->forward == VERDICT_SKIP) cells[3] = k->first_message[0];
    else if (out->backward == VERDICT_SKIP) cells[3] = k->first_message[1];
    return csv_append_row(&out->result, cells, cells[3] ? 4 : 3);
}

/* The record of the call. Memory that is short for a moment is asked for once more. */
static struct status read_call(struct check *k, size_t position)
{
    struct status status = dump_read_case(&k->c, k->arena, k->setup->dump, position);
    if (status.code != STATUS_NO_MEMORY) return status;
    forget_case(k);
    return dump_read_case(&k->c, k->arena, k->setup->dump, position);
}

/* A call whose reservation did not suffice gets the whole budget before it is given up. */
static struct status check_admitted(struct check *k, size_t position)
{
    size_t bytes = reservation(k, position);
    uint64_t limit = k->setup->budget->limit_bytes;
    if (bytes > limit) return too_large(bytes);
    struct status status = check_within(k, bytes);
    if (status.code != STATUS_NO_MEMORY || k->stopped) return status;

    clear_rows(k);
    forget_case(k);
    TRY(read_call(k, position));
    status = check_within(k, limit);
    if (status.code != STATUS_NO_MEMORY) return status;
    forget_case(k);
    k->arena->limit_bytes = 0;
    TRY(read_call(k, position));
    return status_error(STATUS_SKIP,
                        "%s for this call, which had the whole budget: give more with "
                        "--memory. SKIP.",
                        status.text);
}

/* From the dump to the rows, whatever happens to the call. A dump that cannot be read is no
 * matter of one call. */
static struct status check_position(struct check *k, size_t position)
{
    struct status status = read_call(k, position);
    if (status.code == STATUS_BAD_INPUT || status.code == STATUS_IO || !k->c.full_name)
        return status;
    if (!status.code) status = api_lists_admit(k->setup->lists, &k->c);
    k->precision = (struct bench_precision){ .raised = DT_NONE };
    if (!status.code) {
        k->precision = precision_of_case(&k->c);
        status = check_admitted(k, position);
    }
    if (k->stopped) return status_ok();
    if (k->unsaved) return status; /* a full disk must not turn an error into a SKIP row */
    k->arena->limit_bytes = 0;
    if (status.code) TRY(add_failure_rows(k, &status));
    return add_result_row(k);
}

bool case_check(struct case_outcome *out, struct check_worker *worker, size_t position)
{
    struct check k = {
        .setup = worker->setup,
        .worker = worker,
        .arena = &worker->arena,
        .out = out,
        .rounding = -1,
    };
    case_outcome_clear(out);
    worker->arena.limit_bytes = 0;
    out->fatal = check_position(&k, position);
    forget_case(&k);
    return !k.stopped;
}

/* ---- outcomes --------------------------------------------------------------------------- */

static void release_notes(struct case_outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_notes; i++) {
        memory_release(outcome->notes[i].name);
        memory_release(outcome->notes[i].message);
    }
    outcome->n_notes = 0;
}

void case_outcome_clear(struct case_outcome *outcome)
{
    release_notes(outcome);
    csv_buffer_clear(&outcome->details);
    csv_buffer_clear(&outcome->result);
    csv_buffer_clear(&outcome->evidence);
    outcome->fatal = status_ok();
    outcome->internal_error = false;
    outcome->forward = outcome->backward = VERDICT_BLANK;
    outcome->references = (struct reference_use){ 0, 0, 0, 0 };
    outcome->bench_s = outcome->device_s = outcome->judge_s = 0;
}

void case_outcome_release(struct case_outcome *outcome)
{
    release_notes(outcome);
    memory_release(outcome->notes);
    csv_buffer_release(&outcome->details);
    csv_buffer_release(&outcome->result);
    csv_buffer_release(&outcome->evidence);
    *outcome = (struct case_outcome){ .n_notes = 0 };
}
