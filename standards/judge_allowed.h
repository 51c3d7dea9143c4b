/* Rows that only a mode which the user allows explains (core/kernel_modes.h); for the files of the judge only. */
#ifndef PROBE_STANDARDS_JUDGE_ALLOWED_H
#define PROBE_STANDARDS_JUDGE_ALLOWED_H

#include "standards/error_model.h"
#include "standards/judge_row.h"

/* How findings are judged: against their limits, with notes and sentences in the row, and what stands for the model
 * of an output that has none. */
struct model_judge {
    bool (*holds)(struct row *row, const struct model_findings *findings);
    struct model_fallback fallback;
};

/* Does the row hold by another reference of it? Then that one's comparisons and sentences take the place of the row's;
 * otherwise the row stays as it is. */
struct status judge_by_other(struct row *row, bool *holds, struct model_findings *findings,
                             const struct model_judge *judge, struct reference *other,
                             const struct tensor *got);

/* Each mode alone, then all that go together: the first one by whose model the row holds becomes row->out->allowance,
 * and its comparisons and sentences take the place of the row's. */
struct status judge_as_allowed(struct row *row, bool *holds, const struct model_judge *judge,
                               const struct kernel_modes *allowed, struct reference *want,
                               const struct tensor *got);

/* Is a row that roundings between its steps explain a pass, because they are allowed? */
bool allowance_for_stages(struct row *row, bool explained, const struct kernel_modes *allowed);

#endif
