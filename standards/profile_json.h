/* What the built-in files of profiles and the files of users have alike. A fault names the file, its line and the key. */
#ifndef PROBE_STANDARDS_PROFILE_JSON_H
#define PROBE_STANDARDS_PROFILE_JSON_H

#include "formats/config_json.h"
#include "standards/profile_parts.h"

struct status profile_read_text(const char **out, const struct config_json *file,
                                const cJSON *item);

/* Position of a word in a table ended by NULL. */
struct status profile_read_choice(int *out, const struct config_json *file, const cJSON *item,
                                  const char *const *choices, const char *kind);

/* A dtype or an array of dtypes. */
struct status profile_read_dtypes(dtype_mask *out, const struct config_json *file,
                                  const cJSON *item);

/* An API name or an array of them. */
struct status profile_read_apis(struct api_set *out, const struct config_json *file,
                                const cJSON *item);

/* An object of limits, for some APIs and dtypes: assignments of the profile, one after the other. */
struct status profile_read_limits(struct profile *profile, const struct config_json *file,
                                  const cJSON *object, struct api_set apis, dtype_mask dtypes);

#endif
