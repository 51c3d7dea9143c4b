/* probe-ut report: results as one page to look at. */
#ifndef PROBE_CLI_REPORT_COMMAND_H
#define PROBE_CLI_REPORT_COMMAND_H

#include "cli/options.h"
#include "core/file.h"

extern const struct command report_command;

/* For --report FILE of the commands that write results: the page of these paths, and a line on stdout
 * that says where it is. */
struct status report_command_write(const char *out_path, const char *const *paths, size_t count,
                                   struct file_policy policy);

#endif
