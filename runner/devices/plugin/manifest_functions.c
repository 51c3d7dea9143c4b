/* The functions of kernels: expressions, arguments, calls, steps and results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runner/devices/plugin/manifest_reading.h"
#include "runner/devices/plugin/plugin_expression.h"

/* --- expressions ------------------------------------------------------------------------------ */

bool manifest_is_whole(double x) { return fabs(x) < 0x1p53 && x == floor(x); }

/* An expression may be written as a JSON string, number or bool. */
static struct status read_expression(const char **out, struct manifest *m, const cJSON *node)
{
    if (cJSON_IsString(node)) *out = node->valuestring;
    else if (cJSON_IsBool(node)) *out = cJSON_IsTrue(node) ? "True" : "False";
    else if (cJSON_IsNumber(node)) {
        double x = node->valuedouble;
        *out = manifest_is_whole(x) ? arena_format(&m->arena, "%lld", (long long)x)
                                    : arena_format(&m->arena, "%.17g", x);
        if (!*out) return status_no_memory(0);
    } else {
        return config_json_fault(&m->file, node, "an expression is expected: a string or a number");
    }
    struct status st = expression_check(*out);
    return st.code ? config_json_fault(&m->file, node, "%s", st.text) : st;
}

struct status manifest_read_optional(const char **out, struct manifest *m, const cJSON *object,
                                     const char *key)
{
    const cJSON *node = config_json_get(object, key);
    return node ? read_expression(out, m, node) : status_ok();
}

static struct status read_type(enum program_type *out, struct manifest *m, const cJSON *node)
{
    *out = program_type_find(node->valuestring);
    if (*out != TYPE_COUNT) return status_ok();
    return config_json_fault(
        &m->file, node,
        "no such type; known are void, i8, u8, i16, u16, i32, u32, i64, u64, f32, "
        "f64 and pointer");
}

/* --- arguments -------------------------------------------------------------------------------- */

static const struct {
    const char *key;
    enum manifest_role role;
    /* clang-format off */
} roles[] = {
    { "data", ROLE_DATA },
    { "data_list", ROLE_DATA_LIST },
    { "element", ROLE_ELEMENT },
    { "element_address", ROLE_ELEMENT_ADDRESS },
    { "list", ROLE_LIST },
    { "enum", ROLE_ENUM },
    { "string", ROLE_STRING },
    { "slot", ROLE_SLOT },
    { "out", ROLE_OUT },
    { "wrap", ROLE_WRAP },
    { "null", ROLE_NULL },
};
/* clang-format on */

enum { ANY_SCALAR = TEXT | NUMBER | FLAG };

/* clang-format off */
static const struct config_json_key argument_keys[] = {
    { "data", TEXT, false },      { "data_list", TEXT, false }, { "element", TEXT, false },
    { "element_address", TEXT, false },
    { "list", TEXT, false },      { "enum", TEXT, false },      { "string", TEXT, false },
    { "slot", TEXT, false },      { "out", TEXT, false },       { "wrap", TEXT, false },
    { "null", FLAG, false },      { "type", TEXT, false },      { "key", TEXT, false },
    { "cast", TEXT, false },      { "axes", TEXT, false },      { "broadcast", TEXT, false },
    { "of", TEXT, false },
    { "i8", ANY_SCALAR, false },  { "u8", ANY_SCALAR, false },  { "i16", ANY_SCALAR, false },
    { "u16", ANY_SCALAR, false }, { "i32", ANY_SCALAR, false }, { "u32", ANY_SCALAR, false },
    { "i64", ANY_SCALAR, false }, { "u64", ANY_SCALAR, false }, { "f32", ANY_SCALAR, false },
    { "f64", ANY_SCALAR, false }, { NULL, 0, false },
};
/* clang-format on */

