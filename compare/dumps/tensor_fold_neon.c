/* The fold of two tensors with NEON. */
#include "compare/dumps/tensor_fold.h"

#if defined(__aarch64__)

#include "core/lanes_neon.h"

#include "compare/dumps/tensor_fold_kernel.h"

LANES_END

const struct fold_code *fold_code_neon(void) { return &code; }

#else

const struct fold_code *fold_code_neon(void) { return NULL; }

#endif
