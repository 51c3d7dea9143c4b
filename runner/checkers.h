/* Those who check the calls of a run: one checker per thread, each with a device and an arena of its
 * own, and what they share: the memory budget and the cores. */
#ifndef PROBE_RUNNER_CHECKERS_H
#define PROBE_RUNNER_CHECKERS_H

#include "runner/check.h"
#include "runner/run_inputs.h"
#include "runner/run_options.h"

struct checkers {
    struct check_setup setup;
    struct checker *items; /* owned, with their open devices */
    size_t count;
    char *repeat; /* owned: the command that repeats a call */
    struct memory_budget budget;
    sem_t compute_slots;
    bool has_gates; /* budget and slots exist */
};

/* Open the devices, side by side, and divide the memory.
 *
 *   out     must stay where it is until it is closed; to be closed also when this fails
 *   inputs  must outlive it
 */
struct status checkers_open(struct checkers *out, const struct run_options *options,
                            const struct run_inputs *inputs);
void checkers_close(struct checkers *checkers);

#endif
