/* Which kernel takes a call, what its parameters are, and where its outputs go. */
#include "runner/devices/plugin/plugin_bind.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "runner/devices/plugin/plugin_emit.h"
#include "runner/devices/tensor_layout.h"

/* --- names --------------------------------------------------------------------------------------- */

static bool find_variable(struct expression_value *out, void *context, const char *name)
{
    const struct binding *b = context;
    for (size_t i = b->n_variables; i-- > 0;) { /* the newest hides older ones */
        if (strcmp(b->variables[i].name, name)) continue;
        *out = b->variables[i].value;
        return true;
    }
    return false;
}

static struct status set_variable(struct binding *b, const char *name,
                                  struct expression_value value)
{
    if (b->n_variables == BINDING_VARIABLES)
        return BINDING_FAULT(b, b->kernel->node, "more than %d names", BINDING_VARIABLES);
    b->variables[b->n_variables++] = (struct binding_variable){ name, value };
    return status_ok();
}

/* --- parameters ------------------------------------------------------------------------------------ */

static bool has_parameter(const struct manifest_kernel *kernel, const char *name)
{
    for (size_t i = 0; i < kernel->n_parameters; i++)
        if (!strcmp(kernel->parameters[i].name, name)) return true;
    return false;
}

/* The remaining positional arguments as a list. */
static struct status bind_rest(struct expression_value *out, const struct binding *b, size_t from)
{
    struct value rest = { .kind = VALUE_LIST };
    size_t count = b->c->args.list.count;
    if (from < count) {
        rest.list.items = b->c->args.list.items + from;
        rest.list.count = count - from;
    }
    return expression_from_value(out, b->arena, &rest);
}

/* Set the parameters from the call as Python binds arguments. STATUS_SKIP when they do not fit. */
static struct status bind_parameters(struct binding *b)
{
    const struct manifest_kernel *kernel = b->kernel;
    const struct api_case *c = b->c;
    size_t positional = c->args.list.count; /* a case's args are a list, its kwargs a dict */
    bool takes_rest = false;

    b->n_variables = 0;
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        const struct manifest_parameter *p = &kernel->parameters[i];
        struct expression_value value = { 0 };
        const struct value *named = value_find(&c->kwargs, p->name);
        if (p->rest) {
            TRY(bind_rest(&value, b, i));
            takes_rest = true;
        } else if (i < positional && !takes_rest) {
            if (named) return status_error(STATUS_SKIP, "%s is given twice", p->name);
            TRY(expression_from_value(&value, b->arena, &c->args.list.items[i]));
        } else if (named) {
            TRY(expression_from_value(&value, b->arena, named));
        } else if (p->fallback) {
            TRY(binding_located(b, kernel->node,
                                expression_evaluate(&value, &b->scope, p->fallback)));
        } else {
            return status_error(STATUS_SKIP, "the argument %s is missing", p->name);
        }
        TRY(set_variable(b, p->name, value));
    }
    if (positional > kernel->n_parameters && !takes_rest)
        return status_error(STATUS_SKIP, "%zu arguments, the kernel takes %zu", positional,
                            kernel->n_parameters);
    for (size_t i = 0; i < c->kwargs.list.count; i++)
        if (!has_parameter(kernel, c->kwargs.list.keys[i]))
            return status_error(STATUS_SKIP, "the kernel has no argument %s",
                                c->kwargs.list.keys[i]);
    b->n_parameters = b->n_variables;
    return status_ok();
}

static struct status try_kernel(bool *fits, struct binding *b)
{
    *fits = false;
    TRY(bind_parameters(b));
    *fits = true;
    if (!b->kernel->when) return status_ok();
    return binding_located(b, config_json_get(b->kernel->node, "when"),
                           expression_as_bool(fits, &b->scope, b->kernel->when));
}

