/* The rules of verdicts by kind of dump, each a function of a row and its partner. */
#include "compare/dumps/judge.h"

#include <math.h>
#include <string.h>

#include "compare/dumps/statistics.h"

bool requires_grad_consistent(const struct dump_row *npu, const struct dump_row *bench)
{
    return npu->has_requires_grad == bench->has_requires_grad &&
           npu->requires_grad == bench->requires_grad;
}

/* ---- tensors ---------------------------------------------------------------------------- */

/* `Accuracy Reached or Not`, from the cells of cosine and largest error. */
enum row_verdict tensor_verdict(const struct tensor_result *r)
{
    enum metric_cell cosine = r->cell[METRIC_COSINE], error = r->cell[METRIC_MAX_ABS_ERROR];
    double cosine_value = r->metric[METRIC_COSINE], error_value = r->metric[METRIC_MAX_ABS_ERROR];

    if (cosine == CELL_SHAPES_DIFFER || error == CELL_SHAPES_DIFFER) return VERDICT_UNMATCHED;
    if (cosine == CELL_NOT_APPLICABLE || error == CELL_NOT_APPLICABLE) return VERDICT_NO;
    if (cosine == CELL_IS_NAN) return VERDICT_NO; /* one side has only zeros */
    if (cosine != CELL_NUMBER || error != CELL_NUMBER) return VERDICT_NONE;
    if (cosine_value < 0.99 && error_value > 0.001) return VERDICT_NO;
    if (cosine_value < 0.9 || error_value > 1) return VERDICT_NO;
    return VERDICT_YES;
}

/* Values of one element have no direction: the relative error stands in for the cosine. */
static enum row_level single_value_level(const struct tensor_result *r)
{
    double error = r->metric[METRIC_MAX_ABS_ERROR], relative = r->metric[METRIC_MAX_RELATIVE_ERROR];

    if (r->cell[METRIC_MAX_ABS_ERROR] == CELL_IS_NAN)
        return r->npu.nan == r->bench.nan && r->npu.inf == r->bench.inf ? LEVEL_PASS : LEVEL_ERROR;
    if (relative > 0.01 && error > 0.001) return LEVEL_ERROR;
    return error > 1 && relative > 0.001 ? LEVEL_ERROR : LEVEL_PASS;
}

static enum row_level tensor_level(const struct tensor_result *r, enum row_verdict verdict)
{
    if (r->inf_signs_differ) return LEVEL_ERROR;
    if (r->own_level != LEVEL_NOT_JUDGED) return r->own_level;
    if (verdict == VERDICT_YES) return LEVEL_PASS;
    if (verdict == VERDICT_NO || verdict == VERDICT_UNMATCHED) return LEVEL_ERROR;
    return r->counted ? single_value_level(r) : LEVEL_NOT_JUDGED;
}

static void judge_tensor(struct comparison *c, uint32_t row, const struct dump_row *npu,
                         const struct dump_row *bench)
{
    const struct tensor_result *r = &c->tensors[row];
    struct row_result *out = &c->rows[row];

    out->notes |= r->notes;
    if (r->inf_signs_differ) out->notes |= note_bit(NOTE_INF_SIGNS);
    out->verdict = (uint8_t)tensor_verdict(r);
    out->level = (uint8_t)tensor_level(r, out->verdict);
    if (!npu->is_tensor)
        out->level = arguments_differ(&c->npu, npu, &c->bench, bench) ? LEVEL_WARNING : LEVEL_PASS;
    if (!requires_grad_consistent(npu, bench)) out->notes |= note_bit(NOTE_REQUIRES_GRAD);
}

/* ---- statistics ------------------------------------------------------------------------- */

/* One is enough; the first generation wanted all four of MindSpore. */
static int suspicious_statistics_needed(const struct comparison *c)
{
    bool first_mindspore = c->generation == GENERATION_1 && c->npu.framework == FRAMEWORK_MINDSPORE;
    return first_mindspore ? ROW_STATISTICS : 1;
}

/* A dimension of 0 in the text of a shape: "[2, 0, 24]". */
static bool shape_is_empty(const char *shape)
{
    for (const char *at = shape; (at = strpbrk(at, "[ (")); at++)
        if (at[1] == '0') return true;
    return false;
}

/* msprobe has no verdict on inf and nan. Those of a norm or a mean may come from how it was summed. */
static enum row_level non_finite_level(const struct statistic_difference d[ROW_STATISTICS])
{
    enum row_level level = LEVEL_PASS;
    for (int i = 0; i < ROW_STATISTICS; i++) {
        if (!d[i].non_finite_differs) continue;
        if (i == STATISTIC_MAX || i == STATISTIC_MIN) return LEVEL_ERROR;
        level = LEVEL_WARNING;
    }
    return level;
}

/* Largest and smallest value of a tensor of bools. */
static bool bools_differ(const struct dump_row *npu, const struct dump_row *bench, int i)
{
    return npu->statistic_kind[i] == VALUE_IS_BOOLEAN &&
           bench->statistic_kind[i] == VALUE_IS_BOOLEAN &&
           npu->statistic[i].boolean != bench->statistic[i].boolean;
}

