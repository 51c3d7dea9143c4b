/* All rules, and which API has which: the table is in rules.c. Internal to generators/. */
#ifndef PROBE_GENERATORS_RULES_H
#define PROBE_GENERATORS_RULES_H

#include "generators/rule.h"

/* Make the arguments of the case legal for its API. */
struct status rules_apply(struct generation *generation);

/* API `i` that has rules, and the names of its positional parameters, for tests; NULL after
 * the last. */
const char *rules_api(size_t i, const char **parameters);

/* Bytes that rules may allocate beside the recorded tensors; SIZE_MAX when a shape
 * overflows. */
size_t rules_extra_bytes(const struct api_case *c);

/* rules_index.c */
rule_function rule_index, rule_scatter, rule_advanced_index, rule_index_tuples, rule_unpool,
    rule_cache_slots;
/* rules_value.c */
rule_function rule_domain, rule_divergence, rule_weights, rule_signs, rule_nonzero,
    rule_rounded_divisor, rule_shift, rule_sorted, rule_class_targets, rule_label_lists,
    rule_region_boxes, rule_turned_boxes;
/* rules_length.c */
rule_function rule_offsets, rule_repeats, rule_split_points, rule_partition, rule_cumulative,
    rule_ctc;
/* rules_matrix.c */
rule_function rule_matrix, rule_matrix_power, rule_pivots;
/* rules_mask.c */
rule_function rule_mask_count, rule_mask_index, rule_open_rows, rule_triangular_mask;

#endif
