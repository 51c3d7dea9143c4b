/* Which API has which rules, in which order. */
#include "generators/rules.h"

#include <math.h>
#include <string.h>

#include "core/checked.h"

/* ---- the table ---------------------------------------------------------------------- */

/* The rules of a row, in the order in which they run. */
/* clang-format off */
#define RULE(FUNCTION, SUBJECT, SOURCE, FLAGS) { FUNCTION, SUBJECT, SOURCE, FLAGS, 0, 0 }
#define INDEX(SUBJECT, SOURCE, FLAGS) { rule_index, SUBJECT, SOURCE, FLAGS, 0, 0 }
#define DOMAIN(SUBJECT, LO, HI) { rule_domain, SUBJECT, NULL, 0, LO, HI }
#define MATRIX(SUBJECT, FLAGS) { rule_matrix, SUBJECT, NULL, FLAGS, 0, 0 }
#define TUPLES(FLAGS) { rule_index_tuples, "indices", "input", FLAGS, 0, 0 }
#define TARGETS { rule_class_targets, "target", "input", 0, 0, 0 }
#define DIVISOR { rule_nonzero, "other", "input", 0, 0, 0 }
#define MLA_PROLOG                                                                                 \
    "token_x weight_dq weight_uq_qr weight_uk weight_dkv_kr rmsnorm_gamma_cq rmsnorm_gamma_ckv "   \
    "rope_sin rope_cos cache_index kv_cache kr_cache"
#define SHIFT { rule_shift, "other", "input", 0, 0, 0 }
/* clang-format on */

/* One row per API that takes more than a range. `group` restricts it to one prefix of the
 * dump ("Functional", "Torch", ...); NULL is any. The in-place name, a "linalg." or
 * "linalg_" in front and an "_ex" behind find the same row unless they have their own. */
enum { MAX_RULES = 3 };

