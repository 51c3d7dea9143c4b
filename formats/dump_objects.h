/* What the objects of a dump become that have a "type". Only the readers of dumps include this. */
#ifndef PROBE_FORMATS_DUMP_OBJECTS_H
#define PROBE_FORMATS_DUMP_OBJECTS_H

#include <stdbool.h>

#include "core/arena.h"
#include "formats/dump.h"
#include "formats/json.h"

struct dump_parser {
    struct json json;
    struct arena *arena; /* owns what is read */
    bool no_memory;      /* the problem of `json` is that */
};

/* Makes that the problem; false. */
bool dump_out_of_memory(struct dump_parser *p);

/* The fields of an encoded object, whatever its type. */
struct dump_fields {
    struct tensor_record record;
    const char *datapath, *data_name;
    struct value value;
    const char *format;
    struct value group_ranks;
    const char *group_id;
    bool has_shape;
};

/* The value of an encoded object. What has no meaning here is VALUE_UNSUPPORTED with its type.
 *
 *   fields  all that were written; may be changed
 *   type    its type as written
 *   at      its place
 *   returns false when the fields are not those of the type, or for want of memory: `p` has the problem
 */
bool dump_object_make(struct dump_parser *p, struct value *out, struct dump_fields *fields,
                      const struct json_slice *type, const char *at);

#endif
