/* Reading a profile from given tables: for tests of what a table may not say. */
#ifndef PROBE_STANDARDS_PROFILE_READ_H
#define PROBE_STANDARDS_PROFILE_READ_H

#include "core/embedded.h"
#include "standards/profile.h"

/* As profile_load, with the built-in tables taken from `files` (ended by a NULL name). */
struct status profile_read(struct profile **out, const char *name,
                           const struct embedded_file *files, const char *override_path,
                           struct file_policy policy);

#endif
