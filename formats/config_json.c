#include "formats/config_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/nearest_name.h"
#include "formats/json_tree.h"

static size_t line_at(const char *text, const char *place)
{
    size_t line = 1;
    for (; text < place; text++) line += *text == '\n';
    return line;
}

struct status json_source_parse(struct json_source *out, const char *name, const char *text,
                                size_t bytes)
{
    struct json_fault fault;
    cJSON *root;
    struct status status = json_tree_parse(&root, &fault, text, bytes);

    if (status.code == STATUS_BAD_INPUT)
        return status_error(STATUS_BAD_INPUT, "%s, line %zu, column %zu: not valid JSON here", name,
                            fault.line, fault.column);
    if (status.code) return status;
    *out = (struct json_source){ name, text, root };
    return status_ok();
}

/* Number of values before `item` in document order; false when it is not below `root`. */
static bool count_before(const cJSON *root, const cJSON *item, size_t *count)
{
    if (root == item) return true;
    ++*count;
    for (const cJSON *child = root->child; child; child = child->next)
        if (count_before(child, item, count)) return true;
    return false;
}

/* Behind the string that begins here. The text is valid; should cJSON have taken one for valid that
 * is not, the end of the text ends the string. */
static const char *skip_string(const char *text)
{
    for (text++; *text && *text != '"'; text++) text += *text == '\\' && text[1];
    return text + (*text == '"');
}

/* cJSON takes every control character for a blank. */
static bool is_blank(char c) { return c && (unsigned char)c <= ' '; }

static const char *skip_blanks(const char *text)
{
    while (is_blank(*text)) text++;
    return text;
}

/* Behind a number, true, false or null. */
static const char *skip_word(const char *text)
{
    while (*text && !is_blank(*text) && !strchr(",]}", *text)) text++;
    return text;
}

/* Behind the byte order mark that cJSON passes over. */
static const char *skip_mark(const char *text)
{
    static const char mark[] = "\xEF\xBB\xBF";
    return strncmp(text, mark, sizeof mark - 1) ? text : text + sizeof mark - 1;
}

/* Where value number `index` of a valid JSON text begins; for a member, where its key does. */
static const char *find_value(const char *text, size_t index)
{
    const char *key = NULL;

    for (text = skip_blanks(skip_mark(text)); *text; text = skip_blanks(text)) {
        const char *start = text;
        if (strchr("}],:", *text)) {
            text++;
            continue;
        }
        if (*text == '"') {
            text = skip_string(text);
            if (*skip_blanks(text) == ':') {
                key = start;
                continue;
            }
        } else if (*text == '{' || *text == '[') {
            text++;
        } else {
            text = skip_word(text);
        }
        if (index-- == 0) return key ? key : start;
        key = NULL;
    }
    return text;
}

size_t json_source_line(const struct json_source *source, const cJSON *item)
{
    size_t before = 0;
    count_before(source->root, item, &before);
    return line_at(source->text, find_value(source->text, before));
}

struct status json_source_fault(const struct json_source *source, const cJSON *item,
                                const char *format, ...)
{
    char sentence[400];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return status_error(STATUS_BAD_INPUT, "%s, line %zu: %s", source->name,
                        json_source_line(source, item), sentence);
}

static size_t name_count(const char *const *names)
{
    size_t count = 0;
    while (names[count]) count++;
    return count;
}

static bool is_among(const char *word, const char *const *keys)
{
    for (; *keys; keys++)
        if (!strcmp(word, *keys)) return true;
    return false;
}

struct status json_source_check_keys(const struct json_source *source, const cJSON *object,
                                     const char *const *keys)
{
    const cJSON *child, *other;

    for (child = object->child; child; child = child->next) {
        if (!is_among(child->string, keys))
            return json_source_fault(source, child, "unknown key \"%s\"; the nearest is \"%s\"",
                                     child->string,
                                     nearest_name(child->string, keys, name_count(keys)));
        for (other = object->child; other != child; other = other->next)
            if (!strcmp(other->string, child->string))
                return json_source_fault(source, child, "the key \"%s\" is given twice",
                                         child->string);
    }
    return status_ok();
}
