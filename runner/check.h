/* One call checked: the straight line from the dump to the rows of the result files.
 *
 *   case -> inputs -> reference -> device -> judge the outputs -> gradients -> judge those
 *
 * What goes wrong on the way becomes a row with the reason; only what concerns the whole run (a
 * dump that turns out to be malformed) is a failure of case_check itself.
 */
#ifndef PROBE_RUNNER_CHECK_H
#define PROBE_RUNNER_CHECK_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/parallel.h"
#include "formats/dump.h"
#include "generators/generate.h"
#include "results/outcome.h"
#include "runner/api_lists.h"
#include "runner/call_rows.h"
#include "runner/call_tensors.h"
#include "runner/devices/device.h"
#include "runner/memory_budget.h"
#include "runner/start_gate.h"
#include "standards/budget.h"

struct error_data;

/* What the calls of one dump share. Immutable while they are checked but for the budget and the
 * slots, which all dumps of a run share. */
struct check_setup {
    const struct dump *dump; /* NULL where calls come with their tensors (case_check_record) */
    const struct framework *framework; /* of the dump */
    const struct api_lists *lists;
    struct row_style style;
    struct generate_options generate;
    double diagnose_budget_s;            /* for each row that fails; 0: none is looked into */
    const struct error_data *error_data; /* NULL: failing tensors are not saved */
    struct call_watch watch;             /* all zeros: nobody */
    int64_t runs;                        /* of every call on the device */
    bool casts_arguments;                /* of products under autocast, as it did */
    const struct budget *row_budget;     /* that rows are held to, or NULL */
    const char *backend;                 /* whose budget it is */
    struct memory_budget *budget;
    sem_t *compute_slots;    /* one per core: more threads than that only wait for devices */
    struct start_gate *gate; /* passed before a device is used; NULL: the devices are ready */
};

/* What a thread that checks calls owns. */
struct checker {
    const struct check_setup *setup; /* of the dump whose calls it checks now */
    struct arena arena;
    struct device *device;
    pthread_mutex_t *turn; /* with the device; NULL: nobody else has it */
    bool once;             /* it checks one call, ahead of those who have the devices */
    struct help help;      /* with the call that it checks */
};

/* Check call `position` of the dump. False when the run was stopped meanwhile and there is no
 * outcome. */
bool case_check(struct case_outcome *out, struct checker *checker, size_t position);

/* Why a call is known and cannot be checked. */
struct case_obstacle {
    struct status status; /* STATUS_SKIP */
    enum row_cause cause;
};

/* The same call on another device, beside: forward only, without diagnosis. */
struct second_check {
    struct device *device;
    /* Its rows: what was recorded against what this device returns (two-way), or what this device returns against
     * the reference that the call has already (for a three-way comparison). */
    bool two_way;
    struct case_outcome *out;
    bool has_rows; /* false: the call itself was not judged */
};

/* Check a call that came with its inputs and what the device returned, outside of any dump: `tensor` of every tensor
 * value of args, kwargs and outputs is set, and the device is one that returns what was recorded.
 *
 *   second    another device, or NULL. What goes wrong there is a SKIP row of its own
 *   obstacle  not NULL: its rows say this, and nothing is checked
 *   place     where it happened, for the evidence
 */
bool case_check_record(struct case_outcome *out, struct second_check *second,
                       struct checker *checker, const struct api_case *c,
                       const struct case_obstacle *obstacle, const struct call_place *place);

/* Check a call that is not in the dump, or not as it is there, with the inputs that it has (`tensor` of
 * every tensor value is set). It may use all of the memory budget. */
bool case_check_made(struct case_outcome *out, struct checker *checker, const struct api_case *c);

#endif
