/* Which mistake does a failing row look like?
 *
 * For an output or gradient that is not what it should be, hypotheses are tried: each says what a kernel
 * with one particular mistake would have returned from the same inputs, by the bench's own definition of the
 * API evaluated with that mistake, or by moving the elements of the reference. What a hypothesis leaves
 * unexplained is compared with what the reference does, in bits (diagnosis/subject.h), and the best are told
 * with the share of the error that they explain. The hypotheses are rows of tables
 * (diagnosis/hypothesis.h).
 */
#ifndef PROBE_DIAGNOSIS_DIAGNOSIS_H
#define PROBE_DIAGNOSIS_DIAGNOSIS_H

#include "bench/bench.h"
#include "core/arena.h"
#include "core/tensor.h"
#include "standards/findings.h"

/* Steps of arithmetic that a second of --diagnose-budget stands for. Work is counted, not timed, so that what
 * is found does not depend on the machine, on the threads or on what else runs. */
#define DIAGNOSIS_STEPS_PER_SECOND 1e9

struct diagnosis_request {
    struct bench *bench; /* settled; after bench_backward for a gradient */
    bool backward;
    size_t index; /* flat output, or tensor argument of a gradient */
    const struct reference *want;
    const struct tensor *got; /* of the reference's dtype and shape, or nothing is found */
    double budget_s;
    size_t memory_bytes; /* what may be taken from the arena, beyond its limit */
};

/* Bytes with which all hypotheses of the call's size can be tried; those that need more are not. */
size_t diagnosis_bytes(const struct api_case *c);

/* Look for the mistakes.
 *
 *   out     up to FINDINGS_MAX findings that each explain half of the error and more; not `sought` when there is
 *           nothing to compare or no room for it. What is found is the same wherever and whenever it is looked for.
 *   arena   holds the texts and, meanwhile, everything else
 *   errors  STATUS_NO_MEMORY when the system refuses memory; what does not fit into `memory_bytes` or the budget is
 *           not looked at
 */
struct status diagnose(struct findings *out, struct arena *arena,
                       const struct diagnosis_request *request);

#endif
