/* The communication of a step checked: what the dumps of all ranks say that collective calls left, against what
 * they say that went in.
 */
#ifndef PROBE_COMPARE_COLLECTIVES_COLLECTIVES_H
#define PROBE_COMPARE_COLLECTIVES_COLLECTIVES_H

#include "core/file.h"
#include "core/number_ranges.h"
#include "core/stop.h"
#include "core/warnings.h"
#include "formats/dump_tree.h"
#include "formats/table_file.h"
#include "standards/judged.h"

struct collectives_request {
    const struct dump_tree *tree; /* by step and rank */
    const char *table;            /* the file to write */
    enum table_format format;
    struct file_policy policy;
    struct warnings warnings;
    struct stop stop;
    /* Told each row that is no pass, in the order of the table; `context` goes with it. */
    void (*tell)(void *context, const char *line);
    void *context;
};

struct collectives_counts {
    size_t steps, ranks; /* ranks: the most of a step */
    size_t meetings;
    size_t verdicts[VERDICT_SKIP + 1];
};

/* Check them all and write the table.
 *
 *   errors  STATUS_BAD_INPUT for a dump that cannot be read, or a step with two dumps of one rank; STATUS_INTERRUPTED;
 *           what the table reports. No table is left then.
 */
struct status collectives_check(struct collectives_counts *counts,
                                const struct collectives_request *request);

#endif
