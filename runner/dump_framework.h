/* Which framework a dump is of, and which of its entries the pre-check of that framework runs. */
#ifndef PROBE_RUNNER_DUMP_FRAMEWORK_H
#define PROBE_RUNNER_DUMP_FRAMEWORK_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/case.h"
#include "core/framework.h"
#include "core/status.h"
#include "formats/dump.h"

/* The framework of a run.
 *
 *   wanted   what -f says, or NULL; otherwise the dump's header, and where that is silent the types of
 *            its calls: Mint and MintFunctional without Torch are MindSpore's
 *   path     of the dump, for messages
 *   errors   STATUS_BAD_ARGUMENT when -f and the dump disagree; STATUS_BAD_INPUT when the dump names a
 *            framework that nobody knows
 */
struct status dump_framework_choose(const struct framework **out, const struct dump *dump,
                                    const char *wanted, const char *path);

/* The backend when none is named: the recorded outputs of a MindSpore dump that has them. */
const char *dump_framework_backend(const struct framework *framework, const struct dump *dump);

/* Has this entry rows? `listed_only`: of Tensor and Functional only the names that the pre-check for
 * MindSpore runs. */
bool dump_framework_checks(const struct framework *framework, bool listed_only,
                           const char *full_name);

/* A call as its framework understands the entry: its name is of that framework, and where gradients
 * are those of floating positional tensors, exactly these require one. */
struct status dump_framework_adopt(struct api_case *c, struct arena *arena,
                                   const struct framework *framework);

#endif
