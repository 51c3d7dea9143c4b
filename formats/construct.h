/* construct.json: which module or call lies in which, in the order of execution.
 *
 * An object child -> parent; the parent null or "" for the top level. With the key
 * `megatron_micro_step_number` values may be [parent, micro step], and plain values belong to micro
 * step 0.
 */
#ifndef PROBE_FORMATS_CONSTRUCT_H
#define PROBE_FORMATS_CONSTRUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/file.h"
#include "core/text_table.h"

#define LINK_NONE UINT32_MAX

struct construct_link {
    uint32_t child, parent; /* numbers of names; parent is TEXT_NONE at the top level */
    uint32_t micro_step;
};

struct construct {
    struct text_table names;      /* of children and parents */
    struct construct_link *links; /* in the order of the file */
    uint32_t n_links, link_room;
    uint32_t *link_of; /* by name: the link whose child it is, or LINK_NONE */
    uint32_t n_link_of;
    bool has_micro_steps; /* the file records them */
    uint32_t micro_steps; /* their number as recorded, plus 1 */
};

/* Read a file.
 *
 *   out     end with construct_close; empty on failure
 *   errors  STATUS_BAD_INPUT that names the file and the place: no JSON, no object, a value that is
 *           neither a name nor null
 *
 * An object without entries, which a dump of level L1 leaves, gives no links.
 * A child that is named twice keeps its first place and takes its last parent. */
struct status construct_read(struct construct *out, const char *path, struct file_policy policy);
void construct_close(struct construct *construct);

/* The parent of a name that is a key; false when it is none. */
bool construct_parent(const struct construct *construct, uint32_t name, uint32_t *parent);

#endif
