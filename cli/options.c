/* Parsing of a command line by a table of options; every refusal names what was typed and the nearest
 * name that is known. */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/directory.h"
#include "core/nearest_name.h"

enum { NAME_MAX_BYTES = 64, CANDIDATES_MAX = 128 };

/* ---- names ------------------------------------------------------------------------------ */

/* Do the first `length` bytes of `text` spell `name`? Capitals count: -n is not -N. */
static bool same_name(const char *text, size_t length, const char *name)
{
    if (strlen(name) != length) return false;
    for (size_t i = 0; i < length; i++) {
        char a = text[i] == '-' ? '_' : text[i], b = name[i] == '-' ? '_' : name[i];
        if (a != b) return false;
    }
    return true;
}

/* Without the dashes it starts with; NULL when it has none or nothing follows. */
static const char *option_name(const char *argument)
{
    if (argument[0] != '-' || argument[1] == '\0') return NULL;
    const char *name = argument + (argument[1] == '-' ? 2 : 1);
    return *name ? name : NULL;
}

static const struct option_row *row_find(const struct command *command, const char *name,
                                         size_t length)
{
    for (const struct option_row *row = command->options; row && row->names[0]; row++)
        for (size_t i = 0; i < OPTION_NAMES && row->names[i]; i++)
            if (same_name(name, length, row->names[i])) return row;
    return NULL;
}

/* Is the argument an option of this command, so that it cannot be a forgotten value? */
static bool is_known_option(const struct command *command, const char *argument)
{
    const char *name = option_name(argument);
    return name && row_find(command, name, strcspn(name, "="));
}

static struct status unknown_option(const struct command *command, const char *argument)
{
    const char *candidates[CANDIDATES_MAX];
    char typed[NAME_MAX_BYTES + 1];
    size_t count = 0;
    const char *name = option_name(argument);

    for (const struct option_row *row = command->options; row && row->names[0]; row++)
        for (size_t i = 0; i < OPTION_NAMES && row->names[i]; i++)
            if (count < CANDIDATES_MAX - 1) candidates[count++] = row->names[i];
    candidates[count++] = "help";
    (void)snprintf(typed, sizeof typed, "%.*s", (int)strcspn(name, "="), name);
    const char *nearest = nearest_name(typed, candidates, count);
    return status_error(STATUS_BAD_ARGUMENT, "unknown option '%.*s', the nearest is '%s%s'",
                        (int)strcspn(argument, "="), argument, nearest[1] ? "--" : "-", nearest);
}

/* ---- values ----------------------------------------------------------------------------- */

bool options_parse_bytes(uint64_t *bytes, const char *text)
{
    static const char units[] = "KMGT";
    char *end;

    if (!isdigit((unsigned char)text[0])) return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno) return false;
    unsigned shift = 0;
    if (*end) {
        const char *unit = strchr(units, toupper((unsigned char)*end));
        if (!unit) return false;
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
        if (*end == 'i') end++;
        if (*end == 'B' || *end == 'b') end++;
    }
    if (*end || number > UINT64_MAX >> shift) return false;
    *bytes = (uint64_t)number << shift;
    return true;
}

static bool parse_integer(int64_t *out, const char *text)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)text[0])) return false;
    if (errno) number = text[0] == '-' ? INT64_MIN : INT64_MAX;
    *out = number;
    return errno == 0;
}

/* One line about a bad number, with the nearest valid one when it is out of range. */
static struct status bad_number(const struct option_row *row, const char *argument,
                                const char *text, const char *what)
{
    int64_t number;
    if (row->kind != OPTION_BYTES && parse_integer(&number, text))
        return status_error(STATUS_BAD_ARGUMENT,
                            "option '%s' takes %s from %lld to %lld, not '%s'; the nearest is %lld",
                            argument, what, (long long)row->minimum, (long long)row->maximum, text,
                            (long long)(number < row->minimum ? row->minimum : row->maximum));
    if (row->kind == OPTION_BYTES)
        return status_error(STATUS_BAD_ARGUMENT,
                            "option '%s' takes %s, for example 4G or 512M, not '%s'", argument,
                            what, text);
    return status_error(STATUS_BAD_ARGUMENT, "option '%s' takes %s from %lld to %lld, not '%s'",
                        argument, what, (long long)row->minimum, (long long)row->maximum, text);
}

static struct status set_integer(int64_t *out, const struct option_row *row, const char *argument,
                                 const char *text)
{
    int64_t number;
    if (!parse_integer(&number, text) || number < row->minimum || number > row->maximum)
        return bad_number(row, argument, text, "a whole number");
    *out = number;
    return status_ok();
}

static struct status set_real(double *out, const struct option_row *row, const char *argument,
                              const char *text)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number) || number < (double)row->minimum ||
        number > (double)row->maximum)
        return bad_number(row, argument, text,
                          row->kind == OPTION_SECONDS ? "seconds" : "a number");
    *out = number;
    return status_ok();
}

