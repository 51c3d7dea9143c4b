/* Parsing and binding of schemas. The grammar is small, so a hand-written scanner reads it. */
#include "bench/call/schema.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scanner {
    const char *at;
    const char *text;
    struct arena *arena;
};

static const struct {
    const char *name;
    enum parameter_type type;
    /* clang-format off */
} types[] = {
    { "Tensor", TYPE_TENSOR },       { "Scalar", TYPE_SCALAR },
    { "int", TYPE_INT },             { "float", TYPE_FLOAT },
    { "bool", TYPE_BOOL },           { "str", TYPE_STRING },
    { "ScalarType", TYPE_DTYPE },    { "Device", TYPE_DEVICE },
    { "Layout", TYPE_LAYOUT },       { "MemoryFormat", TYPE_MEMORY_FORMAT },
    { "Generator", TYPE_GENERATOR }, { "Any", TYPE_ANY },
};
/* clang-format on */

/* Python accepts these names for each other. */
/* clang-format off */
static const char *const synonyms[][2] = {
    { "input", "self" }, { "dim", "axis" },       { "keepdim", "keepdims" },
    { "input", "x" },    { "other", "x2" },       { "self", "x" },
    { "dims", "dim" },   { "dims", "axis" },      { "unbiased", "correction" },
    { "input", "a" },    { "input", "x1" },       { "input", "A" },
    { "B", "other" },    { "matrices", "tensors" }, { "elements", "element" },
    { "test_elements", "test_element" },          { "indices_or_sections", "indices" },
    { "indices_or_sections", "sections" },         { "tau", "input2" },
    { "other", "input3" },   { "pivots", "LU_pivots" }, { "input", "self_or_result" },
    { "input", "tensor" },   { "other", "b" },
    { "value", "scalars" },  { "src", "other" },
};
/* clang-format on */

/* Keywords that change no value; accepted where the schema does not mention them. */
/* clang-format off */
static const char *const ignored_keywords[] = {
    "out",        "device",  "layout",       "requires_grad", "pin_memory",
    "generator",  "inplace", "non_blocking", "memory_format", "_stacklevel",
    "size_average", "reduce",
};
/* clang-format on */

static struct status schema_error(const struct scanner *s, const char *what)
{
    return status_error(STATUS_INTERNAL, "schema \"%s\", position %d: %s", s->text,
                        (int)(s->at - s->text), what);
}

static void skip_space(struct scanner *s)
{
    while (*s->at == ' ' || *s->at == '\n') s->at++;
}

static bool accept(struct scanner *s, char c)
{
    skip_space(s);
    if (*s->at != c) return false;
    s->at++;
    return true;
}

/* The word that stands here; `what` is said when there is none. */
static struct status identifier(const char **out, struct scanner *s, const char *what)
{
    skip_space(s);
    const char *start = s->at;
    while (isalnum((unsigned char)*s->at) || *s->at == '_') s->at++;
    if (s->at == start) return schema_error(s, what);
    *out = arena_copy_bytes(s->arena, start, (size_t)(s->at - start));
    return *out ? status_ok() : status_no_memory((unsigned long long)(s->at - start) + 1);
}

static struct status parse_default(struct value *out, struct scanner *s)
{
    memset(out, 0, sizeof *out);
    skip_space(s);
    if (accept(s, '[')) {
        struct value items[16];
        size_t count = 0;
        while (!accept(s, ']')) {
            if (count == 16) return schema_error(s, "a default list of more than 16 items");
            TRY(parse_default(&items[count++], s));
            (void)accept(s, ',');
        }
        out->kind = VALUE_LIST;
        out->list.count = count;
        out->list.items = arena_allocate_array(s->arena, count, sizeof *items);
        if (!out->list.items) return status_no_memory(0);
        memcpy(out->list.items, items, count * sizeof *items);
        return status_ok();
    }
    if (*s->at == '"' || *s->at == '\'') {
        char quote = *s->at++;
        const char *start = s->at;
        while (*s->at && *s->at != quote) s->at++;
        out->kind = VALUE_STRING;
        out->string = arena_copy_bytes(s->arena, start, (size_t)(s->at - start));
        if (*s->at) s->at++;
        return out->string ? status_ok() : status_no_memory(0);
    }
    if (isdigit((unsigned char)*s->at) || *s->at == '-' || *s->at == '.') {
        char *end;
        const char *start = s->at;
        double real = strtod(start, &end);
        bool is_int = true;
        for (const char *p = start; p < end; p++)
            is_int = is_int && (isdigit((unsigned char)*p) || *p == '-');
        out->kind = is_int ? VALUE_INT : VALUE_FLOAT;
        if (is_int) out->integer = strtoll(start, NULL, 10);
        else out->real = real;
        s->at = end;
        return status_ok();
    }
    const char *word;
    TRY(identifier(&word, s, "a default value was expected"));
    if (!strcmp(word, "None")) return status_ok();
    out->kind = VALUE_BOOL;
    if (!strcmp(word, "True")) out->boolean = true;
    else if (!strcmp(word, "inf")) {
        out->kind = VALUE_FLOAT;
        out->real = INFINITY;
    } else if (strcmp(word, "False") != 0) return schema_error(s, "an unknown default value");
    return status_ok();
}