/* Keys that a role has beside its own, ended by NULL, and the type it has when none is given. */
static const struct {
    const char *keys[4];
    enum program_type type;
    bool needs_type;
} role_rows[ROLE_COUNT] = {
    [ROLE_SCALAR] = { { NULL }, TYPE_COUNT, false },
    [ROLE_DATA] = { { "cast", "axes", "broadcast" }, TYPE_POINTER, false },
    [ROLE_DATA_LIST] = { { "cast" }, TYPE_POINTER, false },
    [ROLE_ELEMENT] = { { "type" }, TYPE_COUNT, true },
    [ROLE_ELEMENT_ADDRESS] = { { "cast" }, TYPE_POINTER, false },
    [ROLE_LIST] = { { "type" }, TYPE_COUNT, true },
    [ROLE_ENUM] = { { "key", "type" }, TYPE_I32, false },
    [ROLE_STRING] = { { NULL }, TYPE_POINTER, false },
    [ROLE_SLOT] = { { "type" }, TYPE_POINTER, false },
    [ROLE_OUT] = { { NULL }, TYPE_POINTER, false },
    [ROLE_WRAP] = { { "of" }, TYPE_POINTER, false },
    [ROLE_NULL] = { { NULL }, TYPE_POINTER, false },
};

/* The one key that names the role; for a scalar also its type. */
static struct status find_role(struct manifest_argument *a, const cJSON **value, struct manifest *m,
                               const cJSON *node)
{
    *value = NULL;
    for (const cJSON *child = node->child; child; child = child->next) {
        enum manifest_role role = ROLE_COUNT;
        for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
            if (!strcmp(child->string, roles[i].key)) role = roles[i].role;
        enum program_type type = program_type_find(child->string);
        if (type != TYPE_COUNT) role = ROLE_SCALAR; /* "void" and "pointer" are no keys */
        if (role == ROLE_COUNT) continue;
        if (*value)
            return config_json_fault(&m->file, child, "an argument has one role; \"%s\" is another",
                                     (*value)->string);
        *value = child;
        a->role = role;
        a->type = role == ROLE_SCALAR ? type : role_rows[role].type;
    }
    if (!*value)
        return config_json_fault(&m->file, node,
                                 "the argument has no role (\"data\", \"i32\", ...)");
    return status_ok();
}

static struct status check_argument_keys(struct manifest *m, const cJSON *node, const cJSON *value,
                                         enum manifest_role role)
{
    for (const cJSON *child = node->child; child; child = child->next) {
        bool allowed = child == value || child->string[0] == '$' || child->string[0] == '_';
        for (size_t i = 0; role_rows[role].keys[i]; i++)
            allowed |= !strcmp(child->string, role_rows[role].keys[i]);
        if (!allowed)
            return config_json_fault(&m->file, child, "this key does not go with \"%s\"",
                                     value->string);
    }
    return status_ok();
}

static struct status read_argument(struct manifest_argument *a, struct manifest *m,
                                   const cJSON *node)
{
    const cJSON *value, *type;
    TRY(config_json_check_keys(&m->file, node, argument_keys));
    TRY(find_role(a, &value, m, node));
    TRY(check_argument_keys(m, node, value, a->role));
    a->node = node;
    type = config_json_get(node, "type");
    if (type) TRY(read_type(&a->type, m, type));
    if (type && a->type == TYPE_VOID)
        return config_json_fault(&m->file, type, "an argument is not void");
    if (role_rows[a->role].needs_type && !type)
        return config_json_fault(&m->file, node, "\"%s\" needs a \"type\"", value->string);
    TRY(manifest_read_optional(&a->cast, m, node, "cast"));
    TRY(manifest_read_optional(&a->axes, m, node, "axes"));
    TRY(manifest_read_optional(&a->broadcast, m, node, "broadcast"));
    if (a->role == ROLE_NULL) return status_ok();
    if (a->role == ROLE_SLOT || a->role == ROLE_OUT) {
        a->text = value->valuestring;
        return status_ok();
    }
    if (a->role != ROLE_ENUM && a->role != ROLE_WRAP) return read_expression(&a->text, m, value);

    const char *other = a->role == ROLE_ENUM ? "key" : "of";
    a->name = value->valuestring;
    if (!config_json_get(node, other))
        return config_json_fault(&m->file, node, "\"%s\" needs \"%s\"", value->string, other);
    if (a->role == ROLE_ENUM ? !manifest_enum(m, a->name) : !manifest_wrapper(m, a->name))
        return config_json_fault(&m->file, value, "there is no such %s in \"%s\"",
                                 a->role == ROLE_ENUM ? "table" : "wrapper",
                                 a->role == ROLE_ENUM ? "enums" : "wrappers");
    return read_expression(&a->text, m, config_json_get(node, other));
}

