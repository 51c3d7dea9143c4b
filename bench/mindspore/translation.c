/* Reads the right-hand side of a row with the values that the left-hand side bound. */
#include "bench/mindspore/translation.h"

#include <string.h>

#include "bench/call/schema.h"

enum { MOST_ARGUMENTS = 64 };

static const struct {
    const char *type;
    unsigned group;
} groups[] = {
    { "Mint", MINT },
    { "MintFunctional", MINT_FUNCTIONAL },
    { "Functional", OPS },
    { "Tensor", METHOD },
};

unsigned translation_group(const char *type)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(groups[i].type, type)) return groups[i].group;
    return 0;
}

const struct translation *translation_row(size_t i)
{
    static const struct translation *const tables[] = { mint_calls, ops_elementwise_calls,
                                                        ops_array_calls, ops_layer_calls,
                                                        method_calls };
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct translation *row = tables[t]; row->names; row++)
            if (!i--) return row;
    return NULL;
}

/* ---- the call of a row -------------------------------------------------------------------- */

struct reader {
    const char *at;
    const struct schema *schema;
    const struct value *bound;
    struct arena *arena;
    const char *text; /* for messages */
};

static struct status wrong_row(const struct reader *r, const char *what)
{
    return status_error(STATUS_INTERNAL, "%s in the call '%s'", what, r->text);
}

static bool accept(struct reader *r, char c)
{
    r->at += strspn(r->at, " ");
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static const char word_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/* The parameter whose name stands here; the reader moves behind it. */
static const struct value *take_parameter(struct reader *r)
{
    r->at += strspn(r->at, " ");
    size_t length = strspn(r->at, word_letters);
    for (int i = 0; i < r->schema->count; i++) {
        const char *name = r->schema->parameters[i].name;
        if (strlen(name) != length || strncmp(name, r->at, length) != 0) continue;
        r->at += length;
        return &r->bound[i];
    }
    return NULL;
}

static struct status read_value(struct value *out, struct reader *r);

static struct status read_list(struct value *out, struct reader *r)
{
    struct value items[8];
    size_t count = 0;
    while (!accept(r, ']')) {
        if (count == 8) return wrong_row(r, "a list of more than 8 items");
        TRY(read_value(&items[count++], r));
        (void)accept(r, ',');
    }
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.count = count;
    out->list.items = arena_allocate_array(r->arena, count, sizeof *items);
    if (!out->list.items) return status_no_memory(0);
    for (size_t i = 0; i < count; i++) out->list.items[i] = items[i];
    return status_ok();
}

static struct status read_value(struct value *out, struct reader *r)
{
    if (accept(r, '[')) return read_list(out, r);
    const struct value *parameter = take_parameter(r);
    if (parameter) {
        *out = *parameter;
        return status_ok();
    }
    return schema_read_literal(out, &r->at, r->arena);
}

/* `name=` before a value, or NULL; "==" never stands there. */
static struct status take_keyword(const char **out, struct reader *r)
{
    r->at += strspn(r->at, " ");
    size_t length = strspn(r->at, word_letters);
    *out = NULL;
    if (!length || r->at[length] != '=') return status_ok();
    *out = arena_copy_bytes(r->arena, r->at, length);
    r->at += length + 1;
    return *out ? status_ok() : status_no_memory(length + 1);
}

static struct status spread(struct value *args, struct reader *r)
{
    const struct value *list = take_parameter(r);
    if (!list) return wrong_row(r, "'*' before what is no parameter");
    size_t count = value_is_sequence(list) ? list->list.count : 1;
    const struct value *items = value_is_sequence(list) ? list->list.items : list;
    if (count > MOST_ARGUMENTS - args->list.count)
        return status_error(STATUS_SKIP, "more than %d arguments", MOST_ARGUMENTS);
    for (size_t i = 0; i < count; i++) args->list.items[args->list.count + i] = items[i];
    args->list.count += count;
    return status_ok();
}

static struct status read_argument(struct value *args, struct value *kwargs, struct reader *r)
{
    const char *keyword;
    if (accept(r, '*')) return spread(args, r);
    TRY(take_keyword(&keyword, r));
    struct value *list = keyword ? kwargs : args;
    if (list->list.count == MOST_ARGUMENTS)
        return status_error(STATUS_SKIP, "more than %d arguments", MOST_ARGUMENTS);
    if (keyword) kwargs->list.keys[kwargs->list.count] = keyword;
    return read_value(&list->list.items[list->list.count++], r);
}

static struct status open_lists(struct value *args, struct value *kwargs, struct arena *arena)
{
    *args = (struct value){ .kind = VALUE_LIST };
    *kwargs = (struct value){ .kind = VALUE_DICT };
    args->list.items = arena_allocate_zeroed(arena, MOST_ARGUMENTS, sizeof *args->list.items);
    kwargs->list.items = arena_allocate_zeroed(arena, MOST_ARGUMENTS, sizeof *kwargs->list.items);
    kwargs->list.keys = arena_allocate_zeroed(arena, MOST_ARGUMENTS, sizeof *kwargs->list.keys);
    return args->list.items && kwargs->list.items && kwargs->list.keys ? status_ok()
                                                                       : status_no_memory(0);
}

/* "Torch.sum", "Torch.$", "Torch": the type and the name, `$` and nothing standing for the call's own. */
static struct status read_target(struct api_case *out, struct reader *r, const char *own_name)
{
    size_t length = strcspn(r->at, "(");
    const char *dot = memchr(r->at, '.', length);
    size_t type = dot ? (size_t)(dot - r->at) : length;
    out->type = arena_copy_bytes(r->arena, r->at, type);
    out->api = own_name;
    if (dot) {
        int all = (int)(length - type - 1);
        const char *name = dot + 1, *own = memchr(name, '$', (size_t)all);
        int before = own ? (int)(own - name) : all;
        out->api = arena_format(r->arena, "%.*s%s%.*s", before, name, own ? own_name : "",
                                own ? all - before - 1 : 0, own ? own + 1 : "");
    }
    r->at += length;
    return out->type && out->api ? status_ok() : status_no_memory(0);
}

static struct status read_arguments(struct api_case *out, struct reader *r,
                                    const struct api_case *c, const char *schema_text)
{
    struct value bound[SCHEMA_MOST_PARAMETERS];
    bool given[SCHEMA_MOST_PARAMETERS];
    struct schema *schema;

    TRY(schema_parse(&schema, r->arena, schema_text));
    TRY(schema_bind(bound, given, schema, &c->args, &c->kwargs, r->arena));
    TRY(open_lists(&out->args, &out->kwargs, r->arena));
    r->schema = schema;
    r->bound = bound;
    if (!accept(r, '(')) return wrong_row(r, "no '('");
    while (!accept(r, ')')) {
        TRY(read_argument(&out->args, &out->kwargs, r));
        if (!accept(r, ',') && *r->at != ')') return wrong_row(r, "no ',' or ')'");
    }
    return status_ok();
}

struct status translation_apply(struct api_case *out, struct arena *arena,
                                const struct translation *row, const struct api_case *c)
{
    struct reader r = { .at = row->call, .arena = arena, .text = row->call };

    *out = *c;
    out->recorded = c;
    out->framework = &framework_pytorch;
    TRY(read_target(out, &r, c->api));
    return row->schema ? read_arguments(out, &r, c, row->schema) : status_ok();
}
