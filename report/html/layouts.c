/* Tables of columns and headers. */
#include "report/html/layouts.h"

#include <string.h>
#include <strings.h>

#include "results/details_file.h"

/* Names are searched in all rows at once, evidence is opened row by row, numbers are sorted. */
enum { NAME_ROWS = 16384, MESSAGE_ROWS = 2048, EVIDENCE_ROWS = 256, VALUE_ROWS = 65536 };

/* clang-format off */
#define NUMBERS(name) { .id = name, .kind = COLUMN_NUMBERS, .block_rows = VALUE_ROWS }
#define CODES(name) { .id = name, .kind = COLUMN_CODES, .block_rows = VALUE_ROWS }

const struct column_form page_forms[PAGE_COLUMNS] = {
    [PAGE_NAME] = { .id = "name", .kind = COLUMN_TEXTS, .block_rows = NAME_ROWS },
    [PAGE_NAME_HASH] = NUMBERS("name_hash"),
    [PAGE_VERDICT] = CODES("verdict"),
    [PAGE_DIRECTION] = CODES("direction"),
    [PAGE_API] = CODES("api"),
    [PAGE_CALL_SECONDS] = NUMBERS("call_seconds"),
    [PAGE_MESSAGE] = { .id = "message", .kind = COLUMN_TEXTS, .block_rows = MESSAGE_ROWS },
    [PAGE_EVIDENCE] = { .id = "evidence", .kind = COLUMN_TEXTS, .block_rows = EVIDENCE_ROWS, .longest = 1 << 16 },
    [PAGE_STACK] = { .id = "stack", .kind = COLUMN_TEXTS, .block_rows = EVIDENCE_ROWS, .longest = 1 << 14 },
    [PAGE_PARTNER] = { .id = "partner", .kind = COLUMN_TEXTS, .block_rows = MESSAGE_ROWS },
    [PAGE_CHECKSUM] = { .id = "checksum", .kind = COLUMN_TEXTS, .block_rows = MESSAGE_ROWS },
    [PAGE_BENCH_CHECKSUM] = { .id = "bench_checksum", .kind = COLUMN_TEXTS, .block_rows = MESSAGE_ROWS },
    [PAGE_DTYPE] = CODES("dtype"),
    [PAGE_BENCH_DTYPE] = CODES("bench_dtype"),
    [PAGE_SHAPE] = CODES("shape"),
    [PAGE_BENCH_SHAPE] = CODES("bench_shape"),
    [PAGE_STANDARD] = CODES("standard"),
    [PAGE_DECIDED_BY] = CODES("decided_by"),
    [PAGE_REFERENCE] = CODES("reference"),
    [PAGE_ALLOWANCE] = NUMBERS("allowance"),
    [PAGE_WORST_ULP] = NUMBERS("worst_ulp"),
    [PAGE_BOUND_ULP] = NUMBERS("bound_ulp"),
    [PAGE_ROUNDING] = NUMBERS("rounding"),
    [PAGE_ELEMENTS] = NUMBERS("elements"),
    [PAGE_COSINE] = NUMBERS("cosine"),
    [PAGE_MAX_ABS_ERROR] = NUMBERS("max_abs_error"),
    [PAGE_HUNDREDTH] = NUMBERS("hundredth"),
    [PAGE_THOUSANDTH] = NUMBERS("thousandth"),
    [PAGE_TEN_THOUSANDTH] = NUMBERS("ten_thousandth"),
    [PAGE_BINARY_MISMATCH] = NUMBERS("binary_mismatch"),
    [PAGE_ERROR_BALANCE] = NUMBERS("error_balance"),
    [PAGE_RMSE] = NUMBERS("rmse"),
    [PAGE_SMALL_VALUE_RATIO] = NUMBERS("small_value_ratio"),
    [PAGE_MAX_RELATIVE_ERROR] = NUMBERS("max_relative_error"),
    [PAGE_MEAN_RELATIVE_ERROR] = NUMBERS("mean_relative_error"),
    [PAGE_INF_NAN_RATIO] = NUMBERS("inf_nan_ratio"),
    [PAGE_RELATIVE_ERROR_RATIO] = NUMBERS("relative_error_ratio"),
    [PAGE_ABSOLUTE_ERROR_RATIO] = NUMBERS("absolute_error_ratio"),
    [PAGE_MAX_ULP] = NUMBERS("max_ulp"),
    [PAGE_MEAN_ULP] = NUMBERS("mean_ulp"),
    [PAGE_ULP_PROPORTION] = NUMBERS("ulp_proportion"),
    [PAGE_SMALL_VALUE_QUOTIENT] = NUMBERS("small_value_quotient"),
    [PAGE_RMSE_QUOTIENT] = NUMBERS("rmse_quotient"),
    [PAGE_MAX_RELATIVE_QUOTIENT] = NUMBERS("max_relative_quotient"),
    [PAGE_MEAN_RELATIVE_QUOTIENT] = NUMBERS("mean_relative_quotient"),
    [PAGE_ERROR_BALANCE_QUOTIENT] = NUMBERS("error_balance_quotient"),
    [PAGE_ULP_PROPORTION_QUOTIENT] = NUMBERS("ulp_proportion_quotient"),
    [PAGE_EUCLIDEAN_DISTANCE] = NUMBERS("euclidean_distance"),
    [PAGE_FIVE_THOUSANDTHS] = NUMBERS("five_thousandths"),
    [PAGE_MAX_DIFFERENCE] = NUMBERS("max_difference"),
    [PAGE_MIN_DIFFERENCE] = NUMBERS("min_difference"),
    [PAGE_MEAN_DIFFERENCE] = NUMBERS("mean_difference"),
    [PAGE_NORM_DIFFERENCE] = NUMBERS("norm_difference"),
    [PAGE_MIN_RELATIVE_ERROR] = NUMBERS("min_relative_error"),
    [PAGE_NORM_RELATIVE_ERROR] = NUMBERS("norm_relative_error"),
    [PAGE_NPU_MAX] = NUMBERS("npu_max"),
    [PAGE_NPU_MIN] = NUMBERS("npu_min"),
    [PAGE_NPU_MEAN] = NUMBERS("npu_mean"),
    [PAGE_NPU_NORM] = NUMBERS("npu_norm"),
    [PAGE_BENCH_MAX] = NUMBERS("bench_max"),
    [PAGE_BENCH_MIN] = NUMBERS("bench_min"),
    [PAGE_BENCH_MEAN] = NUMBERS("bench_mean"),
    [PAGE_BENCH_NORM] = NUMBERS("bench_norm"),
};

