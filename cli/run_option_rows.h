/* The options of a run that a job of many shards has as well (cli/plan_command.c). */
#ifndef PROBE_CLI_RUN_OPTION_ROWS_H
#define PROBE_CLI_RUN_OPTION_ROWS_H

#include "cli/choices.h"
#include "cli/options.h"
#include "generators/generate.h"
#include "report/failing.h"
#include "results/evidence.h"
#include "runner/devices/device_classes.h"
#include "runner/run_options.h"
#include "standards/header_language.h"
#include "standards/profile.h"

/* clang-format off */
/* What is checked, how, and with what. AT(member) gives `.offset = ` that of a member of struct
 * run_options. */
#define RUN_CHECK_ROWS(AT) \
    { { "step" }, OPTION_TEXT, AT(steps), "LIST", \
      .help = "Of a directory only the dumps of these steps: 0 or 0,3-5." }, \
    { { "rank" }, OPTION_TEXT, AT(ranks), "LIST", \
      .help = "Of a directory only the dumps of these ranks: 0 or 0,3-5." }, \
    { { "n", "num_splits" }, OPTION_INTEGER, AT(threads), "N", .minimum = 1, .maximum = 64, \
      .help = "Threads, 1 to 64; one per core by default. The result files are the same bytes " \
              "for every N." }, \
    { { "d", "device" }, OPTION_INTEGERS, AT(devices), "ID", .minimum = 0, .maximum = 4095, \
      .help = "Device numbers, dealt round robin to the threads. Handed to the backend; the " \
              "backends cpu and recorded need none." }, \
    { { "f", "filter_api" }, OPTION_FLAG, AT(filter_api), \
      .help = "Check only the first of calls that differ in their data alone: same name, same " \
              "structure, shapes and dtypes of all arguments." }, \
    { { "only" }, OPTION_TEXT, AT(only), "PATTERN", \
      .help = "Check only the calls of these names: 'linear|matmul', Functional.linear, " \
              "Functional.linear.3, '*norm*'. * and ? stand for any characters, | separates names; " \
              "a name is that of an API, of a call, or a key of the dump, as a whole. The other " \
              "calls have no rows." }, \
    { { "skip" }, OPTION_TEXT, AT(skip), "PATTERN", \
      .help = "Leave out the calls of these names, in the way of --only." }, \
    { { "save_error_data" }, OPTION_FLAG, AT(save_error_data), \
      .help = "Save inputs and both sides' outputs of calls that are not a pass as .pt files in " \
              "ut_error_data{timestamp}, below error_data_path of the configuration or the " \
              "working directory." }, \
    { { "evidence" }, OPTION_CHOICE, AT(evidence), "ROWS", .choices = evidence_extent_names, \
      .help = "Which rows have evidence: all (default), or failing: those that are not a pass. That of " \
              "100,000 passing calls takes some 200 MB and a quarter of the time of a run of small calls." }, \
    { { "columns" }, OPTION_CHOICE, AT(columns), "NAMES", .choices = header_language_names, \
      .help = "Names of the columns of the details: those of msprobe (default), or english. Every " \
              "command reads both." }, \
    { { "config", "config_path" }, OPTION_FILE, AT(config_path), "FILE", .suffix = ".json", \
      .help = "A JSON file whose object run_ut (or acc_check) has white_list, black_list (names " \
              "such as conv2d, linalg.inv or Functional.linear.3, patterns as those of --only), " \
              "error_data_path, precision (decimals of " \
              "printed numbers, 0 to 20)." }, \
    { { "backend" }, OPTION_CHOICE, AT(backend), "NAME", .choices = device_names, \
      .help = "What is tested. By default cpu, and for a MindSpore dump with recorded tensors " \
              "recorded. cpu: every op in its own dtype on this machine, the way " \
              "an accelerator computes it. recorded: the outputs stored in a real-data dump. " \
              "plugin:FILE.json: kernels of a shared library, called as the manifest says. " \
              "torch, torch:cpu, torch:cuda[:N], torch:npu[:N]: PyTorch, by the worker that comes " \
              "with the program. worker:COMMAND: a process that speaks the worker protocol." }, \
    { { "profile" }, OPTION_CHOICE, AT(profile), "NAME", .choices = profile_names, \
      .help = "The rules of the verdicts. doc (default): those of the documents of msprobe 1.0.4. " \
              "v2, v3: those of its later versions. strict: limits from the rounding errors " \
              "that the op may have on its actual data." }, \
    { { "thresholds" }, OPTION_FILE, AT(thresholds), "FILE", \
      .help = "A JSON file with limits of your own per API and dtype, over those of the " \
              "profile." }, \
    { { "allow" }, OPTION_TEXT, AT(allow), "MODES", \
      .help = "Modes of kernels that are legitimate, for --profile strict: a list of tf32, hf32 (factors of " \
              "float32 products with 10 or 11 fraction bits), bf16x2 (as two bfloat16), staged (16-bit " \
              "results rounded after every step), ftz (float32 subnormals may be 0), " \
              "fast-math:FUNCTION=ULP (an error of so many ulp in that function: fast-math:exp=8). The " \
              "evidence says which rows needed one. --thresholds takes them per API." }, \
    { { "repeat" }, OPTION_INTEGER, AT(runs), "N", .minimum = 1, .maximum = 1000, \
      .help = "Run every call N times on the device and say of each row how many elements are not the same " \
              "bits every time, and by how much. The first result is judged." }, \
    { { "inputs" }, OPTION_CHOICE, AT(inputs), "KIND", .choices = input_source_names, \
      .help = "Where inputs come from. recorded (default): the tensors of the dump, drawn within the recorded range " \
              "where it has none. random: drawn in any case. hard: drawn so that kernels are likely to go wrong: " \
              "cancellation, ties, subnormals, sizes far apart, roots and poles, the edges of exp. hard-sizes: the same, for shapes " \
              "with extents of 16, 32, 64, 128 and 256, one less and one more, in place of the recorded ones." }, \
    { { "budget" }, OPTION_FILE, AT(budget), "FILE", .suffix = ".json", \
      .help = "Budgets learnt from runs that were right (the command budget), for --profile strict: a " \
              "row that uses more of its limits is an error, although the error model passes it." }, \
    { { "seed" }, OPTION_INTEGER, AT(seed), "N", .minimum = 0, .maximum = 999999999999999, \
      .help = "Seed of random inputs, 1234 by default. An element depends on the seed, the call's " \
              "name, the argument and its index, and on nothing else." }, \
    { { "memory" }, OPTION_BYTES, AT(memory_bytes), "BYTES", \
      .help = "Memory for all calls in work together, for example 4G; 60 % of what is free by " \
              "default. A call that needs more alone is skipped with the number of bytes." }, \
    { { "case-timeout" }, OPTION_SECONDS, AT(case_timeout_s), "SECONDS", .minimum = 0, \
      .maximum = 1000000, \
      .help = "Longest time a kernel or worker may take for a call, 60 by default; 0 for no " \
              "limit. The backends cpu and recorded have none." }, \
    { { "no-diagnose" }, OPTION_FLAG, AT(no_diagnose), \
      .help = "Do not ask which mistake a row that fails looks like." }, \
    { { "diagnose-budget" }, OPTION_SECONDS, AT(diagnose_budget_s), "SECONDS", .minimum = 0, \
      .maximum = 1000000, \
      .help = "How long to look for the mistake of a row that fails, 2 by default: seconds of a common " \
              "core, counted in steps of arithmetic, so that the answer is the same everywhere." }, \
    { { "isolate" }, OPTION_CHOICE, AT(isolate), "HOW", .choices = isolation_names, \
      .help = "Where kernels of a plugin run: in processes of their own, whose crash costs one " \
              "row, or for speed inside this one." }, \
    { { "j", "jit_compile" }, OPTION_FLAG, AT(jit_compile), \
      .help = "Handed to the device: let an NPU compile operators just in time." }, \
    { { "trust-files" }, OPTION_FLAG, AT(file_policy.trusted), \
      .help = "Read files that are symbolic links, belong to somebody else, can be written by " \
              "everybody or are larger than their kind should be." }

