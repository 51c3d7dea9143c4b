/* The GPU host's part in msprobe's pre-check: each record is also given to a device of this host, a worker, and what
 * that returns is compared with what the client has sent, in the two ways of msprobe:
 *
 *   two-way    APIs that are held to absolute, binary or thousandth thresholds: the client's result against
 *              the device's
 *   three-way  all others: both against the reference, and these rows against each other
 *
 * The verdicts of the run remain those against the reference; these rows stand in files of their own.
 */
#ifndef PROBE_ONLINE_SECOND_DEVICE_H
#define PROBE_ONLINE_SECOND_DEVICE_H

#include "formats/csv.h"
#include "runner/check.h"
#include "runner/checkers.h"
#include "runner/run_options.h"
#include "standards/header_language.h"
#include "standards/row_layout.h"

/* The rows of one record. All zeros: none. */
struct second_rows {
    enum { SECOND_NONE, SECOND_TWO_WAY, SECOND_THREE_WAY } kind;
    struct csv_buffer details, result;
};
void second_rows_clear(struct second_rows *rows);
void second_rows_release(struct second_rows *rows);

/* What the files of the three-way comparison begin with. */
struct status second_headers(struct csv_buffer *details, struct csv_buffer *result,
                             enum header_language language);

struct second_device;

/* Start the workers, one for each thread.
 *
 *   backend  its name; must outlive the device
 *   layout, precision  of the rows of the run
 *   errors   STATUS_BAD_ARGUMENT: no such backend; what the device reports
 */
struct status second_open(struct second_device **out, const struct run_options *options,
                          const char *backend, const struct row_layout *layout, int precision);
void second_close(struct second_device *second); /* NULL is closed */

/* How many threads it serves. */
size_t second_count(const struct second_device *second);

/* What the check of a call on thread `thread` needs; its outcome belongs to the second device. */
struct second_check second_check_begin(struct second_device *second, size_t thread,
                                       const struct api_case *c);

/* Make the rows of the record of a check that has ended.
 *
 *   recorded  the rows of the call itself
 */
struct status second_check_end(struct second_rows *rows, const struct second_device *second,
                               const struct second_check *check,
                               const struct case_outcome *recorded);

#endif
