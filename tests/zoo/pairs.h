/* Pairs of devices for judge_faults.c: what the three-way comparison says of an NPU's result and a GPU's, by the rules of
 * doc and of strict. */
#ifndef PROBE_TESTS_ZOO_PAIRS_H
#define PROBE_TESTS_ZOO_PAIRS_H

#include "standards/judge.h"

/* One device's result as both profiles judged it; texts and limits stay in the arena. */
struct pair_side {
    struct judged strict, doc;
};

enum pair_kind {
    PAIR_HONEST,       /* both right: an error is a false alarm */
    PAIR_FAULTY_GPU,   /* only the GPU is wrong: likewise */
    PAIR_FAULTY_NPU,   /* only the NPU is wrong: an error is what it should be */
    PAIR_FAULTY_ALIKE, /* both have the same fault: a pass is a free one */
    PAIR_KINDS
};

enum { PAIR_CLASSES = 3 }; /* gross, clear, subtle; of right pairs 0 */

void pairs_open(void);
void pairs_count(enum pair_kind kind, int class, const char *api, enum dtype dtype,
                 const struct pair_side *npu, const struct pair_side *gpu);
void pairs_print(const char *const *class_names);

#endif
