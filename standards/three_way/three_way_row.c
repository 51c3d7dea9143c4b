/* Names of the metrics and dtypes in details files. */
#include "standards/three_way/three_way_row.h"

#include <string.h>

const char *const three_way_metric_headers[THREE_WAY_METRICS] = {
    [METRIC_SMALL_VALUE] = "小值域错误占比",
    [METRIC_RMSE] = "均方根误差",
    [METRIC_MAX_RELATIVE] = "相对误差最大值",
    [METRIC_MEAN_RELATIVE] = "相对误差平均值",
    [METRIC_BALANCE] = "误差均衡性",
    [METRIC_BINARY] = "二进制一致错误率",
    [METRIC_INF_NAN] = "inf/nan错误率",
    [METRIC_RELATIVE] = "相对误差错误率",
    [METRIC_ABSOLUTE] = "绝对误差错误率",
    [METRIC_MEAN_ULP] = "ULP误差平均值",
    [METRIC_ULP_PROPORTION] = "ULP误差大于阈值占比",
    [METRIC_THOUSANDTH] = "双千指标",
};

#define NAME(text) text, sizeof text - 1
static const struct {
    const char *name;
    size_t length;
    enum three_way_dtype dtype;
} dtype_names[] = {
    { NAME("torch.float32"), THREE_WAY_F32 }, /* what most rows have */
    { NAME(""), THREE_WAY_BLANK },
    { NAME("torch.float16"), THREE_WAY_F16 },
    { NAME("torch.half"), THREE_WAY_F16 },
    { NAME("torch.bfloat16"), THREE_WAY_BF16 },
    { NAME("torch.float"), THREE_WAY_F32 },
    { NAME("torch.float8_e4m3fn"), THREE_WAY_F8 },
    { NAME("torch.float8_e5m2"), THREE_WAY_F8 },
    { NAME("torch_npu.HiFloat8Tensor"), THREE_WAY_F8 },
    { NAME("torch.float64"), THREE_WAY_F64 },
    { NAME("torch.double"), THREE_WAY_F64 },
    { NAME("torch.complex64"), THREE_WAY_C64 },
    { NAME("torch.complex128"), THREE_WAY_C128 },
    { NAME("Float16"), THREE_WAY_F16 },
    { NAME("BFloat16"), THREE_WAY_BF16 },
    { NAME("Float32"), THREE_WAY_F32 },
    { NAME("Float8E4M3FN"), THREE_WAY_F8 },
    { NAME("Float8E5M2"), THREE_WAY_F8 },
    { NAME("Float64"), THREE_WAY_F64 },
    { NAME("Complex64"), THREE_WAY_C64 },
    { NAME("Complex128"), THREE_WAY_C128 },
};

enum three_way_dtype three_way_dtype(const char *text, size_t length)
{
    while (length && text[length - 1] == ' ') length--;
    while (length && *text == ' ') text++, length--;
    for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++) {
        if (dtype_names[i].length == length && memcmp(dtype_names[i].name, text, length) == 0)
            return dtype_names[i].dtype;
    }
    return THREE_WAY_OTHER;
}
