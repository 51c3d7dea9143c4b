/* Two runs compared by what the error model said of each (profile strict): the NPU's errors in units of what
 * honest rounding explains, against the GPU's in the same units. */
#ifndef PROBE_STANDARDS_THREE_WAY_BY_EVIDENCE_H
#define PROBE_STANDARDS_THREE_WAY_BY_EVIDENCE_H

#include "standards/three_way/three_way_row.h"

/* What two rows of one output come to.
 *
 *   pass     the model explains the NPU's, with a warning where it takes more than half of a limit and twice the GPU's
 *   error    it does not, and the NPU is clearly worse than the GPU in one of the comparisons that failed
 *   warning  it does not, but the GPU's is as bad; or only roundings between the steps explain the NPU's
 *   SKIP     a side was not judged by the model, or its evidence is missing; the message says which
 *
 *   metric   the comparison that decided, NULL when none did; npu, gpu: value over limit (INFINITY where the limit
 *            is 0), gpu 0 where the GPU's row was not measured in it
 */
struct evidence_verdict {
    enum verdict verdict;
    const char *metric;
    double npu, gpu;
    const char *message; /* of fixed wording */
};
struct evidence_verdict three_way_by_evidence(const struct three_way_side *npu,
                                              const struct three_way_side *gpu);

#endif