static const struct layout_cell details_cells[] = {
    { "API Name", CELL_NAME, PAGE_NAME },
    { "Bench Dtype", CELL_CODE, PAGE_BENCH_DTYPE },
    { "DEVICE Dtype", CELL_CODE, PAGE_DTYPE },
    { "Shape", CELL_CODE, PAGE_SHAPE },
    { "余弦相似度", CELL_NUMBER, PAGE_COSINE },
    { "最大绝对误差", CELL_NUMBER, PAGE_MAX_ABS_ERROR },
    { "双百指标", CELL_NUMBER, PAGE_HUNDREDTH },
    { "双千指标", CELL_NUMBER, PAGE_THOUSANDTH },
    { "双万指标", CELL_NUMBER, PAGE_TEN_THOUSANDTH },
    { "二进制一致错误率", CELL_NUMBER, PAGE_BINARY_MISMATCH },
    { "误差均衡性", CELL_NUMBER, PAGE_ERROR_BALANCE },
    { "均方根误差", CELL_NUMBER, PAGE_RMSE },
    { "小值域错误占比", CELL_NUMBER, PAGE_SMALL_VALUE_RATIO },
    { "相对误差最大值", CELL_NUMBER, PAGE_MAX_RELATIVE_ERROR },
    { "相对误差平均值", CELL_NUMBER, PAGE_MEAN_RELATIVE_ERROR },
    { "inf/nan错误率", CELL_NUMBER, PAGE_INF_NAN_RATIO },
    { "相对误差错误率", CELL_NUMBER, PAGE_RELATIVE_ERROR_RATIO },
    { "绝对误差错误率", CELL_NUMBER, PAGE_ABSOLUTE_ERROR_RATIO },
    { "ULP误差最大值", CELL_NUMBER, PAGE_MAX_ULP },
    { "ULP误差平均值", CELL_NUMBER, PAGE_MEAN_ULP },
    { "ULP误差大于阈值占比", CELL_NUMBER, PAGE_ULP_PROPORTION },
    { "Status", CELL_VERDICT, PAGE_VERDICT },
    { "Message", CELL_TEXT, PAGE_MESSAGE },
};

