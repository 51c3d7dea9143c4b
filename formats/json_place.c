/* Where in a JSON text something is: line, column, and the path of keys and indices that leads
 * there. The parser keeps none of this while it reads; it is found by reading the text again up
 * to the place, once, when there is something to say about it. */
#include <stdio.h>
#include <string.h>

#include "formats/json.h"

/* One open container on the way to a place: the key or the number of the item. */
struct step {
    const char *key; /* NULL: an array */
    size_t key_bytes;
    uint64_t item;
};

static bool is_identifier(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i && c >= '0' && c <= '9')) return false;
    }
    return bytes > 0;
}

static void step_format(char *text, size_t bytes, const struct step *step, bool is_first)
{
    enum { SHOWN = 60 };
    if (!step->key) {
        (void)snprintf(text, bytes, "[%llu]", (unsigned long long)step->item);
        return;
    }
    size_t shown = step->key_bytes < SHOWN ? step->key_bytes : SHOWN;
    while (shown < step->key_bytes && shown && (step->key[shown] & 0xc0) == 0x80) shown--;
    const char *dots = shown < step->key_bytes ? "..." : "";
    if (is_identifier(step->key, step->key_bytes))
        (void)snprintf(text, bytes, "%s%.*s%s", is_first ? "" : ".", (int)shown, step->key, dots);
    else (void)snprintf(text, bytes, "[\"%.*s%s\"]", (int)shown, step->key, dots);
}

/* The path as text: all steps, or the first and as many of the last as fit. */
static void path_format(char *text, size_t bytes, const struct step *steps, int count)
{
    char one[96];
    size_t used = 0, needed = 0;
    int from = 0;

    if (!count) {
        (void)snprintf(text, bytes, "the top level");
        return;
    }
    for (int i = 0; i < count; i++) {
        step_format(one, sizeof one, &steps[i], i == 0);
        needed += strlen(one);
    }
    for (; from < count && needed + 4 >= bytes; from++) {
        step_format(one, sizeof one, &steps[from], from == 0);
        needed -= strlen(one);
    }
    if (from) used = (size_t)snprintf(text, bytes, "...");
    for (int i = from; i < count; i++) {
        step_format(one, sizeof one, &steps[i], i == 0);
        used += (size_t)snprintf(text + used, bytes - used, "%s", one);
    }
}

/* Walk over the text before `at`, which is well-formed as far as it goes, and keep the open
 * containers on a stack. */
static void path_find(char *text, size_t bytes, const char *start, const char *at)
{
    struct step steps[JSON_MAX_DEPTH];
    int depth = 0;
    const char *string = NULL;
    size_t string_bytes = 0;

    for (const char *p = start; p < at; p++) {
        switch (*p) {
        case '"':
            string = ++p;
            while (p < at && *p != '"') p += *p == '\\' ? 2 : 1;
            if (p >= at) goto done; /* the place is inside this string */
            string_bytes = (size_t)(p - string);
            break;
        case ':':
            if (depth) {
                steps[depth - 1].key = string;
                steps[depth - 1].key_bytes = string_bytes;
            }
            break;
        case '{':
        case '[':
            if (depth == JSON_MAX_DEPTH) goto done;
            steps[depth++] = (struct step){ .key = *p == '{' ? "" : NULL };
            break;
        case '}':
        case ']':
            if (depth) depth--;
            break;
        case ',':
            if (depth) {
                if (steps[depth - 1].key) steps[depth - 1].key_bytes = 0;
                steps[depth - 1].item++;
            }
            break;
        default: break;
        }
    }
done:
    /* Between the items of an object there is no key yet. */
    if (depth && steps[depth - 1].key && !steps[depth - 1].key_bytes) depth--;
    path_format(text, bytes, steps, depth);
}

void json_locate(struct json_place *out, const char *text, const char *at)
{
    const char *line = text;

    *out = (struct json_place){ .line = 1, .column = 1, .byte = (uint64_t)(at - text) };
    for (const char *newline; (newline = memchr(line, '\n', (size_t)(at - line)));) {
        line = newline + 1;
        out->line++;
    }
    for (const char *p = line; p < at; p++)
        if ((*p & 0xc0) != 0x80) out->column++;
    path_find(out->path, sizeof out->path, text, at);
}
