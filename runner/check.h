/* One call checked: the straight line from the dump to the rows of the result files.
 *
 *   case -> inputs -> reference -> device -> judge the outputs -> gradients -> judge those
 *
 * What goes wrong on the way becomes a row with the reason; only what concerns the whole run (a
 * dump that turns out to be malformed) is a failure of case_check itself.
 */
#ifndef PROBE_RUNNER_CHECK_H
#define PROBE_RUNNER_CHECK_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "formats/csv.h"
#include "formats/dump.h"
#include "generators/generate.h"
#include "runner/api_lists.h"
#include "runner/devices/device.h"
#include "runner/memory_budget.h"
#include "standards/judge.h"

struct error_data;

/* What all calls of a run share. Immutable while it runs but for the budget and the slots. */
struct check_setup {
    const struct dump *dump;
    const struct profile *profile;
    const struct api_lists *lists;
    const struct error_data *error_data; /* NULL: failing tensors are not saved */
    struct generate_options generate;
    int precision; /* decimals of printed doubles */
    struct memory_budget *budget;
    sem_t *compute_slots; /* one per core: more threads than that only wait for devices */
    bool save_timings;
    const char *repeat; /* the command that repeats one call, up to its name */
};

struct workers;

/* What one worker thread owns. */
struct check_worker {
    const struct check_setup *setup;
    struct workers *workers; /* the others */
    struct arena arena;
    struct device *device;
};

/* A row that the summary may show: everything but a pass. */
struct row_note {
    enum verdict verdict;
    char *name;         /* of the row; NULL for SKIP */
    char *message;      /* of a SKIP row; NULL otherwise */
    const char *metric; /* what decided, a constant; "" when a message says it all */
    double value, limit;
};

/* The outcome of one call. All zeros is an empty one; memory is kept from call to call. */
/* Components of floating-point references: all, those within 2^-10 ulp of the tested dtype (as a
 * whole tensor), those that took a higher tier than double; and outputs of which more than a
 * thousandth did. */
struct reference_use {
    size_t components, certified, recomputed, costly_outputs;
};

struct case_outcome {
    struct status fatal; /* not OK: the run cannot go on */
    bool internal_error; /* a promise of ours was broken: a SKIP row, and exit status 4 */
    struct csv_buffer details, result, evidence;
    enum verdict forward, backward;
    struct row_note *notes;
    size_t n_notes, notes_capacity;
    struct reference_use references;
    double bench_s, device_s, judge_s;
};

/* Check call `position` of the dump. False when the run was stopped meanwhile and there is no
 * outcome. */
bool case_check(struct case_outcome *out, struct check_worker *worker, size_t position);

void case_outcome_clear(struct case_outcome *outcome);
void case_outcome_release(struct case_outcome *outcome);

#endif
