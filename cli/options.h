/* The options of a command as a table: one row per option, from which parsing, --help, the
 * manual page and the shell completion are all made.
 *
 * A command keeps its options in a plain struct of its own; a row says at which offset of that
 * struct the value goes and which type lies there (see enum option_kind). Names take one or two
 * dashes, as the users of msprobe type them (-api_info, --api_info_file), a value may follow
 * after a space or an equals sign, and '-' and '_' inside a name are the same.
 */
#ifndef PROBE_CLI_OPTIONS_H
#define PROBE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/integer_list.h"
#include "core/status.h"

enum { OPERANDS_MAX = 64, OPTION_NAMES = 3 };

/* Arguments that belong to no option, in order. */
struct operands {
    const char *items[OPERANDS_MAX];
    size_t count;
};

/* What an option takes, and the type of its place in the command's struct. */
enum option_kind {
    OPTION_FLAG,      /* bool; takes no value */
    OPTION_TEXT,      /* const char * */
    OPTION_FILE,      /* const char *; completed as a file name */
    OPTION_DIRECTORY, /* const char * */
    OPTION_CHOICE,    /* const char *, one of `choices` */
    OPTION_INTEGER,   /* int64_t in minimum..maximum */
    OPTION_SECONDS,   /* double in minimum..maximum */
    OPTION_REAL,      /* double in minimum..maximum */
    OPTION_BYTES,     /* uint64_t: 1073741824, 4G, 512M, 64K (powers of 1024) */
    OPTION_INTEGERS, /* struct integer_list, each in minimum..maximum: -d 0 1 2, -d 0,1,2, -d 0-2, -d 0 -d 1 */
    OPTION_TEXTS, /* struct operands: one more text each time the option is given */
    OPTION_FILES /* struct operands: all files up to the next option, as patterns of a shell give them */
};

struct option_row {
    const char *names[OPTION_NAMES]; /* without dashes; the first is the one shown first */
    enum option_kind kind;
    size_t offset;        /* of the value in the command's struct */
    const char *argument; /* "FILE" in --help; NULL for a flag */
    const char *help;     /* plain sentences */
    bool required;
    bool (*is_spared)(const void *values); /* NULL, or: may a required one be missing with these? */
    int64_t minimum, maximum;
    const char
        *bare; /* the value of a text, file or directory that may stand without one, or NULL */
    const char *suffix; /* ".json": what the name of a file must end in; NULL for anything */
    bool or_directory;  /* a directory will do as well, whatever its name */
    /* Valid values, ended by NULL. A choice that ends in ':' stands for all values that start
     * with it ("plugin:kernels.json"). */
    const char *const *(*choices)(void);
};

/* A command: a word of the command line. */
struct command {
    const char *word;
    const char *const *aliases;       /* ended by NULL, or NULL */
    const char *summary;              /* one line, lower case, no full stop */
    const char *text;                 /* paragraphs for help and manual, split by "\n\n" */
    const struct option_row *options; /* ended by a row whose first name is NULL; or NULL */
    const char *operands;             /* "WANT GOT", or NULL when it takes none */
    size_t operands_minimum, operands_maximum;
    size_t operands_offset; /* of a struct operands; unused when `operands` is NULL */
    size_t bytes;           /* of the command's struct */
    /* The program's option -f pytorch|mindspore, which stands before the word, is handed on as a text
     * at `framework_offset`; other commands know PyTorch only. */
    bool takes_framework;
    size_t framework_offset;
    const void *defaults; /* one such struct; NULL means all zeros */
    /* Do the work. *exit_status is set when the status is OK (0 or 1). */
    struct status (*run)(int *exit_status, const void *values);
};

/* Parse the arguments behind the command's word into `values` (command->bytes bytes).
 *
 *   help    set when --help, -h was met; parsing stops there with an OK status
 *   errors  STATUS_BAD_ARGUMENT, one line that names the argument and the nearest valid one
 */
struct status options_parse(void *values, bool *help, const struct command *command, int count,
                            char *const *arguments);

/* "option '--x' does not know 'y'; it takes a, b or c": of a closed set all values are told.
 *
 *   choices  ended by NULL, as those of struct option_row
 */
struct status options_unknown_choice(const char *argument, const char *text,
                                     const char *const *choices);

/* Bytes in a text such as "4G"; false when it is none. */
bool options_parse_bytes(uint64_t *bytes, const char *text);

#endif
