/* A parameter of a dtype decides the dtype of the result, so nothing has to be guessed: where the dtype was lost, the result
 * tells it, and where None was meant, the result has the dtype that the call would have had anyway. */
#include "bench/lost_dtype.h"

#include <string.h>

#include "bench/binding.h"
#include "bench/registry.h"

/* By position null is what early versions wrote for a dtype; a keyword's null is None. */
static bool is_lost(const struct value *value, bool by_position)
{
    return value->kind == VALUE_UNSUPPORTED || (by_position && value->kind == VALUE_NONE);
}

static bool has_lost(const struct value *arguments, bool by_position)
{
    for (size_t i = by_position; value_is_sequence(arguments) && i < arguments->list.count; i++)
        if (is_lost(&arguments->list.items[i], by_position)) return true;
    return false;
}

/* Is there anything to look for? Most calls have no such argument, or no API that takes a dtype. */
static bool may_have_lost(const struct api_case *c)
{
    struct op_match match;
    if (!has_lost(&c->args, true) && !has_lost(&c->kwargs, false)) return false;
    for (const struct op *op = NULL; op_find(&match, c->type, c->api, op); op = match.op)
        if (strstr(match.op->schema, "type")) return true;
    return false;
}

static enum dtype dtype_of_result(const struct api_case *c)
{
    const struct value *first =
        value_is_sequence(&c->outputs) && c->outputs.list.count ? c->outputs.list.items : NULL;
    bool is_tensor = first && first->kind == VALUE_TENSOR && first->tensor.record;
    return is_tensor ? first->tensor.record->dtype : DT_NONE;
}

/* Is it the dtype of the result? Those of arguments have names of their own. */
static bool is_dtype(const struct parameter *p)
{
    static const char *const names[] = { "dtype", "dst_type", "dst_dtype" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(p->name, names[i])) return true;
    return p->type == TYPE_DTYPE && strcmp(p->name, "src_dtype") != 0;
}

/* Fill the places among the positional arguments. A place of a device takes None, for no result depends on it; but where the
 * call has no dtype else, it was that of x.to(dtype). */
static void fill_places(struct value *items, size_t count, const struct call *call,
                        struct value dtype)
{
    const struct schema *schema = call->arguments.schema;
    bool has_dtype = false;
    size_t device = 0;

    for (size_t i = 0; i < (size_t)schema->count; i++) {
        const struct parameter *p = &schema->parameters[i];
        bool lost = i > 0 && i < count && !p->keyword_only && !p->variadic &&
                    is_lost(&items[i], true);
        has_dtype |= is_dtype(p) && call->arguments.given[i];
        if (lost && is_dtype(p)) items[i] = dtype;
        if (!lost || p->type != TYPE_DEVICE) continue;
        items[i] = (struct value){ .kind = VALUE_NONE };
        device = i;
    }
    if (device && !has_dtype) items[device] = dtype;
}

static void fill_keywords(struct value *items, const struct value *kwargs, const struct call *call,
                          struct value dtype)
{
    const struct schema *schema = call->arguments.schema;
    for (size_t k = 0; k < kwargs->list.count; k++)
        for (int i = 0; is_lost(&items[k], false) && i < schema->count; i++)
            if (is_dtype(&schema->parameters[i]) &&
                !strcmp(schema->parameters[i].name, kwargs->list.keys[k]))
                items[k] = dtype;
}

static struct status copy_items(struct value **out, struct arena *arena, const struct value *list)
{
    size_t count = list->list.count;
    *out = arena_allocate_array(arena, count, sizeof **out);
    if (!*out) return status_no_memory(count * sizeof **out);
    memcpy(*out, list->list.items, count * sizeof **out);
    return status_ok();
}

struct status lost_dtype_restore(struct api_case *c, struct arena *arena)
{
    const struct value dtype = { .kind = VALUE_DTYPE, .dtype = dtype_of_result(c) };
    struct value *items;
    if (dtype.dtype == DT_NONE || !may_have_lost(c)) return status_ok();
    struct call *call = arena_allocate_zeroed(arena, 1, sizeof *call);
    if (!call) return status_no_memory(sizeof *call);
    struct status status = call_bind(call, c, arena);
    if (status.code == STATUS_SKIP) return status_ok(); /* said where the call is evaluated */
    TRY(status);
    if (has_lost(&c->args, true)) {
        TRY(copy_items(&items, arena, &c->args));
        fill_places(items, c->args.list.count, call, dtype);
        c->args.list.items = items;
    }
    if (has_lost(&c->kwargs, false)) {
        TRY(copy_items(&items, arena, &c->kwargs));
        fill_keywords(items, &c->kwargs, call, dtype);
        c->kwargs.list.items = items;
    }
    return status_ok();
}
