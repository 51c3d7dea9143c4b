/* The options that commands on calls have in common: how a call is judged (case, shrink, repro, try), and
 * which call of a dump it is (all but try). */
#ifndef PROBE_CLI_CALL_OPTIONS_H
#define PROBE_CLI_CALL_OPTIONS_H

#include <stddef.h>

#include "cli/options.h"
#include "cli/path_arguments.h"
#include "core/arena.h"
#include "generators/generate.h"
#include "runner/devices/device_classes.h"
#include "runner/run_options.h"
#include "standards/profile.h"

/* A call of a dump: the member `call` of a command's struct. */
struct call_options {
    struct run_options run;
    const char *name;
};

/* clang-format off */
/* Option rows of a struct whose member RUN is a struct run_options. */
#define JUDGING_ROWS(STRUCT, RUN) \
    { { "backend" }, OPTION_CHOICE, .offset = offsetof(STRUCT, RUN.backend), "NAME", \
      .choices = device_names, .help = "What is tested, as for run_ut." }, \
    { { "profile" }, OPTION_CHOICE, .offset = offsetof(STRUCT, RUN.profile), "NAME", \
      .choices = profile_names, .help = "The rules of the verdicts, as for run_ut." }, \
    { { "thresholds" }, OPTION_FILE, .offset = offsetof(STRUCT, RUN.thresholds), "FILE", \
      .help = "Limits of your own, as for run_ut." }, \
    { { "allow" }, OPTION_TEXT, .offset = offsetof(STRUCT, RUN.allow), "MODES", \
      .help = "Modes of kernels that are legitimate, as for run_ut." }, \
    { { "inputs" }, OPTION_CHOICE, .offset = offsetof(STRUCT, RUN.inputs), "KIND", \
      .choices = input_source_names, .help = "Where inputs come from, as for run_ut." }, \
    { { "budget" }, OPTION_FILE, .offset = offsetof(STRUCT, RUN.budget), "FILE", \
      .help = "Budgets that rows must keep, as for run_ut." }, \
    { { "seed" }, OPTION_INTEGER, .offset = offsetof(STRUCT, RUN.seed), "N", .minimum = 0, \
      .maximum = 999999999999999, .help = "Seed of random inputs, 1234 by default." }, \
    { { "d", "device" }, OPTION_INTEGERS, .offset = offsetof(STRUCT, RUN.devices), "ID", \
      .minimum = 0, .maximum = 4095, .help = "Device numbers, handed to the backend." }, \
    { { "trust-files" }, OPTION_FLAG, .offset = offsetof(STRUCT, RUN.file_policy.trusted), \
      .help = "Read files that are symbolic links, belong to somebody else, can be written by " \
              "everybody or are larger than their kind should be." }

/* Option rows of a struct with a member `call`. */
#define CALL_OF_DUMP_ROWS(STRUCT) \
    { { "api_info", "api_info_file" }, OPTION_FILE, \
      .offset = offsetof(STRUCT, call.run.api_info), "FILE", .required = true, \
      .suffix = ".json", .or_directory = true, \
      .help = "The dump.json that has the call, or a directory with one at or below it." }, \
    { { "name" }, OPTION_TEXT, .offset = offsetof(STRUCT, call.name), "NAME", .required = true, \
      .help = "The call under any name that is printed or read: Torch.matmul.3 of the result file, " \
              "Torch.matmul.3.forward of the dump or a JUnit report, a row of the details." }, \
    JUDGING_ROWS(STRUCT, call.run), \
    { { "config", "config_path" }, OPTION_FILE, \
      .offset = offsetof(STRUCT, call.run.config_path), "FILE", .suffix = ".json", \
      .help = "The configuration of the run; its precision and error_data_path matter here." }
/* clang-format on */

/* The run that the options mean: the dump found, warnings printed.
 *
 *   dump  holds the path of the dump, as long as `out` is used
 */
struct status call_options_resolve(struct run_options *out, char dump[PATH_ARGUMENT_BYTES],
                                   const struct call_options *options);

/* Where the files of a command go: `given`, or what the call is called with `suffix` behind it. NULL
 * when there is no memory. */
const char *call_options_directory(struct arena *arena, const struct call_options *options,
                                   const char *given, const char *suffix);

#endif
