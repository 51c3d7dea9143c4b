/* What came of one call: the rows that it adds to the files of a run, and what a summary says
 * about them. */
#ifndef PROBE_RESULTS_OUTCOME_H
#define PROBE_RESULTS_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "formats/csv.h"
#include "standards/judge.h"

/* Why a row compares nothing. Programs go by this, and never by the message beside it. */
enum row_cause {
    CAUSE_NONE,             /* the row is a comparison */
    CAUSE_LISTS,            /* the user's white and black list leave the API out */
    CAUSE_NEVER_CHECKED,    /* an API that cannot be checked at all */
    CAUSE_NO_INPUTS,        /* the dump does not say enough, or its tensors cannot be read */
    CAUSE_NO_REFERENCE,     /* no reference for this API or these arguments */
    CAUSE_NOTHING_TO_JUDGE, /* the reference is None */
    CAUSE_NO_GRADIENT,      /* there is no backward to check */
    CAUSE_MEMORY,           /* more memory than the budget */
    CAUSE_DEVICE_DECLINED,  /* the device says that it cannot run this call */
    CAUSE_DEVICE_FAILED,    /* the device crashed, hung or broke the protocol */
    CAUSE_OUTPUT_MISSING,   /* the device returned fewer outputs than the API has */
    CAUSE_INTERNAL,         /* a promise of ours was broken */
    CAUSES
};

/* Was nothing of the call tried? Then it has a single row, and both directions are skipped. */
bool row_cause_before_device(enum row_cause cause);

/* The words of a cause in the evidence: "device failed". */
const char *row_cause_name(enum row_cause cause);

/* The cause of these words; CAUSE_NONE for any others. */
enum row_cause row_cause_from_name(const char *name, size_t length);

/* A row that a summary may show: everything but a pass. */
struct row_note {
    enum verdict verdict;
    enum row_cause cause;
    char *name;     /* of the row; owned */
    char *sentence; /* what is wrong with it (results/row_sentence.h); owned */
    double
        excess; /* how far beyond what is allowed, 1 or more; infinite when there are no numbers */
};

/* Components of floating-point references: all, those within 2^-10 ulp of the tested dtype (as a
 * whole tensor), those that took a higher tier than double; and outputs of which more than a
 * thousandth did. */
struct reference_use {
    size_t components, certified, recomputed, costly_outputs;
};

/* Seconds that the stages of a call took. */
struct stage_times {
    double inputs_s, reference_s, device_s, comparison_s;
};

/* All zeros is an empty one; memory is kept from call to call. */
struct case_outcome {
    struct status fatal; /* not OK: the run cannot go on */
    bool internal_error; /* a promise of ours was broken: a SKIP row, and exit status 4 */
    struct csv_buffer details, result, evidence;
    enum verdict forward, backward;
    struct row_note *notes;
    size_t n_notes, notes_capacity;
    struct reference_use references;
    struct stage_times times;
};

/* Note a row for the summary, unless it is a pass. */
struct status case_outcome_note(struct case_outcome *outcome, const struct judged *judged,
                                enum row_cause cause);

void case_outcome_clear(struct case_outcome *outcome);
void case_outcome_release(struct case_outcome *outcome);

#endif
