/* References whose own bound could decide a verdict. */
#ifndef PROBE_STANDARDS_JUDGE_REFINE_H
#define PROBE_STANDARDS_JUDGE_REFINE_H

#include "standards/judge_row.h"

/* Recompute the elements of a `bounded` reference whose bounds could change a verdict; `refined`
 * says whether there were any, so that the metrics of the row must be taken again. */
struct status row_refine(struct row *row, struct reference *want, const struct tensor *got,
                         const struct metrics_parameters *parameters, bool *refined);

#endif
