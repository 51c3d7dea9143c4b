/* Steps of a manifest, argument by argument, as records of the program. */
#include "runner/devices/plugin/plugin_emit.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "runner/devices/tensor_layout.h"

/* --- slots -------------------------------------------------------------------------------------- */

/* Slots of a wrapper belong to one use of it: their names get its number. */
static const char *slot_name(const struct binding *b, const char *name, size_t number)
{
    return number ? arena_format(b->arena, "%zu/%s", number, name) : name;
}

/* Is this what slot_name makes of the name? */
static bool is_own_slot(const char *slot, const char *name, size_t number)
{
    char prefix[24] = "";
    if (number) (void)snprintf(prefix, sizeof prefix, "%zu/", number);
    size_t length = strlen(prefix);
    return !strncmp(slot, prefix, length) && !strcmp(slot + length, name);
}

static bool find_slot(uint64_t *out, const struct binding *b, const char *name)
{
    for (size_t i = 0; i < b->n_slots; i++) {
        if (!b->slots[i] ||
            (!is_own_slot(b->slots[i], name, b->scope_number) && strcmp(b->slots[i], name)))
            continue;
        *out = i;
        return true;
    }
    return false;
}

/* The slot of a name, made when there is none. */
static struct status define_slot(uint64_t *out, struct binding *b, const cJSON *node,
                                 const char *name)
{
    for (size_t i = 0; i < b->n_slots; i++) {
        if (!b->slots[i] || !is_own_slot(b->slots[i], name, b->scope_number)) continue;
        *out = i;
        return status_ok();
    }
    const char *own = slot_name(b, name, b->scope_number);
    if (!own) return status_no_memory(0);
    size_t limit = b->function ? PROGRAM_SLOTS : SESSION_SLOTS;
    if (b->n_slots >= limit) return BINDING_FAULT(b, node, "more than %zu slots", limit);
    b->slots[b->n_slots] = own;
    *out = b->n_slots++;
    return status_ok();
}

/* --- tensors as addresses -------------------------------------------------------------------------- */

static const struct binding_output *output_of(const struct binding *b, const struct tensor *tensor)
{
    for (size_t i = 0; i < b->n_outputs; i++)
        if (&b->outputs[i].tensor == tensor) return &b->outputs[i];
    return NULL;
}

static bool is_placed_so(const struct binding_placed *p, const struct binding_placed *wanted)
{
    size_t rank = (size_t)wanted->rank;
    return p->tensor == wanted->tensor && p->dtype == wanted->dtype && p->rank == wanted->rank &&
           !memcmp(p->shape, wanted->shape, rank * sizeof *p->shape) &&
           !memcmp(p->axes, wanted->axes, rank * sizeof *p->axes);
}

/* Place an input in the wanted form, once. */
static struct status place(struct binding *b, struct binding_placed *wanted)
{
    for (size_t i = 0; i < b->n_placed; i++) {
        if (!is_placed_so(&b->placed[i], wanted)) continue;
        wanted->offset = b->placed[i].offset;
        return status_ok();
    }
    struct space_buffer *buffer;
    size_t n = 0, bytes;
    char label[SPACE_LABEL];
    if (b->n_placed == BINDING_PLACED)
        return status_error(STATUS_SKIP, "the call has more than %d tensors", BINDING_PLACED);
    /* The shape is the tensor's own, an output's, or one that expression_as_shape has let pass. */
    bool counted = shape_elements(&n, wanted->rank, wanted->shape);
    assert(counted);
    (void)counted;
    if (!size_multiply(&bytes, n, dtype_info(wanted->dtype)->bytes))
        return status_error(STATUS_SKIP, "a tensor is too large");
    binding_label(label, sizeof label, b, wanted->tensor);
    TRY(space_place(b->space, &buffer, SPACE_INPUT, label, bytes));
    TRY(layout_store(space_at(b->space, buffer->offset), wanted->dtype, wanted->rank, wanted->shape,
                     wanted->axes, wanted->tensor, b->arena));
    wanted->offset = buffer->offset;
    b->placed[b->n_placed++] = *wanted;
    return status_ok();
}

static bool can_convert(enum dtype from, enum dtype to)
{
    return from == to || !dtype_is_complex(from) || dtype_is_complex(to);
}

