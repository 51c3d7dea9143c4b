/* The built-in file of a profile: all its rules, and every limit that is needed. */
#ifndef PROBE_STANDARDS_PROFILE_BUILT_IN_H
#define PROBE_STANDARDS_PROFILE_BUILT_IN_H

#include "core/embedded.h"
#include "standards/profile_parts.h"

/* Read profile_NAME.json of `files` (ended by a NULL name) into the profile, which has its name. */
struct status profile_load_built_in(struct profile *profile, const struct embedded_file *files);

#endif
