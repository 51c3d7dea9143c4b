/* Why a row of the details file compares nothing. */
#ifndef PROBE_RESULTS_ROW_CAUSE_H
#define PROBE_RESULTS_ROW_CAUSE_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
