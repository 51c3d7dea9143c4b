/* Corrections between reading a pair of tensors and comparing them, from a YAML file of the user:
 *
 *     padding:                       # rows of an output that were never written
 *       - api: npu_grouped_matmul    # part of the entry's name
 *         key: group_list            # keyword argument whose sum is the number of rows that count
 *         side: npu                  # npu (default), bench, both
 *     calibration:
 *       - mode: right_matmul
 *         target_tensor_map:         # NPU side: {matrix file: [data_name, ...]}
 *           rotation.npy: [Functional.linear.0.forward.output.0.pt]
 *         golden_tensor_map: {}
 *
 * Without `padding` the two APIs that have such rows are corrected (npu_dequant_swiglu_quant by
 * group_index, npu_grouped_matmul by group_list). Matrix files lie beside the YAML file.
 */
#ifndef PROBE_COMPARE_DUMPS_TENSOR_FIX_H
#define PROBE_COMPARE_DUMPS_TENSOR_FIX_H

#include "core/arena.h"
#include "core/file.h"
#include "core/tensor.h"

enum fix_side { FIX_NPU, FIX_BENCH, FIX_SIDES };

struct fix_padding {
    const char *api, *key;
    bool side[FIX_SIDES];
};

struct fix_matrix {
    const char *data_name;
    struct tensor matrix; /* two dimensions, double, dense */
};

struct tensor_fix {
    struct arena arena;
    struct fix_padding *paddings;
    size_t n_paddings;
    struct fix_matrix *matrices[FIX_SIDES]; /* sorted by data_name */
    size_t n_matrices[FIX_SIDES];
};

struct status tensor_fix_read(struct tensor_fix *out, const char *path,
                              struct file_policy file_policy);
void tensor_fix_release(struct tensor_fix *fix);

/* The padding rule of an output entry, or NULL. */
const struct fix_padding *tensor_fix_padding(const struct tensor_fix *fix, const char *entry);

/* The matrix a data file is to be multiplied with, or NULL. */
const struct tensor *tensor_fix_matrix(const struct tensor_fix *fix, enum fix_side side,
                                       const char *data_name);

/* `out` = `in` with all rows (first axis) from `valid` on set to 0, as doubles in `arena`. */
struct status tensor_clear_rows(struct tensor *out, struct arena *arena, const struct tensor *in,
                                double valid);

/* `out` = `in` x `matrix`, over the last axis, in double. STATUS_BAD_INPUT when they do not fit. */
struct status tensor_multiply_right(struct tensor *out, struct arena *arena,
                                    const struct tensor *in, const struct tensor *matrix);

#endif
