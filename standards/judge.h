/* One output judged: device values against the reference under a profile, giving the cells of
 * the details row, the verdict and the metrics behind it.
 */
#ifndef PROBE_STANDARDS_JUDGE_H
#define PROBE_STANDARDS_JUDGE_H

#include "core/arena.h"
#include "core/reference.h"
#include "core/status.h"
#include "core/value.h"
#include "standards/judged.h"

/* The reference side of an output, without the bench's own machinery. Exactly one of the
 * pointers is set; none for an output that is None. */
struct wanted {
    struct reference *reference; /* may be refined while judging */
    const struct value *value;
    /* A random output: verdict by property, already evaluated. */
    const char *property_test;
    bool property_holds;
    const char *property_reason;
};

/* Judge one output. `got` is a tensor or plain value. Texts live in `arena`. */
struct status judge_output(struct judged *out, struct arena *arena,
                           const struct judge_request *request, const struct wanted *want,
                           const struct value *got);

/* A row without comparison: SKIP or error with a message, all metric cells blank. */
struct status judge_without_comparison(struct judged *out, struct arena *arena,
                                       const struct judge_request *request, enum verdict verdict,
                                       const char *message);

#endif
