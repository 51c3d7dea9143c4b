/* What many errors say together. Each comes as z, an error in units of its expected root mean square; those
 * of outputs narrower than the arithmetic also as the interval that the last rounding leaves open.
 *
 * Errors need not be independent. Elements with equal references mostly have equal errors (a mask, the
 * gradient of a mean, rows that repeat), so where there are few distinct references the sums count each of those
 * once. And a row may share the error of its mean, maximum or sum: where the means of the rows are most of the
 * errors, there are as many independent ones as rows.
 */
#ifndef PROBE_STANDARDS_ERROR_STATISTICS_H
#define PROBE_STANDARDS_ERROR_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value's error before its last rounding: somewhere from low to high. */
struct error_interval {
    double low, high;
};

/* Signed distance of the interval from 0 less `bound`, 0 when they meet. */
double error_interval_distance(const struct error_interval *interval, double bound);

enum { DISTINCT_MOST = 64, DISTINCT_SLOTS = 256, SCALES = 10, SHIFTS = 5 };

struct error_sums {
    double count, squares, signed_sum, toward; /* toward: signed by the direction away from 0 */
};

struct error_statistics {
    struct error_sums all;
    struct {
        double want;
        struct error_sums sums; /* count 0: free */
    } distinct[DISTINCT_SLOTS];
    size_t distinct_count; /* above DISTINCT_MOST: many, and the table is not kept */
    size_t stride;         /* intervals are taken from every so many elements */
    size_t
        row; /* elements of a row; the present row, and the squares of the means of the others: */
    size_t in_row;
    double row_sum, row_squares, rows;
    double likelihood[SCALES];
    /* Of the present row by errors that share a shift, and of all rows by each one's best: its sum, and the shifts'. */
    double of_row[SHIFTS], of_shifts, shifts, shifted_rows;
    size_t last_row;
};

struct error_summary {
    uint64_t elements;
    double independent; /* elements, distinct references or rows; see above */
    double rms, bias;   /* of z; bias by the larger of both signs' conventions */
    /* The scale c that fits the intervals best if the errors before the last rounding are normal with c
     * times the expected rms, and by how many nats scales of at most 1.5 fit worse. 0 without intervals, for fewer than
     * 16 independent errors, and where shifts of whole rows by up to two expected errors fit as well, but for a shift that
     * 16 rows and more have in common. */
    double scale, nats;
};

/* For n elements in rows of `row`, at least 1. */
void error_statistics_open(struct error_statistics *statistics, size_t n, size_t row);
void error_statistics_add(struct error_statistics *statistics, double want, double z);

/* The same of n elements, but those whose z is NaN. */
void error_statistics_add_all(struct error_statistics *statistics, const double *want,
                              const double *z, size_t n);
void error_statistics_add_interval(struct error_statistics *statistics, size_t element, double want,
                                   const struct error_interval *interval, double spread);
void error_statistics_close(struct error_summary *out, struct error_statistics *statistics);

#endif