/* The nine columns of the pre-check for MindSpore. */
static const struct layout_cell distances_cells[] = {
    { "API Name", CELL_NAME, PAGE_NAME },
    { "Bench Dtype", CELL_CODE, PAGE_BENCH_DTYPE },
    { "Tested Dtype", CELL_CODE, PAGE_DTYPE },
    { "Shape", CELL_CODE, PAGE_SHAPE },
    { "Cosine", CELL_NUMBER, PAGE_COSINE },
    { "MaxAbsErr", CELL_NUMBER, PAGE_MAX_ABS_ERROR },
    { "MaxRelativeErr", CELL_NUMBER, PAGE_MAX_RELATIVE_ERROR },
    { "Status", CELL_VERDICT, PAGE_VERDICT },
    { "Message", CELL_TEXT, PAGE_MESSAGE },
};

static const struct layout_cell three_way_cells[] = {
    { "API Name", CELL_NAME, PAGE_NAME },
    { "小值域错误比值", CELL_NUMBER, PAGE_SMALL_VALUE_QUOTIENT },
    { "小值域判定结果", CELL_JUDGEMENT, PAGE_SMALL_VALUE_QUOTIENT },
    { "均方根误差比值", CELL_NUMBER, PAGE_RMSE_QUOTIENT },
    { "均方根误差判定结果", CELL_JUDGEMENT, PAGE_RMSE_QUOTIENT },
    { "相对误差最大值比值", CELL_NUMBER, PAGE_MAX_RELATIVE_QUOTIENT },
    { "相对误差最大值判定结果", CELL_JUDGEMENT, PAGE_MAX_RELATIVE_QUOTIENT },
    { "相对误差平均值比值", CELL_NUMBER, PAGE_MEAN_RELATIVE_QUOTIENT },
    { "相对误差平均值判定结果", CELL_JUDGEMENT, PAGE_MEAN_RELATIVE_QUOTIENT },
    { "误差均衡性比值", CELL_NUMBER, PAGE_ERROR_BALANCE_QUOTIENT },
    { "误差均衡性判定结果", CELL_JUDGEMENT, PAGE_ERROR_BALANCE_QUOTIENT },
    { "inf/nan错误率", CELL_NUMBER, PAGE_INF_NAN_RATIO },
    { "inf/nan判定结果", CELL_JUDGEMENT, PAGE_INF_NAN_RATIO },
    { "相对误差错误率", CELL_NUMBER, PAGE_RELATIVE_ERROR_RATIO },
    { "相对误差判定结果", CELL_JUDGEMENT, PAGE_RELATIVE_ERROR_RATIO },
    { "绝对误差错误率", CELL_NUMBER, PAGE_ABSOLUTE_ERROR_RATIO },
    { "绝对误差判定结果", CELL_JUDGEMENT, PAGE_ABSOLUTE_ERROR_RATIO },
    { "二进制一致错误率", CELL_NUMBER, PAGE_BINARY_MISMATCH },
    { "二进制一致错误率判定结果", CELL_JUDGEMENT, PAGE_BINARY_MISMATCH },
    { "ULP误差平均值", CELL_NUMBER, PAGE_MEAN_ULP },
    { "ULP误差大于阈值占比", CELL_NUMBER, PAGE_ULP_PROPORTION },
    { "ULP误差大于阈值占比比值", CELL_NUMBER, PAGE_ULP_PROPORTION_QUOTIENT },
    { "ULP误差判定结果", CELL_JUDGEMENT, PAGE_ULP_PROPORTION },
    { "双千指标", CELL_NUMBER, PAGE_THOUSANDTH },
    { "双千指标判定结果", CELL_JUDGEMENT, PAGE_THOUSANDTH },
    { "比对结果", CELL_VERDICT, PAGE_VERDICT },
    { "比对算法", CELL_CODE, PAGE_STANDARD },
    { "Message", CELL_TEXT, PAGE_MESSAGE },
};

