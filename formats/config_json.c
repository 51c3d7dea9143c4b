/* Where a value stands, what its keys may be, and copies of parts with words replaced. */
#include "formats/config_json.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/nearest_name.h"
#include "formats/json_tree.h"

/* --- positions ------------------------------------------------------------------------------ */

struct walk {
    const char *at;
    const cJSON *wanted;
    char path[160];
    size_t length; /* of the path */
};

/* The parser has accepted the text, so every value ends, and it holds no NUL but the one that ends
 * it. What the parser takes for space is every byte up to the space. */
static void skip_space(struct walk *walk)
{
    while (*walk->at && (unsigned char)*walk->at <= ' ') walk->at++;
}

static void skip_scalar(struct walk *walk)
{
    if (*walk->at == '"') {
        for (walk->at++; *walk->at != '"'; walk->at++) walk->at += *walk->at == '\\';
        walk->at++;
        return;
    }
    while ((unsigned char)*walk->at > ' ' && !strchr(",]}", *walk->at)) walk->at++;
}

static void skip_mark(struct walk *walk)
{
    skip_space(walk);
    assert(*walk->at);
    walk->at++;
    skip_space(walk);
}

static void extend_path(struct walk *walk, const cJSON *parent, const cJSON *child, int index)
{
    char *end = walk->path + walk->length;
    size_t room = sizeof walk->path - walk->length;
    size_t written =
        (size_t)(parent->type == cJSON_Array
                     ? snprintf(end, room, "[%d]", index)
                     : snprintf(end, room, "%s%s", walk->length ? "." : "", child->string));
    walk->length += written < room ? written : room - 1;
}

/* Walk over one value; true when the wanted one was met, position and path telling where. */
static bool walk_value(struct walk *walk, const cJSON *node)
{
    skip_space(walk);
    if (node == walk->wanted) return true;
    if (node->type != cJSON_Array && node->type != cJSON_Object) {
        skip_scalar(walk);
        return false;
    }
    skip_mark(walk); /* the opening bracket */
    int index = 0;
    for (const cJSON *child = node->child; child; child = child->next, index++) {
        size_t length = walk->length;
        extend_path(walk, node, child, index);
        if (child == walk->wanted) return true; /* at its key */
        if (node->type == cJSON_Object) {
            skip_scalar(walk);
            skip_mark(walk);
        }
        if (walk_value(walk, child)) return true;
        walk->length = length;
        walk->path[length] = '\0';
        skip_space(walk);
        if (child->next) skip_mark(walk);
    }
    skip_mark(walk); /* the closing one */
    return false;
}

/* The node of the original at the place that `node` has in its copy. */
static const cJSON *find_original(const cJSON *copy, const cJSON *original, const cJSON *node)
{
    if (copy == node) return original;
    for (copy = copy->child, original = original->child; copy; /* they have the same shape */
         copy = copy->next, original = original->next) {
        const cJSON *found = find_original(copy, original, node);
        if (found) return found;
    }
    return NULL;
}

static struct walk locate(const struct config_json *file, const cJSON *node)
{
    for (const struct config_json_copy *c = file->copies; c; c = c->next) {
        const cJSON *original = find_original(c->copy, c->original, node);
        if (original) node = original;
    }
    /* Some editors put a byte order mark in front, which the parser passes over. */
    struct walk walk = { .at = file->text + (strncmp(file->text, "\xef\xbb\xbf", 3) ? 0 : 3),
                         .wanted = node };
    bool met = walk_value(&walk, file->root);
    assert(met);
    (void)met;
    return walk;
}

static int line_of(const struct config_json *file, const struct walk *walk)
{
    int line = 1;
    for (const char *c = file->text; c < walk->at; c++) line += *c == '\n';
    return line;
}

int config_json_line(const struct config_json *file, const cJSON *node)
{
    struct walk walk = locate(file, node);
    return line_of(file, &walk);
}

struct status config_json_fault(const struct config_json *file, const cJSON *node,
                                const char *format, ...)
{
    struct walk walk = locate(file, node);
    char sentence[400];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return status_error(STATUS_BAD_INPUT, "%s:%d: %s%s%s", file->name, line_of(file, &walk),
                        walk.path, walk.length ? ": " : "", sentence);
}

/* --- files ---------------------------------------------------------------------------------- */

struct status config_json_parse(struct config_json *out, const char *name, const char *text,
                                size_t bytes)
{
    struct config_json file = { .bytes = bytes };
    file.name = memory_copy_string(name);
    file.text = memory_allocate(bytes + 1);
    if (!file.name || !file.text) {
        config_json_close(&file);
        return status_no_memory(bytes);
    }
    memcpy(file.text, text, bytes);
    file.text[bytes] = '\0';
    struct json_fault fault;
    struct status status = json_tree_parse(&file.root, &fault, file.text, bytes);
    if (status.code) {
        config_json_close(&file);
        return status.code == STATUS_BAD_INPUT
                   ? status_error(STATUS_BAD_INPUT, "%s:%zu:%zu: not JSON from here on", name,
                                  fault.line, fault.column)
                   : status;
    }
    *out = file;
    return status_ok();
}

struct status config_json_open(struct config_json *out, const char *path, struct file_policy policy)
{
    char *text;
    size_t bytes;
    TRY(file_read_text(&text, &bytes, path, policy));
    struct status st = config_json_parse(out, path, text, bytes);
    memory_release(text);
    return st;
}

void config_json_close(struct config_json *file)
{
    for (struct config_json_copy *c = file->copies, *next; c; c = next) {
        next = c->next;
        cJSON_Delete(c->copy);
        memory_release(c);
    }
    cJSON_Delete(file->root);
    memory_release(file->text);
    memory_release(file->name);
    memset(file, 0, sizeof *file);
}

