/* What is asked of the judge and what it answers: the request, the row of the details file with its
 * verdict, and the comparisons that led to it. */
#ifndef PROBE_STANDARDS_JUDGED_H
#define PROBE_STANDARDS_JUDGED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/case.h"
#include "core/reference.h"
#include "standards/details_column.h"
#include "standards/findings.h"
#include "standards/metrics/metrics.h"
#include "standards/profile.h"

enum verdict { VERDICT_BLANK, VERDICT_PASS, VERDICT_WARNING, VERDICT_ERROR, VERDICT_SKIP };

/* "pass", "warning", "error", "SKIP", " ". */
const char *verdict_name(enum verdict verdict);

/* The same by verdict, for who writes many: all eight bytes can be copied, `length` of them count. */
struct verdict_word {
    char text[8];
    size_t length;
};
extern const struct verdict_word verdict_words[VERDICT_SKIP + 1];

/* Pass, warning or error: something was looked at. */
bool verdict_is_judgement(enum verdict verdict);

struct judge_request {
    const struct profile *profile;
    const struct api_case *c;
    bool backward;
    size_t index;           /* of the output in its direction */
    enum dtype bench_dtype; /* nominal, of this output (precheck.md 3.2): sets eps_b and the
                               format of cells */
    enum dtype input_dtype; /* of the first floating tensor argument */
    int precision;          /* decimals of printed doubles, 14 by default */
};

/* One comparison of a metric with its limit. */
struct judged_limit {
    const char *metric;
    double value, limit;
    bool holds;
};
/* Most comparisons of one row; the error model makes the most. */
enum { JUDGED_LIMITS = 12 };

/* Results of the same call run several times, bit by bit. All zeros: it was run once. */
struct run_difference {
    size_t runs, elements;
    size_t differing;   /* elements that were not the same in all runs */
    double largest_ulp; /* between the first run and another */
};

struct judged {
    enum verdict verdict;
    const char *cells[COLUMN_COUNT]; /* never NULL; " " when blank */
    const char *standard;            /* name of the standard applied, "" when none */
    struct metrics metrics;          /* valid when has_metrics */
    bool has_metrics;
    enum reference_state reference_state; /* with has_metrics */
    size_t recomputed;                    /* components of the reference that took a higher tier */
    /* The rule that decided, for the summary and the evidence: what was measured against which
     * limit; empty name when nothing was out of line. */
    const char *deciding_metric;
    double deciding_value, deciding_limit;
    /* How far the worst element lies beyond what the rounding of an honest kernel explains
     * (error_model_over_rounding); set by who has the model of the output. */
    double over_rounding;
    bool has_over_rounding;
    /* Where the elements sit that make the row fail: "all in rows 128-255" (standards/judge_places.h); NULL
     * when nothing can be said. */
    const char *places;
    /* Which of the modes that the user allows explains the row ("tf32"), "none needed", or that none does; NULL where
     * none is allowed. */
    const char *allowance;
    /* The short format of factors that the errors are the signature of, or NULL (judge_signature.h). */
    const char *signature;
    struct run_difference repeats;
    struct findings findings; /* of a row that fails, set by who diagnosed it */
    /* All comparisons that were made, in order, for the evidence. */
    struct judged_limit limits[JUDGED_LIMITS];
    size_t limit_count;
};

/* Verdict of one API and direction from its rows: any error -> error, else any warning ->
 * warning, else any pass -> pass, else all SKIP -> SKIP; no rows -> blank. */
enum verdict verdict_combine(const enum verdict *rows, size_t count);

#endif
