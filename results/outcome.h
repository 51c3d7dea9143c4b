/* What came of one call: the rows that it adds to the files of a run, and what a summary says
 * about them. */
#ifndef PROBE_RESULTS_OUTCOME_H
#define PROBE_RESULTS_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "formats/csv.h"
#include "results/row_cause.h"
#include "standards/judge.h"

/* A row that a summary may show: everything but a pass. */
struct row_note {
    enum verdict verdict;
    enum row_cause cause;
    char *name;     /* of the row; owned */
    char *sentence; /* what is wrong with it (results/row_sentence.h); owned */
    char *source;   /* the line that made the call; NULL or "": unknown; owned */
    double excess;  /* times what is allowed; infinite when there are no numbers */
};

/* Components of floating-point references: all, those within 2^-10 ulp of the tested dtype (as a
 * whole tensor), those that took a higher tier than double; and outputs of which more than a
 * thousandth did. */
struct reference_use {
    size_t components, certified, recomputed, costly_outputs;
};

void reference_use_add(struct reference_use *all, const struct reference_use *more);

/* Seconds that the stages of a call took; and seconds of processors that were in parts which idle threads take
 * (core/parallel.h), all of them and the longest part of each work. */
struct stage_times {
    double inputs_s, reference_s, device_s, comparison_s;
    double parts_s, longest_parts_s;
};

static inline double stage_times_total(const struct stage_times *times)
{
    return times->inputs_s + times->reference_s + times->device_s + times->comparison_s;
}

/* All zeros is an empty one; memory is kept from call to call. */
struct case_outcome {
    struct status fatal; /* not OK: the run cannot go on */
    bool internal_error; /* a promise of ours was broken: a SKIP row, and exit status 4 */
    struct csv_buffer details, result, evidence;
    enum verdict forward, backward;
    size_t unstable_rows; /* that were not the same in all runs of the call */
    struct row_note *notes;
    size_t n_notes, notes_capacity;
    struct reference_use references;
    struct stage_times times;
};

/* Note a row for the summary, unless it is a pass.
 *
 *   source  the line that made the call; NULL when it is unknown
 */
struct status case_outcome_note(struct case_outcome *outcome, const struct judged *judged,
                                enum row_cause cause, const char *source);

/* A row as the files of a run tell of it. */
struct row_read {
    enum verdict verdict;
    enum row_cause cause;
    const char *name, *sentence, *source;
    double excess;
};

/* Note a row that was read. Texts are copied. */
struct status case_outcome_note_read(struct case_outcome *outcome, const struct row_read *row);

/* How bad a row is: the deciding metric and its limit, or, where it has been measured, the error over what
 * rounding explains (NaN where there is none); to the precision of float. */
double row_excess(double value, double limit, double over_rounding);

void case_outcome_clear(struct case_outcome *outcome);
void case_outcome_release(struct case_outcome *outcome);

#endif
