/* Pairing by the hierarchy of modules: an entry has a scope (the modules it lies in, the framework's
 * function it was called in, its own name); scopes of the NPU side are translated by rules that belong
 * to classes, and entries with equal scopes meet in order.
 */
#ifndef PROBE_COMPARE_DUMPS_LAYER_MAPPING_H
#define PROBE_COMPARE_DUMPS_LAYER_MAPPING_H

#include "compare/dumps/pairing.h"
#include "core/file.h"
#include "formats/yaml_tree.h"

/* For each NPU entry the Bench entry, or ROW_NONE: `n_entries` numbers, to be freed with
 * memory_release.
 *
 *   rules   the mapping file's root, or NULL: names must agree
 *   paths   of the dumps; construct.json and stack.json lie beside them
 *   errors  STATUS_BAD_INPUT when one of those is missing or broken */
struct status layer_mapping_match(uint32_t **bench_entry, const struct yaml_document *rules,
                                  const struct dump_pair *dumps, const char *npu_path,
                                  const char *bench_path, struct file_policy policy);

/* Is the mapping file what it should be: mappings of texts by class? */
struct status layer_mapping_check(const struct yaml_document *rules);

/* The scope of an entry, appended: for messages and tests. */
struct layer_side;
struct status layer_side_open(struct layer_side **out, const struct dump_rows *dump,
                              const char *path, struct file_policy policy);
const char *layer_side_scope(const struct layer_side *side, uint32_t entry);
void layer_side_close(struct layer_side *side); /* NULL is fine */

#endif
