/* libmicrohttpd, loaded when it is first used: with the libraries that it is linked with (GnuTLS and theirs) binding
 * its symbols takes 2 to 3 ms, and only `serve --http` answers requests. */
#ifndef PROBE_ONLINE_HTTP_LIBRARY_H
#define PROBE_ONLINE_HTTP_LIBRARY_H

#include "core/status.h"

/* Load it; call before any of its functions, which end the process where it is missing. In a program that was built
 * without libmicrohttpd there is no such function. */
struct status http_library_load(void);

#endif
