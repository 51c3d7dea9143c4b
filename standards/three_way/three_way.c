/* Which standard a row is judged by, and what that standard says of its numbers. */
#include "standards/three_way/three_way.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "standards/three_way/by_evidence.h"

const char *const three_way_headers[THREE_WAY_COLUMNS] = {
    [THREE_WAY_NAME] = "API Name",
    [THREE_WAY_SMALL_VALUE] = "小值域错误比值",
    [THREE_WAY_SMALL_VALUE_STATUS] = "小值域判定结果",
    [THREE_WAY_RMSE] = "均方根误差比值",
    [THREE_WAY_RMSE_STATUS] = "均方根误差判定结果",
    [THREE_WAY_MAX_RELATIVE] = "相对误差最大值比值",
    [THREE_WAY_MAX_RELATIVE_STATUS] = "相对误差最大值判定结果",
    [THREE_WAY_MEAN_RELATIVE] = "相对误差平均值比值",
    [THREE_WAY_MEAN_RELATIVE_STATUS] = "相对误差平均值判定结果",
    [THREE_WAY_BALANCE] = "误差均衡性比值",
    [THREE_WAY_BALANCE_STATUS] = "误差均衡性判定结果",
    [THREE_WAY_INF_NAN] = "inf/nan错误率",
    [THREE_WAY_INF_NAN_STATUS] = "inf/nan判定结果",
    [THREE_WAY_RELATIVE] = "相对误差错误率",
    [THREE_WAY_RELATIVE_STATUS] = "相对误差判定结果",
    [THREE_WAY_ABSOLUTE] = "绝对误差错误率",
    [THREE_WAY_ABSOLUTE_STATUS] = "绝对误差判定结果",
    [THREE_WAY_BINARY] = "二进制一致错误率",
    [THREE_WAY_BINARY_STATUS] = "二进制一致错误率判定结果",
    [THREE_WAY_MEAN_ULP] = "ULP误差平均值",
    [THREE_WAY_ULP_PROPORTION] = "ULP误差大于阈值占比",
    [THREE_WAY_ULP_RATIO] = "ULP误差大于阈值占比比值",
    [THREE_WAY_ULP_STATUS] = "ULP误差判定结果",
    [THREE_WAY_THOUSANDTH] = "双千指标",
    [THREE_WAY_THOUSANDTH_STATUS] = "双千指标判定结果",
    [THREE_WAY_STATUS] = "比对结果",
    [THREE_WAY_ALGORITHM] = "比对算法",
    [THREE_WAY_MESSAGE] = "Message",
};

const char *const three_way_unsupported = "This data type does not support benchmark compare.";

/* What the peer says when a number that it needs is a blank cell. */
static const char empty_input[] = "ERROR: Input data is an empty string";

/* ---- dtypes ----------------------------------------------------------------------------- */

static bool is_float(enum three_way_dtype dtype)
{
    return dtype != THREE_WAY_OTHER; /* blank ones have no standard */
}

/* Thresholds know the components of complex numbers. */
static enum three_way_dtype component(enum three_way_dtype dtype)
{
    if (dtype == THREE_WAY_C64) return THREE_WAY_F32;
    return dtype == THREE_WAY_C128 ? THREE_WAY_F64 : dtype;
}

bool three_way_empty_is_nan(const struct three_way_rules *rules) { return rules->peer_rows; }

/* ---- building a verdict ----------------------------------------------------------------- */

static void begin(struct three_way_verdict *out)
{
    out->verdict = VERDICT_SKIP;
    memset(out->cells, 0, sizeof out->cells);
    out->algorithm = " ";
    out->message_length = 0;
    out->message[0] = '\0';
    out->excess = 0;
    out->npu_message = false;
    out->unattributed = out->unsupported = out->exception = out->assumed_zero = false;
}

