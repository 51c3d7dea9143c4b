/* Names of one side in the words of the other: mapping files of the user and the built-in tables. A
 * mapping becomes a rule of pairing.
 *
 *   API    ms_api: pt_api, with the arguments that correspond; over a built-in table
 *   cell   {cell path}.{Class}: {module path}.{Class}
 *   data   {row name}: {row name}
 *   layer  {Class}: { {npu sub-path}: {bench sub-path} }, along the hierarchy of modules
 */
#ifndef PROBE_COMPARE_DUMPS_MAPPING_H
#define PROBE_COMPARE_DUMPS_MAPPING_H

#include "compare/dumps/pairing.h"
#include "core/file.h"
#include "core/warnings.h"

enum mapping_kind { MAPPING_NONE, MAPPING_API, MAPPING_CELL, MAPPING_DATA, MAPPING_LAYER };

struct mapping;

/* Read a mapping; immutable afterwards, shared by comparisons side by side.
 *
 *   path    a YAML file, or NULL for the built-in behaviour; required for MAPPING_DATA
 *   errors  STATUS_BAD_INPUT with the place in the file: no mapping, indices that occur twice or are
 *           negative. Lists of different lengths are warned about and their record skipped. */
struct status mapping_open(struct mapping **out, enum mapping_kind kind, const char *path,
                           struct file_policy policy, struct warnings warnings);
void mapping_close(struct mapping *mapping); /* NULL is fine */
enum mapping_kind mapping_kind(const struct mapping *mapping);

/* A mapping in use for a pair of dumps. */
struct mapping_use;

/* Set the rule; `use` owns what it needs and must live as long. The paths are those of the dumps, beside
 * which a layer mapping finds construct.json and stack.json; both must be there on both sides. */
struct status mapping_apply(struct mapping_use **use, struct pairing_rule *rule,
                            const struct mapping *mapping, const struct dump_pair *dumps,
                            const char *npu_path, const char *bench_path,
                            struct file_policy policy);
void mapping_use_close(struct mapping_use *use); /* NULL is fine */

/* After rows were paired: how many names of the user's file no row has asked for, and the first of them
 * (NULL without), which lives as long as the mapping. Rules of layers are not counted. */
uint32_t mapping_use_count_idle(const struct mapping_use *use, const char **first);

#endif
