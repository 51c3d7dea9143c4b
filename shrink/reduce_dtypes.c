/* One step for all tensors: mixtures of dtypes are no simpler. */
#include "shrink/reductions.h"
#include "variation/leaves.h"
#include "variation/specimen.h"

static bool is_other_float(const struct value *value)
{
    const struct tensor *tensor = value->tensor.tensor;
    return tensor && dtype_is_float(tensor->dtype) && tensor->dtype != DT_F32;
}

struct status reduce_dtypes(bool *changed, struct search *search)
{
    struct api_case c;
    struct value *leaf;
    bool any = false, accepted = false;
    if (search_is_over(search)) return status_ok();
    TRY(search_copy(&c, search));
    for (size_t k = 0; (leaf = leaf_find(&c, LEAF_TENSOR, k)); k++) {
        struct tensor converted;
        if (!is_other_float(leaf)) continue;
        TRY(specimen_convert(&converted, search->trial_arena, leaf->tensor.tensor, DT_F32));
        TRY(specimen_set_tensor(leaf, search->trial_arena, &converted));
        any = true;
    }
    if (any) TRY(search_try(&accepted, search, &c));
    *changed |= accepted;
    return status_ok();
}
