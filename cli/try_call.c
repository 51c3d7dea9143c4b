/* The arguments are placed along the parameters of a schema; where an API has several (overloads), the
 * first that takes the description is the one that is meant. */
#include "cli/try_call.h"

#include <string.h>

#include "bench/bench.h"
#include "bench/call/schema.h"
#include "bench/registry.h"
#include "cli/try_draw.h"
#include "cli/try_list.h"
#include "cli/try_value.h"
#include "core/nearest_name.h"
#include "generators/generate.h"
#include "runner/api_names.h"

const char *const *try_distributions(void)
{
    static const char *const names[] = { "uniform", "normal", "integers", NULL };
    return names;
}

const char *const *try_gradients(void)
{
    static const char *const names[] = { "on", "off", NULL };
    return names;
}

/* ---- the API ---------------------------------------------------------------------------- */

/* In the order in which a bare name is looked for. */
static const char *const groups[] = { "Functional", "Torch", "Tensor",   "NPU",
                                      "Aten",       "VF",    "MindSpeed" };
enum { N_GROUPS = sizeof groups / sizeof *groups };

struct status try_call_find(const char **group, const char **api, struct arena *arena,
                            const char *op)
{
    struct bench_entry entry;
    const char *nearest = "";
    const char *bare = op;
    for (size_t i = 0; i < N_GROUPS; i++) {
        size_t length = strlen(groups[i]);
        bool grouped = !strncmp(op, groups[i], length) && op[length] == '.';
        if (grouped) bare = op + length + 1;
        const char *name = grouped ? bare : op;
        if (!bench_find_entry(&entry, groups[i], name)) continue;
        *group = groups[i];
        *api = arena_copy_string(arena, name);
        return *api ? status_ok() : status_no_memory(0);
    }
    if (api_name_is_known(&nearest, arena, bare)) nearest = bare;
    return status_error(STATUS_BAD_ARGUMENT, "there is no API '%s', the nearest is '%s'", op,
                        nearest);
}

/* ---- placing ---------------------------------------------------------------------------- */

/* An argument that was given as a value. */
struct named_value {
    const char *name;
    struct value value;
    bool used;
};

struct description {
    struct try_list shapes, dtypes, ranges;
    struct named_value *values;
    size_t n_values;
};

struct placing {
    struct api_case *c;
    struct arena *arena;
    struct description *d;
    size_t tensors; /* so far */
    bool gradients;
    bool gap; /* an argument was left out: what follows goes by name */
};

static struct status read_values(struct description *d, struct arena *arena,
                                 const struct operands *texts)
{
    d->values = arena_allocate_zeroed(arena, texts->count, sizeof *d->values);
    if (!d->values) return status_no_memory(0);
    for (; d->n_values < texts->count; d->n_values++) {
        const char *text = texts->items[d->n_values], *equals = strchr(text, '=');
        struct named_value *v = &d->values[d->n_values];
        if (!equals || equals == text)
            return status_error(STATUS_BAD_ARGUMENT, "'%s' is no NAME=VALUE", text);
        v->name = arena_copy_bytes(arena, text, (size_t)(equals - text));
        if (!v->name) return status_no_memory(0);
        TRY(try_value_read(&v->value, arena, equals + 1));
    }
    return status_ok();
}

static struct status read_description(struct description *d, struct arena *arena,
                                      const struct try_call *call)
{
    *d = (struct description){ .n_values = 0 };
    struct status status = try_list_read_shapes(&d->shapes, arena, &call->shapes);
    if (status.code) return status_within(status, "--shape");
    status = try_list_read_dtypes(&d->dtypes, arena, &call->dtypes);
    if (status.code) return status_within(status, "--dtype");
    status = try_list_read_ranges(&d->ranges, arena, &call->ranges);
    if (status.code) return status_within(status, "--range");
    status = read_values(d, arena, &call->arguments);
    return status.code ? status_within(status, "--arg") : status;
}

/* What the elements are drawn from where nothing is said. */
static void set_range(struct tensor_record *record, const struct try_item *range)
{
    bool whole = dtype_is_integral(record->dtype);
    double low = range ? range->range.low : whole ? 0 : -1;
    double high = range ? range->range.high : whole && record->dtype != DT_BOOL ? 9 : 1;
    record->min = (struct statistic){ STATISTIC_NUMBER, low };
    record->max = (struct statistic){ STATISTIC_NUMBER, high };
}

static struct status make_tensor(struct value *out, struct placing *p, const char *name,
                                 const struct try_item *shape)
{
    struct tensor_record *record = arena_allocate_zeroed(p->arena, 1, sizeof *record);
    if (!record) return status_no_memory(sizeof *record);
    const struct try_item *dtype = try_list_find(&p->d->dtypes, name, p->tensors);
    record->dtype = dtype ? dtype->dtype : DT_F32;
    record->dtype_name = dtype_info(record->dtype)->name;
    record->rank = shape->shape.rank;
    memcpy(record->shape, shape->shape.extents, sizeof record->shape);
    record->requires_grad = p->gradients && !dtype_is_integral(record->dtype);
    set_range(record, try_list_find(&p->d->ranges, name, p->tensors));
    p->tensors++;
    *out = (struct value){ .kind = VALUE_TENSOR, .tensor = { .record = record } };
    return status_ok();
}