/* --- copies --------------------------------------------------------------------------------- */

/* `text` with its "{key}"s replaced, to be freed with cJSON_free; NULL when there is no memory or,
 * with *unknown set, no such word. */
static char *replace_words(const char *text, const cJSON *words, const char **unknown)
{
    size_t room = strlen(text) + 1, used = 0;
    for (const char *p = text; (p = strchr(p, '{')); p++)
        for (const cJSON *w = words->child; w; w = w->next) room += strlen(w->valuestring);
    char *out = cJSON_malloc(room);
    if (!out) return NULL;
    while (*text) {
        size_t length = *text == '{' ? strcspn(text, "}") : 0;
        if (!length) {
            out[used++] = *text++;
            continue;
        }
        const cJSON *w = words->child;
        while (w && (strlen(w->string) != length - 1 || strncmp(w->string, text + 1, length - 1)))
            w = w->next;
        if (!w || !text[length]) {
            *unknown = text;
            cJSON_free(out);
            return NULL;
        }
        size_t bytes = strlen(w->valuestring);
        memcpy(out + used, w->valuestring, bytes);
        used += bytes;
        text += length + 1;
    }
    out[used] = '\0';
    return out;
}

static struct status replace_everywhere(const struct config_json *file, cJSON *node,
                                        const cJSON *words)
{
    const char *unknown = NULL;
    if (cJSON_IsString(node) && strchr(node->valuestring, '{')) {
        char *text = replace_words(node->valuestring, words, &unknown);
        if (!text && unknown)
            return config_json_fault(file, node, "there is no word for \"%.40s\"", unknown);
        if (!text) return status_no_memory(0);
        cJSON_free(node->valuestring);
        node->valuestring = text;
    }
    for (cJSON *child = node->child; child; child = child->next)
        TRY(replace_everywhere(file, child, words));
    return status_ok();
}

struct status config_json_copy_with(const cJSON **out, struct config_json *file,
                                    const cJSON *original, const cJSON *words)
{
    struct config_json_copy *entry = memory_allocate_zeroed(1, sizeof *entry);
    if (!entry) return status_no_memory(sizeof *entry);
    entry->original = original;
    entry->copy = cJSON_Duplicate(original, true);
    if (!entry->copy) {
        memory_release(entry);
        return status_no_memory(0);
    }
    entry->next = file->copies;
    file->copies = entry;
    *out = entry->copy;
    return replace_everywhere(file, entry->copy, words);
}

/* --- keys ----------------------------------------------------------------------------------- */

const cJSON *config_json_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *config_json_get_string(const cJSON *object, const char *key, const char *otherwise)
{
    const cJSON *value = config_json_get(object, key);
    return cJSON_IsString(value) ? value->valuestring : otherwise;
}

static const char *types_in_words(int types)
{
    static const struct {
        int types;
        const char *words;
    } table[] = {
        { cJSON_String, "a string" },
        { cJSON_Array, "a list" },
        { cJSON_Object, "an object" },
        { cJSON_Number, "a number" },
        { cJSON_True | cJSON_False, "true or false" },
        { cJSON_String | cJSON_Number, "a string or a number" },
        { cJSON_String | cJSON_Array, "a string or a list of strings" },
        { cJSON_String | cJSON_Array | cJSON_Object, "a string, a list or an object" },
        { cJSON_String | cJSON_Number | cJSON_True | cJSON_False, "a number, a string or a bool" },
        { cJSON_String | cJSON_NULL, "a string or null" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].types == types) return table[i].words;
    return "another type";
}

/* What an unknown key is told: the keys that there are, or the nearest of many. */
static struct status unknown_key(const struct config_json *file, const cJSON *child,
                                 const char *const *names, size_t count)
{
    char known[300] = "";
    size_t used = 0;

    for (size_t i = 0; i < count && used < sizeof known; i++)
        used +=
            (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
    if (used < sizeof known)
        return config_json_fault(file, child, "no such key; known here: %s", known);
    return config_json_fault(file, child, "no such key; the nearest is \"%s\"",
                             nearest_name(child->string, names, count));
}

/* The keys of an object, which are all among `names`; those that start with a mark are comments. */
static struct status check_names(const struct config_json *file, const cJSON *object,
                                 const char *const *names, size_t count)
{
    if (!cJSON_IsObject(object))
        return config_json_fault(file, object, "an object is expected here");
    for (const cJSON *child = object->child; child; child = child->next) {
        size_t i = 0;
        if (child->string[0] == '$' || child->string[0] == '_') continue;
        while (i < count && strcmp(names[i], child->string) != 0) i++;
        if (i == count) return unknown_key(file, child, names, count);
        if (config_json_get(object, child->string) != child)
            return config_json_fault(file, child, "the key is there twice");
    }
    return status_ok();
}

struct status config_json_check_names(const struct config_json *file, const cJSON *object,
                                      const char *const *names)
{
    size_t count = 0;
    while (names[count]) count++;
    return check_names(file, object, names, count);
}

struct status config_json_check_keys(const struct config_json *file, const cJSON *object,
                                     const struct config_json_key *keys)
{
    const char *names[CONFIG_JSON_KEYS];
    size_t count = 0;

    for (; keys[count].name; count++) {
        assert(count < CONFIG_JSON_KEYS);
        names[count] = keys[count].name;
    }
    TRY(check_names(file, object, names, count));
    for (const struct config_json_key *key = keys; key->name; key++) {
        const cJSON *value = config_json_get(object, key->name);
        if (value && !(value->type & key->types))
            return config_json_fault(file, value, "%s is expected", types_in_words(key->types));
        if (!value && key->required)
            return config_json_fault(file, object, "the key \"%s\" is missing", key->name);
    }
    return status_ok();
}
