/* The fault to be reproduced: a call, the row of it that fails, what is right there and what the device
 * returned. */
#ifndef PROBE_REPRO_FAULT_H
#define PROBE_REPRO_FAULT_H

#include "core/arena.h"
#include "core/case.h"
#include "results/failure.h"
#include "runner/one_call.h"
#include "runner/run_options.h"

struct fault {
    struct arena arena; /* of all of it */
    struct one_call call;
    struct api_case c; /* with its inputs */
    struct failure failure;
    bool judged;    /* passing or not */
    char *evidence; /* of the row, as `case` prints it */

    /* Of the row, when it is a comparison of tensors. */
    bool has_values;
    enum dtype dtype;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    size_t n, wrong; /* components; those beyond what is allowed */
    double *want, *allowed;
    int64_t *integers;    /* what is right, of integers and bools; NULL for any other */
    struct value outputs; /* what the device returned for the forward */
};

/* Check the call, and keep what is needed of its failure.
 *
 *   out    large; to be closed also when this fails
 *   name   of the call, or of one of its rows
 *   fails  false when it passes or is not judged: `why` says which
 */
struct status fault_open(struct fault *out, bool *fails, const char **why,
                         const struct run_options *options, const char *name);
void fault_close(struct fault *fault);

/* Does the device itself fail: crash, hang, return an error? */
bool fault_is_of_device(const struct fault *fault);

#endif
