/* Words up to a comma or bracket, by what they look like. */
#include "cli/try_value.h"

#include <stdlib.h>
#include <string.h>

#include "cli/try_list.h"

enum { DEPTH_MOST = 8 };

static struct status read_value(struct value *out, const char **at, struct arena *arena, int depth);

static void skip_blanks(const char **at) { *at += strspn(*at, " \t"); }

static struct status bad_list(const char *text)
{
    return status_error(STATUS_BAD_ARGUMENT, "'%s' is a list that does not end, or a deep one",
                        text);
}

/* "[2, 3]" or "(2, 3)"; an item is counted by its comma first. */
static struct status read_items(struct value *out, const char **at, struct arena *arena, int depth)
{
    const char *start = *at, end = *start == '[' ? ']' : ')';
    size_t capacity = 1;
    if (depth == DEPTH_MOST) return bad_list(start);
    for (const char *c = start; *c; c++) capacity += *c == ',';
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.items = arena_allocate_zeroed(arena, capacity, sizeof *out->list.items);
    if (!out->list.items) return status_no_memory(capacity * sizeof *out->list.items);
    for (++*at, skip_blanks(at); **at != end;) {
        if (!**at) return bad_list(start);
        TRY(read_value(&out->list.items[out->list.count++], at, arena, depth + 1));
        skip_blanks(at);
        if (**at == ',') ++*at;
        else if (**at != end) return bad_list(start);
        skip_blanks(at);
    }
    ++*at;
    return status_ok();
}

static const struct {
    const char *word;
    struct value value;
} words[] = {
    { "None", { .kind = VALUE_NONE } },
    { "null", { .kind = VALUE_NONE } },
    { "True", { .kind = VALUE_BOOL, .boolean = true } },
    { "true", { .kind = VALUE_BOOL, .boolean = true } },
    { "False", { .kind = VALUE_BOOL, .boolean = false } },
    { "false", { .kind = VALUE_BOOL, .boolean = false } },
    { "...", { .kind = VALUE_ELLIPSIS } },
};

/* A number as a whole; words such as "inf" and "nan" are numbers, too. */
static bool read_number(struct value *out, const char *word)
{
    char *end;
    long long integer = strtoll(word, &end, 10);
    if (end != word && !*end) {
        *out = (struct value){ .kind = VALUE_INT, .integer = integer };
        return true;
    }
    double real = strtod(word, &end);
    if (end == word || *end) return false;
    *out = (struct value){ .kind = VALUE_FLOAT, .real = real };
    return true;
}

static struct status read_word(struct value *out, const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i].word)) {
            *out = words[i].value;
            return status_ok();
        }
    enum dtype dtype = strncmp(word, "torch.", 6) ? DT_NONE : try_dtype(word);
    if (dtype != DT_NONE) *out = (struct value){ .kind = VALUE_DTYPE, .dtype = dtype };
    else if (!read_number(out, word)) *out = (struct value){ .kind = VALUE_STRING, .string = word };
    return status_ok();
}

static struct status read_value(struct value *out, const char **at, struct arena *arena, int depth)
{
    skip_blanks(at);
    if (**at == '[' || **at == '(') return read_items(out, at, arena, depth);
    const char quote = **at == '\'' || **at == '"' ? **at : '\0';
    const char *start = *at + (quote != '\0');
    const char stops[] = { quote, '\0' };
    size_t length = strcspn(start, quote ? stops : depth ? ",]) \t" : "");
    char *word = arena_copy_bytes(arena, start, length);
    if (!word) return status_no_memory(length);
    *at = start + length + (quote && start[length]);
    if (!quote) return read_word(out, word);
    *out = (struct value){ .kind = VALUE_STRING, .string = word };
    return status_ok();
}

struct status try_value_read(struct value *out, struct arena *arena, const char *text)
{
    const char *at = text;
    TRY(read_value(out, &at, arena, 0));
    skip_blanks(&at);
    return *at ? status_error(STATUS_BAD_ARGUMENT, "'%s' goes on behind its value: '%s'", text, at)
               : status_ok();
}
