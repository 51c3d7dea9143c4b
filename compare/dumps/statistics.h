/* The recorded statistics of two rows against each other (max, min, mean, l2norm). */
#ifndef PROBE_COMPARE_DUMPS_STATISTICS_H
#define PROBE_COMPARE_DUMPS_STATISTICS_H

#include "compare/dumps/dump_rows.h"

enum statistic_cell { STATISTIC_IS_NUMBER, STATISTIC_IS_NAN, STATISTIC_IS_NOT_APPLICABLE };

struct statistic_difference {
    double difference; /* NPU - Bench */
    double relative;   /* |difference / Bench| as a fraction; may be infinite or NaN */
    uint8_t difference_cell, relative_cell; /* enum statistic_cell */
    bool suspicious;
    bool non_finite_differs; /* inf or nan on a side, and not the same on the other */
};

/* Differences of all four. A statistic that is no number on a side has none.
 *
 *   larger_of_magnitudes  the suspicion divides by the larger magnitude (as graphs do), instead of by
 *                         the magnitude of the larger value */
void statistics_compare(struct statistic_difference out[ROW_STATISTICS],
                        const struct dump_rows *npu, const struct dump_row *npu_row,
                        const struct dump_rows *bench, const struct dump_row *bench_row,
                        bool larger_of_magnitudes);

/* The number a statistic is: integers, reals, and the text nan. */
bool row_value_number(double *out, const struct dump_rows *dump, struct row_value value);

/* Is the largest or smallest value of a row inf or nan? */
bool row_has_non_finite(const struct dump_rows *dump, const struct dump_row *row);

/* Do two arguments that are no tensors hold different values? */
bool arguments_differ(const struct dump_rows *npu, const struct dump_row *npu_row,
                      const struct dump_rows *bench, const struct dump_row *bench_row);

/* Are the checksums equal? */
bool checksums_equal(const struct dump_rows *npu, const struct dump_row *npu_row,
                     const struct dump_rows *bench, const struct dump_row *bench_row);

#endif
