/* Which row computes a call, and what its parameters are bound to. */
#ifndef PROBE_BENCH_BINDING_H
#define PROBE_BENCH_BINDING_H

#include "bench/call/call.h"

/* Set op, schema, bound, given and the spelling in `call` for the case. STATUS_SKIP when the
 * catalogue has no such API, when no row's schema takes the arguments (the first row's reason), or
 * when an API that writes would write an element twice. */
struct status call_bind(struct call *call, const struct api_case *c, struct arena *arena);

#endif
