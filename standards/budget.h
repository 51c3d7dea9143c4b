/* Budgets: how much of its limits a device used in runs that were right, by API, direction, dtype, class of shapes and
 * device. A row that uses more is an error although the error model passes it: the kernel is no longer the one that
 * was looked at.
 *
 * With an exponential tail the next row exceeds m times the largest of n with the probability n! m! / (n + m)!, and the
 * margin m makes that 10^-8: 23 after ten rows, 5 after a hundred, 2.1 after ten thousand; after one or two rows it leaves
 * the limit as it is. Only rows that use some of a limit count for it: a hundred exact results do not tell how large the
 * first error will be. docs/budgets.md says more.
 */
#ifndef PROBE_STANDARDS_BUDGET_H
#define PROBE_STANDARDS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/status.h"
#include "formats/csv.h"
#include "standards/judged.h"

/* The comparisons that have budgets, as the error model names them. */
enum budget_metric {
    BUDGET_WORST,
    BUDGET_RMS,
    BUDGET_BIAS,
    BUDGET_LARGEST,
    BUDGET_FLIPS,
    BUDGET_NATS,
    BUDGET_METRICS
};

/* "model_worst", ... */
extern const char *const budget_metric_names[BUDGET_METRICS];

/* Whose budget it is. */
struct budget_key {
    const char *api;    /* with its group: "Torch.matmul" */
    const char *dtype;  /* "torch.float32" */
    const char *shapes; /* budget_shapes */
    const char *device; /* "torch:npu" */
    bool backward;
};

enum { BUDGET_SHAPES_BYTES = 48 };

/* The class of a shape as the column Shape has it: its rank and the power of 4 that bounds its number of elements, "2d up to
 * 4096". False for a text that is no shape. */
bool budget_shapes(char out[BUDGET_SHAPES_BYTES], const char *text);

/* Parts of the limits, 0..1: what was used at most, and what may be. Negative: never compared. */
struct budget_entry {
    struct budget_key key; /* texts of the budget's */
    double samples;        /* rows */
    /* Of these, the rows that say nothing about the size of what is used: they used none of it, or it was not compared. */
    double unused[BUDGET_METRICS];
    double used[BUDGET_METRICS], most[BUDGET_METRICS];
};

struct budget;

struct status budget_create(struct budget **out);
void budget_release(struct budget *budget);

/* Is this the bare name of an API? When not, *nearest is one. */
typedef bool budget_api_check(const char **nearest, struct arena *arena, const char *name);

/* Read a file. Unknown keys, entries that are there twice, numbers out of range, and APIs that do not exist are
 * STATUS_BAD_INPUT with line and key. */
struct status budget_read(struct budget **out, const char *path, struct file_policy policy,
                          budget_api_check *is_api);

/* The text of a file: entries in order, one a line. */
struct status budget_write(struct csv_buffer *out, const struct budget *budget);

/* One row of a run that was right. Errors of inputs that were there before are no sample, but may be larger. */
struct status budget_add_row(struct budget *budget, const struct budget_key *key,
                             const double used[BUDGET_METRICS], bool is_sample);

/* What may be used from here on, from what was. */
void budget_settle(struct budget *budget);

/* Take what `rows` used into `budget`, whose budgets become smaller where that allows it and never larger.
 *
 *   tightened  entries with a smaller budget than before
 *   unknown    entries of `rows` that `budget` has not
 */
struct status budget_tighten(size_t *tightened, size_t *unknown, struct budget *budget,
                             const struct budget *rows);

size_t budget_count(const struct budget *budget);
const struct budget_entry *budget_at(const struct budget *budget, size_t i);
/* NULL when there is none. */
const struct budget_entry *budget_find(const struct budget *budget, const struct budget_key *key);

/* Hold a row that the error model passes, or warns of, to its budget. */
struct status budget_judge(struct judged *judged, struct arena *arena, const struct budget *budget,
                           const struct budget_key *key);

#endif
