/* The rows of one call in the making: a line in the details and in the evidence for each output
 * and gradient, the row of the result file at the end, and the notes for the summary.
 */
#ifndef PROBE_RUNNER_CALL_ROWS_H
#define PROBE_RUNNER_CALL_ROWS_H

#include "core/arena.h"
#include "generators/generate.h"
#include "results/evidence.h"
#include "results/outcome.h"
#include "runner/precision.h"

/* How rows are judged and told, the same for all calls of a run. */
struct row_style {
    const struct profile *profile;
    int precision;               /* decimals of printed doubles */
    const char *repeat;          /* the command that repeats one call, up to its name */
    const char *reproduce;       /* the command that writes a reproducer likewise, or NULL */
    const struct stacks *stacks; /* where calls were made; NULL: unknown */
    enum evidence_extent evidence;
};

struct call_rows {
    const struct row_style *style;
    struct arena *arena;
    struct case_outcome *out;
    const struct call_place *place; /* of a call that is not from a dump; or NULL */
    size_t counts[2];               /* forward and backward rows so far */
    char *message[2];               /* of each direction, for the result row (result_row_append) */
};

/* The call whose rows they are, as far as it is known. */
struct row_subject {
    const struct api_case *c;
    const struct bench_precision *precision;
    const struct generate_notes *inputs;
    const char
        *sizes; /* that it has instead of the recorded ones, said by the first row; or NULL */
};

/* Begin: no rows, and the outcome empty. */
void call_rows_clear(struct call_rows *rows);

/* What the next row of a direction is judged by.
 *
 *   returned  dtype of the output that the device returned, DT_NONE when there is nothing to compare
 */
struct judge_request call_rows_request(const struct call_rows *rows,
                                       const struct row_subject *subject, bool backward,
                                       enum dtype returned);

/* Add the row of a comparison. */
struct status call_rows_add(struct call_rows *rows, const struct row_subject *subject,
                            bool backward, const struct judged *judged);

/* Add a row that compares nothing, and says why. */
struct status call_rows_add_plain(struct call_rows *rows, const struct row_subject *subject,
                                  bool backward, enum verdict verdict, enum row_cause cause,
                                  const char *message);

/* End: the row of the result file. */
struct status call_rows_end(struct call_rows *rows, const char *full_name);

#endif
