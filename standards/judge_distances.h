/* The verdicts of the pre-check for MindSpore, in double, on values in the dtype of the result:
 *
 *     cosine           (1e-8 + b.t) / (1e-8 + |b||t|)          pass above LIMIT_COSINE
 *     max abs error    max |b - t|                             pass below LIMIT_MAX_ABS_ERROR
 *     max rel error    max |b - t| / |b|, with 1e-8 for b = 0  shown only
 *
 * b is the reference rounded to its dtype, t what was tested. A NaN in either is one in all three. Values of
 * different shapes cannot be measured, which is an error. (data/mindspore has rows of that tool.)
 */
#ifndef PROBE_STANDARDS_JUDGE_DISTANCES_H
#define PROBE_STANDARDS_JUDGE_DISTANCES_H

#include "core/reference.h"
#include "core/value.h"
#include "standards/judge_row.h"

/* A tensor of the reference against what the device returned. */
struct status judge_distances(struct row *row, const struct reference *want,
                              const struct value *got);

/* A plain value: equal, or an error in the words of that tool, which compares tensors alone. */
struct status judge_distances_value(struct row *row, bool equal);

#endif
