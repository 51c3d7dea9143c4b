/* The call is checked twice: which row fails is known only after the first time. */
#include "repro/fault.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_write.h"
#include "formats/text_out.h"
#include "results/row_print.h"
#include "standards/element_limits.h"

/* ---- what is kept ----------------------------------------------------------------------- */

/* The elements of a flat list of outputs. */
static struct status keep_outputs(struct value *out, struct arena *arena, const struct value *list)
{
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.items = arena_allocate_zeroed(arena, list->list.count, sizeof *out->list.items);
    if (!out->list.items) return status_no_memory(0);
    out->list.count = list->list.count;
    for (size_t i = 0; i < list->list.count; i++) {
        const struct value *value = &list->list.items[i];
        struct tensor *copy = arena_allocate(arena, sizeof *copy), dense;
        if (!copy) return status_no_memory(sizeof *copy);
        if (value->kind != VALUE_TENSOR) continue; /* kernels return tensors */
        TRY(tensor_densify(&dense, arena, value->tensor.tensor));
        TRY(tensor_create(copy, arena, dense.dtype, dense.rank, dense.shape));
        memcpy(copy->data, dense.data, tensor_elements(&dense) * dtype_info(dense.dtype)->bytes);
        out->list.items[i] = (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = copy } };
    }
    return status_ok();
}

static void *keep(struct arena *arena, const void *data, size_t bytes)
{
    void *copy = arena_allocate(arena, bytes);
    if (copy && bytes) memcpy(copy, data, bytes);
    return copy;
}

static struct status keep_values(struct fault *fault, struct arena *scratch,
                                 const struct tensor *got, const struct reference *want)
{
    struct element_limits limits;
    TRY(element_limits_measure(&limits, scratch, got, want));
    fault->dtype = got->dtype;
    fault->rank = got->rank;
    memcpy(fault->shape, got->shape, sizeof fault->shape);
    fault->n = limits.n;
    fault->wrong = limits.wrong;
    fault->allowed = keep(&fault->arena, limits.allowed, limits.n * sizeof *limits.allowed);
    if (want->integer)
        fault->integers = keep(&fault->arena, want->integer, limits.n * sizeof *want->integer);
    else fault->want = keep(&fault->arena, want->hi, limits.n * sizeof *want->hi);
    if (!fault->allowed || (!fault->want && !fault->integers)) return status_no_memory(0);
    /* What a double does not hold of the reference counts as allowed. */
    for (size_t i = 0; want->lo && i < limits.n; i++) fault->allowed[i] += fabs(want->lo[i]);
    fault->has_values = true;
    return status_ok();
}

/* Gradients with what a right kernel may be off by: that has to be known before they are made. */
static struct status model_gradients(struct call_tensors *tensors, struct arena *arena)
{
    struct bench_output *gradients;
    TRY(bench_open(&tensors->bench, tensors->c, arena, BENCH_REFERENCE));
    TRY(bench_settle(tensors->bench, &tensors->got->outputs));
    TRY(bench_model(tensors->bench));
    TRY(bench_backward(&gradients, &tensors->n_gradients, tensors->bench, &tensors->c->cotangents));
    tensors->gradients = gradients;
    return status_ok();
}

/* What a right kernel may be off by: a verdict need not have asked for it. */
static struct status add_model(struct call_tensors *tensors, struct arena *arena, bool backward)
{
    struct status status = backward ? model_gradients(tensors, arena) : bench_model(tensors->bench);
    return status.code == STATUS_SKIP ? status_ok() : status;
}

static struct status look(void *context, struct arena *arena, const struct call_tensors *tensors)
{
    struct fault *fault = context;
    const struct reference *want;
    const struct tensor *got;
    if (!fault->failure.row) return status_ok(); /* it is not known yet */
    struct call_tensors modelled = *tensors;
    TRY(add_model(&modelled, arena, fault->failure.backward));
    if (call_tensors_row(&want, &got, &modelled, fault->failure.backward, fault->failure.index))
        TRY(keep_values(fault, arena, got, want));
    return keep_outputs(&fault->outputs, &fault->arena, &tensors->got->outputs);
}

