/* One dump of a run: what it works on, what it writes, and where its calls stand among those of the
 * run. A run over a tree of dumps has one after the other, each with the files of a run of its own. */
#ifndef PROBE_RUNNER_RUN_PART_H
#define PROBE_RUNNER_RUN_PART_H

#include "formats/dump_tree.h"
#include "report/call_seconds.h"
#include "report/summary.h"
#include "runner/check_threads.h"
#include "runner/checkers.h"
#include "runner/run_inputs.h"
#include "runner/run_options.h"
#include "runner/run_output.h"

struct run_part {
    struct run_options options; /* as if this dump were checked alone */
    struct arena arena;         /* texts of these */
    /* Owned: the result file that is resumed and the details file of the baseline, where they were
     * looked for. */
    char *earlier, *baseline;
    struct run_inputs inputs;
    char *repeat;    /* owned: the command that repeats a call, up to its name */
    char *reproduce; /* owned: the one that writes a reproducer, or NULL */
    struct check_setup setup;
    struct run_output output;
    struct check_batch batch;
    struct call_seconds seconds; /* for a JUnit report */
    size_t committed;            /* calls whose rows are written */
    size_t place;                /* among the dumps of the run */
    struct run_part *next;
};

/* Read the dump and everything that the options name.
 *
 *   out      to be closed with run_part_close also when this fails
 *   options  of the whole run; must outlive the part
 *   place    the dump, and where its files go below the directory of all results; NULL: the one dump
 *            that the options name
 *   met      as for run_inputs_open
 */
struct status run_part_open_inputs(struct run_part *out, const struct run_options *options,
                                   const struct dump_place *place, struct call_set *met);

/* Make ready what threads need to check the calls of a new run, whose batch is there then: before its files are open, where
 * that is worth while. What they do with the devices has to wait for run_part_open_output, which does this where
 * nobody did. */
struct status run_part_prepare(struct run_part *part, struct checkers *checkers);

/* Open its files and say what of it is to be checked.
 *
 *   checkers  of the run, with open devices; must outlive the part
 *   summary   is told of the calls that earlier parts of the run did
 */
struct status run_part_open_output(struct run_part *part, struct checkers *checkers,
                                   struct summary *summary);

/* The earlier details file that the dump in `folder` is compared with, NULL when there is none: `baseline` is
 * that file, or the directory of the earlier results of all dumps, of which the newest run in the folder
 * counts; or NULL. *out is owned by the caller. */
struct status run_part_baseline(char **out, const char *baseline, const char *folder);

/* Calls whose rows are not written yet. */
size_t run_part_calls_left(const struct run_part *part);

/* Full name of call `i` of those that are checked. */
const char *run_part_name(const struct run_part *part, size_t i);

/* Take the rows of a call, `ahead` of which are taken already, for run_part_commit. */
struct status run_part_add(struct run_part *part, size_t ahead, const struct case_outcome *outcome);

/* Write the rows that were taken, which are of `count` calls. */
struct status run_part_commit(struct run_part *part, size_t count);

/* Make what was written durable. */
struct status run_part_finish(struct run_part *part);

void run_part_close(struct run_part *part);

#endif
