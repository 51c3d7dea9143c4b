/* The recorded device: the outputs that a real-data dump stores are what the device returned.
 *
 * Forward outputs are the stored tensors and the recorded scalars. Gradients need care: a dump
 * may hold those of the last autograd node instead of the call's own (a 3-D linear recorded as
 * its flattened mm, a batch_norm without its running statistics). They are used when the dump
 * says that they belong to the arguments, or when PyTorch runs the call as one autograd node, and
 * their shapes match, in order, all tensor arguments or those that require a gradient; for the
 * latter, nulls in the list stand for inputs that are no tensors and are passed over.
 */
#include <string.h>

#include "bench/bench.h"
#include "core/memory.h"
#include "generators/generate.h"
#include "runner/devices/device_classes.h"

static struct status recorded_open(struct device **out, const struct device_options *options)
{
    (void)options;
    struct device *recorded = memory_allocate_zeroed(1, sizeof *recorded);
    if (!recorded) return status_no_memory(sizeof *recorded);
    recorded->class = &device_recorded;
    *out = recorded;
    return status_ok();
}

/* ---- outputs ---------------------------------------------------------------------------- */

static size_t count_leaves(const struct value *value)
{
    if (value->kind != VALUE_LIST && value->kind != VALUE_DICT) return 1;
    size_t count = 0;
    for (size_t i = 0; i < value->list.count; i++) count += count_leaves(&value->list.items[i]);
    return count;
}

/* The leaves of a value, depth-first. */
static void flatten(struct value *items, size_t *used, const struct value *value)
{
    if (value->kind != VALUE_LIST && value->kind != VALUE_DICT) {
        items[(*used)++] = *value;
        return;
    }
    for (size_t i = 0; i < value->list.count; i++) flatten(items, used, &value->list.items[i]);
}

static struct status flat_list(struct value *out, struct arena *arena, const struct value *nested)
{
    size_t count = count_leaves(nested);
    struct value *items = arena_allocate_zeroed(arena, count, sizeof *items);
    if (!items) return status_no_memory(count * sizeof *items);
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.items = items;
    flatten(items, &out->list.count, nested);
    return status_ok();
}

/* What the recorder could not encode, and a tensor whose elements are not in the dump, cannot be judged. */
static struct status check_stored(const struct value *list, const char *what)
{
    for (size_t i = 0; i < list->list.count; i++) {
        const struct value *value = &list->list.items[i];
        if (value->kind == VALUE_UNSUPPORTED)
            return status_error(STATUS_SKIP, "The %s %zu of this call is recorded as %.120s.", what,
                                i, value->string);
        if (value->kind == VALUE_TENSOR && !value->tensor.tensor)
            return status_error(STATUS_SKIP, "The dump does not store %s %zu of this call.", what,
                                i);
    }
    return status_ok();
}

/* ---- gradients -------------------------------------------------------------------------- */

struct argument_list {
    const struct tensor_record **records;
    size_t count;
};

static bool collect_record(struct value *tensor, void *context)
{
    struct argument_list *list = context;
    list->records[list->count++] = tensor->tensor.record;
    return true;
}

/* Tensor arguments, args then kwargs, depth-first. */
static struct status tensor_arguments(struct argument_list *out, struct arena *arena,
                                      const struct api_case *c)
{
    size_t count = value_count_tensors(&c->args) + value_count_tensors(&c->kwargs);
    struct value args = c->args, kwargs = c->kwargs;
    out->count = 0;
    out->records = arena_allocate_zeroed(arena, count, sizeof *out->records);
    if (!out->records) return status_no_memory(count * sizeof *out->records);
    (void)value_each_tensor(&args, collect_record, out);
    (void)value_each_tensor(&kwargs, collect_record, out);
    return status_ok();
}

static bool same_shape(const struct tensor_record *a, const struct tensor_record *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]);
}