/* Was nothing recorded that could be compared, although the tensor has elements? */
static bool nothing_recorded(const struct comparison *c, const struct dump_row *npu,
                             const struct dump_row *bench)
{
    if (!npu->is_tensor || !bench->is_tensor || shape_is_empty(dump_text(&c->npu, npu->shape)))
        return false;
    for (int i = 0; i < ROW_STATISTICS; i++)
        if (npu->statistic_kind[i] != VALUE_IS_NONE && bench->statistic_kind[i] != VALUE_IS_NONE)
            return false;
    return true;
}

/* Our level of what msprobe's `Result` has no word for. */
static enum row_level statistics_level(const struct comparison *c,
                                       const struct statistic_difference d[ROW_STATISTICS],
                                       const struct dump_row *npu, const struct dump_row *bench)
{
    enum row_level level = non_finite_level(d);
    bool npu_only = row_has_non_finite(&c->npu, npu) && !row_has_non_finite(&c->bench, bench);
    if (level == LEVEL_ERROR || npu_only) return LEVEL_ERROR;
    for (int i = 0; i < ROW_STATISTICS; i++)
        if (bools_differ(npu, bench, i)) level = LEVEL_WARNING;
    return level == LEVEL_PASS && nothing_recorded(c, npu, bench) ? LEVEL_NOT_JUDGED : level;
}

static void judge_statistics(struct comparison *c, uint32_t row, const struct dump_row *npu,
                             const struct dump_row *bench)
{
    struct statistic_difference d[ROW_STATISTICS];
    struct row_result *out = &c->rows[row];
    int suspicious = 0;

    statistics_compare(d, &c->npu, npu, &c->bench, bench, false);
    for (int i = 0; i < ROW_STATISTICS; i++) suspicious += d[i].suspicious;
    if (suspicious >= suspicious_statistics_needed(c)) out->notes |= note_bit(NOTE_DOUBLE_CHECK);
    if (arguments_differ(&c->npu, npu, &c->bench, bench))
        out->notes |= note_bit(NOTE_ARGUMENT_DIFFERS);
    if (!requires_grad_consistent(npu, bench)) out->notes |= note_bit(NOTE_REQUIRES_GRAD);
    bool warns = out->notes & (note_bit(NOTE_DOUBLE_CHECK) | note_bit(NOTE_ARGUMENT_DIFFERS));
    out->verdict = warns ? VERDICT_IS_WARNING : VERDICT_EMPTY;
    out->level = (uint8_t)statistics_level(c, d, npu, bench);
    if (warns && out->level != LEVEL_ERROR) out->level = LEVEL_WARNING;
}

/* ---- checksums -------------------------------------------------------------------------- */

static void judge_checksum(struct comparison *c, uint32_t row, const struct dump_row *npu,
                           const struct dump_row *bench)
{
    bool equal = checksums_equal(&c->npu, npu, &c->bench, bench);
    c->rows[row].verdict = equal ? VERDICT_IS_PASS : VERDICT_DIFFERENT;
    c->rows[row].level = equal ? LEVEL_PASS : LEVEL_ERROR;
}

/* ---- rows ------------------------------------------------------------------------------- */

typedef void judge_row(struct comparison *c, uint32_t row, const struct dump_row *npu,
                       const struct dump_row *bench);

static judge_row *const judges[] = {
    [DUMP_TENSOR] = judge_tensor,
    [DUMP_STATISTICS] = judge_statistics,
    [DUMP_MD5] = judge_checksum,
    [DUMP_STRUCTURE] = judge_statistics,
};

/* A row without a partner. */
static void judge_alone(struct comparison *c, uint32_t row, const struct dump_row *npu)
{
    static const enum row_note faults[] = {
        [FAULT_FORMULA_NAME] = NOTE_FORMULA_NAME,
        [FAULT_FORMULA_TEXT] = NOTE_FORMULA_TEXT,
        [FAULT_SHAPE] = NOTE_ODD_SHAPE,
        [FAULT_REQUIRES_GRAD] = NOTE_ODD_REQUIRES_GRAD,
    };
    struct row_result *out = &c->rows[row];

    out->verdict = c->kind == DUMP_TENSOR ? VERDICT_NONE : VERDICT_NOT_APPLICABLE;
    out->level = npu->fault ? LEVEL_NOT_JUDGED : LEVEL_UNMATCHED;
    out->notes = note_bit(npu->fault ? faults[npu->fault] : NOTE_NO_BENCH);
    if (!npu->fault && c->kind == DUMP_TENSOR) out->notes |= note_bit(NOTE_BENCH_UNMATCHED);
}

void judge_rows(struct comparison *c)
{
    for (uint32_t row = 0; row < c->npu.n_rows; row++) {
        const struct dump_row *npu = &c->npu.rows[row], *bench = comparison_bench_row(c, row);
        if (!bench) {
            judge_alone(c, row, npu);
            continue;
        }
        if (c->pairing.renamed[row]) c->rows[row].notes |= note_bit(NOTE_FUZZY);
        judges[c->kind](c, row, npu, bench);
    }
}
