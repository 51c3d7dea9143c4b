/* One pass over the elements gathers those of the same kind twice: with any code, and with the code of the one that is compared. */
#include "standards/error_outlier.h"

#include <math.h>

#include "standards/unequal_results.h"

/* Up to so many different references are few. A result of so many elements is made by one thread; so many equal references are no rare one. */
enum { FEW = 64, MOST_ELEMENTS = 32768, FEWEST = 16 };

/* Expected error in units in the last place; any number where nothing is expected. */
static double units_expected(const struct reference *want, enum dtype unit, size_t i)
{
    return want->kernel_rms ? want->kernel_rms[i] / dtype_ulp(unit, want->hi[i]) : 1;
}

struct kind {
    size_t elements, equal; /* with the element's own reference */
    double largest, largest_equal;
    double seen[FEW];
    size_t different; /* FEW + 1: more */
};

static void add(struct kind *kind, double want, double own, double z, bool itself)
{
    size_t k = 0;
    while (k < FEW && k < kind->different && kind->seen[k] != want) k++;
    if (k == kind->different && k < FEW) kind->seen[k] = want;
    if (k == kind->different || k == FEW) kind->different = k + 1;
    kind->elements++;
    kind->equal += want == own;
    if (itself) return;
    kind->largest = fmax(kind->largest, z);
    if (want == own) kind->largest_equal = fmax(kind->largest_equal, z);
}

void error_outlier_find(struct error_outlier *out, const struct reference *want, const float *z,
                        enum dtype unit, size_t index)
{
    struct kind wide = { 0 }, narrow = { 0 }; /* with any code, and with its own */
    double own = units_expected(want, unit, index);
    unsigned left_over = left_over_by(want->rank, want->shape, index);
    for (size_t i = 0; i < want->n; i++) {
        if (isnan(z[i])) continue;
        double units = units_expected(want, unit, i), size = fabs((double)z[i]);
        if (!(units <= 2 * own && 2 * units >= own)) continue;
        add(&wide, want->hi[i], want->hi[index], size, i == index);
        if (left_over_by(want->rank, want->shape, i) == left_over)
            add(&narrow, want->hi[i], want->hi[index], size, i == index);
    }
    bool by_reference = wide.different <= FEW && narrow.equal >= FEWEST && want->n <= MOST_ELEMENTS;
    *out = (struct error_outlier){ 0 };
    if (narrow.different > FEW)
        out->alike = (struct other_errors){ narrow.largest, (double)narrow.elements };
    if (by_reference)
        out->like = (struct other_errors){ narrow.largest_equal, (double)narrow.equal };
    else
        out->like = (struct other_errors){
            wide.largest, (double)(wide.different > FEW ? wide.elements : wide.different)
        };
}