struct status options_unknown_choice(const char *argument, const char *text,
                                     const char *const *choices)
{
    char list[300] = "";
    for (size_t i = 0, used = 0; choices[i] && used < sizeof list; i++) {
        bool open_ended = choices[i][strlen(choices[i]) - 1] == ':';
        const char *before = !i ? "" : choices[i + 1] ? ", " : " or ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s%s", before, choices[i],
                                 open_ended ? "..." : "");
    }
    return status_error(STATUS_BAD_ARGUMENT, "option '%s' does not know '%s'; it takes %s",
                        argument, text, list);
}

static struct status set_choice(const char **out, const struct option_row *row,
                                const char *argument, const char *text)
{
    const char *const *choices = row->choices();
    size_t count = 0;
    for (; choices[count]; count++) {
        size_t length = strlen(choices[count]);
        bool prefix = choices[count][length - 1] == ':';
        if (prefix ? !strncmp(text, choices[count], length) && text[length]
                   : !strcmp(text, choices[count])) {
            *out = text;
            return status_ok();
        }
    }
    return options_unknown_choice(argument, text, choices);
}

static struct status add_integer(struct integer_list *list, const char *argument, int64_t number)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == number)
            return status_error(STATUS_BAD_ARGUMENT, "option '%s' has %lld twice", argument,
                                (long long)number);
    if (list->count == INTEGER_LIST_MAX)
        return status_error(STATUS_BAD_ARGUMENT, "option '%s' takes at most %d numbers", argument,
                            INTEGER_LIST_MAX);
    list->items[list->count++] = number;
    return status_ok();
}

/* "3" or "3-5", which is 3, 4, 5. */
static struct status add_range(struct integer_list *list, const struct option_row *row,
                               const char *argument, char *text)
{
    int64_t first, last;
    char *dash = *text ? strchr(text + 1, '-') : NULL;
    if (dash) *dash = '\0';
    TRY(set_integer(&first, row, argument, text));
    last = first;
    if (dash) TRY(set_integer(&last, row, argument, dash + 1));
    if (last < first)
        return status_error(STATUS_BAD_ARGUMENT,
                            "option '%s' has the range %s-%s, which ends before it begins",
                            argument, text, dash + 1);
    for (int64_t number = first; number <= last; number++) TRY(add_integer(list, argument, number));
    return status_ok();
}

/* Adds the numbers of "0,2-5" to the list; each may stand there once. */
static struct status set_integers(struct integer_list *list, const struct option_row *row,
                                  const char *argument, const char *text)
{
    char one[64];
    for (;;) {
        size_t length = strcspn(text, ",");
        (void)snprintf(one, sizeof one, "%.*s",
                       (int)(length < sizeof one ? length : sizeof one - 1), text);
        TRY(add_range(list, row, argument, one));
        if (!text[length]) return status_ok();
        text += length + 1;
    }
}

static bool ends_in(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && !strcmp(text + length - tail, suffix);
}

static struct status set_text(const char **out, const struct option_row *row, const char *argument,
                              const char *text)
{
    if (!*text)
        return status_error(STATUS_BAD_ARGUMENT, "option '%s' has an empty value", argument);
    bool directory = row->or_directory && directory_exists(text);
    if (row->suffix && !directory && !ends_in(text, row->suffix))
        return status_error(STATUS_BAD_ARGUMENT, "option '%s' takes a %s file, not '%s'", argument,
                            row->suffix, text);
    *out = text;
    return status_ok();
}

static struct status add_text(struct operands *texts, const struct option_row *row,
                              const char *argument, const char *text)
{
    if (texts->count == OPERANDS_MAX)
        return status_error(STATUS_BAD_ARGUMENT, "option '%s' may be given %d times", argument,
                            OPERANDS_MAX);
    return set_text(&texts->items[texts->count++], row, argument, text);
}

static struct status set_value(void *values, const struct option_row *row, const char *argument,
                               const char *text)
{
    void *place = (char *)values + row->offset;
    switch (row->kind) {
    case OPTION_FLAG: *(bool *)place = true; return status_ok();
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_DIRECTORY: return set_text(place, row, argument, text);
    case OPTION_CHOICE: return set_choice(place, row, argument, text);
    case OPTION_INTEGER: return set_integer(place, row, argument, text);
    case OPTION_SECONDS:
    case OPTION_REAL: return set_real(place, row, argument, text);
    case OPTION_BYTES:
        if (options_parse_bytes(place, text)) return status_ok();
        return bad_number(row, argument, text, "a number of bytes");
    case OPTION_INTEGERS: return set_integers(place, row, argument, text);
    case OPTION_TEXTS:
    case OPTION_FILES: return add_text(place, row, argument, text);
    }
    return status_error(STATUS_INTERNAL, "option '%s' has no kind", argument);
}