struct status binding_open(struct binding *b, struct arena *arena, const struct manifest *manifest,
                           const struct api_case *c)
{
    struct status last =
        status_error(STATUS_SKIP, "%s has no kernel for %s.%s", manifest->title, c->type, c->api);
    b->n_variables = b->n_parameters = b->n_outputs = b->n_placed = b->n_wrapped = 0;
    b->n_slots = b->n_steps = b->scope_number = 0;
    b->manifest = manifest;
    b->c = c;
    b->arena = arena;
    b->scope = (struct expression_scope){ arena, find_variable, b };
    for (size_t i = 0; i < manifest->n_kernels; i++) {
        bool fits;
        b->kernel = &manifest->kernels[i];
        if (!manifest_serves(b->kernel, c->type, c->api)) continue;
        struct status st = try_kernel(&fits, b);
        if (!st.code && fits) return st;
        if (st.code == STATUS_NO_MEMORY) return st;
        last = st.code ? status_error(st.code,
                                      "%s has no kernel for these arguments of "
                                      "%s.%s: %s",
                                      manifest->title, c->type, c->api, st.text)
                       : status_error(STATUS_SKIP,
                                      "%s has no kernel for these arguments of "
                                      "%s.%s: not %s",
                                      manifest->title, c->type, c->api, b->kernel->when);
    }
    return last;
}

void binding_close(struct binding *b) { program_writer_release(&b->writer); }

/* --- outputs ---------------------------------------------------------------------------------------- */

struct leaf_search {
    size_t wanted, seen;
    const struct value *found;
};

/* The wanted-th leaf of a nested list. */
static void find_leaf(struct leaf_search *search, const struct value *value)
{
    if (value->kind == VALUE_LIST || value->kind == VALUE_DICT) {
        for (size_t i = 0; i < value->list.count && !search->found; i++)
            find_leaf(search, &value->list.items[i]);
        return;
    }
    if (search->seen++ == search->wanted) search->found = value;
}

/* What the dump recorded of output k, NULL when nothing. */
static const struct tensor_record *recorded_output(const struct api_case *c, size_t k)
{
    struct leaf_search search = { .wanted = k };
    find_leaf(&search, &c->outputs);
    return search.found && search.found->kind == VALUE_TENSOR ? search.found->tensor.record : NULL;
}

/* Shape and dtype: as the manifest says, as the argument has it (gradients), as recorded. */
static struct status describe_output(struct binding_output *o, const struct binding *b, size_t k)
{
    const struct manifest_output *row = o->row;
    const struct tensor_record *record = o->of ? NULL : recorded_output(b->c, k);
    struct tensor *t = &o->tensor;

    if (row->shape) {
        TRY(binding_located(b, row->node,
                            expression_as_shape(t->shape, &t->rank, &b->scope, row->shape)));
    } else if (o->of || record) {
        t->rank = o->of ? o->of->rank : record->rank;
        memcpy(t->shape, o->of ? o->of->shape : record->shape, (size_t)t->rank * sizeof *t->shape);
    } else {
        return status_error(STATUS_SKIP,
                            "the dump has not recorded output %zu and the manifest "
                            "gives no shape for it",
                            k);
    }
    if (row->dtype) {
        TRY(binding_dtype(&t->dtype, b, row->node, row->dtype));
    } else {
        t->dtype = o->of ? o->of->dtype : record ? record->dtype : DT_NONE;
        if (t->dtype == DT_NONE)
            return status_error(STATUS_SKIP,
                                "the dump has not recorded the dtype of output %zu "
                                "and the manifest gives none",
                                k);
    }
    o->returns = t->dtype;
    if (!row->returns) return status_ok();
    TRY(binding_dtype(&o->returns, b, row->node, row->returns));
    if (dtype_is_complex(t->dtype) && !dtype_is_complex(o->returns))
        return BINDING_FAULT(b, row->node, "complex numbers cannot be returned as real ones");
    return status_ok();
}

