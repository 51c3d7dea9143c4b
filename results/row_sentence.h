/* A row that is not a pass in one sentence, for people. */
#ifndef PROBE_RESULTS_ROW_SENTENCE_H
#define PROBE_RESULTS_ROW_SENTENCE_H

#include <stddef.h>

#include "results/row_cause.h"
#include "standards/judge.h"

enum { ROW_SENTENCE_BYTES = 400 };

/* What is wrong, and where: "39 of 2304 elements are further off than rounding explains, worst at
 * [20,8,40]", "max_abs_error 0.25, limit 0.001; 404 times what rounding explains, worst at [0,3], all in row 0; looks like:
 * bias missing (explains 99 %)"; for a row that compares nothing its message. One line without control characters, cut behind a character
 * when it is longer than `out` (ROW_SENTENCE_BYTES). */
void row_sentence(char *out, const struct judged *judged, enum row_cause cause);

#endif
