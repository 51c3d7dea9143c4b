/* Reading goes down the tree in one pass; every object is checked against a table of its keys. */
#include "runner/devices/plugin/plugin_manifest.h"

#include <stdio.h>
#include <string.h>

#include "runner/devices/plugin/manifest_reading.h"
#include "runner/devices/plugin/plugin_expression.h"

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
    TRY(manifest_read_optional(&k->when, m, node, "when"));
    TRY(manifest_read_function(&k->forward, m, node, "outputs"));
    k->smoke = config_json_get(node, "smoke");
    const cJSON *backward = config_json_get(node, "backward");
    if (!backward) return status_ok();
    TRY(config_json_check_keys(&m->file, backward, backward_keys));
    TRY(manifest_read_optional(&k->backward.when, m, backward, "when"));
    k->has_backward = true;
    return manifest_read_function(&k->backward, m, backward, "gradients");
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
        if (!cJSON_IsNumber(entry) || !manifest_is_whole(entry->valuedouble))
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
        TRY(manifest_read_steps(&w->before, m, config_json_get(child, "before")));
        TRY(manifest_read_steps(&w->after, m, config_json_get(child, "after")));
        TRY(manifest_read_steps(&w->after_output, m, config_json_get(child, "after_output")));
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
        TRY(manifest_read_steps(&m->session_open, m, config_json_get(session, "open")));
        TRY(manifest_read_steps(&m->session_close, m, config_json_get(session, "close")));
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
