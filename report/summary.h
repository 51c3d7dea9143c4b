/* What a run found, for the terminal: counts by verdict, how sure the references are, which APIs fail
 * and how badly, why rows were skipped.
 */
#ifndef PROBE_REPORT_SUMMARY_H
#define PROBE_REPORT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/text_table.h"
#include "formats/dump_tree.h"
#include "report/ci_reports.h"
#include "results/outcome.h"

enum {
    SUMMARY_APIS_SHOWN = 10,
    SUMMARY_REASONS = 256,
    SUMMARY_REASONS_SHOWN = 12,
    SUMMARY_DUMPS_SHOWN = 6
};

/* An API that was met, with its worst row. */
struct api_summary {
    size_t calls, failing;
    enum verdict verdict; /* of the worst row; VERDICT_BLANK while none fails */
    double excess;        /* of the same */
    char *row, *sentence; /* of the same; owned */
    char *source;         /* of its call, or ""; owned */
    size_t dump;          /* of the same */
    unsigned char *dumps; /* owned: flags by dump, where calls fail; NULL: nowhere, or one dump */
    size_t failing_dumps;
};

/* Rows that were skipped for one reason, whatever call and sizes it names. */
struct skip_reason {
    enum row_cause cause;
    char *sentence, *row; /* of the first; owned */
    size_t count;
};

/* All zeros is an empty one. */
struct summary {
    const struct dump_tree *tree;       /* where calls come from several dumps; or NULL */
    size_t counts[2][VERDICT_SKIP + 1]; /* [forward, backward][verdict], by call */
    size_t calls, earlier;              /* `earlier`: done before this part of the run */
    size_t unread;                      /* of the earlier ones: only their verdicts are known */
    size_t judged;                      /* calls with a verdict other than SKIP in a direction */
    size_t failing_rows;
    struct text_table api_names, reason_keys;
    bool has_tables;
    struct api_summary *apis; /* by number in `api_names` */
    size_t api_capacity;
    struct skip_reason reasons[SUMMARY_REASONS]; /* by number in `reason_keys` */
    size_t other_reasons;                        /* rows of more kinds than that */
    size_t internal_errors;
    size_t unstable_rows, unstable_calls; /* of which a repeated call gave different bits */
    struct reference_use references;      /* of this part of the run */
};

/* Add the outcome of call `name`; `dump` is its place in summary->tree, 0 without a tree. */
struct status summary_add(struct summary *summary, const struct case_outcome *outcome,
                          const char *name, size_t dump);

/* Number of the dump of the worst row; 0 when none fails. */
size_t summary_worst_dump(const struct summary *summary);

/* Add a call without its rows, which are added by the two below or not at all. */
struct status summary_add_call(struct summary *summary, enum verdict forward, enum verdict backward,
                               const char *name);

/* Count a row that fails.
 *
 *   is_worst  set: it, whose sentence is not looked at, is worse than those so far of its API and is to be added as a
 *             note; others leave nothing but their number
 */
struct status summary_count_failing(bool *is_worst, struct summary *summary,
                                    const struct row_note *note, const char *call);

/* Add the worst row of an API, which is counted, or the reason of a skip. */
struct status summary_add_note(struct summary *summary, const struct row_note *note,
                               const char *call);

/* Add a call that an earlier part of the run did: by what its rows say, */
struct status summary_add_written(struct summary *summary, const struct case_outcome *outcome,
                                  const char *name, size_t dump);

/* or by the cells of its result row. */
void summary_add_earlier(struct summary *summary, struct csv_text forward,
                         struct csv_text backward);

/* The verdicts of the calls, for the exit status. */
struct ci_counts summary_ci_counts(const struct summary *summary);

/* `repeat` is the command that shows a call again, up to its name; NULL when there is none. */
void summary_print(FILE *out, const struct summary *summary, const char *repeat, bool color);

void summary_release(struct summary *summary);

#endif
