/* The files that a page is made from, found and put together: what belongs to one run or one
 * comparison is one input.
 *
 * Files belong together when they lie in one directory and their names differ only in the word
 * "result", "details", "evidence" or "run": accuracy_checking_details_20261120192933.csv and
 * accuracy_checking_evidence_20261120192933.jsonl. A file of timings has any name; it goes with the
 * run in its directory, or with the only run there is.
 */
#ifndef PROBE_REPORT_HTML_INPUTS_H
#define PROBE_REPORT_HTML_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/file.h"
#include "core/status.h"
#include "report/html/layouts.h"

enum input_part { PART_ROWS, PART_CALLS, PART_EVIDENCE, PART_TIMINGS, PART_RUN, INPUT_PARTS };

struct input {
    char *label;                 /* short and unlike that of any other input */
    char *key;                   /* what the names of its files have in common */
    const struct layout *layout; /* of PART_ROWS */
    char *paths[INPUT_PARTS];    /* NULL where there is none */
};

struct inputs {
    struct input *items;
    size_t count, capacity;
};

enum { INPUTS_MOST = 4096 };

/* Find the inputs below `paths`, files and directories, in that order.
 *
 *   errors  STATUS_BAD_INPUT for a named file that is none of the kinds, for evidence or timings
 *           without their run, and when there is nothing to show
 */
struct status inputs_find(struct inputs *out, const char *const *paths, size_t count,
                          struct file_policy policy);

void inputs_release(struct inputs *inputs);

#endif