static void add_bytes(struct three_way_verdict *out, struct csv_text text)
{
    size_t length = text.length, room = sizeof out->message - 1 - out->message_length;
    if (length > room) {
        length = room;
        /* Not inside a character: UTF-8 continuation bytes are 10xxxxxx. */
        while (length && ((unsigned char)text.bytes[length] & 0xc0) == 0x80) length--;
    }
    if (!length) return;
    memcpy(out->message + out->message_length, text.bytes, length);
    out->message_length += length;
    out->message[out->message_length] = '\0';
}

static void add_text(struct three_way_verdict *out, const char *text)
{
    add_bytes(out, csv_text_of(text));
}

/* A sentence on a line of its own. */
static void add_line(struct three_way_verdict *out, const char *text)
{
    if (out->message_length && out->message[out->message_length - 1] != '\n') add_text(out, "\n");
    add_text(out, text);
    add_text(out, "\n");
}

static void set_number(struct three_way_verdict *out, enum three_way_column column, double number)
{
    out->cells[column] = (struct three_way_cell){ .kind = CELL_NUMBER, .number = number };
}

static void set_verdict(struct three_way_verdict *out, enum three_way_column column,
                        enum verdict verdict)
{
    out->cells[column] = (struct three_way_cell){ .kind = CELL_VERDICT, .verdict = verdict };
}

static void set_npu_text(struct three_way_verdict *out, enum three_way_column column,
                         enum three_way_metric metric)
{
    out->cells[column] = (struct three_way_cell){ .kind = CELL_NPU_TEXT, .metric = metric };
}

void three_way_skip(struct three_way_verdict *out, const char *message)
{
    begin(out);
    add_text(out, message);
}

static enum verdict worse(enum verdict a, enum verdict b)
{
    static const int rank[] = { [VERDICT_BLANK] = 0,
                                [VERDICT_SKIP] = 1,
                                [VERDICT_PASS] = 2,
                                [VERDICT_WARNING] = 3,
                                [VERDICT_ERROR] = 4 };
    return rank[a] >= rank[b] ? a : b;
}

/* ---- ratios ----------------------------------------------------------------------------- */

struct ratio {
    double value; /* NaN when one of the two is not finite */
    enum { RATIO_OF_NUMBERS, RATIO_SAME_NON_FINITE, RATIO_INCONSISTENT } kind;
};

/* How many times the GPU's error the NPU's is. */
static struct ratio ratio_of(const struct three_way_rules *rules, enum three_way_dtype dtype,
                             double npu, double gpu)
{
    if (!isfinite(npu) || !isfinite(gpu)) {
        bool same = isinf(npu) ? npu == gpu : isnan(npu) && isnan(gpu);
        return (struct ratio){ NAN, same ? RATIO_SAME_NON_FINITE : RATIO_INCONSISTENT };
    }
    double value;
    if (rules->has_floor) value = fabs(npu) / fmax(fabs(gpu), rules->floor[component(dtype)]);
    else if (gpu != 0) value = fabs(npu / gpu);
    else value = npu == 0 ? rules->both_zero : rules->npu_nonzero;
    return (struct ratio){ value, RATIO_OF_NUMBERS };
}

static void explain_non_finite(struct three_way_verdict *out, const struct ratio *ratio,
                               enum three_way_metric metric)
{
    if (ratio->kind == RATIO_OF_NUMBERS) return;
    add_text(out, three_way_metric_headers[metric]);
    add_text(out, ratio->kind == RATIO_INCONSISTENT ? "inf或nan不一致\n" : "同为同号inf或nan\n");
}

/* ---- the standards ---------------------------------------------------------------------- */

/* All a standard's judge needs. */
struct judging {
    const struct three_way_rules *rules;
    const struct three_way_thresholds *thresholds;
    const struct three_way_row *row;
    enum operator_level level;
};

