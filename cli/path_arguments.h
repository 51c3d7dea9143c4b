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

/* The result files that options name. */
enum path_kind {
    PATH_DETAILS,  /* accuracy_checking_details_{timestamp}.csv of a run that is complete */
    PATH_VERDICTS, /* api_precision_compare_details_{timestamp}.csv */
};

/* The file that an option names: the newest of its kind among files and in directories, as a pattern of the
 * shell or a directory of results gives them. A single path that is no directory is itself, whatever its
 * name. What is not what was typed is printed: "-npu: npu/accuracy_checking_details_20261122141034.csv".
 *
 *   errors  STATUS_BAD_ARGUMENT when there is none of the kind
 */
struct status path_argument_newest(char out[PATH_ARGUMENT_BYTES], const char *option,
                                   const char *const *paths, size_t count, enum path_kind kind,
                                   struct file_policy policy);

#endif
