/* The frameworks, one value each. */
#include "core/framework.h"

#include <strings.h>

/* clang-format off */
static const char *const torch_dtypes[DT_COUNT] = {
    [DT_NONE] = "none",
    [DT_F64] = "torch.float64",  [DT_F32] = "torch.float32",  [DT_F16] = "torch.float16",
    [DT_BF16] = "torch.bfloat16", [DT_F8E4M3] = "torch.float8_e4m3fn",
    [DT_F8E5M2] = "torch.float8_e5m2",
    [DT_I64] = "torch.int64",    [DT_I32] = "torch.int32",    [DT_I16] = "torch.int16",
    [DT_I8] = "torch.int8",      [DT_U8] = "torch.uint8",     [DT_BOOL] = "torch.bool",
    [DT_C128] = "torch.complex128", [DT_C64] = "torch.complex64",
};

static const char *const mindspore_dtypes[DT_COUNT] = {
    [DT_NONE] = "none",
    [DT_F64] = "Float64",        [DT_F32] = "Float32",        [DT_F16] = "Float16",
    [DT_BF16] = "BFloat16",      [DT_F8E4M3] = "Float8E4M3FN", [DT_F8E5M2] = "Float8E5M2",
    [DT_I64] = "Int64",          [DT_I32] = "Int32",          [DT_I16] = "Int16",
    [DT_I8] = "Int8",            [DT_U8] = "UInt8",           [DT_BOOL] = "Bool",
    [DT_C128] = "Complex128",    [DT_C64] = "Complex64",
};
/* clang-format on */

static const char *const mindspore_types[] = { "Mint", "MintFunctional", "Tensor", "Functional",
                                               NULL };
static const char *const mindtorch_types[] = { "Torch", "Tensor", "Functional", NULL };

const struct framework framework_pytorch = {
    .name = "pytorch",
    .dtype_names = torch_dtypes,
    .has_torch_names = true,
    .alters_inputs = true,
    .backend_with_data = "cpu",
    .backend_without_data = "cpu",
    .profile_prefix = "",
};

const struct framework framework_mindspore = {
    .name = "mindspore",
    .dtype_names = mindspore_dtypes,
    .call_types = mindspore_types,
    .gradients_of_floating_arguments = true,
    .backend_with_data = "recorded",
    .backend_without_data = "cpu",
    .profile_prefix = "mindspore_",
    .saves_as_dumped = true,
};

const struct framework framework_mindtorch = {
    .name = "mindtorch",
    .dtype_names = mindspore_dtypes,
    .call_types = mindtorch_types,
    .has_torch_names = true,
    .gradients_of_floating_arguments = true,
    .backend_with_data = "recorded",
    .backend_without_data = "cpu",
    .profile_prefix = "mindspore_",
    .saves_as_dumped = true,
};

static const struct {
    const char *name;
    const struct framework *framework;
} spellings[] = {
    { "pytorch", &framework_pytorch },     { "pt", &framework_pytorch },
    { "mindspore", &framework_mindspore }, { "ms", &framework_mindspore },
    { "mindtorch", &framework_mindtorch },
};

const struct framework *framework_find(const char *name)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (!strcasecmp(name, spellings[i].name)) return spellings[i].framework;
    return NULL;
}

const char *const *framework_names(void)
{
    static const char *const names[] = { "pytorch", "mindspore", "mindtorch", NULL };
    return names;
}