static enum verdict must_be_zero(struct three_way_verdict *out, const struct judging *j,
                                 enum three_way_metric metric, enum three_way_column column,
                                 const char *message)
{
    double value = j->row->npu.metric[metric];
    enum verdict verdict = value == 0 ? VERDICT_PASS : VERDICT_ERROR;
    set_number(out, column, value);
    set_verdict(out, column + 1, verdict);
    if (verdict == VERDICT_ERROR) add_text(out, message);
    return verdict;
}

static enum verdict judge_absolute(struct three_way_verdict *out, const struct judging *j)
{
    enum verdict verdict =
        must_be_zero(out, j, METRIC_INF_NAN, THREE_WAY_INF_NAN, "ERROR: inf/nan错误率超过阈值");
    verdict = worse(verdict, must_be_zero(out, j, METRIC_RELATIVE, THREE_WAY_RELATIVE,
                                          "ERROR: 相对误差错误率超过阈值"));
    return worse(verdict, must_be_zero(out, j, METRIC_ABSOLUTE, THREE_WAY_ABSOLUTE,
                                       "ERROR: 绝对误差错误率超过阈值"));
}

static enum verdict judge_accumulative(struct three_way_verdict *out, const struct judging *j)
{
    enum verdict verdict = judge_absolute(out, j);
    double balance = j->row->npu.metric[METRIC_BALANCE];
    bool kept = balance <= j->thresholds->accumulative_balance[component(j->row->dtype)];
    set_number(out, THREE_WAY_BALANCE, balance);
    set_verdict(out, THREE_WAY_BALANCE_STATUS, kept ? VERDICT_PASS : VERDICT_ERROR);
    if (kept) return verdict;
    add_text(out, "ERROR: 误差均衡性超过阈值");
    return VERDICT_ERROR;
}

static enum verdict judge_binary(struct three_way_verdict *out, const struct judging *j)
{
    enum verdict verdict = j->row->npu.metric[METRIC_BINARY] == 0 ? VERDICT_PASS : VERDICT_ERROR;
    set_npu_text(out, THREE_WAY_BINARY, METRIC_BINARY);
    set_verdict(out, THREE_WAY_BINARY_STATUS, verdict);
    if (verdict == VERDICT_ERROR) add_text(out, "ERROR: 二进制一致错误率超过阈值\n");
    return verdict;
}

static enum verdict judge_thousandth(struct three_way_verdict *out, const struct judging *j)
{
    double share = j->row->npu.metric[METRIC_THOUSANDTH], limit = j->thresholds->thousandth;
    bool kept = j->thresholds->thousandth_inclusive != 0 ? share >= limit : share > limit;
    set_npu_text(out, THREE_WAY_THOUSANDTH, METRIC_THOUSANDTH);
    set_verdict(out, THREE_WAY_THOUSANDTH_STATUS, kept ? VERDICT_PASS : VERDICT_ERROR);
    if (kept) return VERDICT_PASS;
    add_text(out, "ERROR: 双千指标不达标\n");
    return VERDICT_ERROR;
}

static const struct {
    enum three_way_column column;
    const char *error, *warning;
} ratio_columns[RATIO_METRICS] = {
    [METRIC_SMALL_VALUE] = { THREE_WAY_SMALL_VALUE, "ERROR: 小值域错误比值超过阈值\n",
                             "WARNING: 小值域错误比值超过阈值\n" },
    [METRIC_RMSE] = { THREE_WAY_RMSE, "ERROR: 均方根误差比值超过阈值\n",
                      "WARNING: 均方根误差比值超过阈值\n" },
    [METRIC_MAX_RELATIVE] = { THREE_WAY_MAX_RELATIVE, "ERROR: 相对误差最大值比值超过阈值\n",
                              "WARNING: 相对误差最大值比值超过阈值\n" },
    [METRIC_MEAN_RELATIVE] = { THREE_WAY_MEAN_RELATIVE, "ERROR: 相对误差平均值比值超过阈值\n",
                               "WARNING: 相对误差平均值比值超过阈值\n" },
    /* The balance informs; it is in no message and in no verdict. */
    [METRIC_BALANCE] = { THREE_WAY_BALANCE, NULL, NULL },
};

