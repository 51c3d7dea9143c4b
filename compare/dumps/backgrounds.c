/* Section 10 of the comparison's rules. A reason that holds of an output with any of its inputs holds
 * with the best of them, so an entry's inputs are folded into a few extrema first and each output is
 * looked at once.
 */
#include <math.h>

#include "compare/dumps/judge.h"
#include "compare/dumps/statistics.h"

/* What the rules read from a row; NAN where a cell is no number. */
struct measured {
    bool usable; /* NPU max, Bench max and the error are numbers */
    double error, thousandth, cosine, relative;
};

static double metric_or_nan(const struct tensor_result *r, enum tensor_metric metric)
{
    return r->cell[metric] == CELL_NUMBER ? r->metric[metric] : NAN;
}

/* The first generation divided by Bench's maximum, or by 0.01 where that is less. */
static double first_relative(const struct comparison *c, const struct dump_row *bench, double error)
{
    double max;
    if (!row_value_number(&max, &c->bench, dump_row_statistic(bench, STATISTIC_MAX))) return NAN;
    return error / fmax(0.01, max);
}

static struct measured measure(const struct comparison *c, uint32_t row)
{
    const struct dump_row *npu = &c->npu.rows[row], *bench = comparison_bench_row(c, row);
    struct measured m = { false, NAN, NAN, NAN, NAN };
    struct statistic_difference d[ROW_STATISTICS];
    double max;

    if (!bench) return m;
    if (c->kind == DUMP_TENSOR) {
        const struct tensor_result *r = &c->tensors[row];
        m.error = metric_or_nan(r, METRIC_MAX_ABS_ERROR);
        m.thousandth = metric_or_nan(r, METRIC_ONE_THOUSANDTH);
        m.cosine = metric_or_nan(r, METRIC_COSINE);
    } else {
        statistics_compare(d, &c->npu, npu, &c->bench, bench, false);
        if (d[STATISTIC_MAX].difference_cell == STATISTIC_IS_NUMBER)
            m.error = fabs(d[STATISTIC_MAX].difference);
        if (c->generation == GENERATION_1) m.relative = first_relative(c, bench, m.error);
        else if (d[STATISTIC_MAX].relative_cell == STATISTIC_IS_NUMBER)
            m.relative = d[STATISTIC_MAX].relative;
    }
    m.usable = !isnan(m.error) &&
               row_value_number(&max, &c->npu, dump_row_statistic(npu, STATISTIC_MAX)) &&
               !isnan(max) &&
               row_value_number(&max, &c->bench, dump_row_statistic(bench, STATISTIC_MAX)) &&
               !isnan(max);
    return m;
}

/* The inputs of an entry: the extrema that outputs are held against. */
struct inputs {
    bool any;
    double smallest_error; /* of those that count: above 1, or all in the first generation */
    double best_thousandth, best_cosine;
    double smallest_relative;
};

static bool error_counts(const struct comparison *c, double error)
{
    return error > 1 || c->generation == GENERATION_1;
}

static void fold_input(struct inputs *in, const struct comparison *c, const struct measured *m)
{
    if (!m->usable) return;
    in->any = true;
    if (error_counts(c, m->error)) in->smallest_error = fmin(in->smallest_error, m->error);
    in->best_thousandth = fmax(in->best_thousandth, m->thousandth); /* fmax passes over NaN */
    in->best_cosine = fmax(in->best_cosine, m->cosine);
    in->smallest_relative = fmin(in->smallest_relative, m->relative);
}

static void paint(struct row_result *row, enum table_fill fill, enum row_note reason)
{
    if (row->fill < fill) row->fill = (uint8_t)fill;
    row->notes |= note_bit(reason);
}

/* Errors below 1 are of order 0. */
static double order_of(double error) { return error < 1 ? 0 : log10(error); }

static void judge_output(struct row_result *row, const struct comparison *c,
                         const struct inputs *in, const struct measured *out)
{
    if (!out->usable || !in->any) return;
    if (error_counts(c, out->error) && out->error >= in->smallest_error &&
        order_of(out->error) - order_of(in->smallest_error) >= 1)
        paint(row, TABLE_YELLOW, REASON_MAGNITUDE);
    if (in->best_thousandth > 0.9 && out->thousandth < 0.6)
        paint(row, TABLE_RED, REASON_THOUSANDTH_RED);
    else if (in->best_thousandth - out->thousandth > 0.1)
        paint(row, TABLE_YELLOW, REASON_THOUSANDTH);
    if (in->best_cosine - out->cosine > 0.1) paint(row, TABLE_YELLOW, REASON_COSINE);
    if (out->relative > 0.5) paint(row, TABLE_RED, REASON_RELATIVE_RED);
    else if (out->relative > 0.1 && in->smallest_relative < 0.01)
        paint(row, TABLE_YELLOW, REASON_RELATIVE);
}

static void judge_single(struct comparison *c, uint32_t row, const struct measured *m)
{
    struct row_result *out = &c->rows[row];
    if (row_has_non_finite(&c->npu, &c->npu.rows[row])) paint(out, TABLE_RED, REASON_NON_FINITE);
    else if (m->error > 1e10) paint(out, TABLE_RED, REASON_HUGE);
    if ((out->notes & note_bit(NOTE_REQUIRES_GRAD)) && out->fill < TABLE_YELLOW)
        out->fill = TABLE_YELLOW;
}

/* Reasons for yellow mean nothing on a red row. */
static void drop_weaker_reasons(struct row_result *row)
{
    static const uint64_t yellow = UINT64_C(1) << REASON_MAGNITUDE |
                                   UINT64_C(1) << REASON_THOUSANDTH | UINT64_C(1) << REASON_COSINE |
                                   UINT64_C(1) << REASON_RELATIVE;
    if (row->fill == TABLE_RED) row->notes &= ~yellow;
}

/* Parameters do since the second generation. */
static bool counts_as_input(const struct comparison *c, const struct dump_row *row)
{
    return row->state == STATE_INPUT || (c->generation != GENERATION_1 && row_is_input(row));
}

static void judge_entry(struct comparison *c, const struct dump_entry *entry)
{
    struct inputs in = { false, INFINITY, -INFINITY, -INFINITY, INFINITY };
    uint32_t end = entry->first_row + entry->n_rows;

    for (uint32_t row = entry->first_row; row < end; row++) {
        struct measured m = measure(c, row);
        if (counts_as_input(c, &c->npu.rows[row])) fold_input(&in, c, &m);
    }
    for (uint32_t row = entry->first_row; row < end; row++) {
        if (c->pairing.bench_of[row] == ROW_NONE) continue;
        struct measured m = measure(c, row);
        judge_single(c, row, &m);
        if (row_is_output(&c->npu.rows[row])) judge_output(&c->rows[row], c, &in, &m);
        drop_weaker_reasons(&c->rows[row]);
    }
}

void judge_backgrounds(struct comparison *c)
{
    if (c->kind == DUMP_MD5) return;
    for (uint32_t i = 0; i < c->npu.n_entries; i++) judge_entry(c, &c->npu.entries[i]);
}
