#include "standards/metrics_pass.h"
pass_fold_chunks *pass_avx2(enum dtype dtype) { (void)dtype; return 0; }
pass_fold_chunks *pass_avx512(enum dtype dtype) { (void)dtype; return 0; }
pass_fold_chunks *pass_neon(enum dtype dtype) { (void)dtype; return 0; }
