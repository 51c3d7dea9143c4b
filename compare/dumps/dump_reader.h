/* The reader of a dump.json (or debug.json), which makes the rows of dump_rows.h.
 */
#ifndef PROBE_COMPARE_DUMPS_DUMP_READER_H
#define PROBE_COMPARE_DUMPS_DUMP_READER_H

#include "compare/dumps/dump_rows.h"
#include "core/file.h"

/* Read a dump.
 *
 *   out     end with dump_rows_close; empty on failure
 *   path    ends in dump.json or debug.json
 *   errors  STATUS_BAD_INPUT that names the file and the place: no JSON, no object, no or an unknown
 *           task, data missing or no object, a framework that cannot be told
 *
 * An entry that is no object has no rows. */
struct status dump_rows_open(struct dump_rows *out, const char *path,
                             struct file_policy file_policy);

/* The same from a text in memory, which is not needed afterwards; `name` stands for it in messages. */
struct status dump_rows_read(struct dump_rows *out, const char *name, const char *text,
                             size_t bytes);

#endif
