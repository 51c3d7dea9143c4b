/* Reading goes down the tree in one pass; every object is checked against a table of its keys. */
#include "runner/devices/plugin/plugin_manifest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runner/devices/plugin/plugin_expression.h"

enum {
    TEXT = cJSON_String,
    LIST = cJSON_Array,
    OBJECT = cJSON_Object,
    NUMBER = cJSON_Number,
    FLAG = cJSON_True | cJSON_False
};

/* Zeroed room in the manifest's arena, or a failure. */
#define ROOM(pointer, count)                                                      \
    do {                                                                          \
        (pointer) = arena_allocate_zeroed(&m->arena, (count), sizeof *(pointer)); \
        if (!(pointer)) return status_no_memory((count) * sizeof *(pointer));     \
    } while (0)

/* The children of a list or object that is there. */
#define EACH(item, parent) for ((item) = (parent)->child; (item); (item) = (item)->next)

/* --- expressions ------------------------------------------------------------------------------ */

/* Is it an integer that a double holds exactly, and all its neighbours? */
static bool is_whole(double x) { return fabs(x) < 0x1p53 && x == floor(x); }

/* An expression may be written as a JSON string, number or bool. */
static struct status read_expression(const char **out, struct manifest *m, const cJSON *node)
{
    if (cJSON_IsString(node)) *out = node->valuestring;
    else if (cJSON_IsBool(node)) *out = cJSON_IsTrue(node) ? "True" : "False";
    else if (cJSON_IsNumber(node)) {
        double x = node->valuedouble;
        *out = is_whole(x) ? arena_format(&m->arena, "%lld", (long long)x)
                           : arena_format(&m->arena, "%.17g", x);
        if (!*out) return status_no_memory(0);
    } else {
        return config_json_fault(&m->file, node, "an expression is expected: a string or a number");
    }
    struct status st = expression_check(*out);
    return st.code ? config_json_fault(&m->file, node, "%s", st.text) : st;
}