/* {"name":ROW, and the rest: how the line of a row begins. */
static struct status line_start(struct text_out *out, const char *row)
{
    text_out_string(out, "{\"name\":");
    TRY(out->status);
    TRY(json_append_string(&out->text, row, strlen(row)));
    text_out_string(out, ",");
    return out->status;
}

static struct status print_row(FILE *out, const struct csv_buffer *evidence,
                               const struct csv_buffer *start)
{
    const char *line = evidence->data, *end = line + evidence->length;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        bool is_row = length > start->length && !memcmp(line, start->data, start->length);
        if (is_row) return row_print(out, line, length, NULL);
        line += length + 1;
    }
    return status_ok();
}

/* The line of the row in the evidence, as text. */
static struct status keep_evidence(struct fault *fault, const struct case_outcome *outcome)
{
    char *text = NULL;
    size_t bytes = 0;
    struct text_out start = { .status.code = STATUS_OK };
    FILE *memory = open_memstream(&text, &bytes);
    struct status status = memory ? line_start(&start, fault->failure.row) : status_no_memory(0);
    if (!status.code) status = print_row(memory, &outcome->evidence, &start.text);
    if (memory) (void)fclose(memory);
    if (!status.code) fault->evidence = arena_copy_string(&fault->arena, text);
    csv_buffer_release(&start.text);
    free(text);
    return status.code || fault->evidence ? status : status_no_memory(bytes);
}

/* ---- the call --------------------------------------------------------------------------- */

static struct status check(struct case_outcome *outcome, struct fault *fault)
{
    if (!case_check(outcome, one_call_checker(&fault->call), fault->call.position))
        return status_error(STATUS_INTERNAL, "the check was stopped");
    return outcome->fatal;
}

static struct status say_why(const char **why, struct fault *fault,
                             const struct case_outcome *outcome, const char *name)
{
    bool judged = verdict_is_judgement(outcome->forward) || verdict_is_judgement(outcome->backward);
    fault->judged = judged;
    *why = judged ? arena_format(&fault->arena, "%s passes: there is nothing to reproduce", name)
                  : arena_format(&fault->arena, "%s is not judged: %s", name,
                                 outcome->n_notes ? outcome->notes[0].sentence : "");
    return *why ? status_ok() : status_no_memory(0);
}

/* Once to find the row, once more to keep it. */
static struct status examine(struct fault *fault, struct case_outcome *outcome, bool *fails,
                             const char **why, const char *name)
{
    TRY(check(outcome, fault));
    TRY(failure_find(&fault->failure, fails, &fault->arena, outcome, name));
    if (!*fails) return say_why(why, fault, outcome, name);
    TRY(check(outcome, fault));
    *fails = failure_is_in(&fault->failure, outcome);
    if (*fails) return keep_evidence(fault, outcome);
    *why = "the call failed once and then passed: shrink it with --repeat N first";
    return status_ok();
}

struct status fault_open(struct fault *out, bool *fails, const char **why,
                         const struct run_options *options, const char *name)
{
    struct case_outcome outcome = { 0 };
    *out = (struct fault){ .dtype = DT_NONE };
    *fails = false;
    *why = NULL;
    TRY(one_call_open(&out->call, options, name));
    out->call.setup.watch = (struct call_watch){ look, out };
    struct status status = one_call_read(&out->c, &out->arena, &out->call);
    if (status.code == STATUS_SKIP) status.code = STATUS_BAD_INPUT; /* there is no other call */
    if (!status.code) status = examine(out, &outcome, fails, why, name);
    case_outcome_release(&outcome);
    return status;
}

void fault_close(struct fault *fault)
{
    one_call_close(&fault->call);
    arena_release(&fault->arena);
}

bool fault_is_of_device(const struct fault *fault)
{
    return fault->failure.cause == CAUSE_DEVICE_FAILED;
}
