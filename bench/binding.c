/* Binding: the row of the registry whose schema takes the arguments of a case. */
#include "bench/binding.h"

#include <string.h>

#include "bench/registry.h"

/* Arguments in the order the row wants them. */
static struct status ordered_arguments(struct value *args, const struct api_case *c, bool reflected,
                                       struct arena *arena)
{
    *args = c->args;
    if (!reflected || c->args.list.count < 2) return status_ok();
    args->list.items = arena_allocate_array(arena, c->args.list.count, sizeof *args->list.items);
    if (!args->list.items) return status_no_memory(0);
    memcpy(args->list.items, c->args.list.items, c->args.list.count * sizeof *args->list.items);
    args->list.items[0] = c->args.list.items[1];
    args->list.items[1] = c->args.list.items[0];
    return status_ok();
}

/* A dump of results alone has entries without arguments. */
static bool is_bare(const struct api_case *c)
{
    return !c->args.list.count && !(value_is_sequence(&c->kwargs) && c->kwargs.list.count);
}

/* The row whose schema takes the arguments. When none does, the first one's reason is given. */
static struct status bind_row(struct call *call, const struct api_case *c, struct arena *arena)
{
    struct op_match match;
    struct status why = status_error(STATUS_SKIP,
                                     "there is no bench function for %s.%s; `probe-ut ops` lists "
                                     "what can be checked",
                                     c->type, c->api);
    bool tried = false;
    for (const struct op *after = NULL; op_find(&match, c->type, c->api, after); after = match.op) {
        struct schema *schema;
        struct value args;
        TRY(schema_parse(&schema, arena, match.op->schema));
        TRY(ordered_arguments(&args, c, match.reflected, arena));
        struct status st = schema_bind(call->arguments.bound, call->arguments.given, schema, &args,
                                       &c->kwargs, arena);
        if (st.code == STATUS_OK) {
            call->op = match.op;
            call->arguments.schema = schema;
            call->in_place = match.in_place;
            call->reflected = match.reflected;
            return st;
        }
        if (st.code != STATUS_SKIP) return st;
        if (!tried) why = st;
        tried = true;
    }
    if (tried && is_bare(c))
        return status_error(
            STATUS_SKIP, "%s: no argument of this call was recorded (a data_mode without input?)",
            why.text);
    return why;
}

/* An API that writes to an expanded self would write one element several times: PyTorch refuses,
 * and as a function of self it would mean something else. */
static struct status refuse_overlap(const struct call *call, const struct api_case *c)
{
    const struct value *self = c->args.list.count ? &c->args.list.items[0] : NULL;
    bool writes = call->in_place || !strcmp(c->api, "__setitem__");
    if (!writes || !self || self->kind != VALUE_TENSOR || !self->tensor.tensor) return status_ok();
    const struct tensor *t = self->tensor.tensor;
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] > 1 && t->stride[d] == 0)
            return status_error(STATUS_SKIP,
                                "%s writes to an expanded tensor, whose elements share memory",
                                c->full_name);
    return status_ok();
}

struct status call_bind(struct call *call, const struct api_case *c, struct arena *arena)
{
    call->api_case = c;
    TRY(bind_row(call, c, arena));
    return refuse_overlap(call, c);
}