/* The expression of a key that may be missing. */
static struct status read_optional(const char **out, struct manifest *m, const cJSON *object,
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
    TRY(read_optional(&a->cast, m, node, "cast"));
    TRY(read_optional(&a->axes, m, node, "axes"));
    TRY(read_optional(&a->broadcast, m, node, "broadcast"));
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
    TRY(read_optional(&s->when, m, node, "when"));
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

static struct status read_steps(struct manifest_steps *out, struct manifest *m, const cJSON *list)
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
    TRY(read_optional(&o->shape, m, node, "shape"));
    TRY(read_optional(&o->dtype, m, node, "dtype"));
    TRY(read_optional(&o->returns, m, node, "returns"));
    TRY(read_optional(&o->initial, m, node, "initial"));
    TRY(read_optional(&o->axes, m, node, "axes"));
    TRY(read_optional(&o->of, m, node, "of"));
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

/* A function's own keys; the object has been checked. `outputs` is the key of its results. */
static struct status read_function(struct manifest_function *f, struct manifest *m,
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
    TRY(read_steps(&f->steps, m, config_json_get(node, "steps")));
    if (!f->steps.count)
        return config_json_fault(&m->file, node, "\"steps\" with at least one call is missing");
    return status_ok();
}

/* --- kernels ------------------------------------------------------------------------------------ */

/* clang-format off */
static const struct config_json_key kernel_keys[] = {
    { "apis", LIST, true },       { "parameters", LIST, true }, { "when", TEXT, false },
    { "let", OBJECT, false },     { "outputs", LIST, true },    { "steps", LIST, true },
    { "backward", OBJECT, false }, { "smoke", OBJECT, false },  { "each", LIST, false },
    { NULL, 0, false },
};
/* clang-format on */

static const struct config_json_key backward_keys[] = {
    { "when", TEXT, false }, { "let", OBJECT, false }, { "gradients", LIST, true },
    { "steps", LIST, true }, { NULL, 0, false },
};

static bool is_identifier(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && !text[n] && text[0] > '9';
}

/* "input", "dim = -1", "*sizes". */
static struct status read_parameter(struct manifest_parameter *p, struct manifest *m,
                                    const cJSON *node)
{
    if (!cJSON_IsString(node)) return config_json_fault(&m->file, node, "a string is expected");
    char *text = arena_copy_string(&m->arena, node->valuestring);
    if (!text) return status_no_memory(0);
    char *equals = strchr(text, '=');
    if (equals) {
        *equals = '\0';
        p->fallback = equals + 1 + strspn(equals + 1, " ");
        struct status st = expression_check(p->fallback);
        if (st.code) return config_json_fault(&m->file, node, "the default: %s", st.text);
    }
    p->rest = *text == '*';
    text += p->rest;
    text[strcspn(text, " ")] = '\0';
    p->name = text;
    if (!is_identifier(text))
        return config_json_fault(&m->file, node,
                                 "a parameter is \"name\", \"name = default\" or \"*name\"");
    return status_ok();
}

static struct status read_kernel(struct manifest_kernel *k, struct manifest *m, const cJSON *node)
{
    const cJSON *list, *child;
    size_t i = 0;
    TRY(config_json_check_keys(&m->file, node, kernel_keys));
    k->node = node;
    list = config_json_get(node, "apis");
    k->n_apis = (size_t)cJSON_GetArraySize(list);
    if (!k->n_apis) return config_json_fault(&m->file, list, "the list is empty");
    ROOM(k->apis, k->n_apis);
    EACH(child, list)
    {
        if (!cJSON_IsString(child) || !strchr(child->valuestring, '.'))
            return config_json_fault(&m->file, child,
                                     "an API is written \"Torch.matmul\" or \"*.matmul\"");
        k->apis[i++] = child->valuestring;
    }
    i = 0;
    list = config_json_get(node, "parameters");
    k->n_parameters = (size_t)cJSON_GetArraySize(list);
    ROOM(k->parameters, k->n_parameters);
    EACH(child, list) TRY(read_parameter(&k->parameters[i++], m, child));
    TRY(read_optional(&k->when, m, node, "when"));
    TRY(read_function(&k->forward, m, node, "outputs"));
    k->smoke = config_json_get(node, "smoke");
    const cJSON *backward = config_json_get(node, "backward");
    if (!backward) return status_ok();
    TRY(config_json_check_keys(&m->file, backward, backward_keys));
    TRY(read_optional(&k->backward.when, m, backward, "when"));
    k->has_backward = true;
    return read_function(&k->backward, m, backward, "gradients");
}

/* A kernel with "each" stands for several: one for every object of words in that list. */
static size_t count_kernels(const cJSON *kernels)
{
    const cJSON *child;
    size_t count = 0;
    EACH(child, kernels)
    {
        const cJSON *each = config_json_get(child, "each");
        count += each ? (size_t)cJSON_GetArraySize(each) : 1;
    }
    return count;
}

static struct status read_each(struct manifest *m, const cJSON *node, const cJSON *each)
{
    const cJSON *words, *word, *copy;
    if (!cJSON_IsArray(each) || !each->child)
        return config_json_fault(&m->file, each, "a list of objects with words is expected");
    EACH(words, each)
    {
        if (!cJSON_IsObject(words))
            return config_json_fault(&m->file, words, "an object is expected");
        EACH(word, words)
        if (!cJSON_IsString(word)) return config_json_fault(&m->file, word, "a string is expected");
        TRY(config_json_copy_with(&copy, &m->file, node, words));
        TRY(read_kernel(&m->kernels[m->n_kernels++], m, copy));
    }
    return status_ok();
}

static struct status read_kernels(struct manifest *m, const cJSON *kernels)
{
    const cJSON *child;
    size_t count = count_kernels(kernels);
    ROOM(m->kernels, count);
    EACH(child, kernels)
    {
        const cJSON *each = config_json_get(child, "each");
        TRY(each ? read_each(m, child, each) : read_kernel(&m->kernels[m->n_kernels++], m, child));
    }
    return status_ok();
}

/* --- the whole ---------------------------------------------------------------------------------- */

/* clang-format off */
static const struct config_json_key manifest_keys[] = {
    { "plugin", NUMBER, true },       { "name", TEXT, false },     { "libraries", OBJECT, true },
    { "environment", OBJECT, false }, { "enums", OBJECT, false },  { "wrappers", OBJECT, false },
    { "session", OBJECT, false },     { "kernels", LIST, true },   { "memory_limit", NUMBER, false },
    { NULL, 0, false },
};
/* clang-format on */

static const struct config_json_key session_keys[] = {
    { "open", LIST, false },
    { "close", LIST, false },
    { NULL, 0, false },
};

static const struct config_json_key wrapper_keys[] = {
    { "value", TEXT, true },         { "before", LIST, true }, { "after", LIST, false },
    { "after_output", LIST, false }, { NULL, 0, false },
};

static struct status read_libraries(struct manifest *m, const cJSON *node)
{
    const cJSON *child;
    size_t i = 0;
    const char *slash = strrchr(m->file.name, '/');
    m->n_libraries = (size_t)cJSON_GetArraySize(node);
    if (!m->n_libraries) return config_json_fault(&m->file, node, "at least one library is needed");
    ROOM(m->libraries, m->n_libraries);
    EACH(child, node)
    {
        if (!cJSON_IsString(child) || !*child->valuestring)
            return config_json_fault(&m->file, child, "the file name of a library is expected");
        const char *path = child->valuestring;
        /* A bare name is searched for by the dynamic loader; a path is relative to the
         * manifest, wherever the program was started. */
        if (strchr(path, '/') && *path != '/')
            path = arena_format(&m->arena, "%.*s/%s", slash ? (int)(slash - m->file.name) : 1,
                                slash ? m->file.name : ".", path);
        if (!path) return status_no_memory(0);
        m->libraries[i++] = (struct manifest_library){ child->string, path };
    }
    return status_ok();
}

static struct status read_enums(struct manifest *m, const cJSON *node)
{
    const cJSON *child, *entry;
    size_t i = 0;
    if (!node) return status_ok();
    m->n_enums = (size_t)cJSON_GetArraySize(node);
    ROOM(m->enums, m->n_enums);
    EACH(child, node)
    {
        if (!cJSON_IsObject(child))
            return config_json_fault(&m->file, child, "an object from keys to numbers is expected");
        EACH(entry, child)
        if (!cJSON_IsNumber(entry) || !is_whole(entry->valuedouble))
            return config_json_fault(&m->file, entry, "a whole number is expected");
        m->enums[i++] = (struct manifest_enum){ child->string, child };
    }
    return status_ok();
}

static struct status read_environment(struct manifest *m, const cJSON *node)
{
    const cJSON *child;
    m->environment = node;
    if (!node) return status_ok();
    EACH(child, node)
    if (!cJSON_IsString(child)) return config_json_fault(&m->file, child, "a string is expected");
    return status_ok();
}

/* Wrappers may use one another only in the order in which they stand: each sees those before it. */
static struct status read_wrappers(struct manifest *m, const cJSON *node)
{
    const cJSON *child;
    if (!node) return status_ok();
    ROOM(m->wrappers, (size_t)cJSON_GetArraySize(node));
    EACH(child, node)
    {
        struct manifest_wrapper *w = &m->wrappers[m->n_wrappers];
        TRY(config_json_check_keys(&m->file, child, wrapper_keys));
        w->name = child->string;
        w->slot = config_json_get_string(child, "value", NULL);
        TRY(read_steps(&w->before, m, config_json_get(child, "before")));
        TRY(read_steps(&w->after, m, config_json_get(child, "after")));
        TRY(read_steps(&w->after_output, m, config_json_get(child, "after_output")));
        m->n_wrappers++;
    }
    return status_ok();
}

static struct status read_manifest(struct manifest *m)
{
    const cJSON *root = m->file.root, *session;
    TRY(config_json_check_keys(&m->file, root, manifest_keys));
    if (config_json_get(root, "plugin")->valuedouble != 1)
        return config_json_fault(&m->file, config_json_get(root, "plugin"),
                                 "this program reads version 1 of the manifest language");
    m->title = config_json_get_string(root, "name", m->file.name);
    TRY(read_libraries(m, config_json_get(root, "libraries")));
    TRY(read_environment(m, config_json_get(root, "environment")));
    const cJSON *memory = config_json_get(root, "memory_limit");
    if (memory && !(memory->valuedouble >= 1 << 20 && memory->valuedouble < 0x1p53))
        return config_json_fault(&m->file, memory,
                                 "a number of bytes of at least 1048576 is expected");
    m->memory_limit = memory ? memory->valuedouble : 0;
    TRY(read_enums(m, config_json_get(root, "enums")));
    TRY(read_wrappers(m, config_json_get(root, "wrappers")));
    session = config_json_get(root, "session");
    if (session) {
        TRY(config_json_check_keys(&m->file, session, session_keys));
        TRY(read_steps(&m->session_open, m, config_json_get(session, "open")));
        TRY(read_steps(&m->session_close, m, config_json_get(session, "close")));
    }
    return read_kernels(m, config_json_get(root, "kernels"));
}

static struct status finish(struct manifest *out)
{
    struct status st = read_manifest(out);
    if (st.code) manifest_close(out);
    return st;
}

static struct status check_api(const struct manifest *m, struct arena *arena, const cJSON *api,
                               bool (*is_api)(const char **, struct arena *, const char *))
{
    const char *nearest, *name = strchr(api->valuestring, '.') + 1;
    if (is_api(&nearest, arena, name)) return status_ok();
    return config_json_fault(&m->file, api, "there is no API \"%s\"; the nearest is \"%s\"", name,
                             nearest);
}

struct status manifest_check_apis(const struct manifest *m,
                                  bool (*is_api)(const char **, struct arena *, const char *))
{
    struct arena arena = { 0 };
    struct status st = status_ok();
    for (size_t i = 0; !st.code && i < m->n_kernels; i++)
        for (const cJSON *api = config_json_get(m->kernels[i].node, "apis")->child; api && !st.code;
             api = api->next)
            st = check_api(m, &arena, api, is_api);
    arena_release(&arena);
    return st;
}

struct status manifest_open(struct manifest *out, const char *path, struct file_policy policy)
{
    memset(out, 0, sizeof *out);
    TRY(config_json_open(&out->file, path, policy));
    return finish(out);
}

struct status manifest_parse(struct manifest *out, const char *name, const char *text, size_t bytes)
{
    memset(out, 0, sizeof *out);
    TRY(config_json_parse(&out->file, name, text, bytes));
    return finish(out);
}

void manifest_close(struct manifest *manifest)
{
    config_json_close(&manifest->file);
    arena_release(&manifest->arena);
    memset(manifest, 0, sizeof *manifest);
}

const struct manifest_wrapper *manifest_wrapper(const struct manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->n_wrappers; i++)
        if (!strcmp(manifest->wrappers[i].name, name)) return &manifest->wrappers[i];
    return NULL;
}

const struct manifest_enum *manifest_enum(const struct manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->n_enums; i++)
        if (!strcmp(manifest->enums[i].name, name)) return &manifest->enums[i];
    return NULL;
}

bool manifest_serves(const struct manifest_kernel *kernel, const char *type, const char *api)
{
    size_t length = strlen(type);
    for (size_t i = 0; i < kernel->n_apis; i++) {
        const char *name = kernel->apis[i];
        if (name[0] == '*' && name[1] == '.' && !strcmp(name + 2, api)) return true;
        if (!strncmp(name, type, length) && name[length] == '.' && !strcmp(name + length + 1, api))
            return true;
    }
    return false;
}
