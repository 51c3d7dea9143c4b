/* Was a recorded call made under autocast? */
#ifndef PROBE_RUNNER_DEVICES_AUTOCAST_H
#define PROBE_RUNNER_DEVICES_AUTOCAST_H

#include "core/case.h"

/* The dtype that autocast computed this call in, DT_NONE for none: with several of float16,
 * bfloat16 and float32 among the tensors the one that is not float32; with one of them and an
 * output recorded in another, that output's. Only float16 and bfloat16 can be autocast to. */
enum dtype case_autocast(const struct api_case *c);

#endif
