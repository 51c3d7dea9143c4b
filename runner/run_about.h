/* What tells one run from another for people: where its dump lay, how it was started, when, where.
 * None of it decides a byte of the results, so a resumed run may differ in all of it. */
#ifndef PROBE_RUNNER_RUN_ABOUT_H
#define PROBE_RUNNER_RUN_ABOUT_H

#include "core/status.h"
#include "results/run_record.h"

/* Add it to the record of a run of the dump at this path. What the system does not tell is left out. */
struct status run_about_add(struct run_record *record, const char *dump_path);

#endif