/* Where the elements of a tensor are, in the form the argument asks for. */
static struct status locate(uint64_t *offset, struct binding *b, const struct manifest_argument *a,
                            const struct tensor *tensor)
{
    const struct binding_output *output = output_of(b, tensor);
    if (output) {
        if (a->cast || a->axes || a->broadcast)
            return BINDING_FAULT(b, a->node, "an output says its dtype and axes itself");
        *offset = output->buffer->offset;
        return status_ok();
    }
    struct binding_placed wanted = { .tensor = tensor,
                                     .dtype = tensor->dtype,
                                     .rank = tensor->rank };
    memcpy(wanted.shape, tensor->shape, (size_t)tensor->rank * sizeof *wanted.shape);
    if (a->cast) TRY(binding_dtype(&wanted.dtype, b, a->node, a->cast));
    if (!can_convert(tensor->dtype, wanted.dtype))
        return BINDING_FAULT(b, a->node, "complex numbers cannot be cast to real ones");
    if (a->broadcast)
        TRY(binding_located(
            b, a->node, expression_as_shape(wanted.shape, &wanted.rank, &b->scope, a->broadcast)));
    if (!layout_broadcasts(tensor->rank, tensor->shape, wanted.rank, wanted.shape))
        return BINDING_FAULT(b, a->node, "the tensor does not broadcast to the wanted shape");
    TRY(binding_axes(wanted.axes, b, a->node, a->axes, wanted.rank));
    TRY(place(b, &wanted));
    *offset = wanted.offset;
    return status_ok();
}

/* --- arguments by role --------------------------------------------------------------------------- */

static struct status set_number(uint64_t *bits, const struct binding *b, const cJSON *node,
                                enum program_type type, const struct expression_value *value)
{
    static const struct {
        int64_t least, most;
        /* clang-format off */
    } ranges[TYPE_COUNT] = {
        [TYPE_I8] = { INT8_MIN, INT8_MAX },   [TYPE_U8] = { 0, UINT8_MAX },
        [TYPE_I16] = { INT16_MIN, INT16_MAX }, [TYPE_U16] = { 0, UINT16_MAX },
        [TYPE_I32] = { INT32_MIN, INT32_MAX }, [TYPE_U32] = { 0, UINT32_MAX },
        [TYPE_I64] = { INT64_MIN, INT64_MAX }, [TYPE_U64] = { 0, INT64_MAX },
    };
    /* clang-format on */
    bool is_real = value->kind == EXPRESSION_FLOAT;
    if (!is_real && value->kind != EXPRESSION_INT && value->kind != EXPRESSION_BOOL)
        return BINDING_FAULT(b, node, "the value is not a number");
    int64_t integer = is_real                          ? 0
                      : value->kind == EXPRESSION_BOOL ? value->boolean
                                                       : value->integer;
    double real = is_real ? value->real : (double)integer;
    *bits = 0;
    if (type == TYPE_F64) {
        memcpy(bits, &real, sizeof real);
        return status_ok();
    }
    if (type == TYPE_F32) {
        float narrow = (float)real;
        memcpy(bits, &narrow, sizeof narrow);
        return status_ok();
    }
    if (is_real)
        return BINDING_FAULT(b, node, "an integer is expected, not %g; int(...) cuts", real);
    if (type == TYPE_POINTER || type == TYPE_VOID)
        return BINDING_FAULT(b, node, "a number cannot have this type");
    if (integer < ranges[type].least || integer > ranges[type].most)
        return BINDING_FAULT(b, node, "%lld does not fit %s", (long long)integer,
                             program_type_info(type)->name);
    memcpy(bits, &integer, sizeof integer);
    return status_ok();
}

static struct status emit_scalar(struct program_argument *out, struct binding *b,
                                 const struct manifest_argument *a)
{
    struct expression_value value;
    TRY(binding_located(b, a->node, expression_evaluate(&value, &b->scope, a->text)));
    return set_number(&out->bits, b, a->node, a->type, &value);
}

static struct status emit_data(struct program_argument *out, struct binding *b,
                               const struct manifest_argument *a)
{
    const struct tensor *tensor;
    TRY(binding_located(b, a->node, expression_as_tensor(&tensor, &b->scope, a->text)));
    if (!tensor) return status_ok(); /* None is a null pointer */
    out->kind = ARGUMENT_SPACE;
    return locate(&out->bits, b, a, tensor);
}

