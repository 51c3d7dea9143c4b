/* Two .npy files against each other: what the tables of kernels and of folders show of them. */
#ifndef PROBE_COMPARE_KERNELS_NPY_PAIR_H
#define PROBE_COMPARE_KERNELS_NPY_PAIR_H

#include <stdbool.h>

#include "compare/dumps/result.h"
#include "core/arena.h"
#include "core/file.h"
#include "formats/table_file.h"

enum { NPY_NPU, NPY_BENCH, NPY_SIDES };

/* One file. */
struct npy_side {
    bool is_loaded;
    enum dtype dtype;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    bool has_elements;
    double statistic[ROW_STATISTICS]; /* of its elements, in double */
};

struct npy_pair {
    struct npy_side side[NPY_SIDES];
    struct tensor_result result; /* metrics where both are loaded */
    char *problem[NPY_SIDES];    /* why a file cannot be used; in the arena */
};

/* Read and measure; a NULL path is a file that is not there. A file that cannot be used is no error.
 * What stays lives in `arena`. */
struct status npy_pair_measure(struct npy_pair *out, struct arena *arena,
                               const char *const paths[NPY_SIDES], struct file_policy policy);

/* The cells of a side: dtype as numpy calls it, shape as a tuple, the four statistics. "N/A" where there
 * is no file. Texts live in `arena`. */
struct status npy_dtype_cell(struct table_cell *out, struct arena *arena,
                             const struct npy_side *side);
struct status npy_shape_cell(struct table_cell *out, struct arena *arena,
                             const struct npy_side *side);
struct table_cell npy_statistic_cell(const struct npy_side *side, enum row_statistic which);

/* A number, or how one that is not finite is written: Nan, inf, -inf. */
struct table_cell npy_number_cell(double value);

/* The cell of a metric, in the words of comparisons; with `blank` nothing where it is no number. */
struct table_cell npy_metric_cell(const struct npy_pair *pair, enum tensor_metric metric,
                                  bool blank);

/* The sentences of some notes behind each other. */
struct status npy_notes_cell(struct table_cell *out, struct arena *arena,
                             const struct npy_pair *pair, uint64_t notes);

static inline struct table_cell npy_text_cell(const char *text)
{
    return table_text(text, __builtin_strlen(text));
}

#endif
