/* One word for a flag, two for an option with a value; a list is its option again for each value. */
#include "cli/options_write.h"
#include "core/growing.h"

#include <string.h>

static struct status add_word(struct option_words *words, struct arena *arena, const char *word)
{
    if (!word) return status_no_memory(0);
    TRY(array_make_room_in(arena, &words->items, &words->room, words->count, sizeof *words->items));
    words->items[words->count++] = word;
    return status_ok();
}

static struct status add_option(struct option_words *words, struct arena *arena,
                                const struct option_row *row, const char *value)
{
    const char *name = row->names[0];
    TRY(add_word(words, arena, arena_format(arena, name[1] ? "--%s" : "-%s", name)));
    return add_word(words, arena, value);
}

static struct status add_integers(struct option_words *words, struct arena *arena,
                                  const struct option_row *row, const struct integer_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        TRY(add_option(words, arena, row, arena_format(arena, "%lld", (long long)list->items[i])));
    return status_ok();
}

static struct status add_texts(struct option_words *words, struct arena *arena,
                               const struct option_row *row, const struct operands *texts)
{
    for (size_t i = 0; i < texts->count; i++) TRY(add_option(words, arena, row, texts->items[i]));
    return status_ok();
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

/* An option that takes one value, or none. */
static struct status add_single(struct option_words *words, struct arena *arena,
                                const struct option_row *row, const void *value, const void *usual)
{
    switch (row->kind) {
    case OPTION_FLAG: {
        const char *name = row->names[0];
        if (*(const bool *)value == *(const bool *)usual) return status_ok();
        return add_word(words, arena, arena_format(arena, name[1] ? "--%s" : "-%s", name));
    }
    case OPTION_INTEGER: {
        long long number = *(const int64_t *)value;
        if (number == *(const int64_t *)usual) return status_ok();
        return add_option(words, arena, row, arena_format(arena, "%lld", number));
    }
    case OPTION_BYTES: {
        unsigned long long bytes = *(const uint64_t *)value;
        if (bytes == *(const uint64_t *)usual) return status_ok();
        return add_option(words, arena, row, arena_format(arena, "%llu", bytes));
    }
    case OPTION_SECONDS:
    case OPTION_REAL: {
        double number = *(const double *)value;
        if (number == *(const double *)usual) return status_ok();
        return add_option(words, arena, row, arena_format(arena, "%.17g", number));
    }
    default: break;
    }
    const char *text = *(const char *const *)value;
    if (!text || same_text(text, *(const char *const *)usual)) return status_ok();
    return add_option(words, arena, row, text);
}

struct status options_write(struct option_words *words, struct arena *arena,
                            const struct option_row *rows, const void *values, const void *defaults)
{
    for (const struct option_row *row = rows; row->names[0]; row++) {
        const void *value = (const char *)values + row->offset;
        const void *usual = (const char *)defaults + row->offset;
        if (row->kind == OPTION_INTEGERS) TRY(add_integers(words, arena, row, value));
        else if (row->kind == OPTION_TEXTS || row->kind == OPTION_FILES)
            TRY(add_texts(words, arena, row, value));
        else TRY(add_single(words, arena, row, value, usual));
    }
    return status_ok();
}