struct status schema_read_literal(struct value *out, const char **at, struct arena *arena)
{
    struct scanner scanner = { *at, *at, arena };
    TRY(parse_default(out, &scanner));
    *at = scanner.at;
    return status_ok();
}

static struct status parse_type(struct parameter *p, struct scanner *s)
{
    const char *name;
    TRY(identifier(&name, s, "a type was expected"));
    size_t i = 0;
    while (i < sizeof types / sizeof *types && strcmp(types[i].name, name) != 0) i++;
    if (i == sizeof types / sizeof *types) return schema_error(s, "an unknown type");
    p->type = types[i].type;
    if (accept(s, '('))
        while (*s->at && *s->at++ != ')') continue;
    for (;;) {
        if (accept(s, '?')) p->optional = true;
        else if (accept(s, '[')) {
            p->list = true;
            while (*s->at && *s->at++ != ']') continue;
        } else return status_ok();
    }
}

static struct status parse_parameters(struct schema *schema, struct scanner *s)
{
    bool keyword_only = false;

    if (!accept(s, '(')) return schema_error(s, "'(' was expected");
    while (!accept(s, ')')) {
        struct parameter p = { .keyword_only = keyword_only };
        if (schema->count == SCHEMA_MOST_PARAMETERS) return schema_error(s, "too many parameters");
        skip_space(s);
        if (!strncmp(s->at, "...", 3)) {
            s->at += 3;
            schema->any_keyword = true;
        } else if (accept(s, '*') && (*s->at == ',' || *s->at == ' ' || *s->at == ')')) {
            keyword_only = true;
        } else {
            p.variadic = s->at > s->text && s->at[-1] == '*';
            TRY(parse_type(&p, s));
            TRY(identifier(&p.name, s, "a parameter name was expected"));
            if (accept(s, '=')) {
                p.has_default = true;
                TRY(parse_default(&p.fallback, s));
            }
            schema->parameters[schema->count++] = p;
        }
        if (!accept(s, ',') && *s->at != ')') return schema_error(s, "',' or ')' was expected");
    }
    return status_ok();
}

struct status schema_parse(struct schema **out, struct arena *arena, const char *text)
{
    struct scanner scanner = { text, text, arena };
    struct schema *schema = arena_allocate_zeroed(arena, 1, sizeof *schema);

    if (!schema) return status_no_memory(0);
    schema->parameters =
        arena_allocate_zeroed(arena, SCHEMA_MOST_PARAMETERS, sizeof *schema->parameters);
    if (!schema->parameters) return status_no_memory(0);
    TRY(parse_parameters(schema, &scanner));
    *out = schema;
    return status_ok();
}

/* ---- binding ------------------------------------------------------------------------------- */

static bool is_number(const struct value *v)
{
    return v->kind == VALUE_INT || v->kind == VALUE_FLOAT || v->kind == VALUE_BOOL;
}

static bool is_small_tensor(const struct value *v)
{
    return v->kind == VALUE_TENSOR && v->tensor.tensor && tensor_elements(v->tensor.tensor) == 1;
}

static bool item_fits(enum parameter_type type, const struct value *v)
{
    switch (type) {
    case TYPE_TENSOR: return v->kind == VALUE_TENSOR || is_number(v);
    case TYPE_SCALAR: return is_number(v) || is_small_tensor(v);
    case TYPE_INT: return v->kind == VALUE_INT || v->kind == VALUE_BOOL || is_small_tensor(v);
    case TYPE_FLOAT: return is_number(v) || is_small_tensor(v);
    case TYPE_BOOL: return v->kind == VALUE_BOOL || v->kind == VALUE_INT;
    case TYPE_STRING: return v->kind == VALUE_STRING;
    case TYPE_DTYPE: return v->kind == VALUE_DTYPE || v->kind == VALUE_UNSUPPORTED;
    case TYPE_DEVICE:
    case TYPE_LAYOUT:
    case TYPE_MEMORY_FORMAT:
    case TYPE_GENERATOR: return v->kind != VALUE_TENSOR;
    case TYPE_ANY: return true;
    }
    return false;
}

static bool value_fits(const struct parameter *p, const struct value *v)
{
    if (v->kind == VALUE_NONE)
        return p->optional || p->type == TYPE_ANY || p->type == TYPE_BOOL /* None is false */ ||
               (p->has_default && p->fallback.kind == VALUE_NONE);
    if (!p->list || p->type == TYPE_ANY) return item_fits(p->type, v);
    if (v->kind != VALUE_LIST && v->kind != VALUE_SIZE)
        return (p->type == TYPE_INT || p->type == TYPE_FLOAT) && item_fits(p->type, v);
    for (size_t i = 0; i < v->list.count; i++) {
        const struct value *item = &v->list.items[i];
        if (!item_fits(p->type, item) && !(item->kind == VALUE_NONE && p->optional)) return false;
    }
    return true;
}