static const struct rule_row {
    const char *api;
    const char *group;
    const char *parameters;
    struct rule rules[MAX_RULES];
} rows[] = {
    /* clang-format off */
    /* Indexing. */
    { "gather", NULL, "input dim index", { INDEX("index", "input", INDEX_ALONG_DIM) } },
    { "gather_d", NULL, "input dim index", { INDEX("index", "input", INDEX_ALONG_DIM) } },
    { "gather_elements", NULL, "input dim index", { INDEX("index", "input", INDEX_ALONG_DIM) } },
    { "take_along_dim", NULL, "input indices dim", { INDEX("indices", "input", INDEX_ALONG_DIM) } },
    { "index_select", NULL, "input dim index", { INDEX("index", "input", INDEX_ALONG_DIM) } },
    { "take", NULL, "input index", { INDEX("index", "input", INDEX_OF_ALL | INDEX_WRAPS) } },
    { "put", NULL, "input index source accumulate",
      { INDEX("index", "input", INDEX_OF_ALL | INDEX_WRAPS | INDEX_WRITES) } },
    { "index_add", NULL, "input dim index source", { INDEX("index", "input", INDEX_ALONG_DIM) } },
    { "index_copy", NULL, "input dim index source",
      { INDEX("index", "input", INDEX_ALONG_DIM | INDEX_UNIQUE) } },
    { "index_fill", NULL, "input dim index value",
      { INDEX("index", "input", INDEX_ALONG_DIM | INDEX_WRAPS) } },
    { "index_reduce", NULL, "input dim index source", { INDEX("index", "input", INDEX_ALONG_DIM) } },
    { "scatter", NULL, "input dim index src",
      { RULE(rule_scatter, "index", "input", INDEX_ALONG_DIM) } },
    { "scatter_add", NULL, "input dim index src", { INDEX("index", "input", INDEX_ALONG_DIM) } },
    { "scatter_reduce", NULL, "input dim index src", { INDEX("index", "input", INDEX_ALONG_DIM) } },
    { "index", NULL, "input indices",
      { RULE(rule_advanced_index, "indices", "input", INDEX_NONE_IS_SLICE),
        RULE(rule_mask_index, "indices", "input", 0) } },
    { "_unsafe_index", NULL, "input indices",
      { RULE(rule_advanced_index, "indices", "input", INDEX_NONE_IS_SLICE),
        RULE(rule_mask_index, "indices", "input", 0) } },
    { "index_put", NULL, "input indices values accumulate",
      { RULE(rule_advanced_index, "indices", "input", INDEX_NONE_IS_SLICE | INDEX_WRITES),
        RULE(rule_mask_index, "indices", "input", INDEX_WRITES) } },
    { "_unsafe_index_put", NULL, "input indices values accumulate",
      { RULE(rule_advanced_index, "indices", "input", INDEX_NONE_IS_SLICE | INDEX_WRITES),
        RULE(rule_mask_index, "indices", "input", INDEX_WRITES) } },
    { "__getitem__", NULL, "input idx",
      { RULE(rule_advanced_index, "idx", "input", 0), RULE(rule_mask_index, "idx", "input", 0) } },
    { "__setitem__", NULL, "input idx value",
      { RULE(rule_advanced_index, "idx", "input", INDEX_WRITES),
        RULE(rule_mask_index, "idx", "input", INDEX_WRITES) } },
    { "gather_nd", NULL, "input indices", { TUPLES(0) } },
    { "scatter_nd_update", NULL, "input indices updates", { TUPLES(INDEX_UNIQUE) } },
    { "npu_scatter_nd_update", NULL, "input indices updates", { TUPLES(INDEX_UNIQUE) } },
    { "scatter_nd_add", NULL, "input indices updates", { TUPLES(0) } },
    { "tensor_scatter_add", NULL, "input indices updates", { TUPLES(0) } },
    { "tensor_scatter_sub", NULL, "input indices updates", { TUPLES(0) } },
    { "tensor_scatter_max", NULL, "input indices updates", { TUPLES(0) } },
    { "tensor_scatter_min", NULL, "input indices updates", { TUPLES(0) } },
    { "npu_gather_sparse_index", NULL, "input index", { INDEX("index", "input", INDEX_OF_ROWS) } },
    { "masked_select", NULL, "input mask", { RULE(rule_mask_count, "mask", NULL, 0) } },
    { "masked_scatter", NULL, "input mask source",
      { RULE(rule_mask_count, "mask", "source", 0) } },
    { "embedding", "Functional", "input weight", { INDEX("input", "weight", INDEX_OF_ROWS) } },
    { "embedding", NULL, "weight indices", { INDEX("indices", "weight", INDEX_OF_ROWS) } },
    { "embedding_renorm", NULL, "weight indices", { INDEX("indices", "weight", INDEX_OF_ROWS) } },
    { "embedding_dense_backward", NULL, "grad_output indices num_weights",
      { INDEX("indices", "num_weights", INDEX_OF_COUNT) } },
    { "embedding_bag", "Functional",
      "input weight offsets max_norm norm_type scale_grad_by_freq mode sparse "
      "per_sample_weights include_last_offset",
      { INDEX("input", "weight", INDEX_OF_ROWS), RULE(rule_offsets, "offsets", "input", 0) } },
    { "embedding_bag", NULL,
      "weight indices offsets scale_grad_by_freq mode sparse per_sample_weights "
      "include_last_offset",
      { INDEX("indices", "weight", INDEX_OF_ROWS), RULE(rule_offsets, "offsets", "indices", 0) } },
    { "one_hot", NULL, "tensor num_classes",
      { INDEX("tensor", "num_classes", INDEX_OF_COUNT), DOMAIN("tensor", 0, INFINITY) } },
    { "npu_one_hot", NULL, "input num_classes",
      { INDEX("input", "num_classes", INDEX_OF_COUNT), DOMAIN("input", 0, INFINITY) } },
    { "bincount", NULL, "input", { DOMAIN("input", 0, INFINITY) } },
    { "unsorted_segment_sum", NULL, "x segment_ids num_segments",
      { INDEX("segment_ids", "num_segments", INDEX_OF_COUNT) } },
    { "unsorted_segment_max", NULL, "x segment_ids num_segments",
      { INDEX("segment_ids", "num_segments", INDEX_OF_COUNT) } },
    { "unsorted_segment_min", NULL, "x segment_ids num_segments",
      { INDEX("segment_ids", "num_segments", INDEX_OF_COUNT) } },
    { "unsorted_segment_prod", NULL, "x segment_ids num_segments",
      { INDEX("segment_ids", "num_segments", INDEX_OF_COUNT) } },
    { "max_unpool1d", "Functional", "input indices kernel_size stride padding",
      { { rule_unpool, "indices", "input", 0, 1, 0 } } },
    { "max_unpool2d", "Functional", "input indices kernel_size stride padding",
      { { rule_unpool, "indices", "input", 0, 2, 0 } } },
    { "max_unpool3d", "Functional", "input indices kernel_size stride padding",
      { { rule_unpool, "indices", "input", 0, 3, 0 } } },

    /* Losses. */
    { "cross_entropy", NULL, "input target weight size_average ignore_index", { TARGETS } },
    { "nll_loss", "Functional", "input target weight size_average ignore_index", { TARGETS } },
    { "nll_loss", NULL, "input target weight reduction ignore_index", { TARGETS } },
    { "nll_loss2d", NULL, "input target weight reduction ignore_index", { TARGETS } },
    { "nll_loss_forward", NULL, "input target weight reduction ignore_index", { TARGETS } },
    { "nll_loss2d_forward", NULL, "input target weight reduction ignore_index", { TARGETS } },
    { "nll_loss_backward", NULL, "grad_output input target weight reduction ignore_index",
      { TARGETS } },
    { "nll_loss2d_backward", NULL, "grad_output input target weight reduction ignore_index",
      { TARGETS } },
    { "npu_cross_entropy_loss", NULL, "input target weight reduction ignore_index", { TARGETS } },
    { "multi_margin_loss", NULL, "input target", { TARGETS } },
    { "multilabel_margin_loss", NULL, "input target",
      { RULE(rule_label_lists, "target", "input", 0) } },
    { "multilabel_margin_loss_forward", NULL, "input target",
      { RULE(rule_label_lists, "target", "input", 0) } },
    { "ctc_loss", NULL, "log_probs targets input_lengths target_lengths blank",
      { RULE(rule_ctc, "targets", "log_probs", 0) } },
    { "hinge_embedding_loss", NULL, "input target", { RULE(rule_signs, "target", NULL, 0) } },
    { "margin_ranking_loss", NULL, "input1 input2 target",
      { RULE(rule_signs, "target", NULL, 0) } },
    { "cosine_embedding_loss", NULL, "input1 input2 target",
      { RULE(rule_signs, "target", NULL, 0) } },
    { "soft_margin_loss", NULL, "input target", { RULE(rule_signs, "target", NULL, 0) } },
    { "binary_cross_entropy", NULL, "input target", { DOMAIN("input", 0, 1) } },
    { "binary_cross_entropy_backward", NULL, "grad_output input target",
      { DOMAIN("input", 0, 1) } },
    { "kl_div", NULL, "input target size_average reduce reduction log_target",
      { RULE(rule_divergence, "target", NULL, 0) } },
    { "gaussian_nll_loss", NULL, "input target var", { DOMAIN("var", 0, INFINITY) } },

    /* Parameters of random draws. */
    { "bernoulli", NULL, "input", { DOMAIN("input", 0, 1) } },
    { "bernoulli_", NULL, "input p", { DOMAIN("p", 0, 1) } },
    { "multinomial", NULL, "input num_samples", { RULE(rule_weights, "input", NULL, 0) } },
    { "binomial", NULL, "count prob", { DOMAIN("count", 0, INFINITY), DOMAIN("prob", 0, 1) } },
    { "poisson", NULL, "input", { DOMAIN("input", 0, INFINITY) } },
    { "normal", NULL, "mean std", { DOMAIN("std", 0, INFINITY) } },
    /* Below 1 also when rounded to bfloat16. */
    { "fractional_max_pool2d", NULL, "", { DOMAIN("_random_samples", 0, 0.99609375) } },
    { "fractional_max_pool3d", NULL, "", { DOMAIN("_random_samples", 0, 0.99609375) } },

    /* Statistics that cannot be negative, and positions in [0, 1]. */
    { "batch_norm", "Functional", "input running_mean running_var",
      { DOMAIN("running_var", 0, INFINITY) } },
    { "batch_norm", NULL, "input weight bias running_mean running_var",
      { DOMAIN("running_var", 0, INFINITY) } },
    { "native_batch_norm", NULL, "input weight bias running_mean running_var",
      { DOMAIN("running_var", 0, INFINITY) } },
    { "instance_norm", "Functional", "input running_mean running_var",
      { DOMAIN("running_var", 0, INFINITY) } },
    { "instance_norm", NULL, "input weight bias running_mean running_var",
      { DOMAIN("running_var", 0, INFINITY) } },
    { "quantile", NULL, "input q", { DOMAIN("q", 0, 1) } },
    { "nanquantile", NULL, "input q", { DOMAIN("q", 0, 1) } },

    /* Integer division and shifts. */
    { "floor_divide", NULL, "input other", { DIVISOR } },
    { "__floordiv__", NULL, "input other", { DIVISOR } },
    { "__ifloordiv__", NULL, "input other", { DIVISOR } },
    { "__rfloordiv__", NULL, "other input", { DIVISOR } },
    { "__mod__", NULL, "input other", { DIVISOR } },
    { "__imod__", NULL, "input other", { DIVISOR } },
    { "__rmod__", NULL, "other input", { DIVISOR } },
    { "remainder", NULL, "input other", { DIVISOR } },
    { "fmod", NULL, "input other", { DIVISOR } },
    { "floor_mod", NULL, "input other", { DIVISOR } },
    { "truncate_div", NULL, "input other", { DIVISOR } },
    { "truncate_mod", NULL, "input other", { DIVISOR } },
    { "div", NULL, "input other", { RULE(rule_rounded_divisor, "other", "input", 0) } },
    { "divide", NULL, "input other", { RULE(rule_rounded_divisor, "other", "input", 0) } },
    { "__lshift__", NULL, "input other", { SHIFT } },
    { "__rshift__", NULL, "input other", { SHIFT } },
    { "__ilshift__", NULL, "input other", { SHIFT } },
    { "__irshift__", NULL, "input other", { SHIFT } },
    { "bitwise_left_shift", NULL, "input other", { SHIFT } },
    { "bitwise_right_shift", NULL, "input other", { SHIFT } },

    /* Sorted sequences. */
    { "searchsorted", NULL, "sorted_sequence", { RULE(rule_sorted, "sorted_sequence", NULL, 0) } },
    { "bucketize", NULL, "input boundaries", { RULE(rule_sorted, "boundaries", NULL, 0) } },
    { "histogram", NULL, "input bins", { RULE(rule_sorted, "bins", NULL, 0) } },
    { "npu_moe_compute_expert_tokens", NULL, "sorted_experts num_expert",
      { INDEX("sorted_experts", "num_expert", INDEX_OF_COUNT),
        RULE(rule_sorted, "sorted_experts", NULL, 0) } },

    /* Lengths. */
    { "repeat_interleave", NULL, "input repeats dim", { RULE(rule_repeats, "repeats", NULL, 0) } },
    { "tensor_split", NULL, "input tensor_indices_or_sections dim",
      { RULE(rule_split_points, "tensor_indices_or_sections", "input", 0),
        RULE(rule_split_points, "indices_or_sections", "input", 0),
        RULE(rule_split_points, "indices", "input", 0) } },
    { "segment_reduce", NULL, "data reduce lengths",
      { RULE(rule_partition, "lengths", "data", 0) } },
    { "gru", NULL, "input batch_sizes",
      { RULE(rule_partition, "batch_sizes", "input", LENGTHS_DESCEND) } },
    { "lstm", NULL, "input batch_sizes",
      { RULE(rule_partition, "batch_sizes", "input", LENGTHS_DESCEND) } },
    { "rnn_tanh", NULL, "input batch_sizes",
      { RULE(rule_partition, "batch_sizes", "input", LENGTHS_DESCEND) } },
    { "rnn_relu", NULL, "input batch_sizes",
      { RULE(rule_partition, "batch_sizes", "input", LENGTHS_DESCEND) } },
    { "npu_grouped_matmul", NULL, "x weight", { RULE(rule_cumulative, "group_list", "x", 0) } },
    { "gmm.npu_gmm", NULL, "x weight", { RULE(rule_cumulative, "group_list", "x", 0) } },
    { "npu_moe_re_routing", NULL, "tokens expert_token_num_per_rank",
      { RULE(rule_partition, "expert_token_num_per_rank", "tokens", 0) } },

    /* Matrices. */
    { "cholesky", NULL, "input", { MATRIX("input", MATRIX_POSITIVE) } },
    { "cholesky_inverse", NULL, "input", { MATRIX("input", 0) } },
    { "cholesky_solve", NULL, "input input2", { MATRIX("input2", 0) } },
    { "_cholesky_solve_helper", NULL, "input A", { MATRIX("A", 0) } },
    { "inverse", NULL, "input", { MATRIX("input", 0) } },
    { "inv", NULL, "input", { MATRIX("input", 0) } },
    { "pinverse", NULL, "input", { MATRIX("input", 0) } },
    { "pinv", NULL, "input", { MATRIX("input", 0) } },
    { "det", NULL, "input", { MATRIX("input", 0) } },
    { "_linalg_det", NULL, "input", { MATRIX("input", 0) } },
    { "slogdet", NULL, "input", { MATRIX("input", 0) } },
    { "_linalg_slogdet", NULL, "input", { MATRIX("input", 0) } },
    { "logdet", NULL, "input", { MATRIX("input", MATRIX_POSITIVE) } },
    { "solve", NULL, "A B", { RULE(rule_matrix, "A", "B", 0) } },
    { "_linalg_solve", NULL, "A B", { RULE(rule_matrix, "A", "B", 0) } },
    { "matrix_solve", NULL, "A B", { RULE(rule_matrix, "A", "B", 0) } },
    { "triangular_solve", NULL, "b A", { MATRIX("A", 0) } },
    { "solve_triangular", NULL, "A B", { MATRIX("A", 0) } },
    { "tensorsolve", NULL, "A B", { MATRIX("A", MATRIX_FOLDED) } },
    { "tensorinv", NULL, "A ind", { MATRIX("A", MATRIX_FOLDED) } },
    { "cond", NULL, "A p", { MATRIX("A", 0) } },
    { "lu", NULL, "A", { MATRIX("A", 0) } },
    { "lu_factor", NULL, "A", { MATRIX("A", 0) } },
    /* torch.linalg.lu_solve(LU, pivots, B) and torch.lu_solve(b, LU_data, LU_pivots). */
    { "lu_solve", NULL, "A B C",
      { RULE(rule_pivots, "B", "A", 0), RULE(rule_pivots, "C", "B", 0) } },
    { "lu_unpack", NULL, "LU_data LU_pivots", { RULE(rule_pivots, "LU_pivots", "LU_data", 0) } },
    { "ldl_factor", NULL, "A", { MATRIX("A", MATRIX_POSITIVE) } },
    { "ldl_solve", NULL, "LD pivots B",
      { MATRIX("LD", 0), RULE(rule_pivots, "pivots", "LD", MATRIX_POSITIVE) } },
    { "matrix_power", NULL, "input n", { RULE(rule_matrix_power, "input", NULL, 0) } },

    /* Attention. */
    { "scaled_dot_product_attention", NULL, "query key value attn_mask",
      { RULE(rule_open_rows, "attn_mask", NULL, MASK_TRUE_IS_OPEN) } },
    { "multi_head_attention_forward", NULL, "",
      { RULE(rule_open_rows, "key_padding_mask", NULL, 0),
        RULE(rule_open_rows, "attn_mask", NULL, 0) } },
    { "npu_fusion_attention", NULL,
      "query key value head_num input_layout pse padding_mask atten_mask",
      { RULE(rule_triangular_mask, "atten_mask", NULL, 0),
        RULE(rule_cumulative, "actual_seq_qlen", "query", 0),
        RULE(rule_cumulative, "actual_seq_kvlen", "key", 0) } },
    { "npu_fusion_attention_v2", NULL, "query key value",
      { RULE(rule_triangular_mask, "atten_mask", NULL, 0),
        RULE(rule_cumulative, "actual_seq_qlen", "query", 0),
        RULE(rule_cumulative, "actual_seq_kvlen", "key", 0) } },
    { "npu_fusion_attention_v3", NULL, "query key value",
      { RULE(rule_triangular_mask, "atten_mask", NULL, 0),
        RULE(rule_cumulative, "actual_seq_qlen", "query", 0),
        RULE(rule_cumulative, "actual_seq_kvlen", "key", 0) } },
    { "_npu_reshape_and_cache", NULL, "key value key_cache value_cache slot_indices",
      { RULE(rule_cache_slots, "slot_indices", "key_cache", 0) } },
    { "npu_scatter_pa_kv_cache", NULL, "key value key_cache value_cache slot_mapping",
      { RULE(rule_cache_slots, "slot_mapping", "key_cache", 0) } },
    { "npu_mla_prolog", NULL, MLA_PROLOG,
      { RULE(rule_cache_slots, "cache_index", "kv_cache", 0) } },
    { "npu_mla_prolog_v2", NULL, MLA_PROLOG,
      { RULE(rule_cache_slots, "cache_index", "kv_cache", 0) } },
    { "_npu_paged_attention", NULL,
      "query key_cache value_cache num_kv_heads num_heads scale_value block_table",
      { INDEX("block_table", "key_cache", INDEX_OF_ROWS) } },
    { "npu_fused_infer_attention_score", NULL, "query key value",
      { RULE(rule_open_rows, "atten_mask", NULL, 0), INDEX("block_table", "key", INDEX_OF_ROWS) } },
    { "npu_incre_flash_attention", NULL, "query key value",
      { RULE(rule_open_rows, "atten_mask", NULL, 0), INDEX("block_table", "key", INDEX_OF_ROWS) } },
    { "npu_prompt_flash_attention", NULL, "query key value",
      { RULE(rule_open_rows, "atten_mask", NULL, 0) } },

    /* Mixtures of experts. */
    { "npu_moe_init_routing", NULL, "x row_idx expert_idx active_num",
      { INDEX("row_idx", "row_idx", INDEX_OF_ALL | INDEX_UNIQUE),
        DOMAIN("expert_idx", 0, INFINITY) } },
    { "npu_moe_finalize_routing", NULL,
      "expanded_permuted_rows skip1 skip2 bias scales expanded_src_to_dst_row "
      "export_for_source_row",
      { INDEX("expanded_src_to_dst_row", "expanded_permuted_rows", INDEX_OF_ROWS | INDEX_UNIQUE),
        INDEX("export_for_source_row", "bias", INDEX_OF_ROWS) } },
    { "npu_moe_token_permute", NULL, "tokens indices", { DOMAIN("indices", 0, INFINITY) } },
    { "npu_moe_token_unpermute", NULL, "permuted_tokens sorted_indices",
      { INDEX("sorted_indices", "permuted_tokens", INDEX_OF_ROWS | INDEX_UNIQUE) } },

    /* Regions of interest. */
    { "npu_roi_align", NULL, "input rois", { RULE(rule_region_boxes, "rois", "input", 0) } },
    { "npu_rotated_overlaps", NULL, "self query_boxes",
      { RULE(rule_turned_boxes, "self", NULL, 0), RULE(rule_turned_boxes, "query_boxes", NULL, 0) } },
    { "npu_rotated_iou", NULL, "self query_boxes",
      { RULE(rule_turned_boxes, "self", NULL, 0), RULE(rule_turned_boxes, "query_boxes", NULL, 0) } },
    { "npu_nms_rotated", NULL, "dets scores", { RULE(rule_turned_boxes, "dets", NULL, 0) } },
    /* clang-format on */
};

