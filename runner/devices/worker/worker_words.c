/* A small state machine over the characters of the command. */
#include "runner/devices/worker/worker_words.h"

#include <stdbool.h>
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/* Copy one word without its quotes; *at ends behind it. False when a quote does not end. */
static bool take_word(char *out, const char **at)
{
    const char *p = *at;
    char quote = 0;
    for (; *p && (quote || !is_blank(*p)); p++) {
        if (quote == '\'' ? *p == '\'' : quote == '"' && *p == '"') quote = 0;
        else if (!quote && (*p == '\'' || *p == '"')) quote = *p;
        else if (*p == '\\' && quote != '\'') {
            /* Between double quotes a backslash is plain except before these. */
            if (!p[1]) return false;
            if (quote == '"' && !strchr("$`\"\\\n", p[1])) *out++ = '\\';
            *out++ = *++p;
        } else {
            *out++ = *p;
        }
    }
    *out = '\0';
    *at = p;
    return !quote;
}

struct status worker_words(const char *const **out, size_t *count, struct arena *arena,
                           const char *text)
{
    size_t length = strlen(text), n = 0;
    /* Every word takes at least one character and a blank. */
    const char **words = arena_allocate_zeroed(arena, length / 2 + 2, sizeof *words);
    if (!words) return status_no_memory(length);
    for (const char *at = text;;) {
        while (is_blank(*at)) at++;
        if (!*at) break;
        char *word = arena_allocate(arena, strlen(at) + 1);
        if (!word) return status_no_memory(length);
        if (!take_word(word, &at))
            return status_error(STATUS_BAD_ARGUMENT,
                                "the worker's command has a quote or backslash that does not "
                                "end: %s",
                                text);
        words[n++] = word;
    }
    if (!n) return status_error(STATUS_BAD_ARGUMENT, "the worker's command is empty");
    *out = words;
    *count = n;
    return status_ok();
}
