/* The limit of the process is raised; what is refused shows when a file cannot be opened. */
#include "core/descriptors.h"

#include <sys/resource.h>

void descriptors_allow(size_t more)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY) return;
    limit.rlim_cur = limit.rlim_max - limit.rlim_cur < more ? limit.rlim_max
                                                            : limit.rlim_cur + more;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}
