/* How many files and connections the process may have open. */
#ifndef PROBE_CORE_DESCRIPTORS_H
#define PROBE_CORE_DESCRIPTORS_H

#include <stddef.h>

/* Room for `more` descriptors beside those that were allowed so far, as far as the system gives it: the soft limit
 * is 1024 in most places, and the hard one far above. */
void descriptors_allow(size_t more);

#endif
