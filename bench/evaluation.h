/* One case evaluated, as the parts of the bench see it. */
#ifndef PROBE_BENCH_EVALUATION_H
#define PROBE_BENCH_EVALUATION_H

#include "bench/bench.h"
#include "bench/call/call.h"

/* The call that a bench has evaluated; tests look into its tape. */
struct call *bench_call(struct bench *bench);

#endif