static struct status emit_data_list(struct program_argument *out, struct binding *b,
                                    const struct manifest_argument *a)
{
    struct expression_value list;
    TRY(binding_located(b, a->node, expression_evaluate(&list, &b->scope, a->text)));
    if (list.kind != EXPRESSION_LIST)
        return BINDING_FAULT(b, a->node, "a list of tensors is expected");
    uint64_t *offsets = arena_allocate_array(b->arena, list.list.count, sizeof *offsets);
    if (!offsets) return status_no_memory(list.list.count * sizeof *offsets);
    for (size_t i = 0; i < list.list.count; i++) {
        offsets[i] = PROGRAM_NOTHING;
        if (list.list.items[i].kind == EXPRESSION_NONE) continue;
        if (list.list.items[i].kind != EXPRESSION_TENSOR)
            return BINDING_FAULT(b, a->node, "a list of tensors is expected");
        TRY(locate(&offsets[i], b, a, list.list.items[i].tensor));
    }
    out->kind = ARGUMENT_ADDRESSES;
    out->count = list.list.count;
    out->bits = program_append(&b->writer, offsets, list.list.count * sizeof *offsets);
    return status_ok();
}

static const struct binding_output *loop_output(const struct binding *b, const char *name)
{
    for (size_t i = 0; i < b->n_outputs; i++)
        if (!strcmp(b->outputs[i].row->name, name)) return &b->outputs[i];
    return NULL;
}

/* Round i takes element i of the loop's output as it is stored, so another output that the round
 * writes has to be stored in the same order. */
static bool follows_loop(const struct binding_output *output, const struct binding_output *loop)
{
    return tensor_same_shape(&output->tensor, &loop->tensor) &&
           !memcmp(output->axes, loop->axes, (size_t)loop->tensor.rank * sizeof *loop->axes);
}

/* An element of each round: the tensor is broadcast to the loop's shape and converted to the C
 * type of the argument. */
static struct status emit_element(struct program_argument *out, struct binding *b,
                                  const struct manifest_argument *a,
                                  const struct binding_output *loop)
{
    const struct tensor *tensor;
    enum dtype dtype = program_type_info(a->type)->dtype;
    TRY(binding_located(b, a->node, expression_as_tensor(&tensor, &b->scope, a->text)));
    if (!tensor) return BINDING_FAULT(b, a->node, "there is no tensor to take elements of");
    if (dtype == DT_NONE && a->role == ROLE_ELEMENT)
        return BINDING_FAULT(b, a->node, "no tensor has elements of type %s",
                             program_type_info(a->type)->name);
    if (a->role == ROLE_ELEMENT_ADDRESS) {
        dtype = tensor->dtype;
        if (a->cast) TRY(binding_dtype(&dtype, b, a->node, a->cast));
    }
    out->kind = a->role == ROLE_ELEMENT ? ARGUMENT_ELEMENT : ARGUMENT_ELEMENT_ADDRESS;
    out->count = dtype_info(dtype)->bytes;
    const struct binding_output *output = output_of(b, tensor);
    if (output) {
        if (tensor->dtype != dtype || !follows_loop(output, loop))
            return BINDING_FAULT(b, a->node,
                                 "the output has another dtype, shape or axes than the loop needs");
        out->bits = output->buffer->offset;
        return status_ok();
    }
    struct binding_placed wanted = { .tensor = tensor, .dtype = dtype, .rank = loop->tensor.rank };
    memcpy(wanted.shape, loop->tensor.shape, (size_t)wanted.rank * sizeof *wanted.shape);
    memcpy(wanted.axes, loop->axes, (size_t)wanted.rank * sizeof *wanted.axes);
    if (!can_convert(tensor->dtype, dtype) ||
        !layout_broadcasts(tensor->rank, tensor->shape, wanted.rank, wanted.shape))
        return BINDING_FAULT(b, a->node, "the tensor does not broadcast to the loop's shape");
    TRY(place(b, &wanted));
    out->bits = wanted.offset;
    return status_ok();
}

