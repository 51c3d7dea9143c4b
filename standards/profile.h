/* A profile: the rules by which outputs are judged, read from config/profile_<name>.json and,
 * over it, from a user's file of the same form.
 *
 * Profiles are immutable once loaded and may be shared by threads.
 */
#ifndef PROBE_STANDARDS_PROFILE_H
#define PROBE_STANDARDS_PROFILE_H

#include "core/status.h"

struct profile;

/* Load a built-in profile, with a user's overrides.
 *
 *   out            the profile, to be released with profile_release; untouched on failure
 *   name           one of profile_names()
 *   override_path  a JSON file that changes values per API and dtype, or NULL
 *   errors         STATUS_BAD_ARGUMENT for an unknown name; STATUS_BAD_INPUT for the user's
 *                  file, with its line and the key at fault
 */
struct status profile_load(struct profile **out, const char *name, const char *override_path);

void profile_release(struct profile *profile);

const char *profile_name(const struct profile *profile);

/* Names of the built-in profiles, default first, ended by NULL. */
const char *const *profile_names(void);

#endif
