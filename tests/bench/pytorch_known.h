/* What PyTorch 1.13 is known to get wrong: tests/long/pytorch_known.txt, which says how it is written. */
#ifndef PROBE_TESTS_BENCH_PYTORCH_KNOWN_H
#define PROBE_TESTS_BENCH_PYTORCH_KNOWN_H

#include <stdbool.h>

#include "core/case.h"

/* Is it known of this call in float64? `backward`: its results are right, and its gradients are in question. */
bool pytorch_is_known_wrong(struct api_case *c, bool backward);

#endif