/* --- steps ------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct config_json_key step_keys[] = {
    { "call", TEXT, false },      { "library", TEXT, false }, { "arguments", LIST, false },
    { "returns", OBJECT, false }, { "loop", TEXT, false },    { "when", TEXT, false },
    { "allocate", TEXT, false },  { "bytes", TEXT | NUMBER, false }, { NULL, 0, false },
};
/* clang-format on */

/* clang-format off */
static const struct config_json_key returns_keys[] = {
    { "type", TEXT, true },     { "ok", TEXT, false },   { "into", TEXT, false },
    { "element", TEXT, false }, { "explain", TEXT, false }, { "library", TEXT, false },
    { NULL, 0, false },
};
/* clang-format on */

static const struct {
    const char *name;
    enum program_check check;
    /* clang-format off */
} checks[] = {
    { "any", CHECK_NONE },
    { "zero", CHECK_ZERO },
    { "nonzero", CHECK_NONZERO },
    { "nonnegative", CHECK_NONNEGATIVE },
    { "nonnull", CHECK_NONNULL },
};
/* clang-format on */

/* The library of a step: named, or the only one there is. */
static struct status read_library(size_t *out, struct manifest *m, const cJSON *object)
{
    const cJSON *node = config_json_get(object, "library");
    if (!node && m->n_libraries == 1) {
        *out = 0;
        return status_ok();
    }
    if (!node)
        return config_json_fault(&m->file, object,
                                 "the key \"library\" is missing; there is more than "
                                 "one to choose from");
    for (size_t i = 0; i < m->n_libraries; i++) {
        if (strcmp(m->libraries[i].name, node->valuestring)) continue;
        *out = i;
        return status_ok();
    }
    return config_json_fault(&m->file, node, "there is no such name in \"libraries\"");
}

static struct status read_returns(struct manifest_step *s, struct manifest *m, const cJSON *node)
{
    TRY(config_json_check_keys(&m->file, node, returns_keys));
    TRY(read_type(&s->result_type, m, config_json_get(node, "type")));
    s->into = config_json_get_string(node, "into", NULL);
    s->result_element = config_json_get_string(node, "element", NULL);
    s->explain = config_json_get_string(node, "explain", NULL);
    if (s->explain) TRY(read_library(&s->explain_library, m, node));
    const cJSON *ok = config_json_get(node, "ok");
    if (!ok) return status_ok();
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (strcmp(checks[i].name, ok->valuestring)) continue;
        s->check = checks[i].check;
        bool counts = s->result_type != TYPE_VOID && s->result_type != TYPE_F32 &&
                      s->result_type != TYPE_F64;
        if (s->check != CHECK_NONE && !counts)
            return config_json_fault(&m->file, ok,
                                     "only an integer or a pointer says whether a call went well");
        return status_ok();
    }
    return config_json_fault(&m->file, ok,
                             "any, zero, nonzero, nonnegative or nonnull is expected");
}

static struct status read_call(struct manifest_step *s, struct manifest *m, const cJSON *node)
{
    const cJSON *arguments = config_json_get(node, "arguments"), *child;
    s->kind = STEP_CALL;
    s->symbol = config_json_get_string(node, "call", NULL);
    if (config_json_get(node, "bytes"))
        return config_json_fault(&m->file, config_json_get(node, "bytes"),
                                 "this key goes with \"allocate\"");
    TRY(read_library(&s->library, m, node));
    if (config_json_get(node, "returns")) TRY(read_returns(s, m, config_json_get(node, "returns")));
    s->loop = config_json_get_string(node, "loop", NULL);
    if (s->result_element && !s->loop)
        return config_json_fault(&m->file, config_json_get(node, "returns"),
                                 "\"element\" needs a \"loop\" in the call");
    if (!arguments) return status_ok();
    s->count = (size_t)cJSON_GetArraySize(arguments);
    if (s->count > PROGRAM_MAX_ARGUMENTS)
        return config_json_fault(&m->file, arguments, "more than %d arguments",
                                 PROGRAM_MAX_ARGUMENTS);
    ROOM(s->arguments, s->count);
    size_t i = 0;
    EACH(child, arguments)
    {
        struct manifest_argument *a = &s->arguments[i++];
        TRY(read_argument(a, m, child));
        bool element = a->role == ROLE_ELEMENT || a->role == ROLE_ELEMENT_ADDRESS;
        if (element && !s->loop)
            return config_json_fault(&m->file, child, "an element needs a \"loop\" in the call");
    }
    return status_ok();
}

