/* The reference's advice: the first row that is not as it should be, and where to look.
 */
#ifndef PROBE_COMPARE_DUMPS_ADVICE_H
#define PROBE_COMPARE_DUMPS_ADVICE_H

#include "compare/dumps/result.h"

struct advice {
    uint32_t row; /* ROW_NONE: all rows are fine */
    const char *text;
};

/* The first row with `No`, `Different` or `Warning`, by the kind of the dump. */
struct status advice_make(struct advice *out, const struct comparison *c);

/* The three lines of the advice file. */
struct status advice_append(struct csv_buffer *out, const struct comparison *c,
                            const struct advice *advice);

#endif
