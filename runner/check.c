/* A call read, admitted to memory and checked, and what becomes of one that leaves the line: a stage that fails
 * hands back why, and one place turns that into rows. */
#include "runner/check.h"

#include "core/checked.h"
#include "core/quantity.h"
#include "diagnosis/diagnosis.h"
#include "runner/check_rows.h"
#include "runner/check_second.h"
#include "runner/check_stages.h"
#include "runner/dump_framework.h"
#include "runner/precision.h"
#include "standards/row_layout.h"
#include "variation/tile_sizes.h"

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

/* What two more evaluations take, those of the error model, or as much of it as there is: less may do, and a call that runs short is
 * checked twice. */
static size_t bytes_of_models(const struct check *k, size_t most)
{
    enum { MODELS = 2 };
    size_t bytes = bench_peak_bytes(&k->call.c);
    if (!profile_rules(k->setup->style.profile)->error_model) return 0;
    if (!size_multiply(&bytes, bytes, k->second ? 2 * MODELS : MODELS)) return most;
    return bytes < most ? bytes : most;
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
    check_take_slot(k->setup);
    struct ending ending = check_stages(k);
    if (!ending.status.code && k->second) check_second(k);
    check_return_slot(k->setup);
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
    bytes += bytes_of_models(k, limit - bytes);
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
    TRY(check_add_plain_row(k, false, device ? VERDICT_ERROR : VERDICT_SKIP, cause,
                            failure->status.text));
    if (device && k->call.c.has_backward)
        TRY(check_add_plain_row(k, true, VERDICT_SKIP, CAUSE_DEVICE_FAILED,
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