static enum verdict ratio_verdict(const struct ratio *ratio, const struct ratio_limit *limit)
{
    if (ratio->kind == RATIO_INCONSISTENT) return VERDICT_ERROR;
    if (ratio->kind == RATIO_SAME_NON_FINITE) return VERDICT_PASS;
    if (ratio->value > limit->error) return VERDICT_ERROR;
    return ratio->value > limit->warning ? VERDICT_WARNING : VERDICT_PASS;
}

static enum verdict judge_benchmark(struct three_way_verdict *out, const struct judging *j)
{
    enum verdict verdicts[RATIO_METRICS], verdict = VERDICT_PASS;

    for (enum three_way_metric m = 0; m <= METRIC_BALANCE; m++) {
        struct ratio ratio =
            ratio_of(j->rules, j->row->dtype, j->row->npu.metric[m], j->row->gpu->metric[m]);
        verdicts[m] = ratio_verdict(&ratio, &j->thresholds->ratio[j->level][m]);
        set_number(out, ratio_columns[m].column, ratio.value);
        set_verdict(out, ratio_columns[m].column + 1, verdicts[m]);
        explain_non_finite(out, &ratio, m);
    }
    for (enum three_way_metric m = 0; m < METRIC_BALANCE; m++) {
        verdict = worse(verdict, verdicts[m]);
        if (verdicts[m] == VERDICT_ERROR) add_text(out, ratio_columns[m].error);
        if (verdicts[m] == VERDICT_WARNING) add_text(out, ratio_columns[m].warning);
    }
    return verdict;
}

static enum verdict judge_ulp(struct three_way_verdict *out, const struct judging *j)
{
    const struct three_way_side *npu = &j->row->npu, *gpu = j->row->gpu;
    enum three_way_dtype dtype = component(j->row->dtype);
    const struct ulp_limit *limit = &j->thresholds->ulp[dtype];
    double mean = npu->metric[METRIC_MEAN_ULP], share = npu->metric[METRIC_ULP_PROPORTION];
    bool consistent = true, kept = share < limit->proportion;

    set_number(out, THREE_WAY_ULP_PROPORTION, share);
    if (dtype != THREE_WAY_F8) {
        struct ratio means = ratio_of(j->rules, dtype, mean, gpu->metric[METRIC_MEAN_ULP]);
        struct ratio shares = ratio_of(j->rules, dtype, share, gpu->metric[METRIC_ULP_PROPORTION]);
        set_number(out, THREE_WAY_MEAN_ULP, mean);
        set_number(out, THREE_WAY_ULP_RATIO, shares.value);
        explain_non_finite(out, &means, METRIC_MEAN_ULP);
        explain_non_finite(out, &shares, METRIC_ULP_PROPORTION);
        consistent = means.kind != RATIO_INCONSISTENT && shares.kind != RATIO_INCONSISTENT;
        kept = kept || mean < limit->mean || shares.value < limit->ratio;
    }
    kept = kept && consistent;
    /* The peer leaves the verdict's cell blank when the values cannot be compared. */
    if (consistent) set_verdict(out, THREE_WAY_ULP_STATUS, kept ? VERDICT_PASS : VERDICT_ERROR);
    if (kept) return VERDICT_PASS;
    add_text(out, "ERROR: ULP误差不满足标准\n");
    return VERDICT_ERROR;
}

#define BIT(metric) (1u << (metric))
#define RATIO_BITS  ((1u << RATIO_METRICS) - 1)

