/* One memory budget for all cases in flight.
 *
 * A case is admitted when its peak fits beside those that run; those that wait are served in
 * the order in which they came, so that a large case is not overtaken for ever. A case that
 * needs the whole budget runs alone.
 */
#ifndef PROBE_RUNNER_MEMORY_BUDGET_H
#define PROBE_RUNNER_MEMORY_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct memory_budget {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t limit_bytes;
    uint64_t used_bytes;
    uint64_t next_ticket; /* handed to the next that asks */
    uint64_t served;      /* ticket whose turn it is */
    bool closed;
};

void memory_budget_init(struct memory_budget *budget, uint64_t limit_bytes);
void memory_budget_destroy(struct memory_budget *budget);

/* Wait until `bytes` (at most the limit) fit, and take them. False, with nothing taken, when
 * the budget was closed. */
bool memory_budget_take(struct memory_budget *budget, uint64_t bytes);

void memory_budget_return(struct memory_budget *budget, uint64_t bytes);

/* From now on nothing is admitted; everybody who waits is told so. */
void memory_budget_close(struct memory_budget *budget);

/* Memory that this process can still take without swapping: what the kernel says is available,
 * and not more than a limit of the control group leaves. */
uint64_t memory_available_bytes(void);

#endif
