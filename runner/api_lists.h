/* Which calls are checked: the lists of the command line and of a configuration file, and the APIs
 * that can never be.
 */
#ifndef PROBE_RUNNER_API_LISTS_H
#define PROBE_RUNNER_API_LISTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/case.h"
#include "core/file.h"
#include "core/status.h"
#include "results/outcome.h"
#include "runner/call_patterns.h"

enum { DEFAULT_PRECISION = 14, MAX_PRECISION = 20 };

struct api_lists {
    struct call_patterns white, black; /* of the configuration: what they leave out has SKIP rows */
    struct call_patterns only, skip;   /* of the command line: what they leave out has none */
    bool is_online;                    /* the configuration is one of the online pre-check */
    bool plain_names_only;             /* dotted names of APIs are not checked */
    bool runs_all_groups;        /* torch._VF and MindSpeed are checked, which msprobe never runs */
    const char *error_data_path; /* NULL when not given */
    int precision;               /* decimals of printed doubles */
};

/* Nothing listed, the defaults. */
struct api_lists api_lists_default(void);

/* Read config.json: its object "run_ut" or "acc_check". Texts live in `arena`.
 *
 *   errors  STATUS_BAD_ARGUMENT naming file, key and value: an unknown key or API name (with the
 *           nearest), a pattern that is none, a value of the wrong type; STATUS_BAD_INPUT: not a JSON file, with line
 *           and column
 */
struct status api_lists_read(struct api_lists *out, struct arena *arena, const char *path,
                             struct file_policy policy);

/* The names of --only and --skip; NULL: not given. Texts live in `arena`. */
struct status api_lists_read_options(struct api_lists *lists, struct arena *arena, const char *only,
                                     const char *skip);

/* STATUS_SKIP with the reason for a call that is not to be checked, of which only the name need be
 * known; *cause says whether it is the white and black list, or an API that never is. */
struct status api_lists_admit(enum row_cause *cause, const struct api_lists *lists,
                              const struct api_case *c);

#endif
