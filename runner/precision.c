/* The nominal dtype by the rules of the reference tool, from the recorded arguments. */
#include "runner/precision.h"

#include <string.h>

/* The dtypes that the bench raises. Doubles, integers and complex numbers stay. */
static bool is_raised(enum dtype dtype)
{
    return dtype == DT_F16 || dtype == DT_BF16 || dtype == DT_F32;
}

struct dtype_survey {
    bool seen[DT_COUNT];
    enum dtype first_float;
};

static bool survey_tensor(struct value *tensor, void *context)
{
    struct dtype_survey *survey = context;
    if (!tensor->tensor.record) return true;
    enum dtype dtype = tensor->tensor.record->dtype;
    survey->seen[dtype] = true;
    if (survey->first_float == DT_NONE && dtype_is_float(dtype)) survey->first_float = dtype;
    return true;
}

/* APIs whose result dtype is their very purpose, so that raising the inputs does not raise it. */
static const char *const casting_apis[] = {
    "half", "float", "bfloat16", "double", "type", "type_as"
};

static bool is_listed(const char *api, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(api, list[i])) return true;
    return false;
}
#define IS_LISTED(api, list) is_listed(api, list, sizeof(list) / sizeof((list)[0]))

/* Does an argument, positional or keyword, name a floating dtype? */
static bool names_dtype(const struct value *arguments)
{
    for (size_t i = 0; i < arguments->list.count; i++)
        if (arguments->list.items[i].kind == VALUE_DTYPE) return true;
    return false;
}

struct bench_precision precision_of_case(const struct api_case *c)
{
    static const char *const narrow_convolutions[] = { "conv1d", "conv2d" };
    struct dtype_survey survey = { .first_float = DT_NONE };
    /* value_each_tensor takes values to change; this visitor only looks. */
    struct value args = c->args, kwargs = c->kwargs;
    (void)value_each_tensor(&args, survey_tensor, &survey);
    (void)value_each_tensor(&kwargs, survey_tensor, &survey);

    struct bench_precision precision = { .raised = DT_NONE, .first_float = survey.first_float };
    int distinct = survey.seen[DT_F16] + survey.seen[DT_BF16] + survey.seen[DT_F32];
    if (distinct) precision.raised = distinct == 1 && survey.seen[DT_F32] ? DT_F64 : DT_F32;
    /* Float32 convolutions are computed on inputs rounded to 11 bits (HF32), for which float32
     * is precise enough. */
    const struct framework *framework = case_as_recorded(c)->framework;
    bool is_hf32 = !framework || framework->alters_inputs;
    if (is_hf32 && IS_LISTED(c->api, narrow_convolutions) && precision.raised == DT_F64)
        precision.raised = DT_F32;
    if (!strcmp(c->api, "type_as")) precision.raised = DT_NONE;
    precision.explicit_dtype = IS_LISTED(c->api, casting_apis) || names_dtype(&c->args) ||
                               names_dtype(&c->kwargs);
    return precision;
}

enum dtype precision_forward(const struct bench_precision *precision, enum dtype device)
{
    if (precision->explicit_dtype) return device;
    return precision_backward(precision, device);
}

enum dtype precision_backward(const struct bench_precision *precision, enum dtype device)
{
    return is_raised(device) && precision->raised != DT_NONE ? precision->raised : device;
}
