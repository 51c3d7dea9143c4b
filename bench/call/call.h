/* A call in progress: an API's row, run on a tape with the arguments of a case. */
#ifndef PROBE_BENCH_CALL_CALL_H
#define PROBE_BENCH_CALL_CALL_H

#include "bench/call/arguments.h"
#include "bench/call/device_answer.h"
#include "bench/call/results.h"
#include "bench/tape/tape.h"
#include "core/case.h"

struct op;

struct call {
    const struct op *op;
    const struct api_case *api_case;
    struct tape *tape;
    bool in_place;  /* the name was an in-place spelling: the result takes self's dtype */
    bool reflected; /* __radd__ and the like: the two operands were swapped for the row */
    struct arguments arguments;
    struct results results;
    struct device_answer device_answer;
};

#endif
