/* Dtypes tell: outside of autocast PyTorch refuses most calls of several floating dtypes, and returns the one that went in. */
#include "runner/devices/autocast.h"

struct survey {
    bool seen[DT_COUNT];
};

static bool survey_tensor(struct value *value, void *context)
{
    struct survey *survey = context;
    if (value->tensor.tensor) survey->seen[value->tensor.tensor->dtype] = true;
    return true;
}

/* Does the call itself say that its result has this dtype? */
static bool asks_for(const struct value *arguments, enum dtype dtype)
{
    for (size_t i = 0; value_is_sequence(arguments) && i < arguments->list.count; i++)
        if (arguments->list.items[i].kind == VALUE_DTYPE && arguments->list.items[i].dtype == dtype)
            return true;
    return false;
}

enum dtype case_autocast(const struct api_case *c)
{
    struct survey survey = { { false } };
    struct value args = c->args, kwargs = c->kwargs;
    (void)value_each_tensor(&args, survey_tensor, &survey);
    (void)value_each_tensor(&kwargs, survey_tensor, &survey);
    int distinct = survey.seen[DT_F16] + survey.seen[DT_BF16] + survey.seen[DT_F32];
    if (distinct > 1) return survey.seen[DT_F16] ? DT_F16 : DT_BF16;
    if (distinct == 0 || !c->outputs.list.count) return DT_NONE;
    const struct value *output = &c->outputs.list.items[0];
    if (output->kind != VALUE_TENSOR || !output->tensor.record) return DT_NONE;
    enum dtype dtype = output->tensor.record->dtype;
    bool narrow = dtype == DT_F16 || dtype == DT_BF16;
    if (asks_for(&c->args, dtype) || asks_for(&c->kwargs, dtype)) return DT_NONE;
    return narrow && !survey.seen[dtype] ? dtype : DT_NONE;
}
