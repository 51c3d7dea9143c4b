/* The verdicts in a details file, one per row: of a run (accuracy_checking_details, column Status)
 * or of a comparison (api_precision_compare_details, column 比对结果). What CI asks for, a JUnit
 * report and a look at what changed since an earlier file, needs no more than that.
 */
#ifndef PROBE_RESULTS_VERDICT_FILE_H
#define PROBE_RESULTS_VERDICT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/file.h"
#include "core/status.h"
#include "formats/csv.h"
#include "standards/judge.h"

struct verdict_row {
    struct csv_text name; /* valid during the visit */
    struct csv_text message;
    enum verdict verdict;
};

/* Told of each row, in the order of the file. */
typedef struct status verdict_visitor(void *context, const struct verdict_row *row);

/* Read a file. A last row that is cut is left out.
 *
 *   errors  STATUS_BAD_INPUT when it has no column of names or of verdicts; what reading reports;
 *           what `visit` returns
 */
struct status verdict_file_read(const char *path, struct file_policy policy, verdict_visitor *visit,
                                void *context);

/* Could it be read? STATUS_BAD_INPUT for a file without those columns: before a long run that needs it. */
struct status verdict_file_check(const char *path, struct file_policy policy);

#endif
