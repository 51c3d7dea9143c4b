/* One dump against another: read, pair, measure, judge. The result is a value that tables, advice,
 * summaries, reports and graphs are made from (result.h).
 */
#ifndef PROBE_COMPARE_DUMPS_COMPARISON_H
#define PROBE_COMPARE_DUMPS_COMPARISON_H

#include "compare/dumps/mapping.h"
#include "compare/dumps/result.h"
#include "compare/dumps/tensor_rows.h"

/* A dump.json in memory. */
struct dump_source {
    const char *text; /* NULL: read the file */
    size_t bytes;
};

struct comparison_request {
    const char *npu_path, *bench_path;       /* dump.json or debug.json, the same of both */
    struct dump_source npu_text, bench_text; /* in place of the files */
    const char *stack_path;        /* of the NPU side; NULL: stack.json beside the dump, if any */
    bool show_stacks;              /* with a stack_path; without one stacks are always shown */
    enum dump_framework framework; /* that of the command */
    enum generation generation;
    bool fuzzy, highlight;
    bool by_statistics; /* dumps of tensors by their recorded statistics, without their files */
    struct file_policy file_policy;
    unsigned threads;
    const struct profile *profile; /* limits for tensors, or NULL */
    const struct tensor_fix *fix;  /* or NULL */
    const struct mapping *mapping; /* of names, or NULL */
    /* Pair the rows by another rule than that of rows (graphs pair nodes first), or NULL. With it
     * dumps of task structure are taken too: their rows have partners and no verdicts. */
    struct status (*pair)(struct pairing *out, const struct dump_pair *dumps, void *context);
    void *pair_context;
    bool
        any_shape; /* partners may differ in shape, as ranks do that were merged: no verdict of it */
    struct comparison_watch watch;
};

/* Compare. `out` must stay where it is until comparison_release.
 *
 *   errors  STATUS_BAD_INPUT: a dump or stack that cannot be used, kinds that do not agree;
 *           STATUS_INTERRUPTED by the watch; STATUS_NO_MEMORY. `out` is empty then.
 *
 * A comparison whose NPU dump has no rows is no error; there is nothing to show then. */
struct status comparison_run(struct comparison *out, const struct comparison_request *request);
void comparison_release(struct comparison *c);

/* "tensor", "statistics", "md5", "structure". */
const char *dump_kind_name(enum dump_kind kind);

#endif
