/* From construct.json to the hierarchy: parents repaired, recomputed layers put where they belong,
 * calls between modules collected, micro steps numbered.
 */
#ifndef PROBE_GRAPH_BUILD_H
#define PROBE_GRAPH_BUILD_H

#include "formats/construct.h"
#include "graph/model.h"

/* Build the tree. The names of `construct` move into the model; close it all the same.
 *
 *   out          end with model_close; empty on failure
 *   gradients    names of the dump's entries "{module}.parameters_grad[.{n}]", which become
 *                children of the module's last backward call; may be NULL when n_gradients is 0
 */
struct status model_build(struct model *out, struct construct *construct,
                          const struct name_slice *gradients, size_t n_gradients);

/* Number the pages of a model that was put together from others, which are like `like`: those that the
 * dump recorded stay. */
void model_number_micro_steps(struct model *model, const struct model *like);

#endif