/* Beside a host that trains. */
#define RUN_NICE_ROW(AT) \
    { { "nice" }, OPTION_FLAG, AT(nice), \
      .help = "Let everybody else on the machine go first: least priority at the processors, idle " \
              "priority at the disks, for worker processes too. For a host that trains meanwhile." }

/* What is told when all is checked. */
#define RUN_REPORT_ROWS(AT) \
    { { "fail-on" }, OPTION_CHOICE, AT(fail_on), "VERDICT", .choices = failing_names, \
      .help = "Exit with status 1 when a call has this verdict or a worse one; skip: when a call was " \
              "not judged, too. Without it verdicts do not change the exit status." }, \
    { { "min-judged" }, OPTION_TEXT, AT(min_judged), "N|P%", \
      .help = "Exit with status 1 when fewer calls, or a smaller share of them, were judged: 20 or " \
              "95%. When none at all was, the status is 5 anyway." }, \
    { { "junit" }, OPTION_FILE, AT(junit), "FILE", \
      .help = "Write a JUnit report: a test case per call and direction. An older report of this " \
              "name is replaced." }, \
    { { "baseline" }, OPTION_FILE, AT(baseline), "FILE", .or_directory = true, \
      .help = "The accuracy_checking_details CSV of an earlier run, or a directory of results, of which the " \
              "newest complete run is taken, of several dumps folder by folder: say which failures are new, " \
              "still there or fixed, and exit with status 1 only for new ones and those that became worse." }, \
    { { "report" }, OPTION_FILE, AT(report), "FILE", .suffix = ".html", \
      .help = "Write a page to look at, as the command report does. An older one of this name is " \
              "replaced." }, \
    { { "color" }, OPTION_CHOICE, AT(color), "WHEN", .choices = color_names, \
      .help = "Colors in the summary; auto: on a terminal." }
/* clang-format on */

#endif
