/* A call that is being checked: what its stages hand on. Only the files of check.h include this. */
#ifndef PROBE_RUNNER_CHECK_STATE_H
#define PROBE_RUNNER_CHECK_STATE_H

#include "bench/bench.h"
#include "runner/check.h"
#include "runner/repeats.h"

/* What has been made of a call. All of it lives in the checker's arena or is mapped, and goes with
 * forget_call. */
struct call {
    struct api_case recorded; /* as the dump has it */
    struct api_case c;        /* the call of PyTorch that computes the same */
    /* The call with its inputs, when they are not to be read from the dump; or NULL. It may have outputs too. */
    const struct api_case *given;
    struct bench_precision precision;
    enum dtype autocast; /* that its arguments were cast to, or DT_NONE */
    struct generate_notes inputs;
    const char
        *sizes; /* which it has instead of the recorded ones; NULL when none were asked for */
    struct bench *bench;
    struct device_result got;
    struct repeats repeats;
    struct bench_output *gradients; /* of the reference, when there were any */
    size_t n_gradients;
    size_t diagnosis_bytes; /* reserved for looking into rows that fail; 0: none is */
};

struct check {
    const struct check_setup *setup;
    struct checker *checker;
    struct arena *arena; /* of the checker */
    struct call call;
    struct call_rows rows;
    struct second_check *second; /* or NULL */
};

/* How a stage ended. With a status that is not OK, `cause` says what the row is to say. */
struct ending {
    struct status status;
    enum row_cause cause;
};

#endif