/* All tensors of a list parameter: those of its name, and the rest of those without. */
static struct status make_tensors(struct value *out, struct placing *p, const char *name,
                                  const struct try_item *shape, bool any)
{
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.items = arena_allocate_zeroed(p->arena, p->d->shapes.count, sizeof(struct value));
    if (!out->list.items) return status_no_memory(0);
    for (; shape; shape = try_list_take(&p->d->shapes, name, any))
        TRY(make_tensor(&out->list.items[out->list.count++], p, name, shape));
    return status_ok();
}

/* What was said of a parameter; *given is false when nothing was. */
static struct status find_argument(struct value *out, bool *given, struct placing *p,
                                   const struct parameter *parameter)
{
    struct description *d = p->d;
    bool any = parameter->type == TYPE_TENSOR;
    *given = true;
    for (size_t i = 0; i < d->n_values; i++) {
        if (d->values[i].used || strcmp(d->values[i].name, parameter->name) != 0) continue;
        d->values[i].used = true;
        *out = d->values[i].value;
        return status_ok();
    }
    const struct try_item *shape = try_list_take(&d->shapes, parameter->name, any);
    if (shape && parameter->list) return make_tensors(out, p, parameter->name, shape, any);
    if (shape) return make_tensor(out, p, parameter->name, shape);
    *given = false;
    return status_ok();
}

static void add_argument(struct placing *p, const struct parameter *parameter,
                         const struct value *value)
{
    struct api_case *c = p->c;
    if (p->gap || parameter->keyword_only) {
        c->kwargs.list.keys[c->kwargs.list.count] = parameter->name;
        c->kwargs.list.items[c->kwargs.list.count++] = *value;
    } else { /* a variadic one takes a list as well */
        c->args.list.items[c->args.list.count++] = *value;
    }
}

static struct status missing(const struct parameter *parameter)
{
    bool tensor = parameter->type == TYPE_TENSOR;
    return status_error(STATUS_BAD_ARGUMENT, "it needs %s: give --%s %s=%s", parameter->name,
                        tensor ? "shape" : "arg", parameter->name, tensor ? "4x8" : "...");
}

static struct status place_parameters(struct placing *p, const struct schema *schema)
{
    for (int i = 0; i < schema->count; i++) {
        const struct parameter *parameter = &schema->parameters[i];
        struct value value = { .kind = VALUE_NONE };
        bool given;
        TRY(find_argument(&value, &given, p, parameter));
        bool may_lack = parameter->has_default || parameter->optional || parameter->variadic;
        if (!given && !may_lack) return missing(parameter);
        if (given) add_argument(p, parameter, &value);
        else p->gap = true;
    }
    return status_ok();
}

static const char *nearest_parameter(const struct schema *schema, const char *name)
{
    const char *names[SCHEMA_MOST_PARAMETERS];
    for (int i = 0; i < schema->count; i++) names[i] = schema->parameters[i].name;
    const char *nearest = nearest_name(name, names, (size_t)schema->count);
    return nearest ? nearest : "";
}

/* Has everything that was said found its place? */
static struct status check_all_used(const struct description *d, const struct schema *schema)
{
    static const struct {
        const char *name, *form; /* of an item, of which every tensor has one */
    } options[] = { { "--shape", "extents are joined by x, 4x8" },
                    { "--dtype", "one serves all tensors" },
                    { "--range", "its ends are joined by a colon, -1:1" } };
    const struct try_list *const lists[] = { &d->shapes, &d->dtypes, &d->ranges };
    for (size_t i = 0; i < d->n_values; i++)
        if (!d->values[i].used)
            return status_error(STATUS_BAD_ARGUMENT,
                                "--arg: it takes no argument '%s', the nearest is '%s'",
                                d->values[i].name, nearest_parameter(schema, d->values[i].name));
    for (size_t i = 0; i < 3; i++) {
        const struct try_item *item = try_list_unused(lists[i]);
        if (!item) continue;
        if (!item->name)
            return status_error(STATUS_BAD_ARGUMENT, "%s: there is no tensor for '%s'; %s",
                                options[i].name, item->text, options[i].form);
        return status_error(STATUS_BAD_ARGUMENT, "%s: it has no tensor '%s', the nearest is '%s'",
                            options[i].name, item->name, nearest_parameter(schema, item->name));
    }
    return status_ok();
}