/* ---- look-up ------------------------------------------------------------------------ */

static const struct rule_row *find_row(const char *api, size_t length, const char *group)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rule_row *row = &rows[i];
        if (row->api[0] == api[0] && !strncmp(row->api, api, length) && !row->api[length] &&
            (!row->group || !strcmp(row->group, group)))
            return row;
    }
    return NULL;
}

static const struct rule_row *row_of(const struct api_case *c)
{
    static const char *const prefixes[] = { "", "linalg.", "linalg_" };
    const char *group = c->type ? c->type : "";

    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
        size_t skip = strlen(prefixes[p]);
        if (strncmp(c->api, prefixes[p], skip)) continue;
        const char *name = c->api + skip;
        size_t length = strlen(name);
        const struct rule_row *row = find_row(name, length, group);
        if (!row && length > 1 && name[length - 1] == '_') row = find_row(name, --length, group);
        if (!row && length > 3 && !memcmp(name + length - 3, "_ex", 3))
            row = find_row(name, length - 3, group);
        if (row) return row;
    }
    return NULL;
}

struct status rules_apply(struct generation *generation)
{
    const struct rule_row *row = row_of(generation->api_case);

    if (!row) return status_ok();
    generation->parameters = row->parameters;
    for (size_t i = 0; i < MAX_RULES && row->rules[i].apply; i++) {
        struct status status = row->rules[i].apply(generation, &row->rules[i]);
        if (status.code) return status_within(status, "%s", generation->api_case->full_name);
    }
    return status_ok();
}

