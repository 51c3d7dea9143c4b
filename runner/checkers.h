/* Those who check the calls of a run: one checker per thread, each with a device and an arena of its
 * own, where devices share a process one more for each, and what they share: the memory budget, the cores, and the help with large calls. */
#ifndef PROBE_RUNNER_CHECKERS_H
#define PROBE_RUNNER_CHECKERS_H

#include "runner/check.h"
#include "runner/run_inputs.h"
#include "runner/run_options.h"

struct checkers {
    const char *backend;
    const struct device_class *class;
    struct checker *items; /* owned, with their open devices */
    size_t count;
    /* Behind these: for one call each, whose reference is made while the devices start, and which then take turns with
     * the others. */
    size_t n_ahead;
    pthread_mutex_t *turns; /* owned, where there are such: one for each device */
    size_t
        n_working; /* of these that are at work at a time: others have a call waiting for a device that is shared */
    struct memory_budget budget;
    sem_t compute_slots;
    struct team team; /* the threads of the checkers, and spare ones where there are fewer calls */
    bool has_gates;   /* budget, slots and team exist */
};

/* Open the devices, side by side, and divide the memory.
 *
 *   out      must stay where it is until it is closed; to be closed also when this fails
 *   backend  its name, as the user gives it; must outlive the checkers
 *   calls    how many there are; SIZE_MAX when that is not known
 */
struct status checkers_open(struct checkers *out, const struct run_options *options,
                            const char *backend, size_t calls);

/* The same in two steps: begin, with others that go ahead, and wait until the devices are ready. */
struct status checkers_begin(struct checkers *out, const struct run_options *options,
                             const char *backend, size_t calls);
struct status checkers_ready(struct checkers *checkers);

/* Can the device check this dump? STATUS_BAD_INPUT says why not. */
struct status checkers_accept(const struct checkers *checkers, const struct run_inputs *inputs);

/* What the calls of a dump share. All arguments must outlive it. */
struct check_setup checkers_setup(struct checkers *checkers, const struct run_options *options,
                                  const struct run_inputs *inputs, const char *repeat);
void checkers_close(struct checkers *checkers);

/* Add to the record, for people, what the devices call themselves: "PyTorch 2.4 npu Ascend910B", each once. */
struct status checkers_describe(struct run_record *record, const struct checkers *checkers);

#endif
