/* From a flat index in row-major order to coordinates, by the shape as a row prints it. */
#include "results/coordinates.h"

#include <stdlib.h>
#include <string.h>

#include "core/decimal.h"

enum { RANK_MAX = 16 };

static size_t read_shape(size_t *extents, const char *shape)
{
    size_t rank = 0;
    for (const char *at = shape + strcspn(shape, "0123456789"); *at && rank < RANK_MAX;) {
        char *end;
        extents[rank++] = strtoul(at, &end, 10);
        at = end + strcspn(end, "0123456789");
    }
    return rank;
}

void coordinates_text(char *out, const char *shape, size_t index, size_t n)
{
    size_t extents[RANK_MAX], at[RANK_MAX], elements = 1;
    size_t rank = read_shape(extents, shape), used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(elements, extents[i], &elements)) return;
    if (elements && n == 2 * elements) index /= 2;
    if (!rank || index >= elements) return;
    for (size_t i = rank; i--; index /= extents[i]) at[i] = index % extents[i];
    for (size_t i = 0; i < rank; i++) {
        if (used + 1 + DECIMAL_BYTES > COORDINATES_BYTES) {
            out[0] = '\0';
            return;
        }
        out[used++] = i ? ',' : '[';
        used += decimal_text(out + used, at[i]);
    }
    memcpy(out + used, "]", 2);
}