static const struct standard_info {
    const char *name;
    enum verdict (*judge)(struct three_way_verdict *, const struct judging *);
    unsigned npu, gpu; /* the numbers it cannot do without, on each side */
    /* clang-format off */
} comparisons[COMPARE_COUNT] = {
    [COMPARE_BENCHMARK] = { "标杆比对法", judge_benchmark, RATIO_BITS, RATIO_BITS },
    [COMPARE_BINARY] = { "二进制一致法", judge_binary, BIT(METRIC_BINARY), 0 },
    [COMPARE_ABSOLUTE] = { "绝对阈值法", judge_absolute,
                            BIT(METRIC_INF_NAN) | BIT(METRIC_RELATIVE) | BIT(METRIC_ABSOLUTE), 0 },
    [COMPARE_ULP] = { "ULP误差比对法", judge_ulp, BIT(METRIC_MEAN_ULP) | BIT(METRIC_ULP_PROPORTION),
                       BIT(METRIC_MEAN_ULP) | BIT(METRIC_ULP_PROPORTION) },
    [COMPARE_THOUSANDTH] = { "双千指标法", judge_thousandth, BIT(METRIC_THOUSANDTH), 0 },
    [COMPARE_ACCUMULATIVE] = { "累积误差比对法", judge_accumulative,
                                BIT(METRIC_INF_NAN) | BIT(METRIC_RELATIVE) | BIT(METRIC_ABSOLUTE) |
                                    BIT(METRIC_BALANCE),
                                0 },
};
/* clang-format on */

/* ---- choosing the standard -------------------------------------------------------------- */

struct choice {
    const struct three_way_row *row;
    unsigned lists;
};

static bool in_list(const struct choice *c, enum api_list list)
{
    return (c->lists & (1u << list)) != 0;
}

static bool step_f8(const struct choice *c) { return c->row->dtype == THREE_WAY_F8; }

static bool step_relative_present(const struct choice *c)
{
    return (c->row->npu.present & BIT(METRIC_RELATIVE)) && !in_list(c, LIST_ACCUMULATIVE);
}

static bool step_float(const struct choice *c) { return is_float(c->row->dtype); }

static bool step_not_float(const struct choice *c) { return !is_float(c->row->dtype); }

static bool step_binary_list(const struct choice *c) { return in_list(c, LIST_BINARY); }

static bool step_absolute_list(const struct choice *c) { return in_list(c, LIST_ABSOLUTE); }

static bool step_ulp_list(const struct choice *c)
{
    return in_list(c, LIST_ULP) && component(c->row->dtype) != THREE_WAY_F64;
}

static bool step_thousandth_list(const struct choice *c) { return in_list(c, LIST_THOUSANDTH); }

static bool step_accumulative_list(const struct choice *c) { return in_list(c, LIST_ACCUMULATIVE); }

static bool step_always(const struct choice *c)
{
    (void)c;
    return true;
}

static const struct {
    bool (*holds)(const struct choice *);
    enum three_way_standard comparison;
} steps[STEP_COUNT] = {
    [STEP_F8_ULP] = { step_f8, COMPARE_ULP },
    [STEP_RELATIVE_PRESENT] = { step_relative_present, COMPARE_ABSOLUTE },
    [STEP_FLOAT_BENCHMARK] = { step_float, COMPARE_BENCHMARK },
    [STEP_NOT_FLOAT_BINARY] = { step_not_float, COMPARE_BINARY },
    [STEP_BINARY_LIST] = { step_binary_list, COMPARE_BINARY },
    [STEP_ABSOLUTE_LIST] = { step_absolute_list, COMPARE_ABSOLUTE },
    [STEP_ULP_LIST] = { step_ulp_list, COMPARE_ULP },
    [STEP_THOUSANDTH_LIST] = { step_thousandth_list, COMPARE_THOUSANDTH },
    [STEP_ACCUMULATIVE_LIST] = { step_accumulative_list, COMPARE_ACCUMULATIVE },
    [STEP_BENCHMARK] = { step_always, COMPARE_BENCHMARK },
};

