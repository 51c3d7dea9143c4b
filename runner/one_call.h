/* A single call of a dump, ready to be checked as a run would check it: for `case`, and for whoever
 * varies a call and checks it again. */
#ifndef PROBE_RUNNER_ONE_CALL_H
#define PROBE_RUNNER_ONE_CALL_H

#include "runner/checkers.h"
#include "runner/run_inputs.h"
#include "runner/run_options.h"

struct one_call {
    struct run_options options;
    struct run_inputs inputs;
    struct checkers checkers; /* one */
    char *repeat, *reproduce; /* owned */
    struct check_setup setup;
    size_t position; /* of the call in the dump */
};

/* Open what the options name and find the call by any of its names (run_inputs_find).
 *
 *   out  must stay where it is until it is closed; to be closed also when this fails
 */
struct status one_call_open(struct one_call *out, const struct run_options *options,
                            const char *name);
void one_call_close(struct one_call *call);

/* Who checks it. */
struct checker *one_call_checker(struct one_call *call);

/* The call with the inputs that a run gives it, in `arena`. Loaded tensors lie in mappings that
 * last as long as the dump is open. */
struct status one_call_read(struct api_case *out, struct arena *arena, const struct one_call *call);

#endif
