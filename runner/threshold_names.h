/* The API names in a user's file of limits. A limit for an API that does not exist would never be
 * looked at, and nobody would hear of it. */
#ifndef PROBE_RUNNER_THRESHOLD_NAMES_H
#define PROBE_RUNNER_THRESHOLD_NAMES_H

#include "core/file.h"
#include "core/status.h"

/* Do all APIs exist that the overrides of `path` are for? `path` NULL: there is no file.
 *
 *   errors  STATUS_BAD_INPUT with file, line and key, and the nearest name; only names are looked at,
 *           whatever else is wrong is left to who reads the limits
 */
struct status threshold_names_check(const char *path, struct file_policy policy);

#endif
