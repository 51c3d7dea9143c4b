/* The verdicts of the reference's third generation (section 18 of the comparison's rules): a row is
 * as bad as the worst rule that holds of it. */
#include <math.h>
#include <string.h>

#include "compare/dumps/judge.h"
#include "compare/dumps/statistics.h"

/* Second part of entries that are not judged (they return uninitialised memory or move data), and
 * of those whose inputs are buffers. */
static const char *const never_judged[] = {
    "empty",
    "empty_like",
    "numpy",
    "to",
    "__setitem__",
    "empty_with_format",
    "new_empty_strided",
    "new_empty",
    "empty_strided",
};
static const char *const inputs_not_judged[] = {
    "_reduce_scatter_base",
    "_all_gather_base",
    "all_to_all_single",
    "batch_isend_irecv",
};

static bool second_part_is_one_of(const char *entry, const char *const *names, size_t count)
{
    const char *part = strchr(entry, '.');
    if (!part) return false;
    size_t length = strcspn(++part, ".");
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && !memcmp(names[i], part, length)) return true;
    return false;
}

static void raise(struct row_result *row, enum row_level level, enum row_note rule)
{
    if (row->g3_level < level) row->g3_level = (uint8_t)level;
    row->notes |= note_bit(rule);
}

/* ---- rules of one row ------------------------------------------------------------------- */

static void judge_texts(struct comparison *c, uint32_t row, const struct dump_row *npu,
                        const struct dump_row *bench)
{
    struct row_result *out = &c->rows[row];
    if (!requires_grad_consistent(npu, bench)) raise(out, LEVEL_ERROR, RULE_REQUIRES_GRAD);
    if (strcmp(dump_text(&c->npu, npu->dtype), dump_text(&c->bench, bench->dtype)))
        raise(out, LEVEL_ERROR, RULE_DTYPE);
    if (!c->any_shape &&
        strcmp(dump_text(&c->npu, npu->shape), dump_text(&c->bench, bench->shape)) != 0)
        raise(out, LEVEL_ERROR, RULE_SHAPE);
    bool is_scalar = npu->state == STATE_INPUT && !npu->is_tensor &&
                     !strncmp(dump_text(&c->npu, npu->dtype), "<class", 6);
    if (is_scalar && arguments_differ(&c->npu, npu, &c->bench, bench))
        raise(out, LEVEL_ERROR, RULE_SCALAR);
}

static void judge_checksum(struct comparison *c, uint32_t row, const struct dump_row *npu,
                           const struct dump_row *bench)
{
    struct row_result *out = &c->rows[row];
    if ((npu->checksum_kind == CHECKSUM_NONE) != (bench->checksum_kind == CHECKSUM_NONE))
        raise(out, LEVEL_WARNING, RULE_CHECKSUM_MISSING);
    else if (!checksums_equal(&c->npu, npu, &c->bench, bench))
        raise(out, LEVEL_ERROR, RULE_CHECKSUM);
}

static void judge_row_alone(struct comparison *c, uint32_t row, const struct dump_row *npu,
                            const struct dump_row *bench)
{
    if (c->kind == DUMP_MD5) {
        judge_checksum(c, row, npu, bench);
        return;
    }
    if (row_has_non_finite(&c->npu, npu) && !row_has_non_finite(&c->bench, bench))
        raise(&c->rows[row], LEVEL_ERROR, RULE_NON_FINITE);
    judge_texts(c, row, npu, bench);
}

/* ---- rules of an entry ------------------------------------------------------------------ */

/* Norms, cosines and ratios of one side of an entry. Empty: the neutral elements. */
struct extrema {
    double largest_norm, smallest_thousandth, smallest_cosine;
};

static double norm_error(const struct comparison *c, uint32_t row)
{
    struct statistic_difference d[ROW_STATISTICS];
    const struct dump_row *bench = comparison_bench_row(c, row);
    if (!bench) return NAN;
    statistics_compare(d, &c->npu, &c->npu.rows[row], &c->bench, bench, false);
    const struct statistic_difference *norm = &d[STATISTIC_L2NORM];
    return norm->relative_cell == STATISTIC_IS_NUMBER ? norm->relative : NAN;
}

