/* OpenSSL, loaded when it is first used: binding its symbols takes 1 to 2 ms, and only `serve` encrypts. */
#ifndef PROBE_ONLINE_TLS_LIBRARY_H
#define PROBE_ONLINE_TLS_LIBRARY_H

#include "core/status.h"

/* Load it; call before any of its functions, which end the process where it is missing. In a program that was built
 * without OpenSSL there is no such function. */
struct status tls_library_load(void);

#endif
