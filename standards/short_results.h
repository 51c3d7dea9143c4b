/* Results that have fewer bits than their format.
 *
 * Where the last step of a kernel is a product, a quotient or a function, the last bits of its results are those of a rounding, and of the
 * results that the format does not hold exactly one in 2^k has k zeros at its end. All results may have them where they are differences of numbers
 * on a coarser grid, inside a function say; but a grid has steps of one size, and large results fewer zeros than small ones.
 */
#ifndef PROBE_STANDARDS_SHORT_RESULTS_H
#define PROBE_STANDARDS_SHORT_RESULTS_H

#include "core/reference.h"
#include "core/tensor.h"

/* By how many bits all results are shorter than the format though the exact ones are not: at least 2; 0 where they are not, or where it may
 * be chance.
 *
 *   got   dense, as many elements as `want`; other dtypes than float32 are not looked at */
int short_results_find(const struct tensor *got, const struct reference *want);

#endif