static void fold(struct extrema *e, const struct comparison *c, uint32_t row)
{
    if (c->kind != DUMP_TENSOR) {
        e->largest_norm = fmax(e->largest_norm, norm_error(c, row));
        return;
    }
    const struct tensor_result *r = &c->tensors[row];
    if (r->cell[METRIC_ONE_THOUSANDTH] == CELL_NUMBER)
        e->smallest_thousandth = fmin(e->smallest_thousandth, r->metric[METRIC_ONE_THOUSANDTH]);
    if (r->cell[METRIC_COSINE] == CELL_NUMBER)
        e->smallest_cosine = fmin(e->smallest_cosine, r->metric[METRIC_COSINE]);
}

static void judge_norms(struct comparison *c, uint32_t first_output, uint32_t end,
                        const struct extrema *in, const struct extrema *out)
{
    if (in->largest_norm < 0 || out->largest_norm < 0) return; /* a side without numbers */
    for (uint32_t row = first_output; row < end; row++)
        if (row_is_output(&c->npu.rows[row]) && in->largest_norm < 0.1 && norm_error(c, row) > 0.5)
            raise(&c->rows[row], LEVEL_ERROR, RULE_NORM_JUMP);
    bool grows = in->largest_norm == 0 ? out->largest_norm > 0.1
                                       : out->largest_norm > 10 * in->largest_norm;
    if (grows) raise(&c->rows[first_output], LEVEL_WARNING, RULE_NORM_GROWTH);
}

static void judge_drops(struct comparison *c, uint32_t first_output, const struct extrema *in,
                        const struct extrema *out)
{
    struct row_result *row = &c->rows[first_output];
    if (isfinite(in->smallest_thousandth) && in->smallest_thousandth > 0.9 &&
        out->smallest_thousandth < 0.1)
        raise(row, LEVEL_ERROR, RULE_THOUSANDTH_DROP);
    if (isfinite(in->smallest_cosine) && in->smallest_cosine > 0.9 &&
        in->smallest_cosine - out->smallest_cosine > 0.1)
        raise(row, LEVEL_WARNING, RULE_COSINE_DROP);
}

static void judge_entry(struct comparison *c, const struct dump_entry *entry)
{
    const struct extrema none = { -1, INFINITY, INFINITY };
    struct extrema in = none, out = none;
    uint32_t end = entry->first_row + entry->n_rows, first_output = ROW_NONE;

    for (uint32_t row = entry->first_row; row < end; row++) {
        const struct dump_row *npu = &c->npu.rows[row];
        if (c->pairing.bench_of[row] == ROW_NONE) continue;
        if (row_is_input(npu)) fold(&in, c, row);
        if (!row_is_output(npu)) continue;
        fold(&out, c, row);
        if (first_output == ROW_NONE) first_output = row;
    }
    if (first_output == ROW_NONE) return;
    if (c->kind == DUMP_TENSOR) judge_drops(c, first_output, &in, &out);
    else if (c->kind == DUMP_STATISTICS) judge_norms(c, first_output, end, &in, &out);
}

#define COUNT(names) (sizeof(names) / sizeof *(names))

void judge_by_rules(struct comparison *c)
{
    for (uint32_t i = 0; i < c->npu.n_entries; i++) {
        const struct dump_entry *entry = &c->npu.entries[i];
        const char *name = dump_entry_name(&c->npu, i, NULL);
        bool judged = !second_part_is_one_of(name, never_judged, COUNT(never_judged));
        bool inputs = !second_part_is_one_of(name, inputs_not_judged, COUNT(inputs_not_judged));
        for (uint32_t row = entry->first_row; row < entry->first_row + entry->n_rows; row++) {
            const struct dump_row *bench = comparison_bench_row(c, row);
            if (!bench) c->rows[row].g3_level = LEVEL_UNMATCHED;
            else if (judged && (inputs || !row_is_input(&c->npu.rows[row])))
                judge_row_alone(c, row, &c->npu.rows[row], bench);
        }
        if (judged) judge_entry(c, entry);
    }
}