static bool same_name(const char *parameter, const char *keyword)
{
    if (!strcmp(parameter, keyword)) return true;
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if ((!strcmp(parameter, synonyms[i][0]) && !strcmp(keyword, synonyms[i][1])) ||
            (!strcmp(parameter, synonyms[i][1]) && !strcmp(keyword, synonyms[i][0])))
            return true;
    return false;
}

static bool is_ignored(const char *keyword)
{
    for (size_t i = 0; i < sizeof ignored_keywords / sizeof *ignored_keywords; i++)
        if (!strcmp(keyword, ignored_keywords[i])) return true;
    return false;
}

/* What the recorder could not encode, in the value or first in its list; or NULL. */
static const char *unrecorded(const struct value *v)
{
    if (v->kind == VALUE_UNSUPPORTED) return v->string;
    for (size_t i = 0; value_is_sequence(v) && i < v->list.count; i++)
        if (v->list.items[i].kind == VALUE_UNSUPPORTED) return v->list.items[i].string;
    return NULL;
}

static struct status misfit(const struct parameter *p, const struct value *v)
{
    const char *what = unrecorded(v);
    return status_error(STATUS_SKIP, "argument '%s' is not of the type the API takes%s%.120s",
                        p->name, what ? ": it is recorded as " : "", what ? what : "");
}

static struct status bind_variadic(struct value *bound, const struct parameter *p,
                                   const struct value *args, size_t first, struct arena *arena)
{
    size_t count = args->list.count - first;
    const struct value *only = count == 1 ? &args->list.items[first] : NULL;
    if (only && (only->kind == VALUE_LIST || only->kind == VALUE_SIZE)) {
        *bound = *only;
    } else {
        bound->kind = VALUE_LIST;
        bound->list.keys = NULL;
        bound->list.count = count;
        bound->list.items = arena_allocate_array(arena, count, sizeof *bound->list.items);
        if (!bound->list.items) return status_no_memory(0);
        memcpy(bound->list.items, args->list.items + first, count * sizeof *bound->list.items);
    }
    return value_fits(p, bound) ? status_ok() : misfit(p, bound);
}

static struct status bind_keywords(struct value *bound, bool *given, const struct schema *schema,
                                   const struct value *kwargs)
{
    for (size_t k = 0; kwargs->kind == VALUE_DICT && k < kwargs->list.count; k++) {
        const char *key = kwargs->list.keys[k];
        const struct value *v = &kwargs->list.items[k];
        int i = 0;
        while (i < schema->count && strcmp(schema->parameters[i].name, key) != 0) i++;
        if (i == schema->count)
            for (i = 0; i < schema->count && !same_name(schema->parameters[i].name, key);) i++;
        if (i == schema->count) {
            if (schema->any_keyword || is_ignored(key)) continue;
            return status_error(STATUS_SKIP, "the API takes no argument '%s'", key);
        }
        if (given[i]) return status_error(STATUS_SKIP, "argument '%s' is given twice", key);
        if (!value_fits(&schema->parameters[i], v)) return misfit(&schema->parameters[i], v);
        bound[i] = *v;
        given[i] = true;
    }
    return status_ok();
}

struct status schema_bind(struct value *bound, bool *given, const struct schema *schema,
                          const struct value *args, const struct value *kwargs, struct arena *arena)
{
    size_t position = 0, count = args->kind == VALUE_LIST ? args->list.count : 0;
    int i = 0;

    for (int k = 0; k < schema->count; k++) given[k] = false;
    for (; i < schema->count && position < count; i++) {
        const struct parameter *p = &schema->parameters[i];
        if (p->keyword_only) break;
        if (p->variadic) {
            TRY(bind_variadic(&bound[i], p, args, position, arena));
            position = count;
        } else {
            const struct value *v = &args->list.items[position++];
            if (!value_fits(p, v)) return misfit(p, v);
            bound[i] = *v;
        }
        given[i] = true;
    }
    if (position < count)
        return status_error(STATUS_SKIP, "%zu positional arguments; the API takes fewer", count);
    TRY(bind_keywords(bound, given, schema, kwargs));
    for (i = 0; i < schema->count; i++) {
        const struct parameter *p = &schema->parameters[i];
        if (given[i]) continue;
        if (!p->has_default && !p->variadic)
            return status_error(STATUS_SKIP, "argument '%s' is missing", p->name);
        bound[i] = p->fallback;
        if (p->variadic && !p->has_default) bound[i] = (struct value){ .kind = VALUE_LIST };
    }
    return status_ok();
}
