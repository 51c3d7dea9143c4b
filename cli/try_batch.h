/* The calls that `probe-ut try` is given: one on the command line, or a file with one a line. */
#ifndef PROBE_CLI_TRY_BATCH_H
#define PROBE_CLI_TRY_BATCH_H

#include "cli/try_call.h"
#include "core/file.h"

/* A line: the options of a call, and where it stands. */
struct try_line {
    struct try_call call;
    const char *text; /* the options again, as a shell takes them */
    size_t number;    /* of the line in its file; 0 on the command line */
    const char *name; /* full name of the call; NULL until it has one */
};

struct try_batch {
    struct try_line *lines;
    size_t count;
};

/* The call of the command line. */
struct status try_batch_of_call(struct try_batch *out, struct arena *arena,
                                const struct try_call *call);

/* The lines of a file. Words are split at blanks, quotes keep blanks, '#' begins a comment; "probe-ut
 * try" in front of a line is passed over.
 *
 *   command  has the options of a call alone
 *   errors   STATUS_BAD_ARGUMENT with file and line
 */
struct status try_batch_read(struct try_batch *out, struct arena *arena, const char *path,
                             const struct command *command, struct file_policy policy);

/* Give every call its name: GROUP.API.NUMBER, with the numbers that no other call of the API has.
 * *group and *api of line i are set in `groups` and `apis` (batch->count each). */
struct status try_batch_name(struct try_batch *batch, const char **groups, const char **apis,
                             struct arena *arena, const char *path);

/* Where a fault of the line is: "calls.txt:3: " before its text. */
struct status try_line_fault(struct status fault, const struct try_line *line, const char *path);

#endif
