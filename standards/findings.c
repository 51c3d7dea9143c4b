/* One line per finding, the same in the evidence, in `case` and in summaries. */
#include "standards/findings.h"

#include <stdio.h>
#include <string.h>

/* A count with commas between thousands. */
enum { COUNT_BYTES = 32 };
static void count_text(char out[COUNT_BYTES], size_t count)
{
    char digits[COUNT_BYTES];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%zu", count), at = 0;
    for (size_t i = 0; i < length && at + 2 < COUNT_BYTES; i++) {
        if (i && (length - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

void finding_text(char out[FINDING_BYTES], const struct finding *finding)
{
    char right[COUNT_BYTES], all[COUNT_BYTES];
    /* Where few come out to the last bit, the kernel's own rounding is in the way. */
    bool exactly = finding->exact * 2 >= finding->close;
    double percent = 100 * finding->explains;
    /* What is not all of it is not called all of it. */
    if (percent < 100 && percent > 99.9) percent = 99.9;
    count_text(right, exactly ? finding->exact : finding->close);
    count_text(all, finding->elements);
    (void)snprintf(out, FINDING_BYTES,
                   "looks like: %s: explains %.4g %% of the error; %s of %s elements are then %s",
                   finding->sentence, percent < 99.9 ? (double)(long)(percent * 10) / 10 : percent,
                   right, all, exactly ? "exactly right" : "right but for honest rounding");
}