static struct status fill_output(struct binding_output *o, const struct binding *b)
{
    struct expression_value initial;
    struct tensor number;
    double real = 0;
    TRY(binding_located(b, o->row->node,
                        expression_evaluate(&initial, &b->scope, o->row->initial)));
    if (initial.kind == EXPRESSION_NONE) return status_ok();
    const struct tensor *from = initial.kind == EXPRESSION_TENSOR ? initial.tensor : &number;
    if (initial.kind == EXPRESSION_INT) real = (double)initial.integer;
    else if (initial.kind == EXPRESSION_FLOAT) real = initial.real;
    else if (initial.kind != EXPRESSION_TENSOR)
        return BINDING_FAULT(b, o->row->node, "\"initial\" is a tensor or a number");
    tensor_wrap(&number, &real, DT_F64, 0, NULL);
    if (!layout_broadcasts(from->rank, from->shape, o->tensor.rank, o->tensor.shape) ||
        (dtype_is_complex(from->dtype) && !dtype_is_complex(o->tensor.dtype)))
        return BINDING_FAULT(b, o->row->node, "\"initial\" does not broadcast to the output");
    return layout_store(o->tensor.data, o->tensor.dtype, o->tensor.rank, o->tensor.shape, o->axes,
                        from, b->arena);
}

/* Flat position of a tensor among the arguments. */
struct position_search {
    const struct tensor *wanted;
    size_t position;
};

static bool pass_tensor(struct value *value, void *context)
{
    struct position_search *search = context;
    if (value->tensor.tensor == search->wanted) return false;
    search->position++;
    return true;
}

static bool argument_position(size_t *out, const struct api_case *c, const struct tensor *tensor)
{
    struct position_search search = { tensor, 0 };
    struct value args = c->args, kwargs = c->kwargs;
    bool found = !value_each_tensor(&args, pass_tensor, &search) ||
                 !value_each_tensor(&kwargs, pass_tensor, &search);
    *out = search.position;
    return found;
}

static struct status place_output(struct binding *b, const struct manifest_output *row, size_t k)
{
    struct expression_value value = { 0 };
    char label[SPACE_LABEL];
    size_t n, bytes;

    if (b->n_outputs == BINDING_OUTPUTS)
        return BINDING_FAULT(b, row->node, "more than %d outputs", BINDING_OUTPUTS);
    struct binding_output *o = &b->outputs[b->n_outputs];
    memset(o, 0, sizeof *o);
    o->row = row;
    (void)snprintf(label, sizeof label, "output %zu", k);
    if (row->of) {
        size_t position;
        TRY(binding_located(b, row->node, expression_as_tensor(&o->of, &b->scope, row->of)));
        /* No such argument in this call: the kernel gets a null pointer. */
        if (!o->of) return set_variable(b, row->name, value);
        if (!argument_position(&position, b->c, o->of))
            return BINDING_FAULT(b, row->node, "\"of\" is not a tensor argument of the call");
        (void)snprintf(label, sizeof label, "gradient %zu", position);
    }
    TRY(describe_output(o, b, k));
    TRY(binding_axes(o->axes, b, row->node, row->axes, o->tensor.rank));
    if (!shape_elements(&n, o->tensor.rank, o->tensor.shape) ||
        !size_multiply(&bytes, n, dtype_info(o->tensor.dtype)->bytes))
        return status_error(STATUS_SKIP, "%s is too large", label);
    TRY(space_place(b->space, &o->buffer, SPACE_OUTPUT, label, bytes));
    tensor_wrap(&o->tensor, space_at(b->space, o->buffer->offset), o->tensor.dtype, o->tensor.rank,
                o->tensor.shape);
    if (row->initial) TRY(fill_output(o, b));
    b->n_outputs++;
    value.kind = EXPRESSION_TENSOR;
    value.tensor = &o->tensor;
    return set_variable(b, row->name, value);
}

/* --- the two directions ------------------------------------------------------------------------------ */

static struct status build(struct binding *b, struct space *space,
                           const struct manifest_function *function, uint64_t *offset,
                           uint64_t *bytes)
{
    b->function = function;
    b->space = space;
    b->n_outputs = b->n_placed = b->n_wrapped = b->n_steps = b->scope_number = 0;
    b->writer.used = 0;
    b->writer.failed = 0;
    b->n_slots = SESSION_SLOTS;
    for (size_t i = 0; i < SESSION_SLOTS; i++)
        b->slots[i] = i < b->manifest->n_session_slots ? b->manifest->session_slots[i] : NULL;
    for (size_t i = 0; i < function->n_lets; i++) {
        struct expression_value value;
        TRY(binding_located(b, function->lets[i].node,
                            expression_evaluate(&value, &b->scope, function->lets[i].text)));
        TRY(set_variable(b, function->lets[i].name, value));
    }
    for (size_t i = 0; i < function->n_outputs; i++) TRY(place_output(b, &function->outputs[i], i));
    return emit_program(offset, bytes, b, &function->steps);
}