/* Standards in the order in which a row's numbers tell that they were measured: the accumulative
 * one has those of the absolute one and the balance. The thousandth ratio tells nothing: rows of
 * other standards have it too. */
static const enum three_way_standard by_metrics[] = { COMPARE_BENCHMARK, COMPARE_ACCUMULATIVE,
                                                      COMPARE_ABSOLUTE, COMPARE_ULP,
                                                      COMPARE_BINARY };

static bool override_fits(const struct three_way_override *o, const struct three_way_row *row)
{
    if (o->dtypes && !(o->dtypes & 1u << row->dtype)) return false;
    if (!o->apis) return true;
    for (size_t i = 0; i < o->n_apis; i++) {
        if (csv_text_equal(row->api, o->apis[i])) return true;
    }
    return false;
}

static bool has_all(unsigned present, unsigned needed) { return (present & needed) == needed; }

static enum three_way_standard choose(const struct three_way_rules *rules,
                                      const struct three_way_row *row, unsigned lists)
{
    struct choice choice = { row, lists };
    size_t step = 0;

    for (size_t i = rules->n_overrides; i-- > 0;) {
        const struct three_way_override *o = &rules->overrides[i];
        if (o->has_standard && override_fits(o, row)) return o->standard;
    }
    while (!steps[rules->order[step]].holds(&choice)) step++; /* the last one holds */
    enum three_way_standard chosen = steps[rules->order[step]].comparison;
    if (!rules->by_metrics || has_all(row->npu.present, comparisons[chosen].npu)) return chosen;
    /* The run that wrote the row followed other lists. */
    for (size_t i = 0; i < sizeof by_metrics / sizeof *by_metrics; i++) {
        if (has_all(row->npu.present, comparisons[by_metrics[i]].npu)) return by_metrics[i];
    }
    return chosen;
}

/* ---- rows without the numbers they need ------------------------------------------------- */

static void explain_missing(struct three_way_verdict *out, const char *side, unsigned missing,
                            struct csv_text message)
{
    enum three_way_metric metric = 0;
    while (!(missing & BIT(metric))) metric++;
    add_text(out, "The ");
    add_text(out, side);
    add_text(out, " row has no ");
    add_text(out, three_way_metric_headers[metric]);
    if (message.length && !csv_text_equal(message, " ")) {
        add_text(out, ": ");
        add_bytes(out, message);
    } else {
        add_text(out, ".");
    }
}

/* A row with a dtype but without numbers was judged without them: a random output by its
 * properties, an empty one by its shape. Its own run's verdict stands, except that two errors
 * may well be the reference's. */
static void judge_by_first_stage(struct three_way_verdict *out, const struct three_way_row *row,
                                 const struct standard_info *standard)
{
    enum verdict npu = row->npu.status, gpu = row->gpu->status;
    if (npu == VERDICT_PASS || npu == VERDICT_WARNING ||
        (npu == VERDICT_ERROR && (gpu == VERDICT_PASS || gpu == VERDICT_WARNING))) {
        out->verdict = npu;
        add_line(out, "No numbers to compare; the verdict is that of the NPU run.");
        if (npu != VERDICT_PASS) add_bytes(out, row->npu_message);
        return;
    }
    explain_missing(out, "NPU", standard->npu & ~row->npu.present, row->npu_message);
}

/* True when the row is settled without the standard's own judgement. */
static bool settle_missing(struct three_way_verdict *out, const struct three_way_rules *rules,
                           const struct three_way_row *row, const struct standard_info *standard)
{
    bool npu_lacks = !has_all(row->npu.present, standard->npu);
    bool gpu_lacks = !has_all(row->gpu->present, standard->gpu);

    if (!npu_lacks && !gpu_lacks) return false;
    if (rules->blank_metrics != BLANK_REASON) {
        /* The peer's later code counts a blank cell of a ratio as 0; the numbers are 0 then. */
        out->assumed_zero = rules->blank_metrics == BLANK_ZERO &&
                            standard->judge == judge_benchmark;
        if (out->assumed_zero) return false;
        add_text(out, empty_input);
        out->exception = true;
    } else if (!(row->npu.present & ~BIT(METRIC_THOUSANDTH))) {
        judge_by_first_stage(out, row, standard);
    } else if (npu_lacks) {
        explain_missing(out, "NPU", standard->npu & ~row->npu.present, row->npu_message);
    } else {
        explain_missing(out, "GPU", standard->gpu & ~row->gpu->present, row->gpu_message);
    }
    return true;
}

