/* What the first screen says about one input, collected while its rows pass: counts, the first and
 * the worst rows that failed, why rows were skipped, where the time went, and the distribution of
 * errors by API and by dtype. Memory is bounded whatever the rows hold.
 */
#ifndef PROBE_REPORT_HTML_OVERVIEW_H
#define PROBE_REPORT_HTML_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text_table.h"
#include "formats/text_out.h"
#include "report/html/evidence_row.h"
#include "results/origin.h"
#include "standards/judge.h"

enum {
    OVERVIEW_WORST = 50,    /* rows kept as the worst */
    OVERVIEW_REASONS = 200, /* kinds of reasons; the others are counted together */
    OVERVIEW_GROUPS = 4096, /* APIs with a distribution of their own */
    OVERVIEW_SLOWEST = 20
};

/* What a row adds. */
struct overview_row {
    uint64_t row; /* of the page */
    enum verdict verdict;
    bool backward, agrees; /* with the other dump, in a comparison of two */
    struct csv_text name, call, api, dtype, message;
    double allowance;                    /* NaN: not known */
    double error;                        /* stands in for an unknown allowance; NaN: not known */
    const struct evidence_row *evidence; /* NULL: none */
};

struct overview_seconds {
    double reference, device, comparison;
};

struct worst_note {
    uint64_t row;
    enum verdict verdict;
    double rank;
};

struct slow_call {
    char *name; /* owned */
    struct overview_seconds seconds;
};

struct overview_group;

struct overview_groups {
    struct text_table names;
    struct overview_group *items;
    size_t capacity;
};

struct overview {
    uint64_t rows, calls, timed_calls;
    uint64_t row_counts[2][VERDICT_SKIP + 1]; /* [backward][verdict] */
    uint64_t call_counts[2][VERDICT_SKIP + 1];
    struct csv_buffer call; /* name of the call that rows are adding to */
    enum verdict call_verdicts[2];
    bool call_has[2]; /* rows of the direction */
    struct worst_note worst[OVERVIEW_WORST];
    size_t n_worst;
    uint64_t first_failed; /* row; UINT64_MAX for none */
    bool of_dumps;         /* a comparison of two dumps */
    struct origin origin;  /* of one: where its difference arises */
    struct text_table reasons;
    uint64_t reason_counts[OVERVIEW_REASONS + 1]; /* the last is for all other reasons */
    struct overview_groups apis, dtypes, timed_apis;
    struct overview_seconds seconds;
    struct slow_call slowest[OVERVIEW_SLOWEST];
    size_t n_slowest;
};

/* Start with overview_create, end with overview_release. */
struct status overview_create(struct overview *out, bool of_dumps);
void overview_release(struct overview *overview);

struct status overview_add_row(struct overview *overview, const struct overview_row *row);

/* Seconds that a call took. */
struct status overview_add_seconds(struct overview *overview, struct csv_text call,
                                   struct csv_text api, struct overview_seconds seconds);

/* All rows have been added: append `"rows": ..., "worst": ...`, members of a JSON object. */
struct status overview_finish(struct overview *overview, struct text_out *meta);

#endif