static struct status emit_list(struct program_argument *out, struct binding *b,
                               const struct manifest_argument *a)
{
    struct expression_value list;
    size_t width = program_type_info(a->type)->bytes;
    TRY(binding_located(b, a->node, expression_evaluate(&list, &b->scope, a->text)));
    if (list.kind == EXPRESSION_NONE) return status_ok();
    if (list.kind != EXPRESSION_LIST) return BINDING_FAULT(b, a->node, "a list is expected");
    unsigned char *numbers = arena_allocate_zeroed(b->arena, list.list.count + 1, width);
    if (!numbers) return status_no_memory(list.list.count * width);
    for (size_t i = 0; i < list.list.count; i++) {
        uint64_t bits;
        TRY(set_number(&bits, b, a->node, a->type, &list.list.items[i]));
        memcpy(numbers + i * width, &bits, width);
    }
    out->type = TYPE_POINTER;
    out->kind = ARGUMENT_CONSTANT;
    out->count = list.list.count;
    out->item = a->type;
    out->bits = program_append(&b->writer, numbers, (list.list.count + 1) * width);
    return status_ok();
}

static struct status emit_enum(struct program_argument *out, struct binding *b,
                               const struct manifest_argument *a)
{
    struct expression_value key;
    char number[32];
    TRY(binding_located(b, a->node, expression_evaluate(&key, &b->scope, a->text)));
    const char *name = key.kind == EXPRESSION_STRING ? key.string : number;
    if (key.kind == EXPRESSION_INT)
        (void)snprintf(number, sizeof number, "%lld", (long long)key.integer);
    else if (key.kind == EXPRESSION_BOOL)
        (void)snprintf(number, sizeof number, "%s", key.boolean ? "True" : "False");
    else if (key.kind == EXPRESSION_NONE) name = "None";
    else if (key.kind != EXPRESSION_STRING)
        return BINDING_FAULT(b, a->node, "the key is not a string, an integer, a bool or None");
    const cJSON *entry = config_json_get(manifest_enum(b->manifest, a->name)->table, name);
    if (!entry) return status_error(STATUS_SKIP, "%s has no value for \"%s\"", a->name, name);
    struct expression_value value = { .kind = EXPRESSION_INT,
                                      .integer = (int64_t)entry->valuedouble };
    return set_number(&out->bits, b, a->node, a->type, &value);
}

static struct status emit_string(struct program_argument *out, struct binding *b,
                                 const struct manifest_argument *a)
{
    const char *text;
    TRY(binding_located(b, a->node, expression_as_string(&text, &b->scope, a->text)));
    out->kind = ARGUMENT_CONSTANT;
    out->item = TYPE_VOID;
    out->bits = program_append_string(&b->writer, text);
    return status_ok();
}

static struct status emit_slot(struct program_argument *out, struct binding *b,
                               const struct manifest_argument *a)
{
    if (a->role == ROLE_OUT) {
        out->kind = ARGUMENT_SLOT_ADDRESS;
        return define_slot(&out->bits, b, a->node, a->text);
    }
    out->kind = ARGUMENT_SLOT;
    if (find_slot(&out->bits, b, a->text)) return status_ok();
    return BINDING_FAULT(b, a->node, "nothing before this call has set the slot \"%s\"", a->text);
}

static struct status emit_steps(struct binding *b, const struct manifest_steps *steps, bool always);

/* A wrapper's variables are `tensor` and `is_output`; they hide what the call has of these
 * names while its steps are written. */
struct wrapper_scope {
    const struct tensor *tensor;
    bool is_output;
    const struct expression_scope *outer;
};

static bool find_in_wrapper(struct expression_value *out, void *context, const char *name)
{
    const struct wrapper_scope *scope = context;
    if (!strcmp(name, "tensor")) {
        *out = (struct expression_value){ .kind = EXPRESSION_TENSOR, .tensor = scope->tensor };
        return true;
    }
    if (!strcmp(name, "is_output")) {
        *out = (struct expression_value){ .kind = EXPRESSION_BOOL, .boolean = scope->is_output };
        return true;
    }
    return scope->outer->find(out, scope->outer->context, name);
}