struct status binding_build_forward(struct binding *b, struct space *space, uint64_t *offset,
                                    uint64_t *bytes)
{
    return build(b, space, &b->kernel->forward, offset, bytes);
}

/* The cotangent of forward output k: as given, zeros when missing. */
static struct status cotangent(struct expression_value *out, const struct binding *b,
                               const struct tensor *output, size_t k)
{
    struct leaf_search search = { .wanted = k };
    find_leaf(&search, &b->c->cotangents);
    out->kind = EXPRESSION_TENSOR;
    if (search.found && search.found->kind == VALUE_TENSOR && search.found->tensor.tensor) {
        out->tensor = search.found->tensor.tensor;
        return status_ok();
    }
    struct tensor *zeros = arena_allocate(b->arena, sizeof *zeros);
    if (!zeros) return status_no_memory(sizeof *zeros);
    TRY(tensor_create(zeros, b->arena, output->dtype, output->rank, output->shape));
    memset(zeros->data, 0, tensor_elements(zeros) * dtype_info(zeros->dtype)->bytes);
    out->tensor = zeros;
    return status_ok();
}

struct status binding_build_backward(struct binding *b, struct space *space,
                                     const struct value *forward_outputs, uint64_t *offset,
                                     uint64_t *bytes)
{
    const struct manifest_kernel *kernel = b->kernel;
    if (!kernel->has_backward)
        return status_error(STATUS_SKIP, "%s has no backward kernel for %s.%s", b->manifest->title,
                            b->c->type, b->c->api);
    /* What binding_collect_outputs gave: a tensor for each output, and a manifest has outputs. */
    size_t count = forward_outputs->list.count;
    assert(count && count == kernel->forward.n_outputs);
    struct expression_value outputs, cotangents = { .kind = EXPRESSION_LIST };
    cotangents.list.items = arena_allocate_zeroed(b->arena, count, sizeof outputs);
    if (!cotangents.list.items) return status_no_memory(count * sizeof outputs);
    cotangents.list.count = count;
    TRY(expression_from_value(&outputs, b->arena, forward_outputs));
    b->n_variables = b->n_parameters;
    for (size_t i = 0; i < count; i++) {
        TRY(cotangent(&cotangents.list.items[i], b, outputs.list.items[i].tensor, i));
        TRY(set_variable(b, kernel->forward.outputs[i].name, outputs.list.items[i]));
    }
    TRY(set_variable(b, "outputs", outputs));
    TRY(set_variable(b, "cotangents", cotangents));
    TRY(set_variable(b, "cotangent", cotangents.list.items[0]));
    if (kernel->backward.when) {
        bool fits;
        TRY(binding_located(b, config_json_get(kernel->backward.node, "when"),
                            expression_as_bool(&fits, &b->scope, kernel->backward.when)));
        if (!fits)
            return status_error(STATUS_SKIP,
                                "%s has no backward kernel for these arguments of "
                                "%s.%s",
                                b->manifest->title, b->c->type, b->c->api);
    }
    return build(b, space, &kernel->backward, offset, bytes);
}

/* --- results ------------------------------------------------------------------------------------------- */

static struct status collect(struct value *out, const struct binding *b,
                             const struct binding_output *o)
{
    struct tensor *tensor = arena_allocate(b->arena, sizeof *tensor);
    if (!tensor) return status_no_memory(sizeof *tensor);
    TRY(layout_load(tensor, o->returns, &o->tensor, o->axes, b->arena));
    *out = (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = tensor } };
    return status_ok();
}

