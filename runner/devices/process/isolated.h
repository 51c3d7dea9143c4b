/* Code that runs isolated, as it sees itself: the handler of a call, on the far side of
 * isolation.h. */
#ifndef PROBE_RUNNER_DEVICES_PROCESS_ISOLATED_H
#define PROBE_RUNNER_DEVICES_PROCESS_ISOLATED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "runner/devices/process/isolation_space.h"

/* What a handler sees of a call. */
struct isolated {
    unsigned char *base; /* of the shared memory, the kernel's view: inputs are read-only */
    struct space_header *header;
    void *state; /* the handler's own, kept from call to call of one process; starts as NULL */
};

/* Code on the far side. `request` was placed by the program with space_request. A failure is
 * returned to the program's caller as it is. The first call in each process has `starting` set
 * and the request given to isolation_open. */
typedef struct status isolation_handler(struct isolated *isolated, const void *request,
                                        uint64_t bytes, bool starting);

/* For handlers: name the function that is called next, for the diagnosis. */
void isolated_doing(struct isolated *isolated, const char *function);

/* Put a status into the header, where the program finds it. */
void isolated_answer(struct isolated *isolated, struct status status);

/* Run the handler and put its status into the header. */
void isolated_handle(struct isolated *isolated, isolation_handler *handler, const void *request,
                     uint64_t bytes, bool starting);

#endif
