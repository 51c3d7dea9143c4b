/* The dumps of a run, one after the other: those whose rows are not all written yet are open. */
#ifndef PROBE_RUNNER_RUN_PARTS_H
#define PROBE_RUNNER_RUN_PARTS_H

#include "formats/dump_tree.h"
#include "runner/run_part.h"

/* What became of a dump. */
struct part_ending {
    char *paths[RESULT_FILES]; /* of its files; owned; NULL: it is not done, or was refused */
    char *baseline;            /* owned; or NULL */
    struct call_seconds seconds;
    struct status status; /* why it was refused; OK otherwise */
};

struct run_parts {
    const struct run_options *options;
    const struct dump_tree *tree;  /* NULL: the one dump that the options name */
    struct run_part *first, *last; /* open */
    struct run_part *read;         /* its files are not open yet; or NULL */
    size_t calls, recorded;        /* to be checked, and in the dumps, of all that were opened */
    struct call_set *met;          /* with -f over several; or NULL */
    size_t opened, total;          /* dumps */
    uint64_t opened_bytes, total_bytes;
    struct part_ending *endings; /* by dump; owned */
    size_t n_refused;
};

/* All zeros is closed; to be closed also when this fails. What is handed in must outlive it. */
struct status run_parts_open(struct run_parts *out, const struct run_options *options,
                             const struct dump_tree *tree);
void run_parts_close(struct run_parts *parts);

/* Are there dumps that have not been opened? */
bool run_parts_more(const struct run_parts *parts);

/* Read the next dump: it is parts->read then, or refused. One of several that cannot be used is
 * refused and keeps the others from nothing. */
struct status run_parts_read_next(struct run_parts *parts);

/* Open the files of the dump that was read: it is parts->last then, or refused. The arguments are those
 * of run_part_open_output. */
struct status run_parts_admit(struct run_parts *parts, struct checkers *checkers,
                              struct summary *summary);

/* Close the first one, whose rows are written. */
struct status run_parts_finish_first(struct run_parts *parts);

/* STATUS_BAD_INPUT when dumps were refused. */
struct status run_parts_refused(const struct run_parts *parts);

/* STATUS_BAD_ARGUMENT when --only and --skip leave no call of any dump, with the name that means none and
 * the nearest one of the first dump. */
struct status run_parts_nothing_selected(const struct run_parts *parts);

/* How many calls there will be, as far as the sizes of the dumps tell. */
size_t run_parts_expected_calls(const struct run_parts *parts);

#endif
