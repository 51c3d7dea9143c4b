/* SQLite, loaded when it is first used: mapping it and binding its symbols takes a third of a millisecond, a
 * twentieth of a run of one call, and only graphs are written as databases. */
#ifndef PROBE_GRAPH_SQLITE_LIBRARY_H
#define PROBE_GRAPH_SQLITE_LIBRARY_H

#include "core/status.h"

/* Load it; call before any of its functions, which end the process where it is missing. In a program that was built
 * without SQLite there is no such function. */
struct status sqlite_library_load(void);

#endif