static struct status emit_wrapper_steps(struct binding *b, const struct binding_wrapped *use,
                                        const struct manifest_steps *steps, bool always)
{
    struct expression_scope outer = b->scope;
    struct wrapper_scope inner = { use->tensor, use->is_output, &outer };
    size_t number = b->scope_number;
    b->scope = (struct expression_scope){ b->arena, find_in_wrapper, &inner };
    b->scope_number = use->number;
    struct status st = emit_steps(b, steps, always);
    b->scope = outer;
    b->scope_number = number;
    return st;
}

static struct status emit_wrap(struct program_argument *out, struct binding *b,
                               const struct manifest_argument *a)
{
    const struct manifest_wrapper *wrapper = manifest_wrapper(b->manifest, a->name);
    const struct tensor *tensor;
    TRY(binding_located(b, a->node, expression_as_tensor(&tensor, &b->scope, a->text)));
    if (!tensor) return status_ok();
    out->kind = ARGUMENT_SLOT;
    for (size_t i = 0; i < b->n_wrapped; i++) {
        if (b->wrapped[i].wrapper != wrapper || b->wrapped[i].tensor != tensor) continue;
        out->bits = b->wrapped[i].slot;
        return status_ok();
    }
    if (b->n_wrapped == BINDING_WRAPPED)
        return BINDING_FAULT(b, a->node, "more than %d wrapped tensors", BINDING_WRAPPED);
    struct binding_wrapped *use = &b->wrapped[b->n_wrapped++];
    *use = (struct binding_wrapped){ .wrapper = wrapper,
                                     .tensor = tensor,
                                     .is_output = output_of(b, tensor) != NULL,
                                     .number = b->n_wrapped };
    TRY(emit_wrapper_steps(b, use, &wrapper->before, false));
    size_t number = b->scope_number;
    b->scope_number = use->number;
    bool found = find_slot(&use->slot, b, wrapper->slot);
    b->scope_number = number;
    if (!found) return BINDING_FAULT(b, a->node, "the wrapper does not set its \"value\"");
    out->bits = use->slot;
    return status_ok();
}

static struct status emit_argument(struct program_argument *out, struct binding *b,
                                   const struct manifest_argument *a,
                                   const struct binding_output *loop)
{
    out->kind = ARGUMENT_BITS;
    out->type = a->type;
    switch (a->role) {
    case ROLE_SCALAR: return emit_scalar(out, b, a);
    case ROLE_DATA: return emit_data(out, b, a);
    case ROLE_DATA_LIST: return emit_data_list(out, b, a);
    case ROLE_ELEMENT:
    case ROLE_ELEMENT_ADDRESS: return emit_element(out, b, a, loop);
    case ROLE_LIST: out->type = TYPE_POINTER; return emit_list(out, b, a);
    case ROLE_ENUM: return emit_enum(out, b, a);
    case ROLE_STRING: return emit_string(out, b, a);
    case ROLE_SLOT:
    case ROLE_OUT: return emit_slot(out, b, a);
    case ROLE_WRAP: return emit_wrap(out, b, a);
    case ROLE_NULL:
    case ROLE_COUNT: break;
    }
    return status_ok();
}

/* --- steps ----------------------------------------------------------------------------------------- */

static struct status emit_call(struct program_step *out, struct binding *b,
                               const struct manifest_step *s)
{
    struct program_argument arguments[PROGRAM_MAX_ARGUMENTS];
    const struct binding_output *loop = s->loop ? loop_output(b, s->loop) : NULL;

    memset(arguments, 0, sizeof arguments);
    if (s->loop && !loop)
        return BINDING_FAULT(b, s->node, "there is no output \"%s\" to loop over", s->loop);
    if (loop) out->loop = tensor_elements(&loop->tensor);
    for (size_t i = 0; i < s->count; i++)
        TRY(emit_argument(&arguments[i], b, &s->arguments[i], loop));
    if (s->result_element) {
        const struct binding_output *target = loop_output(b, s->result_element);
        if (!target || target->tensor.dtype != program_type_info(s->result_type)->dtype ||
            !follows_loop(target, loop))
            return BINDING_FAULT(b, s->node,
                                 "\"%s\" is not an output of the result's type and the loop's "
                                 "shape and axes",
                                 s->result_element);
        out->result_element = target->buffer->offset;
    }
    if (s->into) TRY(define_slot(&out->result_slot, b, s->node, s->into));
    out->library = (uint32_t)s->library;
    out->symbol = program_append_string(&b->writer, s->symbol);
    out->count = (uint32_t)s->count;
    out->arguments = program_append(&b->writer, arguments, s->count * sizeof *arguments);
    out->result_type = s->result_type;
    out->check = s->check;
    if (s->explain) {
        out->explain = program_append_string(&b->writer, s->explain);
        out->explain_library = (uint32_t)s->explain_library;
    }
    return status_ok();
}