/* Comparisons of two dumps, of three generations and three kinds. */
static const struct layout_cell dumps_cells[] = {
    { "NPU Name", CELL_NAME, PAGE_NAME },
    { "Bench Name", CELL_TEXT, PAGE_PARTNER },
    { "NPU Dtype", CELL_CODE, PAGE_DTYPE },
    { "NPU Tensor Dtype", CELL_CODE, PAGE_DTYPE },
    { "Bench Dtype", CELL_CODE, PAGE_BENCH_DTYPE },
    { "Bench Tensor Dtype", CELL_CODE, PAGE_BENCH_DTYPE },
    { "NPU Tensor Shape", CELL_CODE, PAGE_SHAPE },
    { "Bench Tensor Shape", CELL_CODE, PAGE_BENCH_SHAPE },
    { "NPU MD5", CELL_TEXT, PAGE_CHECKSUM },
    { "BENCH MD5", CELL_TEXT, PAGE_BENCH_CHECKSUM },
    { "Cosine", CELL_NUMBER, PAGE_COSINE },
    { "EucDist", CELL_NUMBER, PAGE_EUCLIDEAN_DISTANCE },
    { "MaxAbsErr", CELL_NUMBER, PAGE_MAX_ABS_ERROR },
    { "MaxRelativeErr", CELL_NUMBER, PAGE_MAX_RELATIVE_ERROR },
    { "One Thousandth Err Ratio", CELL_NUMBER, PAGE_THOUSANDTH },
    { "Five Thousandths Err Ratio", CELL_NUMBER, PAGE_FIVE_THOUSANDTHS },
    { "Max diff", CELL_NUMBER, PAGE_MAX_DIFFERENCE },
    { "Min diff", CELL_NUMBER, PAGE_MIN_DIFFERENCE },
    { "Mean diff", CELL_NUMBER, PAGE_MEAN_DIFFERENCE },
    { "L2norm diff", CELL_NUMBER, PAGE_NORM_DIFFERENCE },
    { "MinRelativeErr", CELL_NUMBER, PAGE_MIN_RELATIVE_ERROR },
    { "MeanRelativeErr", CELL_NUMBER, PAGE_MEAN_RELATIVE_ERROR },
    { "NormRelativeErr", CELL_NUMBER, PAGE_NORM_RELATIVE_ERROR },
    { "NPU max", CELL_NUMBER, PAGE_NPU_MAX },
    { "NPU min", CELL_NUMBER, PAGE_NPU_MIN },
    { "NPU mean", CELL_NUMBER, PAGE_NPU_MEAN },
    { "NPU l2norm", CELL_NUMBER, PAGE_NPU_NORM },
    { "Bench max", CELL_NUMBER, PAGE_BENCH_MAX },
    { "Bench min", CELL_NUMBER, PAGE_BENCH_MIN },
    { "Bench mean", CELL_NUMBER, PAGE_BENCH_MEAN },
    { "Bench l2norm", CELL_NUMBER, PAGE_BENCH_NORM },
    { "Accuracy Reached or Not", CELL_VERDICT, PAGE_VERDICT },
    { "Result", CELL_VERDICT, PAGE_VERDICT },
    { "Verdict", CELL_OWN_VERDICT, PAGE_VERDICT },
    { "Err_message", CELL_TEXT, PAGE_MESSAGE },
    { "NPU_Stack_Info", CELL_TEXT, PAGE_STACK },
};

static const struct layout_cell result_cells[] = {
    { "API name", CELL_NAME, PAGE_NAME },
    { "Forward Test Success", CELL_VERDICT, PAGE_VERDICT },
    { "Backward Test Success", CELL_BACKWARD, PAGE_VERDICT },
    { "Message", CELL_TEXT, PAGE_MESSAGE },
};
/* clang-format on */

static const char *const details_marks[] = { "API Name", "DEVICE Dtype", "Status", NULL };
static const char *const distances_marks[] = { "API Name", "Tested Dtype", "Status", NULL };
static const char *const three_way_marks[] = { "API Name", "比对结果", NULL };
static const char *const dumps_marks[] = { "NPU Name", "Bench Name", NULL };
static const char *const result_marks[] = { "API name", "Forward Test Success", NULL };
static const char *const timings_marks[] = { "API name", "reference s", "device s", NULL };

