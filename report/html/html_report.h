/* The page of one or several results: `probe-ut report`.
 */
#ifndef PROBE_REPORT_HTML_HTML_REPORT_H
#define PROBE_REPORT_HTML_HTML_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/file.h"
#include "core/stop.h"

/* What a path shows, where the file does not say: the two dumps of a comparison. */
struct html_report_sides {
    const char *npu, *bench;
};

struct html_report_request {
    const char *const *paths; /* directories and files; see report/html/inputs.h */
    size_t count;
    const struct html_report_sides *sides; /* of each path, or NULL */
    const char *out_path;                  /* of the page */
    struct file_policy policy;
    struct stop stop; /* asked now and then */
};

/* What was written. */
struct html_report_summary {
    size_t inputs;
    uint64_t rows, bytes;
    size_t notes;    /* things about the files that the page points out */
    bool has_charts; /* Chart.js was there when the program was built */
};

/* Read the results and write the page, which replaces an older one.
 *
 *   errors  what inputs_find reports; what reading and writing report; STATUS_INTERRUPTED. No page is left then
 */
struct status html_report_write(struct html_report_summary *out,
                                const struct html_report_request *request);

/* The same for a command: says on `out` where the page is, and on stderr what is the matter with
 * the files. */
struct status html_report_make(const struct html_report_request *request, FILE *out);

#endif
