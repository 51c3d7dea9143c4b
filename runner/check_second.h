/* A call that has been checked, on a second device beside. */
#ifndef PROBE_RUNNER_CHECK_SECOND_H
#define PROBE_RUNNER_CHECK_SECOND_H

#include "runner/check_state.h"

/* The rows of `k->second`, in an outcome of its own. The call is as it was afterwards. The caller has a slot. */
void check_second(struct check *k);

#endif
