/* A user's file over a profile (config/standards_override.schema.json): limits, standards and modes for some APIs and dtypes. */
#ifndef PROBE_STANDARDS_PROFILE_OVERRIDE_H
#define PROBE_STANDARDS_PROFILE_OVERRIDE_H

#include "core/file.h"
#include "standards/profile_parts.h"

struct status profile_load_overrides(struct profile *profile, const char *path,
                                     struct file_policy policy);

#endif
