/* A line is parsed as a command line is, by the same table. */
#include "cli/try_batch.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/text_table.h"
#include "formats/text_out.h"

enum { WORDS_MOST = 128 };

/* ---- texts ------------------------------------------------------------------------------ */

static void append(struct text_out *out, const char *option, const char *value)
{
    if (!value) return;
    text_out_string(out, out->text.length ? " --" : "--");
    text_out_string(out, option);
    text_out_string(out, " ");
    text_out_shell_word(out, value);
}

static void append_all(struct text_out *out, const char *option, const struct operands *values)
{
    for (size_t i = 0; i < values->count; i++) append(out, option, values->items[i]);
}

/* The options that differ from the defaults. */
static struct status describe(struct try_line *line, struct arena *arena)
{
    const struct try_call *call = &line->call;
    struct text_out text = { .status.code = STATUS_OK };
    append(&text, "op", call->op);
    append_all(&text, "shape", &call->shapes);
    append_all(&text, "dtype", &call->dtypes);
    append_all(&text, "range", &call->ranges);
    append_all(&text, "arg", &call->arguments);
    if (strcmp(call->distribution, "uniform") != 0)
        append(&text, "distribution", call->distribution);
    if (strcmp(call->gradients, "on") != 0) append(&text, "gradients", call->gradients);
    struct status status = text.status;
    if (!status.code) line->text = arena_copy_bytes(arena, text.text.data, text.text.length);
    if (!status.code && !line->text) status = status_no_memory(text.text.length);
    csv_buffer_release(&text.text);
    return status;
}

struct status try_batch_of_call(struct try_batch *out, struct arena *arena,
                                const struct try_call *call)
{
    out->lines = arena_allocate_zeroed(arena, 1, sizeof *out->lines);
    if (!out->lines) return status_no_memory(sizeof *out->lines);
    out->lines[0].call = *call;
    out->count = 1;
    return describe(&out->lines[0], arena);
}

/* ---- lines ------------------------------------------------------------------------------ */

struct words {
    char *items[WORDS_MOST];
    int count;
};

/* The word at *at, which is moved behind it; quotes are taken off in place. False when a quote does not
 * end. */
static bool take_word(char **word, char **at)
{
    char *from = *at, *to = *at;
    char quote = '\0';
    *word = to;
    for (; *from && (quote || !strchr(" \t\r", *from)); from++) {
        if (quote ? *from == quote : *from == '\'' || *from == '"') quote = quote ? '\0' : *from;
        else *to++ = *from;
    }
    *at = from + (*from != '\0');
    *to = '\0';
    return !quote;
}

static struct status split(struct words *words, char *line)
{
    words->count = 0;
    for (char *at = line;;) {
        at += strspn(at, " \t\r");
        if (!*at || *at == '#') break;
        if (words->count == WORDS_MOST)
            return status_error(STATUS_BAD_ARGUMENT, "more than %d words", WORDS_MOST);
        if (!take_word(&words->items[words->count++], &at))
            return status_error(STATUS_BAD_ARGUMENT, "a quote that does not end");
    }
    if (words->count >= 2 && !strcmp(words->items[0], "probe-ut") &&
        !strcmp(words->items[1], "try")) {
        words->count -= 2;
        memmove(words->items, words->items + 2, (size_t)words->count * sizeof *words->items);
    }
    return status_ok();
}

static struct status read_line(struct try_line *line, bool *empty, char *text,
                               const struct command *command, struct arena *arena)
{
    struct words words;
    bool help;
    TRY(split(&words, text));
    *empty = !words.count;
    if (*empty) return status_ok();
    TRY(options_parse(&line->call, &help, command, words.count, words.items));
    if (help || !line->call.op)
        return status_error(STATUS_BAD_ARGUMENT,
                            "a line has --op API and what belongs to the call");
    return describe(line, arena);
}

static size_t count_lines(const char *text)
{
    size_t count = 1;
    for (; *text; text++) count += *text == '\n';
    return count;
}

struct status try_line_fault(struct status fault, const struct try_line *line, const char *path)
{
    return line->number ? status_within(fault, "%s:%zu", path, line->number) : fault;
}

