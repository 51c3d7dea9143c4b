/* stack.json: where in the program a call was made. Two layouts exist: {api: [frame, ...]} and, with a
 * key "0", {"0": [[api, ...], [frame, ...]], ...}.
 */
#ifndef PROBE_FORMATS_STACKS_H
#define PROBE_FORMATS_STACKS_H

#include <stdbool.h>

#include "core/file.h"
#include "core/status.h"
#include "formats/json.h"

struct stacks;

/* Read a stack file; it stays mapped. STATUS_BAD_INPUT names the file and the place. */
struct status stacks_open(struct stacks **out, const char *path, struct file_policy file_policy);

/* Read the stack.json beside a dump. *out is NULL, with an OK status, when there is none. */
struct status stacks_open_beside(struct stacks **out, const char *dump_path,
                                 struct file_policy file_policy);

/* The same from a text in memory, which must outlive the stacks; `name` stands for it in messages. */
struct status stacks_read(struct stacks **out, const char *name, const char *text, size_t bytes);
void stacks_close(struct stacks *stacks); /* NULL is fine */

/* Is there a stack of this entry? */
bool stacks_have(const struct stacks *stacks, const char *entry, size_t length);

/* The frames one by one: `json` is set to where their array begins; false when there is none. */
bool stacks_find(struct json *json, const struct stacks *stacks, const char *entry, size_t length);

#endif
