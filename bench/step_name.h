/* What messages and hypotheses call a step of a call's composition. */
#ifndef PROBE_BENCH_STEP_NAME_H
#define PROBE_BENCH_STEP_NAME_H

#include "bench/tape/tape.h"

/* What a step does: "softmax", "a sum"; functions are known by their own name, which their row begins with. */
const char *step_name(const struct node *node);

#endif
