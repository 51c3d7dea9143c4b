/* What a row that fails looks like: mistakes that would explain it, found by diagnosis/. */
#ifndef PROBE_STANDARDS_FINDINGS_H
#define PROBE_STANDARDS_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

enum { FINDINGS_MAX = 3, FINDING_BYTES = 512 };

struct finding {
    const char *class;    /* of the mistake, as docs/diagnosis.md lists them: "rounded inputs" */
    const char *sentence; /* this one: "inputs rounded to 10 bits (TF32)" */
    double explains;      /* share of the error, 0..1 */
    size_t exact;    /* elements that are right to the last bit if this is what the kernel does */
    size_t close;    /* and those that honest rounding explains then, the exact ones included */
    size_t elements; /* of the row */
};

struct findings {
    bool sought;                        /* false: nobody looked */
    size_t count;                       /* 0 after looking: unknown */
    struct finding items[FINDINGS_MAX]; /* likeliest first; texts in the arena of the call */
};

/* "looks like: inputs rounded to 10 bits (TF32): explains 99.7 % of the error; 2,301 of 2,304 elements
 * are then exactly right". */
void finding_text(char out[FINDING_BYTES], const struct finding *finding);

#endif