/* ---- parsing ---------------------------------------------------------------------------- */

/* The arguments that are left: what `items[0 .. count)` of the command line still holds. */
struct arguments {
    char *const *items;
    int count;
};

static bool is_integer_list(const char *text)
{
    return text[0] && text[0] != '-' && strspn(text, "0123456789,-") == strlen(text);
}

/* Is the next argument one more value of a list? */
static bool goes_on(const struct command *command, const struct option_row *row, const char *text)
{
    if (row->kind == OPTION_INTEGERS) return is_integer_list(text);
    return row->kind == OPTION_FILES && !command->operands && text[0] != '-';
}

/* One option with its value. Of an option given twice the last one counts; lists grow. */
static struct status parse_option(void *values, const struct command *command,
                                  struct arguments *left)
{
    const char *argument = left->items[0];
    const char *name = option_name(argument);
    size_t length = strcspn(name, "=");
    const struct option_row *row = row_find(command, name, length);

    if (!row) return unknown_option(command, argument);
    left->items++, left->count--;

    char shown[NAME_MAX_BYTES + 8];
    size_t spelled = (size_t)(name - argument) + length;
    (void)snprintf(shown, sizeof shown, "%.*s",
                   (int)(spelled < sizeof shown ? spelled : sizeof shown - 1), argument);
    if (name[length] == '=') {
        if (row->kind == OPTION_FLAG)
            return status_error(STATUS_BAD_ARGUMENT, "option '%s' takes no value", shown);
        return set_value(values, row, shown, name + length + 1);
    }
    if (row->kind == OPTION_FLAG) return set_value(values, row, shown, "");
    bool lacks_value = !left->count || is_known_option(command, left->items[0]);
    if (lacks_value && row->bare) {
        *(const char **)(void *)((char *)values + row->offset) = row->bare;
        return status_ok();
    }
    if (lacks_value)
        return status_error(STATUS_BAD_ARGUMENT, "option '%s' needs a value: %s %s", shown, shown,
                            row->argument);
    do {
        TRY(set_value(values, row, shown, left->items[0]));
        left->items++, left->count--;
    } while (left->count && goes_on(command, row, left->items[0]));
    return status_ok();
}

static struct status parse_operand(void *values, const struct command *command,
                                   struct arguments *left)
{
    const char *text = left->items[0];
    if (!command->operands) {
        const struct option_row *first = command->options;
        if (first && first->required)
            return status_error(STATUS_BAD_ARGUMENT,
                                "unexpected argument '%s', the nearest is '-%s %s'", text,
                                first->names[0], text);
        return status_error(STATUS_BAD_ARGUMENT, "unexpected argument '%s'", text);
    }
    struct operands *operands =
        (struct operands *)(void *)((char *)values + command->operands_offset);
    if (operands->count == command->operands_maximum || operands->count == OPERANDS_MAX)
        return status_error(STATUS_BAD_ARGUMENT, "unexpected argument '%s': %s takes %s", text,
                            command->word, command->operands);
    operands->items[operands->count++] = text;
    left->items++, left->count--;
    return status_ok();
}

/* Everything that must be there is there. A required option lies at an offset that holds a
 * text, so NULL means that it was not given. */
static struct status check_complete(const void *values, const struct command *command)
{
    for (const struct option_row *row = command->options; row && row->names[0]; row++)
        if (row->required &&
            !*(const char *const *)(const void *)((const char *)values + row->offset) &&
            !(row->is_spared && row->is_spared(values)))
            return status_error(STATUS_BAD_ARGUMENT, "option '-%s %s' is missing", row->names[0],
                                row->argument);
    if (command->operands) {
        const struct operands *operands =
            (const struct operands *)(const void *)((const char *)values +
                                                    command->operands_offset);
        if (operands->count < command->operands_minimum)
            return status_error(STATUS_BAD_ARGUMENT, "%s needs %s", command->word,
                                command->operands);
    }
    return status_ok();
}

struct status options_parse(void *values, bool *help, const struct command *command, int count,
                            char *const *arguments)
{
    struct arguments left = { arguments, count };
    bool only_operands = false;

    *help = false;
    if (command->defaults) memcpy(values, command->defaults, command->bytes);
    else memset(values, 0, command->bytes);
    while (left.count) {
        const char *name = only_operands ? NULL : option_name(left.items[0]);
        if (!only_operands && !strcmp(left.items[0], "--")) {
            only_operands = true;
            left.items++, left.count--;
            continue;
        }
        if (name && (!strcmp(name, "help") || !strcmp(name, "h"))) {
            *help = true;
            return status_ok();
        }
        TRY(name ? parse_option(values, command, &left) : parse_operand(values, command, &left));
    }
    return check_complete(values, command);
}