const char *rules_api(size_t i, const char **parameters)
{
    if (i >= sizeof rows / sizeof *rows) return NULL;
    *parameters = rows[i].parameters;
    return rows[i].api;
}

/* The largest scratch memory of any rule, for an element of its subject (struct keyed of
 * rules_value.c). */
enum { SCRATCH_BYTES = 24, COMPRESSED_MASK_BYTES = 2048 * 2048 };

size_t rules_extra_bytes(const struct api_case *c)
{
    struct api_case copy = *c;
    struct generation generation = { .api_case = &copy };
    const struct rule_row *row = row_of(c);
    size_t total = 0, n, bytes;

    if (!row) return 0;
    generation.parameters = row->parameters;
    for (size_t i = 0; i < MAX_RULES && row->rules[i].apply; i++) {
        const struct value *subject = generation_argument(&generation, row->rules[i].subject);
        if (row->rules[i].apply == rule_triangular_mask) total += COMPRESSED_MASK_BYTES;
        if (row->rules[i].apply == rule_domain || !subject || subject->kind != VALUE_TENSOR ||
            !subject->tensor.record)
            continue;
        const struct tensor_record *record = subject->tensor.record;
        if (!shape_elements(&n, record->rank, record->shape) ||
            !size_multiply(&bytes, n, SCRATCH_BYTES) || !size_add(&total, total, bytes))
            return SIZE_MAX;
    }
    return total;
}
