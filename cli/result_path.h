/* Names of results that have the time in them. */
#ifndef PROBE_CLI_RESULT_PATH_H
#define PROBE_CLI_RESULT_PATH_H

#include "core/status.h"

/* "{directory}/{stem}_{timestamp}.{suffix}" of this second, or of the next that is free. The caller
 * releases *out. */
struct status result_path_make(char **out, const char *directory, const char *stem,
                               const char *suffix);

#endif