/* ---- the verdict ------------------------------------------------------------------------ */

/* Rows that are skipped before any standard is chosen. */
static bool settle_unsupported(struct three_way_verdict *out, const struct three_way_rules *rules,
                               const struct three_way_row *row)
{
    bool unsupported = rules->unsupported[row->dtype];
    bool peer_empty = rules->peer_rows && row->empty_vector;

    if (row->dtype != THREE_WAY_BLANK && !unsupported && !peer_empty) return false;
    bool own_message = row->npu_message.length &&
                       (rules->peer_rows || row->dtype == THREE_WAY_BLANK);
    if (own_message) {
        add_bytes(out, row->npu_message);
        out->npu_message = true;
    } else if (rules->peer_rows) add_text(out, "nan"); /* what its table makes of an empty cell */
    else if (unsupported) add_text(out, three_way_unsupported);
    else add_text(out, "The NPU row was skipped without a message.");
    out->unsupported = out->unattributed = unsupported && rules->peer_rows;
    return true;
}

/* The profile's thresholds with what the user set for this row laid over them. */
static void set_thresholds(struct three_way_thresholds *out, const struct three_way_rules *rules,
                           const struct three_way_row *row)
{
    *out = rules->thresholds;
    for (size_t i = 0; i < rules->n_overrides; i++) {
        if (!override_fits(&rules->overrides[i], row)) continue;
        double over[THRESHOLDS], value[THRESHOLDS];
        memcpy(over, &rules->overrides[i].thresholds, sizeof over);
        memcpy(value, out, sizeof value);
        for (size_t k = 0; k < THRESHOLDS; k++) {
            if (!isnan(over[k])) value[k] = over[k];
        }
        memcpy(out, value, sizeof value);
    }
}

/* The comparison that decided, in a sentence behind what it comes to. */
static void judge_by_evidence(struct three_way_verdict *out, const struct three_way_row *row)
{
    const struct evidence_verdict found = three_way_by_evidence(&row->npu, row->gpu);
    char text[160];
    out->verdict = found.verdict;
    out->excess = found.npu;
    if (found.verdict != VERDICT_SKIP) out->algorithm = "误差模型法";
    add_text(out, found.message);
    if (!found.metric) return;
    (void)snprintf(text, sizeof text,
                   " %s: %.3g times its limit on the NPU, %.3g times on the GPU.", found.metric,
                   found.npu, found.gpu);
    add_text(out, text);
}

void three_way_judge(struct three_way_verdict *out, const struct three_way_rules *rules,
                     const struct three_way_row *row)
{
    begin(out);
    if (settle_unsupported(out, rules, row)) return;
    if (rules->by_evidence) {
        judge_by_evidence(out, row);
        return;
    }

    const struct api_rules *api = three_way_find_api(rules, row->api);
    const struct standard_info *standard = &comparisons[choose(rules, row, api ? api->lists : 0)];
    if (settle_missing(out, rules, row, standard)) return;

    struct judging judging = { rules, &rules->thresholds, row,
                               api && rules->operator_levels ? api->level : LEVEL_0 };
    struct three_way_thresholds own;
    if (rules->n_overrides) {
        set_thresholds(&own, rules, row);
        judging.thresholds = &own;
    }
    out->algorithm = standard->name;
    out->verdict = standard->judge(out, &judging);
}
