/* Running a call on a tape, and the walk back from its results to its arguments. */
#include "bench/evaluation.h"

#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/cotangent.h"
#include "bench/tape/bounds.h"

/* ---- forward -------------------------------------------------------------------------------- */

static bool add_leaf(struct value *value, void *context)
{
    struct call *call = context;
    call->arguments.leaves[call->arguments.leaf_count++] = (struct leaf){ value, NULL };
    return true;
}

struct status evaluation_open(struct evaluation *evaluation)
{
    struct call *call = &evaluation->call;
    const struct api_case *c = case_as_recorded(call->api_case);
    size_t total = value_count_tensors(&c->args) + value_count_tensors(&c->kwargs);
    call->arguments.leaves =
        arena_allocate_zeroed(evaluation->arena, total, sizeof *call->arguments.leaves);
    call->arguments.leaf_count = 0;
    if (!call->arguments.leaves) return status_no_memory(0);
    struct value args = c->args, kwargs = c->kwargs; /* lists: the copies share their items */
    (void)value_each_tensor(&args, add_leaf, call);
    (void)value_each_tensor(&kwargs, add_leaf, call);
    return status_ok();
}

/* Does the call cast its arguments to a float of at most 24 bits before it computes? */
static bool casts_to_narrow(struct call *call)
{
    enum dtype dtype = DT_NONE;
    if (call->op->flags & OP_CASTS_FIRST && !call_is_none(call, "dtype"))
        dtype = call_dtype(call, "dtype");
    if (call->op->flags & OP_CASTS_INPUT && call->arguments.leaf_count) {
        const struct value *last = call->arguments.leaves[call->arguments.leaf_count - 1].value;
        if (last->tensor.tensor) dtype = last->tensor.tensor->dtype;
    }
    return dtype != DT_NONE && dtype_is_float(dtype) && dtype_info(dtype)->significand_bits <= 24;
}

/* Does the call work in float64? A 0-d tensor is a number beside tensors of other floats, which decide: so
 * autograd passes on a Python number. */
static bool works_wide(struct call *call)
{
    if (casts_to_narrow(call)) return false;
    bool wide = false, number = false, narrow = false;
    for (size_t i = 0; i < call->arguments.leaf_count; i++) {
        const struct tensor *tensor = call->arguments.leaves[i].value->tensor.tensor;
        if (!tensor || dtype_info(tensor->dtype)->kind < KIND_FLOAT) continue;
        bool is_wide = tensor->dtype == DT_F64 || tensor->dtype == DT_C128;
        if (!tensor->rank) number = number || is_wide;
        else if (is_wide) wide = true;
        else narrow = true;
    }
    if (wide || (number && !narrow)) return true;
    const struct value *outputs = &call->api_case->outputs;
    const struct value *first =
        outputs->kind == VALUE_LIST && outputs->list.count ? outputs->list.items : NULL;
    return first && first->kind == VALUE_TENSOR && first->tensor.record &&
           (first->tensor.record->dtype == DT_F64 || first->tensor.record->dtype == DT_C128);
}

struct status evaluation_forward(struct evaluation *evaluation)
{
    struct call *call = &evaluation->call;
    tape_open(&evaluation->tape, evaluation->arena, evaluation->arithmetic,
              evaluation->in_double || (works_wide(call) && !evaluation->narrow));
    evaluation->tape.deviation = evaluation->deviation;
    evaluation->tape.help = call->api_case->help;
    if (evaluation->stage != DT_NONE) {
        evaluation->tape.stage = ldexp(1, -dtype_info(evaluation->stage)->significand_bits);
        evaluation->tape.stage_tiny = dtype_ulp(evaluation->stage, 0) / 2;
        evaluation->tape.stage_largest = dtype_info(evaluation->stage)->largest;
    }
    evaluation->tape.modes = evaluation->modes;
    evaluation->tape.twin = evaluation->twin ? &evaluation->twin->tape : NULL;
    bool flushes = evaluation->modes && evaluation->modes->allowed[KERNEL_FTZ];
    if (flushes && !evaluation->tape.wide)
        evaluation->tape.tiny = ldexp(1, dtype_info(DT_F32)->exponent_min);
    call->tape = &evaluation->tape;
    call->results.items = NULL;
    call->results.gradient_property = NULL;
    call->results.gradient_context = NULL;
    call->results.count = call->results.capacity = 0;
    for (size_t i = 0; i < call->arguments.leaf_count; i++) call->arguments.leaves[i].node = NULL;
    call->op->run(call);
    return evaluation->tape.status;
}

/* ---- backward ------------------------------------------------------------------------------- */

/* Give result k its cotangent; one of float64 is rounded by a kernel that works in float32. */
static struct status seed_result(struct tape *tape, const struct result *result, size_t k,
                                 const struct tensor *cotangent, bool rounds)
{
    struct node *node = result->node, *seed = node_leaf(tape, cotangent, false);
    model_flushes(tape, seed);
    TRY(tape->status);
    if (seed->rank != node->rank ||
        memcmp(seed->shape, node->shape, (size_t)seed->rank * sizeof *seed->shape)) {
        char have[128], want[128];
        shape_format(have, sizeof have, seed->rank, seed->shape);
        shape_format(want, sizeof want, node->rank, node->shape);
        return status_error(STATUS_SKIP,
                            "the recorded gradient of output %zu has shape %s, the output %s", k,
                            have, want);
    }
    if (node->integer) return status_ok();
    seed = node_to_real(tape, seed);
    if (rounds) seed = node_model_error(tape, seed, seed, tape_is_typical(tape) ? 2.4 : 1);
    tape_accumulate(tape, node, seed);
    return status_ok();
}

struct status evaluation_backward(struct evaluation *evaluation, const struct value *cotangents)
{
    struct call *call = &evaluation->call;
    bool any = false;

    if (!op_has_gradient(call->op, call->in_place))
        return status_error(STATUS_SKIP, "%s has no gradient", call->api_case->full_name);
    for (size_t k = 0; k < call->results.count && k < cotangents->list.count; k++) {
        const struct value *value = &cotangents->list.items[k];
        if (value->kind != VALUE_TENSOR || !value->tensor.tensor || !call->results.items[k].node)
            continue;
        TRY(seed_result(&evaluation->tape, &call->results.items[k], k, value->tensor.tensor,
                        evaluation->narrow));
        any = true;
    }
    if (!any) return status_error(STATUS_SKIP, "there is no cotangent for any output");
    tape_backward(&evaluation->tape);
    return evaluation->tape.status;
}

struct node *evaluation_gradient(struct evaluation *evaluation, size_t i)
{
    struct tape *tape = &evaluation->tape;
    struct node *node = evaluation->call.arguments.leaves[i].node;
    if (!node || !node->tracked) return NULL;
    return node_gradient(tape, node);
}
