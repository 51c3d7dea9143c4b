/* Names of columns and verdicts, as they stand in the result files. */
#include "standards/judged.h"

const char *const details_headers[COLUMN_COUNT] = {
    [COLUMN_NAME] = "API Name",
    [COLUMN_BENCH_DTYPE] = "Bench Dtype",
    [COLUMN_DEVICE_DTYPE] = "DEVICE Dtype",
    [COLUMN_SHAPE] = "Shape",
    [COLUMN_COSINE] = "余弦相似度",
    [COLUMN_MAX_ABS_ERROR] = "最大绝对误差",
    [COLUMN_HUNDREDTH] = "双百指标",
    [COLUMN_THOUSANDTH] = "双千指标",
    [COLUMN_TEN_THOUSANDTH] = "双万指标",
    [COLUMN_BINARY_MISMATCH] = "二进制一致错误率",
    [COLUMN_ERROR_BALANCE] = "误差均衡性",
    [COLUMN_RMSE] = "均方根误差",
    [COLUMN_SMALL_VALUE_RATIO] = "小值域错误占比",
    [COLUMN_MAX_RELATIVE_ERROR] = "相对误差最大值",
    [COLUMN_MEAN_RELATIVE_ERROR] = "相对误差平均值",
    [COLUMN_INF_NAN_RATIO] = "inf/nan错误率",
    [COLUMN_RELATIVE_ERROR_RATIO] = "相对误差错误率",
    [COLUMN_ABSOLUTE_ERROR_RATIO] = "绝对误差错误率",
    [COLUMN_MAX_ULP] = "ULP误差最大值",
    [COLUMN_MEAN_ULP] = "ULP误差平均值",
    [COLUMN_ULP_PROPORTION] = "ULP误差大于阈值占比",
    [COLUMN_STATUS] = "Status",
    [COLUMN_MESSAGE] = "Message",
};

static const char *const verdict_names[] = {
    [VERDICT_BLANK] = " ",     [VERDICT_PASS] = "pass", [VERDICT_WARNING] = "warning",
    [VERDICT_ERROR] = "error", [VERDICT_SKIP] = "SKIP",
};

bool verdict_is_judgement(enum verdict verdict)
{
    return verdict != VERDICT_BLANK && verdict != VERDICT_SKIP;
}

const char *verdict_name(enum verdict verdict) { return verdict_names[verdict]; }

enum verdict verdict_combine(const enum verdict *rows, size_t count)
{
    size_t seen[VERDICT_SKIP + 1] = { 0 };

    for (size_t i = 0; i < count; i++) seen[rows[i]]++;
    if (seen[VERDICT_ERROR]) return VERDICT_ERROR;
    if (seen[VERDICT_WARNING]) return VERDICT_WARNING;
    if (seen[VERDICT_PASS]) return VERDICT_PASS;
    return seen[VERDICT_SKIP] ? VERDICT_SKIP : VERDICT_BLANK;
}