static struct status start_case(struct api_case *c, struct arena *arena)
{
    c->args = c->outputs = c->cotangents = c->gradients = (struct value){ .kind = VALUE_LIST };
    c->kwargs = (struct value){ .kind = VALUE_DICT };
    struct value *items = arena_allocate_zeroed(arena, 2 * SCHEMA_MOST_PARAMETERS, sizeof *items);
    c->kwargs.list.keys = arena_allocate_zeroed(arena, SCHEMA_MOST_PARAMETERS, sizeof(char *));
    if (!items || !c->kwargs.list.keys) return status_no_memory(0);
    c->args.list.items = items;
    c->kwargs.list.items = items + SCHEMA_MOST_PARAMETERS;
    return status_ok();
}

static struct status place(struct api_case *c, struct arena *arena, const struct try_call *call,
                           const char *text)
{
    struct description d;
    struct schema *schema;
    struct placing p = {
        .c = c, .arena = arena, .d = &d, .gradients = !strcmp(call->gradients, "on")
    };
    TRY(start_case(c, arena));
    TRY(read_description(&d, arena, call));
    TRY(schema_parse(&schema, arena, text));
    TRY(place_parameters(&p, schema));
    TRY(check_all_used(&d, schema));
    return status_ok();
}

/* ---- what the backward gets ----------------------------------------------------------------- */

/* Records like the outputs, drawn from -1 to 1. */
static struct status make_cotangents(struct api_case *c, struct arena *arena,
                                     const struct value *outputs)
{
    size_t count = outputs->list.count;
    c->cotangents.list.items = arena_allocate_zeroed(arena, count, sizeof(struct value));
    if (!c->cotangents.list.items) return status_no_memory(count * sizeof(struct value));
    c->cotangents.list.count = count;
    for (size_t i = 0; i < count; i++) {
        const struct value *output = &outputs->list.items[i];
        const struct tensor *tensor = output->kind == VALUE_TENSOR ? output->tensor.tensor : NULL;
        if (!tensor || dtype_is_integral(tensor->dtype)) continue; /* none is zero */
        struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
        if (!record) return status_no_memory(sizeof *record);
        record->dtype = tensor->dtype;
        record->dtype_name = dtype_info(tensor->dtype)->name;
        record->rank = tensor->rank;
        memcpy(record->shape, tensor->shape, sizeof record->shape);
        set_range(record, NULL);
        c->cotangents.list.items[i] =
            (struct value){ .kind = VALUE_TENSOR, .tensor = { .record = record } };
        c->has_backward = true;
    }
    return status_ok();
}

static struct status evaluate(struct value *outputs, struct api_case *c, struct arena *arena,
                              uint64_t seed)
{
    const struct generate_options options = { .seed = seed };
    struct bench *bench;
    if (generate_input_bytes(c) > arena->limit_bytes) return status_no_memory(0);
    TRY(generate_inputs(c, NULL, arena, NULL, &options));
    TRY(bench_open(&bench, c, arena, BENCH_NATIVE));
    return bench_native_outputs(outputs, bench);
}

static bool forget_elements(struct value *tensor, void *context)
{
    (void)context;
    tensor->tensor.tensor = NULL;
    return true;
}

/* Run the call once. What it is made of stays: the elements are drawn again by who reads the dump. */
static struct status try_once(struct api_case *c, struct arena *arena, const struct try_call *call,
                              uint64_t seed)
{
    struct bench_entry entry;
    struct value outputs = { .kind = VALUE_LIST };
    struct status status = evaluate(&outputs, c, arena, seed);
    if (status.code == STATUS_NO_MEMORY)
        return status_error(STATUS_BAD_ARGUMENT, "it needs more memory than there is; give more "
                                                 "with --memory");
    if (status.code) status.code = STATUS_BAD_ARGUMENT;
    TRY(status);
    (void)value_each_tensor(&c->args, forget_elements, NULL);
    (void)value_each_tensor(&c->kwargs, forget_elements, NULL);
    if (strcmp(call->gradients, "on") != 0 || !bench_find_entry(&entry, c->type, c->api) ||
        !entry.backward)
        return status_ok();
    return make_cotangents(c, arena, &outputs);
}

/* ---- all of it -------------------------------------------------------------------------- */

struct status try_call_make(struct api_case *out, struct arena *arena, const struct try_call *call,
                            const char *group, const char *api, const char *name, uint64_t seed)
{
    struct op_match match = { .op = NULL };
    struct status first = status_ok();
    struct description d;
    TRY(read_description(&d, arena,
                         call)); /* what is written wrong has nothing to do with an API */
    while (op_find(&match, group, api, match.op)) {
        *out = (struct api_case){ .full_name = name, .type = group, .api = api };
        struct status status = place(out, arena, call, match.op->schema);
        if (!status.code) status = try_once(out, arena, call, seed);
        if (!status.code) return try_draw(out, arena, call->distribution, seed);
        if (status.code != STATUS_BAD_ARGUMENT) return status;
        if (!first.code) first = status_within(status, "%s.%s%s", group, api, match.op->schema);
    }
    return first;
}