/* A recorded list without its nulls: an autograd node also lists None for the inputs of it that
 * are no tensors with a gradient, such as a missing bias or the number in x * 2. */
static struct status without_nulls(struct value *out, struct arena *arena,
                                   const struct value *recorded)
{
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.items = arena_allocate_array(arena, recorded->list.count, sizeof *out->list.items);
    if (!out->list.items) return status_no_memory(0);
    for (size_t i = 0; i < recorded->list.count; i++)
        if (recorded->list.items[i].kind != VALUE_NONE)
            out->list.items[out->list.count++] = recorded->list.items[i];
    return status_ok();
}

/* Deal the recorded gradients to the arguments: to all, or only to those that require one. */
static bool deal_gradients(struct value *dealt, const struct argument_list *arguments,
                           const struct value *recorded, bool only_required)
{
    size_t next = 0;
    for (size_t i = 0; i < arguments->count; i++) {
        dealt[i] = (struct value){ .kind = VALUE_NONE };
        if (only_required && !arguments->records[i]->requires_grad) continue;
        if (next == recorded->list.count) return false;
        const struct value *gradient = &recorded->list.items[next++];
        if (gradient->kind == VALUE_NONE) continue;
        if (gradient->kind != VALUE_TENSOR ||
            !same_shape(gradient->tensor.record, arguments->records[i]))
            return false;
        dealt[i] = *gradient;
    }
    return next == recorded->list.count;
}

/* The floating ones of the recorded list, in order, to the arguments that have a gradient; whatever
 * their shape, for that is judged. */
static void deal_in_order(struct value *dealt, const struct argument_list *arguments,
                          const struct value *recorded)
{
    size_t next = 0;
    for (size_t i = 0; i < arguments->count; i++) {
        dealt[i] = (struct value){ .kind = VALUE_NONE };
        if (!arguments->records[i]->requires_grad) continue;
        while (next < recorded->list.count) {
            const struct value *gradient = &recorded->list.items[next++];
            if (gradient->kind != VALUE_TENSOR || !dtype_is_float(gradient->tensor.record->dtype))
                continue;
            dealt[i] = *gradient;
            break;
        }
    }
}

/* A linear of a matrix with a bias runs as addmm(bias, input, weight transposed), one node, whose
 * recorded gradients come in that order. */
static bool deal_addmm(struct value *dealt, struct arena *arena, const struct api_case *c,
                       const struct argument_list *arguments, const struct value *recorded)
{
    if (strcmp(c->api, "linear") != 0 || arguments->count != 3 || recorded->list.count != 3)
        return false;
    const struct value *bias = &recorded->list.items[0], *input = &recorded->list.items[1],
                       *weight = &recorded->list.items[2];
    for (int i = 0; i < 3; i++)
        if (recorded->list.items[i].kind != VALUE_TENSOR || !recorded->list.items[i].tensor.tensor)
            return false;
    if (arguments->records[0]->rank != 2 || arguments->records[1]->rank != 2 ||
        weight->tensor.record->rank != 2 ||
        !same_shape(bias->tensor.record, arguments->records[2]) ||
        !same_shape(input->tensor.record, arguments->records[0]))
        return false;
    struct tensor *turned = arena_allocate(arena, sizeof *turned);
    if (!turned) return false;
    *turned = *weight->tensor.tensor;
    for (int d = 0; d < 2; d++) {
        turned->shape[d] = weight->tensor.tensor->shape[1 - d];
        turned->stride[d] = weight->tensor.tensor->stride[1 - d];
        if (turned->shape[d] != arguments->records[1]->shape[d]) return false;
    }
    dealt[0] = *input;
    dealt[1] = *weight;
    dealt[1].tensor.tensor = turned;
    dealt[2] = *bias;
    return true;
}

