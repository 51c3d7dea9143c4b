/* The names of columns, as they stand in the files, and the two layouts. */
#include "standards/row_layout.h"

#include <stdint.h>
#include <string.h>

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

#define SAME(column) \
    {                \
        column, NULL \
    }
/* clang-format off */
static const struct layout_column precheck_columns[] = {
    SAME(COLUMN_NAME), SAME(COLUMN_BENCH_DTYPE), SAME(COLUMN_DEVICE_DTYPE), SAME(COLUMN_SHAPE),
    SAME(COLUMN_COSINE), SAME(COLUMN_MAX_ABS_ERROR), SAME(COLUMN_HUNDREDTH), SAME(COLUMN_THOUSANDTH),
    SAME(COLUMN_TEN_THOUSANDTH), SAME(COLUMN_BINARY_MISMATCH), SAME(COLUMN_ERROR_BALANCE),
    SAME(COLUMN_RMSE), SAME(COLUMN_SMALL_VALUE_RATIO), SAME(COLUMN_MAX_RELATIVE_ERROR),
    SAME(COLUMN_MEAN_RELATIVE_ERROR), SAME(COLUMN_INF_NAN_RATIO), SAME(COLUMN_RELATIVE_ERROR_RATIO),
    SAME(COLUMN_ABSOLUTE_ERROR_RATIO), SAME(COLUMN_MAX_ULP), SAME(COLUMN_MEAN_ULP),
    SAME(COLUMN_ULP_PROPORTION), SAME(COLUMN_STATUS), SAME(COLUMN_MESSAGE),
};

static const struct layout_column distance_columns[] = {
    { COLUMN_NAME, "API Name" },
    { COLUMN_BENCH_DTYPE, "Bench Dtype" },
    { COLUMN_DEVICE_DTYPE, "Tested Dtype" },
    { COLUMN_SHAPE, "Shape" },
    { COLUMN_COSINE, "Cosine" },
    { COLUMN_MAX_ABS_ERROR, "MaxAbsErr" },
    { COLUMN_MAX_RELATIVE_ERROR, "MaxRelativeErr" },
    { COLUMN_STATUS, "Status" },
    { COLUMN_MESSAGE, "Message" },
};
/* clang-format on */

const struct row_layout layout_precheck = {
    .columns = precheck_columns,
    .count = sizeof precheck_columns / sizeof *precheck_columns,
    .call_header = "API name",
    .blank = " ",
};

const struct row_layout layout_distances = {
    .columns = distance_columns,
    .count = sizeof distance_columns / sizeof *distance_columns,
    .call_header = "API Name",
    .blank = "",
    .joins_messages = true,
};

const struct row_layout *row_layout_of(size_t columns)
{
    return columns == layout_distances.count ? &layout_distances : &layout_precheck;
}

void layout_headers(const char *headers[COLUMN_COUNT], const struct row_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct layout_column *column = &layout->columns[i];
        headers[i] = column->header ? column->header : details_headers[column->column];
    }
}

void layout_cells(const char *cells[COLUMN_COUNT], const struct row_layout *layout,
                  const char *const row[COLUMN_COUNT])
{
    for (size_t i = 0; i < layout->count; i++) {
        const char *cell = row[layout->columns[i].column];
        cells[i] = strcmp(cell, " ") ? cell : layout->blank;
    }
}

size_t layout_place(const struct row_layout *layout, enum details_column column)
{
    for (size_t i = 0; i < layout->count; i++)
        if (layout->columns[i].column == column) return i;
    return SIZE_MAX;
}
