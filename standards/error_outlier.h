/* One element that is further off than any other of its kind.
 *
 * A model that is too wide for all elements alike still says how they compare. Of a kind are elements whose expected error is of the same size
 * in units in the last place, up to a factor of two, as their steps cancel alike, and that go through the same code: vectors may leave elements over
 * for another function. Where there are few different references, each of which comes with errors of its own, it takes the same reference,
 * too. Where an element has no others of its kind it is compared with all whose expected errors are like its own.
 */
#ifndef PROBE_STANDARDS_ERROR_OUTLIER_H
#define PROBE_STANDARDS_ERROR_OUTLIER_H

#include "core/reference.h"

struct other_errors {
    double largest; /* |z| of another element */
    double count;   /* elements that count, the one that is compared included; 0: none are known */
};

/* What element `index` is compared with: many different ones of its kind; and such as are like it, but for what is not known of them. */
struct error_outlier {
    struct other_errors alike, like;
};

/*   want    the references, with kernel_rms or without
 *   z       of every element, NaN where there is none
 *   unit    the dtype whose units count */
void error_outlier_find(struct error_outlier *out, const struct reference *want, const float *z,
                        enum dtype unit, size_t index);

#endif