static struct status read_lines(struct try_batch *out, struct arena *arena, char *text,
                                const char *path, const struct command *command)
{
    size_t number = 1;
    for (char *at = text; at; number++) {
        struct try_line *line = &out->lines[out->count];
        char *end = strchr(at, '\n');
        bool empty = true;
        if (end) *end = '\0';
        line->number = number;
        struct status status = read_line(line, &empty, at, command, arena);
        if (status.code) return try_line_fault(status, line, path);
        out->count += !empty;
        at = end ? end + 1 : NULL;
    }
    if (out->count) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "%s has no line with a call", path);
}

struct status try_batch_read(struct try_batch *out, struct arena *arena, const char *path,
                             const struct command *command, struct file_policy policy)
{
    char *text;
    size_t bytes;
    TRY(file_read_text(&text, &bytes, path, policy));
    char *copy = arena_copy_bytes(arena, text, bytes); /* the words stay in it */
    memory_release(text);
    if (!copy) return status_no_memory(bytes);
    out->lines = arena_allocate_zeroed(arena, count_lines(copy), sizeof *out->lines);
    if (!out->lines) return status_no_memory(0);
    return read_lines(out, arena, copy, path, command);
}

/* ---- names ------------------------------------------------------------------------------ */

/* The name of a line with this number, when nobody has it. */
static struct status try_name(bool *taken, struct try_line *line, struct text_table *names,
                              const char *group, const char *api, int64_t number,
                              struct arena *arena)
{
    uint32_t place;
    bool added;
    const char *name = arena_format(arena, "%s.%s.%lld", group, api, (long long)number);
    if (!name) return status_no_memory(0);
    TRY(text_table_add(&place, &added, names, name, strlen(name)));
    *taken = !added;
    if (added) line->name = name;
    return status_ok();
}

/* The numbers that were given come first, so that no other call takes them. */
static struct status name_given(struct try_batch *batch, struct text_table *names,
                                const char **groups, const char **apis, struct arena *arena,
                                const char *path)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct try_line *line = &batch->lines[i];
        bool taken;
        if (line->call.number < 0) continue;
        TRY(try_name(&taken, line, names, groups[i], apis[i], line->call.number, arena));
        if (taken)
            return try_line_fault(status_error(STATUS_BAD_ARGUMENT,
                                               "another call is %s.%s.%lld already", groups[i],
                                               apis[i], (long long)line->call.number),
                                  line, path);
    }
    return status_ok();
}

/* The others count up from where the last one of their API was. */
static struct status name_others(struct try_batch *batch, struct text_table *names,
                                 const char **groups, const char **apis, struct arena *arena)
{
    struct text_table seen;
    TRY(text_table_create(&seen));
    int64_t *next = arena_allocate_zeroed(arena, batch->count, sizeof *next); /* by API */
    struct status status = next ? status_ok() : status_no_memory(0);
    for (size_t i = 0; !status.code && i < batch->count; i++) {
        char key[600];
        uint32_t api;
        bool taken = batch->lines[i].name == NULL;
        int length = snprintf(key, sizeof key, "%s.%s", groups[i], apis[i]);
        status = text_table_add(&api, NULL, &seen, key, (size_t)length);
        while (!status.code && taken)
            status =
                try_name(&taken, &batch->lines[i], names, groups[i], apis[i], next[api]++, arena);
        if (!status.code && batch->lines[i].call.number < 0)
            batch->lines[i].call.number = next[api] - 1;
    }
    text_table_release(&seen);
    return status;
}

struct status try_batch_name(struct try_batch *batch, const char **groups, const char **apis,
                             struct arena *arena, const char *path)
{
    struct text_table names;
    for (size_t i = 0; i < batch->count; i++) {
        const struct try_line *line = &batch->lines[i];
        struct status status = try_call_find(&groups[i], &apis[i], arena, line->call.op);
        if (status.code) return try_line_fault(status, line, path);
    }
    TRY(text_table_create(&names));
    struct status status = name_given(batch, &names, groups, apis, arena, path);
    if (!status.code) status = name_others(batch, &names, groups, apis, arena);
    text_table_release(&names);
    return status;
}
