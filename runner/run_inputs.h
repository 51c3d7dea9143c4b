/* What a run works on: the dump and which of its calls, the lists, the profile, and the record that
 * says all of it. */
#ifndef PROBE_RUNNER_RUN_INPUTS_H
#define PROBE_RUNNER_RUN_INPUTS_H

#include "core/arena.h"
#include "formats/dump.h"
#include "formats/stacks.h"
#include "results/call_order.h"
#include "results/run_record.h"
#include "runner/api_lists.h"
#include "runner/run_options.h"
#include "standards/budget.h"
#include "standards/profile.h"

struct run_inputs {
    struct arena arena; /* texts of the lists */
    struct api_lists lists;
    const struct framework *framework; /* of the dump */
    const char *backend;               /* that was named, or that the framework has */
    struct profile *profile;
    const char *source_name; /* of --inputs, or NULL */
    struct budget *budget;   /* of --budget, or NULL */
    struct dump *dump;       /* NULL: there is none */
    const char *path;        /* of the dump, as the user gave it */
    struct call_order order;
    struct run_record record;
    struct stacks *stacks; /* of the stack.json beside the dump; NULL when there is none */
};

/* Open everything that `options` name. To be closed also when this fails; all zeros is closed.
 *
 *   met  the calls of the dumps before this one, with -f over several; NULL otherwise
 */
struct status run_inputs_open(struct run_inputs *out, const struct run_options *options,
                              struct call_set *met);

/* The same where calls of PyTorch come with their tensors while a process runs: there is no dump. */
struct status run_inputs_open_online(struct run_inputs *out, const struct run_options *options);

/* Name the kernels of BLAS in the record, if it does not yet. It does from the start for one of many dumps and without
 * a dump; else once they are in use. Loads OpenBLAS. */
struct status run_inputs_name_core(struct run_inputs *inputs);

void run_inputs_close(struct run_inputs *inputs);

/* Position in the dump of the call of which this is a name: its own, a key of the dump, a case of a
 * JUnit report, a row, or a pattern that only this call fits (runner/call_patterns.h).
 * STATUS_BAD_ARGUMENT with the nearest name when there is none, or with those that fit. */
struct status run_inputs_find(size_t *position, const struct run_inputs *inputs, const char *name);

#endif
