/* Differences of the four statistics, and whether they look suspicious. */
#include "compare/dumps/statistics.h"

#include <math.h>
#include <string.h>
#include <strings.h>

bool row_value_number(double *out, const struct dump_rows *dump, struct row_value value)
{
    if (value.kind == VALUE_IS_INTEGER) *out = (double)value.integer;
    else if (value.kind == VALUE_IS_REAL) *out = value.real;
    else if (value.kind == VALUE_IS_TEXT && !strcasecmp(dump_text(dump, value.text), "nan"))
        *out = NAN;
    else return false;
    return true;
}

bool row_has_non_finite(const struct dump_rows *dump, const struct dump_row *row)
{
    double x;
    for (int i = STATISTIC_MAX; i <= STATISTIC_MIN; i++)
        if (row_value_number(&x, dump, dump_row_statistic(row, (enum row_statistic)i)) &&
            !isfinite(x))
            return true;
    return false;
}

/* More than half of the larger value off? */
static bool is_suspicious(double n, double b, double difference, bool larger_of_magnitudes)
{
    double scale = larger_of_magnitudes ? fmax(fabs(n), fabs(b)) : fabs(n > b ? n : b);
    return fabs(difference) / (scale + 1e-10) > 0.5;
}

static struct statistic_difference differ(double n, double b, bool larger_of_magnitudes)
{
    struct statistic_difference d = { .difference = n - b };
    bool same = n == b || (isnan(n) && isnan(b));
    d.non_finite_differs = !same && !(isfinite(n) && isfinite(b));
    if (isnan(d.difference)) {
        d.difference_cell = d.relative_cell = STATISTIC_IS_NAN;
        return d;
    }
    d.relative = fabs(d.difference / b);
    if (b == 0) d.relative_cell = STATISTIC_IS_NOT_APPLICABLE;
    d.suspicious = is_suspicious(n, b, d.difference, larger_of_magnitudes);
    return d;
}

void statistics_compare(struct statistic_difference out[ROW_STATISTICS],
                        const struct dump_rows *npu, const struct dump_row *npu_row,
                        const struct dump_rows *bench, const struct dump_row *bench_row,
                        bool larger_of_magnitudes)
{
    for (int i = 0; i < ROW_STATISTICS; i++) {
        double n, b;
        out[i] = (struct statistic_difference){ .difference_cell = STATISTIC_IS_NOT_APPLICABLE,
                                                .relative_cell = STATISTIC_IS_NOT_APPLICABLE };
        if (row_value_number(&n, npu, dump_row_statistic(npu_row, (enum row_statistic)i)) &&
            row_value_number(&b, bench, dump_row_statistic(bench_row, (enum row_statistic)i)))
            out[i] = differ(n, b, larger_of_magnitudes);
    }
}

bool checksums_equal(const struct dump_rows *npu, const struct dump_row *npu_row,
                     const struct dump_rows *bench, const struct dump_row *bench_row)
{
    if (npu_row->checksum_kind != bench_row->checksum_kind) return false;
    if (npu_row->checksum_kind == CHECKSUM_TEXT)
        return !strcmp(dump_text(npu, npu_row->checksum), dump_text(bench, bench_row->checksum));
    return npu_row->checksum_kind == CHECKSUM_NONE || npu_row->checksum == bench_row->checksum;
}

/* The checksum of such an argument is that of its value's text, or the text itself. */
bool arguments_differ(const struct dump_rows *npu, const struct dump_row *npu_row,
                      const struct dump_rows *bench, const struct dump_row *bench_row)
{
    if (npu_row->is_tensor || bench_row->is_tensor) return false;
    return !checksums_equal(npu, npu_row, bench, bench_row);
}