static struct status take_gradients(struct value *out, struct arena *arena,
                                    const struct api_case *c)
{
    struct argument_list arguments;
    struct value recorded;

    TRY(flat_list(&recorded, arena, &c->gradients));
    if (!recorded.list.count)
        return status_error(STATUS_SKIP, "The dump has no recorded gradients of this call.");
    TRY(tensor_arguments(&arguments, arena, case_as_recorded(c)));
    struct value *dealt = arena_allocate_zeroed(arena, arguments.count, sizeof *dealt);
    if (!dealt) return status_no_memory(arguments.count * sizeof *dealt);
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.items = dealt;
    out->list.count = arguments.count;
    const struct framework *framework = case_as_recorded(c)->framework;
    if (framework && framework->gradients_of_floating_arguments) {
        deal_in_order(dealt, &arguments, &recorded);
        return check_stored(out, "gradient");
    }
    if (!c->gradients_of_arguments && deal_addmm(dealt, arena, c, &arguments, &recorded))
        return status_ok();
    if (!c->gradients_of_arguments && !bench_is_one_autograd_node(c))
        return status_error(STATUS_SKIP,
                            "PyTorch runs this call as several autograd nodes, so the recorded "
                            "gradients may be those of the last node and not of the arguments.");
    struct value present;
    TRY(without_nulls(&present, arena, &recorded));
    if (!deal_gradients(dealt, &arguments, &recorded, false) &&
        !deal_gradients(dealt, &arguments, &recorded, true) &&
        !deal_gradients(dealt, &arguments, &present, true))
        return status_error(STATUS_SKIP,
                            "The recorded gradients do not match the tensor arguments in number "
                            "and shape, so they are not those of the arguments.");
    return check_stored(out, "gradient");
}

/* ---- the device ------------------------------------------------------------------------- */

static bool only_none(const struct value *list)
{
    for (size_t i = 0; i < list->list.count; i++)
        if (list->list.items[i].kind != VALUE_NONE) return false;
    return true;
}

static bool writes_its_self(const struct api_case *c)
{
    return !strcmp(c->api, "__setitem__") || !strcmp(c->api, "__delitem__");
}

/* Whose answer is how a tensor lies in memory: what was recorded of the argument is a copy, which need not lie
 * as it did. */
static bool asks_for_memory(const struct api_case *c)
{
    static const char *const names[] = { "stride",         "sym_stride",
                                         "storage_offset", "sym_storage_offset",
                                         "is_contiguous",  "data_ptr" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(c->api, names[i])) return true;
    return false;
}

static struct status recorded_run(struct device *device, struct device_result *out,
                                  struct arena *arena, const struct api_case *c,
                                  bool want_gradients)
{
    (void)device;
    struct api_case loaded = *c;

    *out = (struct device_result){ .gradients = { .kind = VALUE_NONE } };
    if (asks_for_memory(c))
        return status_error(STATUS_SKIP, "This call asks how its argument lies in memory, and what "
                                         "was recorded of it is a copy.");
    if (!c->outputs.list.count)
        return status_error(STATUS_SKIP, "The dump has no recorded outputs of this call.");
    TRY(generate_load_outputs(&loaded, arena, c->source));
    TRY(flat_list(&out->outputs, arena, &loaded.outputs));
    TRY(check_stored(&out->outputs, "output"));
    if (only_none(&out->outputs) && writes_its_self(c))
        return status_error(STATUS_SKIP,
                            "This call changes its first argument and returns None; the dump does "
                            "not store what it became.");
    if (!want_gradients) return status_ok();
    out->backward = generate_load_gradients(&loaded, arena, c->source);
    if (!out->backward.code) out->backward = take_gradients(&out->gradients, arena, &loaded);
    if (out->backward.code) out->gradients.kind = VALUE_NONE;
    return out->backward.code == STATUS_NO_MEMORY ? out->backward : status_ok();
}

static void recorded_close(struct device *device) { memory_release(device); }

const struct device_class device_recorded = {
    .name = "recorded",
    .needs_stored_outputs = true,
    .open = recorded_open,
    .run = recorded_run,
    .close = recorded_close,
};
