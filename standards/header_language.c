/* One table for the details of a run and those of a three-way comparison. No two English names are the
 * same: columns are found by them. */
#include "standards/header_language.h"

#include <string.h>

static const char *const names[] = {
    [HEADERS_MSPROBE] = "msprobe", [HEADERS_ENGLISH] = "english", NULL
};

const char *const *header_language_names(void) { return names; }

enum header_language header_language_from_name(const char *name)
{
    return name && !strcmp(name, names[HEADERS_ENGLISH]) ? HEADERS_ENGLISH : HEADERS_MSPROBE;
}

/* clang-format off */
static const struct {
    const char *header, *english;
} words[] = {
    { "余弦相似度", "Cosine Similarity" },
    { "最大绝对误差", "Max Absolute Error" },
    { "双百指标", "Within 1%" },
    { "双千指标", "Within 0.1%" },
    { "双万指标", "Within 0.01%" },
    { "二进制一致错误率", "Binary Mismatch Ratio" },
    { "误差均衡性", "Error Balance" },
    { "均方根误差", "RMSE" },
    { "小值域错误占比", "Small Value Error Ratio" },
    { "相对误差最大值", "Max Relative Error" },
    { "相对误差平均值", "Mean Relative Error" },
    { "inf/nan错误率", "Inf/NaN Error Ratio" },
    { "相对误差错误率", "Relative Error Ratio" },
    { "绝对误差错误率", "Absolute Error Ratio" },
    { "ULP误差最大值", "Max ULP Error" },
    { "ULP误差平均值", "Mean ULP Error" },
    { "ULP误差大于阈值占比", "ULP Error Above Limit Ratio" },
    /* of a three-way comparison: quotients of NPU and GPU, and what is made of each */
    { "小值域错误比值", "Small Value Error Quotient" },
    { "小值域判定结果", "Small Value Verdict" },
    { "均方根误差比值", "RMSE Quotient" },
    { "均方根误差判定结果", "RMSE Verdict" },
    { "相对误差最大值比值", "Max Relative Error Quotient" },
    { "相对误差最大值判定结果", "Max Relative Error Verdict" },
    { "相对误差平均值比值", "Mean Relative Error Quotient" },
    { "相对误差平均值判定结果", "Mean Relative Error Verdict" },
    { "误差均衡性比值", "Error Balance Quotient" },
    { "误差均衡性判定结果", "Error Balance Verdict" },
    { "inf/nan判定结果", "Inf/NaN Verdict" },
    { "相对误差判定结果", "Relative Error Verdict" },
    { "绝对误差判定结果", "Absolute Error Verdict" },
    { "二进制一致错误率判定结果", "Binary Mismatch Verdict" },
    { "ULP误差大于阈值占比比值", "ULP Error Above Limit Quotient" },
    { "ULP误差判定结果", "ULP Verdict" },
    { "双千指标判定结果", "Within 0.1% Verdict" },
    { "比对结果", "Verdict" },
    { "比对算法", "Method" },
};
/* clang-format on */

const char *header_in_english(const char *header)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(header, words[i].header)) return words[i].english;
    return header;
}

void headers_translate(const char **headers, size_t count, enum header_language language)
{
    if (language != HEADERS_ENGLISH) return;
    for (size_t i = 0; i < count; i++) headers[i] = header_in_english(headers[i]);
}
