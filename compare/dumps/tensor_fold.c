/* The fold of two tensors on any processor, and the choice of the fastest. */
#include "compare/dumps/tensor_fold.h"

#include "core/lanes_scalar.h"

#include "compare/dumps/tensor_fold_kernel.h"

const struct fold_code *fold_code_scalar(void) { return &code; }

const struct fold_code *fold_code_best(void)
{
    const struct fold_code *best = fold_code_neon();
    if (!best) best = fold_code_avx512();
    if (!best) best = fold_code_avx2();
    return best ? best : fold_code_scalar();
}
