/* A small process that forks other processes.
 *
 * Forking is cheap from a small process (0.1 ms) and dear from one that holds gigabytes of
 * tensors (120 ms, for the page tables). So a copy of the program is put aside before threads
 * are started and tensors are loaded; it does nothing but fork on request, hand over
 * descriptors and report how its children ended. It leaves the terminal's process group, so
 * that Ctrl-C reaches only the program, which decides what happens to its children. When the
 * program ends, for whatever reason, the zygote sees its socket close, kills what it forked and
 * ends too.
 */
#ifndef PROBE_RUNNER_DEVICES_PROCESS_ZYGOTE_H
#define PROBE_RUNNER_DEVICES_PROCESS_ZYGOTE_H

#include <stddef.h>
#include <sys/types.h>

#include "core/status.h"

struct zygote;

/* Most descriptors that a child can be given. */
enum { ZYGOTE_MAX_DESCRIPTORS = 8 };

/* What a child runs: a function of this program, which both processes hold at the same address.
 * `descriptors` are the child's own; every other descriptor above 2 is closed. The process
 * ends with status 0 when it returns. */
typedef void zygote_entry(const int *descriptors, size_t count);

/* Fork the zygote. Call it early: before threads and before large memory.
 *
 *   errors  STATUS_IO when the system refuses a process or a socket
 */
struct status zygote_start(struct zygote **out);

/* End the zygote and every child it still has. NULL is allowed. */
void zygote_stop(struct zygote *zygote);

/* Fork a child of the zygote that runs `entry`. The child leads a process group of its own, has
 * /dev/null as standard input and dies with the zygote.
 *
 *   descriptors  duplicated into the child; the caller keeps its own
 *   threads      safe
 */
struct status zygote_spawn(struct zygote *zygote, pid_t *pid, zygote_entry *entry,
                           const int *descriptors, size_t count);

/* Wait until child `pid` has ended, and fetch its wait status (for WIFEXITED and so on). Until
 * then the number `pid` is not given to another process, so it may be killed by it.
 *
 *   threads  safe; others wait meanwhile, so make sure the child is ending
 */
struct status zygote_reap(struct zygote *zygote, pid_t pid, int *wait_status);

#endif