static struct status read_step(struct manifest_step *s, struct manifest *m, const cJSON *node)
{
    TRY(config_json_check_keys(&m->file, node, step_keys));
    s->node = node;
    TRY(manifest_read_optional(&s->when, m, node, "when"));
    bool call = config_json_get(node, "call") != NULL,
         allocate = config_json_get(node, "allocate") != NULL;
    if (call == allocate)
        return config_json_fault(&m->file, node, "a step has either \"call\" or \"allocate\"");
    if (call) return read_call(s, m, node);
    s->kind = STEP_ALLOCATE;
    s->into = config_json_get_string(node, "allocate", NULL);
    if (!config_json_get(node, "bytes"))
        return config_json_fault(&m->file, node, "the key \"bytes\" is missing");
    return read_expression(&s->bytes, m, config_json_get(node, "bytes"));
}

struct status manifest_read_steps(struct manifest_steps *out, struct manifest *m, const cJSON *list)
{
    const cJSON *child;
    size_t i = 0;
    if (!list) return status_ok();
    out->count = (size_t)cJSON_GetArraySize(list);
    ROOM(out->items, out->count);
    EACH(child, list) TRY(read_step(&out->items[i++], m, child));
    return status_ok();
}

/* --- functions --------------------------------------------------------------------------------- */

/* clang-format off */
static const struct config_json_key output_keys[] = {
    { "name", TEXT, true },     { "shape", TEXT, false },          { "dtype", TEXT, false },
    { "returns", TEXT, false }, { "initial", TEXT | NUMBER, false }, { "axes", TEXT, false },
    { "of", TEXT, false },      { NULL, 0, false },
};
/* clang-format on */

static struct status read_output(struct manifest_output *o, struct manifest *m, const cJSON *node,
                                 bool is_gradient)
{
    TRY(config_json_check_keys(&m->file, node, output_keys));
    o->node = node;
    o->name = config_json_get_string(node, "name", NULL);
    TRY(manifest_read_optional(&o->shape, m, node, "shape"));
    TRY(manifest_read_optional(&o->dtype, m, node, "dtype"));
    TRY(manifest_read_optional(&o->returns, m, node, "returns"));
    TRY(manifest_read_optional(&o->initial, m, node, "initial"));
    TRY(manifest_read_optional(&o->axes, m, node, "axes"));
    TRY(manifest_read_optional(&o->of, m, node, "of"));
    if (is_gradient && !o->of)
        return config_json_fault(&m->file, node, "a gradient needs \"of\": whose gradient it is");
    if (!is_gradient && o->of)
        return config_json_fault(&m->file, config_json_get(node, "of"),
                                 "only gradients are \"of\" something");
    return status_ok();
}

static struct status read_lets(struct manifest_function *f, struct manifest *m, const cJSON *node)
{
    const cJSON *child;
    if (!node) return status_ok();
    f->n_lets = (size_t)cJSON_GetArraySize(node);
    ROOM(f->lets, f->n_lets);
    size_t i = 0;
    EACH(child, node)
    {
        f->lets[i].node = child;
        f->lets[i].name = child->string;
        TRY(read_expression(&f->lets[i++].text, m, child));
    }
    return status_ok();
}

struct status manifest_read_function(struct manifest_function *f, struct manifest *m,
                                     const cJSON *node, const char *outputs)
{
    const cJSON *list = config_json_get(node, outputs), *child;
    f->node = node;
    TRY(read_lets(f, m, config_json_get(node, "let")));
    f->n_outputs = (size_t)cJSON_GetArraySize(list);
    if (!f->n_outputs) return config_json_fault(&m->file, list, "the list is empty");
    ROOM(f->outputs, f->n_outputs);
    size_t i = 0;
    EACH(child, list)
    TRY(read_output(&f->outputs[i++], m, child, !strcmp(outputs, "gradients")));
    TRY(manifest_read_steps(&f->steps, m, config_json_get(node, "steps")));
    if (!f->steps.count)
        return config_json_fault(&m->file, node, "\"steps\" with at least one call is missing");
    return status_ok();
}
