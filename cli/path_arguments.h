/* Directories where a command wants a file: what lies in them is found and named. */
#ifndef PROBE_CLI_PATH_ARGUMENTS_H
#define PROBE_CLI_PATH_ARGUMENTS_H

#include "core/file.h"
#include "core/status.h"

enum { PATH_ARGUMENT_BYTES = 4097 };

/* The dump that -api_info names: the one dump.json at or below a directory. What is no directory, or
 * ends as a file does, is the path itself.
 *
 *   out     the path
 *   errors  STATUS_BAD_ARGUMENT when there is none below, or several, which it lists
 */
struct status path_argument_dump(char out[PATH_ARGUMENT_BYTES], const char *path,
                                 struct file_policy policy);

/* The details file that an option names: that of the newest complete run in a directory. What is no
 * directory, or ends as a file does, is the path itself. */
struct status path_argument_details(char out[PATH_ARGUMENT_BYTES], const char *path,
                                    struct file_policy policy);

#endif
