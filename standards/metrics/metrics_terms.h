/* What the metrics and the pass that gathers them both speak of: the kinds of a value, the bins of
 * the histogram, the constants of the formulas. */
#ifndef PROBE_STANDARDS_METRICS_METRICS_TERMS_H
#define PROBE_STANDARDS_METRICS_METRICS_TERMS_H

/* Kinds of a value in the agreement matrix. The reference is classed after rounding to the
 * device's dtype: a value that overflows it is an infinity there. */
enum value_class {
    CLASS_FINITE,
    CLASS_POSITIVE_INFINITY,
    CLASS_NEGATIVE_INFINITY,
    CLASS_NAN,
    CLASS_COUNT
};

/* Bins of the ULP histogram: 0 holds exact elements, 1 those within half an ulp, k >= 2 those in
 * (2^(k-3), 2^(k-2)] ulp; the last bin has no upper end. */
enum { ULP_BINS = 64 };

/* Constants of the formulas, from the profile. */
struct metrics_parameters {
    double bench_epsilon;      /* added to |want| in relative errors */
    double small_value;        /* at or below: judged by absolute error */
    double small_value_atol;   /* more is a small-value failure */
    double relative_tolerance; /* more is a failure of a normal value */
    double ulp_limit;          /* more counts in ulp_proportion */
    double within[3];          /* thresholds of the double ratios, descending */
};

#endif
