/* Type promotion: PyTorch weighs operands by category before it weighs their dtypes. */
#include "bench/call/operand_types.h"

#include "bench/tape/promotion.h"

/* Categories of type promotion: dimensioned tensors, 0-d tensors, Python numbers. */
enum category { CATEGORY_TENSOR, CATEGORY_ZERO_DIM, CATEGORY_NUMBER, CATEGORIES };

enum dtype call_result_type(struct call *call, struct node *const *nodes, int count)
{
    enum dtype by_category[CATEGORIES] = { DT_NONE, DT_NONE, DT_NONE };
    (void)call;
    for (int i = 0; i < count; i++) {
        enum dtype dtype = nodes[i]->dtype;
        enum category category = nodes[i]->rank ? CATEGORY_TENSOR : CATEGORY_ZERO_DIM;
        if (dtype == DT_NONE) { /* a Python number */
            category = CATEGORY_NUMBER;
            dtype = nodes[i]->integer ? DT_I64 : DT_F32;
        }
        by_category[category] = dtype_promote(by_category[category], dtype);
    }
    enum dtype result = by_category[CATEGORY_TENSOR];
    for (int k = CATEGORY_ZERO_DIM; k < CATEGORIES; k++) {
        enum dtype other = by_category[k];
        if (other == DT_NONE) continue;
        if (result == DT_NONE || dtype_info(other)->kind > dtype_info(result)->kind) {
            /* A higher kind of a lower category brings its kind; a number brings the default
             * width, a 0-d tensor its own. */
            if (result != DT_NONE && dtype_info(other)->kind == KIND_COMPLEX)
                other = dtype_is_float(result) ? dtype_promote(result, DT_C64) : other;
            result = other;
        }
    }
    return result;
}

enum dtype call_float_type(struct call *call, struct node *const *nodes, int count)
{
    enum dtype dtype = call_result_type(call, nodes, count);
    return dtype == DT_NONE || dtype_is_integral(dtype) ? DT_F32 : dtype;
}
