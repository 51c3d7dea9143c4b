/* Where in a tensor the elements sit that are off: in one row, in every 16th column, in a block, at the end;
 * said only when it cannot be chance.
 *
 * Chance would put each of k elements anywhere, whatever the others do. All k then lie in a given set of a
 * share f of the tensor with a probability of f^k at most, and c of them or more with exp(-k D(c/k, f)) at
 * most, D being the divergence of two coins (Hoeffding 1963, theorems 1 and 4: drawing without
 * putting back only makes it less). That times the number of sets of the same form, one of which might have
 * been found instead, bounds the probability of finding any; a form is named when its bound, times the
 * number of forms that were looked for, is below PLACES_CHANCE.
 *
 * Forms, along each axis: a range of indices, every s-th index (also within a range), a few indices; the
 * first two along the flat index; and over the last two axes of more than one index a few square blocks.
 */
#ifndef PROBE_STANDARDS_ERROR_PLACES_H
#define PROBE_STANDARDS_ERROR_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/tensor.h"

#define PLACES_CHANCE 1e-6

enum place_form {
    PLACE_ANYWHERE,
    PLACE_RANGE, /* first..last; one index when they are the same */
    PLACE_STEP,  /* first, first + step, ..., last */
    PLACE_FEW,   /* `count` indices, the first of which are listed */
};

enum { PLACES_LISTED = 5, PLACES_BLOCKS = 6 };

/* What is known of the indices along one axis. */
struct axis_places {
    enum place_form form;
    int64_t extent;
    int64_t first, last, step;
    int64_t count; /* indices that the form has */
    int64_t listed[PLACES_LISTED];
    size_t inside;     /* elements that are off and lie there: nine tenths of all at least */
    double log_chance; /* the bound above, as a natural logarithm; 0 for PLACE_ANYWHERE */
};

struct places_found {
    size_t off; /* elements */
    int rank;
    struct axis_places axes[TENSOR_MAX_RANK];
    struct axis_places flat; /* has a form when it says more than the axes and the blocks do */
    /* A few square blocks of `side` by `side`; side 0: no. All elements lie in them, and they say more
     * than the axes do. */
    struct {
        int64_t side;
        size_t count, total;
        double log_chance;
    } blocks;
};

struct error_places;

/* No elements yet. Shapes of up to TENSOR_MAX_RANK axes; what it holds lives in `arena`: for each axis
 * 8 bytes an index, and a byte for each block, 5 MB at most altogether. */
struct status error_places_open(struct error_places **out, struct arena *arena, int rank,
                                const int64_t *shape);

/* The element of this row-major index is off. Each is added once; fastest in ascending order. */
void error_places_add(struct error_places *places, size_t index);

void error_places_find(struct places_found *out, const struct error_places *places);

enum { PLACES_TEXT_BYTES = 320 };

/* "all in rows 128-255 and column 3", "38 of 40 in every 16th column from 8 on"; "" when nothing can be
 * said. A tensor with two axes of more than one index has rows and columns, with more of them its
 * axes go by number: "all in index 5 of axis 0". */
void places_text(char out[PLACES_TEXT_BYTES], const struct places_found *found);

#endif
