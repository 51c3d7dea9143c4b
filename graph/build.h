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

#endif
