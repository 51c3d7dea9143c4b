/* Directories where a command wants a file: what lies in them is found and named. */
#ifndef PROBE_CLI_PATH_ARGUMENTS_H
#define PROBE_CLI_PATH_ARGUMENTS_H

#include "core/arena.h"
#include "core/file.h"
#include "core/status.h"
#include "formats/dump_tree.h"

enum { PATH_ARGUMENT_BYTES = 4097 };

/* The dump that -api_info names: the one dump.json at or below a directory. What is no directory, or
 * ends as a file does, is the path itself.
 *
 *   out     the path
 *   errors  STATUS_BAD_ARGUMENT when there is none below, or several, which it lists
 */
struct status path_argument_dump(char out[PATH_ARGUMENT_BYTES], const char *path,
                                 struct file_policy policy);

/* What -api_info, --step and --rank name. */
struct path_argument_tree {
    const char *path, *steps, *ranks; /* the last two may be NULL */
    struct file_policy policy;
};

/* The dumps that they name: of a directory all that are in it or below, of a file itself.
 *
 *   several  is it a directory that holds more than one, wanted or not?
 *   out      at least one; lives in `arena`
 *   errors   STATUS_BAD_ARGUMENT when there is none
 */
struct status path_argument_dumps(bool *several, struct dump_tree *out, struct arena *arena,
                                  const struct path_argument_tree *wanted);

/* The details file that an option names: that of the newest complete run in a directory. What is no
 * directory, or ends as a file does, is the path itself. */
struct status path_argument_details(char out[PATH_ARGUMENT_BYTES], const char *path,
                                    struct file_policy policy);

#endif
