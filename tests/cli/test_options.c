/* The option table: what is parsed, what is refused and in which words, and that everything
 * users read about it comes from the table. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/completion.h"
#include "cli/option_text.h"
#include "cli/options.h"
#include "support/suite.h"

struct sample {
    const char *file;
    const char *mode;
    int64_t number;
    double seconds;
    uint64_t bytes;
    struct integer_list ids;
    bool flag;
    struct operands operands;
};

static const char *const *modes(void)
{
    static const char *const list[] = { "fast", "slow", "plugin:", NULL };
    return list;
}

/* clang-format off */
static const struct option_row rows[] = {
    { { "api_info", "api_info_file" }, OPTION_FILE, offsetof(struct sample, file), "FILE",
      .required = true, .help = "The file." },
    { { "mode" }, OPTION_CHOICE, offsetof(struct sample, mode), "MODE", .choices = modes,
      .help = "How. A line that is certainly longer than eighty columns when it is not wrapped "
              "anywhere at all." },
    { { "n", "number", "count" }, OPTION_INTEGER, offsetof(struct sample, number), "N", .minimum = 1,
      .maximum = 64, .help = "How many." },
    { { "timeout" }, OPTION_SECONDS, offsetof(struct sample, seconds), "S", .maximum = 100,
      .help = "How long." },
    { { "memory" }, OPTION_BYTES, offsetof(struct sample, bytes), "BYTES", .help = "How much." },
    { { "d", "device" }, OPTION_INTEGERS, offsetof(struct sample, ids), "ID", .maximum = 7,
      .help = "Which." },
    { { "flag" }, OPTION_FLAG, offsetof(struct sample, flag), .help = "Whether." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct sample defaults = { .mode = "fast", .number = 8 };

static const char *const aliases[] = { "test", NULL };

/* clang-format off */
static const struct command sample_command = {
    .word = "try", .aliases = aliases, .summary = "try things", .text = "First.\n\nSecond.",
    .options = rows, .operands = "[WHAT ...]", .operands_maximum = 2,
    .operands_offset = offsetof(struct sample, operands), .bytes = sizeof(struct sample),
    .defaults = &defaults,
};
/* clang-format on */

/* Commands at the other end: no options, no aliases; operands that must be there, more than fit. */
static const char *const no_aliases[] = { NULL };

static const struct command bare_command = {
    .word = "bare",
    .aliases = no_aliases,
    .summary = "do without",
    .bytes = sizeof(struct sample),
    .text = "'Quoted' first. Two\nlines, a \\ and a - dash.\n\n.Dotted last.",
};

/* clang-format off */
static const struct command greedy_command = {
    .word = "take", .summary = "take things", .text = "Takes.", .operands = "ONE TWO ...",
    .operands_minimum = 2, .operands_maximum = 100,
    .operands_offset = offsetof(struct sample, operands), .bytes = sizeof(struct sample),
};
/* clang-format on */

/* A first option that may be left out. */
/* clang-format off */
static const struct option_row optional_rows[] = {
    { { "mode" }, OPTION_CHOICE, offsetof(struct sample, mode), "MODE", .choices = modes, .help = "How." },
    { { "memory" }, OPTION_BYTES, offsetof(struct sample, bytes), "BYTES", .help = "How much." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct command optional_command = {
    .word = "maybe",
    .summary = "do perhaps",
    .text = "Perhaps.",
    .options = optional_rows,
    .bytes = sizeof(struct sample),
};

static struct status parse_with(struct sample *out, const struct command *command, const char *line)
{
    static char copy[512];
    char *arguments[100];
    int count = 0;
    bool help;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) arguments[count++] = word;
    return options_parse(out, &help, command, count, arguments);
}

static struct status parse(struct sample *out, const char *line)
{
    return parse_with(out, &sample_command, line);
}

static void refused(const char *line, const char *text)
{
    struct sample s;
    struct status status = parse(&s, line);
    ck_assert_msg(status.code == STATUS_BAD_ARGUMENT, "'%s' was accepted", line);
    ck_assert_msg(!strcmp(status.text, text), "'%s' gave: %s", line, status.text);
    ck_assert_ptr_null(strchr(status.text, '\n'));
}

/* One dash or two, both names, a space or an equals sign, '-' for '_'. */
START_TEST(spellings)
{
    static const char *const lines[] = {
        "-api_info f -n 3",        "--api_info f --number 3", "-api_info_file=f -number=3",
        "--api_info_file f --n=3", "--api-info f -n 3",       "--api-info-file=f -n=3",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct sample s;
        struct status status = parse(&s, lines[i]);
        ck_assert_msg(!status.code, "'%s': %s", lines[i], status.text);
        ck_assert_str_eq(s.file, "f");
        ck_assert_int_eq(s.number, 3);
        ck_assert_str_eq(s.mode, "fast");
        ck_assert(!s.flag);
    }
}
END_TEST

START_TEST(lists_of_numbers)
{
    static const char *const lines[] = { "-api_info f -d 0 3 5", "-api_info f -d 0,3 -d 5",
                                         "-d 0 3 5 -api_info f", "-device=0,3,5 -api_info f" };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct sample s;
        ck_assert_int_eq(parse(&s, lines[i]).code, STATUS_OK);
        ck_assert_uint_eq(s.ids.count, 3);
        ck_assert_int_eq(s.ids.items[0], 0);
        ck_assert_int_eq(s.ids.items[1], 3);
        ck_assert_int_eq(s.ids.items[2], 5);
    }
    struct sample s;
    ck_assert_int_eq(parse(&s, "-d 6 2-4,0 -api_info f").code, STATUS_OK);
    ck_assert_uint_eq(s.ids.count, 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(s.ids.items[i], ((const int64_t[]){ 6, 2, 3, 4, 0 })[i]);
}
END_TEST

START_TEST(values)
{
    struct sample s;
    ck_assert_int_eq(
        parse(&s, "-api_info f -memory 4G -timeout 0.5 -flag -mode plugin:k.json a b").code,
        STATUS_OK);
    ck_assert_uint_eq(s.bytes, 4ull << 30);
    ck_assert_double_eq(s.seconds, 0.5);
    ck_assert(s.flag);
    ck_assert_str_eq(s.mode, "plugin:k.json");
    ck_assert_uint_eq(s.operands.count, 2);
    ck_assert_str_eq(s.operands.items[1], "b");
    /* The last of two counts; what follows "--" is no option. */
    ck_assert_int_eq(parse(&s, "-api_info f -n 2 -n 5 -- -n").code, STATUS_OK);
    ck_assert_int_eq(s.number, 5);
    ck_assert_str_eq(s.operands.items[0], "-n");
}
END_TEST

START_TEST(byte_sizes)
{
    /* clang-format off */
    static const struct { const char *text; uint64_t bytes; bool good; } cases[] = {
        { "0", 0, true },          { "1024", 1024, true },
        { "1K", 1024, true },      { "3m", 3u << 20, true },
        { "2GiB", 2ull << 30, true }, { "5TB", 5ull << 40, true },
        { "7kb", 7u << 10, true }, { "7Ki", 7u << 10, true },
        { "7Kbb", 0, false }, { "7Bi", 0, false },
        { "16777215T", 16777215ull << 40, true }, { "16777216T", 0, false },
        { "", 0, false },          { "G", 0, false },
        { "4X", 0, false },        { "-1", 0, false },
        { "1.5G", 0, false },      { "99999999999999999999", 0, false },
        { "4Gx", 0, false },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 0;
        bool good = options_parse_bytes(&bytes, cases[i].text);
        ck_assert_msg(good == cases[i].good, "%s", cases[i].text);
        if (good) ck_assert_uint_eq(bytes, cases[i].bytes);
    }
}
END_TEST

/* One line that names the argument and the nearest valid one. */
START_TEST(refusals)
{
    refused("-api_inof f", "unknown option '-api_inof', the nearest is '--api_info'");
    refused("--api_info f --memroy=4G", "unknown option '--memroy', the nearest is '--memory'");
    refused("-api_info f -N 3", "unknown option '-N', the nearest is '-n'");
    refused("-api_info f -mode fats",
            "option '-mode' does not know 'fats'; it takes fast, slow or plugin:...");
    refused("-api_info f -mode plugin:",
            "option '-mode' does not know 'plugin:'; it takes fast, slow or plugin:...");
    refused("-api_info f -n 65",
            "option '-n' takes a whole number from 1 to 64, not '65'; the nearest is 64");
    refused("-api_info f -n 0",
            "option '-n' takes a whole number from 1 to 64, not '0'; the nearest is 1");
    refused("-api_info f -n 3x", "option '-n' takes a whole number from 1 to 64, not '3x'");
    refused("-api_info f -n 99999999999999999999",
            "option '-n' takes a whole number from 1 to 64, not '99999999999999999999'");
    refused("-api_info f -memory lots",
            "option '-memory' takes a number of bytes, for example 4G or 512M, not 'lots'");
    refused("-api_info f -timeout nan", "option '-timeout' takes seconds from 0 to 100, not 'nan'");
    refused("-api_info f -timeout 1s", "option '-timeout' takes seconds from 0 to 100, not '1s'");
    refused("-api_info f -timeout soon",
            "option '-timeout' takes seconds from 0 to 100, not 'soon'");
    refused("-api_info f -timeout=", "option '-timeout' takes seconds from 0 to 100, not ''");
    refused("-api_info f -timeout inf", "option '-timeout' takes seconds from 0 to 100, not 'inf'");
    refused("-api_info f -timeout 100.5",
            "option '-timeout' takes seconds from 0 to 100, not '100.5'");
    refused("-api_info f -timeout -0.5",
            "option '-timeout' takes seconds from 0 to 100, not '-0.5'");
    refused("-api_info f -timeout 101",
            "option '-timeout' takes seconds from 0 to 100, not '101'; the nearest is 100");
    refused("-api_info f -n=", "option '-n' takes a whole number from 1 to 64, not ''");
    refused("-api_info f -n -99999999999999999999",
            "option '-n' takes a whole number from 1 to 64, not '-99999999999999999999'");
    refused("-api_info f -d 1 2 1", "option '-d' has 1 twice");
    refused("-api_info f -d 8",
            "option '-d' takes a whole number from 0 to 7, not '8'; the nearest is 7");
    refused("-api_info f -d 5-3", "option '-d' has the range 5-3, which ends before it begins");
    refused("-api_info f -d 2-4,3", "option '-d' has 3 twice");
    refused("-api_info f -d 2-9",
            "option '-d' takes a whole number from 0 to 7, not '9'; the nearest is 7");
    refused("-api_info f -d 2-", "option '-d' takes a whole number from 0 to 7, not ''");
    refused("-api_info f -d 1,", "option '-d' takes a whole number from 0 to 7, not ''");
    refused("-api_info", "option '-api_info' needs a value: -api_info FILE");
    refused("-api_info -n 4", "option '-api_info' needs a value: -api_info FILE");
    refused("-api_info= -n 4", "option '-api_info' has an empty value");
    refused("-api_info f -flag=1", "option '-flag' takes no value");
    refused("-n 4", "option '-api_info FILE' is missing");
    refused("-api_info f a b c", "unexpected argument 'c': try takes [WHAT ...]");
}
END_TEST

/* A dash alone is an operand, and so is everything behind "--"; a value may start with one. */
START_TEST(dashes)
{
    struct sample s;
    ck_assert_int_eq(parse(&s, "-api_info - - -- --").code, STATUS_OK);
    ck_assert_str_eq(s.file, "-");
    ck_assert_uint_eq(s.operands.count, 2);
    ck_assert_str_eq(s.operands.items[0], "-");
    ck_assert_str_eq(s.operands.items[1], "--");
    ck_assert_int_eq(parse(&s, "-api_info -x").code, STATUS_OK);
    ck_assert_str_eq(s.file, "-x");
    refused("-api_info f ---n 3", "unknown option '---n', the nearest is '-n'");
}
END_TEST

/* As many numbers as the list holds, and one more; as many operands. */
START_TEST(lists_end)
{
    static const struct option_row wide_rows[] = {
        { { "d" },
          OPTION_INTEGERS,
          offsetof(struct sample, ids),
          "ID",
          .maximum = 1000,
          .help = "Which." },
        { .names = { NULL } },
    };
    static const struct command wide = { .word = "wide",
                                         .options = wide_rows,
                                         .bytes = sizeof(struct sample) };
    struct sample s;
    char line[512] = "-d ";
    for (int i = 0; i < INTEGER_LIST_MAX; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "%s%d", i ? "," : "", i);
    ck_assert_int_eq(parse_with(&s, &wide, line).code, STATUS_OK);
    ck_assert_uint_eq(s.ids.count, INTEGER_LIST_MAX);
    ck_assert_int_eq(s.ids.items[INTEGER_LIST_MAX - 1], INTEGER_LIST_MAX - 1);
    strcat(line, " 999");
    struct status status = parse_with(&s, &wide, line);
    ck_assert_int_eq(status.code, STATUS_BAD_ARGUMENT);
    ck_assert_str_eq(status.text, "option '-d' takes at most 64 numbers");

    line[0] = '\0';
    for (int i = 0; i < OPERANDS_MAX; i++) strcat(line, "a ");
    ck_assert_int_eq(parse_with(&s, &greedy_command, line).code, STATUS_OK);
    ck_assert_uint_eq(s.operands.count, OPERANDS_MAX);
    strcat(line, "i");
    status = parse_with(&s, &greedy_command, line);
    ck_assert_str_eq(status.text, "unexpected argument 'i': take takes ONE TWO ...");
}
END_TEST

/* What the other commands refuse. */
START_TEST(refusals_of_other_commands)
{
    static const struct {
        const struct command *command;
        const char *line, *text; /* NULL: accepted */
    } cases[] = {
        { &bare_command, "", NULL },
        { &bare_command, "x", "unexpected argument 'x'" },
        { &bare_command, "--what", "unknown option '--what', the nearest is '--help'" },
        { &greedy_command, "x", "take needs ONE TWO ..." },
        { &greedy_command, "x y", NULL },
        { &greedy_command, "x -memory 4", "unknown option '-memory', the nearest is '--help'" },
        { &optional_command, "x", "unexpected argument 'x'" },
        { &optional_command, "-mode fast", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        struct status status = parse_with(&s, cases[i].command, cases[i].line);
        ck_assert_str_eq(status.text, cases[i].text ? cases[i].text : "");
        ck_assert_int_eq(status.code, cases[i].text ? STATUS_BAD_ARGUMENT : STATUS_OK);
    }
}
END_TEST

static const struct command *const command_list[] = { &sample_command };
static const struct program_text program = { "prog", "1.2", "does", "A program.", command_list, 1 };

static char *render(void (*print)(FILE *, const struct program_text *))
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (print) print(out, &program);
    else help_print_command(out, &program, &sample_command);
    fclose(out);
    return text;
}

/* Every name and every explanation of the table is in the help, the manual and the
 * completions. */
START_TEST(texts_hold_the_whole_table)
{
    char *help = render(NULL), *manual = render(help_print_manual);
    char *scripts[] = { render(completion_print_bash), render(completion_print_zsh),
                        render(completion_print_fish) };
    for (const struct option_row *row = rows; row->names[0]; row++) {
        for (size_t i = 0; i < OPTION_NAMES && row->names[i]; i++) {
            ck_assert_ptr_nonnull(strstr(help, row->names[i]));
            ck_assert_ptr_nonnull(strstr(manual, row->names[i]));
            for (size_t k = 0; k < 3; k++) ck_assert_ptr_nonnull(strstr(scripts[k], row->names[i]));
        }
        char first[16];
        snprintf(first, sizeof first, "%.8s", row->help);
        ck_assert_ptr_nonnull(strstr(help, first));
        ck_assert_ptr_nonnull(strstr(manual, first));
    }
    ck_assert_ptr_nonnull(strstr(help, "fast | slow | plugin:"));
    ck_assert_ptr_nonnull(strstr(manual, ".SH EXIT STATUS"));
    /* Wrapped at 80 columns. */
    for (char *line = strtok(help, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_uint_le(strlen(line), 80);
    free(help);
    free(manual);
    for (size_t k = 0; k < 3; k++) free(scripts[k]);
}
END_TEST

/* A command without options or aliases, whole. Lines of a paragraph are filled; in roff, dots and quotes
 * that start one, backslashes and dashes stay themselves. */
START_TEST(texts_of_a_bare_command)
{
    static const struct command *const list[] = { &bare_command };
    static const struct program_text bare_program = {
        "prog", "1.2", "does", "A program.", list, 1
    };
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    help_print_command(out, &bare_program, &bare_command);
    fclose(out);
    ck_assert_str_eq(
        text,
        "Usage: prog bare\n\n'Quoted' first. Two lines, a \\ and a - dash.\n\n.Dotted last.\n");
    free(text);

    out = open_memstream(&text, &length);
    help_print_manual(out, &bare_program);
    fclose(out);
    ck_assert_ptr_nonnull(
        strstr(text, ".SH COMMANDS\n.SS bare\n\\&'Quoted' first. Two lines, a \\e and a \\- dash."
                     "\n.PP\n\\&.Dotted last.\n.SH EXIT STATUS\n"));
    free(text);

    out = open_memstream(&text, &length);
    completion_print_bash(out, &bare_program);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, " words=\"bare \"\n"));
    ck_assert_ptr_nonnull(strstr(text, "    bare)\n        case \"$previous\" in\n        esac\n"
                                       "        options=\"--help\" ;;\n"));
    free(text);
}
END_TEST

START_TEST(help_stops_parsing)
{
    static const char *const words[] = { "--help", "-help", "-h", "--h" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct sample s;
        bool help;
        char *arguments[] = { (char *)words[i], (char *)"--nonsense" };
        ck_assert_int_eq(options_parse(&s, &help, &sample_command, 2, arguments).code, STATUS_OK);
        ck_assert(help);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tests = tcase_create("options");
    tcase_add_test(tests, spellings);
    tcase_add_test(tests, lists_of_numbers);
    tcase_add_test(tests, values);
    tcase_add_test(tests, byte_sizes);
    tcase_add_test(tests, refusals);
    tcase_add_test(tests, dashes);
    tcase_add_test(tests, lists_end);
    tcase_add_test(tests, refusals_of_other_commands);
    tcase_add_test(tests, texts_hold_the_whole_table);
    tcase_add_test(tests, texts_of_a_bare_command);
    tcase_add_test(tests, help_stops_parsing);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
