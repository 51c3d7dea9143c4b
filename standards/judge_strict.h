/* The verdict of `strict`. */
#ifndef PROBE_STANDARDS_JUDGE_STRICT_H
#define PROBE_STANDARDS_JUDGE_STRICT_H

#include "standards/judge_row.h"

/* The verdict of a floating output by the error model, with its notes and sentences. */
struct status judge_by_model(struct row *row, enum verdict *verdict, struct reference *want,
                             const struct tensor *got);

#endif
