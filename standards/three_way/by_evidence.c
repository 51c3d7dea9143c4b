/* A ratio of two errors says nothing where both are tiny: a sequential sum has 25 times the error of a blocked one, and both
 * are right. So errors are counted in units of their limits, and a side that the model explains counts as half a unit
 * at least: what is clearly worse is beyond the model, and twice as far from 0 as the other device. */
#include "standards/three_way/by_evidence.h"

#include <math.h>
#include <string.h>

static const double clearly = 2; /* times as bad */
static const double explained = 1. /
                                2; /* of the limit, below which nothing is better than anything */

static const struct evidence_limit *find_limit(const struct row_evidence *evidence,
                                               const char *metric)
{
    for (size_t i = 0; evidence && i < evidence->count; i++)
        if (!strcmp(evidence->limits[i].metric, metric)) return &evidence->limits[i];
    return NULL;
}

static double used(const struct evidence_limit *limit)
{
    if (!limit || limit->value == 0) return 0;
    if (isnan(limit->value)) return INFINITY;
    return limit->limit > 0 ? limit->value / limit->limit : INFINITY;
}

/* Is the NPU clearly worse than the GPU by this comparison? Where nothing is allowed (integers, selections) the
 * values themselves are compared. */
static bool is_clearly_worse(const struct evidence_limit *npu, const struct evidence_limit *gpu)
{
    double x = used(npu), y = fmax(used(gpu), explained);
    if (!isinf(x) || !isinf(y)) return x > clearly * y;
    if (isnan(npu->value) || isnan(gpu->value)) return isnan(npu->value) && !isnan(gpu->value);
    return npu->value > clearly * gpu->value && !isinf(gpu->value);
}

/* The failed comparison in which the NPU is worst, clearly worse ones first. */
static struct evidence_verdict weigh_failures(const struct three_way_side *npu,
                                              const struct three_way_side *gpu)
{
    struct evidence_verdict out = { .verdict = VERDICT_WARNING };
    double largest = -1;
    for (size_t i = 0; i < npu->evidence->count; i++) {
        const struct evidence_limit *limit = &npu->evidence->limits[i];
        const struct evidence_limit *other = find_limit(gpu->evidence, limit->metric);
        if (limit->holds) continue;
        bool worse = is_clearly_worse(limit, other);
        double distance = used(limit) / fmax(used(other), explained);
        if (isnan(distance)) distance = 1; /* infinite on both sides */
        if (out.verdict == VERDICT_ERROR && !worse) continue;
        if (worse == (out.verdict == VERDICT_ERROR) && distance <= largest) continue;
        out = (struct evidence_verdict){ worse ? VERDICT_ERROR : VERDICT_WARNING, limit->metric,
                                         used(limit), used(other), NULL };
        largest = distance;
    }
    return out;
}

/* What the model explains passes; but with more than half of a limit where the GPU needs less than half of that, it
 * is a warning. */
static struct evidence_verdict weigh_pass(const struct three_way_side *npu,
                                          const struct three_way_side *gpu)
{
    struct evidence_verdict out = { .verdict = VERDICT_PASS };
    out.message = gpu->status == VERDICT_PASS
                      ? "The error model explains both runs."
                      : "The error model explains the NPU run, and not the GPU run.";
    for (size_t i = 0; npu->evidence && gpu->evidence && i < npu->evidence->count; i++) {
        const struct evidence_limit *limit = &npu->evidence->limits[i];
        double x = used(limit), y = used(find_limit(gpu->evidence, limit->metric));
        if (!(x > explained) || !(x > clearly * y) || x <= out.npu) continue;
        out =
            (struct evidence_verdict){ VERDICT_WARNING, limit->metric, x, y,
                                       "The error model explains both runs, but the NPU is clearly "
                                       "worse than the GPU." };
    }
    return out;
}

/* Why a side says nothing; NULL when it does. */
static const char *obstacle(const struct three_way_side *side, bool is_npu)
{
    bool failed = side->status == VERDICT_ERROR || side->status == VERDICT_WARNING;
    if (!failed && side->status != VERDICT_PASS)
        return is_npu ? "The NPU run has no verdict of this row."
                      : "The GPU run has no verdict of this row.";
    if (!side->by_model)
        return is_npu
                   ? "The NPU run was not judged by the error model: run it with --profile strict."
                   : "The GPU run was not judged by the error model: run it with --profile strict.";
    if (failed && !side->evidence)
        return is_npu ? "The evidence of the NPU run has no line of this row."
                      : "The evidence of the GPU run has no line of this row.";
    return NULL;
}

struct evidence_verdict three_way_by_evidence(const struct three_way_side *npu,
                                              const struct three_way_side *gpu)
{
    const char *npu_obstacle = obstacle(npu, true), *gpu_obstacle = obstacle(gpu, false);
    if (npu_obstacle || gpu_obstacle)
        return (struct evidence_verdict){ .verdict = VERDICT_SKIP,
                                          .message = npu_obstacle ? npu_obstacle : gpu_obstacle };
    if (npu->status == VERDICT_PASS) return weigh_pass(npu, gpu);
    struct evidence_verdict out = weigh_failures(npu, gpu);
    bool both = gpu->status != VERDICT_PASS;
    if (npu->status == VERDICT_WARNING) {
        out.verdict = VERDICT_WARNING;
        out.message =
            both
                ? "Both: only roundings between the steps explain the NPU run, and the error model "
                  "does not explain the GPU run."
                : "Only roundings between the steps explain the NPU run; the GPU run needs none.";
    } else if (out.verdict == VERDICT_ERROR) {
        out.message = both ? "The error model explains neither run, and the NPU is clearly worse."
                           : "The error model explains the GPU run, and not the NPU run.";
    } else if (both) {
        out.message =
            "Both: the error model explains neither run, and the NPU is not clearly worse.";
    } else {
        out.message = "The error model does not explain the NPU run, which is not clearly worse "
                      "than the GPU run "
                      "that it does explain.";
    }
    return out;
}