static struct status emit_allocate(struct program_step *out, struct binding *b,
                                   const struct manifest_step *s)
{
    struct program_argument bytes = { .type = TYPE_U64, .kind = ARGUMENT_SLOT };
    if (!find_slot(&bytes.bits, b, s->bytes)) {
        int64_t number;
        TRY(binding_located(b, s->node, expression_as_int(&number, &b->scope, s->bytes)));
        if (number < 0) return BINDING_FAULT(b, s->node, "a negative number of bytes");
        bytes.kind = ARGUMENT_BITS;
        bytes.bits = (uint64_t)number;
    }
    out->arguments = program_append(&b->writer, &bytes, sizeof bytes);
    out->count = 1;
    return define_slot(&out->result_slot, b, s->node, s->into);
}

static struct status emit_steps(struct binding *b, const struct manifest_steps *steps, bool always)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct manifest_step *s = &steps->items[i];
        struct program_step step = { .kind = s->kind,
                                     .loop = PROGRAM_NOTHING,
                                     .result_slot = PROGRAM_NOTHING,
                                     .result_element = PROGRAM_NOTHING,
                                     .explain = PROGRAM_NOTHING,
                                     .always = always };
        bool wanted = true;
        if (s->when)
            TRY(binding_located(b, s->node, expression_as_bool(&wanted, &b->scope, s->when)));
        if (!wanted) continue;
        TRY(s->kind == STEP_CALL ? emit_call(&step, b, s) : emit_allocate(&step, b, s));
        /* Wrappers that the arguments needed have put their steps in front by now. */
        if (b->n_steps == sizeof b->steps / sizeof *b->steps)
            return BINDING_FAULT(b, s->node, "the call needs more than %zu steps",
                                 sizeof b->steps / sizeof *b->steps);
        b->steps[b->n_steps++] = step;
    }
    return status_ok();
}

/* The head of a program has to be at its start, so it is reserved first and filled in last. */
static struct status write_program(struct binding *b)
{
    uint64_t steps = program_append(&b->writer, b->steps, b->n_steps * sizeof *b->steps);
    if (b->writer.failed) return status_no_memory(b->writer.used);
    struct program head = { b->writer.used, steps, b->n_steps };
    memcpy(b->writer.bytes, &head, sizeof head);
    return status_ok();
}

struct status emit_program(uint64_t *offset, uint64_t *bytes, struct binding *b,
                           const struct manifest_steps *steps)
{
    (void)program_reserve(&b->writer, sizeof(struct program));
    TRY(emit_steps(b, steps, false));
    /* What wrappers made is undone in the reverse order, after a failure too. */
    for (size_t i = b->n_wrapped; i-- > 0;) {
        const struct binding_wrapped *use = &b->wrapped[i];
        if (use->is_output) TRY(emit_wrapper_steps(b, use, &use->wrapper->after_output, false));
    }
    for (size_t i = b->n_wrapped; i-- > 0;)
        TRY(emit_wrapper_steps(b, &b->wrapped[i], &b->wrapped[i].wrapper->after, true));
    TRY(write_program(b));
    *bytes = b->writer.used;
    TRY(space_request(b->space, offset, *bytes));
    memcpy(space_at(b->space, *offset), b->writer.bytes, *bytes);
    return status_ok();
}

struct status emit_session(struct program_writer *out, struct binding *b,
                           const struct manifest_steps *steps)
{
    b->n_steps = 0;
    b->writer = (struct program_writer){ 0 };
    (void)program_reserve(&b->writer, sizeof(struct program));
    struct status st = emit_steps(b, steps, false);
    if (!st.code) st = write_program(b);
    *out = b->writer;
    b->writer = (struct program_writer){ 0 };
    return st;
}
