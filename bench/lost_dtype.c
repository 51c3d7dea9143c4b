/* Each parameter of a dtype decides the dtype of the result, so nothing has to be guessed: where the dtype was lost, the result
 * tells it, and where None was meant, the result has the dtype that the call would have had anyway. */
#include "bench/lost_dtype.h"

#include <string.h>

#include "bench/binding.h"
#include "bench/registry.h"

static bool is_lost(const struct value *value)
{
    return value->kind == VALUE_NONE || value->kind == VALUE_UNSUPPORTED;
}

/* Is there anything to look for? Most calls have no such argument, or no API that takes a dtype. */
static bool may_have_lost(const struct api_case *c)
{
    struct op_match match;
    bool lost = false;
    for (size_t i = 1; value_is_sequence(&c->args) && i < c->args.list.count; i++)
        lost |= is_lost(&c->args.list.items[i]);
    for (const struct op *op = NULL; lost && op_find(&match, c->type, c->api, op); op = match.op)
        if (strstr(match.op->schema, " dtype")) return true;
    return false;
}

static enum dtype dtype_of_result(const struct api_case *c)
{
    const struct value *first =
        value_is_sequence(&c->outputs) && c->outputs.list.count ? c->outputs.list.items : NULL;
    bool is_tensor = first && first->kind == VALUE_TENSOR && first->tensor.record;
    return is_tensor ? first->tensor.record->dtype : DT_NONE;
}

static bool is_dtype(const struct parameter *p)
{
    return p->type == TYPE_DTYPE || !strcmp(p->name, "dtype");
}

/* Fill the places in `items`, the positional arguments. A place of a device takes None, for no result depends on it; but where the
 * call has no dtype else, it was that of x.to(dtype). */
static void fill(struct value *items, const struct call *call, const struct api_case *c,
                 enum dtype dtype)
{
    const struct schema *schema = call->arguments.schema;
    bool has_dtype = false;
    size_t count = c->args.list.count, device = 0;

    for (size_t i = 0; i < (size_t)schema->count; i++) {
        const struct parameter *p = &schema->parameters[i];
        bool lost = i > 0 && i < count && !p->keyword_only && !p->variadic && is_lost(&items[i]);
        has_dtype |= is_dtype(p) && call->arguments.given[i];
        if (lost && is_dtype(p)) items[i] = (struct value){ .kind = VALUE_DTYPE, .dtype = dtype };
        if (!lost || p->type != TYPE_DEVICE) continue;
        items[i] = (struct value){ .kind = VALUE_NONE };
        device = i;
    }
    if (device && !has_dtype) items[device] = (struct value){ .kind = VALUE_DTYPE, .dtype = dtype };
}

struct status lost_dtype_restore(struct api_case *c, struct arena *arena)
{
    enum dtype dtype = dtype_of_result(c);
    if (dtype == DT_NONE || !may_have_lost(c)) return status_ok();
    struct call *call = arena_allocate_zeroed(arena, 1, sizeof *call);
    if (!call) return status_no_memory(sizeof *call);
    struct status status = call_bind(call, c, arena);
    if (status.code == STATUS_SKIP) return status_ok(); /* said where the call is evaluated */
    TRY(status);
    size_t count = c->args.list.count;
    struct value *items = arena_allocate_array(arena, count, sizeof *items);
    if (!items) return status_no_memory(count * sizeof *items);
    memcpy(items, c->args.list.items, count * sizeof *items);
    fill(items, call, c, dtype);
    c->args.list.items = items;
    return status_ok();
}
