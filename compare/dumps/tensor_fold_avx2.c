/* The fold of two tensors with AVX2. */
#include "compare/dumps/tensor_fold.h"

#if defined(__x86_64__)

#include "core/lanes_avx2.h"

#include "compare/dumps/tensor_fold_kernel.h"

LANES_END

const struct fold_code *fold_code_avx2(void) { return lanes_avx2_available() ? &code : NULL; }

#else

const struct fold_code *fold_code_avx2(void) { return NULL; }

#endif