#define CELLS(list) .cells = list, .count = sizeof list / sizeof list[0]
const struct layout layouts[LAYOUTS] = {
    [LAYOUT_DETAILS] = { "run", details_marks, CELLS(details_cells), VERDICT_BLANK, false },
    [LAYOUT_DISTANCES] = { "run", distances_marks, CELLS(distances_cells), VERDICT_BLANK, false },
    [LAYOUT_THREE_WAY] = { "three-way", three_way_marks, CELLS(three_way_cells), VERDICT_BLANK,
                           false },
    [LAYOUT_DUMPS] = { "dumps", dumps_marks, CELLS(dumps_cells), VERDICT_PASS, true },
    [LAYOUT_RESULT] = { "calls", result_marks, CELLS(result_cells), VERDICT_BLANK, false },
    [LAYOUT_TIMINGS] = { "timings", timings_marks, NULL, 0, VERDICT_BLANK, false },
};

bool layout_is_of_run(const struct layout *layout)
{
    return layout == &layouts[LAYOUT_DETAILS] || layout == &layouts[LAYOUT_DISTANCES];
}

const struct layout *layout_of_header(const struct csv_row *header)
{
    for (size_t i = 0; i < LAYOUTS; i++) {
        const char *const *mark = layouts[i].marks;
        while (*mark && details_find_column(header, *mark) != SIZE_MAX) mark++;
        if (!*mark) return &layouts[i];
    }
    return NULL;
}

/* ---- verdicts --------------------------------------------------------------------------------- */

enum verdict layout_verdict(const struct layout *layout, struct csv_text cell)
{
    static const struct {
        const char *text;
        enum verdict verdict;
    } words[] = {
        { "yes", VERDICT_PASS },       { "no", VERDICT_ERROR }, { "different", VERDICT_ERROR },
        { "unmatched", VERDICT_SKIP }, { "n/a", VERDICT_SKIP }, { "none", VERDICT_SKIP },
    };
    while (cell.length && cell.bytes[cell.length - 1] == ' ') cell.length--;
    if (!cell.length) return layout->empty_verdict;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].text) == cell.length &&
            strncasecmp(words[i].text, cell.bytes, cell.length) == 0)
            return words[i].verdict;
    return details_verdict(cell);
}

/* ---- names ------------------------------------------------------------------------------------ */

/* Where ".forward" or ".backward" stands as a whole segment; the length of the text when it does
 * not. */
static size_t find_direction(struct csv_text name, bool *backward)
{
    static const char *const words[] = { "forward", "backward" };
    for (size_t i = name.length; i-- > 1;) {
        if (name.bytes[i] != '.') continue;
        for (int direction = 0; direction < 2; direction++) {
            size_t length = strlen(words[direction]), end = i + 1 + length;
            if (end > name.length || memcmp(name.bytes + i + 1, words[direction], length) != 0 ||
                (end < name.length && name.bytes[end] != '.'))
                continue;
            *backward = direction;
            return i;
        }
    }
    return name.length;
}

static bool is_digits(struct csv_text text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return false;
    return text.length > 0;
}

/* The text behind the last dot; *rest is what stands before it. */
static struct csv_text last_segment(struct csv_text text, struct csv_text *rest)
{
    size_t at = text.length;
    while (at && text.bytes[at - 1] != '.') at--;
    *rest = (struct csv_text){ text.bytes, at ? at - 1 : 0 };
    return (struct csv_text){ text.bytes + at, text.length - at };
}

/* "Module.head.Linear.parameters_grad.weight": gradients of a module, which come with its backward call. */
static bool split_parameters_grad(struct page_name *out, struct csv_text name)
{
    static const char word[] = ".parameters_grad";
    const char *at = memmem(name.bytes, name.length, word, sizeof word - 1);
    struct csv_text rest;
    if (!at) return false;
    out->call = (struct csv_text){ name.bytes, (size_t)(at - name.bytes) };
    out->api = last_segment(out->call, &rest);
    out->backward = true;
    return true;
}

struct page_name page_name_split(struct csv_text name)
{
    struct page_name out = { .call = name, .api = name, .backward = false };
    struct row_name row;
    if (row_name_split(&row, name))
        return (struct page_name){ row.full_name, row.api, row.backward };
    if (split_parameters_grad(&out, name)) return out;
    out.call.length = find_direction(name, &out.backward);
    struct csv_text before, last = last_segment(out.call, &before);
    if (is_digits(last) && before.length) {
        /* Torch.linalg.inv.0: what stands between the kind of the API and the counter. */
        const char *dot = memchr(before.bytes, '.', before.length);
        out.api =
            dot ? (struct csv_text){ dot + 1, before.length - (size_t)(dot + 1 - before.bytes) }
                : before;
    } else {
        out.api = last;
    }
    return out;
}
