/* Which calls are checked: white and black list of a configuration file, and the APIs that can
 * never be.
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

enum { DEFAULT_PRECISION = 14, MAX_PRECISION = 20 };

struct api_lists {
    const char **white; /* bare names: "conv2d", "linalg.inv" */
    size_t n_white;
    const char **black;
    size_t n_black;
    const char *error_data_path; /* NULL when not given */
    int precision;               /* decimals of printed doubles */
};

/* Nothing listed, the defaults. */
struct api_lists api_lists_default(void);

/* Read config.json: its object "run_ut" or "acc_check". Texts live in `arena`.
 *
 *   errors  STATUS_BAD_ARGUMENT naming file, key and value: an unknown key or API name (with the
 *           nearest), a value of the wrong type; STATUS_BAD_INPUT: not a JSON file, with line
 *           and column
 */
struct status api_lists_read(struct api_lists *out, struct arena *arena, const char *path,
                             struct file_policy policy);

/* STATUS_SKIP with the reason for a call that is not to be checked, of which only the name need be
 * known; *cause says whether it is the lists, or an API that never is. */
struct status api_lists_admit(enum row_cause *cause, const struct api_lists *lists,
                              const struct api_case *c);

#endif
