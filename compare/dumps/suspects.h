/* What a comparison comes to: how many rows of each kind, and where to look first. */
#ifndef PROBE_COMPARE_DUMPS_SUSPECTS_H
#define PROBE_COMPARE_DUMPS_SUSPECTS_H

#include "compare/dumps/result.h"

enum { UNMATCHED_SHOWN = 20 };

/* An entry without a partner, and the free entry of the other side whose name is nearest. */
struct unmatched_entry {
    uint32_t entry;
    uint32_t nearest; /* ROW_NONE when the other side has none free */
};

struct suspects {
    uint64_t levels[ROW_LEVELS]; /* rows */
    uint64_t bench_only;         /* rows */
    uint64_t unreadable;         /* rows not judged because a data file cannot be used */
    /* The first warning or error of our own verdicts; the first row that has none. */
    uint32_t first_row, first_not_judged;
    /* Where the difference arises (results/origin.h). ROW_NONE when every difference comes in through an
     * input; first_row is where it does then. */
    uint32_t origin;
    /* Entries none of whose rows has a partner: the first UNMATCHED_SHOWN of each side. */
    struct unmatched_entry npu[UNMATCHED_SHOWN], bench[UNMATCHED_SHOWN];
    uint32_t n_npu, n_bench;         /* how many are listed */
    uint32_t npu_total, bench_total; /* how many there are */
};

struct status suspects_find(struct suspects *out, const struct comparison *c);

#endif