static struct status make_list(struct value *out, struct arena *arena, size_t count)
{
    *out = (struct value){ .kind = VALUE_LIST, .list = { .count = count } };
    out->list.items = arena_allocate_zeroed(arena, count, sizeof(struct value));
    return out->list.items ? status_ok() : status_no_memory(count * sizeof(struct value));
}

struct status binding_collect_outputs(struct value *out, struct binding *b)
{
    struct value list;
    TRY(make_list(&list, b->arena, b->n_outputs));
    for (size_t i = 0; i < b->n_outputs; i++) TRY(collect(&list.list.items[i], b, &b->outputs[i]));
    *out = list;
    return status_ok();
}

struct record_search {
    size_t wanted, seen;
    const struct tensor_record *record;
};

static bool find_record(struct value *value, void *context)
{
    struct record_search *search = context;
    if (search->seen++ != search->wanted) return true;
    search->record = value->tensor.record;
    return false;
}

struct status binding_collect_gradients(struct value *out, struct binding *b)
{
    struct value args = b->c->args, kwargs = b->c->kwargs, list;
    TRY(make_list(&list, b->arena, value_count_tensors(&args) + value_count_tensors(&kwargs)));
    for (size_t i = 0; i < b->n_outputs; i++) {
        struct record_search search = { 0 };
        (void)argument_position(&search.wanted, b->c, b->outputs[i].of);
        if (value_each_tensor(&args, find_record, &search))
            (void)value_each_tensor(&kwargs, find_record, &search);
        if (search.record && !search.record->requires_grad) continue;
        TRY(collect(&list.list.items[search.wanted], b, &b->outputs[i]));
    }
    *out = list;
    return status_ok();
}

/* --- the start of a process ------------------------------------------------------------------------------- */

static bool find_nothing(struct expression_value *out, void *context, const char *name)
{
    (void)out, (void)context, (void)name;
    return false;
}

static void append_strings(struct program_writer *w, uint64_t *table, const struct manifest *m)
{
    const cJSON *child;
    size_t i = m->n_libraries;
    for (size_t k = 0; k < m->n_libraries; k++)
        table[k] = program_append_string(w, m->libraries[k].path);
    cJSON_ArrayForEach(child, m->environment)
    {
        table[i++] = program_append_string(w, child->string);
        table[i++] = program_append_string(w, child->valuestring);
    }
}

struct status binding_build_start(struct program_writer *out, struct manifest *m)
{
    struct program_writer writer = { 0 }, open = { 0 }, close = { 0 };
    struct binding *b = arena_allocate_zeroed(&m->arena, 1, sizeof *b);
    size_t pairs = (size_t)cJSON_GetArraySize(m->environment);
    uint64_t *table =
        arena_allocate_zeroed(&m->arena, m->n_libraries + 2 * pairs + 1, sizeof *table);
    if (!b || !table) return status_no_memory(sizeof *b);
    b->manifest = m;
    b->arena = &m->arena;
    b->scope = (struct expression_scope){ b->arena, find_nothing, NULL };
    struct status st = emit_session(&open, b, &m->session_open);
    if (!st.code) st = emit_session(&close, b, &m->session_close);
    for (size_t i = 0; i < b->n_slots; i++) m->session_slots[i] = b->slots[i];
    m->n_session_slots = b->n_slots;

    struct program_start start = { .library_count = m->n_libraries, .environment_count = pairs };
    (void)program_reserve(&writer, sizeof start);
    append_strings(&writer, table, m);
    start.libraries = program_append(&writer, table, m->n_libraries * sizeof *table);
    start.environment = program_append(&writer, table + m->n_libraries, 2 * pairs * sizeof *table);
    start.open = program_append(&writer, open.bytes, open.used);
    start.close = program_append(&writer, close.bytes, close.used);
    program_writer_release(&open);
    program_writer_release(&close);
    if (!st.code && writer.failed) st = status_no_memory(writer.used);
    if (st.code) {
        program_writer_release(&writer);
        return st;
    }
    memcpy(writer.bytes, &start, sizeof start);
    *out = writer;
    return status_ok();
}
