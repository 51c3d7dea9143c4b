/* The tensors of all rows of a comparison, read and folded by threads. Rows are independent and each
 * is computed by one thread, so the numbers do not depend on how many there are.
 */
#ifndef PROBE_COMPARE_DUMPS_TENSOR_ROWS_H
#define PROBE_COMPARE_DUMPS_TENSOR_ROWS_H

#include "compare/dumps/result.h"
#include "compare/dumps/tensor_fix.h"
#include "standards/profile.h"

/* What a long comparison asks of its caller, from time to time: show how far it is, and say whether to
 * go on. Called from the thread that started the comparison. */
struct comparison_watch {
    bool (*go_on)(void *context, size_t done, size_t total); /* NULL: always */
    void *context;
};

struct tensor_rows_request {
    const char *npu_path, *bench_path; /* of the dumps: data lies in dump_tensor_data beside them */
    struct file_policy file_policy;
    unsigned threads;              /* at least 1 */
    const struct profile *profile; /* limits by dtype, or NULL */
    const struct tensor_fix *fix;  /* corrections, or NULL */
    struct comparison_watch watch;
};

/* Fill c->tensors, which is allocated here. STATUS_INTERRUPTED when the watch says stop; a file that
 * cannot be used is no error but a note of its row. */
struct status tensor_rows_compute(struct comparison *c, const struct tensor_rows_request *request);
void tensor_rows_release(struct comparison *c);

/* The cells and notes of one pair of dense tensors, without a profile. Notes about dtypes are the
 * caller's. */
void tensor_pair_measure(struct tensor_result *out, const struct tensor *npu,
                         const struct tensor *bench);

#endif
