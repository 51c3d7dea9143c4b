/* The far side of isolation.h: what a kernel process does between its calls. */
#ifndef PROBE_RUNNER_DEVICES_PROCESS_ISOLATION_CHILD_H
#define PROBE_RUNNER_DEVICES_PROCESS_ISOLATION_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "runner/devices/process/isolated.h"

/* One message in each direction. */
struct isolation_message {
    uint64_t sequence;
    uint64_t offset, bytes; /* of the request; unused in an answer */
    uint32_t starting;
    uint32_t reserved;
    isolation_handler *handler;
    void (*finish)(void *state);
    uint64_t memory_limit;
};

/* Descriptors of a kernel process, in this order. */
enum { CHILD_SOCKET, CHILD_MEMORY, CHILD_LOG, CHILD_DESCRIPTORS };

/* The zygote_entry of a kernel process. */
void isolation_child(const int *descriptors, size_t count);

/* Was a fault a write? 1, 0, or -1 when the records do not say. They are what an aarch64 kernel
 * puts beside the registers for a signal handler; one of them is the exception syndrome (Arm ARM,
 * ESR_EL1): a data abort from user space tells in bit 6 whether it was a write. */
int isolation_fault_is_write(const unsigned char *records, size_t bytes);

#endif
